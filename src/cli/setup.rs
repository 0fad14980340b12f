//! From arguments and a config to an executor.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::sys::signal::{SigSet, Signal};

use super::say::{Failure, talk};
use super::{ConfigArgs, contents};
use crate::cache::{Cache, DiskCache, Kind, Options};
use crate::config::Config;
use crate::exec::{Executor, Memory, Plan};
use crate::pipeline::Split;
use crate::source::{DirSource, Source};
use crate::step::image::missing_instructions;

/// A config with the command line's word over it.
pub(super) struct Setup {
    /// The config's file.
    file: PathBuf,
    pub(super) config: Config,
    pub(super) source: PathBuf,
    pub(super) cache: PathBuf,
}

impl Setup {
    pub(super) fn new(args: &ConfigArgs) -> Result<Setup, Failure> {
        let mut config = Config::load(&args.config)?;
        let source = args.source.clone().or(config.source.take()).ok_or_else(|| {
            Failure::usage(format_args!("{}: no source", args.config.display()))
                .hint("say where the samples are: `[source] path = …`, or `--source DIR`")
        })?;
        let cache = match args.cache.clone().or(config.cache.path.take()) {
            Some(cache) => cache,
            None => default_cache()?,
        };
        let (source, cache) = (absolute(&source)?, absolute(&cache)?);
        let file = absolute(&args.config)?;
        config.source = Some(source.clone());
        config.cache.path = Some(cache.clone());
        Ok(Setup { file, config, source, cache })
    }

    pub(super) fn open_source(&self) -> Result<Arc<dyn Source>, Failure> {
        let source = DirSource::open(&self.source).map_err(|error| {
            Failure::new(format_args!("cannot open the source {}: {error}", self.source.display()))
                .hint("say where the samples are: `[source] path = …`, or `--source DIR`")
        })?;
        Ok(Arc::new(source))
    }

    /// The cache, if any plan keeps something in it.
    pub(super) fn open_cache(&self) -> Result<Option<Arc<dyn Cache>>, Failure> {
        if self.config.plans.iter().all(|plan| plan.strategy.split == Split::None) {
            return Ok(None);
        }
        let limits = &self.config.cache;
        let path = self.cache.clone();
        let (limit, min_free, policy) = (limits.limit, limits.min_free, limits.policy);
        let options = Options { path, limit, min_free, policy };
        let cache = DiskCache::open(options).map_err(|error| {
            Failure::new(with_causes(&error))
                .hint("name another folder: `[cache] path = …`, or `--cache DIR`")
        })?;
        for text in self.contents() {
            cache.leave_note(&text);
        }
        let kinds: Vec<Kind> = self.config.plans.iter().filter_map(Plan::kind).collect();
        cache.used_by(&format!("{}\n{}", self.file.display(), self.source.display()), &kinds);
        Ok(Some(Arc::new(cache)))
    }

    /// What the plans keep in the cache, a text each.
    pub(super) fn contents(&self) -> Vec<String> {
        let plans = &self.config.plans;
        plans.iter().filter_map(|plan| contents::text(&self.source, plan)).collect()
    }

    pub(super) fn executor(&self) -> Result<Executor, Failure> {
        let plans = self.config.plans.clone();
        if let Some(missing) = missing_instructions() {
            talk(format_args!(
                "note: this processor has no {missing}: pictures are made by portable code, the same \
                 ones but more slowly"
            ));
        }
        let exec = Executor::new(self.open_source()?, self.open_cache()?, plans, self.config.seed);
        Ok(exec.identified_by(self.config.identified_by))
    }

    /// The same, keeping samples in memory as the config says: for who serves.
    pub(super) fn serving_executor(&self) -> Result<Executor, Failure> {
        let executor = self.executor()?;
        Ok(match self.config.cache.memory {
            0 => executor,
            limit => executor.with_memory(Memory::new(limit, self.config.cache.policy)),
        })
    }

    /// Says so where no strategy was given.
    pub(super) fn mention_missing_strategy(&self, config: &Path) {
        let given = &self.config.strategies_given;
        let without: Vec<String> = (1..)
            .zip(given)
            .filter(|(_, given)| !**given)
            .map(|(number, _): (usize, _)| number.to_string())
            .collect();
        if without.is_empty() {
            return;
        }
        if without.len() == given.len() {
            talk(
                "note: no `[strategy]` in the config: nothing is cached, every read starts at the source",
            );
        } else {
            let which = without.join(", ");
            talk(format_args!("note: no strategy for pipeline {which}: nothing of it is cached"));
        }
        let config = config.display();
        talk(format_args!("hint: `parbake profile {config} --apply` measures and writes one"));
    }
}

/// An error with what it comes from, as far as it tells.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}

/// More threads than this are a slip of the finger.
const MOST_THREADS: usize = 1024;

/// A number of threads, as an argument.
pub(super) fn some_threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MOST_THREADS);
    number.ok_or_else(|| format!("it must be a whole number from 1 to {MOST_THREADS}"))
}

/// A number of things that there must be at least one of, as an argument.
pub(super) fn one_or_more(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "it must be a whole number from 1".to_owned())
}

/// No file of the source matches any of these globs.
pub(super) fn no_match(source: &Path, globs: &str) -> Failure {
    Failure::new(format_args!("no file of {} matches `{globs}`", source.display())).hint(
        "globs are of paths within the source: `*` stops at `/`, `**/` is any folder or none, and \
         case counts",
    )
}

/// A path from the root on.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))
}

/// The user's cache folder (XDG Base Directory Specification).
pub(super) fn default_cache() -> Result<PathBuf, Failure> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|folder| folder.join("parbake"))
        .ok_or_else(|| {
            Failure::usage("no place for the cache: neither XDG_CACHE_HOME nor HOME is set")
                .hint("name one: `[cache] path = …`, or `--cache DIR`")
        })
}

/// As many threads as the machine has cores for us.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A flag that Ctrl-C (or a polite kill) raises; a second one ends the program. Call it before
/// other threads are started.
pub(super) fn stop_flag() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        signals.add(signal);
    }
    let failed = |error| Failure::new(format_args!("cannot listen for Ctrl-C: {error}"));
    signals.thread_block().map_err(failed)?;
    std::thread::spawn(move || {
        if signals.wait().is_ok() {
            STOP.store(true, Relaxed);
        }
        if signals.wait().is_ok() {
            std::process::exit(130);
        }
    });
    Ok(&STOP)
}
