//! Comparing with Pillow: what is alike is found alike, what isn't is found, and a Python that
//! can't do it is told by name.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Ended, Set, ended};
use crate::reference::{Kept, picture};

/// The Python that `PARBAKE_PYTHON` names, else `python3`; `None` where it has no Pillow or NumPy.
fn python() -> Option<OsString> {
    let name = std::env::var_os("PARBAKE_PYTHON").unwrap_or_else(|| "python3".into());
    if let Ok(ran) = Command::new(&name).args(["-c", "import numpy, PIL"]).output()
        && ran.status.success()
    {
        return Some(name);
    }
    let why = format!("{} cannot import numpy and PIL: set PARBAKE_PYTHON", name.display());
    assert!(std::env::var_os("CI").is_none(), "this has to be tested here, but {why}");
    eprintln!("SKIPPED: {why}");
    None
}

/// A set of pictures in several kinds of files, with these steps.
fn set(steps: &str) -> Set {
    let set = Set::new(0);
    let kinds = [Kept::Jpeg, Kept::ProgressiveJpeg, Kept::GrayJpeg, Kept::Png, Kept::GrayPng];
    for (n, kept) in [kinds, [Kept::RgbaPng, Kept::Png16, Kept::Jpeg, Kept::Png, Kept::Jpeg]]
        .concat()
        .into_iter()
        .enumerate()
    {
        let file = picture(kept, 60 + 7 * n, 110 - 9 * n, n as u64);
        fs::write(set.path(format!("photos/one/{n}.img")), file).unwrap();
    }
    let config = format!(
        "[source]\npath = \"photos\"\n[[pipeline]]\nmatch = [\"**/*.img\"]\noutput = \"npy\"\n\
         [[pipeline.step]]\nuse = \"decode_image\"\n{steps}\n[cache]\npath = \"cache\"\n"
    );
    fs::write(set.config(), config).unwrap();
    set
}

/// A step, as a config has it.
fn step(name: &str, parameters: &str) -> String {
    format!("[[pipeline.step]]\nuse = \"{name}\"\n{parameters}\n")
}

const NORMALIZE: &str = "mean = [0.485, 0.456, 0.406]\nstd = [0.229, 0.224, 0.225]";

fn verified(set: &Set, arguments: &[&str]) -> (Ended, Value) {
    let ended = set.run("verify", &[&["--json"], arguments].concat());
    let parsed = serde_json::from_str(&ended.stdout);
    let parsed: Value = parsed.unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    (ended, parsed["pipelines"][0].clone())
}

#[test]
fn what_is_made_is_what_the_reference_makes() {
    if python().is_none() {
        return;
    }
    let pipelines = [
        // For training: random steps, each with parbake's draw.
        [
            step("random_resized_crop", "size = [40, 48]"),
            step("random_horizontal_flip", ""),
            step("normalize", NORMALIZE),
            step("random_crop", "size = [31, 33]"),
            step("to_chw", ""),
            step("random_horizontal_flip", ""),
        ],
        // For evaluation.
        [
            step("resize", "short_side = 70"),
            step("center_crop", "size = [64, 75]"),
            step("grayscale", "channels = 3"),
            step("to_float", ""),
            step("normalize", NORMALIZE),
            step("to_chw", ""),
        ],
        // Floats are resized and cut too.
        [
            step("resize", "size = [90, 50]\nfilter = \"lanczos\""),
            step("pixel_center", ""),
            step("resize", "size = [40, 44]\nfilter = \"bicubic\""),
            step("center_crop", "size = [50, 40]"),
            step("grayscale", ""),
            step("cast", "dtype = \"float16\""),
        ],
        [
            step("resize", "size = [50, 55]\nfilter = \"nearest\""),
            step("to_chw", ""),
            step("center_crop", "size = [48, 60]"),
            step("random_crop", "size = [40, 40]"),
            step("cast", "dtype = \"uint16\""),
            step("normalize", "mean = [0.5]\nstd = [0.25]"),
        ],
    ];
    for steps in pipelines {
        let steps = steps.concat();
        let (ended, report) = verified(&set(&steps), &[]);
        assert_eq!(ended.code, Some(0), "{steps}{ended:?}");
        assert_eq!(report["compared_steps"], 7);
        assert_eq!(report["not_compared"], Value::Null);
        let kinds = ["samples", "equal", "different", "made_by_one", "made_by_neither"];
        assert_eq!(kinds.map(|key| report[key].as_u64().unwrap()), [10, 10, 0, 0, 0]);
        assert!(report["pixels"].as_u64().unwrap() > 10_000);
        assert_eq!(report["differing_pixels"], 0);
        assert!(report["cpu_ms"]["parbake"].as_f64().unwrap() > 0.0);
        assert!(report["cpu_ms"]["reference"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn bad_samples_of_both_are_counted_and_a_part_is_drawn() {
    if python().is_none() {
        return;
    }
    let set = Set::new(9);
    set.add_bad();
    let (ended, report) = verified(&set, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!([&report["equal"], &report["made_by_neither"]], [9, 2]);
    let (_, report) = verified(&set, &["--samples", "4"]);
    assert_eq!([&report["samples"], &report["set"]], [4, 11]);
    // Too small to be cut: there is no draw that could be handed over.
    let steps = step("random_crop", "size = [100, 100]");
    let (ended, report) = verified(&self::set(&steps), &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!([&report["samples"], &report["left_out"]], [10, 10]);
    assert!(ended.stderr.contains("error: not one sample of `**/*.img` could be made by both\n"));

    let text = set.run("verify", &[]).stdout;
    assert!(text.contains("\n  compared    all 3 steps\n"), "{text}");
    assert!(text.contains("  samples     11 of 11: 9 equal, 0 different, 2 made by neither\n"));
    assert!(text.contains(" equal, bit for bit\n"));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_real_difference_is_found_at_its_step() {
    if python().is_none() {
        return;
    }
    let set = set(&step("resize", "size = [20, 20]"));
    // The one promised in docs/CONFIG.md: 16 bits become the high byte, and Pillow cuts them off.
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 30, 30);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let pixels: Vec<u8> = (0..1800).map(|n| (n % 251) as u8).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    fs::write(set.path("photos/two/16.img"), file).unwrap();
    let (ended, report) = verified(&set, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!([&report["equal"], &report["different"]], [10, 1]);
    let difference = &report["differences"][0];
    assert_eq!(difference["path"], "two/16.img");
    assert_eq!(difference["first_step"], json!({"number": 1, "name": "decode_image"}));
    assert_eq!(difference["pixels"], 400);
    assert_eq!(difference["differing"], report["differing_pixels"]);
    assert!(difference["differing"].as_u64().unwrap() > 100);
    let text = set.run("verify", &[]).stdout;
    assert!(
        text.contains("\n              1 sample differs from step 1 `decode_image` on\n"),
        "{text}"
    );
    assert!(text.contains("\n  differs: two/16.img: "), "{text}");
}

#[test]
fn what_parbake_alone_refuses_is_a_difference_even_before_a_random_step() {
    if python().is_none() {
        return;
    }
    let steps = format!("max_pixels = 4000\n{}", step("random_crop", "size = [20, 20]"));
    let (ended, report) = verified(&set(&steps), &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let kinds = ["equal", "made_by_one", "made_by_neither", "left_out"];
    assert_eq!(kinds.map(|key| report[key].as_u64().unwrap()), [1, 9, 0, 0]);
    let difference = &report["differences"][0];
    assert_eq!(difference["made_by"], "reference");
    assert!(difference["cause"].as_str().unwrap().starts_with("step 1 `decode_image`: limit"));
}

/// A Python that runs `patch` before anything else.
fn patched(set: &Set, python: &OsString, patch: &str) -> PathBuf {
    fs::create_dir_all(set.path("patch")).unwrap();
    fs::write(set.path("patch/sitecustomize.py"), patch).unwrap();
    let (folder, python) = (set.path("patch"), python.display());
    program(set, &format!("PYTHONPATH='{}' exec '{python}' \"$@\"", folder.display()))
}

/// A shell program.
fn program(set: &Set, text: &str) -> PathBuf {
    let path = set.path("program");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn verified_by(set: &Set, python: &PathBuf, more: &[&str]) -> Ended {
    let mut command = set.command("verify", more);
    ended(command.arg("--python").arg(python).spawn().unwrap())
}

#[test]
fn what_a_python_does_otherwise_is_found() {
    let Some(python) = python() else { return };
    let set = Set::new(6);
    // One value of one pixel off by 3, of one size of pictures, after the second step.
    let patch = "
from PIL import Image
resize = Image.Image.resize
def other(self, size, *rest, **more):
    made = resize(self, size, *rest, **more)
    if self.size[0] == 42:
        r, g, b = made.getpixel((16, 16))
        made.putpixel((16, 16), (r, g ^ 3, b))
    return made
Image.Image.resize = other
";
    let off = patched(&set, &python, patch);
    let ended = verified_by(&set, &off, &["--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let report = &report["pipelines"][0];
    assert_eq!([&report["equal"], &report["different"]], [5, 1]);
    assert_eq!([&report["differing_pixels"], &report["pixels"]], [1, 6 * 24 * 24]);
    let difference = &report["differences"][0];
    assert_eq!(difference["path"], "one/2.ppm");
    assert_eq!(difference["first_step"], json!({"number": 2, "name": "resize"}));
    assert!((1.0..=3.0).contains(&difference["largest"].as_f64().unwrap()));

    // What one side alone can make is a difference, with its cause.
    let patch = "
from PIL import Image
convert = Image.Image.convert
def other(self, *rest, **more):
    if self.size[0] == 42:
        raise ValueError('no such luck')
    return convert(self, *rest, **more)
Image.Image.convert = other
";
    let refuses = patched(&set, &python, patch);
    let ended = verified_by(&set, &refuses, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let line = "  differs: one/2.ppm: the reference can't make it: ValueError: no such luck\n";
    assert!(ended.stdout.contains(line), "{ended:?}");
    assert!(ended.stdout.contains("5 equal, 0 different, 1 made by one side alone\n"), "{ended:?}");
}

#[test]
fn a_python_that_cannot_do_it_is_told_by_name() {
    let set = Set::new(3);
    let failed = |python: PathBuf, more: &[&str], words: &[&str]| {
        let ended = verified_by(&set, &python, more);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert_eq!(ended.stdout, "");
        for word in words {
            assert!(ended.stderr.contains(word), "{word}: {ended:?}");
        }
        assert!(ended.stderr.contains("\nhint: "), "{ended:?}");
    };
    failed("/no/such/python".into(), &[], &["cannot start the Python `/no/such/python`"]);
    failed(program(&set, "exit 3"), &[], &["ended (exit status: 3), while it started"]);
    failed(program(&set, "yes"), &[], &["gave an answer that can't be read"]);
    let hangs = program(&set, "exec sleep 1000");
    failed(hangs, &["--timeout", "1"], &["gave no answer in 1 s, while it started"]);

    let Some(python) = python() else { return };
    let lacks = patched(&set, &python, "import sys\nsys.modules['PIL'] = None\n");
    failed(lacks, &[], &["has no pillow: ", "-m pip install pillow`"]);
    let dies = "
import os, sys
from PIL import Image
def other(self, *rest):
    print('the end is near', file=sys.stderr, flush=True)
    os._exit(7)
Image.Image.convert = other
";
    let dies = patched(&set, &python, dies);
    failed(dies, &[], &["ended (exit status: 7), while making one/0.ppm: the end is near"]);
    let hangs = "
import time
from PIL import Image
Image.Image.convert = lambda self, *rest: time.sleep(1000)
";
    let hangs = patched(&set, &python, hangs);
    failed(hangs, &["--timeout", "10"], &["gave no answer in 10 s, while making one/0.ppm"]);
}

#[test]
fn what_has_no_reference_is_said() {
    if python().is_none() {
        return;
    }
    let set = Set::new(2);
    let raw = "[source]\npath = \"photos\"\n[[pipeline]]\nmatch = [\"**/*.ppm\"]\noutput = \"raw\"\n\
               [cache]\npath = \"cache\"\n";
    fs::write(set.config(), raw).unwrap();
    let ended = set.run("verify", &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stdout.contains("\n  compared    none of 0 steps\n"), "{ended:?}");
    assert!(ended.stderr.starts_with("error: no step can be compared\nhint: "), "{ended:?}");
}
