//! `parbake materialize`: fills the cache.

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use clap::Args;

use super::ConfigArgs;
use super::say::{Done, Failure, Progress, talk};
use super::setup::{Setup, cores, no_match, some_threads, stop_flag};
use crate::exec::{Executor, Found, Materialized};
use crate::pipeline::Split;
use crate::units::{bytes, count, duration, rate};

const EXAMPLES: &str = "\
Ctrl-C keeps what was done; run it again and it goes on from there.

Examples:
  parbake materialize photos.toml
  parbake materialize photos.toml --threads 8 --cache /fast/parbake";

/// Fill the cache: run the offline steps for every sample that isn't in it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Materialize {
    #[command(flatten)]
    config: ConfigArgs,

    /// Samples to make at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = some_threads)]
    threads: Option<std::num::NonZeroUsize>,
}

/// What became of the samples.
#[derive(Default)]
struct Tally {
    made: AtomicUsize,
    already: AtomicUsize,
    no_room: AtomicUsize,
    bad: AtomicUsize,
}

impl Materialize {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        let setup = Setup::new(&self.config)?;
        if setup.config.plans.iter().all(|plan| plan.strategy.split == Split::None) {
            let config = self.config.config.display();
            return Err(Failure::usage(format_args!(
                "{config}: the split is `none`: nothing is kept, so there is nothing to materialize"
            ))
            .hint(format_args!(
                "`parbake profile {config} --apply` measures the splits and writes the best"
            )));
        }
        let exec = setup.executor()?;
        let looking = Progress::new("samples found", 0);
        let samples = exec
            .walk(|found| {
                looking.at(found);
                !stop.load(Relaxed)
            })
            .map_err(|error| Failure::new(format_args!("cannot list the source: {error}")))?;
        looking.end();
        let samples = in_own_order(to_keep(&setup, samples, stop)?);

        let started = Instant::now();
        let tally = Tally::default();
        let progress = Progress::new("samples", samples.len());
        let next = AtomicUsize::new(0);
        let threads = self.threads.map_or_else(cores, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(found) = samples.get(next.fetch_add(1, Relaxed)) {
                        if stop.load(Relaxed) {
                            break;
                        }
                        one(&exec, found, &tally);
                        progress.at(tally.done());
                    }
                });
            }
        });
        progress.end();
        tally.report(&exec, &setup, samples.len(), started.elapsed().as_secs_f64());
        if stop.load(Relaxed) {
            talk("interrupted: run the same command again, and it goes on from here");
            return Ok(super::interrupted());
        }
        if tally.no_room.load(Relaxed) > 0 {
            let config = self.config.config.display();
            return Err(Failure::new("the cache is full: the rest is made when it is read").hint(
                format_args!(
                    "raise `limit` in `[cache]` or make room on its disk; `parbake profile \
                     {config}` shows what each split takes"
                ),
            ));
        }
        Ok(if tally.bad.load(Relaxed) > 0 { super::some_failed() } else { ExitCode::SUCCESS })
    }
}

/// The samples of pipelines that keep something.
fn to_keep(setup: &Setup, samples: Vec<Found>, stop: &AtomicBool) -> Result<Vec<Found>, Failure> {
    let plans = &setup.config.plans;
    if samples.is_empty() && !stop.load(Relaxed) {
        let globs: Vec<&str> =
            plans.iter().flat_map(|plan| plan.matcher.patterns()).map(String::as_str).collect();
        return Err(no_match(&setup.source, &globs.join(" ")));
    }
    let (kept, others): (Vec<Found>, Vec<Found>) =
        samples.into_iter().partition(|found| plans[found.plan].strategy.split != Split::None);
    if !others.is_empty() {
        let others = count(others.len() as u64);
        talk(format_args!("note: {others} samples are of pipelines with the split `none`"));
    }
    Ok(kept)
}

/// Samples that are made one after the other, as they were found: they may be near each other on the
/// source's disk.
const TOGETHER: usize = 16;

/// The samples in an order of this process's own: several that fill a cache at the same time then
/// seldom make the same.
fn in_own_order(samples: Vec<Found>) -> Vec<Found> {
    let order = RandomState::new();
    let mut some: Vec<(usize, &[Found])> = samples.chunks(TOGETHER).enumerate().collect();
    some.sort_by_cached_key(|(at, _)| order.hash_one(at));
    some.into_iter().flat_map(|(_, some)| some.iter().cloned()).collect()
}

fn one(exec: &Executor, found: &Found, tally: &Tally) {
    // Without room for one there is none for the rest: they are only counted.
    let is_full = tally.no_room.load(Relaxed) > 0;
    let done = match found.job(exec.source()) {
        Ok(job) if is_full && !exec.is_cached(job) => Some(Materialized::NoRoom),
        Ok(job) => exec.materialize(job).ok(),
        Err(error) => {
            log::warn!("{}: {error}", found.path.display());
            None
        }
    };
    let counter = match done {
        Some(Materialized::Kept) => &tally.made,
        Some(Materialized::Already) => &tally.already,
        Some(Materialized::NoRoom) => &tally.no_room,
        None => &tally.bad,
    };
    counter.fetch_add(1, Relaxed);
}

impl Tally {
    fn done(&self) -> usize {
        [&self.made, &self.already, &self.bad].iter().map(|count| count.load(Relaxed)).sum()
    }

    fn report(&self, exec: &Executor, setup: &Setup, samples: usize, seconds: f64) {
        let of = |counter: &AtomicUsize| counter.load(Relaxed) as u64;
        let (made, already, bad) = (of(&self.made), of(&self.already), of(&self.bad));
        let mut line = format!(
            "{} of {} samples are in the cache",
            count(made + already),
            count(samples as u64),
        );
        let mut say = |words: String| line.extend([", ", &words]);
        if made > 0 {
            let pace = rate(made as f64 / seconds.max(1e-9));
            say(format!("{} made in {} ({pace})", count(made), duration(seconds)));
        }
        if already > 0 {
            say(format!("{} there before", count(already)));
        }
        if bad > 0 {
            say(format!("{} bad", count(bad)));
        }
        talk(line);
        if let Some(cache) = exec.cache() {
            let status = cache.status();
            let (entries, used) = (count(status.entries), bytes(status.bytes));
            let folder = setup.cache.display();
            talk(format_args!("the cache {folder} holds {entries} entries, {used}"));
        }
    }
}
