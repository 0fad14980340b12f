//! The cache on a disk: packs of records in a folder that several processes share.
//!
//! `docs/FORMAT.md` has every byte of the folder. Policy: fill, then keep. Nothing that is of
//! use is thrown out to make room, since a pass over a set in random order finds the same share of it
//! in the cache whatever is thrown out, and throwing out costs writes. [`Policy::Lru`] is for those
//! who use one set after another.
//!
//! What a key stands for and what an entry means it doesn't know.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::contents;
use super::file::{Disk, OsDisk};
use super::index::{Id, Index, Place};
use super::packs::{Pack, Packs};
use super::record::{Broken, Check, HEADER_LEN, Header, RawHeader, RawRecord};
use super::room::{self, Dropped};
use super::users::{self, Live};
use super::writer::{Refusal, Room, Tuning, Writer};
use super::{Cache, Entry, Key, Kind, Meta, Policy, Status};

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
    /// What is done when there is no room.
    pub policy: Policy,
}

/// A [`Cache`] in a folder, shared with any number of other processes and instances.
///
/// Entries that others put are found within a second after the first miss, mostly much sooner. A process that
/// is killed loses nothing that was put; a power cut may lose what was put shortly before, and
/// nothing else.
pub struct DiskCache {
    disk: Arc<dyn Disk>,
    /// All of the cache.
    folder: PathBuf,
    index: Index,
    packs: Packs,
    writer: Mutex<Writer>,
    looked: Mutex<Looked>,
    /// That this process uses the cache, once it has said what for.
    live: Mutex<Option<Live>>,
    policy: Policy,
    /// When it was last in vain to make room.
    no_room: Mutex<Option<Instant>>,
    tuning: Tuning,
    limit: u64,
    said_full: AtomicBool,
    said_refused: AtomicBool,
}

/// The last look at the folder.
struct Looked {
    at: Instant,
    /// How long it took, or less if those before it were quicker by far.
    took: Duration,
}

impl Looked {
    /// Whether it is time for another: so that looking takes little of the time, and not later than
    /// after a second.
    fn is_due(&self, tuning: &Tuning) -> bool {
        let wait = (self.took * tuning.look_share).min(LOOK_AT_LAST);
        self.at.elapsed() >= wait.max(tuning.look_every)
    }
}

/// What a look may take without more ado.
const LOOK_AT_FIRST: Duration = Duration::from_millis(1);

/// The longest time without a look, where one is wanted.
const LOOK_AT_LAST: Duration = Duration::from_secs(1);

/// A pack is at most this part of the limit, so that what is dropped is a small part of the cache;
/// but for packs so small that there would be very many.
const PACKS_IN_LIMIT: u64 = 32;
const SMALL_PACK: u64 = 1 << 20;

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
        let Options { path, limit, min_free, policy } = options;
        let most = (limit / PACKS_IN_LIMIT).max(SMALL_PACK);
        let tuning = Tuning { pack_bytes: tuning.pack_bytes.min(most), ..tuning };
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
            looked: Mutex::new(Looked { at: Instant::now(), took: Duration::ZERO }),
            live: Mutex::new(None),
            policy,
            no_room: Mutex::new(None),
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

    /// Says what the cache is used for from now on by a user with this name (and, while it is open,
    /// by this process): entries of these kinds. They don't go for want of use.
    pub fn used_by(&self, user: &str, kinds: &[Kind]) {
        let live = users::name(&*self.disk, &self.folder, user, kinds)
            .and_then(|()| Live::new(Arc::clone(&self.disk), &self.folder, kinds));
        match live {
            Ok(live) => *self.live.lock() = Some(live),
            Err(error) => log::debug!("cannot say who uses {}: {error}", self.folder.display()),
        }
    }

    /// Looks at the folder for what others did.
    fn look(&self, looked: &mut Looked) {
        let from = Instant::now();
        if let Err(error) = self.packs.look(&self.index) {
            log::debug!("cannot look at {}: {error}", self.packs.folder().display());
        }
        // One that took long once was interrupted, or found much: the next ones say whether it lasts.
        let took = from.elapsed().min(looked.took * 2 + LOOK_AT_FIRST);
        *looked = Looked { at: Instant::now(), took };
    }

    /// Drops packs so that there is room; whether it did.
    fn make_room(&self, need: u64) -> bool {
        let mut no_room = self.no_room.lock();
        if no_room.is_some_and(|last| last.elapsed() < self.tuning.rest) {
            return false;
        }
        let live = self.live.lock();
        let wanted = live.as_ref().and_then(|live| {
            users::wanted(&*self.disk, &self.folder, live)
                .inspect_err(|error| log::debug!("nobody knows what is of use: {error}"))
                .ok()
        });
        let folder = self.packs.folder();
        let dropped = room::make(&*self.disk, folder, need, self.policy, wanted.as_ref());
        match dropped {
            Ok(Dropped { packs, bytes }) if packs > 0 => {
                log::info!(
                    "{}: dropped {bytes} bytes to make room, packs: {packs}",
                    folder.display()
                );
            }
            Ok(_) => {
                *no_room = Some(Instant::now());
                return false;
            }
            Err(error) => {
                log::debug!("cannot make room in {}: {error}", folder.display());
                *no_room = Some(Instant::now());
                return false;
            }
        }
        self.look(&mut self.looked.lock());
        true
    }

    /// Writes a record, making room if there is none.
    fn write(
        &self,
        writer: &mut Writer,
        kind: Kind,
        header: &Header,
        body: &[u8],
    ) -> Result<Place, Refusal> {
        let record = header.record_len();
        if writer.must_look(record) {
            let mut looked = self.looked.lock();
            // One that is full stays full, mostly: no look at each record for that.
            let is_full = self.packs.bytes().saturating_add(record) > self.limit;
            if !is_full || looked.is_due(&self.tuning) {
                self.look(&mut looked);
                writer.has_looked(&self.packs);
            }
        }
        let refusal = match writer.append(&self.packs, kind, header, body) {
            Err(refusal) => refusal,
            written => return written,
        };
        let need = match &refusal {
            Refusal::Full { held, limit, record } => {
                held.saturating_add(*record).saturating_sub(*limit)
            }
            Refusal::NearlyNoSpace { free, min_free } => {
                min_free.saturating_add(record).saturating_sub(*free)
            }
            Refusal::Disk { .. } | Refusal::Resting => 0,
        };
        if need == 0 || !self.make_room(need) {
            return Err(refusal);
        }
        writer.rest_no_more();
        writer.append(&self.packs, kind, header, body)
    }

    /// Whether an entry is said to be here. Nothing is read for it, so it may turn out to be damaged.
    pub fn contains(&self, key: &Key) -> bool {
        self.find(Id::of(key)).is_some()
    }

    /// Where the key's record is said to be. If nowhere, other processes may have put it.
    fn find(&self, id: Id) -> Option<Place> {
        self.index.find(id).or_else(|| {
            // Whoever comes while another looks goes on without: it's a cache.
            let mut looked = self.looked.try_lock()?;
            if !looked.is_due(&self.tuning) {
                return None;
            }
            self.look(&mut looked);
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
        if self.policy == Policy::Lru {
            self.packs.mark_used(pack, &file);
        }
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
        self.put_as(Kind::UNKNOWN, key, meta, body)
    }

    fn put_as(&self, kind: Kind, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        let id = Id::of(key);
        // Another process may have been faster.
        if self.find(id).is_some() {
            return true;
        }
        let Some(header) = Header::of(key, meta, body) else { return false };
        let mut writer = self.writer.lock();
        // Another thread may have been faster.
        if self.index.find(id).is_some() {
            return true;
        }
        match self.write(&mut writer, kind, &header, body) {
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
