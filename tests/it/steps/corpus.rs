//! Real and hostile files, in the folder that `PARBAKE_CORPUS` names: `images/` and `photos/` of
//! any files, and `repro/*/` with an `expect.json` each.

use std::path::{Path, PathBuf};

use parbake::sample::{Buffer, Sample};
use parbake::step::{Kind, StepError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::build;

pub(super) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("PARBAKE_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: set PARBAKE_CORPUS to a folder of pictures to run this test");
    }
    folder
}

pub(super) fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(files_under(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn decode(path: &Path) -> Result<Sample, StepError> {
    let bytes = std::fs::read(path).unwrap();
    let step = build("decode_image", json!({}));
    let Kind::Fixed(map) = &step.kind else { panic!() };
    let probes: Vec<_> = [64, 1024, 65_536, bytes.len()]
        .into_iter()
        .filter_map(|len| map.probe(&bytes[..len.min(bytes.len())]))
        .collect();
    let made = map.map(Sample::Bytes(Buffer::copy_of(&bytes)));
    if let Ok(made) = &made {
        assert!(probes.iter().all(|spec| *spec == made.spec()), "{}", path.display());
    }
    made
}

#[test]
fn no_file_makes_a_decoder_panic() {
    let Some(corpus) = corpus() else { return };
    let photos = files_under(&corpus.join("photos"));
    let photos = photos.iter().step_by(photos.len().div_ceil(40).max(1));
    let mut files = files_under(&corpus.join("images"));
    files.extend(files_under(&corpus.join("repro")));
    for path in files.iter().chain(photos) {
        // The lossless and the malformed differ by error; what matters is that it is one.
        let made = std::panic::catch_unwind(|| decode(path));
        assert!(made.is_ok(), "panicked on {}", path.display());
    }
}

/// Calls `check` with every file in an `expect.json` that has a digest of its pixels.
fn expected(value: &Value, folder: &Path, check: &mut impl FnMut(&Path, &str)) {
    for (name, entry) in value.as_object().into_iter().flatten() {
        let entry = entry.get("ignored").unwrap_or(entry);
        if let (Some(digest), true) = (entry["rgb_sha"].as_str(), folder.join(name).is_file()) {
            check(&folder.join(name), digest);
        }
    }
}

#[test]
fn pixels_of_known_troublemakers_are_right() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    let mut right = 0;
    for path in files_under(&corpus.join("repro")) {
        if path.file_name().is_none_or(|name| name != "expect.json") {
            continue;
        }
        let folder = path.parent().unwrap();
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        expected(&value, folder, &mut |file, digest| match decode(file) {
            Ok(made) => {
                let hash: String =
                    Sha256::digest(&made.data()[..]).iter().map(|b| format!("{b:02x}")).collect();
                if hash == digest {
                    right += 1;
                } else {
                    wrong.push(format!("{} differs", file.display()));
                }
            }
            Err(error) => wrong.push(format!("{}: {error}", file.display())),
        });
    }
    assert!(wrong.is_empty(), "{right} right, but {}", wrong.join("\n"));
    assert!(right > 10, "only {right} files had a digest");
}

#[test]
fn orientation_is_ignored_or_applied_as_asked() {
    let Some(corpus) = corpus() else { return };
    let expect = std::fs::read(corpus.join("repro/B06/expect.json")).unwrap();
    let expect: Value = serde_json::from_slice(&expect).unwrap();
    let step = build("decode_image", json!({"orientation": "apply"}));
    let Kind::Fixed(map) = &step.kind else { panic!() };
    for (name, entry) in expect.as_object().unwrap() {
        let bytes = std::fs::read(corpus.join("repro/B06").join(name)).unwrap();
        let made = map.map(Sample::Bytes(Buffer::copy_of(&bytes))).unwrap();
        assert_eq!(map.probe(&bytes), Some(made.spec()), "{name}");
        let hash: String =
            Sha256::digest(&made.data()[..]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, entry["applied"]["sha"], "{name}");
    }
}

#[test]
fn cut_jpegs_are_errors_and_a_missing_end_marker_is_none() {
    let Some(corpus) = corpus() else { return };
    for path in files_under(&corpus.join("repro/B12")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("trunc") {
            assert!(decode(&path).is_err(), "{name}");
        }
    }
    assert!(decode(&corpus.join("repro/B12/no_eoi.jpg")).is_ok());
}

#[test]
fn wide_gray_keeps_its_levels() {
    let Some(corpus) = corpus() else { return };
    let expect = std::fs::read(corpus.join("repro/B07/expect.json")).unwrap();
    let expect: Value = serde_json::from_slice(&expect).unwrap();
    let levels = expect["gray16_ramp.png"]["u8"].as_array().unwrap();
    let levels: Vec<u8> = levels.iter().flat_map(|v| [v.as_u64().unwrap() as u8; 3]).collect();
    let made = decode(&corpus.join("repro/B07/gray16_ramp.png")).unwrap();
    assert_eq!(made.data()[..levels.len()], levels);
}
