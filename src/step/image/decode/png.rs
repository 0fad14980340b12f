//! PNG, and the first picture of APNG.
//!
//! It knows pixels, palettes and transparency; profiles and texts are skipped unread, however
//! much they would unpack to.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};

use super::{Bits16, DecodeImage, Dimensions, Mode};
use crate::sample::{Buffer, MAX_SAMPLE_BYTES, Sample};
use crate::step::StepError;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let size = size(bytes).ok_or_else(|| malformed("it ends before its header".to_owned()))?;
    step.admit(size)?;
    let limits = Limits { bytes: MAX_SAMPLE_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    // Palettes to colours, 1, 2 and 4 bits to 8, transparency to alpha, 16 bits to the high byte.
    decoder.set_transformations(match step.bits16 {
        Bits16::HighByte => Transformations::EXPAND | Transformations::STRIP_16,
        Bits16::Keep => Transformations::EXPAND,
    });
    let mut reader = decoder.read_info().map_err(error)?;
    let (width, height) = reader.info().size();
    if (height as usize, width as usize) != (size.height, size.width) {
        return Err(malformed("its header is not its first chunk".to_owned()));
    }
    let (color, depth) = reader.output_color_type();
    let unsupported = || StepError::Unsupported(format!("PNG of {color:?} and {depth:?} bits"));
    let channels = match color {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => return Err(unsupported()),
    };
    let bytes_each = match depth {
        BitDepth::Eight => 1,
        BitDepth::Sixteen => 2,
        _ => return Err(unsupported()),
    };
    let length = size.height * size.width * channels * bytes_each;
    // Pillow compares gray of less than 8 bits with the transparent value only when the one has been
    // scaled to 8 bits and the other has not: so do we.
    let info = reader.info();
    let small = info.color_type == ColorType::Grayscale && (info.bit_depth as u8) < 8;
    let transparent = info.trns.as_deref().and_then(|trns| trns.last().copied());
    let unscaled = transparent.filter(|_| small && channels == 2);
    let mut fill = |out: &mut [u8]| {
        let info = reader.next_frame(out).map_err(error)?;
        if (info.height as usize, info.width as usize) != (size.height, size.width) {
            return Err(malformed("its first picture is smaller than the file's size".to_owned()));
        }
        Ok(())
    };
    let direct = matches!((channels, step.mode), (1, Mode::L) | (3, Mode::Rgb) | (4, Mode::Rgba));
    if direct && bytes_each == 1 {
        return step.picture(size, fill);
    }
    let mut scratch = Buffer::for_overwrite(length);
    fill(&mut scratch)?;
    if let Some(transparent) = unscaled {
        for pixel in scratch.as_chunks_mut::<2>().0 {
            pixel[1] = if pixel[0] == transparent { 0 } else { 255 };
        }
    }
    if bytes_each == 1 {
        return step.narrow(size, channels, &scratch);
    }
    for value in scratch.as_chunks_mut::<2>().0 {
        *value = u16::from_be_bytes(*value).to_le_bytes();
    }
    step.wide(size, channels, bytemuck::cast_slice(&scratch))
}

/// The size in the header, which is always the first chunk.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    const HEADER_AT: usize = b"\x89PNG\r\n\x1a\n".len() + size_of::<u32>();
    let header = head.get(HEADER_AT..)?.strip_prefix(b"IHDR")?;
    let (width, rest) = header.split_first_chunk()?;
    let height = rest.first_chunk()?;
    Some(Dimensions {
        height: u32::from_be_bytes(*height) as usize,
        width: u32::from_be_bytes(*width) as usize,
    })
}

fn malformed(cause: String) -> StepError {
    StepError::Malformed { format: "PNG", cause }
}

fn error(error: DecodingError) -> StepError {
    match error {
        DecodingError::LimitsExceeded => StepError::Limit("PNG needs too much memory".to_owned()),
        _ => malformed(error.to_string()),
    }
}
