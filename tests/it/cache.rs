//! The promise of a cache, held from outside: the entry that was put, or nothing.

mod damage;
mod golden;
mod kill;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parbake::cache::{Cache, DiskCache, Key, META_LEN, MemoryCache, Meta, Options, Policy};
use tempfile::TempDir;

fn open(path: &Path) -> DiskCache {
    open_with(path, u64::MAX)
}

fn open_with(path: &Path, limit: u64) -> DiskCache {
    let policy = Policy::Keep;
    DiskCache::open(Options { path: path.to_path_buf(), limit, min_free: 0, policy })
        .expect("the folder can be used")
}

/// Entry number `n` of the tests: keys that share most of their bytes, bodies of many lengths.
fn entry(n: u32) -> (Key, Meta, Vec<u8>) {
    let mut key = [0; Key::LEN];
    key[28..].copy_from_slice(&n.to_le_bytes());
    let len = (n as usize * 7919) % 20_000;
    (Key(key), [n as u8; META_LEN], (0..len).map(|i| ((i + n as usize) % 251) as u8).collect())
}

fn put(cache: &dyn Cache, n: u32) -> bool {
    let (key, meta, body) = entry(n);
    cache.put(&key, &meta, &body)
}

/// Whether entry `n` is there; that it is right goes without saying.
fn holds(cache: &dyn Cache, n: u32) -> bool {
    let (key, meta, body) = entry(n);
    assert!(cache.meta(&key).is_none_or(|found| found == meta), "another meta under {n}");
    let found = cache.get(&key);
    if let Some(found) = &found {
        assert!(found.meta == meta && *found.body == *body, "another entry under {n}");
    }
    found.is_some()
}

/// The packs of a cache, sorted.
fn packs(folder: &Path) -> Vec<PathBuf> {
    let listed = folder.join("parbake-v1/packs").read_dir().expect("a cache was opened there");
    let mut packs: Vec<PathBuf> = listed.map(|entry| entry.expect("listed").path()).collect();
    packs.sort();
    packs
}

fn keeps_its_promise(cache: &dyn Cache) {
    assert_eq!(cache.status().entries, 0);
    assert!(!holds(cache, 1), "something is in an empty cache");
    for n in 0..200 {
        assert!(put(cache, n));
        assert!(holds(cache, n));
        assert!(!holds(cache, n + 1));
    }
    let before = cache.status();
    assert_eq!(before.entries, 200);
    assert!(before.bytes > 1_000_000 && before.bytes <= before.limit);
    assert!((0..200).all(|n| put(cache, n)), "what is here already counts as kept");
    assert_eq!(cache.status(), before);
    cache.forget_pages();
    assert!((0..200).all(|n| holds(cache, n)));

    let (key, meta, _) = entry(1000);
    assert!(cache.put(&key, &meta, b""));
    assert_eq!(cache.get(&key).map(|entry| entry.body.len()), Some(0));
}

#[test]
fn a_disk_cache_keeps_its_promise() {
    let folder = TempDir::new().unwrap();
    keeps_its_promise(&open(folder.path()));
    let again = open(folder.path());
    assert!((0..200).all(|n| holds(&again, n)));
    assert_eq!(again.status().entries, 201);
}

#[test]
fn a_memory_cache_keeps_its_promise() {
    keeps_its_promise(&MemoryCache::new());
}

#[test]
fn two_caches_on_one_folder_see_each_others_entries() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (open(folder.path()), open(folder.path()));
    for n in 0..3 {
        let (writer, reader) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
        assert!(put(writer, n));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !holds(reader, n) {
            assert!(Instant::now() < deadline, "{n} isn't seen by the other");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(packs(folder.path()).len(), 2);
}

#[test]
fn eight_threads_put_and_get_at_once() {
    let folder = TempDir::new().unwrap();
    let cache = open(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let cache = &cache;
            scope.spawn(move || {
                for i in 0..400 {
                    // Every thread in an order of its own; 400 and 7, 11, … have no common factor.
                    let n = (i * [7, 11, 13, 17, 19, 23, 29, 31][thread]) % 400;
                    assert!(holds(cache, n) || put(cache, n));
                    assert!(holds(cache, n));
                }
            });
        }
    });
    assert_eq!(cache.status().entries, 400);
    let again = open(folder.path());
    assert!((0..400).all(|n| holds(&again, n)));
    // Nothing was written twice.
    assert_eq!(again.status(), cache.status());
}

#[test]
fn the_limit_is_held_to_within_one_record() {
    for limit in [0, 100, 50_000, 1_000_000] {
        let folder = TempDir::new().unwrap();
        let cache = open_with(folder.path(), limit);
        let refused = (1..200).find(|n| !put(&cache, *n)).expect("200 entries are over the limit");
        let held: u64 = packs(folder.path()).iter().map(|p| p.metadata().unwrap().len()).sum();
        assert!(held <= limit && held + 20_000 + 192 > limit, "{held} of {limit}");
        assert_eq!(cache.status().bytes, held);
        assert!((1..refused).all(|n| holds(&cache, n) && put(&cache, n)));
        assert!(!holds(&cache, refused));
    }
}
