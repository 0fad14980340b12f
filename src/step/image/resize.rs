//! The resize step: which size a picture gets.
//!
//! It knows sizes; the pixels are the resampler's business.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fusion::small_picture;
use super::resample::{Source, resample};
use super::{Compat, Filter, Part, Picture, Side, Size, Window, array_in, wrong_dtype};
use crate::sample::{Dim, Dtype, Sample, Spec};
use crate::step::{Map, Named, StepError, Unfit};

/// `resize`: the picture in another size, by exactly one of
///
/// * `size = [height, width]`;
/// * `short_side = N`: the shorter side becomes N pixels long and the longer one
///   `int(N · long / short)`, torchvision's rule.
///
/// `filter` is `bilinear` (default), `box`, `hamming`, `bicubic`, `lanczos` or `nearest`.
///
/// Takes HWC pictures: uint8 of 1 to 4 channels, the second of 2 and the fourth of 4 being alpha,
/// bit-identical to Pillow 13's `Image.resize` of modes L, LA, RGB and RGBA; or uint16 or float32
/// of any number of channels, each as Pillow's mode I;16 or F.
///
/// `compat` says whose resize it is:
///
/// * `pillow-13` (default);
/// * `pillow-12`: as Pillow 12 and older, whose passes are always in the same order: other by a step
///   or more where many more rows than columns are dropped;
/// * `tensorflow`: `tf.image.resize` without antialiasing, for any number of channels. `bilinear`
///   makes float32 of every picture, not rounded; `nearest` keeps the type. With `short_side = N`,
///   both sides are `int(side · (N / short))` in single precision, as in PRESTO's pipelines: for one
///   shorter side in eight, that is N − 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct Resize {
    target: Target,
    filter: Filter,
    compat: Compat,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    ShortSide(Side),
    Size(Size),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    short_side: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    #[serde(default)]
    filter: Filter,
    #[serde(default, skip_serializing_if = "Compat::is_default")]
    compat: Compat,
}

/// Neither or both sizes were given.
struct OneSize;

impl fmt::Display for OneSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("exactly one of `short_side` and `size` must be given")
    }
}

impl TryFrom<Parameters> for Resize {
    type Error = OneSize;

    fn try_from(parameters: Parameters) -> Result<Resize, OneSize> {
        let target = match (parameters.short_side, parameters.size) {
            (Some(side), None) => Target::ShortSide(side),
            (None, Some(size)) => Target::Size(size),
            _ => return Err(OneSize),
        };
        Ok(Resize { target, filter: parameters.filter, compat: parameters.compat })
    }
}

impl From<Resize> for Parameters {
    fn from(resize: Resize) -> Parameters {
        let (short_side, size) = match resize.target {
            Target::ShortSide(side) => (Some(side), None),
            Target::Size(size) => (None, Some(size)),
        };
        Parameters { short_side, size, filter: resize.filter, compat: resize.compat }
    }
}

impl Target {
    fn dims(self, height: Dim, width: Dim, compat: Compat) -> (Dim, Dim) {
        match (self, height, width) {
            (Target::Size(size), _, _) => (Dim::Is(size.height.get()), Dim::Is(size.width.get())),
            (Target::ShortSide(side), Dim::Is(height), Dim::Is(width)) => {
                let (height, width) = match compat {
                    Compat::TensorFlow => scaled(side.get(), height, width),
                    Compat::Pillow13 | Compat::Pillow12 => shortened(side.get(), height, width),
                };
                (Dim::Is(height), Dim::Is(width))
            }
            _ => (Dim::Varies, Dim::Varies),
        }
    }
}

/// torchvision's `_compute_resized_output_size`, with Python's division of whole numbers.
fn shortened(side: usize, height: usize, width: usize) -> (usize, usize) {
    let long = |long: usize, short: usize| (side as f64 * long as f64 / short as f64) as usize;
    if width <= height { (long(height, width), side) } else { (side, long(width, height)) }
}

/// PRESTO's `_minsize_scale`, with TensorFlow's single precision. A longer side is never 0 pixels
/// long, and we let no side be: `tf.image.resize` refuses that.
fn scaled(side: usize, height: usize, width: usize) -> (usize, usize) {
    let scale = side as f32 / height.min(width) as f32;
    let scaled = |length: usize| ((length as f32 * scale) as usize).max(1);
    (scaled(height), scaled(width))
}

/// What a resampled picture is, but for its size; refused if it can't be resampled so.
pub(super) fn resizable(input: &Spec, filter: Filter, compat: Compat) -> Result<Picture, Unfit> {
    let mut picture = Picture::hwc(input)?;
    match picture.dtype {
        Dtype::Float32 | Dtype::Uint16 => {}
        Dtype::Uint8 if compat == Compat::TensorFlow => {}
        Dtype::Uint8 => {
            if picture.channels.exact().is_some_and(|channels| channels > 4) {
                return Err(Unfit(format!("needs 1 to 4 channels of uint8, but gets {input}")));
            }
        }
        dtype => {
            let hint = "put `to_float` or `cast` before it";
            return Err(wrong_dtype("uint8, uint16 or float32", dtype, hint));
        }
    }
    match (compat, filter) {
        (Compat::Pillow13 | Compat::Pillow12, _) | (Compat::TensorFlow, Filter::Nearest) => {}
        (Compat::TensorFlow, Filter::Bilinear) => picture.dtype = Dtype::Float32,
        (Compat::TensorFlow, _) => {
            let why = "of tf.image.resize, only `bilinear` and `nearest` are here";
            return Err(compat.cannot(&format!("filter = \"{filter}\""), why));
        }
    }
    Ok(picture)
}

impl Named for Resize {
    const NAME: &'static str = "resize";
}

impl Map for Resize {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let mut picture = resizable(input, self.filter, self.compat)?;
        (picture.height, picture.width) =
            self.target.dims(picture.height, picture.width, self.compat);
        Ok(picture.spec())
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        let to = self.target.dims(Dim::Is(height), Dim::Is(width), self.compat);
        let size = (to.0.exact()?, to.1.exact()?);
        let Resize { filter, compat, .. } = *self;
        (compat != Compat::TensorFlow).then(|| vec![Part::Resize { size, filter, compat }])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let from = Picture::hwc(&input.spec())?;
        let output = self.spec(&input.spec())?;
        let to = Picture::hwc(&output)?;
        let same = (from.height, from.width, from.dtype) == (to.height, to.width, to.dtype);
        let picture = array_in(input)?;
        let (Some(height), Some(width), false) = (to.height.exact(), to.width.exact(), same) else {
            return Ok(Sample::Array(picture));
        };
        let (rows, columns, _) = picture.picture().unwrap_or_default();
        let source = Source::cut(&picture, Window::whole(rows, columns));
        let whole = Window::whole(height, width);
        resample(source, (height, width), self.filter, self.compat, &whole, &output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::ArraySpec;

    fn read(text: &str) -> Result<Resize, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn the_longer_side_follows_torchvision() {
        // int(256 * 500 / 375), int(256 * 640 / 427), equal sides, and one that rounds down
        assert_eq!(shortened(256, 375, 500), (256, 341));
        assert_eq!(shortened(256, 640, 427), (383, 256));
        assert_eq!(shortened(224, 9, 9), (224, 224));
        assert_eq!(shortened(1, 3, 5), (1, 1));
    }

    #[test]
    fn exactly_one_size_is_given() {
        for wrong in ["{}", r#"{"short_side": 2, "size": [2, 2]}"#] {
            assert!(read(wrong).unwrap_err().to_string().contains("exactly one of"));
        }
        assert!(read(r#"{"short_side": 70000}"#).unwrap_err().to_string().contains("1 to 65535"));
        assert!(read(r#"{"short_side": 7, "fliter": "box"}"#).is_err());
        let written = serde_json::to_string(&read(r#"{"short_side": 7}"#).unwrap()).unwrap();
        assert_eq!(written, r#"{"short_side":7,"filter":"bilinear"}"#);
    }

    #[test]
    fn specs_say_what_to_do() {
        let step = read(r#"{"short_side": 7}"#).unwrap();
        let error = step.spec(&Spec::Bytes).unwrap_err().to_string();
        assert!(error.starts_with("needs a picture, but gets bytes: put"), "{error}");
        let wide = ArraySpec::hwc(Dtype::Int16, Dim::Varies, Dim::Varies, Dim::Is(3));
        let error = step.spec(&Spec::Array(wide)).unwrap_err().to_string();
        assert!(error.contains("put `to_float`"), "{error}");
        let exact = ArraySpec::hwc(Dtype::Uint8, Dim::Is(14), Dim::Is(21), Dim::Is(3));
        assert_eq!(step.spec(&Spec::Array(exact)).unwrap().to_string(), "uint8 [7, 10, 3]");
    }

    #[test]
    fn tensorflow_has_its_own_sizes_types_and_filters() {
        // 256 / 41 in single precision, times 41, is a little less than 256.
        assert_eq!(scaled(256, 41, 82), (255, 511));
        assert_eq!(scaled(256, 375, 500), (256, 341));
        let picture = ArraySpec::hwc(Dtype::Uint8, Dim::Is(41), Dim::Is(82), Dim::Is(3));
        let spec = |text: &str| read(text).unwrap().spec(&Spec::Array(picture.clone()));
        let made = spec(r#"{"short_side": 256, "compat": "tensorflow"}"#).unwrap();
        assert_eq!(made.to_string(), "float32 [255, 511, 3]");
        let made = spec(r#"{"size": [4, 5], "filter": "nearest", "compat": "tensorflow"}"#);
        assert_eq!(made.unwrap().to_string(), "uint8 [4, 5, 3]");
        let error = spec(r#"{"size": [4, 5], "filter": "lanczos", "compat": "tensorflow"}"#);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("can't do filter = \"lanczos\" with compat"), "{error}");
    }
}
