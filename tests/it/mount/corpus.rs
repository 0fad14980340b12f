//! Real and hostile files through a mount: the folder that `PARBAKE_CORPUS` names, with `images/`
//! of any files and `repro/*/` with an `expect.json` each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::bed::{Bed, VARYING, files_under, run};
use super::skip;

fn corpus() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("PARBAKE_CORPUS") else {
        eprintln!("SKIPPED: set PARBAKE_CORPUS to a folder of pictures to run this test");
        return None;
    };
    let folder = PathBuf::from(folder).canonicalize().unwrap();
    if !folder.is_dir() {
        skip("PARBAKE_CORPUS names no folder");
        return None;
    }
    Some(folder)
}

/// The elements of an npy file, if it is a whole one of uint8 pictures.
fn elements(npy: &[u8]) -> Option<&[u8]> {
    let rest = npy.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_at_checked(2)?;
    let (header, data) =
        rest.split_at_checked(u16::from_le_bytes(length.try_into().ok()?).into())?;
    let header = std::str::from_utf8(header).ok()?;
    let shape = header
        .strip_prefix("{'descr': '|u1', 'fortran_order': False, 'shape': (")?
        .split_once(')')?
        .0;
    let product: usize =
        shape.split(", ").map(|side| side.parse::<usize>().ok()).product::<Option<_>>()?;
    (product == data.len()).then_some(data)
}

/// The served name of a source file, by the manifest.
fn served_names(bed: &Bed) -> BTreeMap<String, PathBuf> {
    let manifest = String::from_utf8(bed.read(".parbake/manifest.jsonl")).unwrap();
    manifest
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let name = |key: &str| line[key].as_str().unwrap().to_owned();
            (name("source"), bed.at(&name("path")))
        })
        .collect()
}

#[test]
fn every_file_is_an_array_or_an_error_with_a_reason() {
    let Some(corpus) = corpus() else { return };
    for folder in ["images", "repro"] {
        let Some(mut bed) = Bed::of(&corpus.join(folder), VARYING) else { return };
        bed.mount();
        let sources = files_under(&corpus.join(folder));
        let served = files_under(&bed.mountpoint());
        assert_eq!(served.len(), sources.len(), "a file is left out or there twice");
        let mut good = 0;
        let mut bad = 0;
        for path in &served {
            // What a walk does first never fails.
            let told = fs::metadata(path).unwrap();
            match fs::read(path) {
                Ok(read) => {
                    assert_eq!(read.len() as u64, told.len(), "{}", path.display());
                    assert!(elements(&read).is_some(), "{} is no array", path.display());
                    good += 1;
                }
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(libc::EIO), "{}", path.display());
                    bad += 1;
                }
            }
        }
        let errors = bed.errors();
        assert_eq!(errors.len(), bad, "not every error has its line, or a line has no error");
        assert!(errors.iter().all(|line| !line["cause"].as_str().unwrap().is_empty()));
        assert!(good > 20, "only {good} files could be read, {bad} not");
        for (program, flags) in [("find", "-size"), ("ls", "-lR")] {
            let mut command = Command::new(program);
            match program {
                "find" => command.arg(bed.mountpoint()).args([flags, "+1"]),
                _ => command.arg(flags).arg(bed.mountpoint()),
            };
            run(&mut command);
        }
    }
}

/// Calls `check` with the path and digest of every picture in an `expect.json` that has one.
fn expected(folder: &Path, check: &mut impl FnMut(&Path, &str)) {
    let Ok(text) = fs::read(folder.join("expect.json")) else { return };
    let value: Value = serde_json::from_slice(&text).unwrap();
    for (name, entry) in value.as_object().into_iter().flatten() {
        let entry = entry.get("ignored").unwrap_or(entry);
        if let (Some(digest), true) = (entry["rgb_sha"].as_str(), folder.join(name).is_file()) {
            check(&folder.join(name), digest);
        }
    }
}

#[test]
fn known_troublemakers_are_right_through_the_mount() {
    let Some(corpus) = corpus() else { return };
    let repro = corpus.join("repro");
    let Some(mut bed) = Bed::of(&repro, VARYING) else { return };
    bed.mount();
    let served = served_names(&bed);
    let read = |case: &Path| {
        let name = case.strip_prefix(&repro).unwrap().to_str().unwrap();
        fs::read(&served[name])
    };
    let mut right = 0;
    for case in ["B01", "B02", "B06", "B07", "B09", "B12", "B14", "B16", "B22"] {
        expected(&repro.join(case), &mut |file, digest| {
            let npy = read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let hash = Sha256::digest(elements(&npy).unwrap());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, digest, "{}", file.display());
            right += 1;
        });
    }
    assert!(right > 20, "only {right} pictures had a digest");

    // B12 and B17: what is cut or no picture is an error; what only lacks its end marker is none.
    for file in files_under(&repro.join("B12")).into_iter().chain(files_under(&repro.join("B17"))) {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(read(&file).is_ok(), ["no_eoi.jpg", "good.jpg"].contains(&name), "{name}");
    }
    // B60 and B63: files whose names would fall together are all there, each with its own pixels.
    for (case, count) in [("B60/dogs", 4), ("B63", 3)] {
        let mut names = BTreeSet::new();
        for (source, path) in &served {
            if Path::new(source).parent() == Some(Path::new(case))
                && let Ok(npy) = fs::read(path)
            {
                assert!(npy == bed.expected(source, 0), "{source} has another's pixels");
                names.insert(path);
            }
        }
        assert_eq!(names.len(), count, "{case}");
    }
    // B70: what other programs leave in folders stays where it is and is nobody else's trouble.
    assert!(read(&repro.join("B70/train/cat/1.jpg")).is_ok());
    assert!(read(&repro.join("B70/train/cat/._1.jpg")).is_err());
}

#[test]
fn a_chunk_that_unpacks_to_much_costs_no_memory() {
    let Some(corpus) = corpus() else { return };
    let Some(mut bed) = Bed::of(&corpus.join("repro/B14"), VARYING) else { return };
    bed.mount();
    let resident = |bed: &Bed| {
        let status = fs::read_to_string(format!("/proc/{}/status", bed.pid())).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    };
    let before = resident(&bed);
    for name in ["iccp_8MiB.npy", "ztxt_64MiB.npy"] {
        assert_eq!(elements(&bed.read(name)).unwrap().len(), 8 * 8 * 3);
    }
    let after = resident(&bed);
    assert!(after < before + 32, "{before} MiB before, {after} MiB at the most");
}
