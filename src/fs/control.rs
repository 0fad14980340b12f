//! The folder `.parbake/`: reachable by name and not listed, since loaders take every listed folder
//! for a class.

mod manifest;
mod snapshots;
mod stats;

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::error::FsError;
use super::ino::{Ino, ROOT as TREE_ROOT, View};
use super::serves::{Mode, Serves};
use super::{Attr, Fs, Lasts, Listed};
use snapshots::Snapshots;

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

type Render = fn(&Fs) -> String;

/// The texts that are made where the mount is set up.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The config as resolved, every default filled in.
    pub pipeline: String,
    /// How it is served, and why not in another way.
    pub serving: Serves,
}

pub(super) struct Control {
    texts: Texts,
    snapshots: Snapshots,
    started: Instant,
}

impl Control {
    pub(super) fn new(texts: Texts) -> Control {
        Control { texts, snapshots: Snapshots::default(), started: Instant::now() }
    }

    pub(super) fn mode(&self) -> Mode {
        self.texts.serving.mode
    }

    /// What is under a name. A text gets a snapshot of what it says now, which is known until as
    /// many are [forgotten](Control::forget) as were found.
    pub(super) fn find(&self, folder: u64, name: &OsStr, fs: &Fs) -> Result<Ino, FsError> {
        let name = name.to_str().ok_or(FsError::NoSuchName)?;
        match folder {
            FOLDER_AT if name == "epoch" => Ok(Ino::control(EPOCHS_AT)),
            FOLDER_AT => {
                let at = FILES.iter().position(|(file, _)| *file == name);
                let at = at.ok_or(FsError::NoSuchName)?;
                Ok(Ino::control(self.snapshots.find(at, || FILES[at].1(fs))))
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

    /// Whether this name takes long to find: the manifest looks at every sample of the source.
    pub(super) fn is_slow(&self, folder: u64, name: &OsStr) -> bool {
        folder == FOLDER_AT && name == "manifest.jsonl"
    }

    pub(super) fn attr(&self, ino: Ino, what: u64, fs: &Fs) -> Result<Attr, FsError> {
        let root = fs.exec.source().stat(std::path::Path::new(""))?;
        let folder = what < FIRST_FILE_AT;
        let size = if folder { 0 } else { self.text(what)?.len() };
        Ok(Attr {
            ino,
            folder,
            size: size as u64,
            mode: root.mode & if folder { 0o555 } else { 0o444 },
            uid: root.uid,
            gid: root.gid,
            modified: SystemTime::UNIX_EPOCH,
            // A text's name is another snapshot's before long; a snapshot stays what it is.
            name: if folder { Lasts::Long } else { Lasts::No },
            lasts: if folder { Lasts::Awhile } else { Lasts::Long },
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

    /// What a snapshot says.
    pub(super) fn text(&self, what: u64) -> Result<Arc<[u8]>, FsError> {
        if what < FIRST_FILE_AT {
            return Err(FsError::IsFolder);
        }
        self.snapshots.text(what).ok_or(FsError::Stale)
    }

    /// Takes back that a snapshot was found so many times.
    pub(super) fn forget(&self, what: u64, times: u64) {
        self.snapshots.forget(what, times);
    }
}
