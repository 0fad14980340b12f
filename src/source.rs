//! Where raw samples come from: a tree of read-only files that may change at any time.
//!
//! A source knows nothing of pipelines, caches or served names.

mod dir;
mod watch;

pub use dir::DirSource;
pub use watch::{Change, Watch, Watcher};

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::sample::Buffer;

/// A tree of files. Paths are relative to its root; the root is the empty path.
pub trait Source: Send + Sync {
    /// Everything in a folder, sorted by name (as bytes).
    ///
    /// # Errors
    /// If it isn't a readable folder of the source.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;

    /// What is at a path, links followed.
    ///
    /// # Errors
    /// `NotFound` if nothing is there; `PermissionDenied` if a link leads out of the source or
    /// back to a folder that it is in.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// A whole file, with the stat that is true of just these bytes.
    ///
    /// # Errors
    /// As the file system's; `FileTooLarge` beyond [`MAX_SAMPLE_BYTES`](crate::sample::MAX_SAMPLE_BYTES);
    /// `Interrupted` if the file changed while it was read.
    fn read(&self, path: &Path) -> io::Result<(Stat, Buffer)>;

    /// Bytes of a file from `offset` on, as many as fit or are there; tells how many.
    ///
    /// # Errors
    /// As the file system's.
    fn read_at(&self, path: &Path, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Has a folder watched, links not followed. Changes from now on are told.
    ///
    /// # Errors
    /// As the file system's; `Unsupported` if changes of it might go untold; `QuotaExceeded` if no
    /// more can be watched.
    fn watch(&self, folder: &Path, watcher: &Watcher) -> io::Result<Watch> {
        let _ = (folder, watcher);
        Err(io::Error::new(io::ErrorKind::Unsupported, "this source can't be watched"))
    }

    /// As [`stat`](Source::stat), and whether a watch of its folder tells of every change to it: not
    /// so if it is a link, or a file that has other names.
    ///
    /// # Errors
    /// As `stat`'s.
    fn stat_watched(&self, path: &Path) -> io::Result<(Stat, bool)> {
        Ok((self.stat(path)?, false))
    }

    /// Asks the kernel to forget the file's pages, so that the next read is from the disk. For
    /// measuring only.
    ///
    /// # Errors
    /// As the file system's.
    fn forget_pages(&self, path: &Path) -> io::Result<()>;
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, any bytes but `/` and NUL.
    pub name: OsString,
    /// Whether it is a folder (a link to one counts as one).
    pub folder: bool,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a folder.
    pub folder: bool,
    /// Bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of the inode, nanoseconds since 1970: unlike the time of the content, no
    /// program can set it back.
    pub changed_ns: i128,
    /// Permission bits, `0o000` to `0o777`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// The time of the last change of the content.
    pub fn modified(&self) -> SystemTime {
        let since = std::time::Duration::from_nanos(self.modified_ns.unsigned_abs() as u64);
        if self.modified_ns < 0 {
            SystemTime::UNIX_EPOCH - since
        } else {
            SystemTime::UNIX_EPOCH + since
        }
    }
}
