//! The formats that the `image` crate reads for us: BMP, ICO, PNM, QOI, TIFF, WebP.
//!
//! It knows no format of its own, only which kinds of pixels come out.
//!
//! Where this is known not to be Pillow's: CMYK in TIFF differs by up to one step; TIFF's
//! orientation tag is ignored and its premultiplied alpha not divided; an ICO file may be of
//! another entry; a WebP animation's transparent pixels have another hidden colour. TIFF with
//! palettes, with JPEG's YCbCr inside, or of 12, 32 or signed bits is unsupported.

use std::io::Cursor;

use image::error::{ImageError, LimitErrorKind};
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{DecodeImage, Dimensions, Mode, pixels};
use crate::sample::{Buffer, MAX_SAMPLE_BYTES, Sample};
use crate::step::StepError;

pub(super) fn decode(
    step: &DecodeImage,
    bytes: &[u8],
    name: &'static str,
    format: ImageFormat,
) -> Result<Sample, StepError> {
    let decoder = open(bytes, format).map_err(|cause| error(name, cause))?;
    let size = size_of(&decoder);
    step.admit(size)?;
    let (channels, wide) = match decoder.color_type() {
        ColorType::L8 => (1, false),
        ColorType::La8 => (2, false),
        ColorType::Rgb8 => (3, false),
        ColorType::Rgba8 => (4, false),
        ColorType::L16 => (1, true),
        ColorType::La16 => (2, true),
        ColorType::Rgb16 => (3, true),
        ColorType::Rgba16 => (4, true),
        color => return Err(StepError::Unsupported(format!("{name} of {color:?} pixels"))),
    };
    let length = size.height * size.width * channels;
    let direct = matches!((channels, step.mode), (1, Mode::L) | (3, Mode::Rgb) | (4, Mode::Rgba));
    if direct && !wide {
        return step
            .picture(size, |out| decoder.read_image(out).map_err(|cause| error(name, cause)));
    }
    let mut scratch = Buffer::for_overwrite(if wide { length * 2 } else { length });
    decoder.read_image(&mut scratch).map_err(|cause| error(name, cause))?;
    if wide {
        for n in 0..length {
            scratch[n] = scratch[2 * n + 1];
        }
        scratch.truncate(length);
    }
    step.picture(size, |out| {
        pixels::convert(&scratch, channels, step.mode, out);
        Ok(())
    })
}

/// The size that a file's head claims; `None` if the decoder needs more of the file to tell.
pub(super) fn size(head: &[u8], format: ImageFormat) -> Option<Dimensions> {
    open(head, format).ok().map(|decoder| size_of(&decoder))
}

fn open(bytes: &[u8], format: ImageFormat) -> Result<impl ImageDecoder, ImageError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(2 * MAX_SAMPLE_BYTES as u64);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader.into_decoder()
}

fn size_of(decoder: &impl ImageDecoder) -> Dimensions {
    let (width, height) = decoder.dimensions();
    Dimensions { height: height as usize, width: width as usize }
}

fn error(format: &'static str, error: ImageError) -> StepError {
    match error {
        ImageError::Unsupported(what) => StepError::Unsupported(format!("{format}: {what}")),
        ImageError::Limits(limit) => match limit.kind() {
            LimitErrorKind::Unsupported { .. } => StepError::Unsupported(limit.to_string()),
            _ => StepError::Limit(format!("{format}: {limit}")),
        },
        _ => StepError::Malformed { format, cause: error.to_string() },
    }
}
