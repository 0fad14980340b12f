//! `parbake export`: the served files as a plain folder, for places without FUSE.
//!
//! It reads the very tree that a mount shows, so that it can't come out another.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};

use clap::Args;
use parking_lot::Mutex;

use super::ConfigArgs;
use super::say::{Done, Failure, Progress, talk};
use super::setup::{Setup, cores, some_threads, stop_flag};
use crate::exec::Turns;
use crate::fs::{Attr, Fh, Fs, FsError, Ino, Texts, To};
use crate::units::{bytes, count};

const EXAMPLES: &str = "\
Random samples get the draws of one epoch: the files are those of MOUNTPOINT/.parbake/epoch/N/.
Ctrl-C and run it again, and it goes on where it stopped: what is there is left as it is. The file
.parbake-export says what a folder is an export of; one of anything else is refused.

Examples:
  parbake export photos.toml /data/photos-npy
  parbake export photos.toml /data/photos-epoch-3 --epoch 3";

/// Write every served file to a plain folder, byte for byte what a mount would serve
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    #[command(flatten)]
    config: ConfigArgs,

    /// The folder to write to; made if it isn't there
    folder: PathBuf,

    /// The epoch whose random draws the samples get
    #[arg(long, value_name = "N", default_value_t = 0)]
    epoch: u64,

    /// Samples to make at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = some_threads)]
    threads: Option<std::num::NonZeroUsize>,
}

/// A file to write.
struct Served {
    path: PathBuf,
    /// The served folder that it is in, under the same name.
    parent: Ino,
}

/// Says what a folder is an export of. What is left as it is must have come of the same.
const MARKER: &str = ".parbake-export";

/// Bytes that are asked for at a time.
const PART: usize = 8 << 20;

impl Export {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        let setup = Setup::new(&self.config)?;
        setup.mention_missing_strategy(&self.config.config);
        let folder = self.prepare(&setup)?;
        let threads = self.threads.map_or_else(cores, usize::from);
        let exec = Arc::new(setup.executor()?);
        let turns = Arc::new(Turns::new(threads));
        let fs = Arc::new(Fs::new(exec, turns, setup.config.naming, Texts::default()));

        let looking = Progress::new("files found", 0);
        let mut files = Vec::new();
        let root = self.root(&fs)?;
        walk(&fs, root, &folder, &mut files, &|found| {
            looking.at(found);
            !stop.load(Relaxed)
        })?;
        looking.end();

        let progress = Progress::new("files", files.len());
        let [next, done, bad, written] = [const { AtomicUsize::new(0) }; 4];
        let first_error = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(file) = files.get(next.fetch_add(1, Relaxed)) {
                        if stop.load(Relaxed) || first_error.lock().is_some() {
                            break;
                        }
                        match write(&fs, file) {
                            Ok(size) => written.fetch_add(size, Relaxed),
                            Err(Trouble::Sample) => bad.fetch_add(1, Relaxed),
                            Err(Trouble::Disk(error)) => {
                                first_error.lock().get_or_insert((file.path.clone(), error));
                                break;
                            }
                        };
                        progress.at(done.fetch_add(1, Relaxed) + 1);
                    }
                });
            }
        });
        progress.end();
        if let Some((path, error)) = first_error.into_inner() {
            return Err(Failure::new(format_args!("cannot write {}: {error}", path.display())));
        }
        let bad = bad.into_inner();
        talk(format_args!(
            "{} of {} files are in {}, {} written now, {} bad",
            count((done.into_inner() - bad) as u64),
            count(files.len() as u64),
            folder.display(),
            bytes(written.into_inner() as u64),
            count(bad as u64),
        ));
        if stop.load(Relaxed) {
            talk("interrupted: run the same command again to go on");
            return Ok(super::interrupted());
        }
        Ok(if bad > 0 { super::some_failed() } else { ExitCode::SUCCESS })
    }

    /// The folder, made, and apart from the source and the cache.
    fn prepare(&self, setup: &Setup) -> Result<PathBuf, Failure> {
        let shown = self.folder.display();
        let failed = |error: io::Error| Failure::new(format_args!("cannot use {shown}: {error}"));
        let folder = std::path::absolute(&self.folder).map_err(failed)?;
        for (what, other) in [("source", &setup.source), ("cache", &setup.cache)] {
            if folder.starts_with(other) || other.starts_with(&folder) {
                return Err(Failure::usage(format_args!(
                    "the folder {shown} and the {what} {} overlap",
                    other.display()
                )));
            }
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        let (marker, mark) = (folder.join(MARKER), self.mark(setup));
        match fs::read_to_string(&marker) {
            Ok(found) if found == mark => {}
            Ok(_) => {
                return Err(Failure::usage(format_args!("{shown} is an export of something else"))
                    .hint(
                        "files of both would be mixed: name another folder, or remove this one",
                    ));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Err(_) if fs::read_dir(&folder).map_err(failed)?.next().is_some() => {
                return Err(Failure::usage(format_args!("{shown} isn't empty, and no export"))
                    .hint("name another folder"));
            }
            Err(_) => fs::write(&marker, mark).map_err(failed)?,
        }
        folder.canonicalize().map_err(failed)
    }

    /// Everything that decides what is exported.
    fn mark(&self, setup: &Setup) -> String {
        let config = &setup.config;
        let mut mark = format!(
            "parbake {}\nsource {}\nepoch {}\nseed {}\nnaming {:?}\n",
            env!("CARGO_PKG_VERSION"),
            setup.source.display(),
            self.epoch,
            config.seed,
            config.naming,
        );
        for plan in &config.plans {
            let (globs, output) = (plan.matcher.patterns().join(" "), plan.pipeline.output());
            mark.push_str(&format!("pipeline {globs} -> {output}\n"));
            for (name, parameters) in plan.pipeline.names().zip(plan.pipeline.parameters()) {
                mark.push_str(&format!("  {name} {parameters}\n"));
            }
        }
        mark
    }

    /// The root of the epoch's view.
    fn root(&self, fs: &Arc<Fs>) -> Result<Ino, Failure> {
        let mut ino = Ino::ROOT;
        for name in [".parbake", "epoch", &self.epoch.to_string()] {
            let found = answer(|reply| fs.lookup(ino, name.as_ref(), reply));
            ino = found.map(|attr: Attr| attr.ino).map_err(|_| {
                Failure::usage(format_args!("epoch {} is beyond the last one", self.epoch))
            })?;
        }
        Ok(ino)
    }
}

/// Every file below a folder; the folders are made on the way. What `go_on` is told is the count.
fn walk(
    fs: &Arc<Fs>,
    ino: Ino,
    to: &Path,
    files: &mut Vec<Served>,
    go_on: &dyn Fn(usize) -> bool,
) -> Result<(), Failure> {
    fs::create_dir_all(to)
        .map_err(|error| Failure::new(format_args!("cannot make {}: {error}", to.display())))?;
    let mut folders = Vec::new();
    let listed = fs.list(ino, 0, |entry| {
        let path = to.join(entry.name);
        if entry.folder {
            folders.push((entry.name.to_owned(), path));
        } else {
            files.push(Served { path, parent: ino });
        }
        ControlFlow::Continue(())
    });
    if let Err(error) = listed {
        log::warn!("left out: {}: {error}", to.display());
    }
    for (name, path) in folders {
        if !go_on(files.len()) {
            break;
        }
        match answer(|reply| fs.lookup(ino, &name, reply)) {
            Ok(attr) => walk(fs, attr.ino, &path, files, go_on)?,
            Err(error) => log::warn!("left out: {}: {error}", path.display()),
        }
    }
    Ok(())
}

/// Why a file wasn't written.
enum Trouble {
    /// It can't be made: that costs this one.
    Sample,
    /// The folder can't be written to: that ends it.
    Disk(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Disk(error)
    }
}

/// What can't be served has its line in the log from where it was made, but for a file that was
/// taken away meanwhile.
impl From<FsError> for Trouble {
    fn from(_: FsError) -> Trouble {
        Trouble::Sample
    }
}

/// Writes one file unless it is there, and tells how many bytes that were. It is written beside its
/// place and then moved there: what has the name is whole.
fn write(fs: &Arc<Fs>, file: &Served) -> Result<usize, Trouble> {
    let name = file.path.file_name().unwrap_or_default();
    let attr = answer(|reply| fs.lookup(file.parent, name, reply))?;
    let there = |found: &fs::Metadata| {
        found.len() == attr.size && found.modified().is_ok_and(|time| time == attr.modified)
    };
    if attr.size > 0 && fs::metadata(&file.path).is_ok_and(|found| there(&found)) {
        return Ok(0);
    }
    let opened = answer(|reply| fs.open(attr.ino, reply))?;
    let fresh = file.path.with_file_name(format!(".parbake-{}-{}", std::process::id(), attr.ino.0));
    let done = copy(fs, opened.fh, &attr, &fresh)
        .and_then(|size| Ok(fs::rename(&fresh, &file.path).map(|()| size)?));
    fs.close(opened.fh);
    if done.is_err() {
        // Not there if it couldn't be made.
        let _ = fs::remove_file(&fresh);
    }
    done
}

fn copy(fs: &Arc<Fs>, fh: Fh, attr: &Attr, to: &Path) -> Result<usize, Trouble> {
    let mut size = 0;
    let mut part = answer(|reply| read(fs, fh, 0, reply))?;
    // The first part is the sample made: before, there is nothing to write.
    let mut out = File::create(to)?;
    while !part.is_empty() {
        out.write_all(&part)?;
        size += part.len();
        part = answer(|reply| read(fs, fh, size as u64, reply))?;
    }
    out.set_permissions(fs::Permissions::from_mode(u32::from(attr.mode) | 0o200))?;
    out.set_modified(attr.modified)?;
    Ok(size)
}

fn read(
    fs: &Arc<Fs>,
    fh: Fh,
    offset: u64,
    reply: impl FnOnce(Result<Vec<u8>, FsError>) + Send + 'static,
) {
    fs.read(fh, offset, PART, To::Reader, move |got| reply(got.map(<[u8]>::to_vec)));
}

/// How a request is answered.
type Reply<T> = Box<dyn FnOnce(Result<T, FsError>) + Send>;

/// The answer to a request, waited for.
fn answer<T: Send + 'static>(ask: impl FnOnce(Reply<T>)) -> Result<T, FsError> {
    let (tell, told) = mpsc::channel();
    // Nobody else listens, and this waits for it below.
    ask(Box::new(move |result| drop(tell.send(result))));
    told.recv().unwrap_or(Err(FsError::NotMade))
}
