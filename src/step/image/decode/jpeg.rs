//! JPEG, bit for bit as libjpeg-turbo's slow integer transform with smooth upsampling decodes it,
//! which is what Pillow and torchvision use; or by its fast one, as TensorFlow does.
//!
//! A baseline file that lacks only its end marker is decoded; a progressive one is not, since
//! without the marker nothing tells that all scans are there.
//!
//! It knows nothing of the tags in a file beyond what its colours depend on.

use libjpeg_turbo_rs::{ColorSpace, DctMethod, DecodeLimits, Decoder, JpegError, PixelFormat};

use super::{Compat, DecodeImage, Dimensions, Mode, pixels, ycck};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;

/// Scans that a progressive file may have: what libjpeg-turbo's own fuzzers allow. Encoders make
/// about ten, and every scan of a hostile file costs a pass over the whole picture.
const MAX_SCANS: usize = 500;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let frame = frame(bytes).map_err(malformed)?;
    step.admit(frame.size)?;
    if frame.precision != 8 {
        return Err(StepError::Unsupported(format!("JPEG of {} bits", frame.precision)));
    }
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
    let pixels = frame.size.height * frame.size.width;
    match (frame.components, step.mode) {
        (1, Mode::L) => into(step, &mut decoder, frame.size, PixelFormat::Grayscale),
        (1 | 3, Mode::Rgb) => into(step, &mut decoder, frame.size, PixelFormat::Rgb),
        (1 | 3, Mode::Rgba) => into(step, &mut decoder, frame.size, PixelFormat::Rgba),
        (3, Mode::L) => {
            let mut rgb = Buffer::for_overwrite(pixels * 3);
            fill(&mut decoder, PixelFormat::Rgb, &mut rgb)?;
            step.narrow(frame.size, 3, &rgb)
        }
        (4, _) => {
            let mut cmyk = Buffer::for_overwrite(pixels * 4);
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
        (n, _) => Err(StepError::Unsupported(format!("JPEG of {n} components"))),
    }
}

/// The size that a file's head claims; `None` if it ends before.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    frame(head).ok().map(|frame| frame.size)
}

fn into(
    step: &DecodeImage,
    decoder: &mut Decoder,
    size: Dimensions,
    format: PixelFormat,
) -> Result<Sample, StepError> {
    step.picture(size, |out| fill(decoder, format, out))
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
