//! The figures as a table for a person and as JSON for a script.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Choice;
use super::bottleneck;
use super::estimate::Estimate;
use super::measure::Untried;
use super::stats::{self, Interval};
use crate::pipeline::Pipeline;
use crate::units::{bytes, duration, rate};

/// A table of at most 100 columns, best first, the best marked with `*`, the Pareto front with `+`.
pub fn table(choice: &Choice, pipeline: &Pipeline) -> String {
    let mut out = format!(
        "  {:<20}{:<11}{:>12}{:>12}{:>9}{:>9}{:>9}{:>8}\n",
        "split", "codec", "prepare", "stored", "cold", "warm", "served", "+-"
    );
    for (place, estimate) in choice.ranked.iter().enumerate() {
        let mark = match place {
            0 => '*',
            _ if choice.front[place] => '+',
            _ => ' ',
        };
        let measured = &estimate.measured;
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{mark} {:<20}{:<11}{:>12}{:>12}{:>9}{:>9}{:>9}{:>6.0} %",
            pipeline.split_name(measured.strategy.split),
            measured.strategy.codec,
            duration(estimate.prepare.mean),
            bytes(estimate.stored_bytes()),
            rate(stats::of_passes(&measured.cold).mean),
            rate(stats::of_passes(&measured.warm).mean),
            rate(estimate.throughput.mean),
            (estimate.throughput.share() * 100.0).max(1.0),
        );
        out.push_str(if measured.beaten { "  beaten\n" } else { "\n" });
    }
    for (strategy, why) in &choice.untried {
        let _ = writeln!(
            out,
            "  {:<20}{:<11}  {}",
            pipeline.split_name(strategy.split),
            strategy.codec,
            words(*why),
        );
    }
    out
}

fn words(why: Untried) -> &'static str {
    match why {
        Untried::NoTime => "not tried: the time was over",
        Untried::NoRoom => "not tried: no room on the cache's disk",
    }
}

/// An object a pipeline; docs/PROFILE.md describes it.
pub fn json(
    choice: &Choice,
    pipeline: &Pipeline,
    patterns: &[String],
    population: usize,
    threads: usize,
) -> Value {
    let interval = |of: Interval| json!([of.low, of.high]);
    let strategy = |place: usize, estimate: &Estimate| {
        let measured = &estimate.measured;
        json!({
            "split": pipeline.split_name(measured.strategy.split),
            "codec": measured.strategy.codec.to_string(),
            "samples_measured": measured.samples,
            "samples_bad": measured.bad,
            "prepare_seconds": estimate.prepare.mean,
            "prepare_seconds_interval": interval(estimate.prepare),
            "stored_bytes": estimate.stored_bytes(),
            "stored_bytes_interval": interval(estimate.stored),
            "cold_samples_per_second": measured.cold,
            "warm_samples_per_second": measured.warm,
            "mounted_samples_per_second": measured.mounted,
            "fits_in_memory": estimate.fits,
            "throughput": estimate.throughput.mean,
            "throughput_interval": interval(estimate.throughput),
            "cost": choice.costs[place].mean,
            "pareto": choice.front[place],
            "beaten": measured.beaten,
            "time_of_a_sample": bottleneck::json(estimate.time(), pipeline),
        })
    };
    let untried = choice.untried.iter().map(|(strategy, why)| {
        json!({
            "split": pipeline.split_name(strategy.split),
            "codec": strategy.codec.to_string(),
            "why": words(*why),
        })
    });
    json!({
        "match": patterns,
        "samples": population,
        "threads": threads,
        "best": choice.ranked.first().map(|best| strategy(0, best)),
        "meets_limits": choice.meets,
        "strategies": choice
            .ranked
            .iter()
            .enumerate()
            .map(|(place, one)| strategy(place, one))
            .collect::<Vec<_>>(),
        "untried": untried.collect::<Vec<_>>(),
        "why": choice.why,
        "bottleneck": bottleneck::bottleneck(choice, pipeline),
        "served": choice.served,
        "notes": choice.notes,
    })
}
