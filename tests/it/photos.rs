//! Real photos through the executor, with all steps online and run as one: not one value differs
//! from what Pillow makes, with the same draws. The photos are those in the folder `photos` of the
//! one that `PARBAKE_CORPUS` names.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use parbake::draw::Draw;
use parbake::exec::{Executor, Job, Plan};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Strategy};
use parbake::sample::Spec;
use parbake::source::{DirSource, Source};
use parbake::step::image::Part;
use parbake::step::{self, Kind, Step};
use serde_json::{Value, json};

const SEED: u64 = 11;
const EPOCHS: u64 = 2;
const VALUES: usize = 3 * 224 * 224;

fn steps(middle: &[(&str, Value)]) -> Vec<Step> {
    let normalize = json!({"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]});
    let ends = [("normalize", normalize), ("to_chw", json!({}))];
    let all = [("decode_image", json!({}))].into_iter().chain(middle.to_vec()).chain(ends);
    all.map(|(name, parameters)| step::build(name, parameters).unwrap()).collect()
}

/// Photos and a Python with Pillow; `None` where one isn't there.
fn needed() -> Option<(PathBuf, OsString)> {
    let corpus = std::env::var_os("PARBAKE_CORPUS").map(|corpus| Path::new(&corpus).join("photos"));
    let python = std::env::var_os("PARBAKE_PYTHON");
    if let (Some(photos), Some(python)) = (corpus.filter(|photos| photos.is_dir()), python) {
        return Some((photos, python));
    }
    eprintln!(
        "SKIPPED: set PARBAKE_CORPUS to a folder with photos/ and PARBAKE_PYTHON to a Python"
    );
    None
}

/// Serves every photo and has Python make the same. `draws` says what a random step drew.
fn compare(
    steps: Vec<Step>,
    epochs: u64,
    draws: impl Fn(&Step, usize, &Job, &Spec, u64, &mut Value),
) {
    let Some((photos, python)) = needed() else { return };
    let source = Arc::new(DirSource::open(&photos).unwrap());
    let pipeline = Arc::new(Pipeline::new(steps, Output::Raw).unwrap());
    let matcher = Matcher::new(&["**".to_owned()]).unwrap();
    let plan = Plan { matcher, pipeline: Arc::clone(&pipeline), strategy: Strategy::NONE };
    let exec = Executor::new(source.clone(), None, vec![plan], SEED);
    let found = exec.walk(|_| true).unwrap();
    let mut reference = Command::new(python)
        .args(["-c", include_str!("photos/reference.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ask = reference.stdin.take().unwrap();
    let mut answers = reference.stdout.take().unwrap();
    let (mut compared, mut differing) = (0, 0);
    let mut answer = vec![0; VALUES * 4];
    for (found, epoch) in found.iter().flat_map(|found| (0..epochs).map(move |n| (found, n))) {
        let stat = source.stat(&found.path).unwrap();
        let job = Job { path: &found.path, stat, plan: 0 };
        let mut line = json!({"path": photos.join(&found.path)});
        let head = source.read(job.path).unwrap().1;
        let mut spec = pipeline.fixed()[0].map.probe(&head).unwrap();
        for (n, step) in pipeline.rest().iter().enumerate() {
            draws(step, pipeline.fixed().len() + n, &job, &spec, epoch, &mut line);
            spec = step.kind.spec(&spec).unwrap();
        }
        writeln!(ask, "{line}").unwrap();
        ask.flush().unwrap();
        answers.read_exact(&mut answer).unwrap();
        let served = exec.serve(job, epoch).unwrap();
        assert_eq!(served.len(), answer.len());
        let values = served.as_chunks::<4>().0.iter().zip(answer.as_chunks::<4>().0);
        differing += values.filter(|(a, b)| a != b).count();
        compared += 1;
    }
    drop(ask);
    assert!(reference.wait().unwrap().success());
    assert!(compared >= 100, "only {compared} photos");
    assert_eq!(differing, 0, "of {} values", compared * VALUES);
}

#[test]
fn resized_cropped_and_normalized_photos_are_pillows() {
    let middle =
        [("resize", json!({"short_side": 256})), ("center_crop", json!({"size": [224, 224]}))];
    compare(steps(&middle), 1, |_, _, _, _, _, _| {});
}

#[test]
fn random_crops_of_photos_are_pillows() {
    let middle = [
        ("random_resized_crop", json!({"size": [224, 224]})),
        ("random_horizontal_flip", json!({})),
    ];
    compare(steps(&middle), EPOCHS, |step, at, job, spec, epoch, line| {
        let Kind::Random(random) = &step.kind else { return };
        let group = job.path.with_extension("");
        let mut draw = Draw::new(SEED, epoch, group.as_os_str().as_bytes(), at as u32 + 1);
        match random.parts(spec, &mut draw).unwrap().first().unwrap() {
            Part::Crop(window) if step.name == "random_resized_crop" => {
                let (rows, columns) = (&window.rows, &window.columns);
                line["box"] = json!([columns.start, rows.start, columns.end, rows.end]);
            }
            part => line["mirrored"] = json!(matches!(part, Part::Mirror)),
        }
    });
}
