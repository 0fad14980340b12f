//! Running strategies against each other and timing them. The only clock of the profiler.

mod counting;
mod hand_over;
mod mounted;

pub use mounted::{Mounted, Mounts};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use counting::Counting;
use hand_over::hand_over;

use super::breakdown::{Breakdown, Snapshot};
use super::estimate::{Estimate, Measured, Whole};
use super::goal::Goal;
use super::{race, stats, strata, strategies};
use crate::cache::{Cache, DiskCache, Options, Policy};
use crate::exec::{Executor, Found, IdentifiedBy, Materialized, Plan};
use crate::pipeline::{Split, Strategy};
use crate::source::Source;

/// What is to be measured.
pub struct Measure<'a> {
    /// Where samples come from.
    pub source: Arc<dyn Source>,
    /// All plans; that of the samples is run with each of its strategies in turn.
    pub plans: &'a [Plan],
    /// How source files are told apart.
    pub identified_by: IdentifiedBy,
    /// Which plan, by its place.
    pub plan: usize,
    /// The set; all of that plan.
    pub samples: &'a [Found],
    /// The sizes of the source files, in the same order.
    pub sizes: &'a [u64],
    /// On how many samples to run at most.
    pub most: usize,
    /// The whole set's figures.
    pub whole: Whole,
    /// What counts: who can't be the best for it is out early.
    pub goal: &'a Goal,
    /// A folder on the cache's disk. What is made in it is removed again.
    pub scratch: &'a Path,
    /// Threads that read at once.
    pub threads: usize,
    /// The seed of random draws.
    pub seed: u64,
    /// Who mounts the best ones.
    pub mounts: &'a dyn Mounts,
    /// How long it may take.
    pub budget: Duration,
    /// Raised to end early with what there is.
    pub stop: &'a AtomicBool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What was measured, in no order that means anything.
    pub measured: Vec<Measured>,
    /// The strategies that weren't, and why.
    pub untried: Vec<(Strategy, Untried)>,
    /// Why none was read from a mount, if none was.
    pub unmounted: Option<String>,
}

/// Why a strategy has no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untried {
    /// The time was over.
    NoTime,
    /// The cache's disk had no room for the part of the set.
    NoRoom,
}

/// Told before each piece of work: how many strategies have figures, and which one is run.
pub type Progress<'a> = dyn FnMut(usize, Strategy) + 'a;

/// Turns after which no figure gets better.
const MOST_TURNS: usize = 24;

/// How many are read from a mount.
const FINALISTS: usize = 3;

/// How often at most.
const MOUNTED_TURNS: usize = 8;

/// A pass that is shorter says more of the clock and of starting threads than of the work: it goes
/// over the samples again.
const SHORTEST_PASS: Duration = Duration::from_millis(40);

/// Races the strategies of a plan: each is run once, cold and warm, and then those that aren't
/// clearly beaten take turns until their figures are tight or the time is over.
///
/// # Errors
/// If the scratch folder can't be used, or not one sample can be made.
pub fn measure(what: &Measure, progress: &mut Progress) -> io::Result<Outcome> {
    let since = Instant::now();
    let (end, all_end) = (since + what.budget.mul_f64(0.8), since + what.budget);
    let all = strategies(&what.plans[what.plan].pipeline);
    let part = Part::new(what, all.len());
    let mut outcome = Outcome::default();
    let mut racers: Vec<Racer> = Vec::new();
    for (number, strategy) in all.iter().enumerate() {
        if what.stop.load(Relaxed) || Instant::now() >= end && !racers.is_empty() {
            outcome.untried.push((*strategy, Untried::NoTime));
            continue;
        }
        progress(number, *strategy);
        let folder = what.scratch.join(format!("strategy-{number}"));
        match Racer::enter(what, &part, *strategy, folder)? {
            Ok(racer) => racers.push(racer),
            Err(why) => outcome.untried.push((*strategy, why)),
        }
        drop_beaten(what, &mut racers)?;
    }
    if racers.is_empty() && outcome.untried.iter().any(|(_, why)| *why == Untried::NoRoom) {
        return Err(io::Error::new(
            io::ErrorKind::StorageFull,
            "no room for the part of the set that is measured: free some, or use fewer `--samples`",
        ));
    }
    'turns: for _ in 1..MOST_TURNS {
        for racer in racers.iter_mut().filter(|racer| racer.runs) {
            if what.stop.load(Relaxed) || Instant::now() >= end {
                break 'turns;
            }
            progress(all.len(), racer.measured.strategy);
            racer.turn(what, &part);
        }
        drop_beaten(what, &mut racers)?;
        let running = racers.iter().filter(|racer| racer.runs);
        if running.into_iter().all(|racer| race::is_tight(&racer.estimate(what))) {
            break;
        }
    }
    outcome.unmounted = if what.stop.load(Relaxed) || Instant::now() >= all_end {
        Some("the time was over".to_owned())
    } else {
        read_mounted(what, &part, &mut racers, all_end).err()
    };
    for racer in &mut racers {
        racer.leave()?;
    }
    outcome.measured = racers.into_iter().map(|racer| racer.measured).collect();
    Ok(outcome)
}

fn drop_beaten(what: &Measure, racers: &mut [Racer]) -> io::Result<()> {
    let known: Vec<Estimate> = racers.iter().map(|racer| racer.estimate(what)).collect();
    for (racer, beaten) in racers.iter_mut().zip(race::beaten(&known, what.goal)) {
        if racer.runs && beaten {
            racer.measured.beaten = true;
            racer.leave()?;
        }
    }
    Ok(())
}

/// Reads the best few from mounts, by turns with passes without one.
fn read_mounted(
    what: &Measure,
    part: &Part,
    racers: &mut [Racer],
    end: Instant,
) -> Result<(), String> {
    let estimates: Vec<Estimate> = racers.iter().map(|racer| racer.estimate(what)).collect();
    let costs = what.goal.objective.costs(&estimates);
    let mut best: Vec<usize> = (0..racers.len()).filter(|at| racers[*at].runs).collect();
    best.sort_by(|a, b| costs[*a].mean.total_cmp(&costs[*b].mean));
    best.truncate(FINALISTS);
    let mut mounts = Vec::new();
    for at in best {
        let mount = what.mounts.mount(racers[at].measured.strategy, &racers[at].folder)?;
        let paths: Vec<Option<PathBuf>> =
            part.samples.iter().map(|found| mount.path(found)).collect();
        mounts.push((at, mount, paths));
    }
    for turn in 0..MOUNTED_TURNS {
        for (at, _, paths) in &mounts {
            // The first turn is all taken, or there would be nothing to compare.
            if what.stop.load(Relaxed) || turn > 0 && Instant::now() >= end {
                return Ok(());
            }
            racers[*at].mounted_turn(what, part, paths);
        }
    }
    Ok(())
}

/// The samples that stand for the set.
struct Part {
    samples: Vec<Found>,
    /// Their places, by the size of the source file.
    by_size: Vec<usize>,
    /// The share of the set that isn't among them.
    left_out: f64,
}

impl Part {
    /// As many as the time affords for so many strategies.
    fn new(what: &Measure, strategies: usize) -> Part {
        let few = Part::of(what, what.most.min(2 * what.threads.max(2)));
        let mut plans = what.plans.to_vec();
        plans[what.plan].strategy = Strategy::NONE;
        let exec = Executor::new(Arc::clone(&what.source), None, plans, what.seed);
        let since = Instant::now();
        each(what, &few, |_, found| exec.serve(found.job(exec.source()).ok()?, 0).ok());
        let pace = since.elapsed().as_secs_f64() / few.samples.len().max(1) as f64;
        Part::of(what, race::part(pace, strategies, what.budget.as_secs_f64(), what.most))
    }

    fn of(what: &Measure, n: usize) -> Part {
        let places = strata(what.sizes, n);
        let mut by_size: Vec<usize> = (0..places.len()).collect();
        by_size.sort_by_key(|place| what.sizes[places[*place]]);
        let left_out = 1.0 - places.len() as f64 / what.samples.len().max(1) as f64;
        let samples = places.into_iter().map(|place| what.samples[place].clone()).collect();
        Part { samples, by_size, left_out }
    }

    /// By which share a figure of the whole may be off, given that of each sample.
    fn error(&self, values: &[f64], left_out: f64) -> f64 {
        let ordered: Vec<f64> = self.by_size.iter().map(|place| values[*place]).collect();
        stats::of_strata(&ordered, left_out)
    }
}

/// A strategy in the race.
struct Racer {
    exec: Executor,
    cache: Option<Arc<Counting>>,
    folder: PathBuf,
    measured: Measured,
    /// Draws that have been used.
    epoch: u64,
    runs: bool,
}

impl Racer {
    /// Fills the cache and runs the first cold and the first warm pass.
    fn enter(
        what: &Measure,
        part: &Part,
        strategy: Strategy,
        folder: PathBuf,
    ) -> io::Result<Result<Racer, Untried>> {
        let mut plans = what.plans.to_vec();
        plans[what.plan].strategy = strategy;
        let cache = match strategy.split {
            Split::None => None,
            Split::After(_) => {
                let path = folder.clone();
                let (limit, policy) = (u64::MAX, Policy::Keep);
                let options = Options { path, limit, min_free: 0, policy };
                Some(Arc::new(Counting::new(DiskCache::open(options)?)))
            }
        };
        let kept = cache.clone().map(|cache| cache as Arc<dyn Cache>);
        let exec = Executor::new(Arc::clone(&what.source), kept, plans, what.seed)
            .identified_by(what.identified_by);
        let measured = Measured {
            strategy,
            samples: 0,
            bad: 0,
            offline_seconds: 0.0,
            offline_error: 0.0,
            stored_bytes: 0,
            stored_error: 0.0,
            cold: Vec::new(),
            warm: Vec::new(),
            mounted: Vec::new(),
            beside: Vec::new(),
            cold_time: Breakdown::default(),
            warm_time: Breakdown::default(),
            beaten: false,
        };
        let mut racer = Racer { exec, cache, folder, measured, epoch: 0, runs: true };
        let room = racer.fill(what, part);
        let made = if room { racer.first_passes(what, part) } else { 0 };
        if made == 0 || what.stop.load(Relaxed) {
            racer.leave()?;
        }
        if !room {
            return Ok(Err(Untried::NoRoom));
        }
        // What was stopped in the middle has no figures.
        if what.stop.load(Relaxed) {
            return Ok(Err(Untried::NoTime));
        }
        if made == 0 {
            let why = racer.exec.bad_samples().list().into_iter().next();
            let why = why.map_or("there is none".to_owned(), |(path, bad)| {
                format!("the first: {}: {}", path.display(), bad.cause)
            });
            return Err(io::Error::other(format!("not one sample can be made; {why}")));
        }
        Ok(Ok(racer))
    }

    /// Materializes the part; whether there was room.
    fn fill(&mut self, what: &Measure, part: &Part) -> bool {
        let (exec, Some(cache)) = (&self.exec, &self.cache) else { return true };
        let since = Instant::now();
        let kept = each(what, part, |_, found| {
            let since = Instant::now();
            let job = found.job(exec.source()).ok()?;
            let done = exec.materialize(job).ok()?;
            Some((done, since.elapsed().as_secs_f64()))
        });
        let measured = &mut self.measured;
        measured.offline_seconds = since.elapsed().as_secs_f64();
        if kept.iter().flatten().any(|(done, _)| *done == Materialized::NoRoom) {
            return false;
        }
        measured.stored_bytes = cache.status().bytes;
        let seconds: Vec<f64> =
            kept.iter().map(|kept| kept.map_or(0.0, |(_, seconds)| seconds)).collect();
        let bytes = |found: &Found| {
            let key = exec.key_of(found.job(exec.source()).ok()?)?;
            Some(cache.bytes(&key) as f64)
        };
        let bytes: Vec<f64> =
            part.samples.iter().map(|found| bytes(found).unwrap_or(0.0)).collect();
        // Another run over the same samples takes another time, but the same bytes.
        measured.offline_error = part.error(&seconds, 1.0);
        measured.stored_error = part.error(&bytes, part.left_out);
        true
    }

    /// A cold pass and a warm one; how many samples were made.
    fn first_passes(&mut self, what: &Measure, part: &Part) -> usize {
        let (made, cold, cold_time) = self.cold(what, part);
        let (_, warm, warm_time) = self.pass(what, part, SHORTEST_PASS);
        self.measured.samples = made;
        self.measured.bad = part.samples.len().saturating_sub(made);
        self.measured.cold.push(cold);
        self.measured.warm.push(warm);
        self.measured.cold_time.add(&cold_time);
        self.measured.warm_time.add(&warm_time);
        made
    }

    /// One more pass of those that count.
    fn turn(&mut self, what: &Measure, part: &Part) {
        let warm = self.estimate(what).fits;
        let (_, rate, time) =
            if warm { self.pass(what, part, SHORTEST_PASS) } else { self.cold(what, part) };
        if what.stop.load(Relaxed) {
            return;
        }
        let Measured { cold, cold_time, warm: warms, warm_time, .. } = &mut self.measured;
        let (passes, times) = if warm { (warms, warm_time) } else { (cold, cold_time) };
        passes.push(rate);
        times.add(&time);
    }

    /// A pass without the mount, and one of reading these files of it.
    fn mounted_turn(&mut self, what: &Measure, part: &Part, paths: &[Option<PathBuf>]) {
        let warm = self.estimate(what).fits;
        let (_, beside, _) =
            if warm { self.pass(what, part, SHORTEST_PASS) } else { self.cold(what, part) };
        let at_least = if warm { SHORTEST_PASS } else { Duration::ZERO };
        let (mut made, mut took) = (0, Duration::ZERO);
        loop {
            mounted::forget(paths.iter().flatten());
            if !warm {
                self.forget_pages(part);
            }
            let since = Instant::now();
            let read = each(what, part, |place, _| {
                std::fs::read(paths[place].as_ref()?).ok().map(|bytes| bytes.len())
            });
            took += since.elapsed();
            let now = read.iter().flatten().count();
            made += now;
            if took >= at_least || now == 0 || what.stop.load(Relaxed) {
                break;
            }
        }
        if made > 0 && !what.stop.load(Relaxed) {
            self.measured.mounted.push(made as f64 / took.as_secs_f64());
            self.measured.beside.push(beside);
        }
    }

    fn cold(&mut self, what: &Measure, part: &Part) -> (usize, f64, Breakdown) {
        self.forget_pages(part);
        self.pass(what, part, Duration::ZERO)
    }

    fn forget_pages(&self, part: &Part) {
        for found in &part.samples {
            // Refused at worst for a file that can't be read either: that one is counted as bad.
            let _ = self.exec.source().forget_pages(&found.path);
        }
        if let Some(cache) = &self.cache {
            cache.forget_pages();
        }
    }

    /// Serves every sample, once or as often as it takes to be `at_least` so long: how many were
    /// made each time, samples a second, and where the time went.
    fn pass(&mut self, what: &Measure, part: &Part, at_least: Duration) -> (usize, f64, Breakdown) {
        let before = Snapshot::of(self.exec.meter(), what.plan);
        let handed = AtomicU64::new(0);
        let since = Instant::now();
        let mut all = 0;
        loop {
            let (exec, epoch) = (&self.exec, self.epoch);
            let served = each(what, part, |_, found| {
                let job = found.job(exec.source()).ok()?;
                let served = exec.serve(job, epoch).ok()?;
                let since = Instant::now();
                // What can't be handed over here, a mount can: then only its time is missing.
                let ok = hand_over(&served).is_ok();
                handed.fetch_add(since.elapsed().as_nanos() as u64, Relaxed);
                Some(ok)
            });
            let made = served.iter().flatten().count();
            self.epoch += 1;
            all += made;
            let took = since.elapsed();
            if took >= at_least || made == 0 || what.stop.load(Relaxed) {
                let threads = what.threads.min(part.samples.len()).max(1) as f64;
                let took = took.as_secs_f64();
                let handed = handed.load(Relaxed) as f64 * 1e-9;
                let after = Snapshot::of(self.exec.meter(), what.plan);
                let time = before.until(&after, handed, took * threads);
                return (made, all as f64 / took, time);
            }
        }
    }

    fn estimate(&self, what: &Measure) -> Estimate {
        Estimate::new(self.measured.clone(), &what.whole)
    }

    /// Runs no more, and gives back its room on the disk.
    fn leave(&mut self) -> io::Result<()> {
        self.runs = false;
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)?;
        }
        Ok(())
    }
}

/// Runs `work` on every sample, on all threads. By the sample's place; none where it failed or the
/// work was stopped.
fn each<T: Send>(
    what: &Measure,
    part: &Part,
    work: impl Fn(usize, &Found) -> Option<T> + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Relaxed);
            match part.samples.get(place) {
                Some(found) if !what.stop.load(Relaxed) => done.push((place, work(place, found))),
                _ => return done,
            }
        }
    };
    let mut all: Vec<Option<T>> = part.samples.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..what.threads).map(|_| scope.spawn(run)).collect();
        for (place, value) in
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default())
        {
            all[place] = value;
        }
    });
    all
}
