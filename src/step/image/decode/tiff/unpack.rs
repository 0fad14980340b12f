//! Strips and tiles of a TIFF unpacked, and what was predicted of them added again.
//!
//! From TIFF 6.0, sections 9 to 14 and 22, and its Technical Note 2 for JPEG. It knows no picture.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use libjpeg_turbo_rs::{DecodeLimits, Decoder, PixelFormat};
use weezl::BitOrder;

use super::fax::{self, Coding};
use super::{malformed, tag, unsupported};
use crate::sample::MAX_SAMPLE_BYTES;
use crate::step::StepError;
use crate::step::image::decode::Dimensions;
use crate::step::image::decode::ifd::Ifd;

/// How a strip or tile is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    compression: Compression,
    /// Whether the first bit of a byte is its lowest.
    reversed: bool,
    /// Whether whole samples were replaced by differences to their left neighbour.
    differences: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Fax(Coding),
    Lzw,
    Deflate,
    PackBits,
    Zstd,
    /// With its colours as they are, or as YCbCr.
    Jpeg {
        ycbcr: bool,
    },
}

impl Packing {
    pub(super) fn of(ifd: &Ifd) -> Result<Packing, StepError> {
        let two_dimensional = ifd.number(tag::T4_OPTIONS).unwrap_or(0) & 1 != 0;
        let compression = match ifd.number(tag::COMPRESSION).unwrap_or(1) {
            1 => Compression::None,
            2 => Compression::Fax(Coding::Rows),
            3 if two_dimensional => return Err(unsupported("of two-dimensional fax group 3")),
            3 => Compression::Fax(Coding::Group3),
            4 => Compression::Fax(Coding::Group4),
            5 => Compression::Lzw,
            7 => Compression::Jpeg { ycbcr: ifd.number(tag::PHOTOMETRIC) == Some(6) },
            8 | 32_946 => Compression::Deflate,
            32_773 => Compression::PackBits,
            50_000 => Compression::Zstd,
            other => return Err(unsupported(format!("compressed by method {other}"))),
        };
        let packed =
            matches!(compression, Compression::Lzw | Compression::Deflate | Compression::Zstd);
        let differences = match ifd.number(tag::PREDICTOR).unwrap_or(1) {
            2 if packed => true,
            1 | 2 => false,
            _ if !packed => false,
            other => return Err(unsupported(format!("with predictor {other}"))),
        };
        let reversed = ifd.number(tag::FILL_ORDER) == Some(2);
        Ok(Packing { compression, reversed, differences })
    }

    pub(super) fn is_plain(self) -> bool {
        self.compression == Compression::None
    }

    pub(super) fn is_jpeg(self) -> bool {
        matches!(self.compression, Compression::Jpeg { .. })
    }
}

/// The bytes of a strip or tile of this size and so many samples a pixel: at most `wanted`.
pub(super) fn unpacked<'a>(
    packing: Packing,
    packed: &'a [u8],
    ifd: &Ifd,
    size: Dimensions,
    channels: usize,
    bits: usize,
    wanted: usize,
) -> Result<Cow<'a, [u8]>, StepError> {
    let reversed = packing.reversed && !matches!(packing.compression, Compression::Jpeg { .. });
    let packed: Cow<[u8]> = match reversed {
        true => packed.iter().map(|byte| byte.reverse_bits()).collect::<Vec<u8>>().into(),
        false => packed.into(),
    };
    let mut plain = match packing.compression {
        Compression::None => match packed {
            Cow::Borrowed(packed) => Cow::Borrowed(&packed[..wanted.min(packed.len())]),
            packed => packed,
        },
        Compression::Fax(coding) => fax::unpacked(&packed, coding, size)?.into(),
        Compression::Lzw => lzw(&packed, wanted)?.into(),
        Compression::Deflate => deflated(&packed, wanted)?.into(),
        Compression::PackBits => pack_bits(&packed, wanted).into(),
        Compression::Zstd => zstandard(&packed, wanted)?.into(),
        Compression::Jpeg { ycbcr } => jpeg(&packed, ifd, size, channels, ycbcr)?.into(),
    };
    if packing.differences {
        let row = (size.width * channels * bits).div_ceil(8).max(1);
        for row in plain.to_mut().chunks_exact_mut(row) {
            match bits {
                8 => add::<1>(row, channels, ifd.big_endian),
                16 => add::<2>(row, channels, ifd.big_endian),
                32 => add::<4>(row, channels, ifd.big_endian),
                12 => add_twelve(row, channels),
                _ => return Err(unsupported(format!("of differences of {bits} bits"))),
            }
        }
    }
    Ok(plain)
}

fn lzw(packed: &[u8], wanted: usize) -> Result<Vec<u8>, StepError> {
    // Files of before TIFF 5.0 have their codes the other way round.
    let old = packed.len() >= 2 && packed[0] == 0 && packed[1] & 1 == 1;
    let mut decoder = match old {
        true => weezl::decode::Decoder::new(BitOrder::Lsb, 8),
        false => weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8),
    };
    let mut out = vec![0; wanted];
    let mut done = (0, 0);
    loop {
        let step = decoder.decode_bytes(&packed[done.0..], &mut out[done.1..]);
        done = (done.0 + step.consumed_in, done.1 + step.consumed_out);
        match step.status {
            Ok(weezl::LzwStatus::Ok) if done.1 < wanted => {}
            Ok(_) => break,
            Err(_) => return Err(malformed("its LZW codes are broken")),
        }
    }
    out.truncate(done.1);
    Ok(out)
}

fn deflated(packed: &[u8], wanted: usize) -> Result<Vec<u8>, StepError> {
    let mut out = Vec::with_capacity(wanted);
    ZlibDecoder::new(packed)
        .take(wanted as u64)
        .read_to_end(&mut out)
        .map_err(|error| malformed(&format!("its packed bytes are broken: {error}")))?;
    Ok(out)
}

fn zstandard(packed: &[u8], wanted: usize) -> Result<Vec<u8>, StepError> {
    let mut out = Vec::with_capacity(wanted);
    zstd::Decoder::new(packed)
        .and_then(|decoder| decoder.take(wanted as u64).read_to_end(&mut out))
        .map_err(|error| malformed(&format!("its packed bytes are broken: {error}")))?;
    Ok(out)
}

/// Apple's runs: a count, then so many bytes, or one to be repeated.
fn pack_bits(mut packed: &[u8], wanted: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(wanted);
    while let (Some((head, rest)), true) = (packed.split_first(), out.len() < wanted) {
        packed = rest;
        let head = *head as i8;
        if head >= 0 {
            let count = (head as usize + 1).min(packed.len());
            out.extend_from_slice(&packed[..count]);
            packed = &packed[count..];
        } else if let (true, Some((byte, rest))) = (head != i8::MIN, packed.split_first()) {
            out.extend(std::iter::repeat_n(*byte, 1 + usize::from(head.unsigned_abs())));
            packed = rest;
        }
    }
    out.truncate(wanted);
    out
}

/// A JPEG whose tables may be in a tag. What colours it has is the TIFF's to say, in the words of
/// an Adobe segment.
fn jpeg(
    packed: &[u8],
    ifd: &Ifd,
    size: Dimensions,
    channels: usize,
    ycbcr: bool,
) -> Result<Vec<u8>, StepError> {
    const START: &[u8] = &[0xff, 0xd8];
    const END: &[u8] = &[0xff, 0xd9];
    let broken = |cause: &dyn std::fmt::Display| malformed(&format!("JPEG in it: {cause}"));
    let tables = ifd.bytes(tag::JPEG_TABLES).unwrap_or_default();
    let tables = tables.strip_prefix(START).unwrap_or_default();
    let tables = tables.strip_suffix(END).unwrap_or(tables);
    let picture = packed.strip_prefix(START).ok_or_else(|| broken(&"it doesn't start as one"))?;
    let adobe = [b"\xff\xee\x00\x0eAdobe\0\x64\0\0\0\0", &[u8::from(ycbcr)][..]].concat();
    let file = [START, &adobe, tables, picture].concat();
    let limits = DecodeLimits {
        max_pixels: MAX_SAMPLE_BYTES as u64 / 4,
        max_scans: 500,
        ..DecodeLimits::default()
    };
    let mut decoder = Decoder::new_with_limits(&file, limits).map_err(|error| broken(&error))?;
    let header = decoder.header();
    let (height, width) = (usize::from(header.height), usize::from(header.width));
    let format = match (header.components.len(), channels) {
        (1, 1) => PixelFormat::Grayscale,
        (3, 3) => PixelFormat::Rgb,
        (4, 4) => PixelFormat::Cmyk,
        _ => return Err(broken(&"it has another number of channels")),
    };
    if width < size.width {
        return Err(broken(&"it is smaller than its place"));
    }
    decoder.set_output_format(format);
    decoder.set_block_smoothing(true);
    let mut out = vec![0; height * width * channels];
    decoder.decode_image_into(&mut out).map_err(|error| broken(&error))?;
    if width > size.width {
        let rows = out.chunks_exact(width * channels);
        out = rows.flat_map(|row| row[..size.width * channels].iter().copied()).collect();
    }
    Ok(out)
}

/// Adds to every sample of `N` bytes its left neighbour of the same channel.
fn add<const N: usize>(row: &mut [u8], channels: usize, big_endian: bool) {
    let number = |bytes: [u8; N]| {
        let add = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
        if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    };
    let samples = row.as_chunks_mut::<N>().0;
    for n in channels..samples.len() {
        let sum = number(samples[n]).wrapping_add(number(samples[n - channels]));
        for (at, byte) in samples[n].iter_mut().enumerate() {
            let shift = if big_endian { N - 1 - at } else { at };
            *byte = (sum >> (8 * shift)) as u8;
        }
    }
}

/// The same for samples of 12 bits.
fn add_twelve(row: &mut [u8], channels: usize) {
    let at = |row: &[u8], n: usize| {
        let pair = u16::from_be_bytes([row[n * 12 / 8], row[n * 12 / 8 + 1]]);
        if n.is_multiple_of(2) { pair >> 4 } else { pair & 0xfff }
    };
    for n in channels..row.len() * 8 / 12 {
        let sum = at(row, n).wrapping_add(at(row, n - channels)) & 0xfff;
        let first = n * 12 / 8;
        let [high, low] = if n.is_multiple_of(2) {
            (sum << 4 | u16::from(row[first + 1]) & 0xf).to_be_bytes()
        } else {
            ((u16::from(row[first]) & 0xf0) << 8 | sum).to_be_bytes()
        };
        row[first] = high;
        row[first + 1] = low;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_differences_are_undone() {
        assert_eq!(pack_bits(&[0xfe, 7, 1, 8, 9, 0x80, 0], 9), [7, 7, 7, 8, 9]);
        assert_eq!(pack_bits(&[0x81, 5], 9), [5; 9]);
        let mut row = [1, 2, 3, 1, 1, 255];
        add::<1>(&mut row, 3, false);
        assert_eq!(row, [1, 2, 3, 2, 3, 2]);
        let mut row = [0xff, 0, 1, 0];
        add::<2>(&mut row, 1, false);
        assert_eq!(row, [0xff, 0, 0, 1]);
        let mut row = [0x00, 0x10, 0x02, 0xff, 0xf0, 0x01];
        add_twelve(&mut row, 1);
        assert_eq!(row, [0x00, 0x10, 0x03, 0x00, 0x20, 0x03]);
    }
}
