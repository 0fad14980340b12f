//! Samples kept in memory as they are at the split, decompressed and checked: a tier before the
//! cache.
//!
//! With the policy `keep`, the samples that came first stay: each epoch then finds as many as fit, while
//! the least recently used would be thrown out just before a pass over the whole set comes to it again
//! (Mohan et al., "Analyzing and Mitigating Data Stalls in DNN Training", VLDB 2021, section 5.1).
//!
//! It is bounded by the bytes that it really takes, and cut into shards, so that readers of other
//! samples don't wait for each other. It knows neither where samples come from nor what is done to
//! them.

use lru::LruCache;
use parking_lot::Mutex;

use crate::cache::{Key, Policy};
use crate::sample::{Buffer, Sample};

/// Samples in memory.
pub struct Memory {
    shards: Vec<Mutex<Shard>>,
    /// The most bytes that a shard takes.
    share: usize,
    policy: Policy,
}

struct Shard {
    samples: LruCache<Key, Sample>,
    bytes: usize,
}

/// What the tier holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Samples.
    pub samples: u64,
    /// Bytes of memory that they take.
    pub bytes: u64,
    /// The most bytes that they may take.
    pub limit: u64,
}

const MOST_SHARDS: usize = 16;

/// Bytes that a shard should have at least, so that the samples that don't fit in what is left of
/// one are a small part of the tier.
const SHARE: usize = 64 << 20;

/// Bytes of a sample beside its pages: its place in the map and the list, shape, and counters,
/// rounded up.
const OVERHEAD: usize = 512;

impl Memory {
    /// A tier that takes at most `limit` bytes.
    pub fn new(limit: u64, policy: Policy) -> Memory {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let count = (limit / SHARE).clamp(1, MOST_SHARDS);
        let shard = || Mutex::new(Shard { samples: LruCache::unbounded(), bytes: 0 });
        Memory { shards: (0..count).map(|_| shard()).collect(), share: limit / count, policy }
    }

    /// The sample under a key. It shares its memory until it is written to.
    pub(super) fn get(&self, key: &Key) -> Option<Sample> {
        let mut shard = self.shard(key).lock();
        match self.policy {
            Policy::Keep => shard.samples.peek(key).cloned(),
            Policy::Lru => shard.samples.get(key).cloned(),
        }
    }

    /// Keeps a copy of a sample, if there is room or room is made.
    pub(super) fn put(&self, key: &Key, sample: &Sample) {
        let cost = cost(sample);
        let room = |shard: &Shard| self.share - shard.bytes >= cost;
        let shard = self.shard(key);
        if cost > self.share || self.policy == Policy::Keep && !room(&shard.lock()) {
            return;
        }
        let Some(sample) = copied(sample) else { return };
        let mut shard = shard.lock();
        if shard.samples.contains(key) {
            return;
        }
        while !room(&shard) {
            let oldest = match self.policy {
                Policy::Keep => None,
                Policy::Lru => shard.samples.pop_lru(),
            };
            let Some((_, oldest)) = oldest else { return };
            shard.bytes -= self::cost(&oldest);
        }
        shard.bytes += cost;
        shard.samples.push(*key, sample);
    }

    /// What it holds.
    pub fn holds(&self) -> Holds {
        let mut holds =
            Holds { limit: (self.share * self.shards.len()) as u64, ..Holds::default() };
        for shard in &self.shards {
            let shard = shard.lock();
            holds.samples += shard.samples.len() as u64;
            holds.bytes += shard.bytes as u64;
        }
        holds
    }

    /// Keys are digests: any of their bytes spread evenly.
    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        &self.shards[usize::from(key.0[0]) % self.shards.len()]
    }
}

/// Bytes of memory that a kept sample takes.
fn cost(sample: &Sample) -> usize {
    Buffer::kept_size(sample.len()) + OVERHEAD
}

fn copied(sample: &Sample) -> Option<Sample> {
    let data = Buffer::to_keep(sample.data());
    match sample {
        Sample::Bytes(_) => Some(Sample::Bytes(data)),
        Sample::Array(array) => array.with_data(data).map(Sample::Array),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key(*blake3::hash(&n.to_le_bytes()).as_bytes())
    }

    fn sample(n: u32, len: usize) -> Sample {
        Sample::Bytes(Buffer::copy_of(&vec![n as u8; len]))
    }

    const LEN: usize = 10_000;
    const COST: usize = 12_288 + OVERHEAD;

    #[test]
    fn the_first_stay_and_the_limit_holds() {
        let memory = Memory::new(10 * COST as u64 + 17, Policy::Keep);
        for n in 0..100 {
            memory.put(&key(n), &sample(n, LEN));
            assert!(memory.holds().bytes <= memory.holds().limit);
        }
        assert_eq!(memory.holds().samples, 10);
        for n in 0..100 {
            let there = memory.get(&key(n));
            assert_eq!(there, (n < 10).then(|| sample(n, LEN)), "{n}");
        }
    }

    #[test]
    fn the_last_used_stay_and_the_limit_holds() {
        let memory = Memory::new(10 * COST as u64, Policy::Lru);
        for n in 0..100 {
            memory.put(&key(n), &sample(n, LEN));
            assert!(memory.get(&key(0)).is_some());
            assert!(memory.holds().bytes <= memory.holds().limit);
        }
        let there: Vec<u32> = (0..100).filter(|n| memory.get(&key(*n)).is_some()).collect();
        assert_eq!(there, [0, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
    }

    #[test]
    fn what_is_larger_than_the_tier_is_not_kept_and_evicts_nothing() {
        let memory = Memory::new(2 * COST as u64, Policy::Lru);
        memory.put(&key(1), &sample(1, LEN));
        memory.put(&key(2), &sample(2, 1 << 20));
        assert_eq!(memory.holds().samples, 1);
        Memory::new(0, Policy::Keep).put(&key(1), &sample(1, 1));
    }

    #[test]
    fn many_at_once_keep_to_the_limit() {
        let memory = Memory::new(3 * SHARE as u64, Policy::Lru);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let memory = &memory;
                scope.spawn(move || {
                    for n in 0..200 {
                        let n = (n * 7 + thread) % 150;
                        memory.put(&key(n), &sample(n, 3 << 20));
                        assert!(memory.holds().bytes <= memory.holds().limit);
                        if let Some(found) = memory.get(&key(n)) {
                            assert_eq!(found.data()[5], n as u8);
                        }
                    }
                });
            }
        });
    }
}
