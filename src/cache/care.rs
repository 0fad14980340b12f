//! Looking after a cache: what is in it, whether it is whole, and getting rid of it.
//!
//! It works on the folder as it is, beside any number of processes that use it, and makes none.
//! Which keys are still wanted is its caller's business.

mod gc;
mod verify;

pub use gc::{Collected, Gc};
pub use verify::{Damage, Verified};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;

use super::contents::{self, CONTENTS};
use super::disk::{FOLDER, PACKS, TAG};
use super::file::{Disk, OsDisk};
use super::list::{LISTS, List};
use super::packs::{SCANNERS, SUFFIX, Window};
use super::record::{Broken, Check, RawRecord, record_len};
use super::users::USERS;
use super::{Entry, Key};

/// A cache's folder, to be looked after.
pub struct Care {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

/// A pack, as it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackFile {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was last written to.
    pub modified: SystemTime,
    /// Whether a process of this machine is writing to it, as far as the file system knows.
    pub in_use: bool,
}

/// A record that was found by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is found by.
    pub key: Key,
    /// Where it starts in its pack.
    pub offset: u64,
    body_len: u32,
}

impl Record {
    /// Bytes that it takes in its pack.
    pub fn bytes(&self) -> u64 {
        record_len(self.body_len)
    }
}

/// A pack and the records that can be found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// The pack.
    pub pack: PackFile,
    /// Its records, in order.
    pub records: Vec<Record>,
}

/// What [`Care::clear`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Bytes of the files that were removed.
    pub freed: u64,
    /// Whether the folder is gone. It stays if something is in it that isn't the cache's.
    pub gone: bool,
}

/// Why a record can't be read.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl Care {
    /// The cache in a folder, if there is one.
    pub fn of(path: &Path) -> Option<Care> {
        Care::on(Arc::new(OsDisk), path)
    }

    pub(super) fn on(disk: Arc<dyn Disk>, path: &Path) -> Option<Care> {
        let folder = path.join(FOLDER);
        // A link to elsewhere isn't what a cache makes.
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        let ours = is_folder(&folder) && (is_folder(&folder.join(PACKS)) || is_tagged(&folder));
        ours.then_some(Care { disk, folder })
    }

    /// All of the cache.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The texts for people that were left in it.
    pub fn notes(&self) -> Vec<String> {
        contents::all(&*self.disk, &self.folder)
    }

    /// The same, with the time when each was left.
    pub fn dated_notes(&self) -> Vec<(String, SystemTime)> {
        contents::dated(&*self.disk, &self.folder)
    }

    /// Its packs, by name.
    ///
    /// # Errors
    /// If they can't be listed.
    pub fn packs(&self) -> io::Result<Vec<PackFile>> {
        let folder = self.folder.join(PACKS);
        let listed = match self.disk.list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        let mut packs: Vec<PackFile> = listed
            .into_iter()
            .filter(|file| file.name.as_encoded_bytes().ends_with(SUFFIX.as_bytes()))
            .map(|file| {
                let path = folder.join(file.name);
                let in_use = self.disk.open(&path).is_ok_and(|file| self.disk.is_claimed(&file));
                PackFile { path, bytes: file.len, modified: file.modified, in_use }
            })
            .collect();
        packs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(packs)
    }

    /// All records that can be found, pack by pack. Reads lists and headers alone, as opening the
    /// cache does.
    ///
    /// # Errors
    /// If a pack can't be listed or read. One that is deleted meanwhile is left out.
    pub fn scan(&self) -> io::Result<Vec<Scanned>> {
        self.scan_packs(self.packs()?)
    }

    fn scan_packs(&self, packs: Vec<PackFile>) -> io::Result<Vec<Scanned>> {
        let records = side_by_side(&packs, |pack| match self.records(pack) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            records => records.map(Some),
        });
        let mut scanned = Vec::with_capacity(packs.len());
        for (pack, records) in packs.into_iter().zip(records) {
            if let Some(records) = records? {
                scanned.push(Scanned { pack, records });
            }
        }
        Ok(scanned)
    }

    fn records(&self, pack: &PackFile) -> io::Result<Vec<Record>> {
        let file = self.disk.open(&pack.path)?;
        let mut window = Window::new(&*self.disk, &file, pack.bytes);
        let listed = List::read(&*self.disk, &pack.path, &file, pack.bytes).unwrap_or_default();
        let mut at = listed.covered();
        let mut records: Vec<Record> = listed
            .records()
            .map(|(offset, key, body_len)| Record { key, offset, body_len })
            .collect();
        while let Some(header) = window.header(at)? {
            let end = at + header.record_len();
            if end > pack.bytes {
                break;
            }
            records.push(Record { key: header.key, offset: at, body_len: header.body_len });
            at = end;
        }
        Ok(records)
    }

    /// The entry of a record, if it is whole.
    ///
    /// # Errors
    /// If it isn't, or can't be read.
    pub fn read(&self, pack: &PackFile, record: &Record) -> io::Result<Entry> {
        self.read_whole(pack, record).map_err(|error| match error {
            Unread::Io(error) => error,
            Unread::Broken(broken) => io::Error::new(io::ErrorKind::InvalidData, broken),
        })
    }

    fn read_whole(&self, pack: &PackFile, record: &Record) -> Result<Entry, Unread> {
        let file = self.disk.open(&pack.path)?;
        let raw =
            RawRecord::read(record.body_len, |into| self.disk.read(&file, record.offset, into))?;
        Ok(raw.check(&record.key, Check::Whole)?)
    }

    /// Removes the cache: its own files, and its folders if nothing else is in them. Processes that
    /// use it go on, and make what they need anew.
    ///
    /// # Errors
    /// If a file can't be removed.
    pub fn clear(self) -> io::Result<Cleared> {
        let mut freed = 0;
        let [packs, lists, notes, users] =
            [PACKS, LISTS, CONTENTS, USERS].map(|name| self.folder.join(name));
        for (folder, suffix) in [(&packs, SUFFIX), (&lists, ""), (&notes, ""), (&users, "")] {
            for file in self.disk.list(folder).unwrap_or_default() {
                if file.name.as_encoded_bytes().ends_with(suffix.as_bytes()) {
                    unless_gone(self.disk.remove(&folder.join(&file.name)))?;
                    freed += file.len;
                }
            }
        }
        if is_tagged(&self.folder) {
            unless_gone(self.disk.remove(&self.folder.join(TAG)))?;
        }
        for folder in [&packs, &lists, &notes, &users, &self.folder] {
            match unless_gone(self.disk.remove_folder(folder)) {
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                    return Err(error);
                }
                _ => {}
            }
        }
        Ok(Cleared { freed, gone: !self.folder.exists() })
    }
}

/// Whether the folder says of itself that it is a cache.
fn is_tagged(folder: &Path) -> bool {
    std::fs::read(folder.join(TAG)).is_ok_and(|tag| tag.starts_with(b"Signature: 8a477f597d28d172"))
}

/// What somebody else has removed is removed.
fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Does something to each pack, several at a time; gives the results in the packs' order.
fn side_by_side<T: Send>(packs: &[PackFile], work: impl Fn(&PackFile) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(packs.len())));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(pack) = packs.get(at) else { break };
            let result = work(pack);
            done.lock().push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..packs.len().min(SCANNERS) {
            // Without a thread that the system doesn't give, it takes longer.
            _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
