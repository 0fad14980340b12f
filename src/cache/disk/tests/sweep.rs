//! The promise at every operation: the disk is stopped, or fails, at write 0, 1, 2, … of a fixed
//! workload, until the workload runs through unharmed.

use super::*;
use faulty::{Fault, TEARS};

/// Entries of the workload: a few packs of them.
const ENTRIES: usize = 12;

/// Runs the workload for n = 0, 1, 2, … until the fault isn't met; gives the number of runs.
fn sweep(fault: impl Fn(usize) -> Fault, run: impl Fn(&TempDir, Arc<Faulty>)) -> usize {
    for n in 0.. {
        let folder = TempDir::new().unwrap();
        let disk = Arc::new(Faulty::new(fault(n)));
        run(&folder, Arc::clone(&disk));
        if !disk.was_hit() {
            return n;
        }
    }
    unreachable!("some run is longer than the workload")
}

fn open_on(disk: Arc<Faulty>, folder: &TempDir) -> io::Result<DiskCache> {
    DiskCache::open_on(disk, options(folder.path()), QUICK)
}

/// Puts every entry, with reads between; gives those that were kept.
fn work(cache: &DiskCache) -> Vec<usize> {
    let kept: Vec<usize> = (0..ENTRIES).filter(|n| put(cache, *n) && holds(cache, *n)).collect();
    for n in 0..ENTRIES {
        assert_eq!(holds(cache, n), kept.contains(&n), "{n} of kept {kept:?}");
    }
    kept
}

#[test]
fn a_cache_whose_disk_stopped_at_any_write_keeps_its_promise() {
    for tear in 0..TEARS {
        let stop = |at| Fault { at, times: usize::MAX, errno: nix::Error::EIO, tear };
        let runs = sweep(stop, |folder, disk| {
            let kept = open_on(disk, folder).map_or(Vec::new(), |cache| work(&cache));
            let again = open(folder.path());
            let found = (0..ENTRIES).filter(|n| holds(&again, *n)).count();
            assert!(kept.iter().all(|n| holds(&again, *n)), "what was kept is lost");
            // The one that was being written may be whole.
            assert!(found <= kept.len() + 1);
            assert!((0..ENTRIES).all(|n| put(&again, n)));
            for cache in [again, open(folder.path())] {
                assert!((0..ENTRIES).all(|n| holds(&cache, n)));
            }
        });
        assert!(runs > ENTRIES, "only {runs} writes were met");
    }
}

#[test]
fn a_cache_whose_disk_failed_at_any_write_reads_right_and_goes_on() {
    // Twice: the cut of the torn record fails too. Three times: so does the next pack's making.
    let failures = [(nix::Error::ENOSPC, 1), (nix::Error::EIO, 2), (nix::Error::ENOSPC, 3)];
    for (errno, times) in failures {
        for tear in 0..TEARS {
            let fail = |at| Fault { at, times, errno, tear };
            let runs = sweep(fail, |folder, disk| {
                let Ok(cache) = open_on(disk, folder) else { return };
                let onlooker = open(folder.path());
                let kept = work(&cache);
                assert!(kept.len() + times >= ENTRIES);
                assert!(kept.iter().all(|n| holds(&onlooker, *n)));
                // Failures that are left are met by the first of these.
                (0..times).for_each(|_| _ = put(&cache, ENTRIES));
                assert!((0..=ENTRIES).all(|n| put(&cache, n)));
                for cache in [cache, onlooker, open(folder.path())] {
                    assert!((0..ENTRIES).all(|n| holds(&cache, n)));
                }
            });
            assert!(runs > ENTRIES, "only {runs} writes were met");
        }
    }
}
