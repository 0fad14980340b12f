//! What tells one content of a source file from another: the file's stat, or a digest of its bytes.
//!
//! A digest is computed once for what a file is as its stat has it, and remembered for as long as the
//! process lives.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::{Executor, Job, MakeError};
use crate::pipeline::Identity;
use crate::sample::Sample;
use crate::source::Stat;

/// What identifies a source file in the cache's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdentifiedBy {
    /// Path, size and times.
    #[default]
    Stat,
    /// Its bytes: copies and renamed files are the same, and a file whose times moved is what it
    /// was. Each file is read once for it in a process.
    Content,
}

/// The digests of contents: by a hash of the path, what the file was and its digest.
pub(super) type Digests = Mutex<HashMap<u128, (Stat, [u8; 32])>>;

impl Executor {
    /// What identifies the file.
    pub(super) fn identity<'a>(&self, job: Job<'a>) -> Result<Identity<'a>, MakeError> {
        if let Some(known) = self.known_identity(job) {
            return Ok(known);
        }
        let Sample::Bytes(bytes) = self.raw(job)? else {
            return Err(MakeError::Changed);
        };
        let digest = *blake3::hash(&bytes).as_bytes();
        self.digests.lock().insert(place(job), (job.stat, digest));
        Ok(Identity::Content(digest))
    }

    /// The same, if the file needn't be read for it.
    pub(super) fn known_identity<'a>(&self, job: Job<'a>) -> Option<Identity<'a>> {
        let Job { path, stat, .. } = job;
        let Stat { size, modified_ns, changed_ns, .. } = stat;
        match self.identified_by {
            IdentifiedBy::Stat => Some(Identity::Stat { path, size, modified_ns, changed_ns }),
            IdentifiedBy::Content => {
                let digests = self.digests.lock();
                let (then, digest) = digests.get(&place(job))?;
                (*then == stat).then_some(Identity::Content(*digest))
            }
        }
    }
}

fn place(job: Job) -> u128 {
    xxh3_128(job.path.as_os_str().as_bytes())
}
