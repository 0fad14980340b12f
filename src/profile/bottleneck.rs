//! Where the time goes as a table, and what helps as a sentence.

use std::fmt::Write;

use super::Choice;
use super::breakdown::{Breakdown, Work};
use super::estimate::Estimate;
use crate::pipeline::{Pipeline, Split};
use crate::sample::Codec;
use crate::units::{bytes, duration};

impl Work {
    /// Its name: a step's own, or words.
    pub fn name(self, pipeline: &Pipeline) -> String {
        match self {
            Work::SourceRead => "source read".to_owned(),
            Work::CacheRead => "cache read".to_owned(),
            Work::Decompress => "decompress".to_owned(),
            Work::Step(at) => format!("{} {}", at + 1, pipeline.name(at + 1)),
            Work::HandOver => "copies to the reader".to_owned(),
            Work::Other => "other".to_owned(),
        }
    }
}

/// What a sample takes of a thread with nothing kept and with the best strategy, a line a work.
pub fn breakdown_table(choice: &Choice, pipeline: &Pipeline) -> String {
    let best = &choice.ranked[0];
    let none = nothing_kept(choice).unwrap_or(best);
    let steps = (0..pipeline.len()).map(Work::Step);
    let before = [Work::SourceRead, Work::CacheRead, Work::Decompress];
    let works = before.into_iter().chain(steps).chain([Work::HandOver, Work::Other]);
    let mut out = format!(
        "  {:<26}{:>12}{:>12}{:>8}{:>13}{:>13}\n",
        "of a sample's time", "bytes in", "bytes out", "ratio", "kept: none", "kept: best"
    );
    let mut before: Option<f64> = None;
    for work in works {
        let all = [none.time().of(work), best.time().of(work)];
        let Some((_, made)) = all[0].or(all[1]) else { continue };
        let moves = matches!(work, Work::SourceRead | Work::Step(_));
        let (mut from, mut to, mut ratio) = (String::new(), String::new(), String::new());
        if moves || matches!(work, Work::CacheRead | Work::Decompress) {
            to = bytes(made as u64);
        }
        if let (Work::Step(_), Some(before)) = (work, before) {
            from = bytes(before as u64);
            ratio = format!("{:.2}", made / before.max(1.0));
        }
        if moves {
            before = Some(made);
        }
        let time = |of: Option<(f64, f64)>| of.map_or(String::new(), |(took, _)| duration(took));
        let line = format!(
            "  {:<26}{from:>12}{to:>12}{ratio:>8}{:>13}{:>13}",
            work.name(pipeline),
            time(all[0]),
            time(all[1]),
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn nothing_kept(choice: &Choice) -> Option<&Estimate> {
    choice.ranked.iter().find(|one| one.measured.strategy.split == Split::None)
}

/// What takes most, with nothing kept and with the best strategy, and the option that helps.
pub fn bottleneck(choice: &Choice, pipeline: &Pipeline) -> String {
    let best = &choice.ranked[0];
    let mut words = String::new();
    let split = best.measured.strategy.split;
    let share = |(work, share): (Work, f64)| {
        let name = match work {
            Work::Step(at) => format!("`{}`", pipeline.name(at + 1)),
            _ => work.name(pipeline),
        };
        format!("{name}, {:.0} % of the time", share * 100.0)
    };
    let none = nothing_kept(choice).and_then(|none| Some((none, none.time().most()?)));
    if let (Split::After(_), Some((none, most))) = (split, none) {
        let _ = write!(
            words,
            "with nothing kept it is {}; cut after `{}`: {:.1} times the throughput for {}. ",
            share(most),
            pipeline.split_name(split),
            best.throughput.mean / none.throughput.mean,
            bytes(best.stored_bytes()),
        );
    }
    if let Some(most) = best.time().most() {
        let then = if words.is_empty() { "it is" } else { "Then it is" };
        let _ = write!(words, "{then} {}: {}", share(most), helps(most.0, best, pipeline));
    }
    words
}

/// What helps where this work takes most.
fn helps(work: Work, best: &Estimate, pipeline: &Pipeline) -> String {
    match work {
        Work::SourceRead if pipeline.is_empty() || best.fits => {
            "a faster disk, or the split `source`, which packs small files".to_owned()
        }
        Work::SourceRead => "a faster disk, more memory, or the split `source`".to_owned(),
        Work::CacheRead if best.fits => {
            "`[cache] memory`, which keeps samples as they are at the split".to_owned()
        }
        Work::CacheRead => match best.measured.strategy.codec {
            Codec::None => "a codec, a faster disk for the cache, or more memory".to_owned(),
            _ => "a faster disk for the cache, or more memory".to_owned(),
        },
        Work::Decompress => {
            "the codec `lz4` or `none` if there is room, or `[cache] memory`".to_owned()
        }
        Work::Step(at) if at < pipeline.fixed().len() => format!(
            "more threads, or `split = \"{}\"` where its storage is affordable",
            pipeline.split_name(Split::After(at + 1))
        ),
        Work::Step(_) => "it is random, or comes after what is: only more threads help".to_owned(),
        Work::HandOver => {
            "only fewer bytes help: serve uint8 and move steps that make float32 into the training \
             step"
                .to_owned()
        }
        Work::Other => "more threads; the rest is the same for every strategy".to_owned(),
    }
}

/// A breakdown as JSON, an object a work.
pub(super) fn json(of: &Breakdown, pipeline: &Pipeline) -> serde_json::Value {
    of.portions
        .iter()
        .map(|portion| {
            serde_json::json!({
                "work": portion.work.name(pipeline),
                "seconds": portion.seconds / of.samples.max(1.0),
                "bytes_out": portion.bytes / of.samples.max(1.0),
            })
        })
        .collect()
}
