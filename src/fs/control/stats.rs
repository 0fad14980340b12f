//! `stats`, `stats.json` and `metrics`: what the mount has done, for a person, a script and
//! Prometheus.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::{Freshness, Fs, Mode, Watched};
use crate::exec::{Figures, Tally};
use crate::units::{bytes, duration, percent};

/// The tallies that are shown: name, what it counts, help.
const TALLIES: &[(Tally, &str, &str)] = &[
    (Tally::Served, "served", "samples served"),
    (Tally::SourceRead, "source_read", "source files read"),
    (Tally::CacheRead, "cache_read", "entries read from the cache"),
    (Tally::Decompress, "decompress", "entries decompressed"),
    (Tally::Compress, "compress", "entries compressed"),
    (Tally::CacheWrite, "cache_write", "entries written to the cache"),
    (Tally::MemoryHit, "memory_hit", "samples found in memory as they are at the split"),
    (Tally::Hit, "hit", "samples found in the cache at the split"),
    (Tally::Miss, "miss", "samples made for the cache"),
    (Tally::Error, "error", "samples that could not be made"),
];

/// One counter by name.
struct Row {
    plan: Option<usize>,
    name: String,
    figures: Figures,
}

fn rows(fs: &Fs) -> Vec<Row> {
    let meter = fs.exec.meter();
    let tallies = TALLIES.iter().map(|(tally, name, _)| Row {
        plan: None,
        name: (*name).to_owned(),
        figures: meter.tally(*tally),
    });
    let plans = fs.exec.plans().iter().enumerate().flat_map(|(at, plan)| {
        let steps = plan.pipeline.names().zip(meter.steps(at));
        steps.map(move |(name, figures)| Row { plan: Some(at), name: name.to_owned(), figures })
    });
    tallies.chain(plans).collect()
}

/// The share of samples that were found there, of those that were looked for there.
fn hit_rate(fs: &Fs, there: Tally) -> Option<f64> {
    let count = |tally| fs.exec.meter().tally(tally).count as f64;
    let elsewhere = count(Tally::Miss) + if there == Tally::Hit { 0.0 } else { count(Tally::Hit) };
    let all = count(there) + elsewhere;
    (all > 0.0).then(|| count(there) / all)
}

/// How changes of the source are noticed.
fn changes(fs: &Fs) -> String {
    let Freshness { revalidate, immutable } = fs.freshness;
    if immutable {
        return "none: the source is `immutable`".to_owned();
    }
    let every = duration(revalidate.as_secs_f64());
    match (fs.watching(), fs.mode()) {
        (_, Mode::Direct) => format!("seen at each open; names are asked for again after {every}"),
        (None, Mode::Cached) => format!("names are asked for again after {every}"),
        (Some(Watched { watched, others: 0, .. }), Mode::Cached) => {
            format!("told by the system, {watched} folders")
        }
        (Some(Watched { watched, others, why_not }), Mode::Cached) => format!(
            "told by the system, {watched} folders; {others} and what is in them can't be watched, \
             names there are asked for again after {every}: {}",
            why_not.unwrap_or_default()
        ),
    }
}

pub(super) fn text(fs: &Fs) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<22}{value}");
    };
    line("mounted for", duration(fs.control.started.elapsed().as_secs_f64()));
    let serving = &fs.control.texts.serving;
    line("serving", format!("{}: {}", serving.name(), serving.because));
    line("changes", changes(fs));
    for (at, plan) in fs.exec.plans().iter().enumerate() {
        let split = plan.pipeline.split_name(plan.strategy.split);
        let globs = plan.matcher.patterns().join(" ");
        line(
            &format!("pipeline {}", at + 1),
            format!("{globs}, split `{split}`, codec `{}`", plan.strategy.codec),
        );
    }
    let rate = |there| hit_rate(fs, there).map_or("nothing asked for yet".to_owned(), percent);
    if let Some(memory) = fs.exec.memory() {
        let holds = memory.holds();
        let (taken, limit) = (bytes(holds.bytes), bytes(holds.limit));
        line("memory hit rate", rate(Tally::MemoryHit));
        line("memory", format!("{} samples, {taken} of {limit}", holds.samples));
    }
    line("cache hit rate", rate(Tally::Hit));
    if let Some(cache) = fs.exec.cache() {
        let status = cache.status();
        let of = match status.limit {
            u64::MAX => String::new(),
            limit => format!(" of {}", bytes(limit)),
        };
        line("cache", format!("{} entries, {}{of}", status.entries, bytes(status.bytes)));
    }
    line("open files", fs.handles.len().to_string());
    line("bad samples", fs.exec.bad_samples().list().len().to_string());
    out.push('\n');
    let _ = writeln!(out, "{:<28}{:>10}{:>12}{:>12}{:>12}", "", "count", "time", "each", "bytes");
    for Row { plan, name, figures } in rows(fs) {
        let name = match plan {
            Some(plan) => format!("{}.{name}", plan + 1),
            None => name,
        };
        let seconds = figures.nanoseconds as f64 / 1e9;
        let each = if figures.count == 0 { 0.0 } else { seconds / figures.count as f64 };
        let _ = writeln!(
            out,
            "{name:<28}{:>10}{:>12}{:>12}{:>12}",
            figures.count,
            duration(seconds),
            duration(each),
            bytes(figures.bytes),
        );
    }
    out
}

pub(super) fn json(fs: &Fs) -> String {
    let figures = |figures: &Figures| {
        json!({
            "count": figures.count,
            "seconds": figures.nanoseconds as f64 / 1e9,
            "bytes": figures.bytes,
        })
    };
    let (steps, tallies): (Vec<Row>, Vec<Row>) =
        rows(fs).into_iter().partition(|row| row.plan.is_some());
    let tallies: serde_json::Map<String, Value> =
        tallies.iter().map(|row| (row.name.clone(), figures(&row.figures))).collect();
    let plans: Vec<Value> = fs
        .exec
        .plans()
        .iter()
        .enumerate()
        .map(|(at, plan)| {
            let steps: Vec<Value> = steps
                .iter()
                .filter(|row| row.plan == Some(at))
                .map(|row| json!({ "name": row.name, "figures": figures(&row.figures) }))
                .collect();
            json!({
                "match": plan.matcher.patterns(),
                "split": plan.pipeline.split_name(plan.strategy.split),
                "codec": plan.strategy.codec.to_string(),
                "steps": steps,
            })
        })
        .collect();
    let cache = fs.exec.cache().map(|cache| {
        let status = cache.status();
        json!({ "entries": status.entries, "bytes": status.bytes, "limit": status.limit })
    });
    let memory = fs.exec.memory().map(|memory| {
        let holds = memory.holds();
        json!({ "samples": holds.samples, "bytes": holds.bytes, "limit": holds.limit })
    });
    let serving = &fs.control.texts.serving;
    let all = json!({
        "seconds": fs.control.started.elapsed().as_secs_f64(),
        "serving": {
            "mode": serving.name(),
            "because": serving.because,
            "changes": changes(fs),
            "watched_folders": fs.watching().map(|watched| watched.watched),
            "unwatched_folders": fs.watching().map(|watched| watched.others),
        },
        "memory_hit_rate": hit_rate(fs, Tally::MemoryHit),
        "memory": memory,
        "hit_rate": hit_rate(fs, Tally::Hit),
        "cache": cache,
        "open_files": fs.handles.len(),
        "bad_samples": fs.exec.bad_samples().list().len(),
        "tallies": tallies,
        "pipelines": plans,
    });
    format!("{all:#}\n")
}

/// Prometheus's text format 0.0.4.
pub(super) fn metrics(fs: &Fs) -> String {
    let mut out = String::new();
    for (tally, name, help) in TALLIES {
        let Figures { count, nanoseconds, bytes } = fs.exec.meter().tally(*tally);
        let _ = writeln!(out, "# HELP parbake_{name}_total {help}");
        let _ = writeln!(out, "# TYPE parbake_{name}_total counter");
        let _ = writeln!(out, "parbake_{name}_total {count}");
        let seconds = nanoseconds as f64 / 1e9;
        let _ = writeln!(out, "# TYPE parbake_{name}_seconds_total counter");
        let _ = writeln!(out, "parbake_{name}_seconds_total {seconds}");
        let _ = writeln!(out, "# TYPE parbake_{name}_bytes_total counter");
        let _ = writeln!(out, "parbake_{name}_bytes_total {bytes}");
    }
    for (unit, of) in STEP_METRICS {
        let _ = writeln!(out, "# TYPE parbake_step_{unit} counter");
        for Row { plan, name, figures } in rows(fs) {
            if let Some(plan) = plan {
                let value = of(&figures);
                let _ = writeln!(
                    out,
                    "parbake_step_{unit}{{pipeline=\"{}\",step=\"{name}\"}} {value}",
                    plan + 1
                );
            }
        }
    }
    out
}

/// One number of a counter.
type Number = fn(&Figures) -> f64;

const STEP_METRICS: &[(&str, Number)] = &[
    ("total", |figures| figures.count as f64),
    ("seconds_total", |figures| figures.nanoseconds as f64 / 1e9),
    ("bytes_total", |figures| figures.bytes as f64),
];
