//! TGA: plain or run-length coded, of colours, gray or a palette.
//!
//! From the Truevision TGA specification 2.0, read as Pillow's `TgaImagePlugin.py` does. The format
//! has no mark at its start: its header is one if it makes sense.

use super::{DecodeImage, Dimensions};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;

/// What the header says.
struct Header {
    size: Dimensions,
    kind: Kind,
    depth: usize,
    run_lengths: bool,
    /// Rows from the top, columns from the right.
    top_first: bool,
    right_first: bool,
    palette: Option<Palette>,
    data_at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Indices,
    Colours,
    Gray,
}

/// Colours of `depth` bits, the first of them for index `first`.
struct Palette {
    first: usize,
    count: usize,
    depth: usize,
    at: usize,
}

const HEADER: usize = 18;

/// Whether a file may be one.
pub(super) fn is_tga(bytes: &[u8]) -> bool {
    Header::read(bytes).is_some_and(|header| header.size.height > 0 && header.size.width > 0)
}

/// The size in the header.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    Header::read(head).map(|header| header.size)
}

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let header = Header::read(bytes).ok_or_else(|| malformed("its header is broken"))?;
    step.admit(header.size)?;
    let palette = header.palette(bytes)?;
    let opaque = header.kind == Kind::Colours && alpha_means_nothing(bytes);
    let Dimensions { height, width } = header.size;
    let stored = header.stored(bytes)?;
    let mut pixels = Buffer::for_overwrite(height * width * 4);
    let (out, each) = (pixels.as_chunks_mut::<4>().0, header.depth / 8);
    for (y, row) in stored.chunks_exact(width * each).enumerate() {
        let y = if header.top_first { y } else { height - 1 - y };
        for (x, pixel) in row.chunks_exact(each).enumerate() {
            let x = if header.right_first { width - 1 - x } else { x };
            out[y * width + x] = match (header.kind, pixel, &palette) {
                (Kind::Indices, &[index], Some(palette)) => palette[usize::from(index)],
                (_, &[v], _) => [v, v, v, 255],
                (Kind::Gray, &[v, a], _) => [v, v, v, a],
                (_, pixel, _) => colour(pixel, opaque),
            };
        }
    }
    step.narrow(header.size, 4, &pixels)
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let number = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (depth, flags) = (usize::from(header[16]), header[17]);
        let mapped = match header[1] {
            0 => false,
            1 => true,
            _ => return None,
        };
        let kind = match (header[2], depth) {
            (1 | 9, 8) => Kind::Indices,
            (2 | 10, 16 | 24 | 32) => Kind::Colours,
            (3 | 11, 8 | 16) => Kind::Gray,
            _ => return None,
        };
        let after = HEADER + usize::from(header[0]);
        let palette = Palette {
            first: number(3),
            count: number(5),
            depth: usize::from(header[7]),
            at: after,
        };
        if mapped && !matches!(palette.depth, 16 | 24 | 32) {
            return None;
        }
        let palette_bytes = if mapped { palette.count * palette.depth / 8 } else { 0 };
        Some(Header {
            size: Dimensions { height: number(14), width: number(12) },
            kind,
            depth,
            run_lengths: header[2] & 8 != 0,
            top_first: flags & 0x20 != 0,
            right_first: flags & 0x10 != 0,
            palette: mapped.then_some(palette),
            data_at: after + palette_bytes,
        })
    }

    fn palette(&self, bytes: &[u8]) -> Result<Option<[[u8; 4]; 256]>, StepError> {
        let Some(palette) = &self.palette else { return Ok(None) };
        let data = bytes.get(palette.at..self.data_at).ok_or_else(ends)?;
        let mut colours = [[0, 0, 0, 255]; 256];
        let slots = colours.iter_mut().skip(palette.first);
        for (slot, stored) in slots.zip(data.chunks_exact(palette.depth / 8)) {
            *slot = colour(stored, false);
        }
        Ok(Some(colours))
    }

    /// The pixels as they are stored, run lengths undone: they may go beyond a row's end.
    fn stored<'a>(&self, bytes: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>, StepError> {
        let each = self.depth / 8;
        let length = self.size.height * self.size.width * each;
        let mut rest = bytes.get(self.data_at..).ok_or_else(ends)?;
        if !self.run_lengths {
            return Ok(rest.get(..length).ok_or_else(ends)?.into());
        }
        let mut out = Vec::with_capacity(length);
        while out.len() < length {
            let (head, after) = rest.split_first().ok_or_else(ends)?;
            let count = usize::from(head & 0x7f) + 1;
            let taken = if head & 0x80 != 0 { each } else { each * count };
            let (pixels, after) = after.split_at_checked(taken).ok_or_else(ends)?;
            for _ in 0..(each * count / taken) {
                out.extend_from_slice(pixels);
            }
            rest = after;
        }
        out.truncate(length);
        Ok(out.into())
    }
}

/// Blue, green, red and alpha, or 5 bits of each and one that is set where nothing is seen.
fn colour(stored: &[u8], opaque: bool) -> [u8; 4] {
    match *stored {
        [low, high] => {
            let bits = u16::from_le_bytes([low, high]);
            let five = |shift: u32| (u32::from(bits >> shift & 31) * 255 / 31) as u8;
            let alpha = if bits >> 15 == 0 || opaque { 255 } else { 0 };
            [five(10), five(5), five(0), alpha]
        }
        [b, g, r] => [r, g, b, 255],
        [b, g, r, a] => [r, g, b, if opaque { 255 } else { a }],
        _ => [0, 0, 0, 255],
    }
}

/// Whether the extension at the end of a file of version 2 says so.
fn alpha_means_nothing(bytes: &[u8]) -> bool {
    const FOOTER: usize = 26;
    const ATTRIBUTES: usize = 494;
    let Some(footer) = bytes.last_chunk::<FOOTER>() else { return false };
    let at = u32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]) as usize;
    footer.ends_with(b"TRUEVISION-XFILE.\0")
        && at != 0
        && bytes.get(at.saturating_add(ATTRIBUTES)) == Some(&0)
}

fn malformed(cause: &str) -> StepError {
    StepError::Malformed { format: "TGA", cause: cause.to_owned() }
}

fn ends() -> StepError {
    malformed("it ends before its last pixel")
}
