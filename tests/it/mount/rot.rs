//! What happens to a cache on a bad disk: each kind of damage is noticed, said once, and what it took
//! is made again; what is read is right.

use std::fs;
use std::path::{Path, PathBuf};

use super::bed::{Bed, FIXED};
use super::pictures;

const SOURCES: usize = 12;

/// Bytes of a record's header, before its body.
const HEADER: usize = 128;

type Harm = fn(&Path);

fn only_file(folder: PathBuf) -> PathBuf {
    let files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    files[0].clone()
}

fn pack(cache: &Path) -> PathBuf {
    only_file(cache.join("parbake-v1/packs"))
}

fn index(cache: &Path) -> PathBuf {
    only_file(cache.join("parbake-v1/index"))
}

fn change(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Makes a record one of another version, with a right checksum.
fn of_version_9(record: &mut [u8]) {
    record[4] = 9;
    let sum = xxhash_rust::xxh3::xxh3_64(&record[..HEADER - 8]);
    record[HEADER - 8..HEADER].copy_from_slice(&sum.to_le_bytes());
}

fn no_index(cache: &Path) {
    fs::remove_dir_all(cache.join("parbake-v1/index")).unwrap();
}

/// What is done to the cache, how many entries it costs at least and at most, and how many warnings
/// there are.
const HARMS: &[(&str, Harm, [usize; 2], usize)] = &[
    ("nothing", |_| (), [0, 0], 0),
    ("a byte of a body", |cache| change(&pack(cache), |b| b[HEADER + 100] ^= 1), [1, 1], 1),
    ("a byte of a header", |cache| change(&pack(cache), |b| b[30] ^= 1), [1, 1], 1),
    ("a pack cut in the middle", |c| change(&pack(c), |b| b.truncate(b.len() / 2)), [1, 11], 1),
    ("a pack of nothing", |cache| change(&pack(cache), |b| b.clear()), [12, 12], 1),
    ("a pack of zeros", |cache| change(&pack(cache), |b| b.fill(0)), [12, 12], 1),
    ("no pack", |cache| fs::remove_file(pack(cache)).unwrap(), [12, 12], 1),
    // As a writer that was killed before it wrote one leaves it.
    ("no index", no_index, [0, 0], 0),
    ("a byte of the index", |cache| change(&index(cache), |b| b[50] ^= 1), [0, 0], 1),
    ("an index cut", |cache| change(&index(cache), |b| b.truncate(70)), [0, 0], 1),
    ("an index of another version", |cache| change(&index(cache), |b| b[4] = 9), [0, 0], 1),
    (
        "an index and a body",
        |cache| {
            change(&index(cache), |b| b[50] ^= 1);
            change(&pack(cache), |b| b[HEADER + 100] ^= 1);
        },
        [1, 1],
        2,
    ),
    ("a record of another version", |cache| change(&pack(cache), |b| of_version_9(b)), [1, 1], 1),
    (
        "a pack of another version, no index",
        |cache| {
            no_index(cache);
            change(&pack(cache), |b| of_version_9(b));
        },
        [12, 12],
        1,
    ),
];

#[test]
fn damage_of_any_kind_is_noticed_said_once_and_made_good() {
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    bed.threads = 1;
    let names: Vec<_> = (0..SOURCES).map(|n| (format!("{n}.png"), format!("{n}.npy"))).collect();
    for (n, (source, _)) in names.iter().enumerate() {
        bed.write(source, &pictures::png(60, 60 + n, n as u64));
    }
    let expected: Vec<Vec<u8>> = names.iter().map(|(name, _)| bed.expected(name, 0)).collect();
    let all_right = |bed: &Bed, what: &str| {
        for ((_, name), expected) in names.iter().zip(&expected) {
            assert!(bed.read(name) == *expected, "{what}: {name}");
        }
    };
    for (what, harm, [least, most], warnings) in HARMS {
        let cache = bed.cache();
        let _ = fs::remove_dir_all(&cache);
        let filled = bed.parbake(["materialize", "--threads", "1", "set.toml"]).output().unwrap();
        assert!(filled.status.success(), "{filled:?}");
        harm(&cache);
        let already_said = bed.log().len();
        bed.mount();
        all_right(&bed, what);
        let misses = bed.count("miss") as usize;
        assert!((*least..=*most).contains(&misses), "{what}: {misses} made again");
        let said = bed.log()[already_said..].to_owned();
        assert_eq!(said.matches("warning: ").count(), *warnings, "{what}: {said}");
        // It is made good: nothing is made once more.
        bed.remount();
        all_right(&bed, what);
        assert_eq!(bed.count("miss"), 0, "{what}: made once more");
        bed.send(nix::sys::signal::Signal::SIGTERM);
        bed.ended();
    }
}
