//! Where results of offline steps are kept: an on-disk store from key to entry, shared by
//! processes.
//!
//! It knows nothing of pipelines and steps; what goes into a key and what an entry means is its
//! caller's business.

mod care;
mod contents;
mod disk;
mod file;
mod index;
mod list;
mod memory;
mod packs;
mod record;
mod room;
mod users;
mod writer;

pub use care::{Care, Cleared, Collected, Damage, Gc, PackFile, Record, Scanned, Verified};
pub use disk::{DiskCache, Options};
pub use memory::MemoryCache;

use std::fmt;

use crate::sample::Buffer;

/// What an entry is found by: a digest of everything that decides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; Key::LEN]);

impl Key {
    /// Bytes of a key.
    pub const LEN: usize = 32;
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Bytes of an entry's [`Meta`].
pub const META_LEN: usize = 64;

/// The small part of an entry, readable without its body: what the caller needs to make sense of
/// the body (type, shape, codec). Opaque here.
pub type Meta = [u8; META_LEN];

/// What was put under a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The small part.
    pub meta: Meta,
    /// The bytes.
    pub body: Buffer,
}

/// What an entry is one of, as far as the one who puts it says: entries of a kind are kept apart
/// from others, so that those that nobody has use for any more can go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(pub u64);

impl Kind {
    /// Of an entry of which nothing is said.
    pub const UNKNOWN: Kind = Kind(0);
}

/// What a full cache does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// It keeps what it has, but for kinds that nobody has use for any more.
    #[default]
    Keep,
    /// It drops those kinds first, then what was not used for longest.
    Lru,
}

/// A store from key to entry.
///
/// The promise, tested for every implementation: `get` returns the entry that was put under the
/// key, or nothing. Never other bytes, and never an error: a broken cache is never a broken read.
pub trait Cache: Send + Sync {
    /// The entry under the key, if it is here and whole.
    fn get(&self, key: &Key) -> Option<Entry>;

    /// The small part of the entry under the key.
    fn meta(&self, key: &Key) -> Option<Meta>;

    /// Keeps an entry; whether it was kept (or was here already). It is not when the cache is
    /// full or its disk refuses: that is said in the log, once, and is no error.
    fn put(&self, key: &Key, meta: &Meta, body: &[u8]) -> bool;

    /// The same, of a kind.
    fn put_as(&self, kind: Kind, key: &Key, meta: &Meta, body: &[u8]) -> bool {
        let _ = kind;
        self.put(key, meta, body)
    }

    /// What it holds now.
    fn status(&self) -> Status;

    /// Asks the kernel to forget the pages of what is kept, so that the next reads are from the
    /// disk. For measuring only.
    fn forget_pages(&self);
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Entries that can be found.
    pub entries: u64,
    /// Bytes on disk (or in memory), headers and padding included.
    pub bytes: u64,
    /// The most bytes it may take; `u64::MAX` if nothing was said.
    pub limit: u64,
}
