//! A full cache: what goes, what stays, and how far several writers go beyond the limit.

use super::super::super::users::USERS;
use super::*;

const OLD: Kind = Kind(1);
const NEW: Kind = Kind(2);

/// Packs of 8 KiB, a limit of some 20 of them.
const LIMIT: u64 = 160 << 10;

fn open_with(folder: &TempDir, policy: Policy) -> DiskCache {
    let options = Options { limit: LIMIT, policy, ..options(folder.path()) };
    DiskCache::open_on(Arc::new(OsDisk), options, QUICK).unwrap()
}

fn put_as(cache: &DiskCache, kind: Kind, n: usize) -> bool {
    cache.put_as(kind, &key(n), &[n as u8; META_LEN], &body(n))
}

/// Puts entries until one is refused, or very many were kept; gives those that were.
fn fill(cache: &DiskCache, kind: Kind, first: usize) -> Vec<usize> {
    (first..first + 500).take_while(|n| put_as(cache, kind, *n)).collect()
}

fn held(folder: &TempDir) -> u64 {
    packs(folder).iter().map(|pack| pack.metadata().unwrap().len()).sum()
}

fn users(folder: &TempDir, end: &str) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder.path().join(FOLDER).join(USERS)).unwrap();
    let paths = listed.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == end)).collect()
}

#[test]
fn what_no_user_has_use_for_goes_when_the_limit_is_reached_and_nothing_else_does() {
    let folder = TempDir::new().unwrap();
    let cache = open_with(&folder, Policy::Keep);
    cache.used_by("config", &[OLD]);
    let old = fill(&cache, OLD, 0);
    assert!(old.len() > 50 && !put_as(&cache, OLD, 1000));
    drop(cache);

    // The config has changed: of what it kept there is no use.
    let cache = open_with(&folder, Policy::Keep);
    cache.used_by("config", &[NEW]);
    let new = fill(&cache, NEW, 1000);
    assert!(new.len() > 50 && new.len() < 500, "{} of {}", new.len(), old.len());
    assert!(new.iter().all(|n| holds(&cache, *n)), "what is of use was dropped");
    assert!(old.iter().all(|n| !holds(&cache, *n)), "what is of no use is there");
    assert!(held(&folder) <= LIMIT);
}

#[test]
fn what_a_config_or_a_living_process_has_use_for_stays() {
    for by_name in [true, false] {
        let folder = TempDir::new().unwrap();
        let first = open_with(&folder, Policy::Keep);
        first.used_by("first", &[OLD]);
        let old = fill(&first, OLD, 0);
        let _alive = if by_name {
            drop(first);
            None
        } else {
            // Its config was changed while it lives.
            open_with(&folder, Policy::Keep).used_by("first", &[NEW]);
            Some(first)
        };
        let second = open_with(&folder, Policy::Keep);
        second.used_by("second", &[NEW]);
        assert!(fill(&second, NEW, 1000).len() < 10);
        assert!(old.iter().all(|n| holds(&second, *n)));
    }
}

#[test]
fn a_process_that_was_killed_has_no_use_for_anything_after_a_while() {
    let folder = TempDir::new().unwrap();
    let killed = open_with(&folder, Policy::Keep);
    killed.used_by("config", &[OLD]);
    assert!(fill(&killed, OLD, 0).len() > 50);
    let live = users(&folder, "live").remove(0);
    let text = fs::read(&live).unwrap();
    drop(killed);
    assert!(users(&folder, "live").is_empty(), "one that ends well leaves nothing");
    fs::write(&live, text).unwrap();
    let age = |seconds| {
        let then = fs::metadata(&live).unwrap().modified().unwrap() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(&live).unwrap().set_modified(then).unwrap();
    };
    age(30);
    let cache = open_with(&folder, Policy::Keep);
    cache.used_by("config", &[NEW]);
    assert!(fill(&cache, NEW, 1000).len() < 10);
    age(200);
    assert!(fill(&cache, NEW, 1000).len() > 50);
}

#[test]
fn nothing_goes_while_it_is_not_known_what_is_of_use() {
    let folder = TempDir::new().unwrap();
    let cache = open_with(&folder, Policy::Keep);
    cache.used_by("config", &[OLD]);
    let old = fill(&cache, OLD, 0);
    drop(cache);
    let cache = open_with(&folder, Policy::Keep);
    // It hasn't said what for.
    assert!(fill(&cache, NEW, 1000).len() < 10);
    cache.used_by("config", &[NEW]);
    fs::write(folder.path().join(FOLDER).join(USERS).join("x.config"), "?\n").unwrap();
    assert!(fill(&cache, NEW, 1000).len() < 10);
    assert!(old.iter().all(|n| holds(&cache, *n)));
}

#[test]
fn entries_that_nobody_gave_a_kind_stay() {
    let folder = TempDir::new().unwrap();
    let cache = open_with(&folder, Policy::Keep);
    let old = fill(&cache, Kind::UNKNOWN, 0);
    cache.used_by("config", &[NEW]);
    assert!(fill(&cache, NEW, 1000).len() < 10);
    assert!(old.iter().all(|n| holds(&cache, *n)));
}

#[test]
fn with_lru_a_full_cache_goes_on_and_what_was_used_last_stays() {
    let folder = TempDir::new().unwrap();
    let cache = open_with(&folder, Policy::Lru);
    cache.used_by("config", &[OLD]);
    let mut last = Vec::new();
    for n in 0..500 {
        assert!(put_as(&cache, OLD, n), "{n}");
        assert!(held(&folder) <= LIMIT);
        last.push(n);
        // Times of files are coarse.
        if n % 50 == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let there: Vec<usize> = last.iter().copied().filter(|n| holds(&cache, *n)).collect();
    assert!(there.len() > 60 && there.len() < 200, "{}", there.len());
    assert!((490..500).all(|n| there.contains(&n)));
    assert!(!there.contains(&0));

    // What is read is used: of the packs of this kind, it is the last to go.
    let first = there[0];
    drop(cache);
    std::thread::sleep(Duration::from_millis(20));
    let cache = open_with(&folder, Policy::Lru);
    assert!(holds(&cache, first));
    assert!((1000..1030).all(|n| put_as(&cache, OLD, n)));
    assert!(holds(&cache, first));
    assert!(!there.iter().all(|n| holds(&cache, *n)));
}

#[test]
fn many_writers_together_stay_within_the_limit_and_one_pack() {
    let folder = TempDir::new().unwrap();
    // Each may write one record more for which it just saw room, 3,200 bytes at most: a pack is larger
    // than all of these together, as it always is outside of tests.
    let tuning = Tuning { pack_bytes: 32 << 10, ..QUICK };
    let open = |_| {
        let options = Options { limit: LIMIT, ..options(folder.path()) };
        DiskCache::open_on(Arc::new(OsDisk), options, tuning).unwrap()
    };
    let caches: Vec<DiskCache> = (0..8).map(open).collect();
    std::thread::scope(|scope| {
        for (at, cache) in caches.iter().enumerate() {
            scope.spawn(move || fill(cache, OLD, at * 1000));
        }
    });
    let held = held(&folder);
    assert!(held <= LIMIT + tuning.pack_bytes && held > LIMIT * 8 / 10, "{held} of {LIMIT}");
}

#[test]
fn a_disk_that_fails_while_room_is_made_costs_no_wrong_byte() {
    for at in 0.. {
        let folder = TempDir::new().unwrap();
        let cache = open_with(&folder, Policy::Keep);
        cache.used_by("config", &[OLD]);
        fill(&cache, OLD, 0);
        drop(cache);
        let fault = faulty::Fault { at, times: 3, errno: nix::Error::EIO, tear: 1 };
        let disk = Arc::new(Faulty::new(fault));
        let shared = Arc::clone(&disk) as Arc<dyn Disk>;
        let limited = Options { limit: LIMIT, ..options(folder.path()) };
        let Ok(cache) = DiskCache::open_on(shared, limited, QUICK) else { continue };
        cache.used_by("config", &[NEW]);
        let kept: Vec<usize> = (1000..1012).filter(|n| put_as(&cache, NEW, *n)).collect();
        for cache in [cache, open(folder.path())] {
            assert!(kept.iter().all(|n| holds(&cache, *n)));
            (0..1020).for_each(|n| _ = holds(&cache, n));
        }
        assert!(held(&folder) <= LIMIT + QUICK.pack_bytes);
        if !disk.was_hit() {
            break;
        }
    }
}
