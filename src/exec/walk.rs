//! Finding every sample of a source, for what concerns the whole set.

use std::io;
use std::path::{Path, PathBuf};

use super::{Executor, Job};
use crate::source::Source;

/// A source file that a plan is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path within the source.
    pub path: PathBuf,
    /// Which plan, by its place.
    pub plan: usize,
}

impl Found {
    /// The job of making it, as it is now.
    ///
    /// # Errors
    /// If it can't be looked at.
    pub fn job<'a>(&'a self, source: &dyn Source) -> io::Result<Job<'a>> {
        Ok(Job { path: &self.path, stat: source.stat(&self.path)?, plan: self.plan })
    }
}

impl Executor {
    /// Every sample of the source, folder by folder. `found` is told the count now and then; what
    /// it returns says whether to go on.
    ///
    /// # Errors
    /// If the root can't be listed. A folder below it that can't be is named in the log and left
    /// out.
    pub fn walk(&self, found: impl FnMut(usize) -> bool) -> io::Result<Vec<Found>> {
        self.walk_or(found, |folder, error| {
            log::warn!("left out: {}: {error}", folder.display());
            Ok(())
        })
    }

    /// The same, where a folder that can't be listed is an error: for when what isn't found would
    /// be thrown out.
    ///
    /// # Errors
    /// If a folder can't be listed; the message names it.
    pub fn walk_whole(&self, found: impl FnMut(usize) -> bool) -> io::Result<Vec<Found>> {
        self.walk_or(found, |folder, error| {
            Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
        })
    }

    fn walk_or(
        &self,
        mut found: impl FnMut(usize) -> bool,
        unlisted: impl Fn(&Path, io::Error) -> io::Result<()>,
    ) -> io::Result<Vec<Found>> {
        let mut all = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries = match self.source().list(&folder) {
                Err(error) if folder == Path::new("") => return Err(error),
                Err(error) => {
                    unlisted(&folder, error)?;
                    continue;
                }
                Ok(entries) => entries,
            };
            // Taken from the end: the first of a folder comes first.
            let below = folders.len();
            for entry in entries {
                let path = folder.join(&entry.name);
                if entry.folder {
                    folders.push(path);
                } else if let Some(plan) = self.plan_for(&path) {
                    all.push(Found { path, plan });
                }
            }
            folders[below..].reverse();
            if !found(all.len()) {
                break;
            }
        }
        Ok(all)
    }
}
