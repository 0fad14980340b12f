//! A reference model of the mount without a kernel: whatever is asked in whatever order while the
//! source changes, the answers are those of the simplest file system that keeps the promise.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

mod many;
mod regressions;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use parbake::cache::{Cache, DiskCache, Options, Policy};
use parbake::exec::{Executor, Plan, Turns};
use parbake::fs::{Attr, Fh, Fs, FsError, Ino, Naming, Opened, Serving, Texts, To};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Split, Strategy as Cut};
use parbake::sample::Codec;
use parbake::source::DirSource;
use parbake::step;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::reference::{self, Kept};

/// Cases that are tried unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 100;

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(30);

const SEED: u64 = 7;

/// Two changes within a tick of the file system's clock may look like one; ticks are at most 10 ms.
/// The mount's promise about such changes is weaker than the model's.
const TICK: Duration = Duration::from_millis(11);

/// The names that files and folders get, chosen to collide when served.
const NAMES: [&str; 9] =
    ["a.jpg", "a.png", "a.npy", "A.jpg", "a.tif", "b", "b.jpg", "a.jpg.npy", "a.jpg.jpg"];

/// Where they are.
const FOLDERS: [&str; 4] = ["", "b", "b/b", "b.jpg"];

/// What is in files: good pictures, one that is too small for its steps, and what is none.
static CONTENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let kinds = [Kept::Jpeg, Kept::Png, Kept::GrayPng, Kept::RgbaPng, Kept::LateJpeg];
    let good = kinds.into_iter().enumerate();
    let mut contents: Vec<Vec<u8>> =
        good.map(|(n, kept)| reference::picture(kept, 9 + n, 12 - n, n as u64)).collect();
    contents.push(reference::picture(Kept::Png, 2, 2, 0));
    contents.push(reference::picture(Kept::Cut, 20, 20, 0));
    contents.push(reference::picture(Kept::Text, 0, 0, 0));
    contents.push(Vec::new());
    contents
});

fn pipeline(steps: &[(&'static str, Value)], output: Output) -> Arc<Pipeline> {
    let steps = steps.iter().map(|(name, parameters)| step::build(name, parameters).unwrap());
    Arc::new(Pipeline::new(steps.collect(), output).unwrap())
}

/// A pipeline for each way in which a size can be known: from the pipeline alone, from the header,
/// and by making it. Other files are served as they are.
fn plans(split: usize, codec: Codec) -> Vec<Plan> {
    let random = pipeline(
        &[("decode_image", json!({})), ("random_crop", json!({ "size": [3, 4] }))],
        Output::Npy,
    );
    let header = pipeline(
        &[("decode_image", json!({ "mode": "l" })), ("random_horizontal_flip", json!({}))],
        Output::Npy,
    );
    let made = pipeline(&[("decode_image", json!({}))], Output::Png);
    let of = |globs: &[&str], pipeline: Arc<Pipeline>| {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let splits: Vec<Split> = pipeline.splits().collect();
        let strategy = Cut { split: splits[split % splits.len()], codec };
        Plan { matcher: Matcher::new(&globs).unwrap(), pipeline, strategy }
    };
    vec![of(&["**/*.jpg"], random), of(&["**/*.png"], header), of(&["**/*.tif"], made)]
}

/// What is asked, answered.
fn ask<T: Send + 'static>(ask: impl FnOnce(Box<dyn FnOnce(T) + Send>)) -> T {
    let (send, answer) = mpsc::channel();
    ask(Box::new(move |answer| send.send(answer).unwrap()));
    answer.recv_timeout(DEADLINE).expect("an answer in time")
}

fn lookup(fs: &Arc<Fs>, parent: Ino, name: &OsStr) -> Result<Attr, FsError> {
    ask(|reply| fs.lookup(parent, name, reply))
}

fn attr(fs: &Arc<Fs>, ino: Ino) -> Result<Attr, FsError> {
    ask(|reply| fs.attr(ino, None, reply))
}

fn open(fs: &Arc<Fs>, ino: Ino) -> Result<Opened, FsError> {
    ask(|reply| fs.open(ino, reply))
}

fn read(fs: &Arc<Fs>, fh: Fh, offset: usize, len: usize) -> Result<Vec<u8>, FsError> {
    ask(|reply| {
        fs.read(fh, offset as u64, len, To::Reader, move |read| reply(read.map(<[u8]>::to_vec)));
    })
}

/// A folder's whole listing, taken in two parts.
fn list(fs: &Fs, ino: Ino) -> Result<Vec<(OsString, Ino, bool)>, FsError> {
    let mut all = Vec::new();
    let mut next = 0;
    fs.list(ino, 0, |entry| {
        next = entry.next;
        all.push((entry.name.to_owned(), entry.ino, entry.folder));
        if all.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    fs.list(ino, next, |entry| {
        all.push((entry.name.to_owned(), entry.ino, entry.folder));
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

/// The root of an epoch's tree.
fn epoch_root(fs: &Arc<Fs>, epoch: u64) -> Ino {
    let control = lookup(fs, Ino::ROOT, OsStr::new(".parbake")).unwrap().ino;
    let epochs = lookup(fs, control, OsStr::new("epoch")).unwrap().ino;
    lookup(fs, epochs, OsStr::new(&epoch.to_string())).unwrap().ino
}

/// What the system says of a file: what has to change for the mount to notice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mark(bool, u64, i64, i64, i64, i64);

fn mark(path: &Path) -> Option<Mark> {
    let data = fs::symlink_metadata(path).ok()?;
    let (changed, nanoseconds) = (data.ctime(), data.ctime_nsec());
    Some(if data.is_dir() {
        Mark(true, 0, 0, 0, 0, 0)
    } else {
        Mark(false, data.len(), data.mtime(), data.mtime_nsec(), changed, nanoseconds)
    })
}

/// An inode that was looked up once.
#[derive(Clone, Debug)]
struct Known {
    ino: Ino,
    path: PathBuf,
    /// `None` in the plain tree.
    epoch: Option<u64>,
    mark: Mark,
}

/// An opening.
#[derive(Clone, Debug)]
struct Opening {
    fh: Fh,
    path: PathBuf,
    plan: Option<usize>,
    /// What the file had when it was opened.
    content: Vec<u8>,
    mark: Mark,
    epoch: Option<u64>,
    serving: Serving,
    /// The draw that the first read got.
    draw: Option<u64>,
    /// Whether its bytes were given, and whether the last one was.
    made: bool,
    to_the_end: bool,
}

/// The draws of a sample.
#[derive(Default)]
struct Draws {
    next: u64,
    back: BTreeSet<u64>,
}

struct Bed {
    folder: TempDir,
    naming: Naming,
    split: usize,
    codec: Codec,
    fs: Arc<Fs>,
    known: Vec<Known>,
    open: Vec<Opening>,
    draws: HashMap<PathBuf, Draws>,
    /// What was made before: making is all that takes long here.
    made: RefCell<HashMap<Asked, Result<Vec<u8>, String>>>,
}

/// Path, content, plan and epoch.
type Asked = (PathBuf, Vec<u8>, usize, u64);

#[derive(Clone, Debug)]
enum Op {
    Open(Index),
    OpenPinned(Index, u64),
    Attr(Index),
    List(Index),
    Read(Index, Index, Index),
    ReadAll(Index),
    Close(Index),
    Write(usize, usize, usize),
    Replace(usize, usize, usize),
    Rename(usize, usize, usize, usize),
    Delete(usize, usize),
    MakeFolder(usize, usize),
    RemoveFolder(usize, usize),
    Evict,
    /// Changes a byte of the cache while nobody looks, and mounts again.
    Damage(Index, Index, u8),
}

fn op() -> impl Strategy<Value = Op> {
    let at = || any::<Index>();
    let (folder, name) = (|| 0..FOLDERS.len(), || 0..NAMES.len());
    let content = || 0..CONTENTS.len();
    prop_oneof![
        6 => at().prop_map(Op::Open),
        2 => (at(), 0..3u64).prop_map(|(at, epoch)| Op::OpenPinned(at, epoch)),
        2 => at().prop_map(Op::Attr),
        1 => at().prop_map(Op::List),
        4 => (at(), at(), at()).prop_map(|(open, from, len)| Op::Read(open, from, len)),
        5 => at().prop_map(Op::ReadAll),
        4 => at().prop_map(Op::Close),
        5 => (folder(), name(), content()).prop_map(|(f, n, c)| Op::Write(f, n, c)),
        2 => (folder(), name(), content()).prop_map(|(f, n, c)| Op::Replace(f, n, c)),
        2 => (folder(), name(), folder(), name()).prop_map(|(f, n, g, m)| Op::Rename(f, n, g, m)),
        1 => (folder(), name()).prop_map(|(f, n)| Op::Delete(f, n)),
        1 => (folder(), name()).prop_map(|(f, n)| Op::MakeFolder(f, n)),
        1 => (folder(), name()).prop_map(|(f, n)| Op::RemoveFolder(f, n)),
        1 => Just(Op::Evict),
        1 => (at(), at(), 1..=255u8).prop_map(|(pack, at, by)| Op::Damage(pack, at, by)),
    ]
}

fn mount(folder: &Path, naming: Naming, split: usize, codec: Codec) -> Arc<Fs> {
    let options =
        Options { path: folder.join("cache"), limit: u64::MAX, min_free: 0, policy: Policy::Keep };
    let cache: Arc<dyn Cache> = Arc::new(DiskCache::open(options).unwrap());
    let source = Arc::new(DirSource::open(&folder.join("set")).unwrap());
    let exec = Executor::new(source, Some(cache), plans(split, codec), SEED);
    Arc::new(Fs::new(Arc::new(exec), Arc::new(Turns::new(2)), naming, Texts::default()))
}

impl Bed {
    fn new(naming: Naming, split: usize, codec: Codec) -> Bed {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("set");
        fs::create_dir_all(root.join("b/b")).unwrap();
        for (path, content) in
            [("a.jpg", 0), ("a.png", 1), ("a.tif", 2), ("b/a.jpg", 3), ("a.npy", 7)]
        {
            fs::write(root.join(path), &CONTENTS[content]).unwrap();
        }
        let fs = mount(folder.path(), naming, split, codec);
        Bed {
            folder,
            naming,
            split,
            codec,
            fs,
            known: Vec::new(),
            open: Vec::new(),
            draws: HashMap::new(),
            made: RefCell::default(),
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        self.folder.path().join("set").join(path)
    }

    fn plan(&self, path: &Path) -> Option<usize> {
        self.fs.exec().plan_for(path)
    }

    fn made(
        &self,
        path: &Path,
        content: &[u8],
        plan: Option<usize>,
        epoch: u64,
    ) -> Result<Vec<u8>, String> {
        let Some(plan) = plan else { return Ok(content.to_vec()) };
        let asked = (path.to_owned(), content.to_owned(), plan, epoch);
        let mut made = self.made.borrow_mut();
        let make = || {
            let pipeline = &self.fs.exec().plans()[plan].pipeline;
            reference::made(pipeline, path, content, SEED, epoch).map(|(_, file)| file)
        };
        made.entry(asked).or_insert_with(make).clone()
    }

    /// What a folder has to show: served name, source name, whether it is a folder.
    fn shown(&self, folder: &Path) -> BTreeMap<String, (PathBuf, bool)> {
        let listed = self.real(folder).read_dir().unwrap();
        let mut found: Vec<(String, bool)> = listed
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name().into_string().unwrap(), entry.path().is_dir())
            })
            .collect();
        found.sort();
        let extension = |name: &str, is_folder: bool| {
            let plan = self.plan(&folder.join(name)).filter(|_| !is_folder)?;
            Some(self.fs.exec().plans()[plan].pipeline.output().extension())
        };
        let wanted: Vec<String> = found
            .iter()
            .map(|(name, is_folder)| match (extension(name, *is_folder), self.naming) {
                (None, _) => name.clone(),
                (Some(end), Naming::Append) => format!("{name}.{end}"),
                (Some(end), Naming::Replace) => {
                    format!("{}.{end}", name.rsplit_once('.').unwrap().0)
                }
            })
            .collect();
        let mut shown = BTreeMap::new();
        for ((name, is_folder), served) in found.iter().zip(&wanted) {
            let mut served = served.clone();
            if let Some(end) = extension(name, *is_folder)
                && wanted.iter().filter(|other| **other == served).count() > 1
            {
                served = format!("{name}.{end}");
                while wanted.contains(&served) || shown.contains_key(&served) {
                    served = format!("{served}.{end}");
                }
            }
            let before = shown.insert(served, (folder.join(name), *is_folder));
            assert!(before.is_none(), "two files of one name");
        }
        shown
    }

    /// Looks at every name, and compares what is told of it.
    fn compare(&mut self, folder: &Path, ino: Ino, epoch: Option<u64>) {
        let shown = self.shown(folder);
        let list = |bed: &Bed| {
            let listed = list(&bed.fs, ino).unwrap().into_iter();
            listed.map(|(name, ino, folder)| (name, (ino, folder))).collect::<BTreeMap<_, _>>()
        };
        let listed = list(self);
        let names = |names: &BTreeMap<OsString, (Ino, bool)>| -> Vec<(OsString, bool)> {
            names.iter().map(|(name, (_, folder))| (name.clone(), *folder)).collect()
        };
        let expected: Vec<(OsString, bool)> =
            shown.iter().map(|(name, (_, folder))| (name.into(), *folder)).collect();
        assert_eq!(names(&listed), expected, "in {folder:?}");
        let mut found = BTreeMap::new();
        for (name, (path, is_folder)) in shown {
            let told = lookup(&self.fs, ino, OsStr::new(&name)).unwrap();
            assert_eq!(told.folder, is_folder, "{path:?}");
            found.insert(OsString::from(name), told.ino);
            self.meet(told, &path, epoch);
            if is_folder {
                self.compare(&path, told.ino, epoch);
            }
        }
        for (name, (listed, _)) in list(self) {
            assert_eq!(listed, found[&name], "{name:?} is listed under another number");
        }
        for gone in ["no", "a.jpg.jpg.jpg", ".parbake2", "a.jpg/x"] {
            let error = lookup(&self.fs, ino, OsStr::new(gone)).unwrap_err();
            assert!(matches!(error, FsError::NoSuchName), "{error:?}");
        }
    }

    /// Compares what is told of an inode now, and remembers it.
    fn meet(&mut self, told: Attr, path: &Path, epoch: Option<u64>) {
        let mark = mark(&self.real(path)).unwrap();
        for known in &self.known {
            let same = known.path == path && known.epoch == epoch && known.mark == mark;
            assert_eq!(known.ino == told.ino, same, "{known:?} and {path:?} {mark:?} {told:?}");
        }
        if !self.known.iter().any(|known| known.ino == told.ino) {
            self.known.push(Known { ino: told.ino, path: path.to_owned(), epoch, mark });
        }
        if !told.folder {
            let content = fs::read(self.real(path)).unwrap();
            let made = self.made(path, &content, self.plan(path), epoch.unwrap_or(0));
            // One that can't be made may have the size that it would have.
            if let Ok(made) = made {
                assert_eq!(told.size, made.len() as u64, "size of {path:?}");
            }
        }
    }

    fn change(&mut self, change: impl FnOnce(&Bed) -> std::io::Result<()>) {
        std::thread::sleep(TICK);
        // What can't be done (no such file, a folder in the way) changes nothing.
        let _ = change(self);
    }

    fn run(&mut self, op: &Op) {
        let at = |folder: usize, name: usize| Path::new(FOLDERS[folder]).join(NAMES[name]);
        match op {
            Op::Open(which) => {
                let known = which.get(&self.known).clone();
                self.open(&known);
            }
            Op::OpenPinned(which, epoch) => {
                let path = which.get(&self.known).path.clone();
                self.open_pinned(&path, *epoch);
            }
            Op::Attr(which) => self.attr(&which.get(&self.known).clone()),
            Op::List(which) => {
                let known = which.get(&self.known).clone();
                let now = mark(&self.real(&known.path));
                let is_folder = known.mark.0 && now == Some(known.mark);
                assert_eq!(list(&self.fs, known.ino).is_ok(), is_folder, "{:?}", known.path);
            }
            Op::Read(which, from, len) if !self.open.is_empty() => {
                let at = which.index(self.open.len());
                self.read(at, from.index(600), len.index(600));
            }
            Op::ReadAll(which) if !self.open.is_empty() => {
                self.read(which.index(self.open.len()), 0, 1 << 20);
            }
            Op::Close(which) if !self.open.is_empty() => {
                let opening = self.open.swap_remove(which.index(self.open.len()));
                self.fs.close(opening.fh);
                assert!(matches!(read(&self.fs, opening.fh, 0, 1), Err(FsError::NoSuchOpening)));
                if let Some(draw) = opening.draw.filter(|_| !opening.to_the_end) {
                    self.draws.get_mut(&opening.path).unwrap().back.insert(draw);
                }
            }
            Op::Read(..) | Op::ReadAll(_) | Op::Close(_) => {}
            Op::Write(f, n, c) => {
                self.change(|bed| fs::write(bed.real(&at(*f, *n)), &CONTENTS[*c]));
            }
            Op::Replace(f, n, c) => self.change(|bed| {
                let beside = bed.folder.path().join("beside");
                fs::write(&beside, &CONTENTS[*c])?;
                fs::rename(beside, bed.real(&at(*f, *n)))
            }),
            Op::Rename(f, n, g, m) => {
                self.change(|bed| fs::rename(bed.real(&at(*f, *n)), bed.real(&at(*g, *m))));
            }
            Op::Delete(f, n) => self.change(|bed| fs::remove_file(bed.real(&at(*f, *n)))),
            Op::MakeFolder(f, n) => self.change(|bed| fs::create_dir(bed.real(&at(*f, *n)))),
            Op::RemoveFolder(f, n) => {
                self.change(|bed| fs::remove_dir_all(bed.real(&at(*f, *n))));
            }
            Op::Evict => fs::remove_dir_all(self.folder.path().join("cache")).unwrap_or_default(),
            Op::Damage(pack, at, by) => self.damage(*pack, *at, *by),
        }
    }

    fn damage(&mut self, pack: Index, at: Index, by: u8) {
        self.known.clear();
        self.open.clear();
        self.draws.clear();
        if let Ok(listed) = self.folder.path().join("cache/parbake-v1/packs").read_dir() {
            let mut packs: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
            packs.sort();
            if !packs.is_empty() {
                let path = pack.get(&packs);
                let mut bytes = fs::read(path).unwrap();
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= by;
                    fs::write(path, bytes).unwrap();
                }
            }
        }
        self.fs = mount(self.folder.path(), self.naming, self.split, self.codec);
    }

    fn attr(&self, known: &Known) {
        let now = mark(&self.real(&known.path));
        match attr(&self.fs, known.ino) {
            // Of what was there earlier, a file system may tell what it knew.
            Ok(told) => assert_eq!(told.folder, known.mark.0, "{known:?} {now:?}"),
            Err(error) => assert_ne!(now.as_ref(), Some(&known.mark), "{known:?}: {error}"),
        }
    }

    /// Follows served names down to a source path in the tree of an epoch.
    fn open_pinned(&mut self, path: &Path, epoch: u64) {
        if mark(&self.real(path)).is_none() {
            return;
        }
        let mut ino = epoch_root(&self.fs, epoch);
        let mut folder = PathBuf::new();
        for part in path {
            let shown = self.shown(&folder);
            folder.push(part);
            let (name, _) = shown.iter().find(|(_, (source, _))| *source == folder).unwrap();
            let told = lookup(&self.fs, ino, OsStr::new(name)).unwrap();
            ino = told.ino;
            self.meet(told, &folder, Some(epoch));
        }
        let known = self.known.iter().find(|known| known.ino == ino).unwrap().clone();
        self.open(&known);
    }

    fn open(&mut self, known: &Known) {
        let now = mark(&self.real(&known.path));
        let opened = open(&self.fs, known.ino);
        if known.mark.0 {
            assert!(matches!(opened, Err(FsError::IsFolder)), "{known:?}");
            return;
        }
        match &now {
            None => {
                return assert!(matches!(opened, Err(FsError::Source(_))), "{known:?} {opened:?}");
            }
            Some(now) if *now != known.mark => {
                return assert!(matches!(opened, Err(FsError::Stale)), "{known:?} {opened:?}");
            }
            Some(_) => {}
        }
        let plan = self.plan(&known.path);
        let content = fs::read(self.real(&known.path)).unwrap();
        let fixed =
            plan.is_some_and(|plan| self.fs.exec().plans()[plan].pipeline.is_deterministic());
        let epoch = if fixed { Some(0) } else { known.epoch };
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                assert!(matches!(error, FsError::NotMade), "{known:?}: {error:?}");
                let made = self.made(&known.path, &content, plan, epoch.unwrap_or(0));
                return assert!(made.is_err(), "{known:?} can be made");
            }
        };
        let direct = plan.is_some() && epoch.is_none();
        assert_eq!(opened.serving == Serving::Direct, direct, "{known:?}");
        self.open.push(Opening {
            fh: opened.fh,
            path: known.path.clone(),
            plan,
            content,
            mark: known.mark.clone(),
            epoch,
            serving: opened.serving,
            draw: None,
            made: false,
            to_the_end: false,
        });
    }

    fn read(&mut self, at: usize, from: usize, len: usize) {
        let mut opening = self.open[at].clone();
        let unchanged = mark(&self.real(&opening.path)).as_ref() == Some(&opening.mark);
        let direct = opening.serving == Serving::Direct;
        if direct && opening.draw.is_none() {
            let draws = self.draws.entry(opening.path.clone()).or_default();
            opening.draw = Some(draws.back.pop_first().unwrap_or_else(|| {
                draws.next += 1;
                draws.next - 1
            }));
        }
        let epoch = opening.draw.or(opening.epoch).unwrap_or(0);
        let made = self.made(&opening.path, &opening.content, opening.plan, epoch);
        let got = read(&self.fs, opening.fh, from, len);
        match (&got, &made) {
            (Ok(got), Ok(made)) => {
                let start = from.min(made.len());
                let end = (start + len).min(made.len());
                assert_eq!(got, &made[start..end], "{from}, {len} of {opening:?}");
                opening.made = true;
                opening.to_the_end |= end == made.len() && (end > start || made.is_empty());
            }
            (Err(error), made) => {
                let kept = direct && opening.made;
                assert!(!kept && (made.is_err() || !unchanged), "{error}: {opening:?}");
                let expected = if opening.plan.is_none() {
                    matches!(error, FsError::Stale | FsError::Source(_))
                } else {
                    matches!(error, FsError::Stale | FsError::NotMade)
                };
                assert!(expected, "{error:?}: {opening:?}");
            }
            (Ok(_), Err(error)) => panic!("{opening:?} was made, though {error}"),
        }
        self.open[at] = opening;
    }
}

fn follows_the_model(naming: Naming, split: usize, codec: Codec, ops: &[Op]) {
    let mut bed = Bed::new(naming, split, codec);
    bed.compare(Path::new(""), Ino::ROOT, None);
    for op in ops {
        bed.run(op);
        bed.compare(Path::new(""), Ino::ROOT, None);
    }
}

#[test]
fn the_mount_does_what_the_simplest_file_system_does() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let naming = prop_oneof![3 => Just(Naming::Replace), 1 => Just(Naming::Append)];
    let codec = prop_oneof![Just(Codec::None), Just(Codec::Lz4)];
    let ops = prop::collection::vec(op(), 1..60);
    proptest!(config, |(naming in naming, split in 0..3usize, codec in codec, ops in ops)| {
        follows_the_model(naming, split, codec, &ops);
    });
}
