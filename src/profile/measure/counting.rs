//! A cache that remembers how many bytes were put under each key, and is otherwise the one in it.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::{Cache, DiskCache, Entry, Key, Kind, Meta, Status};

pub(super) struct Counting {
    cache: DiskCache,
    bytes: Mutex<HashMap<Key, usize>>,
}

impl Counting {
    pub(super) fn new(cache: DiskCache) -> Counting {
        Counting { cache, bytes: Mutex::default() }
    }

    /// Bytes of the entry under a key, 0 if there was none put.
    pub(super) fn bytes(&self, key: &Key) -> usize {
        self.bytes.lock().get(key).copied().unwrap_or(0)
    }
}

impl Cache for Counting {
    fn get(&self, key: &Key) -> Option<Entry> {
        self.cache.get(key)
    }

    fn meta(&self, key: &Key) -> Option<Meta> {
        self.cache.meta(key)
    }

    fn put(&self, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        self.put_as(Kind::UNKNOWN, key, meta, body)
    }

    fn put_as(&self, kind: Kind, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        let kept = self.cache.put_as(kind, key, meta, body);
        if kept {
            self.bytes.lock().insert(*key, body.len());
        }
        kept
    }

    fn status(&self) -> Status {
        self.cache.status()
    }

    fn forget_pages(&self) {
        self.cache.forget_pages();
    }
}
