//! A cache folder that was written by the first build of its format: every later build must read
//! it, and write the same bytes.
//!
//! A new format gets a new folder beside it, made by `write_the_golden_cache` below:
//! `cargo test --test it -- --ignored write_the_golden_cache`.

use std::fs;

use parbake::cache::Kind;

use super::*;

/// Short bodies about the record's alignment, and an empty one.
const LENGTHS: [usize; 6] = [0, 1, 63, 64, 65, 300];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cache-v1")
}

fn golden_entry(len: usize) -> (Key, Meta, Vec<u8>) {
    let meta = std::array::from_fn(|i| (i + len) as u8);
    (Key([len as u8; Key::LEN]), meta, (0..len).map(|i| (i % 251) as u8).collect())
}

/// Puts the entries into a new cache in `folder`; gives the one pack and its bytes.
fn write(folder: &Path) -> (PathBuf, Vec<u8>) {
    let cache = open(folder);
    for (key, meta, body) in LENGTHS.map(golden_entry) {
        assert!(cache.put(&key, &meta, &body));
    }
    let pack = packs(folder).remove(0);
    let bytes = fs::read(&pack).expect("the pack is there");
    (pack, bytes)
}

#[test]
#[ignore = "writes the fixture, for a new format only"]
fn write_the_golden_cache() {
    assert!(!golden().exists(), "a golden cache stays as it is for ever");
    fs::create_dir_all(golden()).unwrap();
    let (pack, mut bytes) = write(&golden());
    // A torn tail, as a killed process leaves it: half of the last record's header.
    let header = bytes[..64].to_vec();
    bytes.extend(header);
    fs::remove_file(&pack).unwrap();
    fs::write(pack.with_file_name("0123456789abcdef.pack"), bytes).unwrap();
}

/// The kind of the entries in the pack that has an index.
const KIND: Kind = Kind(0x0123_4567_89ab_cdef);

/// Packs with an index and a kind in their names, both versions 1.
fn golden_indexed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cache-v1-index1")
}

/// Puts the entries into a new cache, as of a kind; gives the pack and its index.
fn write_indexed(folder: &Path) -> [PathBuf; 2] {
    let cache = open(folder);
    for (key, meta, body) in LENGTHS.map(golden_entry) {
        assert!(cache.put_as(KIND, &key, &meta, &body));
    }
    drop(cache);
    let pack = packs(folder).remove(0);
    let name = pack.file_stem().expect("a pack has a name").to_string_lossy().into_owned();
    [pack, folder.join(format!("parbake-v1/index/{name}.index"))]
}

const NAMES: [&str; 2] = [
    "packs/0123456789abcdef-0123456789abcdef.pack",
    "index/0123456789abcdef-0123456789abcdef.index",
];

#[test]
#[ignore = "writes the fixture, for a new version of the index only"]
fn write_the_golden_index() {
    assert!(!golden_indexed().exists(), "a golden cache stays as it is for ever");
    let folder = TempDir::new().unwrap();
    for (from, name) in write_indexed(folder.path()).iter().zip(NAMES) {
        let to = golden_indexed().join("parbake-v1").join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn the_golden_index_is_gone_by() {
    let folder = TempDir::new().unwrap();
    for name in NAMES {
        let to = folder.path().join("parbake-v1").join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(golden_indexed().join("parbake-v1").join(name), to).unwrap();
    }
    // Without the index, nothing would be found behind this.
    let pack = &packs(folder.path())[0];
    let mut bytes = fs::read(pack).unwrap();
    bytes[30] ^= 1;
    fs::write(pack, bytes).unwrap();
    let cache = open(folder.path());
    for (key, meta, body) in LENGTHS.map(golden_entry).into_iter().skip(1) {
        let found = cache.get(&key).expect("the entry is there");
        assert_eq!((found.meta, &*found.body), (meta, &*body));
    }
}

#[test]
fn the_golden_index_is_what_is_written() {
    let folder = TempDir::new().unwrap();
    for (file, name) in write_indexed(folder.path()).iter().zip(NAMES) {
        let golden = fs::read(golden_indexed().join("parbake-v1").join(name)).unwrap();
        assert_eq!(fs::read(file).unwrap(), golden, "{name}");
    }
}

#[test]
fn a_folder_of_another_format_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let other = folder.path().join("parbake-v2/packs");
    fs::create_dir_all(&other).unwrap();
    let pack = &packs(&golden())[0];
    fs::copy(pack, other.join("0123456789abcdef.pack")).unwrap();
    let cache = open(folder.path());
    assert_eq!(cache.status().entries, 0);
    assert!(put(&cache, 1) && holds(&cache, 1));
    assert_eq!(fs::read(other.join("0123456789abcdef.pack")).unwrap(), fs::read(pack).unwrap());
}

#[test]
fn the_golden_cache_is_read() {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join("parbake-v1/packs");
    fs::create_dir_all(&own).unwrap();
    for pack in packs(&golden()) {
        fs::copy(&pack, own.join(pack.file_name().unwrap())).unwrap();
    }
    let cache = open(folder.path());
    assert_eq!(cache.status().entries, LENGTHS.len() as u64);
    for (key, meta, body) in LENGTHS.map(golden_entry) {
        let found = cache.get(&key).expect("the entry is there");
        assert_eq!((cache.meta(&key), found.meta, &*found.body), (Some(meta), meta, &*body));
    }
}

#[test]
fn the_golden_cache_is_what_is_written() {
    let folder = TempDir::new().unwrap();
    let (_, bytes) = write(folder.path());
    let golden_bytes = fs::read(&packs(&golden())[0]).unwrap();
    assert!(golden_bytes.starts_with(&bytes));
    assert_eq!(golden_bytes.len(), bytes.len() + 64);
    let tag = |folder: &Path| fs::read(folder.join("parbake-v1/CACHEDIR.TAG")).unwrap();
    assert_eq!(tag(folder.path()), tag(&golden()));
}
