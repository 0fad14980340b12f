//! Lists of packs: they are gone by, they are never believed, and whatever happens to one it is made
//! again.

use std::mem;

use super::super::super::list::path_of;
use super::*;

/// Packs of one size, so that there is one.
const ONE_PACK: Tuning = Tuning { pack_bytes: 1 << 30, ..QUICK };

fn open_one(folder: &TempDir) -> DiskCache {
    DiskCache::open_on(Arc::new(OsDisk), options(folder.path()), ONE_PACK).unwrap()
}

/// A pack of some entries, closed; where it and its list are.
fn filled(folder: &TempDir, entries: usize) -> (PathBuf, PathBuf) {
    let cache = open_one(folder);
    assert!((1..=entries).all(|n| put(&cache, n)));
    drop(cache);
    let pack = packs(folder).remove(0);
    let list = path_of(&pack);
    (pack, list)
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_cache_is_opened_by_its_lists() {
    let folder = TempDir::new().unwrap();
    let (pack, list) = filled(&folder, 20);
    // Reading through the pack would end here.
    flip(&pack, 0);
    let cache = open_one(&folder);
    assert_eq!(cache.status().entries, 20);
    assert!((2..=20).all(|n| holds(&cache, n)));
    assert!(!holds(&cache, 1) && put(&cache, 1) && holds(&cache, 1));
    assert!(list.exists());
}

#[test]
fn whatever_is_wrong_with_a_list_the_pack_is_read_and_the_list_is_made_again() {
    let folder = TempDir::new().unwrap();
    let (_, list) = filled(&folder, 20);
    let sound = fs::read(&list).unwrap();
    let other = TempDir::new().unwrap();
    let (_, of_other) = filled(&other, 19);
    let longer = TempDir::new().unwrap();
    let (_, of_longer) = filled(&longer, 21);
    let mut wrongs = vec![
        Vec::new(),
        b"junk".to_vec(),
        sound[..sound.len() / 2].to_vec(),
        [&sound[..], &[0; 36]].concat(),
        vec![0; sound.len()],
        fs::read(of_longer).unwrap(),
    ];
    for at in (0..sound.len()).step_by(11) {
        let mut wrong = sound.clone();
        wrong[at] ^= 0x40;
        wrongs.push(wrong);
    }
    for wrong in wrongs {
        fs::write(&list, &wrong).unwrap();
        let cache = open_one(&folder);
        assert!((1..=20).all(|n| holds(&cache, n)));
        assert_eq!(cache.status().entries, 20);
        assert_eq!(fs::read(&list).unwrap(), sound);
    }
    // One that ends sooner is right as far as it goes.
    fs::write(&list, fs::read(of_other).unwrap()).unwrap();
    assert!((1..=20).all(|n| holds(&open_one(&folder), n)));
    fs::remove_file(&list).unwrap();
    assert!((1..=20).all(|n| holds(&open_one(&folder), n)));
}

#[test]
fn a_list_of_what_is_not_in_the_pack_finds_nothing_wrong() {
    let folder = TempDir::new().unwrap();
    let (pack, _) = filled(&folder, 20);
    let other = TempDir::new().unwrap();
    let cache = open_one(&other);
    assert!((101..=150).all(|n| put(&cache, n)));
    drop(cache);
    // The list stays, the pack is another one, longer than the first.
    fs::copy(packs(&other).remove(0), &pack).unwrap();
    let cache = open_one(&folder);
    assert!((1..=20).all(|n| !holds(&cache, n)));
    assert!((101..=150).all(|n| holds(&cache, n)));
}

#[test]
fn a_pack_that_was_cut_is_found_though_its_list_says_more() {
    let folder = TempDir::new().unwrap();
    let (pack, _) = filled(&folder, 20);
    let whole = fs::read(&pack).unwrap();
    for len in (0..whole.len()).step_by(1009) {
        fs::write(&pack, &whole[..len]).unwrap();
        let cache = open_one(&folder);
        let mut end = 0;
        for n in 1..=20 {
            end += Header::of(&key(n), &[0; META_LEN], &body(n)).unwrap().record_len();
            assert_eq!(holds(&cache, n), end <= len as u64, "{n} at {len}");
        }
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_pack_that_its_first_reader_lists() {
    let folder = TempDir::new().unwrap();
    let cache = open_one(&folder);
    let tiny = |n: usize| (key(n), [n as u8; META_LEN], [n as u8]);
    for (key, meta, body) in (0..1500).map(tiny) {
        assert!(cache.put(&key, &meta, &body));
    }
    // No more is heard of it, as of one that was killed.
    mem::forget(cache);
    let (pack, list) = (packs(&folder).remove(0), path_of(&packs(&folder).remove(0)));
    assert!(!list.exists());
    assert_eq!(open_one(&folder).status().entries, 1500);
    assert!(list.exists());
    flip(&pack, 0);
    assert_eq!(open_one(&folder).status().entries, 1500);
}

#[test]
fn a_long_pack_is_listed_while_it_is_written() {
    let folder = TempDir::new().unwrap();
    let tuning = Tuning { pack_bytes: 64 << 10, ..QUICK };
    let cache = DiskCache::open_on(Arc::new(OsDisk), options(folder.path()), tuning).unwrap();
    let mut n = 0;
    let mut lengths = Vec::new();
    while packs(&folder).len() < 2 {
        assert!(put(&cache, n));
        n += 1;
        let list = path_of(&packs(&folder)[0]);
        lengths.extend(list.metadata().map(|about| about.len()));
    }
    lengths.dedup();
    assert!(lengths.len() >= 5, "{lengths:?}");
    // Of the second pack there is none yet: what is in it is found all the same.
    let onlooker = open(folder.path());
    assert!((0..n).all(|n| holds(&onlooker, n)));
}
