//! GIF: the first picture of the file, on its canvas.
//!
//! It knows no animation. As Pillow does, canvas outside of the picture has the transparent
//! colour, or else the palette's first, and a picture that sticks out enlarges the canvas. Without
//! any palette, indices are shades of gray.

use std::borrow::Cow;
use std::io::Cursor;

use gif::{ColorOutput, DecodeOptions, Decoder, DecodingError, MemoryLimit};

use super::{Compat, DecodeImage, Dimensions};
use crate::sample::{Buffer, MAX_SAMPLE_BYTES, Sample};
use crate::step::StepError;

/// The first picture's place, and how its indices become colours.
struct First {
    canvas: Dimensions,
    picture: Dimensions,
    top: usize,
    left: usize,
    transparent: Option<u8>,
}

type Opened<'a> = (Decoder<Cursor<Cow<'a, [u8]>>>, First);

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let (mut decoder, mut first) = open(bytes).map_err(error)?;
    let as_tensorflow = step.compat == Compat::TensorFlow;
    if let (true, Some(largest)) = (as_tensorflow, largest(bytes)) {
        first.canvas = largest;
    }
    step.admit(first.canvas)?;
    let mut palette = palette(decoder.palette().ok(), first.transparent);
    if let (true, Some(transparent)) = (as_tensorflow, first.transparent) {
        palette[usize::from(transparent)] = [0, 0, 0, 255];
    }
    let Dimensions { height, width } = first.picture;
    let mut indices = Buffer::for_overwrite(height * width);
    if !indices.is_empty() {
        decoder.read_into_buffer(&mut indices).map_err(error)?;
    }
    let mut canvas = Buffer::for_overwrite(first.canvas.height * first.canvas.width * 4);
    let colours = canvas.as_chunks_mut::<4>().0;
    colours.fill(match step.compat {
        Compat::TensorFlow => [0, 0, 0, 255],
        Compat::Pillow13 | Compat::Pillow12 => palette[usize::from(first.transparent.unwrap_or(0))],
    });
    if width > 0 {
        let rows = colours.chunks_exact_mut(first.canvas.width).skip(first.top);
        for (row, indices) in rows.zip(indices.chunks_exact(width)) {
            for (colour, index) in row.iter_mut().skip(first.left).zip(indices) {
                *colour = palette[usize::from(*index)];
            }
        }
    }
    step.narrow(first.canvas, 4, &canvas)
}

/// The size of the canvas; `None` if the head ends before what tells it.
pub(super) fn size(step: &DecodeImage, head: &[u8]) -> Option<Dimensions> {
    if step.compat == Compat::TensorFlow {
        return largest(head);
    }
    open(head).ok().map(|(_, first)| first.canvas)
}

/// TensorFlow's canvas: the largest height and width of all pictures, whatever the file says its
/// own are (`tensorflow/core/lib/gif/gif_io.cc`). `None` if the file has no end.
fn largest(bytes: &[u8]) -> Option<Dimensions> {
    const HEADER: usize = 13;
    const EXTENSION: u8 = 0x21;
    const PICTURE: u8 = 0x2c;
    const END: u8 = 0x3b;
    let palette = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut largest = Dimensions { height: 0, width: 0 };
    let mut at = HEADER + palette(*bytes.get(10)?);
    loop {
        at += match *bytes.get(at)? {
            EXTENSION => 2,
            PICTURE => {
                let fields: &[u8; 10] = bytes.get(at..)?.first_chunk()?;
                let side =
                    |at: usize| usize::from(u16::from_le_bytes([fields[at], fields[at + 1]]));
                largest.width = largest.width.max(side(5));
                largest.height = largest.height.max(side(7));
                fields.len() + palette(fields[9]) + 1
            }
            END => return Some(largest),
            _ => return None,
        };
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}

fn open(bytes: &[u8]) -> Result<Opened<'_>, DecodingError> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(MEMORY_LIMIT));
    let mut decoder = options.read_info(Cursor::new(with_palette(bytes)))?;
    let (height, width) = (usize::from(decoder.height()), usize::from(decoder.width()));
    let Some(frame) = decoder.next_frame_info()? else {
        return Err(DecodingError::UnexpectedEof);
    };
    let picture = Dimensions { height: usize::from(frame.height), width: usize::from(frame.width) };
    let (top, left) = (usize::from(frame.top), usize::from(frame.left));
    let canvas = Dimensions {
        height: height.max(top + picture.height),
        width: width.max(left + picture.width),
    };
    let transparent = frame.transparent;
    Ok((decoder, First { canvas, picture, top, left, transparent }))
}

const MEMORY_LIMIT: std::num::NonZeroU64 =
    std::num::NonZeroU64::new(MAX_SAMPLE_BYTES as u64).expect("not zero");

/// The file with a palette of grays for pictures that have none of their own, if it has none.
fn with_palette(bytes: &[u8]) -> Cow<'_, [u8]> {
    const FLAGS_AT: usize = 10;
    const HEADER: usize = 13;
    const HAS_PALETTE: u8 = 1 << 7;
    const OF_256: u8 = 7;
    match bytes.split_first_chunk::<HEADER>() {
        Some((header, rest)) if header[FLAGS_AT] & HAS_PALETTE == 0 => {
            let mut header = *header;
            header[FLAGS_AT] |= HAS_PALETTE | OF_256;
            let grays: Vec<u8> = (0..=255).flat_map(|gray| [gray; 3]).collect();
            [&header[..], &grays, rest].concat().into()
        }
        _ => bytes.into(),
    }
}

/// The colours of all 256 indices: gray without a palette, and black beyond its end.
fn palette(colours: Option<&[u8]>, transparent: Option<u8>) -> [[u8; 4]; 256] {
    let mut palette = [[0, 0, 0, 255]; 256];
    match colours {
        Some(colours) => {
            for (entry, [r, g, b]) in palette.iter_mut().zip(colours.as_chunks::<3>().0) {
                *entry = [*r, *g, *b, 255];
            }
        }
        None => {
            for (gray, entry) in palette.iter_mut().enumerate() {
                *entry = [gray as u8, gray as u8, gray as u8, 255];
            }
        }
    }
    if let Some(index) = transparent {
        palette[usize::from(index)][3] = 0;
    }
    palette
}

fn error(error: DecodingError) -> StepError {
    StepError::Malformed { format: "GIF", cause: error.to_string() }
}
