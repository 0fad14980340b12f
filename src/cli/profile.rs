//! `parbake profile`: measures every strategy and says which is best.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::Args;

use super::ConfigArgs;
use super::say::{self, Done, Failure, Progress, talk};
use super::setup::{Setup, cores, stop_flag};
use crate::config::with_strategy;
use crate::exec::{Executor, Found, Plan};
use crate::profile::{self, Choice, Measure, Memory};
use crate::source::Source;
use crate::units::count;

const EXAMPLES: &str = "\
prepare: seconds of filling the cache for the whole set; stored: what it takes on the disk then;
cold and warm: samples a second read from the disk and from memory, with all threads.

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
    #[arg(long, value_name = "N", default_value = "200")]
    samples: std::num::NonZeroUsize,

    /// Samples to make at once [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
}

impl Profile {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        let setup = Setup::new(&self.config)?;
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
        let mut reports = Vec::new();
        let mut best = Vec::new();
        for (at, plan) in plans.iter().enumerate() {
            let mine: Vec<Found> = found.iter().filter(|one| one.plan == at).cloned().collect();
            if mine.is_empty() {
                let globs = plan.matcher.patterns().join(" ");
                return Err(Failure::new(format_args!(
                    "pipeline {}: no file of the source matches {globs}",
                    at + 1
                ))
                .hint("globs are matched against paths within the source; `**/` is any folder"));
            }
            let set = Set::look(&*source, mine);
            let choice = self.measure(&setup, &source, at, &set, &scratch, stop)?;
            if !self.json {
                say::data(&self.text(at, plan, &set, &choice))?;
            }
            let patterns = plan.matcher.patterns();
            reports.push(profile::json(&choice, &plan.pipeline, patterns, set.samples.len()));
            let strategy = choice.ranked[0].measured.strategy;
            best.push((plan.pipeline.split_name(strategy.split), strategy.codec.to_string()));
        }
        drop(scratch);
        if self.json {
            say::data(&format!("{:#}\n", serde_json::Value::Array(reports)))?;
        }
        if stop.load(Relaxed) {
            talk("interrupted: what was measured until then is shown, nothing is applied");
            return Ok(super::interrupted());
        }
        if self.apply {
            apply(&self.config.config, &best)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn measure(
        &self,
        setup: &Setup,
        source: &Arc<dyn Source>,
        at: usize,
        set: &Set,
        scratch: &Scratch,
        stop: &AtomicBool,
    ) -> Result<Choice, Failure> {
        let plans = &setup.config.plans;
        let part: Vec<Found> = profile::strata(&set.sizes, self.samples.get())
            .into_iter()
            .map(|place| set.samples[place].clone())
            .collect();
        let pipeline = &plans[at].pipeline;
        let progress = Progress::new("strategies", profile::strategies(pipeline).len());
        let measured = profile::measure(
            &Measure {
                source: Arc::clone(source),
                plans,
                plan: at,
                samples: &part,
                scratch: &scratch.0,
                threads: self.threads.map_or_else(cores, usize::from),
                seed: setup.config.seed,
                stop,
            },
            &mut |done, _, strategy| {
                progress.at(done);
                let split = pipeline.split_name(strategy.split);
                progress
                    .doing(format_args!("strategies, now `{split}`, codec `{}`", strategy.codec));
            },
        );
        progress.end();
        let measured = measured.map_err(Failure::new)?;
        let bytes = set.sizes.iter().sum();
        profile::choose(measured, pipeline, set.samples.len(), bytes, memory())
            .ok_or_else(|| Failure::new("stopped before the first strategy was measured"))
    }

    fn text(&self, at: usize, plan: &Plan, set: &Set, choice: &Choice) -> String {
        let measured = choice.ranked[0].measured.samples;
        format!(
            "pipeline {}  {}: {} samples, measured on {}, {} threads\n\n{}\nbest: {}\n",
            at + 1,
            plan.matcher.patterns().join(" "),
            count(set.samples.len() as u64),
            count(measured as u64),
            self.threads.map_or_else(cores, usize::from),
            profile::table(choice, &plan.pipeline),
            choice.why,
        )
    }
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
struct Scratch(PathBuf);

impl Scratch {
    fn new(cache: &Path) -> Result<Scratch, Failure> {
        let folder = cache.join(format!("profile-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(format_args!("cannot make {}: {error}", folder.display()))
                .hint("name another folder for the cache: `[cache] path = …`, or `--cache DIR`")
        })?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            log::warn!("{} is left behind: {error}", self.0.display());
        }
    }
}

/// Memory that the page cache can take, as the kernel sees it.
fn memory() -> Memory {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // Not told, it is safest to think that nothing stays in memory.
    Memory { available: kib.map_or(0, |kib| kib << 10) }
}

/// Writes the strategies into the config: a new file put in its place, so that no reader sees half
/// of one.
fn apply(config: &Path, best: &[(String, String)]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format_args!("cannot write {}: {error}", config.display()))
    };
    // A link is to stay one.
    let target = config.canonicalize().map_err(|error| failed(&error))?;
    let text = std::fs::read_to_string(&target).map_err(|error| failed(&error))?;
    let text = with_strategy(&text, best).map_err(|error| failed(&error))?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = target.with_file_name(name);
    let write = || {
        let mut file = std::fs::File::create(&fresh)?;
        file.set_permissions(std::fs::metadata(&target)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &target)
    };
    if let Err(error) = write() {
        let _ = std::fs::remove_file(&fresh);
        return Err(failed(&error));
    }
    let words: Vec<String> =
        best.iter().map(|(split, codec)| format!("split `{split}`, codec `{codec}`")).collect();
    talk(format_args!("written to {}: {}", config.display(), words.join("; ")));
    Ok(())
}
