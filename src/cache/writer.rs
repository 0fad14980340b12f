//! The side of the cache that writes: whole records at the end of a pack of its own, as far as
//! there is room.
//!
//! It doesn't know which keys are there already, and talks to nobody: a refusal is a value.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Kind;
use super::file::Disk;
use super::index::Place;
use super::list::List;
use super::packs::{Pack, Packs};
use super::record::Header;

/// The most bytes written between two looks at what there is room for.
const LOOK_EVERY: u64 = 64 << 20;

/// How many may write at once, each unseen by the others between two looks, before there is less
/// room than all of them take.
const WRITERS: u64 = 16;

/// What one writer may take of what is free before it looks again.
fn share_of(free: u64) -> u64 {
    (free / WRITERS).min(LOOK_EVERY)
}

/// Times that a pack's list is written, the last one when the pack is full: what was written since
/// has to be read through if the writer is killed.
const LISTS_A_PACK: u64 = 8;

/// Records that a pack may have before the next is begun: bounds the memory that lists take.
const MOST_RECORDS: usize = 1 << 18;

/// Sizes and times that tests make smaller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Bytes that a pack may have before the next is begun. Large, so that there are few files;
    /// small enough that a pack is a handy thing to copy or delete.
    pub(super) pack_bytes: u64,
    /// The least time between two looks at the folder for what other processes wrote.
    pub(super) look_every: Duration,
    /// Looking takes one part of the time of this many, at most.
    pub(super) look_share: u32,
    /// How long nothing is tried after the disk refused.
    pub(super) rest: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            pack_bytes: 1 << 30,
            look_every: Duration::from_millis(20),
            look_share: 20,
            rest: Duration::from_secs(10),
        }
    }
}

/// How much may be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes that all packs may have.
    pub(super) limit: u64,
    /// Bytes that stay free on the disk.
    pub(super) min_free: u64,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The limit is reached.
    #[error(
        "the cache is full: {} are kept of at most {}, and the next record is of {}; \
         raise `cache.limit`, or drop what is no longer needed: `parbake cache gc`",
        Size(*.held), Size(*.limit), Size(*.record)
    )]
    Full { held: u64, limit: u64, record: u64 },
    /// The disk has no more than what is to stay free.
    #[error(
        "the disk of the cache is nearly full: {} are free, and {} are to stay free; \
         make room there, or lower `cache.min_free`",
        Size(*.free), Size(*.min_free)
    )]
    NearlyNoSpace { free: u64, min_free: u64 },
    /// The disk refused.
    #[error(
        "cannot write to the cache: {source} ({} are kept, {} are free on the disk); \
         make room there, or lower `cache.limit`", Size(*.held), Size(*.free)
    )]
    Disk { held: u64, free: u64, source: io::Error },
    /// The disk refused a short while ago.
    #[error("the disk of the cache refused a short while ago")]
    Resting,
}

/// Bytes, for a person.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match UNITS.iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) => write!(f, "{:.1} {name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// The pack that is written to.
struct Current {
    pack: Arc<Pack>,
    file: Arc<File>,
    /// Its records.
    list: List,
    /// Bytes of the pack that the list on the disk has the records of.
    listed: u64,
}

/// Appends records. One at a time: the caller holds a lock around it.
pub(super) struct Writer {
    disk: Arc<dyn Disk>,
    room: Room,
    tuning: Tuning,
    /// One for each kind.
    current: HashMap<Kind, Current>,
    /// Bytes that may be written before the free space is looked at again.
    known_free: u64,
    /// Bytes that may be written before it matters what others wrote.
    known_room: u64,
    resting_until: Option<Instant>,
}

impl Writer {
    pub(super) fn new(disk: Arc<dyn Disk>, room: Room, tuning: Tuning) -> Writer {
        let current = HashMap::new();
        Writer { disk, room, tuning, current, known_free: 0, known_room: 0, resting_until: None }
    }

    /// Whether what others wrote is to be looked at before a record of so many bytes is written.
    pub(super) fn must_look(&self, record: u64) -> bool {
        self.room.limit != u64::MAX && record > self.known_room
    }

    /// What others wrote was looked at.
    pub(super) fn has_looked(&mut self, packs: &Packs) {
        self.known_room = share_of(self.room.limit.saturating_sub(packs.bytes()));
    }

    /// The disk is tried again at once.
    pub(super) fn rest_no_more(&mut self) {
        self.resting_until = None;
    }

    /// Writes a record at the end of the current pack of its kind, or of a new one.
    pub(super) fn append(
        &mut self,
        packs: &Packs,
        kind: Kind,
        header: &Header,
        body: &[u8],
    ) -> Result<Place, Refusal> {
        if self.resting_until.is_some_and(|until| Instant::now() < until) {
            return Err(Refusal::Resting);
        }
        self.resting_until = None;
        let record = header.record_len();
        self.within_limit(packs, record)?;
        let written = self.within_free_space(packs, record).and_then(|()| {
            self.write(packs, kind, header, body).map_err(|source| Refusal::Disk {
                held: packs.bytes(),
                free: self.disk.free(packs.folder()).unwrap_or(0),
                source,
            })
        });
        if written.is_err() {
            self.resting_until = Some(Instant::now() + self.tuning.rest);
            self.known_free = 0;
        }
        written
    }

    fn within_limit(&mut self, packs: &Packs, record: u64) -> Result<(), Refusal> {
        let (held, limit) = (packs.bytes(), self.room.limit);
        match held.saturating_add(record) <= limit {
            true => {
                self.known_room = self.known_room.saturating_sub(record);
                Ok(())
            }
            false => Err(Refusal::Full { held, limit, record }),
        }
    }

    fn within_free_space(&mut self, packs: &Packs, record: u64) -> Result<(), Refusal> {
        if record > self.known_free {
            let min_free = self.room.min_free;
            // A disk that doesn't tell is tried: writing has the last word.
            let free = self.disk.free(packs.folder()).unwrap_or(u64::MAX);
            let usable = free.saturating_sub(min_free);
            if record > usable {
                return Err(Refusal::NearlyNoSpace { free, min_free });
            }
            self.known_free = share_of(usable).max(record);
        }
        self.known_free -= record;
        Ok(())
    }

    fn write(
        &mut self,
        packs: &Packs,
        kind: Kind,
        header: &Header,
        body: &[u8],
    ) -> io::Result<Place> {
        let record = header.record_len();
        let disk = Arc::clone(&self.disk);
        let list_every = self.tuning.pack_bytes / LISTS_A_PACK;
        let current = self.pack_for(packs, kind, record)?;
        let start = current.pack.end();
        let place = Place::new(current.pack.number, start, header.body_len)
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let parts = [&header.encode()[..], body, header.padding()];
        if let Err(error) = disk.append(&current.file, start, &parts) {
            if disk.truncate(&current.file, start).is_err() {
                // What is left there can't be trusted to be gone; readers stop at it.
                self.leave(kind);
            }
            return Err(error);
        }
        current.pack.set_end(start + record);
        current.list.add(header.key, header.body_len);
        if current.list.covered() - current.listed >= list_every {
            current.write_list(&*disk);
        }
        Ok(place)
    }

    /// Writes no more to the current pack of a kind: others may clean it up.
    fn leave(&mut self, kind: Kind) {
        if let Some(mut current) = self.current.remove(&kind) {
            current.write_list(&*self.disk);
            self.disk.release(&current.file);
        }
    }

    /// The pack that the next record belongs in.
    fn pack_for(&mut self, packs: &Packs, kind: Kind, record: u64) -> io::Result<&mut Current> {
        let most = self.tuning.pack_bytes;
        // Somebody may have deleted it; then what is written there is lost with its last reader.
        let is_there = |current: &Current| packs.get(current.pack.number).is_some();
        let fits = |current: &Current| {
            let end = current.pack.end();
            end == 0 || end + record <= most && current.list.len() < MOST_RECORDS
        };
        if !self.current.get(&kind).is_some_and(|current| fits(current) && is_there(current)) {
            self.leave(kind);
        }
        match self.current.entry(kind) {
            Entry::Occupied(current) => Ok(current.into_mut()),
            Entry::Vacant(none) => {
                let (pack, file) = packs.create(kind)?;
                Ok(none.insert(Current { pack, file, list: List::default(), listed: 0 }))
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let kinds: Vec<Kind> = self.current.keys().copied().collect();
        kinds.into_iter().for_each(|kind| self.leave(kind));
    }
}

impl Current {
    /// Writes the list, if there is more to say than the last time. Without one, the next who opens
    /// the cache reads through the pack.
    fn write_list(&mut self, disk: &dyn Disk) {
        let path = &self.pack.path;
        if self.list.covered() == self.listed || disk.open(path).is_err() {
            return;
        }
        // Not tried again before there is as much again, whether or not it worked.
        self.listed = self.list.covered();
        if let Err(error) = self.list.write(disk, path) {
            log::debug!("cannot write the index of {}: {error}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_numbers_and_the_way_out() {
        let full = Refusal::Full { held: 3 << 29, limit: 2 << 30, record: 600 << 20 };
        assert_eq!(
            full.to_string(),
            "the cache is full: 1.5 GiB are kept of at most 2.0 GiB, and the next record is of \
             600.0 MiB; raise `cache.limit`, or drop what is no longer needed: `parbake cache gc`"
        );
        let error = nix::Error::ENOSPC.into();
        assert_eq!(
            Refusal::Disk { held: 1 << 10, free: 12, source: error }.to_string(),
            "cannot write to the cache: No space left on device (os error 28) (1.0 KiB are kept, \
             12 bytes are free on the disk); make room there, or lower `cache.limit`"
        );
    }
}
