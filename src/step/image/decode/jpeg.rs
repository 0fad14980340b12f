//! JPEG, bit for bit as libjpeg-turbo's slow integer transform with smooth upsampling decodes it,
//! which is what Pillow and torchvision use; or by its fast one, as TensorFlow does.
//!
//! A baseline file that lacks only its end marker is decoded; a progressive one is not, since
//! without the marker nothing tells that all scans are there.
//!
//! Most files are baseline ones, which have a decoder of their own here: `jpeg/baseline.rs`. It
//! makes the same pixels, or none: all else, and every error, is the general decoder's.
//!
//! It knows nothing of the tags in a file beyond what its colours depend on.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod baseline;
mod bits;
mod block;
mod header;
mod huffman;
mod idct;
mod machine;
mod output;
mod plane;
mod rows;

use libjpeg_turbo_rs::{ColorSpace, DctMethod, DecodeLimits, Decoder, JpegError, PixelFormat};

use self::baseline::{Channels, Region};
use super::{Compat, DecodeImage, Dimensions, Mode, pixels, ycck};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;
use crate::step::image::Window;

/// Scans that a progressive file may have: what libjpeg-turbo's own fuzzers allow. Encoders make
/// about ten, and every scan of a hostile file costs a pass over the whole picture.
const MAX_SCANS: usize = 500;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let frame = frame(bytes).map_err(malformed)?;
    step.admit(frame.size)?;
    if frame.precision != 8 {
        return Err(StepError::Unsupported(format!("JPEG of {} bits", frame.precision)));
    }
    let general = || general(step, bytes, frame);
    let all = Window::whole(frame.size.height, frame.size.width);
    match (frame.components, step.mode) {
        (1 | 3, mode) => match fast(step, bytes, frame, &all)? {
            Some(picture) => Ok(picture),
            None => {
                let format = match mode {
                    Mode::L if frame.components == 1 => PixelFormat::Grayscale,
                    Mode::L => return by_lightness(step, &mut general()?, frame.size),
                    Mode::Rgb => PixelFormat::Rgb,
                    Mode::Rgba => PixelFormat::Rgba,
                };
                let mut decoder = general()?;
                step.picture(frame.size, |out| fill(&mut decoder, format, out))
            }
        },
        (4, _) => {
            let mut decoder = general()?;
            let mut cmyk = Buffer::for_overwrite(frame.size.height * frame.size.width * 4);
            if ycck::is_subsampled(&decoder) {
                let is_ycck = decoder.jpeg_color_space() == ColorSpace::Ycck;
                ycck::decode(decoder, frame.size, is_ycck, &mut cmyk).map_err(error)?;
            } else {
                fill(&mut decoder, PixelFormat::Cmyk, &mut cmyk)?;
            }
            if step.compat == Compat::TensorFlow {
                pixels::cmyk_to_rgbx_as_tensorflow(&mut cmyk, has_adobe(bytes));
            } else {
                pixels::cmyk_to_rgbx(&mut cmyk);
            }
            step.narrow(frame.size, 4, &cmyk)
        }
        (n, _) => {
            general()?;
            Err(StepError::Unsupported(format!("JPEG of {n} components")))
        }
    }
}

/// A rectangle of the picture, by the fast decoder: its rows and columns alone are decoded, and
/// damage elsewhere may go unnoticed. `None` if it doesn't do that file.
///
/// # Errors
/// As [`decode`]'s.
pub(super) fn part(
    step: &DecodeImage,
    bytes: &[u8],
    part: &Window,
) -> Result<Option<Sample>, StepError> {
    let frame = frame(bytes).map_err(malformed)?;
    step.admit(frame.size)?;
    if part.rows.end > frame.size.height || part.columns.end > frame.size.width {
        return Ok(None);
    }
    fast(step, bytes, frame, part)
}

/// See [`part`]; the size was admitted.
fn fast(
    step: &DecodeImage,
    bytes: &[u8],
    frame: Frame,
    part: &Window,
) -> Result<Option<Sample>, StepError> {
    if step.compat == Compat::TensorFlow || !matches!(frame.components, 1 | 3) {
        return Ok(None);
    }
    let (height, width) = (part.height(), part.width());
    let region = Region { top: part.rows.start, left: part.columns.start, height, width };
    let size = Dimensions { height, width };
    let decode = |channels, out: &mut [u8]| baseline::decode(bytes, region, channels, out).is_ok();
    let mut done = true;
    let picture = match (step.mode, frame.components) {
        (Mode::L, 1) | (Mode::Rgb, _) => {
            let channels = if step.mode == Mode::L { Channels::L } else { Channels::Rgb };
            step.picture(size, |out| {
                done = decode(channels, out);
                Ok(())
            })?
        }
        _ => {
            let mut rgb = Buffer::for_overwrite(height * width * 3);
            if !decode(Channels::Rgb, &mut rgb) {
                return Ok(None);
            }
            step.narrow(size, 3, &rgb)?
        }
    };
    Ok(done.then_some(picture))
}

fn by_lightness(
    step: &DecodeImage,
    decoder: &mut Decoder,
    size: Dimensions,
) -> Result<Sample, StepError> {
    let mut rgb = Buffer::for_overwrite(size.height * size.width * 3);
    fill(decoder, PixelFormat::Rgb, &mut rgb)?;
    step.narrow(size, 3, &rgb)
}

/// The decoder for whatever the fast one declines.
fn general<'a>(
    step: &DecodeImage,
    bytes: &'a [u8],
    frame: Frame,
) -> Result<Decoder<'a>, StepError> {
    let limits = DecodeLimits { max_scans: MAX_SCANS, ..DecodeLimits::default() };
    let mut decoder = Decoder::new_with_limits(bytes, limits).map_err(error)?;
    if step.compat == Compat::TensorFlow {
        decoder.set_dct_method(DctMethod::IsFast);
    }
    let header = decoder.header();
    let claimed = (usize::from(header.height), usize::from(header.width), header.components.len());
    if claimed != (frame.size.height, frame.size.width, frame.components) {
        return Err(malformed("more than one frame header".to_owned()));
    }
    Ok(decoder)
}

/// The size that a file's head claims; `None` if it ends before.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    frame(head).ok().map(|frame| frame.size)
}

fn fill(decoder: &mut Decoder, format: PixelFormat, out: &mut [u8]) -> Result<(), StepError> {
    decoder.set_output_format(format);
    // As libjpeg does unless told otherwise: progressive files without their last scans.
    decoder.set_block_smoothing(true);
    let info = decoder.decode_image_into(out).map_err(error)?;
    if info.bytes_written != out.len() {
        return Err(malformed("fewer pixels than the header claims".to_owned()));
    }
    Ok(())
}

/// What the frame header says.
#[derive(Clone, Copy, Debug)]
struct Frame {
    precision: u8,
    size: Dimensions,
    components: usize,
}

/// Finds the frame header: the first SOF marker, before any scan (ITU-T T.81, annex B).
fn frame(bytes: &[u8]) -> Result<Frame, String> {
    let ends = || "it ends before its frame header".to_owned();
    let mut rest = bytes.get(2..).ok_or_else(ends)?;
    loop {
        // As libjpeg does, bytes between segments are skipped, and so is padding with FF.
        let start = rest.iter().position(|byte| *byte == 0xff).ok_or_else(ends)?;
        rest = &rest[start..];
        let padding = rest.iter().position(|byte| *byte != 0xff).ok_or_else(ends)?;
        let marker = rest[padding];
        rest = &rest[padding + 1..];
        match marker {
            0x00 | 0x01 | 0xd0..=0xd8 => {}
            0xd9 | 0xda => return Err("it has no frame header".to_owned()),
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let Some(&[_, _, precision, h1, h0, w1, w0, components]) = rest.first_chunk()
                else {
                    return Err(ends());
                };
                let height = usize::from(u16::from_be_bytes([h1, h0]));
                let width = usize::from(u16::from_be_bytes([w1, w0]));
                let size = Dimensions { height, width };
                return Ok(Frame { precision, size, components: usize::from(components) });
            }
            _ => {
                let length = rest.first_chunk().ok_or_else(ends)?;
                let length = usize::from(u16::from_be_bytes(*length));
                rest = rest.get(length.max(2)..).ok_or_else(ends)?;
            }
        }
    }
}

/// Whether there is an Adobe segment before the first scan.
fn has_adobe(bytes: &[u8]) -> bool {
    let start = bytes.windows(2).position(|marker| marker == [0xff, 0xda]).unwrap_or(bytes.len());
    bytes[..start]
        .windows(9)
        .any(|window| window.starts_with(&[0xff, 0xee]) && window.ends_with(b"Adobe"))
}

fn malformed(cause: String) -> StepError {
    StepError::Malformed { format: "JPEG", cause }
}

fn error(error: JpegError) -> StepError {
    match error {
        JpegError::Unsupported(what) => StepError::Unsupported(format!("JPEG: {what}")),
        JpegError::LimitExceeded { .. } | JpegError::AllocationFailed { .. } => {
            StepError::Limit(error.to_string())
        }
        _ => malformed(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
