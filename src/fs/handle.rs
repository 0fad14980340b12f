//! What is open: each opening's content, made once whatever the number of reads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::draws::Draws;
use super::error::FsError;
use crate::sample::Buffer;
use crate::source::Stat;

/// What an opening is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fh(pub u64);

/// Who may keep what an opening reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Every opening of the inode reads the same: it may be kept and mapped.
    Shared,
    /// This opening's alone.
    Direct,
}

/// What is open.
#[derive(Clone)]
pub(super) enum Content {
    /// A sample.
    Sample(Arc<Opening>),
    /// A file of the source, as long as it is what it was when opened.
    Plain(PathBuf, Stat),
    /// A file of `.parbake/`, as it was when looked up.
    Text(Arc<[u8]>),
}

impl Content {
    /// Who may keep what is read of it.
    pub(super) fn serving(&self) -> Serving {
        match self {
            Content::Sample(opening) => opening.serving(),
            Content::Plain(..) | Content::Text(_) => Serving::Shared,
        }
    }
}

/// An open sample.
pub(super) struct Opening {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) plan: usize,
    /// The epoch whose draws it gets; `None` for the plain tree, where the first read decides.
    epoch: Option<u64>,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) file: Making,
    /// The draw that was taken for it.
    draw: Option<u64>,
    /// Whether it ended while its file was being made.
    ended: bool,
    /// How far it was read, in bytes from the start.
    read_to: u64,
    /// Bytes given out in all.
    given: u64,
    size: u64,
}

/// How far the making of an opening's file is.
pub(super) enum Making {
    NotYet,
    /// Being made; these wait for it.
    Now(Vec<Waiter>),
    Done(Arc<Buffer>),
    Failed(Failure),
}

/// Why an opening has no file.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    /// The source changed first.
    Stale,
    /// The sample can't be made.
    NotMade,
}

impl From<Failure> for FsError {
    fn from(failure: Failure) -> FsError {
        match failure {
            Failure::Stale => FsError::Stale,
            Failure::NotMade => FsError::NotMade,
        }
    }
}

/// Called with the file when it is made.
pub(super) type Waiter = Box<dyn FnOnce(Result<&[u8], FsError>) + Send>;

impl Opening {
    pub(super) fn new(path: PathBuf, stat: Stat, plan: usize, epoch: Option<u64>) -> Opening {
        let state = State {
            file: Making::NotYet,
            draw: None,
            ended: false,
            read_to: 0,
            given: 0,
            size: u64::MAX,
        };
        Opening { path, stat, plan, epoch, state: Mutex::new(state) }
    }

    /// The epoch whose draws it gets, decided at the first call.
    pub(super) fn epoch(&self, draws: &Draws) -> u64 {
        self.epoch.unwrap_or_else(|| {
            *self.state.lock().draw.get_or_insert_with(|| draws.take(&self.path))
        })
    }

    /// Who may keep its bytes.
    pub(super) fn serving(&self) -> Serving {
        match self.epoch {
            Some(_) => Serving::Shared,
            None => Serving::Direct,
        }
    }

    /// Notes that bytes `from..to` of `size` were given out. Whoever shares pages keeps them: once
    /// all were given, the file needn't be held for more reads.
    pub(super) fn note_read(&self, from: u64, to: u64, size: u64) {
        let mut state = self.state.lock();
        state.size = size;
        // Nothing is given from beyond the end: that isn't the last byte.
        if from < to {
            state.read_to = state.read_to.max(to);
        }
        state.given += to - from;
        if self.epoch.is_some() && state.given >= size && matches!(state.file, Making::Done(_)) {
            state.file = Making::NotYet;
            state.given = 0;
        }
    }

    /// How many bytes of memory it holds, and whether its file can't be made.
    pub(super) fn holds(&self) -> (usize, bool) {
        match &self.state.lock().file {
            Making::Done(file) => (file.len(), false),
            Making::Failed(_) => (0, true),
            Making::NotYet | Making::Now(_) => (0, false),
        }
    }

    /// Ends the opening: its draw goes back if the last byte was never read. While its file is
    /// being made that isn't known yet, and who makes it calls this again.
    pub(super) fn end(&self, draws: &Draws) {
        let mut state = self.state.lock();
        state.ended = true;
        if matches!(state.file, Making::Now(_)) {
            return;
        }
        if state.read_to < state.size
            && let Some(draw) = state.draw.take()
        {
            draws.hand_back(&self.path, draw);
        }
    }

    /// Ends it if that was put off.
    pub(super) fn end_late(&self, draws: &Draws) {
        let ended = self.state.lock().ended;
        if ended {
            self.end(draws);
        }
    }
}

/// Everything that is open.
#[derive(Default)]
pub(super) struct Handles {
    next: AtomicU64,
    open: Mutex<HashMap<Fh, Content>>,
}

impl Handles {
    pub(super) fn add(&self, content: Content) -> Fh {
        let fh = Fh(self.next.fetch_add(1, Relaxed) + 1);
        self.open.lock().insert(fh, content);
        fh
    }

    pub(super) fn get(&self, fh: Fh) -> Result<Content, FsError> {
        self.open.lock().get(&fh).cloned().ok_or(FsError::NoSuchOpening)
    }

    pub(super) fn remove(&self, fh: Fh) -> Option<Content> {
        self.open.lock().remove(&fh)
    }

    pub(super) fn len(&self) -> usize {
        self.open.lock().len()
    }
}
