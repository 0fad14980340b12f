//! What a mount shows: names, sizes and byte ranges, and which opening gets which draw.
//!
//! docs/SEMANTICS.md is the promise that this module keeps. It answers whoever asks, and knows
//! nothing of the kernel or of how requests reach it. Nothing here waits for another request:
//! what takes long is answered later, from wherever it was made.

mod control;
mod draws;
mod error;
mod handle;
mod held;
mod ino;
mod names;
mod notices;
mod read;
mod serves;
mod tree;
mod watch;

pub use control::Texts;
pub use error::FsError;
pub use handle::{Fh, Serving};
pub use ino::Ino;
pub use names::Naming;
pub use notices::Outdated;
pub use read::To;
pub use serves::{Mode, ServeBy, Serves, WatchBy};
pub use tree::{Shown, shown};

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime};

use crate::exec::{Executor, Job, Turns};
use crate::source::Stat;
use control::Control;
use draws::Draws;
use handle::{Content, Handles, Opening};
use held::Held;
use ino::{Place, View};
use tree::{Kind, Node, Tree};
use watch::{Watched, Watching};

/// A tree of served files.
pub struct Fs {
    exec: Arc<Executor>,
    turns: Arc<Turns>,
    tree: Tree,
    handles: Handles,
    held: Held,
    draws: Arc<Draws>,
    control: Control,
    freshness: Freshness,
    watching: Option<Arc<Watching>>,
}

/// What `stat` tells.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    /// What it is known by.
    pub ino: Ino,
    /// Whether it is a folder.
    pub folder: bool,
    /// Bytes: exactly what reading gives.
    pub size: u64,
    /// Permission bits: the source's, without the right to write.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change.
    pub modified: SystemTime,
    /// How long it is what the name stands for that it was looked up by.
    pub name: Lasts,
    /// How long all else stays true of the inode.
    pub lasts: Lasts,
}

/// How long something that was told may be taken for true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// It may be another the next moment.
    No,
    /// For as long as [`Freshness`] allows.
    Awhile,
    /// Until the kernel is told otherwise.
    Long,
}

/// One name in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// What it is known by.
    pub ino: Ino,
    /// Where the listing goes on after it.
    pub next: u64,
    /// The served name.
    pub name: &'a OsStr,
    /// Whether it is a folder.
    pub folder: bool,
}

/// When what was once seen of the source is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// How long a name, a listing or a folder may be taken for what it was. Where opens are asked
    /// for, a changed file is noticed at its next open all the same.
    pub revalidate: Duration,
    /// Never: somebody promises that nothing in the source changes.
    pub immutable: bool,
}

impl Default for Freshness {
    fn default() -> Freshness {
        Freshness { revalidate: Duration::from_secs(1), immutable: false }
    }
}

/// What `open` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// What the opening is known by.
    pub fh: Fh,
    /// Whether its bytes are this opening's alone.
    pub serving: Serving,
}

impl Fs {
    /// The tree of what `exec` makes. `texts` are the files of `.parbake/` that are not known
    /// here. Samples are made in `turns`.
    pub fn new(exec: Arc<Executor>, turns: Arc<Turns>, naming: Naming, texts: Texts) -> Fs {
        Fs {
            tree: Tree::new(Arc::clone(&exec), naming),
            exec,
            turns,
            handles: Handles::default(),
            held: Held::default(),
            draws: Arc::default(),
            control: Control::new(texts),
            freshness: Freshness::default(),
            watching: None,
        }
    }

    /// The same, looking at the source again when this says so.
    #[must_use]
    pub fn with_freshness(mut self, freshness: Freshness) -> Fs {
        self.tree.immutable = freshness.immutable;
        Fs { freshness, ..self }
    }

    /// The same, telling of changes by itself: [`watch`](Fs::watch) and
    /// [`take_outdated`](Fs::take_outdated) are then to be called.
    #[must_use]
    pub fn watched(mut self) -> Fs {
        match Watching::new() {
            Ok(watching) => {
                self.tree.notices = Some(Arc::clone(&watching.notices));
                self.watching = Some(Arc::new(watching));
            }
            Err(error) => {
                log::warn!("the source can't be watched: {error}; names are asked for again");
            }
        }
        self
    }

    /// What the kernel has to be told of, for one who does so; none if nothing is watched.
    pub fn take_outdated(&self) -> Option<Receiver<Outdated>> {
        self.watching.as_ref()?.notices.take_receiver()
    }

    /// When the source is looked at again.
    pub fn freshness(&self) -> Freshness {
        self.freshness
    }

    /// Who answers opens.
    pub fn mode(&self) -> Mode {
        self.control.mode()
    }

    /// What is watched, if anything is.
    fn watching(&self) -> Option<Watched> {
        self.watching.as_deref().map(Watching::watched)
    }

    /// The executor that makes the samples.
    pub fn exec(&self) -> &Executor {
        &self.exec
    }

    /// What is under a name in a folder. Answers through `reply`, now or later.
    pub fn lookup(
        self: &Arc<Fs>,
        parent: Ino,
        name: &OsStr,
        reply: impl FnOnce(Result<Attr, FsError>) + Send + 'static,
    ) {
        if let Place::Control(folder) = parent.place()
            && self.control.is_slow(folder, name)
        {
            let (fs, name) = (Arc::clone(self), name.to_owned());
            return self.turns.take(move || match fs.find(parent, &name) {
                Ok((ino, _)) => fs.attr(ino, None, reply),
                Err(error) => reply(Err(error)),
            });
        }
        match self.find(parent, name) {
            Ok((ino, None)) => self.attr(ino, None, reply),
            Ok((ino, Some(name))) => {
                self.attr(ino, None, move |found| reply(found.map(|attr| Attr { name, ..attr })));
            }
            Err(error) => reply(Err(error)),
        }
    }

    /// Takes back that an inode was looked up so many times: whoever was told of it has forgotten
    /// it.
    pub fn forget(&self, ino: Ino, times: u64) {
        if let Place::Control(what) = ino.place() {
            self.control.forget(what, times);
        }
    }

    /// What is under a name, and how long it is, if that is known already.
    fn find(&self, parent: Ino, name: &OsStr) -> Result<(Ino, Option<Lasts>), FsError> {
        match parent.place() {
            Place::Control(folder) => {
                let found = self.control.find(folder, name, self)?;
                // An epoch's name is that epoch's for ever; of its own folder it knows itself.
                let epoch = matches!(found.place(), Place::Tree(..)).then_some(Lasts::Long);
                Ok((found, epoch))
            }
            Place::Tree(View::Plain, base) if base == ino::ROOT && name == control::FOLDER => {
                Ok((control::ROOT, None))
            }
            Place::Tree(view, base) => {
                // Before it is looked at: what changes from then on is told.
                let watched = self.is_watched(view, base);
                let (number, lasts) = self.tree.find(base, name, watched)?;
                Ok((Ino::new(view, number), Some(lasts)))
            }
        }
    }

    /// Whether changes in a folder are told from now on.
    fn is_watched(&self, view: View, folder: u64) -> bool {
        let Some(watching) = &self.watching else { return false };
        watching.notices.seen(view);
        watching.ensure(&self.tree, self.exec.source(), folder)
    }

    /// What is known of an inode. `fh` is the opening that asks, before it reads: that a sample has
    /// no size is no news then, but an error. Answers through `reply`, now or later.
    pub fn attr(
        self: &Arc<Fs>,
        ino: Ino,
        fh: Option<Fh>,
        reply: impl FnOnce(Result<Attr, FsError>) + Send + 'static,
    ) {
        let base = match ino.place() {
            Place::Control(what) => return reply(self.control.attr(ino, what, self)),
            Place::Tree(_, base) => base,
        };
        let node = match self.tree.node(base) {
            Ok(node) => node,
            Err(error) => return reply(Err(error)),
        };
        match self.quick_size(&node) {
            Some(size) => reply(self.attr_of(ino, &node, size)),
            None => {
                let fs = Arc::clone(self);
                self.turns.take(move || {
                    let size = fs.made_size(&node);
                    let known = fh.is_none() || fs.quick_size(&node).is_some();
                    reply(if known { fs.attr_of(ino, &node, size) } else { Err(FsError::NotMade) });
                });
            }
        }
    }

    /// The size, if it can be told without making a sample.
    fn quick_size(&self, node: &Node) -> Option<u64> {
        match &node.kind {
            Kind::Folder { .. } => Some(0),
            Kind::Plain { stat } => Some(stat.size),
            Kind::Sample { size, stat, plan } => match size.get() {
                Some(size) => Some(*size),
                None => {
                    let path = self.tree.path(node);
                    let job = Job { path: &path, stat: *stat, plan: *plan };
                    let known = self.exec.known_size(job)?;
                    Some(*size.get_or_init(|| known))
                }
            },
        }
    }

    /// The size of a sample that has to be made to know it. One that can't be made has no bytes,
    /// and opening it tells why.
    fn made_size(&self, node: &Node) -> u64 {
        let Kind::Sample { size, stat, plan } = &node.kind else { return 0 };
        let path = self.tree.path(node);
        let job = Job { path: &path, stat: *stat, plan: *plan };
        match self.exec.served_size(job) {
            Ok(made) => *size.get_or_init(|| made),
            Err(_) => 0,
        }
    }

    fn attr_of(&self, ino: Ino, node: &Node, size: u64) -> Result<Attr, FsError> {
        let (stat, lasts) = match &node.kind {
            Kind::Folder { .. } => {
                let Place::Tree(view, base) = ino.place() else { return Err(FsError::IsFolder) };
                let watched = self.is_watched(view, base);
                let stat = self.exec.source().stat(&self.tree.path(node))?;
                if !stat.folder {
                    return Err(FsError::Stale);
                }
                (stat, if watched { Lasts::Long } else { Lasts::Awhile })
            }
            Kind::Plain { stat } => (*stat, Lasts::Long),
            Kind::Sample { stat, size, .. } => {
                (*stat, if size.get().is_some() { Lasts::Long } else { Lasts::No })
            }
        };
        Ok(Attr {
            ino,
            folder: stat.folder,
            size,
            mode: stat.mode & 0o555,
            uid: stat.uid,
            gid: stat.gid,
            modified: stat.modified(),
            name: Lasts::Awhile,
            lasts,
        })
    }

    /// What is in a folder, by served name, told to `each` until that has enough. `from` is 0, or
    /// an entry's [`next`](Listed::next): then the listing that is gone on with is the one that was
    /// begun, whatever has changed since.
    ///
    /// # Errors
    /// If it isn't a folder that can be listed.
    pub fn list(
        &self,
        ino: Ino,
        from: u64,
        mut each: impl FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), FsError> {
        // Cut short or not, the answer is the same.
        let _ = match ino.place() {
            Place::Control(what) => {
                self.control.list(what)?.skip(from as usize).try_for_each(&mut each)
            }
            Place::Tree(view, base) => self.tree.list(base, view, from, &mut each)?,
        };
        Ok(())
    }

    /// Opens a file. Answers through `reply`, now or later.
    pub fn open(
        self: &Arc<Fs>,
        ino: Ino,
        reply: impl FnOnce(Result<Opened, FsError>) + Send + 'static,
    ) {
        let (view, base) = match ino.place() {
            Place::Control(what) => {
                let opened = |text| self.opened(Content::Text(text));
                return reply(self.control.text(what).map(opened));
            }
            Place::Tree(view, base) => (view, base),
        };
        let node = match self.unchanged(base) {
            Ok(node) => node,
            Err(error) => return reply(Err(error)),
        };
        if self.quick_size(&node).is_some() {
            return reply(self.content(view, &node).map(|content| self.opened(content)));
        }
        // Its size is not known: either it can't be made, or that was a passing trouble.
        let fs = Arc::clone(self);
        self.turns.take(move || {
            fs.made_size(&node);
            let known = matches!(&node.kind, Kind::Sample { size, .. } if size.get().is_some());
            let content = if known { fs.content(view, &node) } else { Err(FsError::NotMade) };
            reply(content.map(|content| fs.opened(content)));
        });
    }

    /// The node, if what it stands for is still what it was: else the name has to be looked up
    /// again, and gets another inode.
    fn unchanged(&self, base: u64) -> Result<Arc<Node>, FsError> {
        let node = self.tree.node(base)?;
        let stat = match &node.kind {
            Kind::Folder { .. } => return Err(FsError::IsFolder),
            Kind::Plain { stat } | Kind::Sample { stat, .. } => stat,
        };
        if self.freshness.immutable {
            return Ok(node);
        }
        let now: Stat = self.exec.source().stat(&self.tree.path(&node))?;
        if now == *stat { Ok(node) } else { Err(FsError::Stale) }
    }

    fn opened(&self, content: Content) -> Opened {
        let serving = content.serving();
        Opened { fh: self.handles.add(content), serving }
    }

    /// What an opening of a file reads.
    fn content(&self, view: View, node: &Node) -> Result<Content, FsError> {
        let path = self.tree.path(node);
        Ok(match &node.kind {
            Kind::Folder { .. } => return Err(FsError::IsFolder),
            Kind::Plain { stat } => Content::Plain(path, *stat),
            Kind::Sample { stat, plan, .. } => {
                let fixed = self.exec.plans()[*plan].pipeline.is_deterministic();
                let epoch = match view {
                    View::Epoch(epoch) => Some(epoch),
                    View::Plain if fixed => Some(0),
                    View::Plain => None,
                };
                Content::Sample(Arc::new(Opening::new(path, *stat, *plan, epoch)))
            }
        })
    }

    /// Ends an opening.
    pub fn close(&self, fh: Fh) {
        if let Some(Content::Sample(opening)) = self.handles.remove(fh) {
            opening.end(&self.draws);
        }
    }
}
