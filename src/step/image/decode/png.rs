//! PNG, and the first picture of APNG.
//!
//! It knows pixels, palettes and transparency; profiles and texts are skipped unread, however
//! much they would unpack to.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Transformations};

use super::{DecodeImage, Dimensions, Mode, pixels};
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
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(error)?;
    let (width, height) = reader.info().size();
    if (height as usize, width as usize) != (size.height, size.width) {
        return Err(malformed("its header is not its first chunk".to_owned()));
    }
    let channels = match reader.output_color_type() {
        (ColorType::Grayscale, BitDepth::Eight) => 1,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => 2,
        (ColorType::Rgb, BitDepth::Eight) => 3,
        (ColorType::Rgba, BitDepth::Eight) => 4,
        (color, depth) => {
            return Err(StepError::Unsupported(format!("PNG of {color:?} and {depth:?} bits")));
        }
    };
    let length = size.height * size.width * channels;
    let mut fill = |out: &mut [u8]| {
        let info = reader.next_frame(out).map_err(error)?;
        if (info.height as usize, info.width as usize) != (size.height, size.width) {
            return Err(malformed("its first picture is smaller than the file's size".to_owned()));
        }
        Ok(())
    };
    if matches!((channels, step.mode), (1, Mode::L) | (3, Mode::Rgb) | (4, Mode::Rgba)) {
        return step.picture(size, fill);
    }
    let mut scratch = Buffer::for_overwrite(length);
    fill(&mut scratch)?;
    step.picture(size, |out| {
        pixels::convert(&scratch, channels, step.mode, out);
        Ok(())
    })
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
