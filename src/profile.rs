//! Which strategy is best here: every legal one is run on a part of the set, by the executor that
//! serves, with the real source and the real cache's disk, and the figures decide.
//!
//! Measuring, choosing and reporting are apart: only [`measure`] has a clock.

mod bottleneck;
mod breakdown;
mod choose;
mod estimate;
mod goal;
mod measure;
mod notes;
mod race;
mod report;
mod served;
mod stats;
mod strata;

pub use bottleneck::{bottleneck, breakdown_table};
pub use breakdown::{Breakdown, Portion, Work};
pub use choose::{Choice, choose};
pub use estimate::{Estimate, Measured, Whole};
pub use goal::{Goal, Limits, Objective};
pub use measure::{Measure, Mounted, Mounts, Outcome, Progress, Untried, measure};
pub use report::{json, table};
pub use stats::Interval;
pub use strata::strata;

use crate::pipeline::{Pipeline, Split, Strategy};
use crate::sample::{Codec, Dtype, Layout, Spec};

/// The codecs that are tried with every split, the last one where it is other than plain zstd.
const CODECS: [Codec; 4] = [Codec::None, Codec::Lz4, Codec::Zstd(3), Codec::Picture(1)];

/// Every strategy that is tried: each legal split with each codec. (Nothing is kept with the split
/// `none`, so it has no codec.) Those without a codec come first: they show the most the soonest.
pub fn strategies(pipeline: &Pipeline) -> Vec<Strategy> {
    let of = |split| match split {
        Split::None => vec![Strategy::NONE],
        Split::After(steps) => CODECS
            .into_iter()
            .filter(|codec| *codec != Codec::Picture(1) || is_picture(pipeline.spec(steps)))
            .map(|codec| Strategy { split, codec })
            .collect(),
    };
    let mut all: Vec<Strategy> = pipeline.splits().flat_map(of).collect();
    all.sort_by_key(|strategy| strategy.codec != Codec::None);
    all
}

/// Whether there is a filter for it.
fn is_picture(spec: &Spec) -> bool {
    spec.array().is_some_and(|array| array.dtype == Dtype::Uint8 && array.layout == Layout::Hwc)
}
