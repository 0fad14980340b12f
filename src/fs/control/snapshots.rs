//! What the texts of `.parbake/` said: every making of one has an inode of its own, so that an
//! opening keeps what it began with, also where the kernel doesn't tell of openings.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{FILES, FIRST_FILE_AT};

/// A `stat` and the `open` after it are to tell the same: a text that is younger than this is not
/// made again.
const FRESH: Duration = Duration::from_secs(1);

/// The number of the first one: those before are what a listing calls the texts.
const FIRST_AT: u64 = FIRST_FILE_AT + FILES.len() as u64;

#[derive(Default)]
pub(super) struct Snapshots(Mutex<State>);

#[derive(Default)]
struct State {
    /// By number.
    known: HashMap<u64, Snapshot>,
    /// The last one of each text, by the text's place.
    last: HashMap<usize, (Instant, u64)>,
    made: u64,
}

struct Snapshot {
    text: Arc<[u8]>,
    /// How often it was found and not yet forgotten.
    found: u64,
}

impl Snapshots {
    /// The number of a snapshot of the text at that place, rendered now or a moment ago.
    pub(super) fn find(&self, at: usize, render: impl FnOnce() -> String) -> u64 {
        let fresh = |state: &mut State| {
            let (when, number) = *state.last.get(&at)?;
            let fresh = when.elapsed() < FRESH;
            let snapshot = state.known.get_mut(&number).filter(|_| fresh)?;
            snapshot.found += 1;
            Some(number)
        };
        if let Some(number) = fresh(&mut self.0.lock()) {
            return number;
        }
        let text: Arc<[u8]> = render().into_bytes().into();
        let mut state = self.0.lock();
        // Another may have been faster.
        if let Some(number) = fresh(&mut state) {
            return number;
        }
        let number = FIRST_AT + state.made;
        state.made += 1;
        state.known.insert(number, Snapshot { text, found: 1 });
        if let Some((_, before)) = state.last.insert(at, (Instant::now(), number)) {
            state.drop_if_unknown(before);
        }
        number
    }

    pub(super) fn text(&self, number: u64) -> Option<Arc<[u8]>> {
        self.0.lock().known.get(&number).map(|snapshot| Arc::clone(&snapshot.text))
    }

    /// Takes back that a snapshot was found so many times.
    pub(super) fn forget(&self, number: u64, times: u64) {
        let mut state = self.0.lock();
        if let Some(snapshot) = state.known.get_mut(&number) {
            snapshot.found = snapshot.found.saturating_sub(times);
        }
        if !state.last.values().any(|(_, last)| *last == number) {
            state.drop_if_unknown(number);
        }
    }
}

impl State {
    fn drop_if_unknown(&mut self, number: u64) {
        if self.known.get(&number).is_some_and(|snapshot| snapshot.found == 0) {
            self.known.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_stays_until_everybody_has_forgotten_it() {
        let snapshots = Snapshots::default();
        let first = snapshots.find(0, || "one".into());
        assert_eq!(snapshots.find(0, || "not made again".into()), first);
        let other = snapshots.find(1, || "other".into());
        assert_ne!(first, other);
        snapshots.0.lock().last.clear();
        let second = snapshots.find(0, || "two".into());
        assert_eq!(snapshots.text(first).as_deref(), Some(b"one".as_slice()));
        snapshots.forget(first, 1);
        assert!(snapshots.text(first).is_some());
        snapshots.forget(first, 1);
        assert!(snapshots.text(first).is_none());
        // The last one is kept for who comes within the second.
        snapshots.forget(second, 1);
        assert_eq!(snapshots.text(second).as_deref(), Some(b"two".as_slice()));
    }
}
