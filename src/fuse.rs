//! The kernel's side: requests in, answers out. The only place that names fuser.
//!
//! A translation and nothing more: what is true of a file is decided in `fs`. A panic in here or
//! below costs the one request, which gets an I/O error.

mod mount;

pub use mount::{DEVICE, Mount, MountOptions, Signals, clear_dead, detach};

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen, ReplyXattr, Request,
};

use crate::fs::{Attr, Fh, Freshness, Fs, FsError, Ino, Lasts, Mode, Opened, Serving, To};

/// What stays true for as long as the inode is known needs no asking again.
const LASTING: Duration = Duration::from_secs(24 * 3600);

/// The size of reads that `stat` recommends: `cp`, `cat` and Python's buffered files ask for so
/// much at a time. With 4 KiB a 600 KB sample would take 150 requests.
const BLOCK_SIZE: u32 = 128 << 10;

/// What the kernel may do beyond what fuser asks for by itself.
const WANTED: [InitFlags; 4] = [
    // Lookups and listings of one folder side by side.
    InitFlags::FUSE_PARALLEL_DIROPS,
    // No message to open or close a folder, and the kernel keeps listings; dropped again when the
    // folder's time of change moves:
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_ASYNC_DIO,
];

/// The kernel's requests, answered by a tree of served files.
struct Kernel {
    fs: Arc<Fs>,
    /// Whether the kernel is to answer opens by itself. What it then reads has no handle.
    unopened: bool,
}

/// The handle of what was never opened here: openings are numbered from 1.
const UNOPENED: FileHandle = FileHandle(0);

impl Filesystem for Kernel {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        for flag in WANTED {
            if config.add_capabilities(flag).is_err() {
                log::debug!("this kernel doesn't offer {flag:?}");
            }
        }
        self.unopened = self.fs.mode() == Mode::Cached;
        if self.unopened && config.add_capabilities(InitFlags::FUSE_NO_OPEN_SUPPORT).is_err() {
            log::warn!("this kernel can't answer opens by itself: each of them is a message");
            self.unopened = false;
        }
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        guarded(|| {
            let fresh = self.fs.freshness();
            self.fs.lookup(Ino(parent.0), name, move |found| match found {
                Ok(attr) => reply.entry_with_ttls(
                    &ttl(attr.lasts, fresh),
                    &ttl(attr.name, fresh),
                    &file_attr(&attr),
                    Generation(0),
                ),
                Err(error) => reply.error(errno(&error)),
            });
        });
    }

    fn forget(&self, _req: &Request, ino: INodeNo, times: u64) {
        guarded(|| self.fs.forget(Ino(ino.0), times));
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        guarded(|| {
            let fresh = self.fs.freshness();
            self.fs.attr(Ino(ino.0), fh.map(|fh| Fh(fh.0)), move |found| match found {
                Ok(attr) => reply.attr(&ttl(attr.lasts, fresh), &file_attr(&attr)),
                Err(error) => reply.error(errno(&error)),
            });
        });
    }

    /// Refused as unknown where the kernel is to answer opens: it then never asks again.
    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.unopened {
            return reply.error(Errno::ENOSYS);
        }
        guarded(|| {
            self.fs.open(Ino(ino.0), move |opened| match opened {
                Ok(Opened { fh, serving }) => reply.opened(FileHandle(fh.0), flags_of(serving)),
                Err(error) => reply.error(errno(&error)),
            });
        });
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        // The kernel names a reader with what goes straight to one, and nobody with what it reads
        // into pages: for a mapping, or to copy between files by itself.
        let to = if lock_owner.is_some() { To::Reader } else { To::Pages };
        let answer = move |bytes: Result<&[u8], FsError>| match bytes {
            Ok(bytes) => reply.data(bytes),
            Err(error) => reply.error(errno(&error)),
        };
        guarded(|| match fh {
            UNOPENED => self.fs.read_unopened(Ino(ino.0), offset, size as usize, answer),
            fh => self.fs.read(Fh(fh.0), offset, size as usize, to, answer),
        });
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        guarded(|| {
            self.fs.close(Fh(fh.0));
            reply.ok();
        });
    }

    /// Refused as unknown, once: the kernel then never asks again, which saves every close a round
    /// trip.
    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::ENOSYS);
    }

    /// Refused as unknown, once: folders then need no opening, and the kernel keeps listings.
    fn opendir(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        guarded(|| {
            let listed = self.fs.list(Ino(ino.0), offset, |entry| {
                let kind = file_type(entry.folder);
                if reply.add(INodeNo(entry.ino.0), entry.next, kind, entry.name) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            match listed {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    /// Python sends one with every `open()`, to learn whether the file is a terminal.
    fn ioctl(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        _cmd: u32,
        _in_data: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    /// Refused as unknown, once: there are no extended attributes to ask for.
    fn getxattr(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _name: &OsStr,
        _size: u32,
        reply: ReplyXattr,
    ) {
        reply.error(Errno::ENOSYS);
    }

    /// As `getxattr`.
    fn listxattr(&self, _req: &Request, _ino: INodeNo, _size: u32, reply: ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    /// Refused as unknown, once: the kernel then answers by the size it knows.
    fn lseek(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: fuser::ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }
}

/// Runs a handler. If it panics its reply is dropped, which answers with an I/O error.
fn guarded(handle: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(handle)).is_err() {
        log::error!("a request panicked: whoever sent it gets an I/O error");
    }
}

fn errno(error: &FsError) -> Errno {
    Errno::from_i32(error.errno())
}

/// How long the kernel may take what it was told for true.
fn ttl(lasts: Lasts, fresh: Freshness) -> Duration {
    match lasts {
        Lasts::No => Duration::ZERO,
        Lasts::Awhile if !fresh.immutable => fresh.revalidate,
        Lasts::Awhile | Lasts::Long => LASTING,
    }
}

fn flags_of(serving: Serving) -> FopenFlags {
    match serving {
        // An inode stands for one content: what the kernel kept of it is still true.
        Serving::Shared => FopenFlags::FOPEN_KEEP_CACHE,
        Serving::Direct => FopenFlags::FOPEN_DIRECT_IO,
    }
}

fn file_type(folder: bool) -> FileType {
    if folder { FileType::Directory } else { FileType::RegularFile }
}

fn file_attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino.0),
        size: attr.size,
        // Tools that look for holes take a file without blocks for one big hole.
        blocks: attr.size.div_ceil(512),
        atime: attr.modified,
        mtime: attr.modified,
        ctime: attr.modified,
        crtime: attr.modified,
        kind: file_type(attr.folder),
        perm: attr.mode,
        nlink: if attr.folder { 2 } else { 1 },
        uid: attr.uid,
        gid: attr.gid,
        rdev: 0,
        blksize: BLOCK_SIZE,
        flags: 0,
    }
}
