//! Where the record of a key is, in memory, for all packs.
//!
//! It holds no bytes of entries and reads no files: what it says is a place to look at, and the
//! record that is found there says whether it is the one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use parking_lot::RwLock;
use xxhash_rust::xxh3::xxh3_128;

use super::Key;
use super::record::{ALIGN, MAX_BODY};

/// What a key is found by: 96 bits of a digest of it, as there are as many as samples. Two keys of
/// the same would cost time (each makes the other's record look broken), never a wrong entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id([u32; 3]);

impl Id {
    pub(super) fn of(key: &Key) -> Id {
        let digest = xxh3_128(&key.0);
        Id([digest as u32, (digest >> 32) as u32, (digest >> 64) as u32])
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, _] = self.0;
        state.write_u64(u64::from(a) << 32 | u64::from(b));
    }
}

/// Takes an [`Id`] for its hash: it is part of one.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Map<T> = HashMap<Id, T, BuildHasherDefault<AsItIs>>;

/// Where a record is. 12 bytes, as there are as many of them as samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The pack's number.
    pub(super) pack: u32,
    /// In units of [`ALIGN`] from the start of the pack.
    slot: u32,
    /// Bytes of the body; with [`CHECKED`], the body was once found to be right.
    body_len: u32,
}

const CHECKED: u32 = 1 << 31;

const _: () = assert!(MAX_BODY < CHECKED as usize, "a body's length leaves a bit");

impl Place {
    /// None if the offset is where no record starts, or beyond 256 GiB, or the body is too long.
    pub(super) fn new(pack: u32, offset: u64, body_len: u32) -> Option<Place> {
        let slot = u32::try_from(offset / ALIGN).ok().filter(|_| offset.is_multiple_of(ALIGN))?;
        (body_len as usize <= MAX_BODY).then_some(Place { pack, slot, body_len })
    }

    /// Bytes from the start of the pack.
    pub(super) fn offset(&self) -> u64 {
        u64::from(self.slot) * ALIGN
    }

    /// Bytes of the body.
    pub(super) fn body_len(&self) -> u32 {
        self.body_len & !CHECKED
    }

    /// Whether the body was once found to be right.
    pub(super) fn is_checked(&self) -> bool {
        self.body_len & CHECKED != 0
    }

    fn is_same_record(&self, other: &Place) -> bool {
        (self.pack, self.slot) == (other.pack, other.slot)
    }
}

/// Enough that threads seldom wait for each other.
const SHARDS: usize = 64;

/// The map from key to place.
pub(super) struct Index {
    shards: [RwLock<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    places: Map<Place>,
    /// Further records of keys that are in `places`: written by processes that didn't see each
    /// other's, or anew after damage. They stand in when the first turns out to be broken.
    spares: Map<Vec<Place>>,
}

impl Index {
    pub(super) fn new() -> Index {
        Index { shards: std::array::from_fn(|_| RwLock::default()) }
    }

    pub(super) fn find(&self, id: Id) -> Option<Place> {
        self.shard(id).read().places.get(&id).copied()
    }

    pub(super) fn add(&self, id: Id, place: Place) {
        let Shard { places, spares } = &mut *self.shard(id).write();
        let first = places.entry(id).or_insert(place);
        if first.is_same_record(&place) {
            return;
        }
        let others = spares.entry(id).or_default();
        if !others.iter().any(|other| other.is_same_record(&place)) {
            others.push(place);
        }
    }

    /// Notes that the body at this place was found to be right.
    pub(super) fn mark_checked(&self, id: Id, place: &Place) {
        if let Some(first) = self.shard(id).write().places.get_mut(&id)
            && first.is_same_record(place)
        {
            first.body_len |= CHECKED;
        }
    }

    /// Drops one record; another one of the same key takes its place, if there is one.
    pub(super) fn remove(&self, id: Id, place: &Place) {
        let Shard { places, spares } = &mut *self.shard(id).write();
        let Some(first) = places.get_mut(&id).filter(|first| first.is_same_record(place)) else {
            return;
        };
        let spare = spares.get_mut(&id).and_then(Vec::pop);
        match spare {
            Some(spare) => *first = spare,
            None => {
                places.remove(&id);
                spares.remove(&id);
            }
        }
    }

    /// Drops all records of a pack.
    pub(super) fn remove_pack(&self, pack: u32) {
        for shard in &self.shards {
            let Shard { places, spares } = &mut *shard.write();
            spares.retain(|_, others| {
                others.retain(|other| other.pack != pack);
                !others.is_empty()
            });
            places.retain(|id, first| {
                if first.pack == pack
                    && let Some(spare) = spares.get_mut(id).and_then(Vec::pop)
                {
                    *first = spare;
                }
                first.pack != pack
            });
        }
    }

    /// Keys that have a place.
    pub(super) fn len(&self) -> u64 {
        self.shards.iter().map(|shard| shard.read().places.len() as u64).sum()
    }

    fn shard(&self, id: Id) -> &RwLock<Shard> {
        // By bits that the map within doesn't go by.
        &self.shards[id.0[2] as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pack: u32, offset: u64) -> Place {
        Place::new(pack, offset, 5).unwrap()
    }

    #[test]
    fn a_place_is_small_and_keeps_its_offset() {
        assert_eq!((size_of::<(Id, Place)>(), size_of::<Option<Place>>()), (24, 16));
        assert_eq!(place(1, 64 * 7).offset(), 64 * 7);
        assert_eq!(Place::new(1, 65, 0), None);
        assert_eq!(Place::new(1, 64 << 32, 0), None);
        assert_eq!(Place::new(1, 0, u32::MAX), None);
    }

    #[test]
    fn keys_that_share_half_their_bytes_have_ids_of_their_own() {
        let (mut a, mut b) = ([7; 32], [7; 32]);
        assert_eq!(Id::of(&Key(a)), Id::of(&Key(b)));
        b[31] = 8;
        assert_ne!(Id::of(&Key(a)), Id::of(&Key(b)));
        a[0] = 9;
        assert_ne!(Id::of(&Key(a)), Id::of(&Key([7; 32])));
    }

    #[test]
    fn a_second_record_of_a_key_stands_in_for_the_first() {
        let (index, id) = (Index::new(), Id::of(&Key([1; 32])));
        index.add(id, place(0, 0));
        index.add(id, place(0, 0));
        index.add(id, place(1, 64));
        index.add(id, place(1, 64));
        assert_eq!((index.find(id), index.len()), (Some(place(0, 0)), 1));
        index.remove(id, &place(2, 0));
        index.remove(id, &place(0, 0));
        assert_eq!(index.find(id), Some(place(1, 64)));
        index.remove(id, &place(1, 64));
        assert_eq!((index.find(id), index.len()), (None, 0));
    }

    #[test]
    fn a_pack_that_is_gone_takes_only_its_own_records_along() {
        let (index, both, one) = (Index::new(), Id::of(&Key([1; 32])), Id::of(&Key([2; 32])));
        index.add(both, place(0, 0));
        index.add(both, place(1, 0));
        index.add(one, place(0, 64));
        index.remove_pack(0);
        assert_eq!((index.find(both), index.find(one)), (Some(place(1, 0)), None));
        index.remove_pack(1);
        assert_eq!(index.len(), 0);
    }

    #[test]
    fn what_was_checked_is_checked_until_another_record_stands_in() {
        let (index, id) = (Index::new(), Id::of(&Key([1; 32])));
        index.add(id, place(0, 0));
        index.add(id, place(1, 0));
        index.mark_checked(id, &place(1, 0));
        assert!(!index.find(id).unwrap().is_checked());
        index.mark_checked(id, &place(0, 0));
        assert!(index.find(id).unwrap().is_checked());
        index.remove(id, &place(0, 0));
        assert!(!index.find(id).unwrap().is_checked());
    }
}
