//! The promise of a source, held from outside: what is listed is there, and a file's bytes come
//! with the stat that is true of just these.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use parbake::source::{DirSource, Source};
use tempfile::TempDir;

/// Names that a careless source gets wrong.
fn odd_names() -> Vec<OsString> {
    let mut names: Vec<OsString> =
        ["a b", "new\nline", "-rf", "\u{e9}", "e\u{301}", "*", "..a", "A", "a", "a.b.c", "\\"]
            .map(OsString::from)
            .to_vec();
    names.push(OsString::from_vec(vec![0xff, 0xfe, b'.', b'j']));
    names.push(OsString::from_vec(vec![b'x'; 255]));
    names
}

/// Paths and contents.
type Files<'a> = &'a [(&'a Path, &'a [u8])];

/// `files` makes the files of an empty source, and the folders that they are in.
fn keeps_its_promise(source: &dyn Source, files: &dyn Fn(Files)) {
    let ramp: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    let names = odd_names();
    let within: Vec<_> = names.iter().map(|name| Path::new("odd").join(name)).collect();
    let mut all: Vec<(&Path, &[u8])> =
        vec![(Path::new("ramp"), &ramp), (Path::new("empty"), b""), (Path::new("d/e/f"), b"deep")];
    all.extend(within.iter().map(|path| (path.as_path(), path.as_os_str().as_bytes())));
    files(&all);

    let listed = |folder: &str| -> Vec<(OsString, bool)> {
        let entries = source.list(Path::new(folder)).unwrap();
        entries.into_iter().map(|entry| (entry.name, entry.folder)).collect()
    };
    let named = |names: &[(&str, bool)]| -> Vec<(OsString, bool)> {
        names.iter().map(|(name, folder)| (OsString::from(name), *folder)).collect()
    };
    let top = [("d", true), ("empty", false), ("odd", true), ("ramp", false)];
    assert_eq!(listed(""), named(&top));
    assert_eq!(listed("d"), named(&[("e", true)]));
    let mut sorted: Vec<_> = names.iter().map(|name| (name.clone(), false)).collect();
    sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    assert_eq!(listed("odd"), sorted);

    for (path, content) in &all {
        let (stat, bytes) = source.read(path).unwrap();
        assert_eq!(&*bytes, *content, "{path:?}");
        assert_eq!(stat, source.stat(path).unwrap(), "{path:?}");
        assert_eq!((stat.folder, stat.size), (false, content.len() as u64), "{path:?}");
        assert_eq!(stat, source.read(path).unwrap().0, "reading changes nothing");
        source.forget_pages(path).unwrap();
    }
    for folder in ["", "d", "d/e", "odd"] {
        assert!(source.stat(Path::new(folder)).unwrap().folder, "{folder}");
    }

    let size = ramp.len();
    for offset in [0, 1, 4095, 4096, size - 1, size, size + 1, i64::MAX as usize, usize::MAX] {
        for len in [0, 1, 100, 4096, size, size + 9] {
            let mut into = vec![7; len];
            let got = source.read_at(Path::new("ramp"), offset as u64, &mut into).unwrap();
            let start = offset.min(size);
            let expected = &ramp[start..start.saturating_add(len).min(size)];
            assert_eq!(&into[..got], expected, "{len} bytes from {offset}");
            assert!(into[got..].iter().all(|byte| *byte == 7), "wrote beyond what it told");
        }
    }

    for nowhere in ["no", "d/no", "d/e/f2", "odd/no/no"] {
        let path = Path::new(nowhere);
        assert_eq!(source.stat(path).unwrap_err().kind(), ErrorKind::NotFound, "{nowhere}");
        assert_eq!(source.list(path).unwrap_err().kind(), ErrorKind::NotFound, "{nowhere}");
        assert_eq!(source.read(path).unwrap_err().kind(), ErrorKind::NotFound, "{nowhere}");
        let read = source.read_at(path, 0, &mut [0]);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::NotFound, "{nowhere}");
    }
    for file in ["ramp", "d/e/f"] {
        assert!(source.list(Path::new(file)).is_err(), "{file} is no folder");
        assert!(source.stat(&Path::new(file).join("below")).is_err(), "{file} is no folder");
    }
    for folder in ["", "d", "odd"] {
        assert!(source.read(Path::new(folder)).is_err(), "{folder:?} is no file");
        assert!(source.read_at(Path::new(folder), 0, &mut [0]).is_err(), "{folder:?} is no file");
    }
    for escape in ["..", "../set/ramp", "d/../ramp", "/etc/passwd", "d/../../set/ramp", "./ramp"] {
        let path = Path::new(escape);
        assert!(source.stat(path).is_err(), "{escape}");
        assert!(source.list(path).is_err(), "{escape}");
        assert!(source.read(path).is_err(), "{escape}");
        assert!(source.read_at(path, 0, &mut [0]).is_err(), "{escape}");
    }
    let nul = Path::new(OsStr::from_bytes(b"ramp\0"));
    assert!(source.stat(nul).is_err() && source.read(nul).is_err() && source.list(nul).is_err());
}

fn put(root: &Path, files: Files) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

#[test]
fn a_folder_keeps_the_promise_of_a_source() {
    let outer = TempDir::new().unwrap();
    let root = outer.path().join("set");
    fs::create_dir(&root).unwrap();
    let source = DirSource::open(&root).unwrap();
    assert!(source.list(Path::new("")).unwrap().is_empty());
    keeps_its_promise(&source, &|files| put(&root, files));
}

#[test]
fn a_file_that_changes_is_never_read_as_a_mixture() {
    let root = TempDir::new().unwrap();
    let source = DirSource::open(root.path()).unwrap();
    let path = root.path().join("a");
    let of = |byte: u8, len: usize| vec![byte; len];
    fs::write(&path, of(0, 300_000)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..200_u32 {
                // The length tells which writing a byte is of; replaced, so that each is whole.
                let next = root.path().join("next");
                fs::write(&next, of(round as u8, 300_000 + round as usize)).unwrap();
                fs::rename(&next, &path).unwrap();
            }
            stop.store(true, Ordering::SeqCst);
        });
        let mut read = 0;
        while !stop.load(Ordering::SeqCst) || read == 0 {
            let Ok((stat, bytes)) = source.read(Path::new("a")) else { continue };
            let round = bytes.len() - 300_000;
            assert_eq!(stat.size, bytes.len() as u64);
            assert!(bytes.iter().all(|byte| *byte == round as u8), "a mixture");
            read += 1;
        }
    });
}

#[test]
fn a_file_that_is_cut_or_grows_while_it_is_read_is_an_error_or_whole() {
    let root = TempDir::new().unwrap();
    let source = DirSource::open(root.path()).unwrap();
    let file = fs::File::create(root.path().join("a")).unwrap();
    file.set_len(1 << 20).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..2_000_u64 {
                file.set_len((1 << 20) + (round % 7) * 4096 - 9000).unwrap();
            }
            stop.store(true, Ordering::SeqCst);
        });
        while !stop.load(Ordering::SeqCst) {
            if let Ok((stat, bytes)) = source.read(Path::new("a")) {
                assert_eq!(stat.size, bytes.len() as u64);
            }
        }
    });
}
