//! The Gaussian blur.
//!
//! torchvision multiplies each pixel's neighbours with a matrix, in single precision and row by row;
//! that sum is only needed where it decides how to round. Everywhere else two passes, one down and
//! one across, are close enough to know.

#[cfg(target_arch = "x86_64")]
mod fused;
mod kernel;

use serde::{Deserialize, Serialize};

use super::parameters::Range;
use super::{like, photo};
use crate::draw::Draw;
use crate::sample::{Array, Dim, Sample, Spec};
use crate::step::image::array_in;
use crate::step::image::numbers::Numbers;
use crate::step::image::size::OutOfRange;
use crate::step::{Named, RandomMap, StepError, Unfit};
use kernel::gaussian;

/// `gaussian_blur`: the picture blurred by a random width.
///
/// As torchvision's `GaussianBlur` on Pillow pictures: `kernel_size` is an odd number from 1 to 99, or
/// `[across, down]`; `sigma` is the deviation in pixels, a number or `[low, high]` (default 0.1 to 2).
/// Beyond the border the picture is mirrored, so half of `kernel_size` must be less than each side.
///
/// Sums are made in torch's order, with fused multiplications as on any processor with AVX2. What is
/// left is torch's `exp`, which misses the nearest number in 1 of 85 cases: with the same sigma, about
/// 1 value in 2 million is one level off.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once: sigma.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianBlur {
    kernel_size: KernelSize,
    #[serde(default)]
    sigma: Sigma,
}

/// The sides of the matrix of neighbours, both odd.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
struct KernelSize {
    across: u8,
    down: u8,
}

/// Deviations in pixels to draw from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
struct Sigma(Range);

impl TryFrom<Numbers> for KernelSize {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<KernelSize, OutOfRange> {
        let [across, down] = match *numbers.as_slice() {
            [both] => [both; 2],
            [across, down] => [across, down],
            _ => [0.0; 2],
        };
        if [across, down].iter().all(|n| n % 2.0 == 1.0 && *n <= 99.0) {
            return Ok(KernelSize { across: across as u8, down: down as u8 });
        }
        Err(OutOfRange("kernel_size must be an odd number from 1 to 99, or two: [across, down]"))
    }
}

impl From<KernelSize> for Numbers {
    fn from(size: KernelSize) -> Numbers {
        Numbers::Many(vec![f64::from(size.across), f64::from(size.down)])
    }
}

impl Default for Sigma {
    fn default() -> Sigma {
        Sigma(Range { low: 0.1, high: 2.0 })
    }
}

impl TryFrom<Numbers> for Sigma {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Sigma, OutOfRange> {
        let [low, high] = match *numbers.as_slice() {
            [both] => [both; 2],
            [low, high] => [low, high],
            _ => [0.0; 2],
        };
        Range::within(low, high, 0.001, 1000.0)
            .map(Sigma)
            .ok_or(OutOfRange("sigma must be a number from 0.001 to 1000, or two: [low, high]"))
    }
}

impl From<Sigma> for Numbers {
    fn from(sigma: Sigma) -> Numbers {
        Numbers::Many(sigma.0.numbers())
    }
}

impl Named for GaussianBlur {
    const NAME: &'static str = "gaussian_blur";
}

impl RandomMap for GaussianBlur {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = photo(input)?;
        let sides =
            [(picture.width, self.kernel_size.across), (picture.height, self.kernel_size.down)];
        for (side, size) in sides {
            if matches!(side, Dim::Is(side) if side <= usize::from(size / 2)) {
                return Err(Unfit(format!(
                    "cannot mirror {input} by {} pixels: put a `resize` before it or make \
                     `kernel_size` smaller",
                    size / 2
                )));
            }
        }
        Ok(picture.spec())
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let sigma = self.sigma.0.draw(draw);
        let KernelSize { across, down } = self.kernel_size;
        blur(&array_in(input)?, [across, down].map(usize::from), [sigma; 2]).map(Sample::Array)
    }
}

/// The most floats that rows are kept as: 256 MiB, and pictures 200,000 pixels wide fit with any size.
const MOST_FLOATS: usize = 1 << 26;

/// The picture blurred; sizes and deviations are across and down.
pub(super) fn blur(
    picture: &Array,
    [across, down]: [usize; 2],
    sigma: [f64; 2],
) -> Result<Array, StepError> {
    let (_, width, channels) = picture.picture().unwrap_or_default();
    if down * width * channels > MOST_FLOATS {
        return Err(StepError::Limit(format!(
            "{down} rows of {width} pixels as floats are more than a blur may take"
        )));
    }
    let mut made = like(picture)?;
    let mut blur = Blur::of(picture, [across, down], sigma);
    let target = made.elements_mut::<u8>().unwrap_or_default();
    #[cfg(target_arch = "x86_64")]
    if fused::run(&mut blur, target) {
        return Ok(made);
    }
    blur.run(target);
    Ok(made)
}

/// The lines `0..side` with `more` mirrored ones before and after.
fn mirrored(side: usize, more: usize) -> Vec<usize> {
    (0..side + 2 * more)
        .map(|at| at.abs_diff(more))
        .map(|at| if at < side { at } else { 2 * (side - 1) - at })
        .collect()
}

struct Blur<'a> {
    source: &'a [u8],
    /// Values in a row.
    row: usize,
    channels: usize,
    /// Rows with those mirrored before and after.
    rows: Vec<usize>,
    columns: Vec<usize>,
    down: Vec<f32>,
    across: Vec<f32>,
    floats: Floats,
}

/// The rows of the source that are looked at, as floats: as many as there are weights, each at its
/// number's remainder.
struct Floats {
    values: Vec<f32>,
    /// The first row that wasn't there yet.
    next: usize,
}

impl Blur<'_> {
    fn of(picture: &Array, [across, down]: [usize; 2], sigma: [f64; 2]) -> Blur<'_> {
        let (height, width, channels) = picture.picture().unwrap_or_default();
        Blur {
            source: picture.elements::<u8>().unwrap_or_default(),
            row: width * channels,
            channels,
            rows: mirrored(height, down / 2),
            columns: mirrored(width, across / 2),
            down: gaussian(down, sigma[1]),
            across: gaussian(across, sigma[0]),
            floats: Floats { values: vec![0.0; down * width * channels], next: 0 },
        }
    }
}

// All are put into where they are called, to be compiled for the processor that it is for.
impl Blur<'_> {
    /// All rows of the new picture.
    #[inline(always)]
    fn run(&mut self, target: &mut [u8]) {
        let (channels, len) = (self.channels, self.row);
        let (mut summed, mut sums) = (vec![0.0; len], vec![0.0; len]);
        let mut wide = vec![0.0; self.columns.len() * channels];
        for (row, target) in target.chunks_exact_mut(len).enumerate() {
            self.sum_down(row, &mut summed);
            for (wide, column) in wide.chunks_exact_mut(channels).zip(&self.columns) {
                wide.copy_from_slice(&summed[column * channels..][..channels]);
            }
            self.sum_across(&wide, &mut sums);
            self.round(row, &sums, target);
        }
    }

    #[inline(always)]
    fn sum_down(&mut self, row: usize, summed: &mut [f32]) {
        let (len, size) = (self.row, self.down.len());
        let rows = &self.rows[row..row + size];
        let last = rows.iter().max().map_or(0, |last| last + 1);
        for row in self.floats.next..last {
            let source = &self.source[row * len..][..len];
            let target = &mut self.floats.values[row % size * len..][..len];
            for (value, source) in target.iter_mut().zip(source) {
                *value = f32::from(*source);
            }
        }
        self.floats.next = self.floats.next.max(last);
        summed.fill(0.0);
        for (weight, from) in self.down.iter().zip(rows) {
            let values = &self.floats.values[from % size * len..][..len];
            for (sum, value) in summed.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
    }

    #[inline(always)]
    fn sum_across(&self, wide: &[f32], sums: &mut [f32]) {
        sums.fill(0.0);
        for (at, weight) in self.across.iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(&wide[at * self.channels..]) {
                *sum += weight * value;
            }
        }
    }

    /// How far the sums of two passes and torch's can be apart.
    ///
    /// Each operation is off by at most half a unit in the last place of the sum so far, which is at
    /// most 255 times the weights so far; and those are half of all on average, as they are
    /// symmetric. So n sums count as (n + 1) / 2; the products of two passes and those of weights
    /// count once each. 256 instead of 255 is more than what is left out.
    #[inline(always)]
    fn doubt(&self) -> f32 {
        let (down, across) = (self.down.len(), self.across.len());
        let halves = (down * across + 1) + (down + 1) + (across + 1) + 6;
        halves as f32 * (256.0 * f32::EPSILON / 4.0)
    }

    #[inline(always)]
    fn round(&self, row: usize, sums: &[f32], target: &mut [u8]) {
        let doubt = self.doubt();
        for (at, (sum, target)) in sums.iter().zip(target).enumerate() {
            // Never negative: a cast cuts the fraction off.
            let whole = *sum as u8;
            let fraction = sum - f32::from(whole);
            *target = if (fraction - 0.5).abs() <= doubt {
                self.exact(row, at).round_ties_even() as u8
            } else {
                whole + u8::from(fraction > 0.5)
            };
        }
    }

    /// torch's sum: row by row, fused.
    #[inline(always)]
    fn exact(&self, row: usize, at: usize) -> f32 {
        let (column, channel) = (at / self.channels, at % self.channels);
        let mut sum = 0.0;
        for (down, row) in self.down.iter().zip(&self.rows[row..]) {
            let source = &self.source[row * self.row + channel..];
            for (across, column) in self.across.iter().zip(&self.columns[column..]) {
                sum = (down * across).mul_add(f32::from(source[column * self.channels]), sum);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_mirrored_at_the_outermost_ones() {
        assert_eq!(mirrored(4, 2), [2, 1, 0, 1, 2, 3, 2, 1]);
        assert_eq!(mirrored(2, 1), [1, 0, 1, 0]);
        assert_eq!(mirrored(1, 0), [0]);
    }

    #[test]
    fn two_passes_round_as_the_whole_sum_does() {
        let mut draw = Draw::new(0, 0, b"blur", 0);
        let bytes: Vec<u8> = (0..31 * 37 * 3).map(|_| draw.bits() as u8).collect();
        let data = crate::sample::Buffer::copy_of(&bytes);
        let (dtype, layout) = (crate::sample::Dtype::Uint8, crate::sample::Layout::Hwc);
        let picture = Array::from_parts(dtype, layout, &[31, 37, 3], data).unwrap();
        for (size, sigma) in [([3, 3], 0.6), ([9, 5], 1.9), ([23, 23], 2.0), ([61, 7], 9.0)] {
            let made = blur(&picture, size, [sigma; 2]).unwrap();
            let mut plain = Blur::of(&picture, size, [sigma; 2]);
            let mut bytes = vec![0; made.data().len()];
            plain.run(&mut bytes);
            assert!(bytes[..] == made.data()[..], "the plain code differs");
            for (at, value) in bytes.iter().enumerate() {
                let sum = plain.exact(at / plain.row, at % plain.row);
                assert_eq!(*value, sum.round_ties_even() as u8, "{size:?} at {at}");
            }
        }
    }

    #[test]
    fn a_picture_that_is_too_small_names_the_way_out() {
        let step: GaussianBlur = serde_json::from_str(r#"{"kernel_size": [3, 9]}"#).unwrap();
        let spec = Array::for_overwrite(
            crate::sample::Dtype::Uint8,
            crate::sample::Layout::Hwc,
            &[4, 9, 3],
        );
        let error = step.spec(&Spec::Array(spec.unwrap().spec())).unwrap_err().to_string();
        assert!(error.starts_with("cannot mirror uint8 [4, 9, 3] by 4 pixels"), "{error}");
    }

    #[test]
    fn ranges_are_checked() {
        for wrong in [
            r#"{"kernel_size": 4}"#,
            r#"{"kernel_size": [3, 0]}"#,
            r#"{"kernel_size": 3.5}"#,
            r#"{"kernel_size": 101}"#,
            r#"{"kernel_size": 3, "sigma": 0}"#,
            r#"{"kernel_size": 3, "sigma": [2, 1]}"#,
        ] {
            assert!(serde_json::from_str::<GaussianBlur>(wrong).is_err(), "{wrong}");
        }
    }
}
