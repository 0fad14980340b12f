//! The formats that the `image` crate reads for us: QOI and WebP, and the pixels of BMP and ICO.
//!
//! It knows no format of its own, only which kinds of pixels come out.

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
    let channels = match decoder.color_type() {
        ColorType::L8 => 1,
        ColorType::La8 => 2,
        ColorType::Rgb8 => 3,
        ColorType::Rgba8 => 4,
        color => return Err(StepError::Unsupported(format!("{name} of {color:?} pixels"))),
    };
    let length = size.height * size.width * channels;
    let direct = matches!((channels, step.mode), (1, Mode::L) | (3, Mode::Rgb) | (4, Mode::Rgba));
    if direct {
        return step
            .picture(size, |out| decoder.read_image(out).map_err(|cause| error(name, cause)));
    }
    let mut scratch = Buffer::for_overwrite(length);
    decoder.read_image(&mut scratch).map_err(|cause| error(name, cause))?;
    step.narrow(size, channels, &scratch)
}

/// The pixels of a file as red, green, blue and alpha, if they are of 8 bits and of this size.
pub(super) fn rgba(
    bytes: &[u8],
    name: &'static str,
    format: ImageFormat,
    size: Dimensions,
) -> Result<Buffer, StepError> {
    let decoder = open(bytes, format).map_err(|cause| error(name, cause))?;
    let color = decoder.color_type();
    if size_of(&decoder) != size || !matches!(color, ColorType::Rgb8 | ColorType::Rgba8) {
        return Err(StepError::Unsupported(format!("{name} of {color:?} pixels of another size")));
    }
    let channels = usize::from(color.channel_count());
    let mut stored = Buffer::for_overwrite(size.height * size.width * channels);
    decoder.read_image(&mut stored).map_err(|cause| error(name, cause))?;
    let mut out = Buffer::for_overwrite(size.height * size.width * 4);
    pixels::convert(&stored, channels, Mode::Rgba, &mut out);
    Ok(out)
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
