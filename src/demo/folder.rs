//! The folder that a demo dataset is in: whose it is, and how files get into it whole.
//!
//! It knows nothing of what a photo shows.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::VERSION;
use super::classes::CLASSES;
use super::photo;

/// The file that says that a folder is ours, by which version, and how many photos were asked for.
const MARKER: &str = ".parbake-demo";

/// A folder of ours, which no other process writes to while this is there.
pub(super) struct Folder {
    root: PathBuf,
    /// The most photos that were ever asked for.
    samples: usize,
    /// Keeps the marker locked until it is dropped.
    _marker: File,
}

impl Folder {
    /// Makes the folder ours, with folders for the classes, or finds that it is.
    pub(super) fn open(root: &Path, samples: usize) -> io::Result<Folder> {
        fs::create_dir_all(root)?;
        let path = root.join(MARKER);
        if !path.try_exists()? && fs::read_dir(root)?.next().is_some() {
            return Err(refused("the folder isn't empty, and what is in it isn't a demo dataset"));
        }
        let mut marker =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        marker.lock()?;
        let mut text = String::new();
        marker.read_to_string(&mut text)?;
        let before = match text.as_str() {
            "" => 0,
            text => asked_for(text).ok_or_else(|| {
                refused("the folder has a demo dataset of another version: remove it first")
            })?,
        };
        let samples = samples.max(before);
        if samples > before || text.is_empty() {
            marker.rewind()?;
            marker.write_all(marker_text(samples).as_bytes())?;
        }
        for class in CLASSES {
            fs::create_dir_all(root.join("train").join(class.name))?;
        }
        Ok(Folder { root: root.to_owned(), samples, _marker: marker })
    }

    /// Where a photo belongs.
    pub(super) fn photo(&self, number: usize) -> PathBuf {
        let (class, name) = photo::name(number);
        self.root.join("train").join(class).join(name)
    }

    /// Writes the table of all photos and their classes, unless it is there.
    pub(super) fn write_labels(&self) -> io::Result<()> {
        let mut table = String::from("path,class\n");
        let mut rows: Vec<_> = (0..self.samples).map(photo::name).collect();
        rows.sort();
        for (class, name) in rows {
            let _ = writeln!(table, "train/{class}/{name},{class}");
        }
        let path = self.root.join("labels.csv");
        match fs::read(&path) {
            Ok(there) if there == table.as_bytes() => Ok(()),
            _ => write(&path, table.as_bytes()),
        }
    }
}

/// Writes a file so that it is there as a whole or not at all. The other name is always the same:
/// what a killed run left behind is taken up by the next one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, bytes).and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

fn marker_text(samples: usize) -> String {
    format!("parbake demo photos, version {VERSION}\nsamples {samples:020}\n")
}

/// The number in a marker of this version.
fn asked_for(marker: &str) -> Option<usize> {
    let samples = marker.lines().nth(1)?.strip_prefix("samples ")?.parse().ok()?;
    (marker == marker_text(samples)).then_some(samples)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}
