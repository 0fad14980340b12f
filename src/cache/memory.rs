//! A cache in memory: for tests, and as the model that others are compared with.
//!
//! It has no limit and outlives nothing.

use std::collections::HashMap;

use parking_lot::RwLock;

use super::{Cache, Entry, Key, META_LEN, Meta, Status};
use crate::sample::Buffer;

/// A [`Cache`] in a map.
#[derive(Debug, Default)]
pub struct MemoryCache {
    entries: RwLock<HashMap<Key, Entry>>,
}

impl MemoryCache {
    /// An empty one.
    pub fn new() -> MemoryCache {
        MemoryCache::default()
    }
}

impl Cache for MemoryCache {
    fn get(&self, key: &Key) -> Option<Entry> {
        self.entries.read().get(key).cloned()
    }

    fn meta(&self, key: &Key) -> Option<Meta> {
        self.entries.read().get(key).map(|entry| entry.meta)
    }

    fn put(&self, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        self.entries
            .write()
            .entry(*key)
            .or_insert_with(|| Entry { meta: *meta, body: Buffer::copy_of(body) });
        true
    }

    fn status(&self) -> Status {
        let entries = self.entries.read();
        let bodies: usize = entries.values().map(|entry| META_LEN + entry.body.len()).sum();
        Status { entries: entries.len() as u64, bytes: bodies as u64, limit: u64::MAX }
    }

    fn forget_pages(&self) {}
}
