//! Random erasing: a rectangle of the picture overwritten.
//!
//! It knows no operation on what it overwrites.

use serde::{Deserialize, Serialize};

use super::parameters::Range;
use crate::draw::Draw;
use crate::sample::{Array, Dim, Dtype, Element, Layout, Sample, Spec};
use crate::step::image::numbers::Numbers;
use crate::step::image::probability::Probability;
use crate::step::image::size::OutOfRange;
use crate::step::image::{Picture, array_in, wrong_dtype};
use crate::step::{Named, RandomMap, StepError, Unfit};

/// `random_erasing`: a random rectangle of the picture overwritten, with probability `p` (default
/// 0.5).
///
/// As torchvision's `RandomErasing`: up to ten times, the rectangle's area is drawn as a part of the
/// picture's, uniformly from `scale` (default 0.02 to 0.33), and its height / width log-uniformly from
/// `ratio` (default 0.3 to 3.3); the first that is smaller than the picture both ways is overwritten,
/// or else nothing. `value` (default 0) is a number, a list of one for each channel, or `"random"`: for
/// each value another one, normally distributed with mean 0 and deviation 1.
///
/// Takes uint8 and float32 pictures, HWC or CHW, and keeps their spec. uint8 takes a `value` of whole
/// numbers from 0 to 255; `"random"` is for float32 alone.
///
/// Order of draws: whether to; for each try, area and shape, and if it fits, top row, left column;
/// then the random values, channel by channel, each row by row, from two numbers each. Area and shape
/// are computed in double precision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomErasing {
    #[serde(default)]
    p: Probability,
    #[serde(default)]
    scale: Scale,
    #[serde(default)]
    ratio: Ratio,
    #[serde(default)]
    value: Value,
}

/// The smallest and the largest part of the picture's area.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Scale(Range);

/// The smallest and the largest height / width.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Ratio(Range);

/// What is written there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "value must be a number, a list of one for each channel, or \"random\""
)]
enum Value {
    Constant(Values),
    Normal(Random),
}

/// One number for all channels, or one for each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
struct Values(Numbers);

impl TryFrom<Numbers> for Values {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Values, OutOfRange> {
        let given = numbers.as_slice();
        // As single precision, too.
        if !given.is_empty() && given.iter().all(|n| (*n as f32).is_finite()) {
            return Ok(Values(numbers));
        }
        Err(OutOfRange("value must be a number, or one for each channel"))
    }
}

impl From<Values> for Numbers {
    fn from(values: Values) -> Numbers {
        values.0
    }
}

impl Values {
    fn as_slice(&self) -> &[f64] {
        self.0.as_slice()
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Random {
    Random,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale(Range { low: 0.02, high: 0.33 })
    }
}

impl Default for Ratio {
    fn default() -> Ratio {
        Ratio(Range { low: 0.3, high: 3.3 })
    }
}

impl Default for Value {
    fn default() -> Value {
        Value::Constant(Values(Numbers::One(0.0)))
    }
}

impl TryFrom<[f64; 2]> for Scale {
    type Error = OutOfRange;

    fn try_from([low, high]: [f64; 2]) -> Result<Scale, OutOfRange> {
        Range::within(low, high, 0.0, 1.0)
            .map(Scale)
            .ok_or(OutOfRange("scale must be two numbers from 0 to 1, the smaller first"))
    }
}

impl TryFrom<[f64; 2]> for Ratio {
    type Error = OutOfRange;

    fn try_from([low, high]: [f64; 2]) -> Result<Ratio, OutOfRange> {
        Range::within(low, high, 0.001, 1000.0)
            .map(Ratio)
            .ok_or(OutOfRange("ratio must be two numbers from 0.001 to 1000, the smaller first"))
    }
}

impl From<Scale> for [f64; 2] {
    fn from(scale: Scale) -> [f64; 2] {
        [scale.0.low, scale.0.high]
    }
}

impl From<Ratio> for [f64; 2] {
    fn from(ratio: Ratio) -> [f64; 2] {
        [ratio.0.low, ratio.0.high]
    }
}

/// A rectangle of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangle {
    pub(super) top: usize,
    pub(super) left: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

/// Rectangles tried before the picture is left as it is; torchvision's number.
const TRIES: usize = 10;

impl RandomErasing {
    fn choose(&self, height: usize, width: usize, draw: &mut Draw) -> Option<Rectangle> {
        let area = height as f64 * width as f64;
        let Range { low, high } = self.ratio.0;
        for _ in 0..TRIES {
            let wanted = area * self.scale.0.draw(draw);
            let shape = draw.uniform(low.ln(), high.ln()).exp();
            let h = (wanted * shape).sqrt().round_ties_even() as usize;
            let w = (wanted / shape).sqrt().round_ties_even() as usize;
            if h < height && w < width {
                let top = draw.below((height - h) as u64 + 1) as usize;
                let left = draw.below((width - w) as u64 + 1) as usize;
                return Some(Rectangle { top, left, height: h, width: w });
            }
        }
        None
    }
}

/// Overwrites a rectangle of a picture; `value` is asked channel by channel, row by row.
pub(super) fn erase<T: Element>(
    picture: &mut Array,
    rectangle: Rectangle,
    mut value: impl FnMut(usize) -> T,
) {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let (channel_step, row_step, pixel_step) = match picture.layout() {
        Layout::Chw => (height * width, width, 1),
        Layout::Hwc | Layout::Plain => (1, width * channels, channels),
    };
    let elements = picture.elements_mut::<T>().unwrap_or_default();
    for channel in 0..channels {
        for row in rectangle.top..rectangle.top + rectangle.height {
            for column in rectangle.left..rectangle.left + rectangle.width {
                elements[channel * channel_step + row * row_step + column * pixel_step] =
                    value(channel);
            }
        }
    }
}

impl Named for RandomErasing {
    const NAME: &'static str = "random_erasing";
}

impl RandomMap for RandomErasing {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = Picture::of(input)?;
        let byte = |n: &f64| n.fract() == 0.0 && (0.0..=255.0).contains(n);
        match (picture.dtype, &self.value) {
            (Dtype::Float32, _) => {}
            (Dtype::Uint8, Value::Constant(values)) if values.as_slice().iter().all(byte) => {}
            (Dtype::Uint8, Value::Constant(_)) => {
                let hint = "give it a `value` of whole numbers from 0 to 255, or put `normalize` \
                            before it";
                return Err(Unfit(format!("cannot write its `value` as uint8: {hint}")));
            }
            (Dtype::Uint8, Value::Normal(_)) => {
                let hint = "for `value = \"random\"`, put `normalize` before it";
                return Err(wrong_dtype("float32", picture.dtype, hint));
            }
            _ => {
                let hint = "put `normalize` or `cast` before it";
                return Err(wrong_dtype("uint8 or float32", picture.dtype, hint));
            }
        }
        if let (Value::Constant(values), Dim::Is(channels)) = (&self.value, picture.channels) {
            let given = values.as_slice().len();
            if given != 1 && given != channels {
                return Err(Unfit(format!(
                    "has {given} numbers in `value` for {channels} channels"
                )));
            }
        }
        Ok(picture.spec())
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        if !self.p.hits(draw) {
            return Ok(input);
        }
        let mut picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        let Some(rectangle) = self.choose(height, width, draw) else {
            return Ok(Sample::Array(picture));
        };
        match &self.value {
            Value::Normal(_) => erase(&mut picture, rectangle, |_| draw.normal() as f32),
            Value::Constant(values) => {
                let given = values.as_slice();
                let of = |channel: usize| given[channel.min(given.len() - 1)];
                match picture.dtype() {
                    Dtype::Uint8 => erase(&mut picture, rectangle, |n| of(n) as u8),
                    _ => erase(&mut picture, rectangle, |n| of(n) as f32),
                }
            }
        }
        Ok(Sample::Array(picture))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ArraySpec, Buffer};

    fn step(text: &str) -> RandomErasing {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rectangles_are_smaller_than_the_picture_and_within_their_ranges() {
        let step = step("{}");
        for epoch in 0..2000 {
            let chosen = step.choose(200, 300, &mut Draw::new(0, epoch, b"", 1));
            let Some(Rectangle { top, left, height, width }) = chosen else { panic!() };
            assert!(height < 200 && width < 300 && top + height <= 200 && left + width <= 300);
            let part = (height * width) as f64 / 60_000.0;
            let shape = height as f64 / width as f64;
            assert!((0.019..0.34).contains(&part) && (0.28..3.5).contains(&shape), "{chosen:?}");
        }
        assert_eq!(step.choose(1, 300, &mut Draw::new(0, 0, b"", 1)).map(|r| r.height), None);
    }

    #[test]
    fn both_orders_of_axes_are_erased_alike() {
        let step = step(r#"{"p": 1, "value": "random"}"#);
        let made = |layout, shape: &[usize]| {
            let data = Buffer::zeroed(8 * 9 * 3 * 4);
            let picture = Array::from_parts(Dtype::Float32, layout, shape, data).unwrap();
            let out = step.random_map(Sample::Array(picture), &mut Draw::new(0, 0, b"", 1));
            let Ok(Sample::Array(out)) = out else { panic!() };
            out.elements::<f32>().unwrap().to_vec()
        };
        let (hwc, chw) = (made(Layout::Hwc, &[8, 9, 3]), made(Layout::Chw, &[3, 8, 9]));
        assert!(hwc.iter().any(|n| *n < -0.5) && hwc.iter().any(|n| *n > 0.5));
        for channel in 0..3 {
            for pixel in 0..72 {
                assert_eq!(hwc[pixel * 3 + channel], chw[channel * 72 + pixel]);
            }
        }
    }

    #[test]
    fn values_must_fit_the_picture() {
        let [height, width, channels] = [8, 9, 3].map(Dim::Is);
        let refused = |text, dtype| {
            let spec = Spec::Array(ArraySpec::hwc(dtype, height, width, channels));
            step(text).spec(&spec).is_err()
        };
        assert!(refused(r#"{"value": 0.5}"#, Dtype::Uint8));
        assert!(refused(r#"{"value": "random"}"#, Dtype::Uint8));
        assert!(refused(r#"{"value": [1, 2]}"#, Dtype::Float32));
        assert!(refused("{}", Dtype::Float64));
        assert!(!refused(r#"{"value": [1, 2, 3]}"#, Dtype::Uint8));
        for wrong in [r#"{"value": []}"#, r#"{"value": 1e39}"#, r#"{"value": "noise"}"#] {
            let error = serde_json::from_str::<RandomErasing>(wrong).unwrap_err().to_string();
            assert!(error.contains("or \"random\""), "{error}");
        }
    }
}
