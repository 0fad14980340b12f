//! Reading samples from a mount as any program would. How one is made is its maker's business.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::exec::Found;
use crate::pipeline::Strategy;

/// Who can mount a strategy for a while.
pub trait Mounts {
    /// Mounts the set with a strategy that has its results in this cache folder.
    ///
    /// # Errors
    /// If it can't be done here, in words.
    fn mount(&self, strategy: Strategy, cache: &Path) -> Result<Box<dyn Mounted>, String>;
}

/// A mount, taken off when this is dropped.
pub trait Mounted {
    /// The file that a sample is served as.
    fn path(&self, found: &Found) -> Option<PathBuf>;
}

/// Opens every file and has the kernel drop what it keeps of it, so that the next read is served
/// and not remembered.
pub(super) fn forget<'a>(paths: impl Iterator<Item = &'a PathBuf>) {
    for path in paths {
        let forget = || {
            let file = File::open(path)?;
            posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
            Ok::<_, io::Error>(())
        };
        // A sample that can't be made can't be opened, and is one of the bad ones.
        let _ = forget();
    }
}
