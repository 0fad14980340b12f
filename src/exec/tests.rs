//! One making at a time per key, and nothing that stays of it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;
use crate::source::DirSource;

#[test]
fn one_at_a_time_per_key_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let source = Arc::new(DirSource::open(folder.path()).unwrap());
    let exec = Executor::new(source, None, Vec::new(), 0);
    let inside = [const { AtomicUsize::new(0) }; 2];
    // Counted, not asserted in the threads: the others would wait for one that panicked.
    let (crowded, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(6);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (exec, inside, barrier) = (&exec, &inside[thread % 2], &barrier);
            let (crowded, left) = (&crowded, &left);
            let key = Key([thread as u8 % 2; Key::LEN]);
            scope.spawn(move || {
                for _ in 0..4000 {
                    barrier.wait();
                    exec.alone(key, || {
                        crowded.fetch_add(inside.fetch_add(1, SeqCst), SeqCst);
                        inside.fetch_sub(1, SeqCst);
                    });
                    // All are back: whoever was last took the key along.
                    barrier.wait();
                    left.fetch_add(exec.making.lock().len(), SeqCst);
                }
            });
        }
    });
    assert_eq!(crowded.into_inner(), 0, "two at once for one key");
    assert_eq!(left.into_inner(), 0, "keys are left behind");
}
