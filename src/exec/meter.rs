//! What was done, how often, how long it took and how many bytes came out: for `stats` and for the
//! profiler. Counters only ever grow, and are read without stopping anyone.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::sample::{Buffer, Sample};

/// The kinds of work outside of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Whole samples served, from source or cache to the served file.
    Served,
    /// Reading source files.
    SourceRead,
    /// Reading the cache.
    CacheRead,
    /// Decompressing what the cache had.
    Decompress,
    /// Compressing for the cache.
    Compress,
    /// Writing to the cache.
    CacheWrite,
    /// Samples found in memory.
    MemoryHit,
    /// Samples found in the cache.
    Hit,
    /// Samples that had to be made for the cache.
    Miss,
    /// Samples that couldn't be made.
    Error,
}

const TALLIES: usize = Tally::Error as usize + 1;

/// Counters of everything an executor does.
pub struct Meter {
    tallies: [Counter; TALLIES],
    steps: Vec<Vec<Counter>>,
}

/// What a counter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How often.
    pub count: u64,
    /// How long in all, in nanoseconds of wall clock.
    pub nanoseconds: u64,
    /// Bytes that came out.
    pub bytes: u64,
}

#[derive(Default)]
struct Counter {
    count: AtomicU64,
    nanoseconds: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    fn add(&self, since: Instant, bytes: usize) {
        self.count.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(since.elapsed().as_nanos() as u64, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn figures(&self) -> Figures {
        Figures {
            count: self.count.load(Relaxed),
            nanoseconds: self.nanoseconds.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }
}

impl Meter {
    /// A meter for plans of so many steps each.
    pub(super) fn new(steps: &[usize]) -> Meter {
        let counters = |n: &usize| (0..*n).map(|_| Counter::default()).collect();
        Meter { tallies: Default::default(), steps: steps.iter().map(counters).collect() }
    }

    /// What a tally shows.
    pub fn tally(&self, tally: Tally) -> Figures {
        self.tallies[tally as usize].figures()
    }

    /// What each step of a plan shows, in order.
    pub fn steps(&self, plan: usize) -> Vec<Figures> {
        self.steps[plan].iter().map(Counter::figures).collect()
    }

    pub(super) fn count(&self, tally: Tally) {
        self.tallies[tally as usize].count.fetch_add(1, Relaxed);
    }

    pub(super) fn time<E>(
        &self,
        tally: Tally,
        work: impl FnOnce() -> Result<Buffer, E>,
    ) -> Result<Buffer, E> {
        self.time_result(tally, || {
            let buffer = work()?;
            let len = buffer.len();
            Ok((buffer, len))
        })
    }

    /// Counts only what succeeded.
    pub(super) fn time_result<T, E>(
        &self,
        tally: Tally,
        work: impl FnOnce() -> Result<(T, usize), E>,
    ) -> Result<T, E> {
        let since = Instant::now();
        let (value, bytes) = work()?;
        self.tallies[tally as usize].add(since, bytes);
        Ok(value)
    }

    /// Counts only what is there.
    pub(super) fn time_some<T>(
        &self,
        tally: Tally,
        work: impl FnOnce() -> Option<(T, usize)>,
    ) -> Option<T> {
        self.time_result(tally, || work().ok_or(())).ok()
    }

    /// A step was done that had no work of its own.
    pub(super) fn count_step(&self, plan: usize, at: usize, bytes: usize) {
        let counter = &self.steps[plan][at];
        counter.count.fetch_add(1, Relaxed);
        counter.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn time_step<E>(
        &self,
        plan: usize,
        at: usize,
        work: impl FnOnce() -> Result<Sample, E>,
    ) -> Result<Sample, E> {
        let since = Instant::now();
        let sample = work()?;
        self.steps[plan][at].add(since, sample.len());
        Ok(sample)
    }
}
