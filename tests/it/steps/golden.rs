//! The answers that the scripts in `scripts/golden` wrote down, bit for bit.

use std::path::{Path, PathBuf};

use parbake::sample::{Array, Buffer, Dtype, Layout, Sample};
use serde::Deserialize;

use super::{build, run};

#[derive(Deserialize)]
struct Manifest {
    decodes: Vec<Decode>,
    inputs: Vec<Input>,
    steps: Vec<Case>,
}

#[derive(Deserialize)]
struct Decode {
    file: String,
    parameters: serde_json::Value,
    dtype: Dtype,
    shape: Vec<usize>,
}

#[derive(Deserialize)]
struct Input {
    dtype: Dtype,
    shape: Vec<usize>,
}

#[derive(Deserialize)]
struct Case {
    input: usize,
    step: String,
    parameters: serde_json::Value,
    dtype: Dtype,
    shape: Vec<usize>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Takes the next `len` bytes.
fn next<'a>(bytes: &mut &'a [u8], shape: &[usize], dtype: Dtype) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(shape.iter().product::<usize>() * dtype.size());
    *bytes = rest;
    taken
}

/// Which elements differ, in words.
fn difference(made: &Sample, wanted: &[u8], shape: &[usize], dtype: Dtype) -> Option<String> {
    let Sample::Array(array) = made else { return Some("bytes".to_owned()) };
    if (array.shape(), array.dtype()) != (shape, dtype) {
        return Some(format!("{} instead of {shape:?} {dtype}", made.spec()));
    }
    let size = dtype.size();
    let pairs = array.data().chunks(size).zip(wanted.chunks(size)).enumerate();
    let wrong: Vec<_> = pairs.filter(|(_, (made, wanted))| made != wanted).collect();
    let first = wrong.first()?;
    Some(format!("{} elements differ, first {first:?}", wrong.len()))
}

#[test]
fn pixels_are_those_of_the_reference() {
    check("images");
}

#[test]
fn pixels_of_compat_pillow_12_are_those_of_pillow_12() {
    check("pillow-12");
}

#[test]
fn pixels_of_compat_tensorflow_are_those_of_tensorflow() {
    check("tensorflow");
}

fn check(name: &str) {
    let read = |file: &str| std::fs::read(folder(name).join(file)).unwrap();
    let manifest: Manifest = serde_json::from_slice(&read("manifest.json")).unwrap();
    let (inputs, outputs) = (read("inputs.bin"), read("outputs.bin"));
    let (mut inputs, mut outputs) = (inputs.as_slice(), outputs.as_slice());
    let mut wrong = Vec::new();
    for Decode { file, parameters, dtype, shape } in &manifest.decodes {
        let wanted = next(&mut outputs, shape, *dtype);
        let bytes = Buffer::copy_of(&read(&format!("files/{file}")));
        match run(&build("decode_image", parameters.clone()), Sample::Bytes(bytes), 0) {
            Ok(made) => {
                let difference = difference(&made, wanted, shape, *dtype);
                wrong.extend(difference.map(|how| format!("{file} {parameters}: {how}")));
            }
            Err(error) => wrong.push(format!("{file} {parameters}: {error}")),
        }
    }
    let arrays: Vec<Array> = manifest
        .inputs
        .iter()
        .map(|Input { dtype, shape }| {
            let data = Buffer::copy_of(next(&mut inputs, shape, *dtype));
            Array::from_parts(*dtype, Layout::Hwc, shape, data).unwrap()
        })
        .collect();
    for Case { input, step, parameters, dtype, shape } in manifest.steps {
        let array = arrays[input].clone();
        let wanted = next(&mut outputs, &shape, dtype);
        let made = run(&build(&step, parameters.clone()), Sample::Array(array.clone()), 0).unwrap();
        if let Some(how) = difference(&made, wanted, &shape, dtype) {
            wrong.push(format!("{step} {parameters} of {}: {how}", array.spec()));
        }
    }
    assert!(outputs.is_empty() && inputs.is_empty(), "answers without a question");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
