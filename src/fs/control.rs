//! The folder `.parbake/`: reachable by name and not listed, since loaders take every listed folder
//! for a class.

mod manifest;
mod stats;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::error::FsError;
use super::ino::{Ino, ROOT as TREE_ROOT, View};
use super::{Attr, Fs, Listed};

/// Its name.
pub(super) const FOLDER: &str = ".parbake";

const FOLDER_AT: u64 = 1;
const EPOCHS_AT: u64 = 2;
const FIRST_FILE_AT: u64 = 3;

/// Its inode.
pub(super) const ROOT: Ino = Ino::control(FOLDER_AT);

/// Its files, in the order of their inodes.
const FILES: &[(&str, Render)] = &[
    ("stats", stats::text),
    ("stats.json", stats::json),
    ("metrics", stats::metrics),
    ("pipeline.toml", |fs| fs.control.texts.pipeline.clone()),
    ("manifest.jsonl", manifest::samples),
    ("errors.jsonl", manifest::errors),
];

/// The one that looks at every sample of the source.
const MANIFEST_AT: u64 = FIRST_FILE_AT + 4;

type Render = fn(&Fs) -> String;

/// A `stat` and the `open` after it are to tell the same: a text that is younger than this is not
/// made again. (What is open keeps its own text.)
const FRESH: Duration = Duration::from_secs(1);

/// The texts that are made where the mount is set up.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The config as resolved, every default filled in.
    pub pipeline: String,
    /// How it is served, and why not in another way: lines for `stats`.
    pub serving: String,
}

/// What a file said, and when that was made.
type Text = (Instant, Arc<[u8]>);

pub(super) struct Control {
    texts: Texts,
    made: Mutex<HashMap<u64, Text>>,
    started: Instant,
}

impl Control {
    pub(super) fn new(texts: Texts) -> Control {
        Control { texts, made: Mutex::default(), started: Instant::now() }
    }

    pub(super) fn find(&self, folder: u64, name: &OsStr) -> Result<Ino, FsError> {
        let name = name.to_str().ok_or(FsError::NoSuchName)?;
        match folder {
            FOLDER_AT if name == "epoch" => Ok(Ino::control(EPOCHS_AT)),
            FOLDER_AT => {
                let at = FILES.iter().position(|(file, _)| *file == name);
                at.map(|at| Ino::control(FIRST_FILE_AT + at as u64)).ok_or(FsError::NoSuchName)
            }
            EPOCHS_AT => {
                let epoch: u64 = name.parse().map_err(|_| FsError::NoSuchName)?;
                // One name an epoch: `007` is none.
                if epoch > View::LAST_EPOCH || epoch.to_string() != name {
                    return Err(FsError::NoSuchName);
                }
                Ok(Ino::new(View::Epoch(epoch), TREE_ROOT))
            }
            _ => Err(FsError::NotFolder),
        }
    }

    pub(super) fn is_slow(&self, what: u64) -> bool {
        what == MANIFEST_AT
    }

    /// `open` is the size of the opening that is asked about, if one is.
    pub(super) fn attr(
        &self,
        ino: Ino,
        what: u64,
        open: Option<usize>,
        fs: &Fs,
    ) -> Result<Attr, FsError> {
        let root = fs.exec.source().stat(std::path::Path::new(""))?;
        let folder = what < FIRST_FILE_AT;
        let size = match open {
            Some(size) => size,
            None if folder => 0,
            None => self.text(what, fs)?.len(),
        };
        Ok(Attr {
            ino,
            folder,
            size: size as u64,
            mode: root.mode & if folder { 0o555 } else { 0o444 },
            uid: root.uid,
            gid: root.gid,
            modified: SystemTime::UNIX_EPOCH,
            lasting: false,
        })
    }

    pub(super) fn list(&self, what: u64) -> Result<impl Iterator<Item = Listed<'static>>, FsError> {
        let names = match what {
            FOLDER_AT => FILES.len() + 1,
            // There is one for every number: they can be named but not counted.
            EPOCHS_AT => 0,
            _ => return Err(FsError::NotFolder),
        };
        let files = (FIRST_FILE_AT..).zip(FILES).map(|(at, (name, _))| (at, *name, false));
        let all = std::iter::once((EPOCHS_AT, "epoch", true)).chain(files).take(names);
        Ok((1..).zip(all).map(|(next, (at, name, folder))| Listed {
            ino: Ino::control(at),
            next,
            name: name.as_ref(),
            folder,
        }))
    }

    /// What a file says now.
    pub(super) fn text(&self, what: u64, fs: &Fs) -> Result<Arc<[u8]>, FsError> {
        let at = what.checked_sub(FIRST_FILE_AT).ok_or(FsError::IsFolder)?;
        let (_, render) = FILES.get(at as usize).ok_or(FsError::NoSuchName)?;
        if let Some((when, text)) = self.made.lock().get(&what)
            && when.elapsed() < FRESH
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<[u8]> = render(fs).into_bytes().into();
        self.made.lock().insert(what, (Instant::now(), Arc::clone(&text)));
        Ok(text)
    }
}
