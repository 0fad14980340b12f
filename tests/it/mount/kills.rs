//! `kill -9` at work: nothing wrong is served after, and nothing that was finished is done again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use parbake::cache::{Care, Key};
use parking_lot::Mutex;

use super::bed::{Bed, FIXED};
use super::{DEADLINE, pictures, wait_for};

const SOURCES: usize = 60;

#[test]
fn a_mount_that_is_killed_while_it_fills_the_cache_goes_on_where_it_was() {
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    for n in 0..SOURCES {
        bed.write(&format!("{n}.png"), &pictures::png(300, 300, n as u64));
    }
    // Those that were read to the end before a kill.
    let done = Mutex::new(BTreeSet::new());
    for round in 1..=3 {
        bed.mount();
        for n in done.lock().iter() {
            assert_eq!(bed.read(&format!("{n}.npy")), bed.expected(&format!("{n}.png"), 0));
        }
        assert_eq!(bed.count("miss"), 0, "round {round}: something finished was made again");
        let first = done.lock().last().map_or(0, |last| last + 1);
        let (next, killed) = (AtomicUsize::new(first), AtomicBool::new(false));
        let mountpoint = bed.mountpoint();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !killed.load(SeqCst) {
                        let n = next.fetch_add(1, SeqCst);
                        // A quick machine leaves some for the next round.
                        if n >= first + SOURCES / 4 {
                            break;
                        }
                        if std::fs::read(mountpoint.join(format!("{n}.npy"))).is_err() {
                            assert!(killed.load(SeqCst), "{n} can't be read");
                            break;
                        }
                        done.lock().insert(n);
                    }
                });
            }
            wait_for("some to be read", DEADLINE, || next.load(SeqCst) >= first + SOURCES / 5);
            killed.store(true, SeqCst);
            bed.kill();
        });
        assert!(done.lock().len() < SOURCES, "all were read before the kill");
        wait_for("the name to be cleared", DEADLINE, || !bed.is_mounted());
    }
    bed.mount();
    for n in 0..SOURCES {
        assert_eq!(bed.read(&format!("{n}.npy")), bed.expected(&format!("{n}.png"), 0));
    }
    assert!(bed.count("miss") <= (SOURCES - done.lock().len()) as u64);
    assert_eq!(bed.count("error"), 0);
}

/// What is in the cache: records, and keys that they are of.
fn records(bed: &Bed) -> (usize, usize) {
    let Some(care) = Care::of(&bed.cache()) else { return (0, 0) };
    let scanned = care.scan().unwrap();
    let keys: Vec<Key> =
        scanned.iter().flat_map(|pack| &pack.records).map(|record| record.key).collect();
    (keys.len(), keys.into_iter().collect::<BTreeSet<Key>>().len())
}

#[test]
fn a_mount_that_is_killed_forty_times_while_it_fills_loses_and_repeats_nothing() {
    const ROUNDS: usize = 40;
    const PER_ROUND: usize = 6;
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    let name = |n: usize| (format!("{n}.png"), format!("{n}.npy"));
    for n in 0..ROUNDS * PER_ROUND {
        bed.write(&name(n).0, &pictures::png(64, 64, n as u64));
    }
    let done = Mutex::new(BTreeSet::new());
    for round in 0..ROUNDS {
        bed.mount();
        let (next, killed) = (AtomicUsize::new(round * PER_ROUND), AtomicBool::new(false));
        let mountpoint = bed.mountpoint();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !killed.load(SeqCst) {
                        let n = next.fetch_add(1, SeqCst);
                        if n >= (round + 1) * PER_ROUND {
                            break;
                        }
                        if std::fs::read(mountpoint.join(name(n).1)).is_err() {
                            assert!(killed.load(SeqCst), "{n} can't be read");
                            break;
                        }
                        done.lock().insert(n);
                    }
                });
            }
            // Before, while and after the first one is made.
            std::thread::sleep(Duration::from_micros(round as u64 * 977 % 12_000));
            killed.store(true, SeqCst);
            bed.kill();
        });
        wait_for("the name to be cleared", DEADLINE, || !bed.is_mounted());
        let (records, keys) = records(&bed);
        assert_eq!(records, keys, "round {round}: something was made again");
        assert!(keys >= done.lock().len(), "round {round}: something that was read is lost");
    }
    assert!(done.lock().len() > ROUNDS, "only {} were read", done.lock().len());
    bed.mount();
    for n in 0..ROUNDS * PER_ROUND {
        assert_eq!(bed.read(&name(n).1), bed.expected(&name(n).0, 0));
    }
    assert!(bed.count("miss") <= (ROUNDS * PER_ROUND - done.lock().len()) as u64);
    assert_eq!(bed.count("error"), 0);
    assert_eq!(records(&bed), (ROUNDS * PER_ROUND, ROUNDS * PER_ROUND));
}
