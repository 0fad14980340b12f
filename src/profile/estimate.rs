//! What the figures of a part of the set say of the whole set.

use super::breakdown::Breakdown;
use super::served;
use super::stats::{self, Interval};
use crate::pipeline::{Split, Strategy};

/// One strategy's figures, on the part of the set.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Which one.
    pub strategy: Strategy,
    /// Samples that were made.
    pub samples: usize,
    /// Samples that couldn't be.
    pub bad: usize,
    /// Seconds that materializing these took.
    pub offline_seconds: f64,
    /// By which share that may be off for other samples.
    pub offline_error: f64,
    /// Bytes that these take in the cache.
    pub stored_bytes: u64,
    /// By which share that may be off for other samples.
    pub stored_error: f64,
    /// Samples a second, read from the disk, made and handed over: one figure a pass.
    pub cold: Vec<f64>,
    /// The same read from memory.
    pub warm: Vec<f64>,
    /// Samples a second, read from a mount by plain reads of files; none if it wasn't mounted.
    pub mounted: Vec<f64>,
    /// The passes without the mount that took turns with those.
    pub beside: Vec<f64>,
    /// Where the time of the cold passes went.
    pub cold_time: Breakdown,
    /// Where that of the warm ones went.
    pub warm_time: Breakdown,
    /// Whether it was dropped when it was clearly beaten.
    pub beaten: bool,
}

/// The whole set, and the machine that is to serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Samples.
    pub population: usize,
    /// Bytes of their source files.
    pub source_bytes: u64,
    /// Bytes that the page cache can take.
    pub memory: u64,
}

/// A strategy's figures for the whole set.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// As measured on the part.
    pub measured: Measured,
    /// Seconds that materializing the whole set takes.
    pub prepare: Interval,
    /// Bytes that the whole set takes in the cache.
    pub stored: Interval,
    /// Whether what an epoch reads fits in memory: the warm figure counts then, else the cold one.
    pub fits: bool,
    /// Samples a second to expect, warm or cold: from the executor, or from a mount once one was
    /// measured ([`Estimate::through`]).
    pub throughput: Interval,
    /// Samples of the whole set.
    pub population: usize,
}

/// Memory that stays free for the training job itself.
const SHARE_OF_MEMORY: f64 = 0.6;

impl Estimate {
    /// What a part's figures say of the whole.
    pub fn new(measured: Measured, whole: &Whole) -> Estimate {
        // Bad samples are tried too, and are as many of the whole.
        let tried = (measured.samples + measured.bad).max(1);
        let scale = whole.population as f64 / tried as f64;
        let prepare = Interval::within(measured.offline_seconds * scale, measured.offline_error);
        let stored = Interval::within(measured.stored_bytes as f64 * scale, measured.stored_error);
        let read = match measured.strategy.split {
            Split::None => whole.source_bytes as f64,
            Split::After(_) => stored.mean,
        };
        let fits = read <= whole.memory as f64 * SHARE_OF_MEMORY;
        let throughput = stats::of_passes(if fits { &measured.warm } else { &measured.cold });
        let population = whole.population;
        Estimate { measured, prepare, stored, fits, throughput, population }
    }

    /// The same as a reader of a mount sees it, who waits so many seconds longer for each sample.
    #[must_use]
    pub fn through(self, seconds: f64) -> Estimate {
        let throughput = if self.measured.mounted.is_empty() {
            served::slower(self.throughput, seconds)
        } else {
            stats::of_passes(&self.measured.mounted)
        };
        Estimate { throughput, ..self }
    }

    /// The passes that count: warm or cold ones.
    pub fn passes(&self) -> &[f64] {
        if self.fits { &self.measured.warm } else { &self.measured.cold }
    }

    /// Where the time of the passes that count went.
    pub fn time(&self) -> &Breakdown {
        if self.fits { &self.measured.warm_time } else { &self.measured.cold_time }
    }

    /// Bytes that the whole set takes in the cache.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.mean as u64
    }
}
