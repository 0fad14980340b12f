//! Why a sample couldn't be made, and the list of those that couldn't.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::output::BadOutput;
use crate::step::StepError;

/// Why a sample couldn't be made. The message names the step but not the file: who asked knows.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The source file couldn't be read.
    #[error("cannot read the source: {0}")]
    Source(#[from] io::Error),
    /// The source file is not the one that was looked at.
    #[error("the source changed while the sample was being made")]
    Changed,
    /// A step failed.
    #[error("step {number} `{name}`: {cause}")]
    Step {
        /// Counted from 1.
        number: usize,
        /// Its name.
        name: &'static str,
        /// Why.
        cause: StepError,
    },
    /// The result can't be written in the pipeline's output format.
    #[error(transparent)]
    Output(#[from] BadOutput),
}

impl MakeError {
    /// The step that failed: its number, counted from 1, and its name.
    pub fn step(&self) -> Option<(usize, &'static str)> {
        match self {
            MakeError::Step { number, name, .. } => Some((*number, name)),
            _ => None,
        }
    }
}

/// The samples that couldn't be made, by source path: at most [`BadSamples::MOST`], the others are
/// only counted.
#[derive(Default)]
pub struct BadSamples {
    list: Mutex<BTreeMap<PathBuf, Bad>>,
}

/// One that couldn't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// The step that failed, if one did: its number, counted from 1, and its name.
    pub step: Option<(usize, &'static str)>,
    /// Why.
    pub cause: String,
}

impl BadSamples {
    /// The most that are listed.
    pub const MOST: usize = 10_000;

    /// The list, by source path.
    pub fn list(&self) -> Vec<(PathBuf, Bad)> {
        self.list.lock().iter().map(|(path, bad)| (path.clone(), bad.clone())).collect()
    }

    /// Notes a failure, and logs it the first time.
    pub(super) fn note(&self, path: &Path, error: &MakeError) {
        // The file is fine: it is being replaced, and who asks again gets the new one.
        if matches!(error, MakeError::Changed) {
            return;
        }
        let bad = Bad { step: error.step(), cause: error.to_string() };
        let mut list = self.list.lock();
        if list.get(path) == Some(&bad) {
            return;
        }
        if list.len() < BadSamples::MOST || list.contains_key(path) {
            log::warn!("{}: {error}", path.display());
            list.insert(path.to_owned(), bad);
        }
    }

    /// Takes a sample off the list: it could be made after all.
    pub(super) fn forget(&self, path: &Path) {
        let mut list = self.list.lock();
        if !list.is_empty() {
            list.remove(path);
        }
    }
}
