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
pub struct Identity<'a> {
    /// The path within the source.
    pub path: &'a Path,
    /// Bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Last change of the inode, nanoseconds since 1970.
    pub changed_ns: i128,
}

impl Identity<'_> {
    /// The key of the result of a pipeline's first steps on this file, stored with `codec`.
    pub fn key(&self, prefix: &PrefixDigest, codec: Codec) -> [u8; 32] {
        let mut fields = Fields(blake3::Hasher::new_derive_key(KEY_CONTEXT));
        fields.add(self.path.as_os_str().as_bytes());
        fields.add(&self.size.to_le_bytes());
        fields.add(&self.modified_ns.to_le_bytes());
        fields.add(&self.changed_ns.to_le_bytes());
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
        let base = Identity { path: Path::new("a/b"), size: 1, modified_ns: 2, changed_ns: 3 };
        let keys = [
            base.key(&prefix, Codec::None),
            base.key(&prefix, Codec::Zstd(3)),
            base.key(&PrefixDigest([7; 32]), Codec::None),
            Identity { path: Path::new("a/c"), ..base }.key(&prefix, Codec::None),
            Identity { size: 2, ..base }.key(&prefix, Codec::None),
            Identity { modified_ns: 3, ..base }.key(&prefix, Codec::None),
            Identity { changed_ns: 4, ..base }.key(&prefix, Codec::None),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key));
        }
        assert_eq!(keys[0], base.key(&prefix, Codec::None));
    }
}
