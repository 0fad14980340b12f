//! How many samples are made at once, without anyone waiting for a turn.
//!
//! Work runs on the thread that brings it as long as fewer than the allowed number do so: no
//! hand-over, no wake-up. Beyond that it is put down, and whoever finishes first takes it up. So
//! with one thread more than turns, one is always free to answer what needs no making.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

type Work = Box<dyn FnOnce() + Send>;

/// A bound on how much work runs at once.
pub struct Turns {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: VecDeque<Work>,
}

impl Turns {
    /// At most `most` pieces of work at once.
    ///
    /// # Panics
    /// If `most` is 0.
    pub fn new(most: usize) -> Turns {
        assert!(most > 0, "no turn is ever to be had");
        Turns { most, state: Mutex::default() }
    }

    /// Runs `work` here and now, or leaves it to a thread that is running work. Returns when this
    /// thread has nothing left to run.
    pub fn take(&self, work: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.state.lock();
            if state.running == self.most {
                state.waiting.push_back(Box::new(work));
                return;
            }
            state.running += 1;
        }
        run(work);
        loop {
            let mut state = self.state.lock();
            let Some(work) = state.waiting.pop_front() else {
                state.running -= 1;
                return;
            };
            drop(state);
            run(work);
        }
    }
}

/// A panic costs the work it happened in, never the turn.
fn run(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        log::error!("a piece of work panicked; whoever asked for it gets an I/O error");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_than_the_most_run_at_once_and_everything_runs() {
        let turns = Turns::new(2);
        let (now, peak, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let counts = Arc::new((now, peak, done));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let counts = Arc::clone(&counts);
                        turns.take(move || {
                            counts.1.fetch_max(counts.0.fetch_add(1, SeqCst) + 1, SeqCst);
                            std::thread::sleep(Duration::from_micros(50));
                            counts.0.fetch_sub(1, SeqCst);
                            counts.2.fetch_add(1, SeqCst);
                        });
                    }
                });
            }
        });
        assert_eq!(counts.2.load(SeqCst), 200);
        assert!(counts.1.load(SeqCst) <= 2);
    }

    #[test]
    fn a_thread_too_many_is_not_held_up() {
        let turns = Arc::new(Turns::new(1));
        let (hold, held) = mpsc::channel::<()>();
        let (started, start) = mpsc::channel();
        let busy = Arc::clone(&turns);
        let thread = std::thread::spawn(move || {
            busy.take(move || {
                started.send(()).unwrap();
                held.recv().unwrap();
            });
        });
        start.recv().unwrap();
        let (ran, late) = mpsc::channel();
        turns.take(move || ran.send(()).unwrap());
        assert!(late.try_recv().is_err(), "it was to wait for the one turn");
        hold.send(()).unwrap();
        thread.join().unwrap();
        late.recv().unwrap();
    }

    #[test]
    fn a_panic_costs_no_turn() {
        let turns = Turns::new(1);
        turns.take(|| panic!("on purpose"));
        let (ran, after) = mpsc::channel();
        turns.take(move || ran.send(()).unwrap());
        after.recv().unwrap();
    }
}
