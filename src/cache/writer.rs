//! The side of the cache that writes: whole records at the end of a pack of its own, as far as
//! there is room.
//!
//! It doesn't know which keys are there already, and talks to nobody: a refusal is a value.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::file::Disk;
use super::index::Place;
use super::packs::{Pack, Packs};
use super::record::Header;

/// Bytes written between two looks at the free space.
const FREE_SPACE_EVERY: u64 = 64 << 20;

/// Sizes and times that tests make smaller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Bytes that a pack may have before the next is begun. Large, so that there are few files;
    /// small enough that a pack is a handy thing to copy or delete.
    pub(super) pack_bytes: u64,
    /// How often the folder is looked at for what other processes wrote.
    pub(super) look_every: Duration,
    /// How long nothing is tried after the disk refused.
    pub(super) rest: Duration,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            pack_bytes: 1 << 30,
            look_every: Duration::from_secs(1),
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

/// Appends records. One at a time: the caller holds a lock around it.
pub(super) struct Writer {
    disk: Arc<dyn Disk>,
    room: Room,
    tuning: Tuning,
    current: Option<(Arc<Pack>, Arc<File>)>,
    /// Bytes that may be written before the free space is looked at again.
    known_free: u64,
    resting_until: Option<Instant>,
}

impl Writer {
    pub(super) fn new(disk: Arc<dyn Disk>, room: Room, tuning: Tuning) -> Writer {
        Writer { disk, room, tuning, current: None, known_free: 0, resting_until: None }
    }

    /// Writes a record at the end of the current pack, or of a new one.
    pub(super) fn append(
        &mut self,
        packs: &Packs,
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
            self.write(packs, header, body).map_err(|source| Refusal::Disk {
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

    fn within_limit(&self, packs: &Packs, record: u64) -> Result<(), Refusal> {
        let (held, limit) = (packs.bytes(), self.room.limit);
        match held.saturating_add(record) <= limit {
            true => Ok(()),
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
            self.known_free = usable.min(FREE_SPACE_EVERY.max(record));
        }
        self.known_free -= record;
        Ok(())
    }

    fn write(&mut self, packs: &Packs, header: &Header, body: &[u8]) -> io::Result<Place> {
        let record = header.record_len();
        let (pack, file) = self.pack_for(packs, record)?;
        let start = pack.end();
        let place = Place::new(pack.number, start, header.body_len)
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let parts = [&header.encode()[..], body, header.padding()];
        if let Err(error) = self.disk.append(&file, start, &parts) {
            if self.disk.truncate(&file, start).is_err() {
                // What is left there can't be trusted to be gone; readers stop at it.
                self.leave();
            }
            return Err(error);
        }
        pack.set_end(start + record);
        Ok(place)
    }

    /// Writes no more to the current pack: others may clean it up.
    fn leave(&mut self) {
        if let Some((_, file)) = self.current.take() {
            self.disk.release(&file);
        }
    }

    /// The pack that the next record belongs in.
    fn pack_for(&mut self, packs: &Packs, record: u64) -> io::Result<(Arc<Pack>, Arc<File>)> {
        if let Some((pack, file)) = &self.current {
            let fits = pack.end() == 0 || pack.end() + record <= self.tuning.pack_bytes;
            // Somebody may have deleted it; then what is written there is lost with its last reader.
            if fits && packs.get(pack.number).is_some() {
                return Ok((Arc::clone(pack), Arc::clone(file)));
            }
        }
        self.leave();
        let (pack, file) = packs.create()?;
        self.current = Some((Arc::clone(&pack), Arc::clone(&file)));
        Ok((pack, file))
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
