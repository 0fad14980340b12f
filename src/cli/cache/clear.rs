//! `parbake cache clear`: removes a cache.

use std::io::{self, BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Args;

use super::super::say::{Done, Failure, talk};
use super::{Which, unreadable};
use crate::units::{bytes, count};

const EXAMPLES: &str = "\
Only what is the cache's own is removed: the packs and texts in its folder `parbake-v1`. What uses
the cache right now goes on, and makes anew what it needs; its space is free when it ends.

Examples:
  parbake cache clear photos.toml
  parbake cache clear --cache /fast/parbake --yes";

/// Remove the cache, for all configs that use it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Clear {
    #[command(flatten)]
    which: Which,

    /// Don't ask
    #[arg(long, short)]
    yes: bool,
}

impl Clear {
    pub(super) fn run(self) -> Done {
        let care = self.which.open()?;
        let folder = care.folder().to_owned();
        let packs = care.packs().map_err(|error| unreadable(&care, &error))?;
        let held = bytes(packs.iter().map(|pack| pack.bytes).sum());
        if !self.yes {
            let what = format!("{}: {} packs, {held}", folder.display(), count(packs.len() as u64));
            if !io::stdin().is_terminal() {
                return Err(Failure::usage(format_args!("not removed: {what}"))
                    .hint("say `--yes` where there is no terminal to ask on"));
            }
            talk(format_args!("{what}\nRemove it? Type `yes`:"));
            let mut answer = String::new();
            let read = io::stdin().lock().read_line(&mut answer);
            if read.is_err() || !["yes", "y"].contains(&answer.trim()) {
                talk("not removed");
                return Ok(ExitCode::FAILURE);
            }
        }
        let cleared = care.clear().map_err(|error| {
            Failure::new(format_args!("cannot remove {}: {error}", folder.display()))
        })?;
        talk(format_args!("{} are free", bytes(cleared.freed)));
        if !cleared.gone {
            let folder = folder.display();
            talk(format_args!("note: {folder} has other things in it, or is in use: it stays"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
