//! ICO: the largest of its pictures, of equal ones the first of the fewest colours, as Pillow
//! chooses.
//!
//! It knows the list of pictures. One that is a PNG is read as such, one that is half a BMP by
//! `other.rs`, as the only one of a new file whose list says what the picture itself does.

use image::ImageFormat;

use super::{DecodeImage, Dimensions, other, png};
use crate::sample::Sample;
use crate::step::StepError;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let Some(entry) = Entry::chosen(bytes) else {
        return Err(StepError::Malformed {
            format: "ICO",
            cause: "it lists no picture".to_owned(),
        });
    };
    match entry.bitmap_size() {
        None => png::decode(step, entry.data),
        Some(size) => {
            step.admit(size)?;
            other::decode(step, &entry.alone(size), "ICO", ImageFormat::Ico)
        }
    }
}

/// The size that the chosen picture's own header tells.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    let entry = Entry::chosen(head)?;
    match entry.bitmap_size() {
        None => png::size(entry.data),
        Some(size) => (entry.data.len() >= DIB_HEADER).then_some(size),
    }
}

/// The bytes of a bitmap's header that matter here.
const DIB_HEADER: usize = 40;
const LIST_ENTRY: usize = 16;
const LIST_START: usize = 6;

/// A picture in the list.
struct Entry<'a> {
    fields: [u8; LIST_ENTRY],
    data: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Pillow sorts by colours, the fewest first, then by size as listed, the largest first, and
    /// keeps the order of equal ones.
    fn chosen(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let count = usize::from(u16::from_le_bytes(*bytes.get(4..)?.first_chunk()?));
        let list = bytes.get(LIST_START..)?.get(..count * LIST_ENTRY)?;
        let entries = list.as_chunks::<LIST_ENTRY>().0.iter();
        let fields = *entries.min_by_key(|fields| {
            let side = |n: u8| if n == 0 { 256 } else { i64::from(n) };
            let bits = u32::from(u16::from_le_bytes([fields[6], fields[7]]));
            let colours = match (bits, u32::from(fields[2])) {
                (0, 0 | 1) => 256,
                (0, colours) => u32::BITS - (colours - 1).leading_zeros(),
                (bits, _) => bits,
            };
            (-side(fields[0]) * side(fields[1]), colours)
        })?;
        let number =
            |at: usize| u32::from_le_bytes([at, at + 1, at + 2, at + 3].map(|n| fields[n]));
        let (length, start) = (number(8) as usize, number(12) as usize);
        let data = bytes.get(start..)?;
        // Pillow believes the picture itself more than its length in the list.
        let data =
            if data.starts_with(b"\x89PNG") { data } else { &data[..length.min(data.len())] };
        Some(Entry { fields, data })
    }

    /// The size in a bitmap's header, whose height counts the mask as well; `None` for a PNG.
    fn bitmap_size(&self) -> Option<Dimensions> {
        if self.data.starts_with(b"\x89PNG") {
            return None;
        }
        let side = |at: usize| {
            let side = self.data.get(at..).and_then(|rest| rest.first_chunk());
            side.map_or(0, |side| i32::from_le_bytes(*side).unsigned_abs() as usize)
        };
        Some(Dimensions { height: side(8) / 2, width: side(4) })
    }

    /// A file of this picture alone. Of a picture that has alpha of its own, the mask hides nothing,
    /// and need not be there.
    fn alone(&self, size: Dimensions) -> Vec<u8> {
        let side = |n: usize| if n < 256 { n as u8 } else { 0 };
        let mut data = self.data.to_vec();
        let depth = data.get(14..16).map_or(0, |bits| u16::from_le_bytes([bits[0], bits[1]]));
        let pixels = size.height * size.width * 4;
        if depth == 32 && data.len() >= DIB_HEADER + pixels {
            let header = data.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize);
            let mask_at = header.max(DIB_HEADER) + pixels;
            data.truncate(mask_at);
            data.resize(mask_at + size.width.div_ceil(32) * 4 * size.height, 0);
        }
        let mut fields = self.fields;
        fields[0] = side(size.width);
        fields[1] = side(size.height);
        fields[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
        fields[12..].copy_from_slice(&((LIST_START + LIST_ENTRY) as u32).to_le_bytes());
        [b"\0\0\x01\0\x01\0", &fields[..], &data].concat()
    }
}
