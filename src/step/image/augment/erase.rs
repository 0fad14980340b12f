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
    Constant(Numbers),
    Normal(Random),
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
        Value::Constant(Numbers::One(0.0))
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
            (Dtype::Uint8, Value::Constant(numbers)) if numbers.as_slice().iter().all(byte) => {}
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
        if let (Value::Constant(numbers), Dim::Is(channels)) = (&self.value, picture.channels) {
            let given = numbers.as_slice().len();
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
            Value::Constant(numbers) => {
                let given = numbers.as_slice();
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
