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
use crate::sample::{ArraySpec, Codec, Dtype, Layout, Spec};

/// The codecs that are tried with a split: the filters where there is something to filter. (Gzip and
/// zlib aren't: zstd is faster and smaller.)
fn codecs(spec: &Spec) -> Vec<Codec> {
    let array = spec.array();
    let picture = |array: &ArraySpec| array.dtype == Dtype::Uint8 && array.layout == Layout::Hwc;
    let filter = match array {
        Some(array) if picture(array) => Some(Codec::Picture(1)),
        Some(array) if array.dtype.size() > 1 => Some(Codec::Shuffle(1)),
        _ => None,
    };
    [Codec::None, Codec::Lz4, Codec::Zstd(3)].into_iter().chain(filter).collect()
}

/// Every strategy that is tried: each legal split with each codec. (Nothing is kept with the split
/// `none`, so it has no codec.) Those without a codec come first: they show the most the soonest.
pub fn strategies(pipeline: &Pipeline) -> Vec<Strategy> {
    let of = |split| match split {
        Split::None => vec![Strategy::NONE],
        Split::After(steps) => codecs(pipeline.spec(steps))
            .into_iter()
            .map(|codec| Strategy { split, codec })
            .collect(),
    };
    let mut all: Vec<Strategy> = pipeline.splits().flat_map(of).collect();
    all.sort_by_key(|strategy| strategy.codec != Codec::None);
    all
}
