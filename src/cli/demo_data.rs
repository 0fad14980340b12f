//! `parbake demo-data`: a set to try things on.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::say::{Done, Failure, Progress, talk};
use crate::demo;
use crate::units::{bytes, count};

const EXAMPLES: &str = "\
The same arguments make the same bytes on every machine; a second run makes only what is missing.

Examples:
  parbake demo-data photos /tmp/photos
  parbake demo-data photos /tmp/photos --samples 10000";

/// Make a set to try things on
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DemoData {
    /// What kind of samples
    kind: Kind,

    /// The folder to make them in
    folder: PathBuf,

    /// How many
    #[arg(long, default_value_t = 1000)]
    samples: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Photo-like JPEGs of about 500 x 375 in ten class folders
    Photos,
}

impl DemoData {
    pub(super) fn run(self) -> Done {
        let progress = Progress::new("samples", self.samples);
        let made = match self.kind {
            Kind::Photos => demo::photos(&self.folder, self.samples, &|done| progress.at(done)),
        };
        progress.end();
        let report = made.map_err(|error| {
            Failure::new(format_args!("cannot make {}: {error}", self.folder.display()))
        })?;
        talk(format_args!(
            "{} samples in {}, {} ({} made now)",
            count(report.photos as u64),
            self.folder.display(),
            bytes(report.bytes),
            count(report.written as u64),
        ));
        Ok(ExitCode::SUCCESS)
    }
}
