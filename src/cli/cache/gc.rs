//! `parbake cache gc`: drops from a cache what no config needs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};

use super::super::interrupted;
use super::super::say::{self, Done, Failure, Progress, talk};
use super::super::setup::{Setup, stop_flag};
use super::{none_in, setup, wanted};
use crate::cache::{Care, Collected, Gc};
use crate::units::{bytes, count};

/// A pack that was written to so shortly before is left alone: its writer may be on another
/// machine, or not have locked it yet.
const QUIET: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Name every config that uses the cache: what none of them needs is dropped, such as other splits and
codecs and files as they were before a change. Packs that a process writes to, or that were written
in the last minute, are left alone. What is dropped by mistake is made again when it is read.

Examples:
  parbake cache gc photos.toml --dry-run
  parbake cache gc photos.toml masks.toml
  parbake cache gc photos.toml --min-garbage 0";

/// Drop what none of the configs needs, and give its space back
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GcArgs {
    /// All configs that use the cache
    #[arg(required = true, value_name = "CONFIG")]
    configs: Vec<PathBuf>,

    /// The source folder, in place of every config's `source.path`
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,

    /// The cache folder, in place of the configs' `cache.path`
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Leave packs alone of which no more than this share is garbage
    #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = clap::value_parser!(u8).range(0..=100))]
    min_garbage: u8,

    /// Only say what would be freed
    #[arg(long)]
    dry_run: bool,

    /// As JSON (docs/CACHE.md)
    #[arg(long)]
    json: bool,
}

impl GcArgs {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        // What is written from now on was made of files that aren't walked yet.
        let now = now();
        let setups: Vec<Setup> = self
            .configs
            .iter()
            .map(|config| setup(config, self.source.as_ref(), self.cache.as_ref()))
            .collect::<Result<_, _>>()?;
        let Some(first) = setups.first() else { return Ok(ExitCode::SUCCESS) };
        let folder = &first.cache;
        if let Some(other) = setups.iter().find(|setup| setup.cache != *folder) {
            let (one, other) = (folder.display(), other.cache.display());
            return Err(Failure::usage(format_args!(
                "the configs have two caches: {one} and {other}"
            ))
            .hint("clean up one after the other, each with all the configs that use it"));
        }
        let care = Care::of(folder).ok_or_else(|| none_in(folder))?;
        let (mut keys, mut notes) = (HashSet::new(), Vec::new());
        for setup in &setups {
            let Some(wanted) = wanted(setup, stop)? else { return Ok(interrupted()) };
            keys.extend(wanted.keys);
            notes.extend(setup.contents());
        }
        if keys.is_empty() {
            return Err(Failure::usage("the configs keep nothing: every split is `none`")
                .hint("`parbake cache clear` removes all of it"));
        }
        let gc = Gc {
            wanted: &keys,
            share: f64::from(self.min_garbage) / 100.0,
            quiet_since: now.checked_sub(QUIET).unwrap_or(now),
            notes: &notes,
            dry_run: self.dry_run,
        };
        let progress = Progress::new("packs", care.packs().map_or(0, |packs| packs.len()));
        let collected = care.gc(&gc, |done, _| {
            progress.at(done);
            !stop.load(Relaxed)
        });
        progress.end();
        let collected = collected.map_err(|error| {
            Failure::new(format_args!("cannot clean up {}: {error}", care.folder().display()))
                .hint("what was dropped so far is; wanted entries are all there. Make room, and run it again")
        })?;
        if self.json {
            say::data(&format!("{:#}\n", as_json(&collected, self.dry_run)))?;
        } else {
            say::data(&as_text(&collected, self.dry_run))?;
        }
        if collected.stopped {
            talk("interrupted: run it again, and it goes on from here");
            return Ok(interrupted());
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[expect(clippy::disallowed_methods, reason = "no sample depends on when a pack was written")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn as_text(collected: &Collected, dry_run: bool) -> String {
    let (would, freed) = (if dry_run { "would be " } else { "" }, bytes(collected.freed));
    let (of, dropped) = (bytes(collected.bytes), count(collected.dropped));
    let mut out = format!("{freed} of {of} {would}freed: {dropped} entries dropped, ");
    let (removed, rewritten) = (collected.removed, collected.rewritten);
    out += &format!("packs removed: {removed}, rewritten: {rewritten}\n");
    let mut line = |n: u64, words: String| {
        if n > 0 {
            out += &words;
        }
    };
    let left = bytes(collected.left);
    line(collected.left, format!("{left} of garbage are left, in packs that have little of it\n"));
    let in_use = collected.in_use as u64;
    line(in_use, format!("packs left alone, in use or just written: {}\n", count(in_use)));
    let unread = collected.unread as u64;
    line(unread, format!("packs left alone, unreadable: {}\n", count(unread)));
    out
}

/// The same for a script; docs/CACHE.md describes it.
fn as_json(collected: &Collected, dry_run: bool) -> Value {
    json!({
        "dry_run": dry_run,
        "packs": collected.packs,
        "bytes": collected.bytes,
        "freed": collected.freed,
        "dropped": collected.dropped,
        "removed": collected.removed,
        "rewritten": collected.rewritten,
        "left": collected.left,
        "in_use": collected.in_use,
        "unread": collected.unread,
        "interrupted": collected.stopped,
    })
}
