//! The random steps that do one operation or nothing.
//!
//! They draw whether to; the pixels are the operations' business.

use serde::{Deserialize, Serialize};

use super::{Operation, photo};
use crate::draw::Draw;
use crate::sample::{Sample, Spec};
use crate::step::image::probability::Probability;
use crate::step::image::size::OutOfRange;
use crate::step::image::{Grayscale, array_in};
use crate::step::{Map, Named, RandomMap, Reach, StepError, Unfit};

/// A random step that does `operation` with probability `p`; its pixels depend as `reach` says.
macro_rules! sometimes {
    ($step:ty, $name:literal, $reach:expr, $operation:expr) => {
        impl Named for $step {
            const NAME: &'static str = $name;
        }

        impl RandomMap for $step {
            fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
                photo(input).map(crate::step::image::Picture::spec)
            }

            fn reach(&self, _input: &Spec) -> Reach {
                $reach
            }

            fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
                self.spec(&input.spec())?;
                if !self.p.hits(draw) {
                    return Ok(input);
                }
                let operation: fn(&$step) -> Operation = $operation;
                operation(self).apply(array_in(input)?, &Default::default()).map(Sample::Array)
            }
        }
    };
}

/// `random_invert`: `255 − x` with probability `p` (default 0.5).
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomInvert {
    #[serde(default)]
    p: Probability,
}

sometimes!(RandomInvert, "random_invert", Reach::Pixel, |_| Operation::Invert);

/// `random_posterize`: the first `bits` bits (1 to 8) of each value, the others 0, with probability
/// `p` (default 0.5).
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomPosterize {
    bits: Bits,
    #[serde(default)]
    p: Probability,
}

/// How many bits are kept.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
struct Bits(u8);

impl TryFrom<i64> for Bits {
    type Error = OutOfRange;

    fn try_from(n: i64) -> Result<Bits, OutOfRange> {
        match n {
            1..=8 => Ok(Bits(n as u8)),
            _ => Err(OutOfRange("bits must be a whole number from 1 to 8")),
        }
    }
}

impl From<Bits> for i64 {
    fn from(bits: Bits) -> i64 {
        i64::from(bits.0)
    }
}

sometimes!(RandomPosterize, "random_posterize", Reach::Pixel, |step| {
    Operation::Posterize(step.bits.0)
});

/// `random_solarize`: `255 − x` for each value from `threshold` (0 to 256) on, with probability `p`
/// (default 0.5).
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomSolarize {
    threshold: Threshold,
    #[serde(default)]
    p: Probability,
}

/// The least value that is inverted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
struct Threshold(f64);

impl TryFrom<f64> for Threshold {
    type Error = OutOfRange;

    fn try_from(n: f64) -> Result<Threshold, OutOfRange> {
        if (0.0..=256.0).contains(&n) {
            return Ok(Threshold(n));
        }
        Err(OutOfRange("threshold must be a number from 0 to 256"))
    }
}

impl From<Threshold> for f64 {
    fn from(threshold: Threshold) -> f64 {
        threshold.0
    }
}

sometimes!(RandomSolarize, "random_solarize", Reach::Pixel, |step| {
    Operation::Solarize(step.threshold.0)
});

/// `random_equalize`: each channel's values spread so that each is about as frequent, with
/// probability `p` (default 0.5), as Pillow's `ImageOps.equalize`.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomEqualize {
    #[serde(default)]
    p: Probability,
}

sometimes!(RandomEqualize, "random_equalize", Reach::Whole, |_| Operation::Equalize);

/// `random_autocontrast`: each channel stretched to reach from 0 to 255, with probability `p`
/// (default 0.5), as Pillow's `ImageOps.autocontrast`.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAutocontrast {
    #[serde(default)]
    p: Probability,
}

sometimes!(RandomAutocontrast, "random_autocontrast", Reach::Whole, |_| {
    Operation::AutoContrast
});

/// `random_adjust_sharpness`: the picture blurred (`sharpness_factor` below 1) or sharpened (above
/// 1) with probability `p` (default 0.5), as Pillow's `ImageEnhance.Sharpness`.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once, always:
/// whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAdjustSharpness {
    sharpness_factor: Factor,
    #[serde(default)]
    p: Probability,
}

/// 0 is blurred, 1 the picture, more is sharper.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
struct Factor(f64);

impl TryFrom<f64> for Factor {
    type Error = OutOfRange;

    fn try_from(n: f64) -> Result<Factor, OutOfRange> {
        if (0.0..=1000.0).contains(&n) {
            return Ok(Factor(n));
        }
        Err(OutOfRange("sharpness_factor must be a number from 0 to 1000"))
    }
}

impl From<Factor> for f64 {
    fn from(factor: Factor) -> f64 {
        factor.0
    }
}

sometimes!(RandomAdjustSharpness, "random_adjust_sharpness", Reach::Whole, |step| {
    Operation::Sharpness(step.sharpness_factor.0)
});

/// `random_grayscale`: the picture without colours, with probability `p` (default 0.1).
///
/// As `grayscale` with as many channels as the picture has, 1 or 3. Takes uint8 or float32 pictures,
/// HWC or CHW, and keeps their spec. It draws once, always: whether to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomGrayscale {
    #[serde(default = "Probability::tenth")]
    p: Probability,
}

impl Named for RandomGrayscale {
    const NAME: &'static str = "random_grayscale";
}

impl RandomMap for RandomGrayscale {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        Grayscale::keeping().spec(input)?;
        Ok(input.clone())
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        if !self.p.hits(draw) {
            return Ok(input);
        }
        match array_in(input)? {
            gray if super::channels(&gray) == 1 => Ok(Sample::Array(gray)),
            picture => Grayscale::keeping().map(Sample::Array(picture)),
        }
    }
}
