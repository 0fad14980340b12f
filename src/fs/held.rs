//! Samples that are being read where the kernel answers opens: nobody tells which reads belong
//! together, nor when the last one was. So what is read of an inode is one opening, kept until all
//! of it was given or many others were read after it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::handle::{Content, Opening};
use super::ino::Ino;

/// How many are kept: more than there are readers of one machine.
const MOST: usize = 64;

/// The most bytes that they may have in memory. What is larger alone is kept as long as it is the
/// last one.
const MOST_BYTES: usize = 256 << 20;

/// How long a sample that can't be made isn't tried again: the kernel asks for one reader's sake
/// several times.
const FAILED_FOR: Duration = Duration::from_secs(1);

/// The last one first.
#[derive(Default)]
pub(super) struct Held(Mutex<VecDeque<One>>);

struct One {
    ino: Ino,
    begun: Instant,
    opening: Arc<Opening>,
}

impl Held {
    /// What is being read of an inode.
    pub(super) fn get(&self, ino: Ino) -> Option<Content> {
        let held = self.0.lock();
        let one = held.iter().find(|one| one.ino == ino)?;
        let (_, failed) = one.opening.holds();
        (!failed || one.begun.elapsed() < FAILED_FOR)
            .then(|| Content::Sample(Arc::clone(&one.opening)))
    }

    /// What is to be read of the inode from now on: this, or what another began meanwhile.
    pub(super) fn hold(&self, ino: Ino, content: Content) -> Content {
        let Content::Sample(opening) = content else { return content };
        let mut held = self.0.lock();
        let known = held.iter().position(|one| one.ino == ino).and_then(|at| held.remove(at));
        let one = match known {
            Some(one) if Arc::ptr_eq(&one.opening, &opening) || !one.opening.holds().1 => one,
            _ => One { ino, begun: Instant::now(), opening },
        };
        let opening = Arc::clone(&one.opening);
        held.push_front(one);
        held.truncate(MOST);
        let mut bytes = 0;
        let fits = held.iter().take_while(|one| {
            bytes += one.opening.holds().0;
            bytes <= MOST_BYTES
        });
        let fits = fits.count().max(1);
        held.truncate(fits);
        Content::Sample(opening)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::source::Stat;

    fn opening() -> Content {
        let stat =
            Stat { folder: false, size: 0, modified_ns: 0, changed_ns: 0, mode: 0, uid: 0, gid: 0 };
        Content::Sample(Arc::new(Opening::new(PathBuf::new(), stat, 0, Some(0))))
    }

    fn same(a: &Content, b: &Content) -> bool {
        match (a, b) {
            (Content::Sample(a), Content::Sample(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    #[test]
    fn readers_of_one_inode_share_an_opening_and_what_is_old_goes() {
        let held = Held::default();
        let first = held.hold(Ino(1), opening());
        assert!(same(&held.hold(Ino(1), opening()), &first));
        assert!(same(&held.get(Ino(1)).unwrap(), &first));
        for ino in 2..2 + MOST as u64 {
            held.hold(Ino(ino), opening());
        }
        assert!(held.get(Ino(1)).is_none());
        assert!(held.get(Ino(2)).is_some());
    }
}
