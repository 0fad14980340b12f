//! Which draw an opening of the plain tree gets.
//!
//! The first opening of a sample that is read gets draw 0, the next draw 1, and so on: each epoch
//! of a training loop sees a fresh one, however many workers it has, and no two openings share one.
//! An opening that ends before its last byte was read (`file`, an indexer, a reader that was
//! killed) hands its draw back, and the next opening gets it.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

/// The draws that were given, by sample.
#[derive(Default)]
pub(super) struct Draws(Mutex<HashMap<u64, Given>>);

#[derive(Default)]
struct Given {
    next: u64,
    back: BTreeSet<u64>,
}

impl Draws {
    /// A draw of the sample at `path` that no other opening has: the lowest there is.
    pub(super) fn take(&self, path: &Path) -> u64 {
        let mut all = self.0.lock();
        let given = all.entry(number_of(path)).or_default();
        given.back.pop_first().unwrap_or_else(|| {
            given.next += 1;
            given.next - 1
        })
    }

    /// Takes a draw back.
    pub(super) fn hand_back(&self, path: &Path, draw: u64) {
        if let Some(given) = self.0.lock().get_mut(&number_of(path)) {
            given.back.insert(draw);
        }
    }
}

/// 16 bytes a sample instead of its path. Two samples of one number (one pair in a set of a
/// hundred million, if at all) would share a count and both still never see a draw twice.
fn number_of(path: &Path) -> u64 {
    xxh3_64(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opening_gets_the_lowest_draw_that_nobody_has() {
        let draws = Draws::default();
        let (a, b) = (Path::new("a"), Path::new("b"));
        assert_eq!([draws.take(a), draws.take(a), draws.take(b), draws.take(a)], [0, 1, 0, 2]);
        draws.hand_back(a, 1);
        draws.hand_back(a, 0);
        assert_eq!([draws.take(a), draws.take(a), draws.take(a)], [0, 1, 3]);
    }
}
