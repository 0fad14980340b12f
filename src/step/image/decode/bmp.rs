//! BMP, with two kinds of wrong headers read as Pillow does.
//!
//! It knows the header; the pixels are read by `other.rs`.

use std::borrow::Cow;

use image::ImageFormat;

use super::{DecodeImage, Dimensions, Mode, other};
use crate::sample::Sample;
use crate::step::StepError;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let made = other::decode(step, &mended(bytes), "BMP", ImageFormat::Bmp)?;
    match (made, step.mode, bytes.get(DEPTH_AT..)) {
        // Pillow knows no alpha in 16 bits.
        (Sample::Array(mut array), Mode::Rgba, Some([16, 0, ..])) => {
            if let Some(values) = array.elements_mut::<u8>() {
                values.iter_mut().skip(3).step_by(4).for_each(|alpha| *alpha = u8::MAX);
            }
            if let Some(values) = array.elements_mut::<u16>() {
                values.iter_mut().skip(3).step_by(4).for_each(|alpha| *alpha = u16::MAX);
            }
            Ok(Sample::Array(array))
        }
        (made, _, _) => Ok(made),
    }
}

/// Where a header of any but the oldest kind has the bits of a pixel.
const DEPTH_AT: usize = 28;

/// The size in the header.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    other::size(&mended(head), ImageFormat::Bmp)
}

/// The file with a palette no longer than its indices reach, and with its pixels after its palette.
fn mended(bytes: &[u8]) -> Cow<'_, [u8]> {
    const PIXELS_AT: usize = 10;
    const HEADER: usize = 14;
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let depth = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let read = || {
        let (pixels_at, header_size) = (number(PIXELS_AT)?, number(HEADER)?);
        let bits = if header_size == 12 { depth(HEADER + 10)? } else { depth(HEADER + 14)? };
        let colours = if header_size == 12 { 0 } else { number(HEADER + 32)? };
        Some((pixels_at, header_size, bits, colours))
    };
    let Some((pixels_at, header_size, bits @ 1..=8, colours)) = read() else {
        return Cow::Borrowed(bytes);
    };
    let most = 1_u32 << bits;
    let (each, told) = match (header_size, colours) {
        (12, _) => (3, most),
        (_, 0) => (4, most),
        (_, colours) => (4, colours),
    };
    let after_header = header_size.saturating_add(HEADER as u32);
    let overlaps = pixels_at == after_header && told <= 1 << 16;
    if !overlaps && told <= most {
        return Cow::Borrowed(bytes);
    }
    let mut mended = bytes.to_vec();
    if overlaps {
        let at = after_header.saturating_add(each * told);
        mended[PIXELS_AT..][..4].copy_from_slice(&at.to_le_bytes());
        // Such files may lack the padding of their last row, which nothing needs.
        mended.extend_from_slice(&[0; 3]);
    }
    if told > most {
        mended[HEADER + 32..][..4].copy_from_slice(&most.to_le_bytes());
    }
    Cow::Owned(mended)
}
