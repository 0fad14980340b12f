//! The cache on a disk: packs of records in a folder that several processes share.
//!
//! `docs/FORMAT.md` has every byte of the folder. Policy: fill, then keep. Nothing is thrown out to
//! make room, since a pass over a set in random order finds the same share of it in the cache
//! whatever is thrown out, and throwing out costs writes.
//!
//! What a key stands for and what an entry means it doesn't know.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::contents;
use super::file::{Disk, OsDisk};
use super::index::{Id, Index, Place};
use super::packs::{Pack, Packs};
use super::record::{Broken, Check, HEADER_LEN, Header, RawHeader, RawRecord};
use super::writer::{Refusal, Room, Tuning, Writer};
use super::{Cache, Entry, Key, Meta, Status};

#[cfg(test)]
mod tests;

/// The folder in the cache's path. Its number changes with the format.
pub(super) const FOLDER: &str = "parbake-v1";

pub(super) const PACKS: &str = "packs";

pub(super) const TAG: &str = "CACHEDIR.TAG";

/// Tells backup programs that the folder need not be kept; see <https://bford.info/cachedir/>.
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of parbake: it may be deleted at any time, and is filled anew.
# For information about cache directory tags, see https://bford.info/cachedir/
";

/// Where a cache is and how much it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The folder that it is in; made if it isn't there. The cache keeps to a folder of its own in
    /// it, so that it may have other things in it too.
    pub path: PathBuf,
    /// The most bytes that it may take, with what other processes put there (as far as this one
    /// has seen it); `u64::MAX` for no limit.
    pub limit: u64,
    /// Bytes that must stay free on its disk.
    pub min_free: u64,
}

/// A [`Cache`] in a folder, shared with any number of other processes and instances.
///
/// Entries that others put are found within about a second after the first miss. A process that
/// is killed loses nothing that was put; a power cut may lose what was put shortly before, and
/// nothing else.
pub struct DiskCache {
    disk: Arc<dyn Disk>,
    /// All of the cache.
    folder: PathBuf,
    index: Index,
    packs: Packs,
    writer: Mutex<Writer>,
    /// When the folder was last looked at.
    looked: Mutex<Instant>,
    tuning: Tuning,
    limit: u64,
    said_full: AtomicBool,
    said_refused: AtomicBool,
}

/// What a cache can't be opened for.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the cache folder {}", .folder.display())]
struct CannotOpen {
    folder: PathBuf,
    source: io::Error,
}

/// Why a record couldn't be read.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("the pack is gone")]
    Gone,
    #[error("cannot open the pack: {0}")]
    Open(io::Error),
    #[error("cannot read the record: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl DiskCache {
    /// Opens the cache in a folder and finds what is in it. This reads the header of every record
    /// that is there.
    ///
    /// # Errors
    /// If the folder can't be made or listed; the message names it. Whatever else is wrong with a
    /// cache is no error: what can't be read isn't there.
    pub fn open(options: Options) -> io::Result<DiskCache> {
        DiskCache::open_on(Arc::new(OsDisk), options, Tuning::default())
    }

    fn open_on(disk: Arc<dyn Disk>, options: Options, tuning: Tuning) -> io::Result<DiskCache> {
        let Options { path, limit, min_free } = options;
        let folder = path.join(FOLDER);
        let packs = Packs::new(Arc::clone(&disk), folder.join(PACKS));
        let index = Index::new();
        disk.make_folder(packs.folder()).and_then(|()| packs.look(&index)).map_err(|source| {
            io::Error::new(source.kind(), CannotOpen { folder: folder.clone(), source })
        })?;
        tag(&*disk, &folder);
        let writer = Writer::new(Arc::clone(&disk), Room { limit, min_free }, tuning);
        Ok(DiskCache {
            disk,
            folder,
            index,
            packs,
            writer: Mutex::new(writer),
            looked: Mutex::new(Instant::now()),
            tuning,
            limit,
            said_full: AtomicBool::new(false),
            said_refused: AtomicBool::new(false),
        })
    }

    /// Leaves a text for people in the cache: what its user keeps there, and of what. As far as it
    /// can be written; nothing depends on it.
    pub fn leave_note(&self, text: &str) {
        contents::leave(&*self.disk, &self.folder, text);
    }

    /// Where the key's record is said to be. If nowhere, other processes may have put it.
    fn find(&self, id: Id) -> Option<Place> {
        self.index.find(id).or_else(|| {
            // Whoever comes while another looks goes on without: it's a cache.
            let mut looked = self.looked.try_lock()?;
            if looked.elapsed() < self.tuning.look_every {
                return None;
            }
            if let Err(error) = self.packs.look(&self.index) {
                log::debug!("cannot look at {}: {error}", self.packs.folder().display());
            }
            *looked = Instant::now();
            self.index.find(id)
        })
    }

    /// Reads something of the key's record, and of the next one of the same key if that is broken.
    fn read<T>(
        &self,
        key: &Key,
        read: impl Fn(&Place, &Pack) -> Result<T, Trouble>,
    ) -> Option<(T, Place)> {
        let id = Id::of(key);
        let mut next = self.find(id);
        loop {
            let place = next?;
            let pack = self.packs.get(place.pack);
            let result = match &pack {
                Some(pack) => read(&place, pack),
                None => Err(Trouble::Gone),
            };
            let trouble = match result {
                Ok(found) => return Some((found, place)),
                Err(trouble) => trouble,
            };
            if let Some(pack) = pack {
                pack.complain(place.offset(), &trouble);
            }
            if let Trouble::Open(error) = &trouble
                && error.kind() != io::ErrorKind::NotFound
            {
                // Too many open files, say: the record is as good as it was.
                return None;
            }
            self.index.remove(id, &place);
            // What is gone may be in another pack now: `gc` moves records.
            next = self.find(id);
        }
    }

    fn read_entry(&self, key: &Key, place: &Place, pack: &Pack) -> Result<Entry, Trouble> {
        let file = self.packs.file(pack).map_err(Trouble::Open)?;
        let raw =
            RawRecord::read(place.body_len(), |into| self.disk.read(&file, place.offset(), into))?;
        let check = if place.is_checked() { Check::Header } else { Check::Whole };
        Ok(raw.check(key, check)?)
    }

    fn read_meta(&self, key: &Key, place: &Place, pack: &Pack) -> Result<Meta, Trouble> {
        let file = self.packs.file(pack).map_err(Trouble::Open)?;
        let mut bytes = [0; HEADER_LEN];
        self.disk.read(&file, place.offset(), &mut bytes)?;
        let header = RawHeader(&bytes).check()?;
        header.is_for(key, place.body_len())?;
        Ok(header.meta)
    }

    fn tell(&self, refusal: &Refusal) {
        let said = match refusal {
            Refusal::Full { .. } => &self.said_full,
            Refusal::NearlyNoSpace { .. } | Refusal::Disk { .. } => &self.said_refused,
            Refusal::Resting => return,
        };
        if !said.swap(true, Ordering::Relaxed) {
            log::warn!("{refusal}; until then, what isn't kept is made at every read");
        }
    }
}

impl Cache for DiskCache {
    fn get(&self, key: &Key) -> Option<Entry> {
        let (entry, place) = self.read(key, |place, pack| self.read_entry(key, place, pack))?;
        if !place.is_checked() {
            self.index.mark_checked(Id::of(key), &place);
        }
        Some(entry)
    }

    fn meta(&self, key: &Key) -> Option<Meta> {
        self.read(key, |place, pack| self.read_meta(key, place, pack)).map(|(meta, _)| meta)
    }

    fn put(&self, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        let id = Id::of(key);
        if self.index.find(id).is_some() {
            return true;
        }
        let Some(header) = Header::of(key, meta, body) else { return false };
        let mut writer = self.writer.lock();
        // Another thread may have been faster.
        if self.index.find(id).is_some() {
            return true;
        }
        match writer.append(&self.packs, &header, body) {
            Ok(place) => {
                self.index.add(id, place);
                self.said_refused.store(false, Ordering::Relaxed);
                true
            }
            Err(refusal) => {
                drop(writer);
                self.tell(&refusal);
                false
            }
        }
    }

    fn status(&self) -> Status {
        Status { entries: self.index.len(), bytes: self.packs.bytes(), limit: self.limit }
    }

    fn forget_pages(&self) {
        for pack in self.packs.all() {
            if let Err(error) = self.packs.file(&pack).and_then(|file| self.disk.forget(&file)) {
                log::debug!("the kernel keeps the pages of a pack: {error}");
            }
        }
    }
}

/// Marks the folder as a cache. One that can't be marked works as well.
fn tag(disk: &dyn Disk, folder: &Path) {
    let path = folder.join(TAG);
    if std::fs::read(&path).is_ok_and(|found| found == TAG_TEXT.as_bytes()) {
        return;
    }
    if let Err(error) = disk.write(&path, TAG_TEXT.as_bytes()) {
        log::debug!("cannot write {}: {error}", path.display());
    }
}
