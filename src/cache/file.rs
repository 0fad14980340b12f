//! The disk, as far as the cache needs one: every write of the cache is made in this file.
//!
//! It knows folders, files and bytes, and nothing of records. [`Disk`] is a trait so that tests
//! can stop or fail it at any operation.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::sys::stat::futimens;
use nix::sys::statvfs::statvfs;
use nix::sys::time::TimeSpec;
use nix::sys::uio::pwritev;

/// A file in a folder.
pub(super) struct Listed {
    pub(super) name: OsString,
    pub(super) len: u64,
    /// When it was last written.
    pub(super) modified: SystemTime,
    /// When it was last used, by whoever says so ([`Disk::mark_used`]), or written.
    pub(super) used: SystemTime,
}

/// What can be done to a disk. Errors are the file system's.
pub(super) trait Disk: Send + Sync {
    /// Makes a folder, and those above it, unless it is there.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// The files (no folders, no links) of a folder, in no order.
    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>>;

    /// Makes the file at `path` hold just these bytes.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file another name, in place of what has that name; others see the one or the other.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder that has nothing in it.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;

    /// A new file, to be read and written, claimed for this process as far as its file system
    /// knows of locks; `AlreadyExists` if there is one of this name.
    fn create(&self, path: &Path) -> io::Result<File>;

    /// A file, to be read.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Ends the claim of the one who created the file. Closing it does so too.
    fn release(&self, file: &File);

    /// Whether another opening of the file, in this process or another on this machine, has a
    /// claim on it. Where the file system knows no locks, none has.
    fn is_claimed(&self, file: &File) -> bool;

    /// Writes the parts one after another from `offset` on. After an error any of their bytes may
    /// have been written.
    fn append(&self, file: &File, offset: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Fills `into` from `offset` on; `UnexpectedEof` if the file ends before.
    fn read(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Cuts the file to `len` bytes.
    fn truncate(&self, file: &File, len: u64) -> io::Result<()>;

    /// Bytes that may still be written where the folder is.
    fn free(&self, folder: &Path) -> io::Result<u64>;

    /// Returns when what was written to the file (or the names in the folder) is on the disk.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Notes that the file was written now, though nothing is.
    fn touch(&self, path: &Path) -> io::Result<()>;

    /// Notes that the file was used now.
    fn mark_used(&self, file: &File) -> io::Result<()>;

    /// Writes the file's pages out and asks the kernel to forget them.
    fn forget(&self, file: &File) -> io::Result<()>;
}

/// Makes the file at `path` hold just these bytes, in one step: others see it as it was or as it is
/// to be. A folder that isn't there is made.
pub(super) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A name of its own: others may be at the same file at the same time.
    let new = path.with_extension(format!("{:016x}", RandomState::new().hash_one(0)));
    let written = match disk.write(&new, bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk.make_folder(path.parent().unwrap_or(Path::new("")))?;
            disk.write(&new, bytes)
        }
        written => written,
    };
    written.and_then(|()| disk.rename(&new, path)).inspect_err(|_| {
        // Nobody reads it under this name; `gc` and `clear` remove it with the others.
        let _ = disk.remove(&new);
    })
}

/// The real one.
pub(super) struct OsDisk;

impl Disk for OsDisk {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(about) if about.is_file() => {
                    let modified = about.modified()?;
                    let used = about.accessed().map_or(modified, |used| used.max(modified));
                    let (name, len) = (entry.file_name(), about.len());
                    files.push(Listed { name, len, modified, used });
                }
                Ok(_) => {}
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::write(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir(folder)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        if let Err(error) = file.try_lock() {
            log::debug!("cannot lock {}: {error}", path.display());
        }
        Ok(file)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        // Reading doesn't count as using: who opens a cache looks into every pack.
        let quietly = OpenOptions::new().read(true).custom_flags(libc::O_NOATIME).open(path);
        match quietly {
            // The files of others may not be opened so.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
            opened => opened,
        }
    }

    fn release(&self, file: &File) {
        if let Err(error) = file.unlock() {
            log::debug!("cannot unlock a pack: {error}");
        }
    }

    fn is_claimed(&self, file: &File) -> bool {
        // A shared lock is all that a file which is open for reading gets on every file system.
        match file.try_lock_shared() {
            Ok(()) => {
                self.release(file);
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn append(&self, file: &File, mut offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut left = &mut slices[..];
        // Dropping nothing drops the empty parts in front.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let at = i64::try_from(offset).map_err(io::Error::other)?;
            match pwritev(file, left, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
        file.read_exact_at(into, offset)
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn free(&self, folder: &Path) -> io::Result<u64> {
        let about = statvfs(folder)?;
        Ok(about.blocks_available() as u64 * about.fragment_size() as u64)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        // The time of the file system's machine, where it is another.
        let now = &TimeSpec::UTIME_NOW;
        Ok(futimens(File::open(path)?, now, now)?)
    }

    fn mark_used(&self, file: &File) -> io::Result<()> {
        Ok(futimens(file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_OMIT)?)
    }

    fn forget(&self, file: &File) -> io::Result<()> {
        file.sync_data()?;
        Ok(posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
    }
}
