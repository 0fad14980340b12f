//! TIFF, and BigTIFF: the first picture of a file.
//!
//! From TIFF 6.0 and what Pillow's `TiffImagePlugin.py` makes of it: strips and tiles, together or
//! a plane for each channel; gray, palettes, RGB, CMYK and what JPEG holds; 1 to 16 bits, or 32 of
//! gray; always turned as the orientation tag says. It knows what samples mean; how they are
//! packed is `layout.rs`'s and `unpack.rs`'s business.

mod fax;
mod layout;
mod unpack;

use self::layout::Layout;
use super::ifd::Ifd;
use super::orientation::Orientation;
use super::{DecodeImage, Dimensions, pixels};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;

/// The tags that are read: TIFF 6.0's names.
mod tag {
    pub(super) const WIDTH: u16 = 256;
    pub(super) const HEIGHT: u16 = 257;
    pub(super) const BITS: u16 = 258;
    pub(super) const COMPRESSION: u16 = 259;
    pub(super) const PHOTOMETRIC: u16 = 262;
    pub(super) const FILL_ORDER: u16 = 266;
    pub(super) const STRIP_OFFSETS: u16 = 273;
    pub(super) const SAMPLES: u16 = 277;
    pub(super) const ROWS_PER_STRIP: u16 = 278;
    pub(super) const STRIP_BYTES: u16 = 279;
    pub(super) const PLANAR: u16 = 284;
    pub(super) const T4_OPTIONS: u16 = 292;
    pub(super) const PREDICTOR: u16 = 317;
    pub(super) const COLOR_MAP: u16 = 320;
    pub(super) const TILE_WIDTH: u16 = 322;
    pub(super) const TILE_HEIGHT: u16 = 323;
    pub(super) const TILE_OFFSETS: u16 = 324;
    pub(super) const TILE_BYTES: u16 = 325;
    pub(super) const EXTRA_SAMPLES: u16 = 338;
    pub(super) const SAMPLE_FORMAT: u16 = 339;
    pub(super) const JPEG_TABLES: u16 = 347;
}

/// What a pixel's samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Gray {
        zero_is_white: bool,
    },
    Rgb,
    Palette,
    Cmyk,
    /// Only inside of JPEG, whose decoder makes RGB of it.
    YCbCr,
}

/// What the first sample beyond the colours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alpha {
    None,
    Premultiplied,
    Straight,
}

/// What numbers a sample's bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Unsigned,
    Signed,
    Float,
}

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let ifd = Ifd::first(bytes).ok_or_else(|| malformed("its directory isn't all there"))?;
    let size = stored_size(&ifd).ok_or_else(|| malformed("it doesn't say its size"))?;
    step.admit(size)?;
    let layout = Layout::of(&ifd, size)?;
    let orientation = Orientation::of(ifd.orientation().unwrap_or(1));
    let picture = if layout.bits <= 8 {
        let stored: Buffer = layout.samples(bytes, &ifd)?;
        narrow(step, size, &layout, &ifd, stored)?
    } else {
        wide(step, size, &layout, bytes, &ifd)?
    };
    orientation.turn(picture)
}

/// The size of the turned picture.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    let ifd = Ifd::first(head)?;
    Some(Orientation::of(ifd.orientation().unwrap_or(1)).turned(stored_size(&ifd)?))
}

fn stored_size(ifd: &Ifd) -> Option<Dimensions> {
    let side = |tag| ifd.number(tag).and_then(|side| u32::try_from(side).ok());
    Some(Dimensions { height: side(tag::HEIGHT)? as usize, width: side(tag::WIDTH)? as usize })
}

/// A picture of samples of up to 8 bits.
fn narrow(
    step: &DecodeImage,
    size: Dimensions,
    layout: &Layout,
    ifd: &Ifd,
    mut stored: Buffer,
) -> Result<Sample, StepError> {
    let per_pixel = layout.channels;
    let alpha = layout.alpha != Alpha::None;
    match layout.colour {
        Colour::Palette => {
            let colours = palette(ifd, layout.bits)?;
            let mut out = Buffer::for_overwrite(size.height * size.width * 4);
            let pixels = stored.chunks_exact(per_pixel);
            for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(pixels) {
                let [r, g, b] = colours.get(usize::from(pixel[0])).copied().unwrap_or_default();
                *out = [r, g, b, if alpha { pixel[1] } else { 255 }];
            }
            step.narrow(size, 4, &out)
        }
        Colour::Gray { zero_is_white } => {
            let white = ((1_u32 << layout.bits) - 1) as u8;
            let scale = 255 / white;
            for pixel in stored.chunks_exact_mut(per_pixel) {
                let value = pixel[0] * scale;
                pixel[0] = if zero_is_white { 255 - value } else { value };
            }
            let channels = if alpha { 2 } else { 1 };
            step.narrow(size, channels, &kept(stored, per_pixel, channels, layout.alpha))
        }
        Colour::Rgb | Colour::YCbCr => {
            let channels = if alpha { 4 } else { 3 };
            step.narrow(size, channels, &kept(stored, per_pixel, channels, layout.alpha))
        }
        Colour::Cmyk => {
            let mut inks = kept(stored, per_pixel, 4, Alpha::None);
            inks.iter_mut().for_each(|ink| *ink = 255 - *ink);
            pixels::cmyk_to_rgbx(&mut inks);
            step.narrow(size, 4, &inks)
        }
    }
}

/// A picture of samples of more than 8 bits.
fn wide(
    step: &DecodeImage,
    size: Dimensions,
    layout: &Layout,
    bytes: &[u8],
    ifd: &Ifd,
) -> Result<Sample, StepError> {
    let gray = matches!(layout.colour, Colour::Gray { .. });
    if layout.bits == 32 || layout.number != Number::Unsigned {
        // Pillow's modes I and F: cut off at both ends.
        let stored: Buffer = layout.samples(bytes, ifd)?;
        return step.narrow(size, 1, &stored);
    }
    let mut stored: Vec<u16> = layout.samples(bytes, ifd)?;
    if layout.bits == 12 {
        stored.iter_mut().for_each(|value| *value = *value << 4 | *value >> 8);
    }
    if layout.colour == (Colour::Gray { zero_is_white: true }) {
        stored.chunks_exact_mut(layout.channels).for_each(|pixel| pixel[0] = !pixel[0]);
    }
    let (plain, with_alpha) = if gray { (1, 2) } else { (3, 4) };
    if layout.colour == Colour::Cmyk || layout.alpha == Alpha::Premultiplied {
        let mut high = Buffer::for_overwrite(stored.len());
        high.iter_mut().zip(&stored).for_each(|(high, value)| *high = (value >> 8) as u8);
        return narrow(step, size, &layout.narrowed(), ifd, high);
    }
    let channels = if layout.alpha == Alpha::None { plain } else { with_alpha };
    if layout.channels != channels {
        let pixels = stored.chunks_exact(layout.channels);
        stored = pixels.flat_map(|pixel| pixel[..channels].iter().copied()).collect();
    }
    step.wide(size, channels, &stored)
}

/// The first `channels` of every `per_pixel` samples, not multiplied by alpha any more.
fn kept(mut stored: Buffer, per_pixel: usize, channels: usize, alpha: Alpha) -> Buffer {
    if per_pixel != channels {
        let pixels = stored.len() / per_pixel;
        for n in 0..pixels {
            stored.copy_within(n * per_pixel..n * per_pixel + channels, n * channels);
        }
        stored.truncate(pixels * channels);
    }
    if alpha == Alpha::Premultiplied {
        pixels::divide_by_alpha(&mut stored, channels);
    }
    stored
}

/// The palette's colours: all reds, then all greens, then all blues, of 16 bits each.
fn palette(ifd: &Ifd, bits: usize) -> Result<Vec<[u8; 3]>, StepError> {
    let values: Vec<i64> = ifd.numbers(tag::COLOR_MAP).collect();
    let count = values.len() / 3;
    if count < 1 << bits {
        return Err(malformed("its palette is too short"));
    }
    let colour = |n: usize| [0, 1, 2].map(|channel| (values[channel * count + n] >> 8) as u8);
    Ok((0..count).map(colour).collect())
}

fn malformed(cause: &str) -> StepError {
    StepError::Malformed { format: "TIFF", cause: cause.to_owned() }
}

fn unsupported(what: impl std::fmt::Display) -> StepError {
    StepError::Unsupported(format!("TIFF {what}"))
}
