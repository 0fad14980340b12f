//! The disk, as far as the cache needs one: every write of the cache is made in this file.
//!
//! It knows folders, files and bytes, and nothing of records. [`Disk`] is a trait so that tests
//! can stop or fail it at any operation.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::sys::statvfs::statvfs;
use nix::sys::uio::pwritev;

/// A file in a folder.
pub(super) struct Listed {
    pub(super) name: OsString,
    pub(super) len: u64,
}

/// What can be done to a disk. Errors are the file system's.
pub(super) trait Disk: Send + Sync {
    /// Makes a folder, and those above it, unless it is there.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;

    /// The files (no folders, no links) of a folder, in no order.
    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>>;

    /// Makes the file at `path` hold just these bytes.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// A new file, to be read and written; `AlreadyExists` if there is one of this name.
    fn create(&self, path: &Path) -> io::Result<File>;

    /// A file, to be read.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Writes the parts one after another from `offset` on. After an error any of their bytes may
    /// have been written.
    fn append(&self, file: &File, offset: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Fills `into` from `offset` on; `UnexpectedEof` if the file ends before.
    fn read(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Cuts the file to `len` bytes.
    fn truncate(&self, file: &File, len: u64) -> io::Result<()>;

    /// Bytes that may still be written where the folder is.
    fn free(&self, folder: &Path) -> io::Result<u64>;

    /// Writes the file's pages out and asks the kernel to forget them.
    fn forget(&self, file: &File) -> io::Result<()>;
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
                    files.push(Listed { name: entry.file_name(), len: about.len() });
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

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
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

    fn forget(&self, file: &File) -> io::Result<()> {
        file.sync_data()?;
        Ok(posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
    }
}
