//! What a random step does with its draw, found by giving it a picture whose pixels say where they
//! are: the reference then does the same moves, and not what it would draw by itself.
//!
//! Nothing of a step's choosing is written here a second time. What is used of the steps is their
//! word that a draw follows from height and width alone.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::draw::Draw;
use crate::sample::{Array, ArraySpec, Dtype, Layout, Sample};
use crate::step::{self, Kind, StepError};

/// The random steps whose draw can be told as moves.
const KNOWN: &[&str] = &["random_crop", "random_resized_crop", "random_horizontal_flip"];

/// Whether a random step's draw can be told as moves.
pub(super) fn can_be_told(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Which draw: that of a sample, in an epoch, for a step counted from 1.
#[derive(Clone, Copy)]
pub(super) struct Which<'a> {
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) path: &'a Path,
    pub(super) number: usize,
}

/// The moves that a random step makes with this draw on a picture of this spec, for the reference.
///
/// # Errors
/// If the step can't take such a picture.
pub(super) fn moves(
    name: &str,
    parameters: &str,
    input: &ArraySpec,
    which: Which,
) -> Result<Value, StepError> {
    let mut parameters: Value = serde_json::from_str(parameters).unwrap_or_default();
    let (height, width) = height_and_width(input)
        .ok_or_else(|| StepError::Unfit("its size isn't known before it is made".to_owned()))?;
    let resize = json!({ "resize": parameters["size"], "filter": parameters["filter"] });
    if name == "random_resized_crop" {
        // Nearest neighbours, at least as many as there are pixels: the rectangle's own corners.
        parameters["size"] = json!([height, width]);
        parameters["filter"] = json!("nearest");
    }
    let step = step::build(name, parameters)
        .map_err(|error: serde_json::Error| StepError::Unfit(error.to_string()))?;
    let Kind::Random(random) = step.kind else {
        return Err(StepError::Unfit("it isn't random".to_owned()));
    };
    let group = which.path.with_extension("");
    let group = group.as_os_str().as_bytes();
    let mut draw = Draw::new(which.seed, which.epoch, group, which.number as u32);
    let [first, last] =
        corners(&random.random_map(Sample::Array(marked(height, width)?), &mut draw)?);
    let cut = |rows: [usize; 2], columns: [usize; 2]| {
        let (height, width) = (rows[1] - rows[0] + 1, columns[1] - columns[0] + 1);
        json!({ "cut": [rows[0], columns[0], height, width] })
    };
    Ok(match name {
        "random_crop" => json!([cut([first[0], last[0]], [first[1], last[1]])]),
        "random_resized_crop" => {
            json!([cut([first[0], last[0]], [first[1], last[1]]), resize])
        }
        _ if first[1] > last[1] => json!([{ "flip": true }]),
        _ => json!([]),
    })
}

fn height_and_width(spec: &ArraySpec) -> Option<(usize, usize)> {
    match (spec.layout, spec.shape()?.as_slice()) {
        (Layout::Hwc, &[height, width, _]) | (Layout::Chw, &[_, height, width]) => {
            Some((height, width))
        }
        _ => None,
    }
}

/// A picture of four channels: each pixel's row and column, two bytes each. (Every step takes such
/// pictures, and they are no larger than most that are decoded.)
fn marked(height: usize, width: usize) -> Result<Array, StepError> {
    let most = usize::from(u16::MAX);
    if height > most || width > most {
        return Err(StepError::Limit(format!("a side of {} pixels", height.max(width))));
    }
    let mut picture = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &[height, width, 4])?;
    let pixels = picture.elements_mut::<u8>().unwrap_or_default().as_chunks_mut::<4>().0;
    for (row, pixels) in pixels.chunks_exact_mut(width.max(1)).enumerate() {
        for (column, pixel) in pixels.iter_mut().enumerate() {
            let ([a, b], [c, d]) = ((row as u16).to_le_bytes(), (column as u16).to_le_bytes());
            *pixel = [a, b, c, d];
        }
    }
    Ok(picture)
}

/// Row and column of the first and the last pixel.
fn corners(made: &Sample) -> [[usize; 2]; 2] {
    let at = |pixel: Option<&[u8; 4]>| {
        let [a, b, c, d] = pixel.copied().unwrap_or_default();
        [[a, b], [c, d]].map(|number| usize::from(u16::from_le_bytes(number)))
    };
    let pixels = made.data().as_chunks::<4>().0;
    [at(pixels.first()), at(pixels.last())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Dim;

    fn told(name: &str, parameters: &str, height: usize, width: usize, epoch: u64) -> Value {
        let dims = [Dim::Is(height), Dim::Is(width), Dim::Is(3)];
        let spec = ArraySpec::hwc(Dtype::Uint8, dims[0], dims[1], dims[2]);
        let which = Which { seed: 1, epoch, path: Path::new("a/b.jpg"), number: 2 };
        moves(name, parameters, &spec, which).unwrap()
    }

    /// Doing the moves to a picture makes what the step makes of it.
    #[test]
    fn the_moves_make_what_the_step_makes() {
        let (height, width) = (37, 51);
        for epoch in 0..40 {
            let crop = told("random_crop", r#"{"size": [20, 30]}"#, height, width, epoch);
            assert_eq!(crop[0]["cut"][2], 20);
            assert_eq!(crop[0]["cut"][3], 30);

            let parameters = r#"{"size": [8, 9], "filter": "bicubic"}"#;
            let made = told("random_resized_crop", parameters, height, width, epoch);
            assert_eq!(made[1]["resize"], json!([8, 9]));
            let cut: Vec<u64> = serde_json::from_value(made[0]["cut"].clone()).unwrap();
            assert!(cut[0] + cut[2] <= 37 && cut[1] + cut[3] <= 51, "{cut:?}");

            // The same rectangle by itself, resized by the fixed step.
            let picture = marked(height, width).unwrap();
            let build = |name: &str, parameters: Value| step::build(name, parameters).unwrap().kind;
            let random = build("random_resized_crop", json!({"size": [8, 9], "filter": "bicubic"}));
            let Kind::Random(random) = random else { panic!() };
            let mut draw = Draw::new(1, epoch, b"a/b", 2);
            let expected = random.random_map(Sample::Array(picture.clone()), &mut draw).unwrap();
            let rows = picture.data().chunks_exact(width * 4);
            let rows = rows.skip(cut[0] as usize).take(cut[2] as usize);
            let left = cut[1] as usize * 4;
            let inside: Vec<u8> =
                rows.flat_map(|row| &row[left..left + cut[3] as usize * 4]).copied().collect();
            let shape = [cut[2] as usize, cut[3] as usize, 4];
            let mut part = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &shape).unwrap();
            part.elements_mut::<u8>().unwrap().copy_from_slice(&inside);
            let resize = build("resize", json!({"size": [8, 9], "filter": "bicubic"}));
            let Kind::Fixed(resize) = resize else { panic!() };
            assert_eq!(resize.map(Sample::Array(part)).unwrap(), expected);
        }
    }

    #[test]
    fn a_flip_is_told_only_where_there_is_one() {
        let flips = (0..200)
            .filter(|epoch| told("random_horizontal_flip", "{}", 2, 3, *epoch)[0]["flip"] == true)
            .count();
        assert!((60..140).contains(&flips), "{flips}");
        assert_eq!(
            told("random_horizontal_flip", r#"{"p": 1.0}"#, 2, 3, 0),
            json!([{"flip": true}])
        );
    }

    #[test]
    fn what_cannot_be_cut_out_is_an_error() {
        let dims = [Dim::Is(5), Dim::Is(5), Dim::Is(3)];
        let spec = ArraySpec::hwc(Dtype::Uint8, dims[0], dims[1], dims[2]);
        let which = Which { seed: 1, epoch: 0, path: Path::new("a"), number: 2 };
        assert!(moves("random_crop", r#"{"size": [9, 9]}"#, &spec, which).is_err());
    }
}
