//! Which folders are watched, and what the kernel is told when one has changed.
//!
//! A folder is watched from before the first name in it is told. Names of watched folders stay what
//! they are until the kernel is told otherwise; those of all others are asked for again before
//! long, which needs nothing to be done here.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Fs;
use super::ino::ROOT;
use super::notices::Notices;
use super::tree::Tree;
use crate::source::{Change, Source, Watch, Watcher};

/// Changes that come one soon after another are told together.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest that changes wait for more of them.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Watching {
    watcher: Watcher,
    folders: Mutex<Folders>,
    pub(super) notices: Arc<Notices>,
}

#[derive(Default)]
struct Folders {
    /// By inode. `None` is one that can't be watched.
    watches: HashMap<u64, Option<Watch>>,
    /// A folder that was moved is one of two inodes for a moment.
    of: HashMap<Watch, Vec<u64>>,
    /// Why the first one of those that can't be watched can't.
    why_not: Option<String>,
}

/// How many folders are watched, how many can't be, and why.
pub(super) struct Watched {
    pub(super) watched: usize,
    pub(super) others: usize,
    pub(super) why_not: Option<String>,
}

impl Watching {
    pub(super) fn new() -> io::Result<Watching> {
        let (watcher, notices) = (Watcher::new()?, Arc::new(Notices::new()));
        Ok(Watching { watcher, folders: Mutex::default(), notices })
    }

    pub(super) fn watched(&self) -> Watched {
        let folders = self.folders.lock();
        let watched = folders.watches.values().flatten().count();
        let why_not = folders.why_not.clone();
        Watched { watched, others: folders.watches.len() - watched, why_not }
    }

    /// Whether a folder is watched from now on, if it wasn't before. It is as long as every folder
    /// above it is too: what happens to a folder is told to the one that it is in.
    pub(super) fn ensure(&self, tree: &Tree, source: &dyn Source, folder: u64) -> bool {
        // Held while a watch is added: whoever is told of a change finds out whose it is.
        let mut folders = self.folders.lock();
        if let Some(known) = folders.watches.get(&folder) {
            return known.is_some();
        }
        let Ok(node) = tree.node(folder) else { return false };
        let above = folders.watches.get(&node.parent);
        if node.is_gone() || (folder != ROOT && !matches!(above, Some(Some(_)))) {
            return false;
        }
        let path = tree.path(&node);
        match source.watch(&path, &self.watcher) {
            Ok(watch) => {
                folders.watches.insert(folder, Some(watch));
                folders.of.entry(watch).or_default().push(folder);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                folders.watches.insert(folder, None);
                if folders.why_not.is_none() {
                    let which = if folder == ROOT {
                        "the source".to_owned()
                    } else {
                        format!("`{}`", path.display())
                    };
                    let why = format!("{which}: {error}");
                    log::warn!(
                        "not every folder can be watched; {why}; names in such are asked for again"
                    );
                    folders.why_not = Some(why);
                }
                false
            }
        }
    }

    /// Ends the watches of folders that are gone, and of what is in them.
    fn forget_gone(&self, tree: &Tree) {
        let mut folders = self.folders.lock();
        let Folders { watches, of, .. } = &mut *folders;
        watches.retain(|folder, watch| {
            let gone = tree.is_gone(*folder);
            if let (true, Some(watch)) = (gone, watch)
                && let Some(shared) = of.get_mut(watch)
            {
                shared.retain(|other| other != folder);
                if shared.is_empty() {
                    of.remove(watch);
                    self.watcher.remove(*watch);
                }
            }
            !gone
        });
    }

    /// Nothing is watched from now on.
    fn give_up(&self) {
        let mut folders = self.folders.lock();
        folders.watches.values_mut().for_each(|watch| *watch = None);
        folders.watches.insert(ROOT, None);
        folders.why_not = Some("the kernel tells no more of changes".to_owned());
    }

    fn of(&self, watch: Watch) -> Vec<u64> {
        self.folders.lock().of.get(&watch).cloned().unwrap_or_default()
    }

    fn all(&self) -> Vec<u64> {
        let folders = self.folders.lock();
        folders.watches.iter().filter(|(_, watch)| watch.is_some()).map(|(at, _)| *at).collect()
    }
}

/// What has happened in a folder.
#[derive(Default)]
struct Touched {
    /// To these of the source's names.
    names: HashSet<OsString>,
    /// Whether names came or went.
    listed: bool,
}

impl Fs {
    /// Tells of what changes in watched folders, for as long as anybody else has the tree: who ends
    /// it is to find everything closed, and not what this thread still holds. Returns at once if
    /// nothing is watched.
    pub fn watch(fs: Weak<Fs>) {
        let watching = fs.upgrade().and_then(|fs| fs.watching.clone());
        let Some(watching) = watching else { return };
        let watching = &*watching;
        loop {
            let changes = watching.watcher.changes();
            let Some(fs) = fs.upgrade() else { return };
            let changes = match changes {
                Ok(changes) => changes,
                Err(error) => {
                    log::error!("changes of the source are not told any more: {error}");
                    // What is told to the kernel from now on doesn't last.
                    let all = watching.all();
                    watching.give_up();
                    return fs.tell_all(watching, &all);
                }
            };
            let begun = Instant::now();
            // Without anybody to tell of changes, the kernel would keep for ever what it has.
            if catch_unwind(AssertUnwindSafe(|| fs.tell(watching, changes))).is_err() {
                log::error!("telling of changes panicked: all names are asked for again");
                fs.tell_all(watching, &watching.all());
            }
            drop(fs);
            // At most half of the time is spent on this.
            std::thread::sleep(begun.elapsed().clamp(PAUSE, LONGEST_PAUSE));
        }
    }

    fn tell(&self, watching: &Watching, changes: Vec<Change>) {
        let mut touched: HashMap<u64, Touched> = HashMap::new();
        let (mut gone, mut lost) = (false, false);
        for change in changes {
            match change {
                Change::Lost => lost = true,
                Change::Folder(watch) => {
                    for folder in watching.of(watch) {
                        touched.entry(folder).or_default();
                    }
                }
                Change::End(watch) => {
                    for folder in watching.of(watch).into_iter().filter(|folder| *folder != ROOT) {
                        self.tree.abandon(folder);
                        gone = true;
                    }
                }
                Change::Name { watch, name, listed, folder: is_folder } => {
                    for folder in watching.of(watch) {
                        let child = self.tree.known_folder(folder, &name);
                        let touched = touched.entry(folder).or_default();
                        match child {
                            // Its permissions, of which it tells itself.
                            Some(_) if is_folder && !listed => continue,
                            Some(child) if listed => {
                                self.tree.abandon(child);
                                gone = true;
                            }
                            _ => {}
                        }
                        touched.listed |= listed;
                        touched.names.insert(name.clone());
                    }
                }
            }
        }
        if gone {
            watching.forget_gone(&self.tree);
        }
        for (folder, touched) in touched {
            let names = |name: &std::ffi::OsStr| touched.names.contains(name);
            self.tree.outdated(folder, touched.listed, &names, &watching.notices);
        }
        if lost {
            log::warn!(
                "the source changes faster than can be followed: all names are asked for again"
            );
            self.tell_all(watching, &watching.all());
        }
    }

    /// Anything in these folders may be another now.
    fn tell_all(&self, watching: &Watching, all: &[u64]) {
        // Nobody told what became of the folders in them.
        for folder in all.iter().filter(|folder| **folder != ROOT) {
            self.tree.abandon(*folder);
        }
        watching.forget_gone(&self.tree);
        for folder in all {
            self.tree.outdated(*folder, true, &|_| true, &watching.notices);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::super::{Attr, Ino, Lasts, Naming, Outdated, Texts};
    use super::*;
    use crate::exec::{Executor, Turns};
    use crate::sample::Buffer;
    use crate::source::{DirSource, Entry, Stat};

    /// A folder of a system that has so many watches left.
    struct Few(DirSource, AtomicUsize);

    impl Source for Few {
        fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
            self.0.list(folder)
        }

        fn stat(&self, path: &Path) -> io::Result<Stat> {
            self.0.stat(path)
        }

        fn read(&self, path: &Path) -> io::Result<(Stat, Buffer)> {
            self.0.read(path)
        }

        fn read_at(&self, path: &Path, offset: u64, into: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(path, offset, into)
        }

        fn watch(&self, folder: &Path, watcher: &Watcher) -> io::Result<Watch> {
            let left = self.1.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            left.map_err(|_| io::Error::new(io::ErrorKind::QuotaExceeded, "no more"))?;
            self.0.watch(folder, watcher)
        }

        fn stat_watched(&self, path: &Path) -> io::Result<(Stat, bool)> {
            self.0.stat_watched(path)
        }

        fn forget_pages(&self, path: &Path) -> io::Result<()> {
            self.0.forget_pages(path)
        }
    }

    fn lookup(fs: &Arc<Fs>, parent: Ino, name: &str) -> Attr {
        let (send, answer) = std::sync::mpsc::channel();
        fs.lookup(parent, name.as_ref(), move |found| send.send(found.unwrap()).unwrap());
        answer.recv().unwrap()
    }

    #[test]
    fn names_that_cannot_be_watched_are_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b/one", "c/d/two", "three", "original"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        std::os::unix::fs::symlink("three", folder.path().join("link")).unwrap();
        std::fs::hard_link(folder.path().join("original"), folder.path().join("second")).unwrap();
        // For the root, `a` and `a/b`.
        let source = Few(DirSource::open(folder.path()).unwrap(), AtomicUsize::new(3));
        let exec = Executor::new(Arc::new(source), None, Vec::new(), 0);
        let turns = Arc::new(Turns::new(1));
        let fs = Fs::new(Arc::new(exec), turns, Naming::Replace, Texts::default()).watched();
        let fs = Arc::new(fs);
        let settled = |parent, name| {
            lookup(&fs, parent, name);
            std::thread::sleep(Duration::from_millis(30));
            lookup(&fs, parent, name)
        };
        let a = settled(Ino::ROOT, "a");
        let b = settled(a.ino, "b");
        let c = settled(Ino::ROOT, "c");
        let d = settled(c.ino, "d");
        assert_eq!(
            [a.name, b.name, c.name, d.name],
            [Lasts::Long, Lasts::Long, Lasts::Long, Lasts::Awhile]
        );
        assert_eq!(
            [a.lasts, b.lasts, c.lasts, d.lasts],
            [Lasts::Long, Lasts::Long, Lasts::Awhile, Lasts::Awhile]
        );
        assert_eq!(settled(b.ino, "one").name, Lasts::Long);
        assert_eq!(settled(d.ino, "two").name, Lasts::Awhile);
        assert_eq!(settled(Ino::ROOT, "three").name, Lasts::Long);
        for several in ["link", "original", "second"] {
            assert_eq!(settled(Ino::ROOT, several).name, Lasts::Awhile, "{several}");
        }
        // Where more has changed than could be noted, it may be anything.
        let outdated = fs.take_outdated().unwrap();
        fs.tell(fs.watching.as_ref().unwrap(), vec![Change::Lost]);
        let told: Vec<_> = outdated.try_iter().collect();
        for name in ["a", "c", "link", "original", "second", "three"] {
            assert!(told.contains(&Outdated::Name(Ino::ROOT, OsStr::new(name).into())), "{name}");
        }
        assert!(told.contains(&Outdated::Folder(Ino::ROOT)));
        assert_ne!(lookup(&fs, Ino::ROOT, "a").ino, a.ino);

        let Watched { watched, others, why_not } = fs.watching().unwrap();
        assert_eq!((watched, others), (1, 2));
        assert_eq!(why_not.as_deref(), Some("`c`: no more"));
    }
}
