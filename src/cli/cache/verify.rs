//! `parbake cache verify`: reads all of a cache and reports what is damaged.

use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use serde_json::{Value, json};

use super::super::say::{self, Done, Progress, talk};
use super::super::setup::stop_flag;
use super::super::{interrupted, some_failed};
use super::{Which, name, unreadable};
use crate::cache::{Damage, Verified};
use crate::units::{bytes, count};

const EXAMPLES: &str = "\
What is damaged is never served: it is made again when it is read. So this tells of the disk's
health, not of the samples'. `parbake cache gc CONFIG --min-garbage 0` drops what was made again.

Examples:
  parbake cache verify photos.toml
  parbake cache verify --cache /fast/parbake --json | jq '.damaged | length'";

/// Read every record and check it; exit code 3 if any is damaged
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[command(flatten)]
    which: Which,

    /// As JSON (docs/CACHE.md)
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        let care = self.which.open()?;
        let packs = care.packs().map_err(|error| unreadable(&care, &error))?;
        let total: u64 = packs.iter().map(|pack| pack.bytes).sum();
        let mib = |bytes: u64| (bytes >> 20) as usize;
        let progress = Progress::new("MiB", mib(total));
        let verified = care.verify(|read| {
            progress.at(mib(read));
            !stop.load(Relaxed)
        });
        progress.end();
        let verified = verified.map_err(|error| unreadable(&care, &error))?;
        let stopped = stop.load(Relaxed);
        if self.json {
            say::data(&format!("{:#}\n", as_json(&verified, stopped)))?;
        } else {
            for damage in &verified.damaged {
                say::data(&format!("{}\n", line(damage)))?;
            }
        }
        for torn in &verified.torn {
            log::debug!("{}", line(torn));
        }
        let (entries, read) = (count(verified.entries), bytes(verified.bytes));
        let (packs, damaged) = (count(verified.packs as u64), count(verified.damaged.len() as u64));
        talk(format_args!(
            "{entries} entries of {packs} packs are whole, {read}; damaged: {damaged}"
        ));
        if stopped {
            talk("interrupted: the rest wasn't read");
            return Ok(interrupted());
        }
        Ok(if verified.damaged.is_empty() { ExitCode::SUCCESS } else { some_failed() })
    }
}

fn line(damage: &Damage) -> String {
    let Damage { pack, offset, bytes, cause } = damage;
    format!("{}, byte {offset}, {bytes} bytes: {cause}", pack.display())
}

/// The same for a script; docs/CACHE.md describes it.
fn as_json(verified: &Verified, stopped: bool) -> Value {
    let list = |all: &[Damage]| -> Vec<Value> {
        let one = |damage: &Damage| {
            json!({
                "pack": name(&damage.pack),
                "offset": damage.offset,
                "bytes": damage.bytes,
                "cause": damage.cause,
            })
        };
        all.iter().map(one).collect()
    };
    json!({
        "packs": verified.packs,
        "entries": verified.entries,
        "bytes": verified.bytes,
        "damaged": list(&verified.damaged),
        "torn": list(&verified.torn),
        "interrupted": stopped,
    })
}
