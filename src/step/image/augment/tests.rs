//! Every operation makes what torchvision made, value for value: tests/golden/augment/, written by
//! scripts/golden/augment.py.
//!
//! `PARBAKE_AUGMENT_GOLDEN` names a folder with other answers of that script;
//! `PARBAKE_AUGMENT_REPORT` a file that the differences are written to, instead of failing at one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::affine::{Affine, Look, rotate};
use super::blur::blur;
use super::erase::{Rectangle, erase};
use super::jitter::Change;
use super::policy::Policy;
use super::space::{Bin, CHOICES, NARROW, Name, WIDE};
use super::{Operation, enhance, hue};
use crate::draw::Draw;
use crate::sample::{Array, Buffer, Dtype, Layout, Sample};
use crate::step::{self, Kind};

/// What the script wrote.
struct Golden {
    manifest: Value,
    inputs: Vec<Array>,
    outputs: Vec<u8>,
}

impl Golden {
    fn read() -> Golden {
        let folder = std::env::var_os("PARBAKE_AUGMENT_GOLDEN").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/augment"),
            PathBuf::from,
        );
        let read = |name| std::fs::read(folder.join(name)).unwrap();
        let manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
        let bytes = read("inputs.bin");
        let mut rest = bytes.as_slice();
        let inputs = manifest["inputs"].as_array().unwrap().iter().map(|input| {
            let dtype = match input["dtype"].as_str().unwrap() {
                "uint8" => Dtype::Uint8,
                _ => Dtype::Float32,
            };
            let shape = shape(&input["shape"]);
            let len = shape.iter().product::<usize>() * dtype.size();
            let (data, after) = rest.split_at(len);
            rest = after;
            Array::from_parts(dtype, Layout::Hwc, &shape, Buffer::copy_of(data)).unwrap()
        });
        let inputs = inputs.collect();
        Golden { manifest, inputs, outputs: read("outputs.bin") }
    }
}

fn shape(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

/// A number; floats are kept as text.
fn number(value: &Value) -> f64 {
    value.as_str().map_or_else(|| value.as_f64().unwrap(), |text| text.parse().unwrap())
}

/// A number or some.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().map(number).collect(),
        one => vec![number(one)],
    }
}

fn pair(value: &Value) -> [f64; 2] {
    match numbers(value)[..] {
        [one] => [one; 2],
        [first, second] => [first, second],
        _ => panic!("{value} is no pair"),
    }
}

fn look(parameters: &Value) -> Look {
    Look {
        interpolation: serde_json::from_value(parameters["interpolation"].clone()).unwrap(),
        fill: serde_json::from_value(parameters["fill"].clone()).unwrap(),
    }
}

fn center(parameters: &Value) -> Option<[f64; 2]> {
    Some(&parameters["center"]).filter(|center| !center.is_null()).map(pair)
}

fn name_of(text: &str) -> Name {
    let all = CHOICES.into_iter().chain([Name::Invert]);
    all.into_iter().find(|name| format!("{name:?}") == text).unwrap()
}

/// What a step of the table makes.
fn step(name: &str, parameters: &Value, picture: Array) -> Array {
    let step = step::build(name, parameters.clone()).unwrap();
    let made = match step.kind {
        Kind::Fixed(map) => map.map(Sample::Array(picture)),
        Kind::Random(map) => map.random_map(Sample::Array(picture), &mut Draw::new(0, 0, b"", 1)),
    };
    let Sample::Array(made) = made.unwrap() else { panic!() };
    made
}

fn made(operation: &str, parameters: &Value, mut picture: Array) -> Array {
    let factor = || number(&parameters["factor"]);
    let apply =
        |operation: Operation, look: &Look, picture| operation.apply(picture, look).unwrap();
    let plain = Look::default();
    match operation {
        "brightness" => enhance::brightness(&mut picture, factor()),
        "contrast" => enhance::contrast(&mut picture, factor()),
        "saturation" => enhance::saturation(&mut picture, factor()),
        "hue" => hue::hue(&mut picture, factor()),
        "sharpness" => return enhance::sharpness(picture, factor()).unwrap(),
        "invert" => return apply(Operation::Invert, &plain, picture),
        "equalize" => return apply(Operation::Equalize, &plain, picture),
        "autocontrast" => return apply(Operation::AutoContrast, &plain, picture),
        "posterize" => {
            let bits = number(&parameters["bits"]) as u8;
            return apply(Operation::Posterize(bits), &plain, picture);
        }
        "solarize" => {
            let threshold = number(&parameters["threshold"]);
            return apply(Operation::Solarize(threshold), &plain, picture);
        }
        "rotate" => {
            let angle = number(&parameters["angle"]);
            return rotate(picture, angle, center(parameters), &look(parameters)).unwrap();
        }
        "affine" => {
            let affine = Affine {
                angle: number(&parameters["angle"]),
                translate: pair(&parameters["translate"]),
                scale: number(&parameters["scale"]),
                shear: pair(&parameters["shear"]),
                center: center(parameters),
            };
            return affine.apply(&picture, &look(parameters)).unwrap();
        }
        "apply" => {
            let name = name_of(parameters["name"].as_str().unwrap());
            let operation = name.with(number(&parameters["magnitude"]));
            return apply(operation, &look(parameters), picture);
        }
        "blur" => {
            let size = pair(&parameters["kernel_size"]).map(|n| n as usize);
            return blur(&picture, size, pair(&parameters["sigma"])).unwrap();
        }
        "jitter" => {
            let factors = numbers(&parameters["factors"]);
            for which in shape(&parameters["order"]) {
                let change =
                    [Change::Brightness, Change::Contrast, Change::Saturation, Change::Hue][which];
                change(factors[which]).apply(&mut picture);
            }
        }
        "erase" => {
            let [top, left, height, width] =
                ["top", "left", "height", "width"].map(|key| number(&parameters[key]) as usize);
            let rectangle = Rectangle { top, left, height, width };
            let values = numbers(&parameters["value"]);
            let of = |channel: usize| values[channel.min(values.len() - 1)];
            match picture.dtype() {
                Dtype::Uint8 => erase(&mut picture, rectangle, |n| of(n) as u8),
                _ => erase(&mut picture, rectangle, |n| of(n) as f32),
            }
        }
        name => return step(name, parameters, picture),
    }
    picture
}

#[test]
fn steps_draw_the_same_for_ever() {
    // Pinned epochs of every later version must serve the same: the order of draws is a promise.
    let pixels: Vec<u8> = (0..14 * 20 * 3).map(|n| (n * n / 7 % 256) as u8).collect();
    let picture = |dtype| {
        let len = 14 * 20 * 3;
        let data = match dtype {
            Dtype::Uint8 => Buffer::copy_of(&pixels),
            _ => Buffer::zeroed(4 * len),
        };
        Array::from_parts(dtype, Layout::Hwc, &[14, 20, 3], data).unwrap()
    };
    let steps = [
        ("random_crop", json!({"size": [9, 9], "padding": 4, "fill": 3}), "a0d89ac0"),
        ("random_vertical_flip", json!({}), "fc6c6ba1"),
        ("random_rotation", json!({"degrees": 90}), "c047b3e0"),
        (
            "random_affine",
            json!({"degrees": 30, "translate": [0.3, 0.3], "scale": [0.5, 2], "shear": [-9, 9, -9, 9]}),
            "8050b9ff",
        ),
        (
            "color_jitter",
            json!({"brightness": 0.5, "contrast": 0.5, "saturation": 0.5, "hue": 0.3}),
            "f0fd885d",
        ),
        ("gaussian_blur", json!({"kernel_size": 5}), "9ec0aa38"),
        ("auto_augment", json!({"policy": "svhn"}), "1a9a7c1e"),
        ("rand_augment", json!({"num_ops": 3}), "bac5ea1b"),
        ("trivial_augment_wide", json!({}), "f33667f7"),
        ("random_erasing", json!({"value": 9}), "a34bcbeb"),
        ("random_erasing", json!({"value": "random"}), "ae5e5d95"),
    ];
    let mut drawn = Vec::new();
    for (name, parameters, _) in &steps {
        let step = step::build(name, parameters.clone()).unwrap();
        let Kind::Random(map) = &step.kind else { panic!() };
        let dtype = if parameters["value"] == "random" { Dtype::Float32 } else { Dtype::Uint8 };
        let mut hasher = blake3::Hasher::new();
        for epoch in 0..20 {
            let mut draw = Draw::new(0, epoch, b"a", 1);
            let made = map.random_map(Sample::Array(picture(dtype)), &mut draw).unwrap();
            hasher.update(made.data());
        }
        drawn.push(hasher.finalize().to_hex()[..8].to_owned());
    }
    assert_eq!(drawn, steps.map(|(_, _, hash)| hash));
}

/// How an operation's answers differ.
#[derive(Default)]
struct Differences {
    cases: usize,
    values: usize,
    differing: usize,
    largest: u8,
}

#[test]
fn answers_are_torchvisions() {
    let golden = Golden::read();
    let mut operations: BTreeMap<&str, Differences> = BTreeMap::new();
    let mut first = None;
    let mut outputs = golden.outputs.as_slice();
    for case in golden.manifest["cases"].as_array().unwrap() {
        let picture = golden.inputs[case["input"].as_u64().unwrap() as usize].clone();
        let operation = case["operation"].as_str().unwrap();
        let made = made(operation, &case["parameters"], picture);
        assert_eq!(made.shape(), shape(&case["shape"]), "{case}");
        let (wanted, rest) = outputs.split_at(made.data().len());
        outputs = rest;
        let seen = operations.entry(operation).or_default();
        seen.cases += 1;
        seen.values += wanted.len();
        let differing = made.data().iter().zip(wanted).filter(|(made, wanted)| made != wanted);
        for (made, wanted) in differing {
            seen.differing += 1;
            seen.largest = seen.largest.max(made.abs_diff(*wanted));
            first.get_or_insert(case);
        }
    }
    assert!(outputs.is_empty());
    let mut report = String::new();
    for (operation, Differences { cases, values, differing, largest }) in &operations {
        writeln!(report, "{operation} {cases} {values} {differing} {largest}").unwrap();
    }
    if let Some(file) = std::env::var_os("PARBAKE_AUGMENT_REPORT") {
        return std::fs::write(file, report).unwrap();
    }
    assert!(first.is_none(), "cases, values, differing, largest:\n{report}{first:?}");
}

#[test]
fn magnitudes_are_torchvisions() {
    let golden = Golden::read();
    let spaces = golden.manifest["tables"]["spaces"].as_array().unwrap();
    assert_eq!(spaces.len(), 16);
    for space in spaces {
        let order: Vec<String> = CHOICES.iter().map(|name| format!("{name:?}")).collect();
        assert_eq!(json!(order), space["order"]);
        let ours = if space["kind"] == "wide" { WIDE } else { NARROW };
        let of = space["bins"].as_u64().unwrap() as usize;
        let [height, width] = shape(&space["size"])[..] else { panic!() };
        for name in CHOICES {
            let theirs = numbers(&space["magnitudes"][format!("{name:?}")]);
            let count = if name.has_magnitude() { of } else { 1 };
            let bins = (0..count).map(|index| Bin { index, of });
            let made: Vec<f64> =
                bins.map(|bin| ours.magnitude(name, bin, [height, width])).collect();
            assert_eq!(made, theirs, "{name:?} of {of}");
            let signed = space["signed"].as_array().unwrap();
            assert_eq!(name.is_signed(), signed.contains(&json!(format!("{name:?}"))));
        }
    }
}

#[test]
fn policies_are_torchvisions() {
    let golden = Golden::read();
    for (name, policy) in
        [("imagenet", Policy::Imagenet), ("cifar10", Policy::Cifar10), ("svhn", Policy::Svhn)]
    {
        let theirs = golden.manifest["tables"]["policies"][name].as_array().unwrap();
        assert_eq!(theirs.len(), 25);
        for (ours, theirs) in policy.pairs().iter().zip(theirs) {
            for (n, (name, p, index)) in ours.iter().enumerate() {
                assert_eq!(json!(format!("{name:?}")), theirs[n][0]);
                assert_eq!(*p, number(&theirs[n][1]));
                assert_eq!(name.has_magnitude(), !theirs[n][2].is_null());
                assert_eq!(*index as u64, theirs[n][2].as_u64().unwrap_or(0));
            }
        }
    }
}
