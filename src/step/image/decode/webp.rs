//! WebP, and the first picture of an animation on its canvas.
//!
//! It knows the container; pictures are decoded by `other.rs`, that of an animation as a file of
//! its own: libwebp, and hence Pillow, leaves the hidden colours of transparent pixels as they are
//! and the canvas outside of the picture black and transparent.

use image::ImageFormat;

use super::{DecodeImage, Dimensions, other};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let Some(canvas) = animated(bytes) else {
        return other::decode(step, bytes, "WebP", ImageFormat::WebP);
    };
    step.admit(canvas.size)?;
    let first = First::find(bytes).ok_or_else(|| malformed("its first picture isn't all there"))?;
    let Dimensions { height, width } = first.size;
    if first.top + height > canvas.size.height || first.left + width > canvas.size.width {
        return Err(malformed("its first picture is not on its canvas"));
    }
    let picture = other::rgba(&first.alone(), "WebP", ImageFormat::WebP, first.size)?;
    let mut out = Buffer::zeroed(canvas.size.height * canvas.size.width * 4);
    let rows = out.chunks_exact_mut(canvas.size.width * 4).skip(first.top);
    for (out, row) in rows.zip(picture.chunks_exact(width * 4)) {
        out[first.left * 4..][..row.len()].copy_from_slice(row);
    }
    if !canvas.has_alpha {
        out.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| pixel[3] = 255);
    }
    step.narrow(canvas.size, 4, &out)
}

/// The size of the picture or canvas.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    match animated(head) {
        Some(canvas) => Some(canvas.size),
        None => other::size(head, ImageFormat::WebP),
    }
}

struct Canvas {
    size: Dimensions,
    has_alpha: bool,
}

const ALPHA: u8 = 1 << 4;
const ANIMATION: u8 = 1 << 1;
/// Where the extended header's chunk, and its data, starts.
const CHUNKS: usize = 12;

/// The canvas, if the file is an animation.
fn animated(bytes: &[u8]) -> Option<Canvas> {
    let header = bytes.get(CHUNKS..)?.strip_prefix(b"VP8X")?.get(4..14)?;
    let size = Dimensions { height: three(header, 7) + 1, width: three(header, 4) + 1 };
    (header[0] & ANIMATION != 0).then_some(Canvas { size, has_alpha: header[0] & ALPHA != 0 })
}

/// The first picture of an animation: its place, and the chunks that it is made of.
struct First<'a> {
    top: usize,
    left: usize,
    size: Dimensions,
    chunks: &'a [u8],
}

impl<'a> First<'a> {
    fn find(bytes: &'a [u8]) -> Option<First<'a>> {
        const HEADER: usize = 16;
        let mut rest = bytes.get(CHUNKS..)?;
        loop {
            let kind = rest.get(..4)?;
            let length = u32::from_le_bytes(*rest.get(4..)?.first_chunk()?) as usize;
            let data = rest.get(8..)?;
            if kind == b"ANMF" {
                let (header, chunks) = data.get(..length)?.split_at_checked(HEADER)?;
                let size = Dimensions { height: three(header, 9) + 1, width: three(header, 6) + 1 };
                let (top, left) = (2 * three(header, 3), 2 * three(header, 0));
                return Some(First { top, left, size, chunks });
            }
            rest = data.get(length.checked_add(length % 2)?..)?;
        }
    }

    /// A file of this picture alone.
    fn alone(&self) -> Vec<u8> {
        let has_alpha = self.chunks.starts_with(b"ALPH") || self.chunks.starts_with(b"VP8L");
        let mut header = [0; 10];
        header[0] = if has_alpha { ALPHA } else { 0 };
        header[4..7].copy_from_slice(&(self.size.width as u32 - 1).to_le_bytes()[..3]);
        header[7..].copy_from_slice(&(self.size.height as u32 - 1).to_le_bytes()[..3]);
        let body = [b"WEBPVP8X\x0a\0\0\0", &header[..], self.chunks].concat();
        [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
    }
}

/// The number of three bytes.
fn three(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) | usize::from(bytes[at + 1]) << 8 | usize::from(bytes[at + 2]) << 16
}

fn malformed(cause: &str) -> StepError {
    StepError::Malformed { format: "WebP", cause: cause.to_owned() }
}
