//! Grayscale: one lightness for three colours.
//!
//! It knows no colour spaces: the weights are those of ITU-R BT.601 luma on whatever RGB it gets.

use serde::{Deserialize, Serialize};

use super::compat::either_pillow;
use super::size::OutOfRange;
use super::{Compat, Picture, array_for, array_in, wrong_dtype};
use crate::sample::{Array, Dim, Dtype, Element, Layout, Sample, Spec};
use crate::step::{Map, Named, Reach, StepError, Unfit};

/// `grayscale`: the picture without colours, as `channels` = 1 (default) or 3 equal ones.
///
/// * uint8: Pillow's `convert("L")`, `(19595 R + 38470 G + 7471 B + 32768) >> 16`.
/// * float32: torchvision's `0.2989 R + 0.587 G + 0.114 B`, in float32, from left to right.
///
/// With `compat = "tensorflow"`, uint8 is `tf.image.rgb_to_grayscale`: the sum for float32 of
/// values times the float32 nearest to 1/255, times 255.5, cut off. Float32 is the same in both.
///
/// Takes pictures of 3 channels, or of 1, which it keeps; HWC or CHW.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grayscale {
    #[serde(default)]
    channels: Channels,
    #[serde(
        default,
        deserialize_with = "either_pillow",
        skip_serializing_if = "Compat::is_default"
    )]
    compat: Compat,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
enum Channels {
    #[default]
    One,
    Three,
}

impl TryFrom<i64> for Channels {
    type Error = OutOfRange;

    fn try_from(n: i64) -> Result<Channels, OutOfRange> {
        match n {
            1 => Ok(Channels::One),
            3 => Ok(Channels::Three),
            _ => Err(OutOfRange("channels must be 1 or 3")),
        }
    }
}

impl From<Channels> for i64 {
    fn from(channels: Channels) -> i64 {
        channels.count() as i64
    }
}

impl Channels {
    fn count(self) -> usize {
        match self {
            Channels::One => 1,
            Channels::Three => 3,
        }
    }
}

impl Grayscale {
    /// The one that keeps three channels.
    pub(super) fn keeping() -> Grayscale {
        Grayscale { channels: Channels::Three, compat: Compat::default() }
    }
}

impl Named for Grayscale {
    const NAME: &'static str = "grayscale";
}

impl Map for Grayscale {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = Picture::of(input)?;
        if !matches!(picture.dtype, Dtype::Uint8 | Dtype::Float32) {
            let hint = "put `cast` or `to_float` before it";
            return Err(wrong_dtype("uint8 or float32", picture.dtype, hint));
        }
        if !matches!(picture.channels, Dim::Is(1 | 3) | Dim::Varies) {
            return Err(Unfit(format!(
                "needs 1 or 3 channels, but gets {input}: let `decode_image` make mode = \"rgb\""
            )));
        }
        let channels = Dim::Is(self.channels.count());
        Ok(Picture { channels, ..picture }.spec())
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (_, _, channels) = picture.picture().unwrap_or_default();
        if channels == self.channels.count() && channels == 1 {
            return Ok(Sample::Array(picture));
        }
        let mut made = array_for(&output)?;
        match picture.dtype() {
            Dtype::Uint8 if self.compat == Compat::TensorFlow => {
                convert(&picture, &mut made, |rgb: [u8; 3]| {
                    (weighted(rgb.map(|x| f32::from(x) * (1.0 / 255.0))) * 255.5) as u8
                });
            }
            Dtype::Uint8 => convert(&picture, &mut made, luma),
            _ => convert(&picture, &mut made, weighted),
        }
        Ok(Sample::Array(made))
    }
}

/// Pillow's `convert("L")`: 0.299 R + 0.587 G + 0.114 B with 16 bits after the point, rounded.
pub(super) fn luma([r, g, b]: [u8; 3]) -> u8 {
    let sum = u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471;
    ((sum + 0x8000) >> 16) as u8
}

/// The same of 16-bit values.
pub(super) fn wide_luma([r, g, b]: [u16; 3]) -> u16 {
    let sum = u32::from(r) * 19_595 + u32::from(g) * 38_470 + u32::from(b) * 7_471;
    ((sum + 0x8000) >> 16) as u16
}

fn weighted([r, g, b]: [f32; 3]) -> f32 {
    0.2989 * r + 0.587 * g + 0.114 * b
}

fn convert<T: Element>(picture: &Array, made: &mut Array, gray: impl Fn([T; 3]) -> T) {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let source = picture.elements::<T>().unwrap_or_default();
    let target_channels = made.picture().unwrap_or_default().2;
    let layout = picture.layout();
    let target = made.elements_mut::<T>().unwrap_or_default();
    let plane = height * width;
    let at = |n: usize| match (channels, layout) {
        (1, _) => source[n],
        (_, Layout::Chw) => gray([source[n], source[plane + n], source[2 * plane + n]]),
        _ => gray([source[3 * n], source[3 * n + 1], source[3 * n + 2]]),
    };
    match (target_channels, layout) {
        (1, _) => target.iter_mut().enumerate().for_each(|(n, out)| *out = at(n)),
        (_, Layout::Chw) => {
            let (first, others) = target.split_at_mut(plane);
            first.iter_mut().enumerate().for_each(|(n, out)| *out = at(n));
            others.chunks_exact_mut(plane).for_each(|other| other.copy_from_slice(first));
        }
        _ => {
            let pixels = target.as_chunks_mut::<3>().0;
            pixels.iter_mut().enumerate().for_each(|(n, out)| *out = [at(n); 3]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Buffer;

    fn made(channels: i64, layout: Layout, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
        let channels = channels.try_into().unwrap();
        let step = Grayscale { channels, compat: Compat::Pillow13 };
        let data = Buffer::copy_of(bytes);
        let picture = Array::from_parts(Dtype::Uint8, layout, shape, data).unwrap();
        step.map(Sample::Array(picture)).unwrap().data().to_vec()
    }

    #[test]
    fn both_orders_and_both_counts_of_channels_work() {
        let (red, green) = (76, 150);
        let pixels = [255, 0, 0, 0, 255, 0];
        assert_eq!(made(1, Layout::Hwc, &[1, 2, 3], &pixels), [red, green]);
        assert_eq!(made(3, Layout::Hwc, &[1, 2, 3], &pixels), [76, 76, 76, 150, 150, 150]);
        let planes = [255, 0, 0, 255, 0, 0];
        assert_eq!(made(1, Layout::Chw, &[3, 1, 2], &planes), [red, green]);
        assert_eq!(made(3, Layout::Chw, &[3, 1, 2], &planes), [76, 150, 76, 150, 76, 150]);
        assert_eq!(made(3, Layout::Hwc, &[1, 2, 1], &[5, 6]), [5, 5, 5, 6, 6, 6]);
        assert_eq!(made(1, Layout::Hwc, &[1, 2, 1], &[5, 6]), [5, 6]);
    }

    #[test]
    fn floats_are_weighted_as_torchvision_does() {
        let mut picture = Array::for_overwrite(Dtype::Float32, Layout::Hwc, &[1, 1, 3]).unwrap();
        picture.elements_mut::<f32>().unwrap().copy_from_slice(&[0.3, 0.6, 0.9]);
        let step = Grayscale { channels: Channels::One, compat: Compat::Pillow13 };
        let Sample::Array(out) = step.map(Sample::Array(picture)).unwrap() else { panic!() };
        let wanted = 0.2989_f32 * 0.3 + 0.587 * 0.6 + 0.114 * 0.9;
        assert_eq!(out.elements::<f32>().unwrap(), [wanted]);
    }
}
