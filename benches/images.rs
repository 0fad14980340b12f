//! parbake's side of `scripts/bench images`: makes the samples that it is asked for, through the
//! executor that serves a mount, and answers how much of this thread's CPU time each batch took.
//!
//! It knows no peers and decides nothing: what is asked, and when, is the driver's business
//! (`scripts/bench.d/images_driver.py`, where the lines are described).

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::time::{ClockId, clock_gettime};
use parbake::config::Config;
use parbake::exec::{Executor, Job};
use parbake::sample::Buffer;
use parbake::source::DirSource;
use serde::Deserialize;
use serde_json::json;

/// What the driver asks for.
#[derive(Deserialize)]
struct Ask {
    workload: String,
    /// Which of these photos can't be made?
    check: Option<Vec<PathBuf>>,
    /// The photos of each batch from now on.
    batches: Option<Vec<Vec<PathBuf>>>,
    /// Make this batch, with the draws of an epoch.
    run: Option<usize>,
    #[serde(default)]
    epoch: u64,
    /// Hand the served files over, too.
    #[serde(default)]
    files: bool,
}

/// A config's executor, every step online, and the batches.
struct Workload {
    name: String,
    exec: Executor,
    batches: Vec<Vec<PathBuf>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [source, configs @ ..] = arguments.as_slice() else {
        return say("this is the server of `scripts/bench images`: run that");
    };
    if source == Path::new("--bench") {
        return say("this is the server of `scripts/bench images`: run that");
    }
    let mut workloads = Vec::new();
    for config in configs {
        let plans = Config::load(config)?.plans;
        let exec = Executor::new(Arc::new(DirSource::open(source)?), None, plans, 0);
        let name = config.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        workloads.push(Workload { name, exec, batches: Vec::new() });
    }
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let ask: Ask = serde_json::from_str(&line?)?;
        let workload = workloads.iter_mut().find(|one| one.name == ask.workload);
        workload.ok_or("no such workload")?.answer(ask, &mut out)?;
        out.flush()?;
    }
    Ok(())
}

fn say(words: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(io::stderr(), "{words}")?)
}

impl Workload {
    fn answer(&mut self, ask: Ask, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        if let Some(photos) = ask.check {
            let bad: Vec<PathBuf> =
                photos.into_iter().filter(|photo| self.serve(photo, 0).is_err()).collect();
            return Ok(writeln!(out, "{}", json!({ "bad": bad }))?);
        }
        if let Some(batches) = ask.batches {
            self.batches = batches;
            return Ok(writeln!(out, "{{}}")?);
        }
        let batch = ask.run.and_then(|at| self.batches.get(at)).ok_or("no such batch")?;
        let (mut nanoseconds, mut files) = (0, Vec::new());
        for photo in batch {
            let since = cpu_nanoseconds()?;
            let file = self.serve(photo, ask.epoch)?;
            nanoseconds += cpu_nanoseconds()? - since;
            if ask.files {
                files.extend_from_slice(&file);
            }
        }
        writeln!(out, "{}", json!({ "ns": nanoseconds, "bytes": files.len() }))?;
        Ok(out.write_all(&files)?)
    }

    fn serve(&self, photo: &Path, epoch: u64) -> Result<Buffer, Box<dyn Error>> {
        let plan = self.exec.plan_for(photo).ok_or("no pipeline for it")?;
        let stat = self.exec.source().stat(photo)?;
        Ok(self.exec.serve(Job { path: photo, stat, plan }, epoch)?)
    }
}

/// CPU time that this thread has had so far.
fn cpu_nanoseconds() -> io::Result<i64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}
