//! From the channels that a file has to those that are wanted.
//!
//! It knows no file format.

use super::super::grayscale::{luma, wide_luma};
use super::Mode;

/// A value of 8 or 16 bits.
pub(super) trait Level: Copy {
    const OPAQUE: Self;
    fn luma(rgb: [Self; 3]) -> Self;
}

impl Level for u8 {
    const OPAQUE: u8 = u8::MAX;

    fn luma(rgb: [u8; 3]) -> u8 {
        luma(rgb)
    }
}

impl Level for u16 {
    const OPAQUE: u16 = u16::MAX;

    fn luma(rgb: [u16; 3]) -> u16 {
        wide_luma(rgb)
    }
}

/// Writes pixels of `channels` (1 gray, 2 gray and alpha, 3 RGB, 4 RGBA) as `mode` wants them.
/// Alpha that isn't wanted is dropped and one that isn't there is opaque, as in Pillow's
/// `convert`.
pub(super) fn convert<T: Level>(source: &[T], channels: usize, mode: Mode, out: &mut [T]) {
    match channels {
        1 => each::<T, 1>(source, mode, out, |[v]| [v, v, v, T::OPAQUE]),
        2 => each::<T, 2>(source, mode, out, |[v, a]| [v, v, v, a]),
        3 => each::<T, 3>(source, mode, out, |[r, g, b]| [r, g, b, T::OPAQUE]),
        _ => each::<T, 4>(source, mode, out, |rgba| rgba),
    }
}

fn each<T: Level, const C: usize>(
    source: &[T],
    mode: Mode,
    out: &mut [T],
    rgba: impl Fn([T; C]) -> [T; 4],
) {
    let pixels = source.as_chunks::<C>().0.iter().map(|pixel| (pixel, rgba(*pixel)));
    match mode {
        Mode::Rgb => {
            for ((_, [r, g, b, _]), out) in pixels.zip(out.as_chunks_mut::<3>().0) {
                *out = [r, g, b];
            }
        }
        Mode::Rgba => {
            for ((_, rgba), out) in pixels.zip(out.as_chunks_mut::<4>().0) {
                *out = rgba;
            }
        }
        Mode::L => {
            for ((pixel, [r, g, b, _]), out) in pixels.zip(out) {
                *out = if C <= 2 { pixel[0] } else { T::luma([r, g, b]) };
            }
        }
    }
}

/// Adobe's inverted CMYK (255 is no ink), as JPEG files have it, to RGB in place of the first
/// three of every four bytes: Pillow's `cmyk2rgb` (`libImaging/Convert.c`) of the inverse.
pub(super) fn cmyk_to_rgbx(pixels: &mut [u8]) {
    for [c, m, y, k] in pixels.as_chunks_mut::<4>().0 {
        let light = u32::from(*k);
        for ink in [c, m, y] {
            let product = (255 - u32::from(*ink)) * light + 128;
            let dark = ((product >> 8) + product) >> 8;
            *ink = light.saturating_sub(dark) as u8;
        }
        *k = 255;
    }
}

/// The same as `tf.io.decode_image` does it (`tensorflow/core/lib/jpeg/jpeg_mem.cc`): rounded down,
/// and without Adobe's marker taken as not inverted.
pub(super) fn cmyk_to_rgbx_as_tensorflow(pixels: &mut [u8], inverted: bool) {
    for [c, m, y, k] in pixels.as_chunks_mut::<4>().0 {
        let light = |value: u8| u32::from(if inverted { value } else { 255 - value });
        for ink in [c, m, y] {
            *ink = (light(*k) * light(*ink) / 255) as u8;
        }
        *k = 255;
    }
}

/// Divides RGB by alpha, as Pillow's unpacker of premultiplied pixels does (`unpackRGBa`,
/// `libImaging/Unpack.c`).
pub(super) fn divide_by_alpha(pixels: &mut [u8], channels: usize) {
    for pixel in pixels.chunks_exact_mut(channels) {
        let [colours @ .., alpha] = pixel else { continue };
        for colour in colours {
            *colour = match *alpha {
                0 => 0,
                255 => *colour,
                alpha => (u32::from(*colour) * 255 / u32::from(alpha)).min(255) as u8,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_dropped_or_opaque_and_gray_stays_itself() {
        let mut rgb = [0_u8; 6];
        convert(&[1, 2, 3, 0, 4, 5, 6, 9], 4, Mode::Rgb, &mut rgb);
        assert_eq!(rgb, [1, 2, 3, 4, 5, 6]);
        let mut rgba = [0_u8; 8];
        convert(&[7, 8], 1, Mode::Rgba, &mut rgba);
        assert_eq!(rgba, [7, 7, 7, 255, 8, 8, 8, 255]);
        let mut l = [0_u8; 2];
        convert(&[7, 0, 8, 0], 2, Mode::L, &mut l);
        assert_eq!(l, [7, 8]);
        convert(&[255, 0, 0, 0, 255, 0], 3, Mode::L, &mut l);
        assert_eq!(l, [76, 150]);
    }

    #[test]
    fn no_ink_is_white_and_black_ink_is_black() {
        let mut pixels = [255, 255, 255, 255, 255, 255, 255, 0, 0, 255, 255, 255];
        cmyk_to_rgbx(&mut pixels);
        assert_eq!(pixels, [255, 255, 255, 255, 0, 0, 0, 255, 0, 255, 255, 255]);
    }
}
