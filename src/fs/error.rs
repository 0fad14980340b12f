//! Why a request is refused, and what the reader is told.

use std::io;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// Nothing is under that name or inode.
    #[error("no such name")]
    NoSuchName,
    /// A name was looked for in a file.
    #[error("not a folder")]
    NotFolder,
    /// A folder was to be read as a file.
    #[error("is a folder")]
    IsFolder,
    /// The inode stands for what the source had, not for what it has now.
    #[error("the source has changed")]
    Stale,
    /// No opening of that number.
    #[error("no such opening")]
    NoSuchOpening,
    /// Pages are shared by all openings, and this one has bytes of its own.
    #[error("this opening's bytes can't be kept in pages")]
    NotForPages,
    /// The sample can't be made: the log and `.parbake/errors.jsonl` tell why.
    #[error("the sample can't be made")]
    NotMade,
    /// The source's trouble.
    #[error(transparent)]
    Source(#[from] io::Error),
}

impl FsError {
    /// The number that a reader gets. There is no catch-all: a new case has to decide.
    pub fn errno(&self) -> i32 {
        match self {
            FsError::NoSuchName => libc::ENOENT,
            FsError::NotFolder => libc::ENOTDIR,
            FsError::IsFolder => libc::EISDIR,
            FsError::Stale => libc::ESTALE,
            FsError::NoSuchOpening => libc::EBADF,
            // What copies between files inside the kernel takes this for: read and write instead.
            FsError::NotForPages => libc::EINVAL,
            FsError::NotMade => libc::EIO,
            FsError::Source(error) => error.raw_os_error().unwrap_or(match error.kind() {
                io::ErrorKind::NotFound => libc::ENOENT,
                io::ErrorKind::PermissionDenied => libc::EACCES,
                _ => libc::EIO,
            }),
        }
    }
}
