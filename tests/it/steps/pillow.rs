//! Real and odd pictures, in the folders `images` and `photos` of the one that `PARBAKE_CORPUS`
//! names, against what Pillow 13 makes of them now: in all modes, as stored and turned.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parbake::sample::{Buffer, Sample};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::corpus::{corpus, files_under};
use super::{build, run};

/// Files that Pillow reads otherwise than we do, by the ends of their paths, and why.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "google+wuffs/test/data/peacock.s-very-weird.jpeg",
        "JPEG whose colours have more samples than its lightness",
    ),
    (
        "tests/crashtest/images/dc-predictor-overflow.jpg",
        "broken JPEG: libjpeg makes up what is missing",
    ),
    (
        "tests/crashtest/images/subtract-with-overflow.jpg",
        "broken JPEG: libjpeg makes up what is missing",
    ),
    ("Tests/images/16bit.cropped.jp2", "JPEG 2000"),
    (
        "crash-0da013a13571cc8eb457a39fee8db18f8a3c7127.tif",
        "broken fax codes: libtiff makes up what is missing",
    ),
    (
        "crash-74d2a78403a5a59db1fb0a2b8735ac068a75f6e3.tif",
        "broken fax codes: libtiff makes up what is missing",
    ),
    ("Tests/images/lab.tif", "TIFF of Lab colours, which Pillow converts by a colour profile"),
    ("artificial-png/exif.png", "EXIF data that are none, at which exif_transpose raises"),
    ("ico/images/bmp_v5_with_icc.ico", "Pillow takes the colour profile's bytes for the mask"),
];

/// Files that we read and Pillow doesn't, and what they are.
const MORE: &[(&str, &str)] = &[
    ("artificial-gif/zero-width-frame.gif", "a first picture without pixels leaves the canvas"),
    ("pam/rgba.pam", "PAM"),
    ("bugfixes/issue#430.png", "a chunk that is no part of the picture is broken"),
    ("bigtiff/BigTIFFMotorola.tif", "BigTIFF"),
    ("images/minisblack-2c-8b-alpha.tiff", "gray multiplied by alpha"),
    ("images/miniswhite-1c-12b.tiff", "12 bits, 0 being white"),
    ("seq/seq-1c-12b-miniswhite-47c39b31.tiff", "12 bits, 0 being white"),
    ("depth/flower-minisblack-12.tif", "12 bits, high bytes first"),
    ("depth/flower-minisblack-32.tif", "32 bits, high bytes first"),
    ("bmp/images/V3_A4_R4_G4_B4.bmp", "BMP of 4 bits a channel"),
    ("bmp/images/V3_X4_R4_G4_B4.bmp", "BMP of 4 bits a channel"),
    ("bmp/images/pal4rlecut.bmp", "run lengths that leave pixels out"),
    ("bmp/images/rgba16-1924.bmp", "BMP of odd channels"),
];

/// Python with Pillow 13, if `PARBAKE_PYTHON` names one.
fn python() -> Option<PathBuf> {
    let python = PathBuf::from(std::env::var_os("PARBAKE_PYTHON")?);
    let version = Command::new(&python).args(["-c", "import PIL; print(PIL.__version__)"]).output();
    let version = version.ok()?;
    version.stdout.starts_with(b"13.").then_some(python)
}

/// The answers of `scripts/golden/fresh.py`, a line for each file.
fn fresh(python: &Path, files: &[PathBuf]) -> Vec<String> {
    let mut child = Command::new(python)
        .arg("scripts/golden/fresh.py")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let paths: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        input.write_all((paths.join("\n") + "\n").as_bytes()).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The same of us.
fn ours(bytes: &[u8], parameters: serde_json::Value) -> String {
    let made = std::panic::catch_unwind(|| {
        run(&build("decode_image", parameters), Sample::Bytes(Buffer::copy_of(bytes)), 0)
    });
    let Ok(Ok(Sample::Array(array))) = made else { return "error".to_owned() };
    let mut word = format!("{}x{}:", array.shape()[0], array.shape()[1]);
    for byte in Sha256::digest(&array.data()[..]) {
        write!(word, "{byte:02x}").unwrap();
    }
    word
}

#[test]
fn pictures_are_what_pillow_makes_of_them() {
    let Some(corpus) = corpus() else { return };
    let Some(python) = python() else {
        eprintln!("SKIPPED: set PARBAKE_PYTHON to a Python with Pillow 13 to run this test");
        return;
    };
    let mut files = files_under(&corpus.join("images"));
    files.extend(files_under(&corpus.join("photos")));
    let answers = fresh(&python, &files);
    assert_eq!(answers.len(), files.len());
    let mut wrong = Vec::new();
    let mut equal = 0;
    for (file, answer) in files.iter().zip(&answers) {
        let bytes = std::fs::read(file).unwrap();
        let made = [
            ours(&bytes, json!({})),
            ours(&bytes, json!({"mode": "l"})),
            ours(&bytes, json!({"mode": "rgba"})),
            ours(&bytes, json!({"orientation": "apply"})),
        ];
        let wanted: Vec<&str> = answer.split(' ').collect();
        if made.iter().eq(&wanted) {
            equal += 1;
            continue;
        }
        let named = |list: &[(&str, &str)]| {
            list.iter().any(|(end, _)| file.as_os_str().to_string_lossy().ends_with(end))
        };
        let more = wanted.iter().all(|word| *word == "error");
        if !named(if more { MORE } else { OTHERWISE }) {
            wrong.push(format!("{}: {made:?} instead of {wanted:?}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{equal} equal, {} not:\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal > 0, "no picture was compared");
}
