//! `kill -9` at work: nothing wrong is served after, and nothing that was finished is done again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use super::bed::{Bed, FIXED};
use super::{DEADLINE, pictures, wait_for};

const SOURCES: usize = 60;

#[test]
fn a_mount_that_is_killed_while_it_fills_the_cache_goes_on_where_it_was() {
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    for n in 0..SOURCES {
        bed.write(&format!("{n}.png"), &pictures::png(300, 300, n as u64));
    }
    let mut done = 0;
    for round in 1..=3 {
        bed.mount();
        // Those before were read to the end before the kill: they are not decoded again.
        for n in 0..done {
            assert_eq!(bed.read(&format!("{n}.npy")), bed.expected(&format!("{n}.png"), 0));
        }
        assert_eq!(bed.count("miss"), 0, "round {round}: something finished was made again");
        let (next, read, killed) =
            (AtomicUsize::new(done), AtomicUsize::new(done), AtomicBool::new(false));
        let mountpoint = bed.mountpoint();
        let until = done + 12;
        std::thread::scope(|scope| {
            // In order, two at a time, so that all below `read - 1` are done.
            for _ in 0..2 {
                scope.spawn(|| {
                    while !killed.load(SeqCst) {
                        let n = next.fetch_add(1, SeqCst);
                        if std::fs::read(mountpoint.join(format!("{n}.npy"))).is_err() {
                            assert!(killed.load(SeqCst) || n >= SOURCES, "{n} can't be read");
                            break;
                        }
                        read.fetch_add(1, SeqCst);
                    }
                });
            }
            wait_for("some to be read", DEADLINE, || read.load(SeqCst) >= until);
            killed.store(true, SeqCst);
            bed.kill();
        });
        done = read.load(SeqCst).saturating_sub(2);
        assert!(done < SOURCES, "all were read before the kill");
        wait_for("the name to be cleared", DEADLINE, || !bed.is_mounted());
    }
    bed.mount();
    for n in 0..SOURCES {
        assert_eq!(bed.read(&format!("{n}.npy")), bed.expected(&format!("{n}.png"), 0));
    }
    assert!(bed.count("miss") <= (SOURCES - done) as u64);
    assert_eq!(bed.count("error"), 0);
}
