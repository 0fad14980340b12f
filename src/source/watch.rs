//! Which folders have changed, as the kernel tells it (inotify).
//!
//! Only where it tells of every change: not on network file systems, which other machines write to.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nix::sys::statfs::fstatfs;

/// Watches folders.
#[derive(Debug)]
pub struct Watcher(Inotify);

/// A folder that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watch(WatchDescriptor);

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// To a name in a folder.
    Name {
        /// The folder.
        watch: Watch,
        /// The name.
        name: OsString,
        /// Whether it came or went, or stands for another file now. Else it is the same file with
        /// other bytes, times or permissions.
        listed: bool,
        /// Whether it is a folder's.
        folder: bool,
    },
    /// To the folder itself: its permissions or times.
    Folder(Watch),
    /// The folder was removed: it is watched no more.
    End(Watch),
    /// More than could be noted: anything may have changed.
    Lost,
}

/// File systems that only this machine writes to, by the number that `statfs` tells: what isn't
/// known to be one is taken for a network's.
const LOCAL: &[u32] = &[
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xca45_1a4e, // bcachefs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0x3153_464a, // JFS
    0x3434,      // NILFS
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x794c_7630, // overlayfs
    0x7371_7368, // SquashFS
    0xe0f5_e1e2, // EROFS
    0x9660,      // ISO 9660
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
];

/// As many changes are told together: whoever writes all the time is not waited for.
const MOST_AT_ONCE: usize = 1 << 16;

const LISTED: AddWatchFlags =
    AddWatchFlags::IN_CREATE.union(AddWatchFlags::IN_DELETE).union(AddWatchFlags::IN_MOVE);

/// Writes through a mapping are told of when the file is closed for good.
const WANTED: AddWatchFlags = LISTED
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_CLOSE_WRITE)
    .union(AddWatchFlags::IN_ONLYDIR);

impl Watcher {
    /// One that watches nothing yet.
    ///
    /// # Errors
    /// If this user has too many already (`fs.inotify.max_user_instances`).
    pub fn new() -> io::Result<Watcher> {
        Ok(Watcher(Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?))
    }

    /// Watches an open folder, also after it was closed here.
    pub(super) fn add(&self, folder: BorrowedFd) -> io::Result<Watch> {
        let kind = fstatfs(folder)?.filesystem_type().0 as u32;
        if !LOCAL.contains(&kind) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("its file system ({kind:#x}) may be changed by other machines"),
            ));
        }
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        match self.0.add_watch(path.as_str(), WANTED) {
            Ok(watch) => Ok(Watch(watch)),
            Err(Errno::ENOSPC) => Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "this user has no more watches (sysctl fs.inotify.max_user_watches)",
            )),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Ends a watch.
    pub fn remove(&self, watch: Watch) {
        // It has ended by itself if the folder was removed.
        let _ = self.0.rm_watch(watch.0);
    }

    /// Waits until something has changed, and tells all that has.
    ///
    /// # Errors
    /// If the kernel tells no more.
    pub fn changes(&self) -> io::Result<Vec<Change>> {
        let mut changes = Vec::new();
        while changes.len() < MOST_AT_ONCE {
            match self.0.read_events() {
                Ok(events) => changes.extend(events.into_iter().map(change)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) if changes.is_empty() => {
                    let mut waiting = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
                    match poll(&mut waiting, PollTimeout::NONE) {
                        Ok(_) | Err(Errno::EINTR) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
                Err(Errno::EAGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(changes)
    }
}

fn change(event: InotifyEvent) -> Change {
    let (watch, mask) = (Watch(event.wd), event.mask);
    match event.name {
        _ if mask.contains(AddWatchFlags::IN_Q_OVERFLOW) => Change::Lost,
        _ if mask.contains(AddWatchFlags::IN_IGNORED) => Change::End(watch),
        None => Change::Folder(watch),
        Some(name) => Change::Name {
            watch,
            name,
            listed: mask.intersects(LISTED),
            folder: mask.contains(AddWatchFlags::IN_ISDIR),
        },
    }
}
