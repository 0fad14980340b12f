//! `parbake explain`: what becomes of a file, and where its result is kept.

mod why;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::say::{self, Done, Failure, talk};
use super::setup::Setup;
use super::unmount::mounts;
use super::{ConfigArgs, contents};
use crate::cache::{Care, Key, PackFile, Record, Scanned};
use crate::config::Config;
use crate::exec::{Executor, Job};
use crate::fs::{Shown, shown};
use crate::pipeline::Split;
use crate::sample::stored_spec;
use crate::source::Stat;
use crate::units::bytes;

const EXAMPLES: &str = "\
A path is one within the source, one within a mount, or one that leads from where you are, or from
the root on, to below the source or a mount of it.

Examples:
  parbake explain photos.toml cat/1.jpg
  parbake explain photos.toml /mnt/photos/cat/1.npy
  parbake explain photos.toml cat/*.jpg --json | jq -r '.[] | select(.state != \"kept\") | .source'";

/// Say what becomes of a file, and where the cache has its result
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Explain {
    #[command(flatten)]
    config: ConfigArgs,

    /// Files of the source, or served ones
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// As JSON (docs/CACHE.md)
    #[arg(long)]
    json: bool,
}

/// A file of the source, and what is shown of it.
struct File {
    /// The path within the source.
    source: PathBuf,
    /// The path within a mount.
    served: PathBuf,
    /// What it is made by; none if it is served as it is.
    plan: Option<usize>,
    /// What its offline result is kept under; none if nothing is kept.
    key: Option<Key>,
    stat: Stat,
    /// Why its result isn't in the cache, if it should be and isn't.
    why: Option<String>,
}

impl File {
    fn job(&self) -> Option<Job<'_>> {
        Some(Job { path: &self.source, stat: self.stat, plan: self.plan? })
    }
}

/// Where an entry is.
enum Place<'a> {
    Kept { pack: &'a PackFile, record: &'a Record, makes: String },
    Damaged { pack: &'a PackFile, record: &'a Record, cause: String },
    Absent,
}

impl Explain {
    pub(super) fn run(self) -> Done {
        let setup = Setup::new(&self.config)?;
        let exec = Executor::new(
            setup.open_source()?,
            None,
            setup.config.plans.clone(),
            setup.config.seed,
        )
        .identified_by(setup.config.identified_by);
        let (mut files, mut missing) = (Vec::new(), false);
        for path in &self.paths {
            match find(&setup, &exec, path) {
                Ok(file) => files.push(file),
                Err(why) => {
                    talk(format_args!("error: {}: {why}", path.display()));
                    missing = true;
                }
            }
        }
        let care = Care::of(&setup.cache).filter(|_| files.iter().any(|file| file.key.is_some()));
        let scanned = match &care {
            None => Vec::new(),
            Some(care) => care.scan().map_err(|error| {
                Failure::new(format_args!("cannot read {}: {error}", care.folder().display()))
            })?,
        };
        let notes = care.as_ref().map_or_else(Vec::new, Care::dated_notes);
        let known = why::known(notes, &setup.source.to_string_lossy());
        let others = |file: &File| -> Vec<Key> {
            let Some(job) = file.job() else { return Vec::new() };
            known.iter().filter_map(|known| known.key(&exec, job)).collect()
        };
        let keys = files.iter().flat_map(|file| file.key.into_iter().chain(others(file)));
        let places = places(&scanned, keys);
        let place = |key: &Key| place(care.as_ref(), &places, key);
        for file in &mut files {
            let (Some(key), Some(job)) = (file.key, file.job()) else { continue };
            if matches!(place(&key), Place::Absent) {
                let plan = &setup.config.plans[job.plan];
                let wanted = contents::text(&setup.source, plan);
                let wanted = wanted.and_then(|text| contents::parse(&text)).unwrap_or_default();
                let is_there = |other: &why::Known| {
                    other
                        .key(&exec, job)
                        .is_some_and(|key| matches!(place(&key), Place::Kept { .. }))
                };
                file.why = Some(why::why(&wanted, &file.stat, &known, is_there));
            }
        }
        if self.json {
            let all: Vec<Value> = files.iter().map(|f| as_json(f, &setup, &place)).collect();
            say::data(&format!("{:#}\n", Value::Array(all)))?;
        } else {
            let all: Vec<String> = files.iter().map(|f| as_text(f, &setup, &place)).collect();
            say::data(&all.join("\n"))?;
        }
        Ok(if missing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The file that a path means.
fn find(setup: &Setup, exec: &Executor, path: &Path) -> Result<File, String> {
    let relative: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let within = || {
        named(setup, exec, &relative, Name::Source)
            .or_else(|| named(setup, exec, plain(&relative), Name::Served))
    };
    let found = path.is_relative().then(within).flatten();
    let (folder, shown) = match found {
        Some(found) => found,
        None => find_absolute(setup, exec, path)?,
    };
    if shown.folder {
        return Err("a folder: name files".to_owned());
    }
    let source = folder.join(&shown.source);
    let stat = exec.source().stat(&source).map_err(|error| error.to_string())?;
    let key = shown.plan.and_then(|plan| exec.key_of(Job { path: &source, stat, plan }));
    Ok(File { served: folder.join(&shown.served), source, plan: shown.plan, key, stat, why: None })
}

/// The file that a path from the root on means, or one from where the program was started.
fn find_absolute(setup: &Setup, exec: &Executor, path: &Path) -> Result<(PathBuf, Shown), String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    // Mounts and sources are known by folders without links.
    let real = in_real_folder(&path);
    let source = setup.source.display();
    let found = if let Some((mount, served)) = below_mount(&real) {
        if !serves(&mount, setup) {
            let mount = mount.display();
            return Err(format!("the mount {mount} isn't one of the source {source}"));
        }
        named(setup, exec, &served, Name::Served)
    } else {
        let real_source = setup.source.canonicalize().unwrap_or_default();
        let inside =
            path.strip_prefix(&setup.source).or_else(|_| real.strip_prefix(&real_source)).ok();
        inside.and_then(|inside| named(setup, exec, inside, Name::Source))
    };
    found.ok_or_else(|| format!("not in the source {source}"))
}

/// Which of a file's names is given.
#[derive(Clone, Copy)]
enum Name {
    Source,
    Served,
}

/// The folder and the file that a path within the source or a mount means.
fn named(setup: &Setup, exec: &Executor, path: &Path, name: Name) -> Option<(PathBuf, Shown)> {
    let (folder, last) = (path.parent()?, path.file_name()?);
    let is_it = |shown: &Shown| match name {
        Name::Source => shown.source == last,
        Name::Served => shown.served == last,
    };
    let shown = shown(exec, setup.config.naming, folder).ok()?.into_iter().find(is_it)?;
    Some((folder.to_owned(), shown))
}

/// The path with its folder's links followed, as mounts and sources are known by.
fn in_real_folder(path: &Path) -> PathBuf {
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The mount that the path is below, and the served path in it.
fn below_mount(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let below = |mount: PathBuf| {
        let inside = plain(path.strip_prefix(&mount).ok()?).to_owned();
        Some((mount, inside))
    };
    // A mount inside of another hides it.
    mounts().into_iter().filter_map(below).max_by_key(|(mount, _)| mount.components().count())
}

/// Whether a mount serves the config's source.
fn serves(mount: &Path, setup: &Setup) -> bool {
    let config = Config::load(&mount.join(".parbake/pipeline.toml")).ok();
    let real = |source: &Path| source.canonicalize().ok();
    config
        .and_then(|config| real(&config.source?))
        .is_some_and(|it| Some(it) == real(&setup.source))
}

/// The path in the plain tree, of one in a pinned epoch.
fn plain(path: &Path) -> &Path {
    let mut parts = path.components();
    let pinned = [".parbake", "epoch"]
        .iter()
        .all(|word| parts.next().is_some_and(|part| part.as_os_str() == OsStr::new(word)));
    match parts.next() {
        Some(_) if pinned => parts.as_path(),
        _ => path,
    }
}

/// Records by key.
type Places<'a> = HashMap<Key, Vec<(&'a PackFile, &'a Record)>>;

/// The records of these keys.
fn places(scanned: &[Scanned], keys: impl Iterator<Item = Key>) -> Places<'_> {
    let mut places: Places = keys.map(|key| (key, Vec::new())).collect();
    for Scanned { pack, records } in scanned {
        for record in records {
            if let Some(found) = places.get_mut(&record.key) {
                found.push((pack, record));
            }
        }
    }
    places
}

/// The first of a key's records that is whole, else one that is damaged.
fn place<'a>(care: Option<&Care>, places: &Places<'a>, key: &Key) -> Place<'a> {
    let mut found = Place::Absent;
    let Some(care) = care else { return found };
    for &(pack, record) in places.get(key).into_iter().flatten() {
        match care.read(pack, record) {
            Ok(entry) => {
                let makes = stored_spec(&entry.meta).map(|spec| spec.to_string());
                let makes = makes.unwrap_or_else(|error| error.to_string());
                return Place::Kept { pack, record, makes };
            }
            Err(error) => found = Place::Damaged { pack, record, cause: error.to_string() },
        }
    }
    found
}

fn as_text<'a>(file: &File, setup: &Setup, place: &impl Fn(&Key) -> Place<'a>) -> String {
    let mut out = format!("{}\n", file.source.display());
    let mut row = |name: &str, text: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<9}{text}");
    };
    row("served", &file.served.display().to_string());
    let Some(number) = file.plan else {
        row("pipeline", "none matches: it is served as it is");
        return out;
    };
    let plan = &setup.config.plans[number];
    row("pipeline", &format!("{}, {}", number + 1, plan.matcher.patterns().join(" ")));
    let Some(key) = file.key else {
        row("split", "none: nothing of it is kept, every reading starts at the source");
        return out;
    };
    let split = plan.pipeline.split_name(plan.strategy.split);
    row("split", &format!("{split}, codec `{}`", plan.strategy.codec));
    row("key", &key.to_string());
    let at = |pack: &PackFile, record: &Record| {
        format!("{}, byte {}", pack.path.display(), record.offset)
    };
    match place(&key) {
        Place::Kept { pack, record, makes } => {
            row("kept", &format!("{makes}, {} with its header", bytes(record.bytes())));
            row("in", &at(pack, record));
        }
        Place::Damaged { pack, record, cause } => {
            row("kept", &format!("no: {cause}; it is made again when it is read"));
            row("in", &at(pack, record));
        }
        Place::Absent => {
            row("kept", "no: it is made when it is read");
            row("because", file.why.as_deref().unwrap_or("it is not there"));
        }
    }
    out
}

fn as_json<'a>(file: &File, setup: &Setup, place: &impl Fn(&Key) -> Place<'a>) -> Value {
    let plan = file.plan.map(|number| &setup.config.plans[number]);
    let mut all = json!({
        "source": file.source.to_string_lossy(),
        "served": file.served.to_string_lossy(),
        "pipeline": file.plan.map(|number| number + 1),
        "split": plan.map(|plan| plan.pipeline.split_name(plan.strategy.split)),
        "codec": plan.filter(|plan| plan.strategy.split != Split::None)
            .map(|plan| plan.strategy.codec.to_string()),
        "key": file.key.map(|key| key.to_string()),
        "pack": null,
        "offset": null,
        "bytes": null,
        "makes": null,
        "cause": null,
    });
    let mut at = |pack: &PackFile, record: &Record| {
        all["pack"] = json!(pack.path.to_string_lossy());
        all["offset"] = json!(record.offset);
        all["bytes"] = json!(record.bytes());
    };
    let state = match file.key.map(|key| place(&key)) {
        Some(Place::Kept { pack, record, makes }) => {
            at(pack, record);
            all["makes"] = json!(makes);
            "kept"
        }
        Some(Place::Damaged { pack, record, cause }) => {
            at(pack, record);
            all["cause"] = json!(cause);
            "damaged"
        }
        Some(Place::Absent) => {
            all["cause"] = json!(file.why);
            "absent"
        }
        None if file.plan.is_some() => "never_kept",
        None => "as_it_is",
    };
    all["state"] = json!(state);
    all
}
