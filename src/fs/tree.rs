//! The source's tree by inode: read when asked for, a folder at a time; nothing walks it first.
//!
//! A file's inode stands for one content: when the source file changes, its name gets another
//! inode. So what the kernel keeps of an inode is never wrong, and no opening ever sees a mixture.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use xxhash_rust::xxh3::Xxh3;

use super::error::FsError;
use super::ino::{FILE_MASK, Ino, ROOT, View};
use super::names::{Naming, served_names};
use super::notices::Notices;
use super::{Lasts, Listed, control};
use crate::exec::Executor;
use crate::source::Stat;

/// What an inode stands for.
#[derive(Debug)]
pub(super) struct Node {
    /// The folder that it is in; the root is in itself.
    pub(super) parent: u64,
    /// The source's name.
    name: OsString,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Folder {
        /// Whether its name is another folder's now, or nobody's.
        gone: AtomicBool,
    },
    /// A file that no plan is for.
    Plain { stat: Stat },
    /// A sample, and its served size as soon as it is known.
    Sample { stat: Stat, plan: usize, size: OnceLock<u64> },
}

impl Kind {
    const fn folder() -> Kind {
        Kind::Folder { gone: AtomicBool::new(false) }
    }
}

impl Node {
    pub(super) fn is_gone(&self) -> bool {
        matches!(&self.kind, Kind::Folder { gone } if gone.load(Relaxed))
    }
}

pub(super) struct Tree {
    exec: Arc<Executor>,
    naming: Naming,
    nodes: RwLock<HashMap<u64, Arc<Node>>>,
    /// Inodes of names that don't have the first one that they could have.
    moved: Mutex<HashMap<(u64, OsString), u64>>,
    folders: Mutex<HashMap<u64, Arc<Folder>>>,
    /// The last few listings that another has taken the place of: somebody may be in the middle of
    /// one.
    superseded: Mutex<VecDeque<Arc<Folder>>>,
    versions: AtomicU64,
    /// Whether a folder that was once listed is never looked at again.
    pub(super) immutable: bool,
    /// Who is told of names that a new listing doesn't have any more.
    pub(super) notices: Option<Arc<Notices>>,
}

/// How many of them are kept.
const MOST_SUPERSEDED: usize = 16;

/// A folder's listing.
struct Folder {
    /// No other listing's number.
    version: u64,
    /// When it was true.
    stamp: (i128, i128),
    read: Instant,
    /// Whether it was read long enough after the folder's last change that a further change would
    /// show.
    settled: bool,
    /// Sorted by served name.
    entries: Vec<Served>,
}

impl Folder {
    /// Whether it has the same under the same name.
    fn has(&self, entry: &Served) -> bool {
        let at = self.entries.binary_search_by(|other| other.name.cmp(&entry.name));
        at.is_ok_and(|at| self.entries[at] == *entry)
    }
}

#[derive(PartialEq, Eq)]
struct Served {
    name: OsString,
    /// The source's name, where it is another.
    source: Option<OsString>,
    folder: bool,
    plan: Option<usize>,
}

impl Served {
    fn source(&self) -> &OsStr {
        self.source.as_deref().unwrap_or(&self.name)
    }
}

/// Two changes of a folder within a tick of the file system's clock leave one time stamp. Ticks are
/// at most 10 ms; a listing that is younger than this against the first sight of its stamp is read
/// once more.
const TICK: Duration = Duration::from_millis(20);

/// A place in a listing: its version, and below that how many of its entries come before. 0 is the
/// beginning of whichever is true now.
const INDEX_BITS: u32 = 32;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

impl Tree {
    pub(super) fn new(exec: Arc<Executor>, naming: Naming) -> Tree {
        let root = Node { parent: ROOT, name: OsString::new(), kind: Kind::folder() };
        Tree {
            exec,
            naming,
            nodes: RwLock::new(HashMap::from([(ROOT, Arc::new(root))])),
            moved: Mutex::default(),
            folders: Mutex::default(),
            superseded: Mutex::default(),
            versions: AtomicU64::new(1),
            immutable: false,
            notices: None,
        }
    }

    pub(super) fn node(&self, file: u64) -> Result<Arc<Node>, FsError> {
        self.nodes.read().get(&file).cloned().ok_or(FsError::NoSuchName)
    }

    /// The path within the source.
    pub(super) fn path(&self, node: &Node) -> PathBuf {
        let mut parts = vec![node.name.clone()];
        let mut above = node.parent;
        let nodes = self.nodes.read();
        while above != ROOT {
            let Some(folder) = nodes.get(&above) else { break };
            parts.push(folder.name.clone());
            above = folder.parent;
        }
        parts.iter().rev().collect()
    }

    /// What is under a served name in a folder now, and how long it is if the folder is watched.
    pub(super) fn find(
        &self,
        parent: u64,
        name: &OsStr,
        watched: bool,
    ) -> Result<(u64, Lasts), FsError> {
        let folder = self.folder(parent)?;
        let at = folder.entries.binary_search_by(|entry| entry.name.as_os_str().cmp(name));
        let entry = &folder.entries[at.map_err(|_| FsError::NoSuchName)?];
        let stat = || -> Result<_, FsError> {
            let path = self.path(&*self.node(parent)?).join(entry.source());
            let source = self.exec.source();
            Ok(if watched { source.stat_watched(&path)? } else { (source.stat(&path)?, false) })
        };
        let (kind, told) = if entry.folder {
            (Kind::folder(), watched && stat()?.1)
        } else {
            let (stat, told) = stat()?;
            let kind = match entry.plan {
                Some(plan) => Kind::Sample { stat, plan, size: OnceLock::new() },
                None => Kind::Plain { stat },
            };
            (kind, told)
        };
        // A change right after an unsettled listing would not show in the next one.
        let lasts = if told && folder.settled { Lasts::Long } else { Lasts::Awhile };
        Ok((self.number(parent, entry.source(), kind), lasts))
    }

    /// The inode of a folder by the source's name, if it has one.
    pub(super) fn known_folder(&self, parent: u64, name: &OsStr) -> Option<u64> {
        let moved = self.moved.lock().get(&(parent, name.to_owned())).copied();
        let number = moved.unwrap_or_else(|| candidate(parent, name, 0));
        let node = self.node(number).ok()?;
        let same = node.parent == parent && node.name == name;
        (same && matches!(node.kind, Kind::Folder { .. }) && number != ROOT).then_some(number)
    }

    /// From now on the name of this folder is another inode's.
    pub(super) fn abandon(&self, folder: u64) {
        if let Ok(node) = self.node(folder)
            && let Kind::Folder { gone } = &node.kind
        {
            gone.store(true, Relaxed);
        }
    }

    /// Whether a folder, or one that it is in, was abandoned.
    pub(super) fn is_gone(&self, folder: u64) -> bool {
        let mut at = folder;
        while let Ok(node) = self.node(at) {
            if node.is_gone() {
                return true;
            }
            if at == ROOT {
                return false;
            }
            at = node.parent;
        }
        true
    }

    /// Tells of a folder whose attributes have changed, and of what is under these of the source's
    /// names; if names came or went, also of what is served under another name for it.
    pub(super) fn outdated(
        &self,
        folder: u64,
        listed: bool,
        names: &dyn Fn(&OsStr) -> bool,
        notices: &Notices,
    ) {
        let before = self.folders.lock().get(&folder).cloned();
        if listed
            && before.is_some()
            && let Ok(node) = self.node(folder)
            && let Err(error) = self.listed(folder, &node, None)
        {
            log::debug!("a folder of the source is gone: {error}");
        }
        let after = self.folders.lock().get(&folder).cloned();
        for entry in before.iter().chain(&after).flat_map(|listing| &listing.entries) {
            if names(entry.source()) {
                notices.name(folder, &entry.name);
            }
        }
        notices.folder(folder);
    }

    /// What is in a folder, from a place in a listing on: see [`Fs::list`](super::Fs::list).
    pub(super) fn list(
        &self,
        file: u64,
        view: View,
        from: u64,
        each: &mut impl FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, FsError> {
        let (version, skip) = (from >> INDEX_BITS, from & INDEX_MASK);
        let folder = match self.begun(file, version) {
            Some(folder) => folder,
            None => self.folder(file)?,
        };
        let number = |source: &OsStr| {
            let moved = self.moved.lock();
            let known =
                (!moved.is_empty()).then(|| moved.get(&(file, source.to_owned()))).flatten();
            known.copied().unwrap_or_else(|| candidate(file, source, 0))
        };
        let places = (folder.version << INDEX_BITS) + 1..;
        Ok(places.zip(&folder.entries).skip(skip as usize).try_for_each(|(next, entry)| {
            each(Listed {
                next,
                ino: Ino::new(view, number(entry.source())),
                name: &entry.name,
                folder: entry.folder,
            })
        }))
    }

    /// The listing of that version, if it is still known.
    fn begun(&self, file: u64, version: u64) -> Option<Arc<Folder>> {
        let last = self.folders.lock().get(&file).cloned();
        last.filter(|folder| folder.version == version).or_else(|| {
            self.superseded.lock().iter().find(|folder| folder.version == version).cloned()
        })
    }

    /// The inode of a name that is of this kind now: the one it has, unless that stands for an
    /// earlier content.
    fn number(&self, parent: u64, name: &OsStr, kind: Kind) -> u64 {
        let same = |node: &Node| {
            node.parent == parent && node.name == name && same_content(&node.kind, &kind)
        };
        let known = self.moved.lock().get(&(parent, name.to_owned())).copied();
        let first = known.unwrap_or_else(|| candidate(parent, name, 0));
        if self.nodes.read().get(&first).is_some_and(|node| same(node)) {
            return first;
        }
        let mut nodes = self.nodes.write();
        let free = (0..)
            .map(|version| candidate(parent, name, version))
            .find(|number| nodes.get(number).is_none_or(|node| same(node)))
            .expect("there are more numbers than nodes");
        nodes.entry(free).or_insert_with(|| Arc::new(Node { parent, name: name.to_owned(), kind }));
        if known.is_some() || free != candidate(parent, name, 0) {
            self.moved.lock().insert((parent, name.to_owned()), free);
        }
        free
    }

    fn folder(&self, file: u64) -> Result<Arc<Folder>, FsError> {
        let node = self.node(file)?;
        if !matches!(node.kind, Kind::Folder { .. }) {
            return Err(FsError::NotFolder);
        }
        let known = self.folders.lock().get(&file).cloned();
        if let Some(known) = &known
            && self.immutable
        {
            return Ok(Arc::clone(known));
        }
        self.listed(file, &node, known)
    }

    /// A listing that is true now: this one if it still is.
    fn listed(
        &self,
        file: u64,
        node: &Node,
        known: Option<Arc<Folder>>,
    ) -> Result<Arc<Folder>, FsError> {
        let path = self.path(node);
        let stat = self.exec.source().stat(&path)?;
        let stamp = (stat.modified_ns, stat.changed_ns);
        let seen = known.filter(|folder| folder.stamp == stamp);
        if let Some(folder) = &seen
            && (folder.settled || folder.read.elapsed() < TICK)
        {
            return Ok(Arc::clone(folder));
        }
        // Under this stamp for the second time: what changes from now on will change it.
        let settled = seen.is_some();
        let read = Instant::now();
        let entries = served(&self.exec, self.naming, &path)?;
        let version = self.versions.fetch_add(1, Relaxed);
        let folder = Arc::new(Folder { version, stamp, read, settled, entries });
        let mut folders = self.folders.lock();
        if let Some(newer) = folders.get(&file).filter(|other| other.read > folder.read) {
            return Ok(Arc::clone(newer));
        }
        if let Some(before) = folders.insert(file, Arc::clone(&folder)) {
            if let Some(notices) = &self.notices {
                let left = before.entries.iter().filter(|entry| !folder.has(entry));
                left.for_each(|entry| notices.name(file, &entry.name));
            }
            let mut superseded = self.superseded.lock();
            superseded.truncate(MOST_SUPERSEDED - 1);
            superseded.push_front(before);
        }
        Ok(folder)
    }
}

/// What is served of a folder, sorted by served name.
fn served(exec: &Executor, naming: Naming, path: &Path) -> std::io::Result<Vec<Served>> {
    let root = path.as_os_str().is_empty();
    let mut found = exec.source().list(path)?;
    if root && let Some(at) = found.iter().position(|entry| entry.name == control::FOLDER) {
        log::warn!("the source has a `{}` of its own: it is not shown", control::FOLDER);
        found.remove(at);
    }
    let plans: Vec<Option<usize>> = found
        .iter()
        .map(|entry| (!entry.folder).then(|| exec.plan_for(&path.join(&entry.name))).flatten())
        .collect();
    let extension =
        |plan: &Option<usize>| plan.map(|at| exec.plans()[at].pipeline.output().extension());
    let wanted: Vec<_> = found
        .iter()
        .zip(&plans)
        .map(|(entry, plan)| (entry.name.as_os_str(), extension(plan)))
        .collect();
    let names = served_names(&wanted, naming);
    let mut entries: Vec<Served> = found
        .into_iter()
        .zip(plans)
        .zip(names)
        .map(|((entry, plan), name)| Served {
            source: (entry.name != name).then_some(entry.name),
            name,
            folder: entry.folder,
            plan,
        })
        .collect();
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// A name of the source, and the one that it is served under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The name in the source.
    pub source: OsString,
    /// The name in a mount.
    pub served: OsString,
    /// Whether it is a folder.
    pub folder: bool,
    /// Which plan is for it, by its place; none if it is served as it is.
    pub plan: Option<usize>,
}

/// What a mount would show of a folder of the source, sorted by served name.
///
/// # Errors
/// If it isn't a readable folder of the source.
pub fn shown(exec: &Executor, naming: Naming, folder: &Path) -> std::io::Result<Vec<Shown>> {
    let shown = |entry: Served| Shown {
        source: entry.source().to_owned(),
        served: entry.name,
        folder: entry.folder,
        plan: entry.plan,
    };
    Ok(served(exec, naming, folder)?.into_iter().map(shown).collect())
}

fn same_content(a: &Kind, b: &Kind) -> bool {
    match (a, b) {
        (Kind::Folder { gone: a }, Kind::Folder { gone: b }) => {
            !a.load(Relaxed) && !b.load(Relaxed)
        }
        (Kind::Plain { stat: a }, Kind::Plain { stat: b }) => a == b,
        (Kind::Sample { stat: a, plan: m, .. }, Kind::Sample { stat: b, plan: n, .. }) => {
            a == b && m == n
        }
        _ => false,
    }
}

/// The number of a name in a folder: the same in every mount of the set, unless the file changed
/// in this one (or another name has it, which a set of a million files has even odds to see once).
fn candidate(parent: u64, name: &OsStr, version: u64) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&parent.to_le_bytes());
    hasher.update(&version.to_le_bytes());
    hasher.update(name.as_encoded_bytes());
    (hasher.digest() & FILE_MASK).max(ROOT + 1)
}
