//! Texts for people in a cache's folder: what is kept in it, and of what.
//!
//! What they say is the business of the cache's user. Nothing depends on them: they are written as
//! far as that can be done, and what can't be read isn't there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_128;

use super::file::{Disk, Listed, replace};

/// The folder of the texts.
pub(super) const CONTENTS: &str = "contents";

const SUFFIX: &str = ".toml";

/// Where a text belongs: the same for the same text, whoever leaves it.
fn place(folder: &Path, text: &str) -> PathBuf {
    folder.join(CONTENTS).join(format!("{:032x}{SUFFIX}", xxh3_128(text.as_bytes())))
}

/// Leaves a text, unless it is there.
pub(super) fn leave(disk: &dyn Disk, folder: &Path, text: &str) {
    let path = place(folder, text);
    if path.exists() {
        return;
    }
    if let Err(error) = replace(disk, &path, text.as_bytes()) {
        log::debug!("cannot write {}: {error}", path.display());
    }
}

/// All texts and since when they are there, by file name.
pub(super) fn dated(disk: &dyn Disk, folder: &Path) -> Vec<(String, SystemTime)> {
    let folder = folder.join(CONTENTS);
    let mut files = disk.list(&folder).unwrap_or_default();
    files.retain(|file| file.name.as_encoded_bytes().ends_with(SUFFIX.as_bytes()));
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let read = |file: &Listed| {
        let text = std::fs::read_to_string(folder.join(&file.name)).ok()?;
        Some((text, file.modified))
    };
    files.iter().filter_map(read).collect()
}

/// All texts, by file name.
pub(super) fn all(disk: &dyn Disk, folder: &Path) -> Vec<String> {
    dated(disk, folder).into_iter().map(|(text, _)| text).collect()
}

/// Removes all texts but these.
pub(super) fn keep_only(disk: &dyn Disk, folder: &Path, texts: &[String]) -> io::Result<()> {
    for other in all(disk, folder).iter().filter(|text| !texts.contains(text)) {
        disk.remove(&place(folder, other))?;
    }
    Ok(())
}
