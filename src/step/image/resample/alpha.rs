//! Transparency while resampling: colours count as much as they are seen.
//!
//! Pillow's `Image.resize` resamples `LA` and `RGBA` pictures with colours multiplied by alpha
//! and divides afterwards (`libImaging/Convert.c`: `rgbA2rgba`, `rgba2rgbA`). In 8 bits that
//! loses a little; we lose the same.

use super::{Plane, StepError, scratch};
use crate::sample::Array;

/// Whether the last of so many 8-bit channels is alpha.
pub(super) fn has_alpha(channels: usize) -> bool {
    matches!(channels, 2 | 4)
}

/// The plane with colours multiplied by alpha, its rows one right after the other.
pub(super) fn premultiplied(plane: Plane<u8>) -> Result<Array, StepError> {
    let length = plane.width * plane.channels;
    let mut made = scratch::<u8>(plane.height * length)?;
    let rows = made.elements_mut::<u8>().unwrap_or_default().chunks_exact_mut(length);
    for (y, out) in rows.enumerate() {
        let pixels = plane.row(y).chunks_exact(plane.channels);
        for (pixel, out) in pixels.zip(out.chunks_exact_mut(plane.channels)) {
            let [colours @ .., alpha] = pixel else { continue };
            let [out_colours @ .., out_alpha] = out else { continue };
            for (out, colour) in out_colours.iter_mut().zip(colours) {
                *out = times(*colour, *alpha);
            }
            *out_alpha = *alpha;
        }
    }
    Ok(made)
}

/// Divides colours by alpha again, in place.
pub(super) fn divide(pixels: &mut [u8], channels: usize) {
    for pixel in pixels.chunks_exact_mut(channels) {
        let [colours @ .., alpha] = pixel else { continue };
        if matches!(alpha, 0 | 255) {
            continue;
        }
        for colour in colours {
            *colour = (255 * u32::from(*colour) / u32::from(*alpha)).min(255) as u8;
        }
    }
}

/// `a · b / 255`, rounded, without dividing: Pillow's `MULDIV255`, Blinn's method.
fn times(a: u8, b: u8) -> u8 {
    let product = u32::from(a) * u32::from(b) + 128;
    (((product >> 8) + product) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplying_rounds_to_the_nearest() {
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                let exact = f64::from(a) * f64::from(b) / 255.0;
                assert!((f64::from(times(a, b)) - exact).abs() <= 0.5);
            }
        }
    }

    #[test]
    fn opaque_and_invisible_pixels_keep_their_colours() {
        let mut pixels = [9, 8, 7, 255, 9, 8, 7, 0, 100, 50, 200, 100];
        divide(&mut pixels, 4);
        assert_eq!(pixels, [9, 8, 7, 255, 9, 8, 7, 0, 255, 127, 255, 100]);
    }
}
