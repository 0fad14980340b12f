//! Where a sample's time goes: reading, steps, codec, copies. Figures only; no clock.

use crate::exec::{Figures, Meter, Tally};

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Reading the source file.
    SourceRead,
    /// Reading the cache.
    CacheRead,
    /// Decompressing what it had.
    Decompress,
    /// A step, counted from 0.
    Step(usize),
    /// The copies into the kernel and out again to the reader.
    HandOver,
    /// The rest: looking at the source file, the key, the served file's header.
    Other,
}

/// What one kind of work took and made, summed over samples and threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    /// Which work.
    pub work: Work,
    /// Seconds of all threads.
    pub seconds: f64,
    /// Bytes that came out.
    pub bytes: f64,
}

/// Where the time of served samples went, in the order of the work; only work that was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakdown {
    /// Samples.
    pub samples: f64,
    /// All that was done.
    pub portions: Vec<Portion>,
}

/// What a meter shows of serving one plan.
pub(super) struct Snapshot(Vec<(Work, Figures)>, Figures);

impl Snapshot {
    pub(super) fn of(meter: &Meter, plan: usize) -> Snapshot {
        let tallies = [
            (Work::SourceRead, Tally::SourceRead),
            (Work::CacheRead, Tally::CacheRead),
            (Work::Decompress, Tally::Decompress),
        ];
        let tallies = tallies.into_iter().map(|(work, tally)| (work, meter.tally(tally)));
        let steps = meter.steps(plan).into_iter().enumerate();
        let steps = steps.map(|(at, figures)| (Work::Step(at), figures));
        Snapshot(tallies.chain(steps).collect(), meter.tally(Tally::Served))
    }

    /// What was done between two of them, given what is known of the time outside: the copies, and
    /// all that the threads had.
    pub(super) fn until(&self, later: &Snapshot, hand_over: f64, threads: f64) -> Breakdown {
        let seconds =
            |old: &Figures, new: &Figures| (new.nanoseconds - old.nanoseconds) as f64 * 1e-9;
        let mut portions: Vec<Portion> = self
            .0
            .iter()
            .zip(&later.0)
            .filter(|((_, old), (_, new))| new.count > old.count)
            .map(|((work, old), (_, new))| Portion {
                work: *work,
                seconds: seconds(old, new),
                bytes: (new.bytes - old.bytes) as f64,
            })
            .collect();
        let known: f64 = portions.iter().map(|portion| portion.seconds).sum();
        let (old, new) = (&self.1, &later.1);
        let bytes = (new.bytes - old.bytes) as f64;
        portions.push(Portion { work: Work::HandOver, seconds: hand_over, bytes });
        let rest = (threads - known - hand_over).max(0.0);
        portions.push(Portion { work: Work::Other, seconds: rest, bytes });
        Breakdown { samples: (new.count - old.count) as f64, portions }
    }
}

impl Breakdown {
    /// Adds what was done in another pass of the same work.
    pub(super) fn add(&mut self, other: &Breakdown) {
        self.samples += other.samples;
        for more in &other.portions {
            match self.portions.iter_mut().find(|portion| portion.work == more.work) {
                Some(portion) => {
                    portion.seconds += more.seconds;
                    portion.bytes += more.bytes;
                }
                None => self.portions.push(*more),
            }
        }
    }

    /// Seconds of a thread that a sample takes.
    pub fn seconds_a_sample(&self) -> f64 {
        let all: f64 = self.portions.iter().map(|portion| portion.seconds).sum();
        if self.samples > 0.0 { all / self.samples } else { 0.0 }
    }

    /// What a kind of work takes of a sample's time: seconds of a thread, and bytes out.
    pub fn of(&self, work: Work) -> Option<(f64, f64)> {
        let portion = self.portions.iter().find(|portion| portion.work == work)?;
        Some((portion.seconds / self.samples, portion.bytes / self.samples))
    }

    /// The work that takes most, and its share of the time.
    pub fn most(&self) -> Option<(Work, f64)> {
        let most = self.portions.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
        let all = self.seconds_a_sample() * self.samples;
        (all > 0.0).then(|| (most.work, most.seconds / all))
    }
}
