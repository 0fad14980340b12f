//! `parbake profile`: measures every strategy and says which is best.

mod goal;
mod mounting;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;

use super::ConfigArgs;
use mounting::{MOUNTPOINT, Mounting};

use super::say::{self, Done, Failure, Progress, talk};
use super::setup::{Setup, cores, no_match, one_or_more, some_threads, stop_flag};
use crate::config::{Config, with_strategy};
use crate::exec::{Executor, Found, Plan};
use crate::fuse;
use crate::profile::{self, Choice, Goal, Measure, Whole};
use crate::source::Source;
use crate::units::{count, parse_duration};

const EXAMPLES: &str = "\
prepare: time to fill the cache for the whole set; stored: what it takes on the disk then; cold and
warm: samples a second, read from the disk and from memory. docs/PROFILE.md has the rest.

Examples:
  parbake profile photos.toml
  parbake profile photos.toml --apply
  parbake profile photos.toml --json | jq -r '.[0].best.split'";

/// Measure every split and codec on a part of the set, and say which is best and why
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Profile {
    #[command(flatten)]
    config: ConfigArgs,

    /// Write the best strategy into the config, comments kept
    #[arg(long)]
    apply: bool,

    /// As JSON (docs/PROFILE.md)
    #[arg(long)]
    json: bool,

    /// How many samples of each pipeline to run on, drawn from all over the set
    #[arg(long, value_name = "N", default_value = "200", value_parser = one_or_more)]
    samples: std::num::NonZeroUsize,

    /// Samples to make at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = some_threads)]
    threads: Option<std::num::NonZeroUsize>,

    /// How long to measure; what is found until then counts
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    budget: Duration,

    #[command(flatten)]
    goal: goal::Args,
}

impl Profile {
    pub(super) fn run(self) -> Done {
        let goal = self.goal.goal()?;
        let stop = stop_flag()?;
        // Every strategy meets the same bad samples.
        say::log_each_line_once();
        let setup = Setup::new(&self.config)?;
        if self.apply {
            refuse_read_only(&self.config.config)?;
        }
        let source = setup.open_source()?;
        let plans = &setup.config.plans;
        // Only to find what there is: nothing is made by it.
        let exec = Executor::new(Arc::clone(&source), None, plans.clone(), setup.config.seed);
        let looking = Progress::new("samples found", 0);
        let found = exec
            .walk(|found| {
                looking.at(found);
                !stop.load(Relaxed)
            })
            .map_err(|error| Failure::new(format_args!("cannot list the source: {error}")))?;
        looking.end();

        let scratch = Scratch::new(&setup.cache)?;
        let since = Instant::now();
        let mut reports = Vec::new();
        let mut best = Vec::new();
        let mut meets = true;
        for (at, plan) in plans.iter().enumerate() {
            let mine: Vec<Found> = found.iter().filter(|one| one.plan == at).cloned().collect();
            if mine.is_empty() {
                if stop.load(Relaxed) {
                    break;
                }
                return Err(no_match(&setup.source, &plan.matcher.patterns().join(" ")));
            }
            let set = Set::look(&*source, mine);
            // What one pipeline didn't need is the next ones'.
            let left = self.budget.saturating_sub(since.elapsed()) / (plans.len() - at) as u32;
            let run = Run { setup: &setup, source: &source, scratch: &scratch, goal: &goal, stop };
            let Some(choice) = self.measure(&run, at, &set, left)? else {
                // Stopped before there was anything to show.
                break;
            };
            if !self.json {
                if at > 0 {
                    say::data("\n")?;
                }
                say::data(&self.text(at, plan, &set, &choice))?;
            }
            let patterns = plan.matcher.patterns();
            let threads = self.threads();
            let population = set.samples.len();
            reports.push(profile::json(&choice, &plan.pipeline, patterns, population, threads));
            let strategy = choice.ranked[0].measured.strategy;
            best.push((plan.pipeline.split_name(strategy.split), strategy.codec.to_string()));
            meets &= choice.meets;
        }
        drop(scratch);
        if self.json {
            say::data(&format!("{:#}\n", serde_json::Value::Array(reports)))?;
        }
        if stop.load(Relaxed) {
            talk("interrupted: only what was measured until then is shown, and nothing is written");
            return Ok(super::interrupted());
        }
        if self.apply && !meets {
            return Err(Failure::new("no strategy keeps to the limits: nothing is written")
                .hint("allow more, or leave out a limit"));
        }
        if self.apply {
            apply(&self.config.config, &best)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn measure(
        &self,
        run: &Run,
        at: usize,
        set: &Set,
        budget: Duration,
    ) -> Result<Option<Choice>, Failure> {
        let config = &run.setup.config;
        let pipeline = &config.plans[at].pipeline;
        let whole = Whole {
            population: set.samples.len(),
            source_bytes: set.sizes.iter().sum(),
            memory: memory(),
        };
        let mounting = Mounting {
            setup: run.setup,
            config: &self.config.config,
            source: Arc::clone(run.source),
            plan: at,
            scratch: &run.scratch.folder,
            threads: self.threads(),
        };
        let progress = Progress::new("strategies", profile::strategies(pipeline).len());
        let outcome = profile::measure(
            &Measure {
                source: Arc::clone(run.source),
                plans: &config.plans,
                identified_by: config.identified_by,
                plan: at,
                samples: &set.samples,
                sizes: &set.sizes,
                most: self.samples.get(),
                whole,
                goal: run.goal,
                scratch: &run.scratch.folder,
                threads: self.threads(),
                seed: config.seed,
                mounts: &mounting,
                budget,
                stop: run.stop,
            },
            &mut |done, strategy| {
                progress.at(done);
                let split = pipeline.split_name(strategy.split);
                progress
                    .doing(format_args!("strategies, now `{split}`, codec `{}`", strategy.codec));
            },
        );
        progress.end();
        let outcome = outcome.map_err(Failure::new)?;
        Ok(profile::choose(outcome, pipeline, &whole, run.goal))
    }

    fn threads(&self) -> usize {
        self.threads.map_or_else(cores, usize::from)
    }

    fn text(&self, at: usize, plan: &Plan, set: &Set, choice: &Choice) -> String {
        let best = &choice.ranked[0].measured;
        let made = count(best.samples as u64);
        let bad = match best.bad {
            0 => String::new(),
            bad => format!(", {} more are bad", count(bad as u64)),
        };
        let served: String = choice.served.iter().map(|line| format!("served: {line}\n")).collect();
        let notes: String = choice.notes.iter().map(|note| format!("note: {note}\n")).collect();
        format!(
            "pipeline {}  {}\n{}, measured on {made} with {}{bad}\n\n{}\n{}\nbest: {}\nbottleneck: {}\n{served}{notes}",
            at + 1,
            plan.matcher.patterns().join(" "),
            several(set.samples.len(), "sample"),
            several(self.threads(), "thread"),
            profile::table(choice, &plan.pipeline),
            profile::breakdown_table(choice, &plan.pipeline),
            choice.why,
            profile::bottleneck(choice, &plan.pipeline),
        )
    }
}

/// What all pipelines are measured with.
struct Run<'a> {
    setup: &'a Setup,
    source: &'a Arc<dyn Source>,
    scratch: &'a Scratch,
    goal: &'a Goal,
    stop: &'a AtomicBool,
}

/// So many of a thing that is named by a regular noun.
fn several(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

/// The samples of a plan.
struct Set {
    samples: Vec<Found>,
    sizes: Vec<u64>,
}

impl Set {
    fn look(source: &dyn Source, samples: Vec<Found>) -> Set {
        // One that can't be looked at can't be made either, and counts as bad when it is tried.
        let size = |one: &Found| source.stat(&one.path).map_or(0, |stat| stat.size);
        Set { sizes: samples.iter().map(size).collect(), samples }
    }
}

/// A folder in the cache's, gone when this is dropped.
struct Scratch {
    folder: PathBuf,
    /// Locked as long as the folder is in use: what a killed process left is told by that.
    _lock: File,
}

/// How the names of such folders begin.
const SCRATCH: &str = "profile-";

/// The file in it that is locked.
const LOCK: &str = "lock";

impl Scratch {
    fn new(cache: &Path) -> Result<Scratch, Failure> {
        sweep(cache);
        // Containers that share a cache may share process ids too.
        let names = (0..100).map(|n| format!("{SCRATCH}{}-{n}", std::process::id()));
        let made = std::fs::create_dir_all(cache).and_then(|()| {
            let mut folders = names.map(|name| cache.join(name));
            let folder = loop {
                let folder = folders.next().ok_or(io::ErrorKind::AlreadyExists)?;
                match std::fs::create_dir(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    made => break made.map(|()| folder)?,
                }
            };
            let lock = File::create(folder.join(LOCK))?;
            lock.lock()?;
            Ok(Scratch { folder, _lock: lock })
        });
        made.map_err(|error| {
            Failure::new(format_args!("cannot measure in {}: {error}", cache.display()))
                .hint("name another folder for the cache: `[cache] path = …`, or `--cache DIR`")
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            log::warn!("{} is left behind: {error}", self.folder.display());
        }
    }
}

/// Removes what killed processes left. Whatever can't be removed is no reason not to measure.
fn sweep(cache: &Path) {
    for entry in cache.read_dir().into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(SCRATCH) {
            continue;
        }
        // One without its lock was made a moment ago, by a process that is about to lock it.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            for inside in entry.path().read_dir().into_iter().flatten().flatten() {
                // A mount outlives whoever had it made, and ends with its name.
                if inside.file_name().to_string_lossy().starts_with(MOUNTPOINT) {
                    let _ = fuse::detach(&inside.path());
                }
            }
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Memory that the page cache can take, as the kernel sees it.
fn memory() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // Not told, it is safest to think that nothing stays in memory.
    kib.map_or(0, |kib| kib << 10)
}

/// Better said before measuring than after. (Who owns the file said it with its mode, and root is
/// held to that too.)
fn refuse_read_only(config: &Path) -> Result<(), Failure> {
    if std::fs::metadata(config).is_ok_and(|meta| meta.permissions().readonly()) {
        let shown = config.display();
        return Err(Failure::new(format_args!(
            "{shown} is read-only: `--apply` can't write to it"
        ))
        .hint(format_args!("`chmod u+w {shown}`, or leave out `--apply`")));
    }
    Ok(())
}

/// Writes the strategies into the config: a new file put in its place, so that no reader sees half
/// of one.
fn apply(config: &Path, best: &[(String, String)]) -> Result<(), Failure> {
    let words: Vec<String> =
        best.iter().map(|(split, codec)| format!("split `{split}`, codec `{codec}`")).collect();
    let words = words.join("; ");
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format_args!("cannot write {}: {error}", config.display()))
            .hint(format_args!("write it by hand: {words}"))
    };
    // A link is to stay one.
    let target = config.canonicalize().map_err(|error| failed(&error))?;
    let text = std::fs::read_to_string(&target).map_err(|error| failed(&error))?;
    let text = with_strategy(&text, best).map_err(|error| failed(&error))?;
    if !says(&text, config, best) {
        return Err(failed(&"there is no `[[pipeline]]` section to write below"));
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = target.with_file_name(name);
    let write = || {
        let mut file = File::create(&fresh)?;
        file.set_permissions(std::fs::metadata(&target)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &target)
    };
    if let Err(error) = write() {
        let _ = std::fs::remove_file(&fresh);
        return Err(failed(&error));
    }
    talk(format_args!("written to {}: {words}", config.display()));
    Ok(())
}

/// Whether a config's text gives these strategies.
fn says(text: &str, config: &Path, best: &[(String, String)]) -> bool {
    Config::parse(text, config).is_ok_and(|config| {
        let meant = config.plans.iter().map(|plan| {
            let strategy = plan.strategy;
            (plan.pipeline.split_name(strategy.split), strategy.codec.to_string())
        });
        // What is only meant by saying nothing wasn't written.
        !config.strategies_given.contains(&false) && meant.eq(best.iter().cloned())
    })
}
