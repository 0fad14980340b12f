//! Pillow's `ImageEnhance`: a picture mixed with a dull version of itself.
//!
//! `factor` 0 is the dull version, 1 the picture, more than 1 goes beyond it.

use super::table::{Table, look_up};
use super::{channels, like, pixels, pixels_mut};
use crate::sample::Array;
use crate::step::StepError;
use crate::step::image::grayscale::luma;

/// Pillow's `Image.blend`: single precision, the fraction cut off, then clipped.
#[inline(always)]
fn blend(dull: u8, value: u8, factor: f32) -> u8 {
    // A cast to `u8` cuts off both.
    (f32::from(dull) + factor * (f32::from(value) - f32::from(dull))) as u8
}

fn blended_with(dull: u8, factor: f64) -> Table {
    std::array::from_fn(|value| blend(dull, value as u8, factor as f32))
}

/// Mixed with black.
pub(super) fn brightness(picture: &mut Array, factor: f64) {
    look_up(picture, &blended_with(0, factor));
}

/// Mixed with the mean of its lightness.
pub(super) fn contrast(picture: &mut Array, factor: f64) {
    let (sum, count) = match channels(picture) {
        1 => {
            let values = picture.elements::<u8>().unwrap_or_default();
            (values.iter().map(|value| u64::from(*value)).sum::<u64>(), values.len())
        }
        _ => {
            let pixels = pixels::<3>(picture);
            (pixels.iter().map(|pixel| u64::from(luma(*pixel))).sum(), pixels.len())
        }
    };
    let mean = (sum as f64 / count as f64 + 0.5) as u8;
    look_up(picture, &blended_with(mean, factor));
}

/// Mixed with its lightness; a gray picture has no colours to change.
pub(super) fn saturation(picture: &mut Array, factor: f64) {
    if channels(picture) == 1 {
        return;
    }
    let factor = factor as f32;
    for pixel in pixels_mut::<3>(picture) {
        let gray = luma(*pixel);
        *pixel = pixel.map(|value| blend(gray, value, factor));
    }
}

/// Mixed with Pillow's `SMOOTH` of it: a 3 × 3 mean in which the middle counts five times. The
/// outermost pixels stay as they are.
pub(super) fn sharpness(picture: Array, factor: f64) -> Result<Array, StepError> {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let mut made = like(&picture)?;
    let source = picture.elements::<u8>().unwrap_or_default();
    let target = made.elements_mut::<u8>().unwrap_or_default();
    target.copy_from_slice(source);
    if height < 3 || width < 3 {
        return Ok(made);
    }
    let row = width * channels;
    let rows = source.windows(3 * row).step_by(row);
    for (rows, target) in rows.zip(target[row..].chunks_exact_mut(row)) {
        let (above, rest) = rows.split_at(row);
        let (here, below) = rest.split_at(row);
        smooth(above, here, below, channels, factor as f32, target);
    }
    Ok(made)
}

/// A row but for its first and last pixel.
fn smooth(above: &[u8], here: &[u8], below: &[u8], pixel: usize, factor: f32, target: &mut [u8]) {
    const SIDE: f32 = 1.0 / 13.0;
    const MIDDLE: f32 = 5.0 / 13.0;
    let inner = target.len() - 2 * pixel;
    // Pillow's order of sums, from the row below to the one above.
    let line = |row: &[u8], at: usize, middle: f32| {
        let [left, here, right] = [row[at], row[at + pixel], row[at + 2 * pixel]].map(f32::from);
        left * SIDE + here * middle + right * SIDE
    };
    for (at, target) in target[pixel..][..inner].iter_mut().enumerate() {
        let mut sum = 0.5;
        sum += line(below, at, SIDE);
        sum += line(here, at, MIDDLE);
        sum += line(above, at, SIDE);
        *target = blend(sum as u8, here[at + pixel], factor);
    }
}
