//! Looking after a cache: what is wanted stays, whatever is dropped and whatever stops it.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use super::super::super::care::{Care, Collected, Gc};
use super::super::super::contents::CONTENTS;
use super::super::super::list::LISTS;
use super::*;
use faulty::{Fault, TEARS};

const ENTRIES: usize = 24;

/// Every third entry is wanted.
fn wanted() -> impl Iterator<Item = usize> {
    (0..ENTRIES).step_by(3)
}

fn gc_of(
    disk: Arc<dyn Disk>,
    folder: &TempDir,
    share: f64,
    dry_run: bool,
) -> io::Result<Collected> {
    let keys: HashSet<Key> = wanted().map(key).collect();
    // In the year 2500.
    let quiet_since = SystemTime::UNIX_EPOCH + Duration::from_secs(530 * 365 * 86_400);
    let gc = Gc { wanted: &keys, share, quiet_since, notes: &[], dry_run };
    Care::on(disk, folder.path()).unwrap().gc_tuned(&gc, QUICK, |_, _| true)
}

fn gc(folder: &TempDir) -> Collected {
    gc_of(Arc::new(OsDisk), folder, 0.0, false).unwrap()
}

fn fill(folder: &TempDir) {
    let cache = open(folder.path());
    assert!((0..ENTRIES).all(|n| put(&cache, n)));
}

fn record_len_of(n: usize) -> u64 {
    Header::of(&key(n), &[0; META_LEN], &body(n)).unwrap().record_len()
}

#[test]
fn a_gc_that_is_stopped_at_any_write_loses_nothing_that_is_wanted() {
    for tear in 0..TEARS {
        let mut at = 0;
        loop {
            let folder = TempDir::new().unwrap();
            fill(&folder);
            let onlooker = open(folder.path());
            let stop = Fault { at, times: usize::MAX, errno: nix::Error::EIO, tear };
            let disk = Arc::new(Faulty::new(stop));
            let done = gc_of(Arc::clone(&disk) as Arc<dyn Disk>, &folder, 0.0, false);
            // Where only lists couldn't be written, all else is done.
            assert!(disk.was_hit() || done.is_ok(), "{done:?}");
            for cache in [&onlooker, &open(folder.path())] {
                assert!(wanted().all(|n| holds(cache, n)), "stopped at {at}: wanted and lost");
            }
            // What was there twice after the stop is there once after another run.
            gc(&folder);
            let after = open(folder.path());
            assert!((0..ENTRIES).all(|n| holds(&after, n) == (n % 3 == 0)));
            assert_eq!(after.status().bytes, wanted().map(record_len_of).sum::<u64>());
            assert!(wanted().all(|n| holds(&onlooker, n)));
            if !disk.was_hit() {
                break;
            }
            at += 1;
        }
        assert!(at > ENTRIES / 3, "only {at} writes were met");
    }
}

#[test]
fn a_dry_run_tells_what_would_be_done_and_does_nothing() {
    let folder = TempDir::new().unwrap();
    fill(&folder);
    let before = packs(&folder);
    let told = gc_of(Arc::new(OsDisk), &folder, 0.0, true).unwrap();
    assert_eq!(packs(&folder), before);
    assert_eq!(gc(&folder), told);
    assert_eq!(told.dropped, (ENTRIES - wanted().count()) as u64);
    let held: u64 = packs(&folder).iter().map(|pack| pack.metadata().unwrap().len()).sum();
    assert_eq!(told.bytes - told.freed, held);
}

#[test]
fn packs_with_little_garbage_are_left() {
    let folder = TempDir::new().unwrap();
    fill(&folder);
    let done = gc_of(Arc::new(OsDisk), &folder, 1.0, false).unwrap();
    // One in which nothing at all is wanted goes.
    assert_eq!((done.rewritten, done.removed > 0, done.left > 0), (0, true, true));
    assert_eq!(packs(&folder).len(), done.packs - done.removed);
    assert!(wanted().all(|n| holds(&open(folder.path()), n)));
}

#[test]
fn a_pack_that_is_written_to_is_left_alone_and_one_that_is_full_is_not() {
    let folder = TempDir::new().unwrap();
    let writer = open(folder.path());
    assert!((0..ENTRIES).all(|n| put(&writer, n)));
    let care = Care::of(folder.path()).unwrap();
    let in_use = || care.packs().unwrap().into_iter().filter(|pack| pack.in_use).count();
    assert!(packs(&folder).len() > 2);
    assert_eq!((in_use(), gc(&folder).in_use), (1, 1));
    assert!(put(&writer, ENTRIES) && holds(&open(folder.path()), ENTRIES));
    assert!(wanted().all(|n| holds(&writer, n)));
    drop(writer);
    assert_eq!(in_use(), 0);
    assert_eq!(gc(&folder).in_use, 0);
    assert!(!holds(&open(folder.path()), ENTRIES));
}

fn pack_written(folder: &TempDir) -> SystemTime {
    let written = |pack: &PathBuf| pack.metadata().unwrap().modified().unwrap();
    packs(folder).iter().map(written).min().unwrap()
}

#[test]
fn a_pack_that_was_just_written_is_left_alone() {
    let folder = TempDir::new().unwrap();
    fill(&folder);
    let keys = HashSet::new();
    let quiet_since = pack_written(&folder);
    let gc = Gc { wanted: &keys, share: 0.0, quiet_since, notes: &[], dry_run: false };
    let done = Care::of(folder.path()).unwrap().gc(&gc, |_, _| true).unwrap();
    assert_eq!((done.in_use, done.freed), (packs(&folder).len(), 0));
}

#[test]
fn of_two_records_of_a_key_gc_keeps_one_that_is_whole() {
    for damaged in [0, 1] {
        let folder = TempDir::new().unwrap();
        {
            let caches = [open_blind(folder.path()), open_blind(folder.path())];
            assert!(caches.iter().all(|cache| put(cache, 3)));
        }
        let mut paths = packs(&folder);
        paths.sort();
        let mut bytes = fs::read(&paths[damaged]).unwrap();
        bytes[HEADER_LEN + 5] ^= 1;
        fs::write(&paths[damaged], bytes).unwrap();
        assert_eq!(gc(&folder).dropped, 1);
        assert!(holds(&open(folder.path()), 3));
        assert_eq!(packs(&folder).len(), 1);
    }
}

#[test]
fn every_changed_byte_is_found_by_a_verification() {
    let folder = TempDir::new().unwrap();
    let cache = open(folder.path());
    assert!((1..=3).all(|n| put(&cache, n)));
    drop(cache);
    let pack = packs(&folder).remove(0);
    let whole = fs::read(&pack).unwrap();
    let care = Care::of(folder.path()).unwrap();
    let sound = care.verify(|_| true).unwrap();
    assert_eq!((sound.entries, sound.bytes), (3, whole.len() as u64));
    assert!(sound.damaged.is_empty() && sound.torn.is_empty());

    let starts: Vec<u64> = (1..=3).map(|n| (1..n).map(record_len_of).sum()).collect();
    for has_list in [true, false] {
        if !has_list {
            fs::remove_dir_all(folder.path().join(FOLDER).join(LISTS)).unwrap();
        }
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&pack, bytes).unwrap();
            let n = starts.iter().rposition(|start| *start <= at as u64).unwrap();
            let inside = at - starts[n] as usize;
            let found = care.verify(|_| true).unwrap();
            if inside >= HEADER_LEN + body(n + 1).len() {
                assert_eq!(found, sound, "padding");
                continue;
            }
            assert_eq!((found.damaged.len(), found.damaged[0].offset), (1, starts[n]), "byte {at}");
            // Behind a damaged header, only a list knows more.
            let entries = if inside < HEADER_LEN && !has_list { n as u64 } else { 2 };
            assert_eq!(found.entries, entries, "byte {at}");
        }
    }

    // A torn tail is no damage.
    for len in [whole.len() - 1, starts[2] as usize + 1, starts[2] as usize + HEADER_LEN] {
        fs::write(&pack, &whole[..len]).unwrap();
        let found = care.verify(|_| true).unwrap();
        assert_eq!((found.entries, found.damaged.len(), found.torn.len()), (2, 0, 1), "{len}");
    }
}

#[test]
fn gc_leaves_no_lists_behind() {
    let folder = TempDir::new().unwrap();
    fill(&folder);
    let lists = folder.path().join(FOLDER).join(LISTS);
    fs::write(lists.join("0123456789abcdef.index"), "of a pack that is gone").unwrap();
    fs::write(lists.join("0123456789abcdef.0123456789abcdef"), "begun").unwrap();
    let live = folder.path().join(FOLDER).join("users/0123456789abcdef.live");
    fs::create_dir(live.parent().unwrap()).unwrap();
    fs::write(&live, "").unwrap();
    gc(&folder);
    assert!(!live.exists());
    assert_eq!(fs::read_dir(&lists).unwrap().count(), packs(&folder).len());
}

#[test]
fn clearing_removes_the_cache_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    fill(&folder);
    open(folder.path()).leave_note("mine");
    let own = folder.path().join(FOLDER);
    let others = [own.join("notes.txt"), own.join(PACKS).join("other"), folder.path().join("x")];
    others.iter().for_each(|path| fs::write(path, "kept").unwrap());
    let cleared = Care::of(folder.path()).unwrap().clear().unwrap();
    assert!(cleared.freed > 1000 && !cleared.gone);
    assert!(others.iter().all(|path| path.exists()));
    assert!(!own.join(TAG).exists() && !own.join(CONTENTS).exists());
    fs::remove_file(&others[0]).unwrap();
    fs::remove_file(&others[1]).unwrap();
    assert!(Care::of(folder.path()).unwrap().clear().unwrap().gone);
    assert!(Care::of(folder.path()).is_none());
}

#[test]
fn a_folder_that_only_has_the_name_is_no_cache() {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join(FOLDER);
    assert!(Care::of(folder.path()).is_none());
    fs::create_dir(&own).unwrap();
    fs::write(own.join("thesis.tex"), "").unwrap();
    assert!(Care::of(folder.path()).is_none());
    fs::remove_dir_all(&own).unwrap();
    let elsewhere = TempDir::new().unwrap();
    fill(&elsewhere);
    std::os::unix::fs::symlink(elsewhere.path().join(FOLDER), &own).unwrap();
    assert!(Care::of(folder.path()).is_none());
}

#[test]
fn a_note_is_left_once_and_is_whole_or_not_there() {
    let notes = |folder: &TempDir| Care::of(folder.path()).unwrap().notes();
    for at in 0..4 {
        for tear in 0..TEARS {
            let folder = TempDir::new().unwrap();
            fill(&folder);
            let stop = Fault { at, times: usize::MAX, errno: nix::Error::EIO, tear };
            // Opening it makes the folder: that is the first write.
            if let Ok(cache) =
                DiskCache::open_on(Arc::new(Faulty::new(stop)), options(folder.path()), QUICK)
            {
                cache.leave_note("a text");
            }
            assert!(["a text".to_owned()].starts_with(&notes(&folder)));
            let cache = open(folder.path());
            cache.leave_note("a text");
            cache.leave_note("a text");
            cache.leave_note("other");
            let mut found = notes(&folder);
            found.sort();
            assert_eq!(found, ["a text", "other"]);
        }
    }
}
