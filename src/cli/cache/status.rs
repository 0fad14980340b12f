//! `parbake cache status`: what is in a cache, and how much of a set.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use serde_json::{Value, json};

use super::super::say::{self, Done};
use super::super::setup::stop_flag;
use super::super::{contents, interrupted};
use super::{Wanted, Which, name, share, unreadable, wanted};
use crate::cache::{Care, Key, Scanned};
use crate::units::{bytes, count, duration, percent};

const EXAMPLES: &str = "\
With a config, its source is walked: how many of its samples are there, and how much of the cache it
can't reach (other splits and codecs, files as they were before a change, other configs).

Examples:
  parbake cache status photos.toml
  parbake cache status --cache /fast/parbake
  parbake cache status photos.toml --json | jq .config.complete";

/// Show what the cache holds: packs, contents, and how much of a config's samples
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Status {
    #[command(flatten)]
    which: Which,

    /// The source folder, in place of the config's `source.path`
    #[arg(long, value_name = "DIR", requires = "config")]
    source: Option<PathBuf>,

    /// As JSON (docs/CACHE.md)
    #[arg(long)]
    json: bool,
}

/// What a config has of a cache.
struct Reach {
    samples: usize,
    kept: usize,
    never_kept: usize,
    /// Bytes of its entries.
    bytes: u64,
    /// All other bytes.
    others: u64,
}

impl Reach {
    fn of(wanted: &Wanted, scanned: &[Scanned]) -> Reach {
        let mut there = std::collections::HashSet::<Key>::new();
        let mut bytes = 0;
        for record in scanned.iter().flat_map(|scanned| &scanned.records) {
            if wanted.keys.contains(&record.key) && there.insert(record.key) {
                bytes += record.bytes();
            }
        }
        Reach {
            samples: wanted.keys.len(),
            kept: there.len(),
            never_kept: wanted.never_kept,
            bytes,
            others: all_bytes(scanned) - bytes,
        }
    }

    fn complete(&self) -> f64 {
        share(self.kept as u64, self.samples as u64)
    }
}

fn all_bytes(scanned: &[Scanned]) -> u64 {
    scanned.iter().map(|scanned| scanned.pack.bytes).sum()
}

fn all_entries(scanned: &[Scanned]) -> u64 {
    scanned.iter().map(|scanned| scanned.records.len() as u64).sum()
}

impl Status {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        let (folder, setup) = self.which.find(self.source.as_ref())?;
        let wanted = match &setup {
            None => None,
            Some(setup) => match wanted(setup, stop)? {
                None => return Ok(interrupted()),
                some => some,
            },
        };
        let care = Care::of(&folder);
        let (scanned, notes) = match &care {
            None => (Vec::new(), Vec::new()),
            Some(care) => (care.scan().map_err(|error| unreadable(care, &error))?, care.notes()),
        };
        let notes: Vec<Value> = notes.iter().filter_map(|note| contents::parse(note)).collect();
        let reach = wanted.map(|wanted| Reach::of(&wanted, &scanned));
        if self.json {
            let all = as_json(&folder, care.as_ref(), &scanned, &notes, reach.as_ref());
            say::data(&format!("{all:#}\n"))?;
        } else {
            say::data(&as_text(&folder, care.as_ref(), &scanned, &notes, reach.as_ref()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn as_text(
    folder: &Path,
    care: Option<&Care>,
    scanned: &[Scanned],
    notes: &[Value],
    reach: Option<&Reach>,
) -> String {
    // Writing to a string cannot fail.
    let mut out = String::new();
    match care {
        None => _ = writeln!(out, "cache  {}: nothing is there yet", folder.display()),
        Some(care) => _ = writeln!(out, "cache  {}", care.folder().display()),
    }
    if !scanned.is_empty() {
        let mut row = |name: &str, entries: &str, bytes: &str, written: &str| {
            let _ = writeln!(out, "  {name:<24}{entries:>12}{bytes:>13}  {written}");
        };
        row("pack", "entries", "bytes", "last written");
        for Scanned { pack, records } in scanned {
            let ago = match pack.modified.elapsed() {
                Ok(ago) if ago.as_secs() >= 60 => format!("{} ago", duration(ago.as_secs_f64())),
                _ => "just now".to_owned(),
            };
            let written = if pack.in_use { format!("{ago}, in use") } else { ago };
            let entries = count(records.len() as u64);
            row(&name(&pack.path), &entries, &bytes(pack.bytes), &written);
        }
        let entries = count(all_entries(scanned));
        let packs = count(scanned.len() as u64);
        let what = format!("in all, packs: {packs}");
        let _ = writeln!(out, "  {what:<24}{entries:>12}{:>13}", bytes(all_bytes(scanned)));
    }
    if !notes.is_empty() {
        out.push_str("\nwas filled with\n");
        for note in notes {
            let _ = writeln!(out, "  {}", contents::line(note));
        }
    }
    if let Some(reach) = reach {
        let (kept, samples) = (count(reach.kept as u64), count(reach.samples as u64));
        let complete = percent(reach.complete());
        let _ =
            writeln!(out, "\nof the config, {kept} of {samples} samples are there ({complete})");
        let whole = reach.bytes + reach.others;
        let mut part = |n: u64, what: &str| {
            let _ = writeln!(out, "  {:>11}  {:>7}  {what}", bytes(n), percent(share(n, whole)));
        };
        if whole > 0 {
            part(reach.bytes, "of the cache is theirs");
            part(
                reach.others,
                "is of other configs, splits or codecs, or of files before a change",
            );
        }
        if reach.never_kept > 0 {
            let never = count(reach.never_kept as u64);
            let _ =
                writeln!(out, "  {never} more samples have the split `none`: they are never kept");
        }
    }
    out
}

/// The same for a script; docs/CACHE.md describes it.
fn as_json(
    folder: &Path,
    care: Option<&Care>,
    scanned: &[Scanned],
    notes: &[Value],
    reach: Option<&Reach>,
) -> Value {
    let pack = |Scanned { pack, records }: &Scanned| {
        let written = pack.modified.duration_since(SystemTime::UNIX_EPOCH);
        json!({
            "file": pack.path.to_string_lossy(),
            "entries": records.len(),
            "bytes": pack.bytes,
            "written": written.map_or(0, |since| since.as_secs()),
            "in_use": pack.in_use,
        })
    };
    json!({
        "cache": folder.to_string_lossy(),
        "there": care.is_some(),
        "entries": all_entries(scanned),
        "bytes": all_bytes(scanned),
        "packs": scanned.iter().map(pack).collect::<Vec<_>>(),
        "contents": notes,
        "config": reach.map(|reach| json!({
            "samples": reach.samples,
            "kept": reach.kept,
            "complete": reach.complete(),
            "never_kept": reach.never_kept,
            "bytes": reach.bytes,
            "other_bytes": reach.others,
        })),
    })
}
