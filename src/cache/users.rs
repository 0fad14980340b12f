//! Who uses a cache, and which kinds of entries each of them has use for: what nobody has may go when
//! room is needed.
//!
//! Each user has a file with its kinds, a line each. One that is known by name (a config) has it for
//! ever, with the kinds of its last opening. A process has one while it lives: it touches the file
//! now and then, and one that wasn't touched for long is of a process that is gone. No locks: those
//! of another machine may not be seen. Times are the file system's alone, so that the clocks of
//! machines don't matter.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use nix::sys::signal::{SigSet, SigmaskHow};
use xxhash_rust::xxh3::xxh3_128;

use super::Kind;
use super::file::{Disk, replace};

/// The folder of the users.
pub(super) const USERS: &str = "users";

/// The end of the name of a process's file. Those of configs have another.
const LIVE: &str = "live";
const NAMED: &str = "config";

/// How often a process touches its file.
const BEAT: Duration = Duration::from_secs(10);

/// A process that hasn't touched its file for so long is gone. Network file systems may show times
/// that are a minute old.
const GONE_AFTER: Duration = Duration::from_secs(180);

/// Files of processes that are gone are removed after so long: the clock that this is measured with
/// may be another machine's.
const REMOVED_AFTER: Duration = Duration::from_secs(24 * 3600);

fn text(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| format!("{:016x}\n", kind.0)).collect()
}

/// Notes the kinds that a user with a name has use for, in place of those of its last time.
pub(super) fn name(disk: &dyn Disk, folder: &Path, user: &str, kinds: &[Kind]) -> io::Result<()> {
    let name = format!("{:032x}.{NAMED}", xxh3_128(user.as_bytes()));
    let (path, text) = (folder.join(USERS).join(name), text(kinds));
    match std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
        true => Ok(()),
        false => replace(disk, &path, text.as_bytes()),
    }
}

/// That this process uses the cache; until it is dropped.
pub(super) struct Live {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    text: String,
    /// Dropped to stop the thread that touches the file.
    beating: Option<Sender<()>>,
}

impl Live {
    pub(super) fn new(disk: Arc<dyn Disk>, folder: &Path, kinds: &[Kind]) -> io::Result<Live> {
        let name = RandomState::new().hash_one(std::process::id());
        let path = folder.join(USERS).join(format!("{name:016x}.{LIVE}"));
        let text = text(kinds);
        replace(&*disk, &path, text.as_bytes())?;
        let (stop, stopped) = mpsc::channel();
        let live = Live { disk, path, text, beating: Some(stop) };
        let (disk, path, text) = (Arc::clone(&live.disk), live.path.clone(), live.text.clone());
        // Signals are for the threads that wait for them: this one takes none, from its start on.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        // Without a thread, the file gets old, and the kinds may go: they are made again.
        let _ = std::thread::Builder::new().spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                beat(&*disk, &path, &text);
            }
        });
        if let Ok(mask) = mask {
            mask.thread_set_mask().map_err(io::Error::from)?;
        }
        Ok(live)
    }

    /// Shows now that the process is alive.
    pub(super) fn beat(&self) {
        beat(&*self.disk, &self.path, &self.text);
    }
}

fn beat(disk: &dyn Disk, path: &Path, text: &str) {
    let touched = disk.touch(path).or_else(|error| match error.kind() {
        // Removed with the cache, or taken for a dead one's.
        io::ErrorKind::NotFound => replace(disk, path, text.as_bytes()),
        _ => Err(error),
    });
    if let Err(error) = touched {
        log::debug!("cannot touch {}: {error}", path.display());
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.beating = None;
        // If it stays, it gets old.
        let _ = self.disk.remove(&self.path);
    }
}

/// The kinds that somebody has use for. `me` is alive; what others said is as old as the file system
/// says.
///
/// # Errors
/// If one of the users can't be read: then nobody knows what is of use.
pub(super) fn wanted(disk: &dyn Disk, folder: &Path, me: &Live) -> io::Result<HashSet<Kind>> {
    me.beat();
    let folder = folder.join(USERS);
    let listed = disk.list(&folder)?;
    let mine = listed.iter().find(|file| Some(&*file.name) == me.path.file_name());
    let now = mine.ok_or(io::ErrorKind::NotFound)?.modified;
    let mut kinds = HashSet::new();
    for file in listed {
        let path = folder.join(&file.name);
        let end = path.extension().unwrap_or_default();
        if end != NAMED && (end != LIVE || is_gone(file.modified, now)) {
            continue;
        }
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text?,
        };
        for line in text.lines() {
            kinds.insert(Kind(u64::from_str_radix(line, 16).map_err(io::Error::other)?));
        }
    }
    Ok(kinds)
}

/// Whether a process that touched its file then is gone.
fn is_gone(touched: SystemTime, now: SystemTime) -> bool {
    now.duration_since(touched).is_ok_and(|since| since > GONE_AFTER)
}

/// Removes what processes that are gone left behind.
pub(super) fn forget_gone(disk: &dyn Disk, folder: &Path, now: SystemTime) {
    let Some(long_ago) = now.checked_sub(REMOVED_AFTER) else { return };
    let folder = folder.join(USERS);
    for file in disk.list(&folder).unwrap_or_default() {
        let path = folder.join(&file.name);
        if path.extension().is_none_or(|end| end != NAMED) && file.modified < long_ago {
            // It is passed by as it is.
            let _ = disk.remove(&path);
        }
    }
}
