//! Picture formats, for 8-bit pictures of one or three channels.

use std::io::Cursor;

use super::{BadOutput, Output, too_large};
use crate::sample::{Array, Buffer};

/// Everything before the pixels of a binary PPM or PGM; `None` if this isn't a picture.
pub(super) fn ppm_header(shape: &[usize]) -> Option<Vec<u8>> {
    let &[height, width, channels] = shape else { return None };
    let magic = if channels == 1 { "P5" } else { "P6" };
    Some(format!("{magic}\n{width} {height}\n255\n").into_bytes())
}

pub(super) fn ppm(array: Array) -> Result<Buffer, BadOutput> {
    let Some(header) = ppm_header(array.shape()) else {
        return Err(too_large(Output::Ppm, &array));
    };
    let mut data = array.into_data();
    data.grow_front(header.len()).copy_from_slice(&header);
    Ok(data)
}

const BMP_FILE_HEADER: usize = 14;
const BMP_INFO_HEADER: usize = 40;
const BMP_PIXELS_AT: usize = BMP_FILE_HEADER + BMP_INFO_HEADER;
const BMP_BITS: u16 = 24;

/// Bytes of a bitmap: rows of three bytes a pixel, padded to four.
pub(super) fn bmp_size(shape: &[usize]) -> Option<u64> {
    let &[height, width, _] = shape else { return None };
    let row = (width as u64).checked_mul(3)?.checked_next_multiple_of(4)?;
    row.checked_mul(height as u64)?.checked_add(BMP_PIXELS_AT as u64)
}

/// A BITMAPINFOHEADER bitmap, bottom row first, blue first; one channel is written as gray.
pub(super) fn bmp(array: &Array) -> Result<Buffer, BadOutput> {
    let refuse = || too_large(Output::Bmp, array);
    let &[height, width, channels] = array.shape() else { return Err(refuse()) };
    let size =
        bmp_size(array.shape()).and_then(|size| u32::try_from(size).ok()).ok_or_else(refuse)?;
    let (tall, wide) = (i32::try_from(height), i32::try_from(width));
    let (Ok(tall), Ok(wide)) = (tall, wide) else { return Err(refuse()) };

    let mut file = Buffer::zeroed(size as usize);
    let (header, pixels) = file.split_at_mut(BMP_PIXELS_AT);
    header[..2].copy_from_slice(b"BM");
    header[2..6].copy_from_slice(&size.to_le_bytes());
    header[10..14].copy_from_slice(&(BMP_PIXELS_AT as u32).to_le_bytes());
    header[14..18].copy_from_slice(&(BMP_INFO_HEADER as u32).to_le_bytes());
    header[18..22].copy_from_slice(&wide.to_le_bytes());
    header[22..26].copy_from_slice(&tall.to_le_bytes());
    header[26..28].copy_from_slice(&1_u16.to_le_bytes());
    header[28..30].copy_from_slice(&BMP_BITS.to_le_bytes());

    let stride = (width * 3).next_multiple_of(4);
    if width == 0 || height == 0 {
        return Ok(file);
    }
    let rows = array.data().chunks_exact(width * channels).rev();
    for (to, from) in pixels.chunks_exact_mut(stride).zip(rows) {
        for (to, from) in to.chunks_exact_mut(3).zip(from.chunks_exact(channels)) {
            let (red, blue) = (from[0], from[channels - 1]);
            to.copy_from_slice(&[blue, from[channels / 2], red]);
        }
    }
    Ok(file)
}

pub(super) fn png(array: &Array) -> Result<Buffer, BadOutput> {
    let refuse = || too_large(Output::Png, array);
    let &[height, width, channels] = array.shape() else { return Err(refuse()) };
    let (Ok(tall), Ok(wide)) = (u32::try_from(height), u32::try_from(width)) else {
        return Err(refuse());
    };
    let mut file = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut file, wide, tall);
    encoder.set_color(if channels == 1 { png::ColorType::Grayscale } else { png::ColorType::Rgb });
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(array.data())?;
        writer.finish()
    });
    written.map_err(|_| refuse())?;
    Ok(Buffer::copy_of(&file.into_inner()))
}

/// The pixels of a PNG as RGB.
#[cfg(test)]
pub(super) fn unpng(bytes: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    match frame.color_type {
        png::ColorType::Grayscale => pixels.iter().flat_map(|gray| [*gray; 3]).collect(),
        _ => pixels,
    }
}
