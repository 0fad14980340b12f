//! What only the inside can arrange: small packs, no waiting, disks that stop or fail.

mod care;
mod faulty;
mod full;
mod lists;
mod room;
mod sweep;

use std::fs;

use tempfile::TempDir;

use super::super::META_LEN;
use super::*;
use faulty::Faulty;

/// Small packs, and no waiting for anything.
const QUICK: Tuning = Tuning {
    pack_bytes: 8 << 10,
    look_every: std::time::Duration::ZERO,
    look_share: 0,
    rest: std::time::Duration::ZERO,
};

fn options(path: &Path) -> Options {
    Options { path: path.to_path_buf(), limit: u64::MAX, min_free: 0, policy: Policy::Keep }
}

/// One that doesn't see what others write after it was opened.
fn open_blind(path: &Path) -> DiskCache {
    let tuning = Tuning { look_every: std::time::Duration::from_secs(3600), ..QUICK };
    DiskCache::open_on(Arc::new(OsDisk), options(path), tuning).unwrap()
}

fn open(path: &Path) -> DiskCache {
    DiskCache::open_on(Arc::new(OsDisk), options(path), QUICK).unwrap()
}

fn key(n: usize) -> Key {
    let mut key = [0; Key::LEN];
    key[..8].copy_from_slice(&(n as u64).to_le_bytes());
    Key(key)
}

/// Bodies of 0 to 3000 bytes, of many remainders by the record's alignment.
fn body(n: usize) -> Vec<u8> {
    (0..(n * 777) % 3001).map(|i| ((i + n) % 251) as u8).collect()
}

fn put(cache: &DiskCache, n: usize) -> bool {
    cache.put(&key(n), &[n as u8; META_LEN], &body(n))
}

/// Whether an entry is there; that it is right goes without saying.
fn holds(cache: &DiskCache, n: usize) -> bool {
    let meta = cache.meta(&key(n));
    let entry = cache.get(&key(n));
    assert!(meta.is_none_or(|meta| meta == [n as u8; META_LEN]), "another meta under {n}");
    let right = |entry: &Entry| (entry.meta, &*entry.body) == ([n as u8; META_LEN], &*body(n));
    assert!(entry.as_ref().is_none_or(right), "another entry under {n}");
    entry.is_some()
}

/// The packs in a cache's folder.
fn packs(folder: &TempDir) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder.path().join(FOLDER).join(PACKS)).unwrap();
    listed.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn packs_are_made_when_needed_and_rolled_when_long() {
    let folder = TempDir::new().unwrap();
    let cache = open(folder.path());
    assert_eq!(packs(&folder).len(), 0);
    assert!((1..=20).all(|n| put(&cache, n)));
    let lengths: Vec<u64> = packs(&folder).iter().map(|p| p.metadata().unwrap().len()).collect();
    assert!(lengths.len() > 2 && lengths.iter().all(|len| *len <= QUICK.pack_bytes), "{lengths:?}");
    assert_eq!(cache.status().bytes, lengths.iter().sum::<u64>());
    assert!((1..=20).all(|n| holds(&cache, n)));
}

#[test]
fn more_packs_than_may_be_open_are_all_read() {
    let folder = TempDir::new().unwrap();
    let tuning = Tuning { pack_bytes: 1, ..QUICK };
    let cache = DiskCache::open_on(Arc::new(OsDisk), options(folder.path()), tuning).unwrap();
    assert!((0..300).all(|n| put(&cache, n)));
    assert_eq!(packs(&folder).len(), 300);
    for cache in [cache, open(folder.path())] {
        assert!((0..300).all(|n| holds(&cache, n)));
        assert_eq!(cache.status().entries, 300);
    }
}

#[test]
fn a_record_that_is_being_written_is_found_when_it_is_whole() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let writer = open(other.path());
    assert!((1..4).all(|n| put(&writer, n)));
    let whole = fs::read(&packs(&other)[0]).unwrap();
    let cache = open(folder.path());
    let growing = folder.path().join(FOLDER).join(PACKS).join("growing.pack");
    for len in (0..=whole.len()).step_by(whole.len() / 97).chain([whole.len()]) {
        fs::write(&growing, &whole[..len]).unwrap();
        let mut ends = 0;
        for n in 1..4 {
            ends += Header::of(&key(n), &[0; META_LEN], &body(n)).unwrap().record_len();
            assert_eq!(holds(&cache, n), ends <= len as u64, "{n} at {len}");
        }
    }
}

#[test]
fn a_pack_that_was_cut_back_is_read_anew_from_its_start() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let writer = open(other.path());
    assert!((1..4).all(|n| put(&writer, n)));
    let bytes = fs::read(&packs(&other)[0]).unwrap();
    let first = Header::of(&key(1), &[0; META_LEN], &body(1)).unwrap().record_len() as usize;
    let cache = open(folder.path());
    let pack = folder.path().join(FOLDER).join(PACKS).join("cut.pack");
    fs::write(&pack, &bytes).unwrap();
    assert!((1..4).all(|n| holds(&cache, n)));
    fs::write(&pack, &bytes[..first]).unwrap();
    assert!(holds(&cache, 1) && !holds(&cache, 2) && !holds(&cache, 3) && !holds(&cache, 4));
    fs::write(&pack, &bytes).unwrap();
    assert!((1..4).all(|n| holds(&cache, n)));
}

#[test]
fn threads_that_put_the_same_entry_at_once_write_it_once() {
    let folder = TempDir::new().unwrap();
    let cache = open(folder.path());
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 1..100 {
                    start.wait();
                    assert!(put(&cache, n));
                }
            });
        }
    });
    let len = |n| Header::of(&key(n), &[0; META_LEN], &body(n)).unwrap().record_len();
    assert_eq!(cache.status().bytes, (1..100).map(len).sum::<u64>());
}

#[test]
fn a_pack_that_is_deleted_under_its_writer_is_given_up() {
    let folder = TempDir::new().unwrap();
    let cache = open(folder.path());
    assert!(put(&cache, 1));
    fs::remove_dir_all(folder.path().join(FOLDER).join(PACKS)).unwrap();
    assert!(!holds(&cache, 2));
    assert!(put(&cache, 2));
    assert!(!holds(&cache, 3));
    assert!(!holds(&cache, 1));
    assert!(put(&cache, 1) && holds(&cache, 1));
    let cache = open(folder.path());
    assert!(holds(&cache, 1) && holds(&cache, 2));
}

#[test]
fn the_limit_counts_what_others_wrote() {
    let folder = TempDir::new().unwrap();
    let limited = Options { limit: 20_000, ..options(folder.path()) };
    let cache = DiskCache::open_on(Arc::new(OsDisk), limited, QUICK).unwrap();
    let other = open(folder.path());
    assert!(put(&cache, 1));
    assert!((2..30).all(|n| put(&other, n)));
    assert!(!holds(&cache, 100));
    assert!(!put(&cache, 100));
    assert!((1..30).all(|n| holds(&cache, n)));
}

#[test]
fn what_is_to_stay_free_stays_free() {
    let folder = TempDir::new().unwrap();
    let disk = Arc::new(Faulty::with_free_bytes(10_000));
    let floor = Options { min_free: 6_000, ..options(folder.path()) };
    let cache = DiskCache::open_on(Arc::clone(&disk) as Arc<dyn Disk>, floor, QUICK).unwrap();
    let kept = (1..50).filter(|n| put(&cache, *n)).count();
    assert!(kept >= 1 && disk.free_bytes() >= 6_000, "{kept} kept, {} free", disk.free_bytes());
    disk.make_room(1_000_000);
    assert!((1..50).all(|n| put(&cache, n)));
}

#[test]
fn a_cache_that_was_refused_rests_before_it_tries_again() {
    let folder = TempDir::new().unwrap();
    let disk = Arc::new(Faulty::with_free_bytes(0));
    let tuning = Tuning { rest: std::time::Duration::from_secs(3600), ..QUICK };
    let shared = Arc::clone(&disk) as Arc<dyn Disk>;
    let cache = DiskCache::open_on(shared, options(folder.path()), tuning).unwrap();
    assert!(!put(&cache, 1));
    disk.make_room(1_000_000);
    assert!(!put(&cache, 1));
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = DiskCache::open(options(&file)).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("cannot use the cache folder {}/{FOLDER}", file.display())
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn the_folder_is_tagged_and_a_torn_tag_is_written_anew() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FOLDER).join(TAG);
    for damage in ["", "Signature: 8a47"] {
        open(folder.path());
        assert_eq!(fs::read_to_string(&path).unwrap(), TAG_TEXT);
        fs::write(&path, damage).unwrap();
    }
    open(folder.path());
    assert_eq!(fs::read_to_string(&path).unwrap(), TAG_TEXT);
}

#[test]
fn a_second_record_saves_a_key_whose_first_is_damaged() {
    let folder = TempDir::new().unwrap();
    let caches = [open_blind(folder.path()), open_blind(folder.path())];
    assert!(caches.iter().all(|cache| put(cache, 1)));
    let paths = packs(&folder);
    assert_eq!(paths.len(), 2);
    for path in paths {
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[HEADER_LEN + 5] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(holds(&open(folder.path()), 1));
        fs::write(&path, whole).unwrap();
    }
}
