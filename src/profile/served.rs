//! What a reader of a mount sees of what the executor makes: the kernel's share, from strategies
//! that were measured both ways.

use super::estimate::Estimate;
use super::stats::{self, Interval};
use crate::pipeline::Pipeline;
use crate::units::rate;

/// The seconds that a sample takes longer through a mount, all readers together: the same for every
/// strategy, since all serve the same bytes. The median of what is known; `None` of nothing.
pub(super) fn kernel_seconds(all: &[Estimate]) -> Option<f64> {
    let longer: Vec<f64> = all.iter().filter_map(pair).map(more).collect();
    (!longer.is_empty()).then(|| stats::median(&longer).max(0.0))
}

/// What was expected and what was measured, in samples a second.
fn pair(one: &Estimate) -> Option<(f64, f64)> {
    let (beside, mounted) = (&one.measured.beside, &one.measured.mounted);
    (!mounted.is_empty())
        .then(|| (stats::of_passes(beside).mean, stats::of_passes(mounted).mean))
        .filter(|(beside, mounted)| *beside > 0.0 && *mounted > 0.0)
}

fn more((expected, mounted): (f64, f64)) -> f64 {
    1.0 / mounted - 1.0 / expected
}

/// A rate with so much more time a sample.
pub(super) fn slower(rate: Interval, seconds: f64) -> Interval {
    let with = |rate: f64| if rate > 0.0 { 1.0 / (1.0 / rate + seconds) } else { 0.0 };
    Interval { mean: with(rate.mean), low: with(rate.low), high: with(rate.high) }
}

/// What each strategy that was mounted was predicted to give by the kernel's share of the others
/// (its own, if it is the only one), in samples a second.
pub(super) fn predicted(all: &[Estimate]) -> Vec<Option<f64>> {
    let pairs: Vec<Option<(f64, f64)>> = all.iter().map(pair).collect();
    let known = pairs.iter().flatten().count();
    (0..all.len())
        .map(|at| {
            let (expected, _) = pairs[at]?;
            let others = pairs.iter().enumerate().filter(|(other, _)| *other != at || known == 1);
            let longer: Vec<f64> = others.filter_map(|(_, pair)| Some(more((*pair)?))).collect();
            let seconds = longer.iter().sum::<f64>() / longer.len().max(1) as f64;
            Some(1.0 / (1.0 / expected + seconds.max(0.0)))
        })
        .collect()
}

/// A line for each strategy that was read through a mount.
pub(super) fn lines(all: &[Estimate], pipeline: &Pipeline) -> Vec<String> {
    let alone = all.iter().filter_map(pair).count() == 1;
    all.iter()
        .zip(predicted(all))
        .filter_map(|(one, predicted)| {
            let ((expected, mounted), predicted) = (pair(one)?, predicted?);
            let strategy = one.measured.strategy;
            let mut line = format!(
                "split `{}`, codec `{}`: {} read from a mount, {} without the kernel",
                pipeline.split_name(strategy.split),
                strategy.codec,
                rate(mounted),
                rate(expected),
            );
            if !alone {
                let off = (predicted / mounted - 1.0) * 100.0;
                line.push_str(&format!(
                    "; {} predicted from the others, {off:+.0} %",
                    rate(predicted)
                ));
            }
            Some(line)
        })
        .collect()
}
