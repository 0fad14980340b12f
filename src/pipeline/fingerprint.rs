//! What identifies a cached sample: everything that decides its bytes, each field with its length.
//!
//! docs/FORMAT.md tells what goes into a key, in which order.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::sample::Codec;
use crate::step::Step;

/// Raised when keys are made in another way: nothing cached before is found then.
const KEY_CONTEXT: &str = "parbake 2026 cache key v1";
const PREFIX_CONTEXT: &str = "parbake 2026 pipeline prefix v1";

/// What identifies the first steps of a pipeline: two pipelines that begin alike share what is
/// cached after any step of the common part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixDigest([u8; blake3::OUT_LEN]);

impl PrefixDigest {
    /// The digest that is written so (64 hexadecimal digits).
    pub fn from_hex(text: &str) -> Option<PrefixDigest> {
        blake3::Hash::from_hex(text).ok().map(|hash| PrefixDigest(*hash.as_bytes()))
    }

    /// No steps.
    pub(super) fn empty() -> PrefixDigest {
        PrefixDigest(blake3::derive_key(PREFIX_CONTEXT, b""))
    }

    /// These steps, then `step`.
    pub(super) fn then(&self, step: &Step) -> PrefixDigest {
        let mut fields = Fields(blake3::Hasher::new_derive_key(PREFIX_CONTEXT));
        fields.add(&self.0);
        fields.add(step.name.as_bytes());
        fields.add(&step.version.to_le_bytes());
        fields.add(step.parameters.as_bytes());
        PrefixDigest(fields.digest())
    }
}

impl fmt::Display for PrefixDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What identifies the content of a source file.
#[derive(Clone, Copy, Debug)]
pub enum Identity<'a> {
    /// Where it is, and since when.
    Stat {
        /// The path within the source.
        path: &'a Path,
        /// Bytes.
        size: u64,
        /// Last change of the content, nanoseconds since 1970.
        modified_ns: i128,
        /// Last change of the inode, nanoseconds since 1970.
        changed_ns: i128,
    },
    /// A digest of its bytes.
    Content([u8; 32]),
}

impl Identity<'_> {
    /// The key of the result of a pipeline's first steps on this file, stored with `codec`.
    pub fn key(&self, prefix: &PrefixDigest, codec: Codec) -> [u8; 32] {
        let mut fields = Fields(blake3::Hasher::new_derive_key(KEY_CONTEXT));
        match self {
            Identity::Stat { path, size, modified_ns, changed_ns } => {
                fields.add(path.as_os_str().as_bytes());
                fields.add(&size.to_le_bytes());
                fields.add(&modified_ns.to_le_bytes());
                fields.add(&changed_ns.to_le_bytes());
            }
            Identity::Content(digest) => fields.add(digest),
        }
        fields.add(&prefix.0);
        fields.add(codec.to_string().as_bytes());
        fields.digest()
    }
}

struct Fields(blake3::Hasher);

impl Fields {
    fn add(&mut self, field: &[u8]) {
        self.0.update(&(field.len() as u64).to_le_bytes());
        self.0.update(field);
    }

    fn digest(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_changes_the_key() {
        let prefix = PrefixDigest::empty();
        let stat = |path, size, modified_ns, changed_ns| {
            let path = Path::new(path);
            Identity::Stat { path, size, modified_ns, changed_ns }
        };
        let base = stat("a/b", 1, 2, 3);
        let keys = [
            base.key(&prefix, Codec::None),
            base.key(&prefix, Codec::Zstd(3)),
            base.key(&PrefixDigest([7; 32]), Codec::None),
            stat("a/c", 1, 2, 3).key(&prefix, Codec::None),
            stat("a/b", 2, 2, 3).key(&prefix, Codec::None),
            stat("a/b", 1, 3, 3).key(&prefix, Codec::None),
            stat("a/b", 1, 2, 4).key(&prefix, Codec::None),
            Identity::Content([1; 32]).key(&prefix, Codec::None),
            Identity::Content([2; 32]).key(&prefix, Codec::None),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key));
        }
        assert_eq!(keys[0], base.key(&prefix, Codec::None));
        assert_eq!(PrefixDigest::from_hex(&prefix.to_string()), Some(prefix));
        assert_eq!(PrefixDigest::from_hex("7a"), None);
    }
}
