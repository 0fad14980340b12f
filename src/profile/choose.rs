//! Which of the measured strategies is best, and why: a pure function of the figures.

use super::Measured;
use crate::pipeline::{Pipeline, Split};
use crate::units::{bytes, duration, rate};

/// What the machine can keep in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that the page cache can take.
    pub available: u64,
}

/// The set that the measured part stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The measured strategies with the whole set's figures, best first.
    pub ranked: Vec<Estimate>,
    /// Which it is and why, in one sentence.
    pub why: String,
}

/// A strategy's figures for the whole set.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// As measured on the part.
    pub measured: Measured,
    /// Seconds that materializing the whole set takes.
    pub offline_seconds: f64,
    /// Bytes that the whole set takes in the cache.
    pub stored_bytes: u64,
    /// Whether what an epoch reads fits in memory: the warm figure counts then, else the cold one.
    pub fits: bool,
    /// Samples a second to expect: warm or cold.
    pub throughput: f64,
}

/// Of strategies that are slower than the fastest by no more than this share, the one that stores
/// least for each sample a second is best.
///
/// A judgement, not a measurement. Some of it is what two runs of one strategy differ by; the rest
/// is for what isn't measured because it is the same for all: the kernel's messages and the
/// reader's own work.
/// Where these take as long as the making, a lead of a tenth is one of a twentieth to who reads,
/// and it would be paid for in storage for good: float32 is four times the bytes of uint8.
const AS_FAST: f64 = 0.10;

/// Memory that stays free for the training job itself.
const SHARE_OF_MEMORY: f64 = 0.6;

/// Ranks the strategies for a set of `population` samples and `source_bytes` bytes. `None` if
/// nothing was measured.
pub fn choose(
    measured: Vec<Measured>,
    pipeline: &Pipeline,
    population: usize,
    source_bytes: u64,
    memory: Memory,
) -> Option<Choice> {
    let room = (memory.available as f64 * SHARE_OF_MEMORY) as u64;
    let mut ranked: Vec<Estimate> = measured
        .into_iter()
        .map(|measured| {
            let scale = population as f64 / measured.samples as f64;
            let stored_bytes = (measured.stored_bytes as f64 * scale) as u64;
            let read =
                if measured.strategy.split == Split::None { source_bytes } else { stored_bytes };
            let fits = read <= room;
            Estimate {
                offline_seconds: measured.offline_seconds * scale,
                stored_bytes,
                fits,
                throughput: if fits { measured.warm_median() } else { measured.cold },
                measured,
            }
        })
        .collect();
    ranked.sort_by(|a, b| b.throughput.total_cmp(&a.throughput));
    let enough = ranked.first()?.throughput * (1.0 - AS_FAST);
    let equals = ranked.iter().take_while(|estimate| estimate.throughput >= enough).count();
    // Storage for each sample a second: a fifth less of it is worth a tenth of the speed, a
    // twentieth less isn't.
    let price = |at: &usize| ranked[*at].stored_bytes as f64 / ranked[*at].throughput;
    let best = (0..equals).min_by(|a, b| price(a).total_cmp(&price(b)))?;
    let best = ranked.remove(best);
    ranked.insert(0, best);
    let why = sentence(&ranked, pipeline);
    Some(Choice { ranked, why })
}

fn sentence(ranked: &[Estimate], pipeline: &Pipeline) -> String {
    let best = &ranked[0];
    let name = |estimate: &Estimate| {
        let split = pipeline.split_name(estimate.measured.strategy.split);
        format!("split `{split}`, codec `{}`", estimate.measured.strategy.codec)
    };
    let memory = if best.fits { "from memory" } else { "from the disk" };
    let mut why = format!("{}: {} {memory}", name(best), rate(best.throughput));
    let none = ranked.iter().find(|other| other.measured.strategy.split == Split::None);
    match none {
        Some(none) if best.measured.strategy.split != Split::None => why.push_str(&format!(
            ", {:.1} times as much as with nothing kept, for {} and {} of preparing",
            best.throughput / none.throughput,
            bytes(best.stored_bytes),
            duration(best.offline_seconds),
        )),
        _ => why.push_str(": keeping nothing costs nothing, and nothing kept is faster"),
    }
    if let Some(second) = ranked.get(1) {
        let ahead = second.throughput / best.throughput;
        let rival = name(second);
        let (pace, takes) = (rate(second.throughput), bytes(second.stored_bytes));
        why.push_str(&if ahead > 1.0 + AS_FAST / 2.0 {
            format!("; {rival}, at {pace}, is only a little faster and takes {takes}")
        } else if ahead >= 1.0 - AS_FAST / 2.0 {
            format!("; {rival} is as fast and takes {takes}")
        } else {
            format!("; next is {rival}, at {pace}")
        });
    }
    why
}

#[cfg(test)]
mod tests;
