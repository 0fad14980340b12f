//! Inode numbers: which view and which file, in one number, so that views cost no memory.
//!
//! | bits 44–63 | bits 0–43 |
//! |---|---|
//! | 0: the plain tree; n + 1: epoch n; all ones: `.parbake/` | the file |

/// What a file is known by while the mount lives. 1 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

const FILE_BITS: u32 = 44;
/// The bits of an inode number that tell the file.
pub(super) const FILE_MASK: u64 = (1 << FILE_BITS) - 1;
const CONTROL_VIEW: u64 = u64::MAX >> FILE_BITS;

/// The file number of the root of every view.
pub(super) const ROOT: u64 = 1;

/// Which draws the random steps of a tree get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The next draw at each opening.
    Plain,
    /// Always those of this epoch.
    Epoch(u64),
}

impl View {
    /// The largest epoch that has a view.
    pub(super) const LAST_EPOCH: u64 = CONTROL_VIEW - 2;
}

/// What an inode number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file or folder of the source's tree.
    Tree(View, u64),
    /// Something in `.parbake/`.
    Control(u64),
}

impl Ino {
    /// The root of the mount.
    pub const ROOT: Ino = Ino(ROOT);

    pub(super) const fn new(view: View, file: u64) -> Ino {
        let view = match view {
            View::Plain => 0,
            View::Epoch(epoch) => epoch + 1,
        };
        Ino(view << FILE_BITS | file)
    }

    pub(super) const fn control(what: u64) -> Ino {
        Ino(CONTROL_VIEW << FILE_BITS | what)
    }

    pub(super) const fn place(self) -> Place {
        let file = self.0 & FILE_MASK;
        match self.0 >> FILE_BITS {
            0 => Place::Tree(View::Plain, file),
            CONTROL_VIEW => Place::Control(file),
            view => Place::Tree(View::Epoch(view - 1), file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_what_it_was_made_for() {
        assert_eq!(Ino::ROOT.place(), Place::Tree(View::Plain, ROOT));
        for view in [View::Plain, View::Epoch(0), View::Epoch(View::LAST_EPOCH)] {
            for file in [ROOT, 77, FILE_MASK] {
                assert_eq!(Ino::new(view, file).place(), Place::Tree(view, file));
            }
        }
        assert_eq!(Ino::control(3).place(), Place::Control(3));
    }
}
