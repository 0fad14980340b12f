//! How the samples of a TIFF lie in its file: in strips or tiles, all channels together or a plane
//! for each, so many bits each.
//!
//! It knows no colours beyond how many samples they are.

use super::unpack::{Packing, unpacked};
use super::{Alpha, Colour, Number, malformed, tag, unsupported};
use crate::sample::{Buffer, MAX_SAMPLE_BYTES};
use crate::step::StepError;
use crate::step::image::decode::Dimensions;
use crate::step::image::decode::ifd::Ifd;

/// What the tags say, checked.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    size: Dimensions,
    pub(super) colour: Colour,
    pub(super) alpha: Alpha,
    pub(super) number: Number,
    /// Bits of a sample: 1, 2, 4, 8, 12, 16 or 32.
    pub(super) bits: usize,
    /// Samples of a pixel.
    pub(super) channels: usize,
    planar: bool,
    packing: Packing,
    /// The size of a strip or tile.
    chunk: Dimensions,
    tiled: bool,
}

/// The most samples of a pixel: Pillow's number.
const MAX_CHANNELS: usize = 6;

/// Where samples are put: of 8 bits or of 16.
pub(super) trait Samples: Sized {
    fn with_len(len: usize) -> Self;
    fn put(&mut self, at: usize, value: u32, layout: &Layout);
    /// Puts a run of 8-bit samples, if there is nothing to be done to them.
    fn put_all(&mut self, _at: usize, _values: &[u8], _layout: &Layout) -> bool {
        false
    }
}

impl Samples for Buffer {
    fn with_len(len: usize) -> Buffer {
        Buffer::for_overwrite(len)
    }

    fn put(&mut self, at: usize, value: u32, layout: &Layout) {
        self[at] = match (layout.number, layout.bits) {
            (_, 0..=8) => value as u8,
            (Number::Float, _) => f32::from_bits(value).clamp(0.0, 255.0) as u8,
            (Number::Signed, 16) => (value as i16).clamp(0, 255) as u8,
            // 32 bits without a sign are Pillow's mode I as well, which has one.
            _ => (value as i32).clamp(0, 255) as u8,
        };
    }

    fn put_all(&mut self, at: usize, values: &[u8], layout: &Layout) -> bool {
        if layout.bits == 8 {
            self[at..at + values.len()].copy_from_slice(values);
        }
        layout.bits == 8
    }
}

impl Samples for Vec<u16> {
    fn with_len(len: usize) -> Vec<u16> {
        vec![0; len]
    }

    fn put(&mut self, at: usize, value: u32, _layout: &Layout) {
        self[at] = value as u16;
    }
}

impl Layout {
    pub(super) fn of(ifd: &Ifd, size: Dimensions) -> Result<Layout, StepError> {
        let number = |tag, default| ifd.number(tag).unwrap_or(default);
        let packing = Packing::of(ifd)?;
        let colour = match number(tag::PHOTOMETRIC, 0) {
            0 => Colour::Gray { zero_is_white: true },
            1 => Colour::Gray { zero_is_white: false },
            2 => Colour::Rgb,
            3 => Colour::Palette,
            5 => Colour::Cmyk,
            6 if packing.is_jpeg() => Colour::YCbCr,
            other => return Err(unsupported(format!("of colours by interpretation {other}"))),
        };
        let colours = match colour {
            Colour::Gray { .. } | Colour::Palette => 1,
            Colour::Rgb | Colour::YCbCr => 3,
            Colour::Cmyk => 4,
        };
        let channels = usize::try_from(number(tag::SAMPLES, 1)).unwrap_or(0);
        if channels < colours || channels > MAX_CHANNELS {
            return Err(unsupported(format!("of {channels} channels where {colours} are needed")));
        }
        let extra = ifd.number(tag::EXTRA_SAMPLES);
        let alpha = match (extra, channels > colours) {
            (_, false) | (Some(0), true) => Alpha::None,
            (Some(1), true) => Alpha::Premultiplied,
            (Some(2 | 999), true) => Alpha::Straight,
            (None, true) if (colour, channels) == (Colour::Rgb, 4) => Alpha::Straight,
            (_, true) => Alpha::None,
        };
        let mut bits = ifd.numbers(tag::BITS).take(channels);
        let first = bits.next().unwrap_or(1);
        if bits.any(|bits| bits != first) {
            return Err(unsupported("of channels of different depths"));
        }
        let kind = match number(tag::SAMPLE_FORMAT, 1) {
            2 => Number::Signed,
            3 => Number::Float,
            _ => Number::Unsigned,
        };
        let gray = matches!(colour, Colour::Gray { .. }) && channels == 1;
        let bits = match (kind, first) {
            (Number::Unsigned, 1 | 2 | 4) if colours == 1 && channels == 1 => first as usize,
            (Number::Unsigned, 8) => 8,
            (Number::Signed, 8) if gray => 8,
            (Number::Unsigned, 12) if gray => 12,
            (Number::Unsigned, 16) if colour != Colour::Palette => 16,
            (Number::Signed, 16) | (_, 32) if gray => first as usize,
            _ => return Err(unsupported(format!("of {kind:?} samples of {first} bits"))),
        };
        let side = |tag| number(tag, 0).try_into().ok().filter(|side| *side > 0_usize);
        let tiled = ifd.number(tag::TILE_OFFSETS).is_some();
        let chunk = if tiled {
            let height = side(tag::TILE_HEIGHT).ok_or_else(|| malformed("tiles without a size"))?;
            let width = side(tag::TILE_WIDTH).ok_or_else(|| malformed("tiles without a size"))?;
            Dimensions { height, width }
        } else {
            let rows = side(tag::ROWS_PER_STRIP).unwrap_or(size.height);
            Dimensions { height: rows.min(size.height), width: size.width }
        };
        let planar = number(tag::PLANAR, 1) == 2 && channels > 1;
        let number = kind;
        let layout =
            Layout { size, colour, alpha, number, bits, channels, planar, packing, chunk, tiled };
        if size.height as u128 * size.width as u128 * channels as u128 > MAX_SAMPLE_BYTES as u128
            || layout.chunk_bytes(chunk.height).is_none_or(|bytes| bytes > MAX_SAMPLE_BYTES)
        {
            return Err(StepError::Limit("TIFF: its strips or tiles are too large".to_owned()));
        }
        Ok(layout)
    }

    /// The same with the high bytes of its samples.
    pub(super) fn narrowed(&self) -> Layout {
        Layout { bits: 8, ..self.clone() }
    }

    /// Samples of a pixel in one strip or tile.
    fn together(&self) -> usize {
        if self.planar { 1 } else { self.channels }
    }

    /// Bytes of a row of a strip or tile.
    fn row_bytes(&self) -> usize {
        (self.chunk.width.saturating_mul(self.together()).saturating_mul(self.bits)).div_ceil(8)
    }

    fn chunk_bytes(&self, rows: usize) -> Option<usize> {
        self.row_bytes().checked_mul(rows)
    }

    /// All samples, pixel after pixel.
    pub(super) fn samples<S: Samples>(&self, bytes: &[u8], ifd: &Ifd) -> Result<S, StepError> {
        let (offsets, lengths) = if self.tiled {
            (tag::TILE_OFFSETS, tag::TILE_BYTES)
        } else {
            (tag::STRIP_OFFSETS, tag::STRIP_BYTES)
        };
        let offsets: Vec<i64> = ifd.numbers(offsets).collect();
        let lengths: Vec<i64> = ifd.numbers(lengths).collect();
        let Dimensions { height, width } = self.size;
        let across = width.div_ceil(self.chunk.width);
        let down = height.div_ceil(self.chunk.height);
        let planes = if self.planar { self.channels } else { 1 };
        let mut out = S::with_len(height * width * self.channels);
        for plane in 0..planes {
            for n in 0..across * down {
                let (top, left) = (n / across * self.chunk.height, n % across * self.chunk.width);
                let at = plane * across * down + n;
                let start = offsets.get(at).and_then(|at| usize::try_from(*at).ok());
                let rest = start.and_then(|start| bytes.get(start..)).ok_or_else(ends)?;
                // Without a length, what is not packed is as long as it has to be.
                let length = lengths.get(at).map_or(rest.len(), |len| *len as usize);
                let rows = if self.tiled {
                    self.chunk.height
                } else {
                    self.chunk.height.min(height - top)
                };
                let wanted = self.chunk_bytes(rows).unwrap_or_default();
                let packed = match self.packing.is_plain() {
                    true => rest,
                    false => &rest[..length.min(rest.len())],
                };
                let row = Dimensions { height: rows, width: self.chunk.width };
                let chunk =
                    unpacked(self.packing, packed, ifd, row, self.together(), self.bits, wanted)?;
                let visible = Dimensions {
                    height: rows.min(height - top),
                    width: self.chunk.width.min(width - left),
                };
                if chunk.len() < self.chunk_bytes(visible.height).unwrap_or_default() {
                    return Err(ends());
                }
                self.place(&chunk, ifd.big_endian, (top, left), visible, plane, &mut out);
            }
        }
        Ok(out)
    }

    fn place<S: Samples>(
        &self,
        chunk: &[u8],
        big_endian: bool,
        (top, left): (usize, usize),
        visible: Dimensions,
        plane: usize,
        out: &mut S,
    ) {
        let together = self.together();
        for (y, row) in chunk.chunks_exact(self.row_bytes()).take(visible.height).enumerate() {
            let first = ((top + y) * self.size.width + left) * self.channels + plane;
            let samples = visible.width * together;
            if !self.planar && self.bits == 8 && out.put_all(first, &row[..samples], self) {
                continue;
            }
            let step = if self.planar { self.channels } else { 1 };
            for n in 0..samples {
                out.put(first + n * step, self.sample(row, n, big_endian), self);
            }
        }
    }

    fn sample(&self, row: &[u8], n: usize, big_endian: bool) -> u32 {
        let two = |at: usize| [row[at], row[at + 1]];
        match self.bits {
            8 => u32::from(row[n]),
            16 if big_endian => u32::from(u16::from_be_bytes(two(2 * n))),
            16 => u32::from(u16::from_le_bytes(two(2 * n))),
            32 => {
                let four = [row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]];
                if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
            }
            12 => {
                let pair = u16::from_be_bytes(two(n * 12 / 8));
                u32::from(if n.is_multiple_of(2) { pair >> 4 } else { pair & 0xfff })
            }
            bits => {
                let at = n * bits;
                u32::from(row[at / 8] >> (8 - bits - at % 8)) & ((1 << bits) - 1)
            }
        }
    }
}

fn ends() -> StepError {
    malformed("it ends before its last pixel")
}
