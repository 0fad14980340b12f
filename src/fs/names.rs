//! Which name a source file is served under: one each, none twice, whatever the order of listing.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// How a sample's served name comes of its source's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// `cat.jpg` is served as `cat.npy`, but as `cat.jpg.npy` where another name of the folder
    /// would come out the same.
    #[default]
    Replace,
    /// Always `cat.jpg.npy`: names stay the same however the set grows.
    Append,
}

/// The most bytes of a name, on Linux.
const LONGEST: usize = 255;

/// The served names of a folder's entries, each given as its name and, if it is a sample, the
/// extension that it is served with.
pub(super) fn served_names(entries: &[(&OsStr, Option<&str>)], naming: Naming) -> Vec<OsString> {
    let mut taken: HashMap<OsString, u32> = HashMap::with_capacity(entries.len());
    let wanted: Vec<OsString> = entries
        .iter()
        .map(|(name, extension)| match (extension, naming) {
            (None, _) => (*name).to_owned(),
            (Some(extension), Naming::Replace) => replaced(name, extension),
            (Some(extension), Naming::Append) => appended(name, extension),
        })
        .collect();
    for name in &wanted {
        *taken.entry(name.clone()).or_default() += 1;
    }
    // Where several want one name, what isn't a sample keeps it, and every sample among them says
    // what it comes from: nobody's name depends on who was looked at first.
    let mut names = Vec::with_capacity(entries.len());
    for ((name, extension), mut served) in entries.iter().zip(wanted) {
        if let Some(extension) = extension
            && taken[&served] > 1
        {
            served = appended(name, extension);
            while taken.contains_key(&served) {
                served = appended(&served, extension);
            }
            taken.insert(served.clone(), 1);
        }
        names.push(served);
    }
    names
}

/// `cat.jpg` and `npy` make `cat.npy`.
fn replaced(name: &OsStr, extension: &str) -> OsString {
    let stem = Path::new(name).file_stem().unwrap_or(name);
    joined(stem, extension, name)
}

/// `cat.jpg` and `npy` make `cat.jpg.npy`.
fn appended(name: &OsStr, extension: &str) -> OsString {
    joined(name, extension, name)
}

/// A name that would be too long keeps its beginning and gets a digest of the whole.
fn joined(stem: &OsStr, extension: &str, whole: &OsStr) -> OsString {
    let mut name = stem.as_bytes().to_vec();
    if name.len() + 1 + extension.len() > LONGEST {
        let digest = format!("~{:016x}", xxh3_64(whole.as_bytes()));
        name.truncate(LONGEST - 1 - extension.len() - digest.len());
        name.extend_from_slice(digest.as_bytes());
    }
    name.push(b'.');
    name.extend_from_slice(extension.as_bytes());
    OsString::from_vec(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(entries: &[&str], naming: Naming) -> Vec<String> {
        let pictures = ["jpg", "png", "JPG"];
        let entries: Vec<(&OsStr, Option<&str>)> = entries
            .iter()
            .map(|name| {
                let sample = pictures.iter().any(|end| name.ends_with(end)).then_some("npy");
                (OsStr::new(*name), sample)
            })
            .collect();
        let names = served_names(&entries, naming);
        names.into_iter().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_sample_changes_its_extension_and_other_files_keep_it() {
        assert_eq!(
            named(&["a.jpg", "b.2.png", "c.csv"], Naming::Replace),
            ["a.npy", "b.2.npy", "c.csv"]
        );
        assert_eq!(named(&["a.jpg", "c.csv"], Naming::Append), ["a.jpg.npy", "c.csv"]);
    }

    #[test]
    fn names_that_would_collide_say_what_they_come_from() {
        assert_eq!(
            named(&["a.JPG", "a.jpg", "a.npy", "a.png", "b.png"], Naming::Replace),
            ["a.JPG.npy", "a.jpg.npy", "a.npy", "a.png.npy", "b.npy"]
        );
        assert_eq!(
            named(&["a.jpg", "a.jpg.npy", "a.npy"], Naming::Replace),
            ["a.jpg.npy.npy", "a.jpg.npy", "a.npy"]
        );
    }

    #[test]
    fn a_long_name_is_shortened_and_stays_its_own() {
        let long = |end: &str| format!("{}{end}.jpg", "x".repeat(250));
        let names = named(&[&long("a"), &long("b"), "y.jpg"], Naming::Append);
        assert!(names.iter().all(|name| name.len() <= LONGEST));
        assert_ne!(names[0], names[1]);
        assert!(names[0].ends_with(".npy"));
    }
}
