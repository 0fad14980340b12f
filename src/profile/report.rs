//! The figures as a table for a person and as JSON for a script.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Choice;
use super::choose::Estimate;
use crate::pipeline::Pipeline;
use crate::units::{bytes, duration, rate};

/// A table of at most 100 columns, best first, the best marked with `*`.
pub fn table(choice: &Choice, pipeline: &Pipeline) -> String {
    let mut out = format!(
        "  {:<24}{:<9}{:>14}{:>12}{:>12}{:>12}\n",
        "split", "codec", "prepare", "stored", "cold", "warm"
    );
    for (place, estimate) in choice.ranked.iter().enumerate() {
        let mark = if place == 0 { '*' } else { ' ' };
        let measured = &estimate.measured;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{mark} {:<24}{:<9}{:>14}{:>12}{:>12}{:>12}",
            pipeline.split_name(measured.strategy.split),
            measured.strategy.codec,
            duration(estimate.offline_seconds),
            bytes(estimate.stored_bytes),
            rate(measured.cold),
            rate(measured.warm_median()),
        );
    }
    out
}

/// An object a pipeline; docs/PROFILE.md describes it.
pub fn json(
    choice: &Choice,
    pipeline: &Pipeline,
    patterns: &[String],
    population: usize,
    threads: usize,
) -> Value {
    let strategy = |estimate: &Estimate| {
        let measured = &estimate.measured;
        json!({
            "split": pipeline.split_name(measured.strategy.split),
            "codec": measured.strategy.codec.to_string(),
            "samples_measured": measured.samples,
            "samples_bad": measured.bad,
            "prepare_seconds": estimate.offline_seconds,
            "stored_bytes": estimate.stored_bytes,
            "cold_samples_per_second": measured.cold,
            "warm_samples_per_second": measured.warm,
            "fits_in_memory": estimate.fits,
            "throughput": estimate.throughput,
        })
    };
    json!({
        "match": patterns,
        "samples": population,
        "threads": threads,
        "best": choice.ranked.first().map(strategy),
        "strategies": choice.ranked.iter().map(strategy).collect::<Vec<_>>(),
        "why": choice.why,
    })
}
