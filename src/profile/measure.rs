//! Running strategies and timing them.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::strategies;
use crate::cache::{Cache, DiskCache, Options, Policy};
use crate::exec::{Executor, Found, Materialized, Plan};
use crate::pipeline::{Split, Strategy};
use crate::source::Source;

/// What is to be measured.
pub struct Measure<'a> {
    /// Where samples come from.
    pub source: Arc<dyn Source>,
    /// All plans; that of the samples is run with each of its strategies in turn.
    pub plans: &'a [Plan],
    /// Which plan, by its place.
    pub plan: usize,
    /// The part of the set to run on; all of that plan.
    pub samples: &'a [Found],
    /// A folder on the cache's disk. What is made in it is removed again.
    pub scratch: &'a Path,
    /// Threads that read at once.
    pub threads: usize,
    /// The seed of random draws.
    pub seed: u64,
    /// Raised to end early with what there is.
    pub stop: &'a AtomicBool,
}

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
    /// Bytes that these take in the cache.
    pub stored_bytes: u64,
    /// Samples a second, read from the disk, made and handed over.
    pub cold: f64,
    /// The same read from memory: one figure a pass.
    pub warm: Vec<f64>,
}

impl Measured {
    /// The median of the warm passes, in samples a second.
    pub fn warm_median(&self) -> f64 {
        let mut sorted = self.warm.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Told before each strategy: how many are done, and how many there are.
pub type Progress<'a> = dyn FnMut(usize, usize, Strategy) + 'a;

/// The passes over samples in memory. The median of three isn't moved by one that was disturbed.
const WARM_PASSES: u64 = 3;

/// Runs every strategy of a plan on the samples.
///
/// # Errors
/// If the scratch folder can't be used, or not one sample can be made.
pub fn measure(what: &Measure, progress: &mut Progress) -> io::Result<Vec<Measured>> {
    let all = strategies(&what.plans[what.plan].pipeline);
    let mut measured = Vec::with_capacity(all.len());
    for (done, strategy) in all.iter().enumerate() {
        if what.stop.load(Relaxed) {
            break;
        }
        progress(done, all.len(), *strategy);
        let folder = what.scratch.join(format!("strategy-{done}"));
        let figures = one(what, *strategy, &folder);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        // What was stopped in the middle has no figures.
        if let Some(figures) = figures?.filter(|_| !what.stop.load(Relaxed)) {
            measured.push(figures);
        }
    }
    Ok(measured)
}

fn one(what: &Measure, strategy: Strategy, folder: &Path) -> io::Result<Option<Measured>> {
    let mut plans = what.plans.to_vec();
    plans[what.plan].strategy = strategy;
    let cache: Option<Arc<dyn Cache>> = match strategy.split {
        Split::None => None,
        Split::After(_) => {
            let path = folder.to_owned();
            Some(Arc::new(DiskCache::open(Options {
                path,
                limit: u64::MAX,
                min_free: 0,
                policy: Policy::Keep,
            })?))
        }
    };
    let exec = Executor::new(Arc::clone(&what.source), cache.clone(), plans, what.seed);

    let since = Instant::now();
    let kept = each(what, |found| {
        let job = found.job(exec.source()).ok()?;
        Some(exec.materialize(job).ok()? != Materialized::NoRoom || cache.is_none())
    });
    let offline_seconds = if cache.is_some() { since.elapsed().as_secs_f64() } else { 0.0 };
    if kept.contains(&Some(false)) {
        return Err(io::Error::new(
            io::ErrorKind::StorageFull,
            "no room for the part of the set that is measured: free some, or use fewer `--samples`",
        ));
    }
    let stored_bytes = cache.as_ref().map_or(0, |cache| cache.status().bytes);

    for found in what.samples {
        // Refused at worst for a file that can't be read either: that one is counted as bad.
        let _ = exec.source().forget_pages(&found.path);
    }
    if let Some(cache) = &cache {
        cache.forget_pages();
    }
    let pass = |epoch: u64| {
        let since = Instant::now();
        let served = each(what, |found| {
            let job = found.job(exec.source()).ok()?;
            let served = exec.serve(job, epoch).ok()?;
            // What can't be handed over here, a mount can: then only its time is missing.
            Some(HAND_OVER.with_borrow_mut(|over| over.pass(&served)).is_ok())
        });
        let made = served.iter().flatten().count();
        (made, made as f64 / since.elapsed().as_secs_f64())
    };
    let (samples, cold) = pass(0);
    let warm = (1..=WARM_PASSES).map(|epoch| pass(epoch).1).collect();
    if samples == 0 && !what.stop.load(Relaxed) {
        let why = exec.bad_samples().list().into_iter().next();
        let why = why.map_or("there is none".to_owned(), |(path, bad)| {
            format!("the first: {}: {}", path.display(), bad.cause)
        });
        return Err(io::Error::other(format!("not one sample can be made; {why}")));
    }
    Ok((samples > 0).then_some(Measured {
        strategy,
        samples,
        bad: what.samples.len().saturating_sub(samples),
        offline_seconds,
        stored_bytes,
        cold,
        warm,
    }))
}

thread_local! {
    static HAND_OVER: RefCell<HandOver> = const { RefCell::new(HandOver { file: None, reader: Vec::new() }) };
}

/// The way of a served file's bytes to who reads them: copied into the kernel, and out of it.
///
/// This costs every strategy the same, and much of what a reader waits for. Left out, strategies
/// that save a little before it would look better than any reader sees. What is still missing is
/// what an opening costs that doesn't depend on bytes: the kernel's messages and a reader's own
/// work.
struct HandOver {
    /// A file in memory, one a thread.
    file: Option<File>,
    reader: Vec<u8>,
}

impl HandOver {
    fn pass(&mut self, served: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(memfd_create(c"parbake", MFdFlags::MFD_CLOEXEC)?.into()),
        };
        if self.reader.len() < served.len() {
            self.reader.resize(served.len(), 0);
        }
        file.write_all_at(served, 0)?;
        file.read_exact_at(&mut self.reader[..served.len()], 0)
    }
}

/// Runs `work` on every sample, on all threads.
fn each<T: Send>(what: &Measure, work: impl Fn(&Found) -> Option<T> + Sync) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some(found) = what.samples.get(next.fetch_add(1, Relaxed)) {
            if what.stop.load(Relaxed) {
                break;
            }
            done.push(work(found));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..what.threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}
