//! `parbake cache`: looking after a cache.

mod clear;
mod gc;
mod status;
mod verify;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::{Args, Subcommand};

use super::ConfigArgs;
use super::say::{Done, Failure, Progress};
use super::setup::{Setup, absolute, default_cache, no_match};
use crate::cache::{Care, Key};
use crate::exec::Executor;

const EXAMPLES: &str = "\
Examples:
  parbake cache status photos.toml        what the cache holds, and how much of the set
  parbake cache verify --cache /fast      read all of it, and report what is damaged
  parbake cache gc photos.toml            drop what this config doesn't need
  parbake cache clear --cache /fast       remove all of it";

/// Look after the cache: status, verify, gc, clear
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CacheArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Status(status::Status),
    Verify(verify::Verify),
    Gc(gc::GcArgs),
    Clear(clear::Clear),
}

impl CacheArgs {
    pub(super) fn run(self) -> Done {
        match self.command {
            Command::Status(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::Gc(command) => command.run(),
            Command::Clear(command) => command.run(),
        }
    }
}

/// Which cache.
#[derive(Args)]
struct Which {
    /// The config whose cache it is [default: none, and the user's cache]
    config: Option<PathBuf>,

    /// The cache folder, in place of the config's `cache.path`
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Which {
    /// The folder that the cache is in, and the config if one is given.
    fn find(&self, source: Option<&PathBuf>) -> Result<(PathBuf, Option<Setup>), Failure> {
        match &self.config {
            Some(config) => {
                let setup = setup(config, source, self.cache.as_ref())?;
                Ok((setup.cache.clone(), Some(setup)))
            }
            None => {
                let folder = self.cache.clone().map_or_else(default_cache, Ok)?;
                Ok((absolute(&folder)?, None))
            }
        }
    }

    /// The cache, which must be there.
    fn open(&self) -> Result<Care, Failure> {
        // A source isn't needed to find a cache.
        let nowhere = PathBuf::from("/");
        let (folder, _) = self.find(Some(&nowhere))?;
        Care::of(&folder).ok_or_else(|| none_in(&folder))
    }
}

fn setup(
    config: &Path,
    source: Option<&PathBuf>,
    cache: Option<&PathBuf>,
) -> Result<Setup, Failure> {
    Setup::new(&ConfigArgs {
        config: config.to_owned(),
        source: source.cloned(),
        cache: cache.cloned(),
    })
}

fn none_in(folder: &Path) -> Failure {
    Failure::new(format_args!("no cache in {}", folder.display()))
        .hint("name another folder, `--cache DIR`, or the config whose cache it is")
}

fn unreadable(care: &Care, error: &std::io::Error) -> Failure {
    Failure::new(format_args!("cannot read {}: {error}", care.folder().display()))
}

/// What a config keeps of its source as it is now.
struct Wanted {
    keys: HashSet<Key>,
    /// Samples of pipelines that keep nothing.
    never_kept: usize,
}

/// Walks a config's source; nothing if it is to stop.
fn wanted(setup: &Setup, stop: &AtomicBool) -> Result<Option<Wanted>, Failure> {
    let plans = setup.config.plans.clone();
    let exec = Executor::new(setup.open_source()?, None, plans, setup.config.seed);
    let unread = |error| Failure::new(format_args!("cannot list the source: {error}"));
    let looking = Progress::new("samples found", 0);
    let found = exec
        .walk_whole(|found| {
            looking.at(found);
            !stop.load(Relaxed)
        })
        .map_err(unread)?;
    looking.end();
    if found.is_empty() && !stop.load(Relaxed) {
        let globs = setup.config.plans.iter().flat_map(|plan| plan.matcher.patterns());
        let globs: Vec<&str> = globs.map(String::as_str).collect();
        return Err(no_match(&setup.source, &globs.join(" ")));
    }
    let mut wanted = Wanted { keys: HashSet::with_capacity(found.len()), never_kept: 0 };
    let looking = Progress::new("samples looked at", found.len());
    for (at, sample) in found.iter().enumerate() {
        if stop.load(Relaxed) {
            looking.end();
            return Ok(None);
        }
        match sample.job(exec.source()) {
            Ok(job) => match exec.key_of(job) {
                Some(key) => _ = wanted.keys.insert(key),
                None => wanted.never_kept += 1,
            },
            Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let error = format!("{}: {error}", sample.path.display());
                return Err(unread(std::io::Error::other(error)));
            }
        }
        looking.at(at + 1);
    }
    looking.end();
    Ok(Some(wanted))
}

/// A share of something that may be nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The name of a pack's file.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
