//! `parbake stats`: what a mount has done.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::say::{self, Done, Failure};

const EXAMPLES: &str = "\
The same is in MOUNTPOINT/.parbake/stats, stats.json and (for Prometheus) metrics.

Examples:
  parbake stats /mnt/photos
  parbake stats /mnt/photos --json";

/// Show what a mount has served: hit rate, time and bytes of every step
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Stats {
    /// The folder that it is mounted on
    mountpoint: PathBuf,

    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(super) fn run(self) -> Done {
        let name = if self.json { "stats.json" } else { "stats" };
        let text = std::fs::read_to_string(self.mountpoint.join(".parbake").join(name)).map_err(
            |error| {
                let shown = self.mountpoint.display();
                let whole = self.mountpoint.canonicalize();
                // A dead mount can't be looked at, and is one all the same.
                if super::unmount::is_mounted(&whole.unwrap_or(self.mountpoint.clone())) {
                    Failure::new(format_args!("the mount {shown} doesn't answer: {error}"))
                } else {
                    Failure::usage(format_args!("{shown} is not a parbake mount"))
                }
            },
        )?;
        say::data(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}
