//! Reading: the first read of an opening makes its file, the others wait for it without holding a
//! thread, and all are answered from the same bytes.

use std::io;
use std::mem::replace;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::Fs;
use super::error::FsError;
use super::handle::{Content, Failure, Fh, Making, Opening, Serving, Waiter};
use super::ino::{Ino, Place};
use crate::exec::{Job, MakeError};
use crate::sample::Buffer;
use crate::source::Stat;

/// Where what is read goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To whoever reads.
    Reader,
    /// Into pages that the kernel keeps for all openings of the inode.
    Pages,
}

impl Fs {
    /// Reads up to `len` bytes from `offset` on: fewer only at the end of the file. Answers
    /// through `reply`, now or later.
    pub fn read(
        self: &Arc<Fs>,
        fh: Fh,
        offset: u64,
        len: usize,
        to: To,
        reply: impl FnOnce(Result<&[u8], FsError>) + Send + 'static,
    ) {
        let content = match self.handles.get(fh) {
            Ok(content) => content,
            Err(error) => return reply(Err(error)),
        };
        if to == To::Pages && content.serving() == Serving::Direct {
            return reply(Err(FsError::NotForPages));
        }
        self.read_content(content, offset, len, reply);
    }

    /// The same of an inode, where the kernel answers opens and nothing tells readers apart. Random
    /// samples, whose openings differ, can't be read so.
    pub fn read_unopened(
        self: &Arc<Fs>,
        ino: Ino,
        offset: u64,
        len: usize,
        reply: impl FnOnce(Result<&[u8], FsError>) + Send + 'static,
    ) {
        let content = match ino.place() {
            Place::Control(what) => self.control.text(what).map(Content::Text),
            Place::Tree(view, base) => self
                .tree
                .node(base)
                .and_then(|node| self.held.get(ino).map_or_else(|| self.content(view, &node), Ok)),
        };
        match content {
            Ok(content) if content.serving() == Serving::Direct => {
                reply(Err(FsError::NoSuchOpening));
            }
            Ok(content) => self.read_content(self.held.hold(ino, content), offset, len, reply),
            Err(error) => reply(Err(error)),
        }
    }

    fn read_content(
        self: &Arc<Fs>,
        content: Content,
        offset: u64,
        len: usize,
        reply: impl FnOnce(Result<&[u8], FsError>) + Send + 'static,
    ) {
        match content {
            Content::Text(text) => reply(Ok(&text[within(text.len(), offset, len)])),
            Content::Plain(path, stat) => {
                let left = usize::try_from(stat.size.saturating_sub(offset)).unwrap_or(usize::MAX);
                let mut bytes = Buffer::for_overwrite(len.min(left));
                match self.read_plain(&path, stat, offset, &mut bytes) {
                    Ok(got) => reply(Ok(&bytes[..got])),
                    Err(error) => reply(Err(error)),
                }
            }
            Content::Sample(opening) => self.read_sample(opening, offset, len, reply),
        }
    }

    fn read_plain(
        &self,
        path: &Path,
        stat: Stat,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, FsError> {
        let read = self.exec.read_plain(path, offset, into);
        // Looked at after the reading: what is unchanged now was so then.
        match read.and_then(|got| Ok((got, self.exec.source().stat(path)?))) {
            Ok((got, now)) if now == stat => Ok(got),
            Ok(_) => Err(FsError::Stale),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FsError::Stale),
            Err(error) => Err(error.into()),
        }
    }

    fn read_sample(
        self: &Arc<Fs>,
        opening: Arc<Opening>,
        offset: u64,
        len: usize,
        reply: impl FnOnce(Result<&[u8], FsError>) + Send + 'static,
    ) {
        let give = {
            let opening = Arc::clone(&opening);
            move |file: Result<&[u8], FsError>| match file {
                Ok(file) => {
                    let range = within(file.len(), offset, len);
                    opening.note_read(range.start as u64, range.end as u64, file.len() as u64);
                    reply(Ok(&file[range]));
                }
                Err(error) => reply(Err(error)),
            }
        };
        let mut state = opening.state.lock();
        match &mut state.file {
            Making::Done(file) => {
                let file = Arc::clone(file);
                drop(state);
                give(Ok(&file));
            }
            Making::Failed(failure) => {
                let failure = *failure;
                drop(state);
                give(Err(failure.into()));
            }
            Making::Now(waiters) => waiters.push(Box::new(give)),
            Making::NotYet => {
                state.file = Making::Now(vec![Box::new(give) as Waiter]);
                drop(state);
                let fs = Arc::clone(self);
                self.turns.take(move || fs.make(&opening));
            }
        }
    }

    fn make(&self, opening: &Opening) {
        let job = Job { path: &opening.path, stat: opening.stat, plan: opening.plan };
        let epoch = opening.epoch(&self.draws);
        // Steps catch their own panics; this one is for everything around them, so that those who
        // wait are always answered.
        let made = catch_unwind(AssertUnwindSafe(|| self.exec.serve(job, epoch)));
        let (now, file) = match made {
            Ok(Ok(file)) => {
                let file = Arc::new(file);
                (Making::Done(Arc::clone(&file)), Ok(file))
            }
            Ok(Err(MakeError::Changed)) => (Making::Failed(Failure::Stale), Err(Failure::Stale)),
            Ok(Err(_)) | Err(_) => (Making::Failed(Failure::NotMade), Err(Failure::NotMade)),
        };
        let before = replace(&mut opening.state.lock().file, now);
        let Making::Now(waiters) = before else { return };
        for waiter in waiters {
            waiter(match &file {
                Ok(file) => Ok(file),
                Err(failure) => Err((*failure).into()),
            });
        }
        opening.end_late(&self.draws);
    }
}

/// The part of `0..size` that a read of `len` bytes from `offset` gives.
fn within(size: usize, offset: u64, len: usize) -> Range<usize> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(size);
    start..start.saturating_add(len).min(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_stays_in_the_file() {
        assert_eq!(within(10, 0, 4), 0..4);
        assert_eq!(within(10, 8, 4), 8..10);
        assert_eq!(within(10, 10, 4), 10..10);
        assert_eq!(within(10, u64::MAX, usize::MAX), 10..10);
    }
}
