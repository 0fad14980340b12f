//! What a mount shows: names, sizes and byte ranges, and which opening gets which draw.
//!
//! docs/SEMANTICS.md is the promise that this module keeps. It answers whoever asks, and knows
//! nothing of the kernel or of how requests reach it. Nothing here waits for another request:
//! what takes long is answered later, from wherever it was made.

mod control;
mod draws;
mod error;
mod handle;
mod ino;
mod names;
mod read;
mod tree;

pub use control::Texts;
pub use error::FsError;
pub use handle::{Fh, Serving};
pub use ino::Ino;
pub use names::Naming;
pub use read::To;
pub use tree::{Shown, shown};

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::exec::{Executor, Job, Turns};
use crate::source::Stat;
use control::Control;
use draws::Draws;
use handle::{Content, Handles, Opening};
use ino::{Place, View};
use tree::{Kind, Node, Tree};

/// A tree of served files.
pub struct Fs {
    exec: Arc<Executor>,
    turns: Arc<Turns>,
    tree: Tree,
    handles: Handles,
    draws: Arc<Draws>,
    control: Control,
    freshness: Freshness,
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
    /// Whether this stays true for as long as the inode is known.
    pub lasting: bool,
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
    /// How long a name, a listing or a folder may be taken for what it was. A changed file is
    /// noticed at its next open all the same.
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
            draws: Arc::default(),
            control: Control::new(texts),
            freshness: Freshness::default(),
        }
    }

    /// The same, looking at the source again when this says so.
    #[must_use]
    pub fn with_freshness(mut self, freshness: Freshness) -> Fs {
        self.tree.immutable = freshness.immutable;
        Fs { freshness, ..self }
    }

    /// When the source is looked at again.
    pub fn freshness(&self) -> Freshness {
        self.freshness
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
        match self.find(parent, name) {
            Ok(ino) => self.attr(ino, None, reply),
            Err(error) => reply(Err(error)),
        }
    }

    fn find(&self, parent: Ino, name: &OsStr) -> Result<Ino, FsError> {
        match parent.place() {
            Place::Control(folder) => self.control.find(folder, name),
            Place::Tree(View::Plain, base) if base == ino::ROOT && name == control::FOLDER => {
                Ok(control::ROOT)
            }
            Place::Tree(view, base) => Ok(Ino::new(view, self.tree.find(base, name)?)),
        }
    }

    /// What is known of an inode, or of one of its openings. Answers through `reply`, now or
    /// later.
    pub fn attr(
        self: &Arc<Fs>,
        ino: Ino,
        fh: Option<Fh>,
        reply: impl FnOnce(Result<Attr, FsError>) + Send + 'static,
    ) {
        let base = match ino.place() {
            Place::Control(what) => {
                let open = fh.and_then(|fh| self.handles.text_len(fh));
                // The manifest looks at every sample: that takes a turn as the making of one does.
                if open.is_none() && self.control.is_slow(what) {
                    let fs = Arc::clone(self);
                    return self.turns.take(move || reply(fs.control.attr(ino, what, None, &fs)));
                }
                return reply(self.control.attr(ino, what, open, self));
            }
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
                self.turns.take(move || reply(fs.attr_of(ino, &node, fs.made_size(&node))));
            }
        }
    }

    /// The size, if it can be told without making a sample.
    fn quick_size(&self, node: &Node) -> Option<u64> {
        match &node.kind {
            Kind::Folder => Some(0),
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
        let (stat, lasting) = match &node.kind {
            Kind::Folder => {
                let stat = self.exec.source().stat(&self.tree.path(node))?;
                if !stat.folder {
                    return Err(FsError::Stale);
                }
                (stat, false)
            }
            Kind::Plain { stat } => (*stat, true),
            Kind::Sample { stat, size, .. } => (*stat, size.get().is_some()),
        };
        Ok(Attr {
            ino,
            folder: stat.folder,
            size,
            mode: stat.mode & 0o555,
            uid: stat.uid,
            gid: stat.gid,
            modified: stat.modified(),
            lasting,
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
                let fs = Arc::clone(self);
                let open = move || {
                    let text = Content::Text(fs.control.text(what, &fs)?);
                    let serving = text.serving();
                    Ok(Opened { fh: fs.handles.add(text), serving })
                };
                return if self.control.is_slow(what) {
                    self.turns.take(move || reply(open()));
                } else {
                    reply(open());
                };
            }
            Place::Tree(view, base) => (view, base),
        };
        let node = match self.unchanged(base) {
            Ok(node) => node,
            Err(error) => return reply(Err(error)),
        };
        if self.quick_size(&node).is_some() {
            return reply(self.opened(view, &node));
        }
        // Its size is not known: either it can't be made, or that was a passing trouble.
        let fs = Arc::clone(self);
        self.turns.take(move || {
            fs.made_size(&node);
            let known = matches!(&node.kind, Kind::Sample { size, .. } if size.get().is_some());
            reply(if known { fs.opened(view, &node) } else { Err(FsError::NotMade) });
        });
    }

    /// The node, if what it stands for is still what it was: else the name has to be looked up
    /// again, and gets another inode.
    fn unchanged(&self, base: u64) -> Result<Arc<Node>, FsError> {
        let node = self.tree.node(base)?;
        let stat = match &node.kind {
            Kind::Folder => return Err(FsError::IsFolder),
            Kind::Plain { stat } | Kind::Sample { stat, .. } => stat,
        };
        if self.freshness.immutable {
            return Ok(node);
        }
        let now: Stat = self.exec.source().stat(&self.tree.path(&node))?;
        if now == *stat { Ok(node) } else { Err(FsError::Stale) }
    }

    fn opened(&self, view: View, node: &Arc<Node>) -> Result<Opened, FsError> {
        let path = self.tree.path(node);
        let content = match &node.kind {
            Kind::Folder => return Err(FsError::IsFolder),
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
        };
        let serving = content.serving();
        Ok(Opened { fh: self.handles.add(content), serving })
    }

    /// Ends an opening.
    pub fn close(&self, fh: Fh) {
        if let Some(Content::Sample(opening)) = self.handles.remove(fh) {
            opening.end(&self.draws);
        }
    }
}
