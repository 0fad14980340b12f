//! Where a file says how its camera was held: in EXIF data, or else in XMP.
//!
//! As Pillow's `Image.getexif`: EXIF from JPEG's APP1 segments, PNG's `eXIf` or "Raw profile type
//! exif" text, WebP's `EXIF` chunk; where that has no orientation, the first `tiff:Orientation` of
//! the XMP data. It knows no pixels. TIFF's own tag is `tiff.rs`'s business.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::Format;
use super::ifd::Ifd;
use super::orientation::Orientation;

/// What the first bytes of a file tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The orientation of the whole file.
    Is(Orientation),
    /// What comes after these bytes may change it.
    NotYet,
}

impl Told {
    /// The orientation if nothing more comes.
    pub(super) fn unless_told(self) -> Orientation {
        match self {
            Told::Is(orientation) => orientation,
            Told::NotYet => Orientation::Upright,
        }
    }
}

/// The most bytes that a packed text of a PNG may unpack to: Pillow's number.
const MAX_TEXT: u64 = 1 << 20;

/// The orientation that a file of this format asks for.
pub(super) fn orientation(format: Format, bytes: &[u8]) -> Told {
    let mut found = Found::default();
    let whole = match format {
        Format::Jpeg => jpeg(bytes, &mut found),
        Format::Png => png(bytes, &mut found),
        Format::WebP => webp(bytes, &mut found),
        _ => Some(()),
    };
    match (found.orientation(), whole) {
        (Some(tag), Some(())) => Told::Is(Orientation::of(tag)),
        // EXIF counts before XMP, so that what was found is final.
        (Some(tag), None) if found.in_exif().is_some() => Told::Is(Orientation::of(tag)),
        (_, None) => Told::NotYet,
        (None, Some(())) => Told::Is(Orientation::Upright),
    }
}

/// The metadata of a file so far.
#[derive(Default)]
struct Found {
    exif: Vec<u8>,
    profile: Vec<u8>,
    xmp: Vec<u8>,
}

impl Found {
    fn in_exif(&self) -> Option<i64> {
        let mut exif = if self.exif.is_empty() { &*self.profile } else { &*self.exif };
        while let Some(rest) = exif.strip_prefix(EXIF_START) {
            exif = rest;
        }
        Ifd::first(exif)?.orientation()
    }

    fn orientation(&self) -> Option<i64> {
        const TAG: &[u8] = b"tiff:Orientation";
        let in_xmp = || {
            self.xmp.windows(TAG.len() + 3).find_map(|window| {
                let value = window.strip_prefix(TAG)?;
                let digit = match value {
                    [b'=', b'"', digit] | [b'>', digit, _] => *digit,
                    _ => return None,
                };
                digit.is_ascii_digit().then(|| i64::from(digit - b'0'))
            })
        };
        self.in_exif().or_else(in_xmp)
    }
}

const EXIF_START: &[u8] = b"Exif\0\0";
const XMP_START: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Reads segments up to the first scan; `None` if the bytes end before.
fn jpeg(bytes: &[u8], found: &mut Found) -> Option<()> {
    let mut rest = bytes.get(2..)?;
    loop {
        let start = rest.iter().position(|byte| *byte == 0xff)?;
        rest = &rest[start..];
        let padding = rest.iter().position(|byte| *byte != 0xff)?;
        let marker = rest[padding];
        rest = &rest[padding + 1..];
        match marker {
            0x00 | 0x01 | 0xd0..=0xd8 => {}
            0xd9 | 0xda => return Some(()),
            _ => {
                let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?)).max(2);
                let segment = rest.get(2..length)?;
                if marker == 0xe1 && segment.starts_with(EXIF_START) {
                    let skipped = if found.exif.is_empty() { 0 } else { EXIF_START.len() };
                    found.exif.extend_from_slice(&segment[skipped..]);
                } else if let (0xe1, Some(xmp)) = (marker, segment.strip_prefix(XMP_START)) {
                    found.xmp = xmp.to_vec();
                }
                rest = &rest[length..];
            }
        }
    }
}

/// Reads chunks up to the last one; `None` if the bytes end before.
fn png(bytes: &[u8], found: &mut Found) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (kind, after) = after.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let data = after.get(..length)?;
        match kind {
            b"IEND" => return Some(()),
            b"eXIf" => found.exif = data.to_vec(),
            b"tEXt" | b"zTXt" | b"iTXt" => text(kind, data, found),
            _ => {}
        }
        rest = after.get(length.checked_add(4)?..)?;
    }
}

/// A text chunk of a PNG, if it is one of those that matter.
fn text(kind: &[u8; 4], data: &[u8], found: &mut Found) {
    const PROFILE: &[u8] = b"Raw profile type exif";
    const XMP: &[u8] = b"XML:com.adobe.xmp";
    let Some((key, data)) = cut(data) else { return };
    if key != PROFILE && key != XMP {
        return;
    }
    let text = match (kind, data) {
        (b"tEXt", data) => data.to_vec(),
        (b"zTXt", [0, packed @ ..]) => unpacked(packed),
        (b"iTXt", [is_packed @ (0 | 1), 0, data @ ..]) => {
            let Some((_, data)) = cut(data).and_then(|(_language, data)| cut(data)) else { return };
            if *is_packed == 1 { unpacked(data) } else { data.to_vec() }
        }
        _ => return,
    };
    if key == XMP {
        found.xmp = text;
    } else {
        // Three lines, then hexadecimal digits.
        let digits = text.splitn(4, |byte| *byte == b'\n').nth(3).unwrap_or_default();
        let digits: Vec<u8> = digits
            .iter()
            .filter_map(|byte| char::from(*byte).to_digit(16))
            .map(|n| n as u8)
            .collect();
        found.profile =
            digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect();
    }
}

/// What is before the first zero byte, and what is after it.
fn cut(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|byte| *byte == 0)?;
    Some((&data[..end], &data[end + 1..]))
}

fn unpacked(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // What is broken or too long says nothing.
    match ZlibDecoder::new(data).take(MAX_TEXT).read_to_end(&mut text) {
        Ok(_) => text,
        Err(_) => Vec::new(),
    }
}

/// Reads chunks to the end of the container; `None` if the bytes end before.
fn webp(bytes: &[u8], found: &mut Found) -> Option<()> {
    const EXIF_FLAG: u8 = 1 << 3;
    const XMP_FLAG: u8 = 1 << 2;
    let length = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?) as usize;
    let header = bytes.get(12..21)?;
    let flags = if header.starts_with(b"VP8X") { header[8] } else { 0 };
    if flags & (EXIF_FLAG | XMP_FLAG) == 0 {
        return Some(());
    }
    let end = length.checked_add(8)?;
    let mut at = 12;
    while at + 8 <= end {
        let kind = bytes.get(at..at + 4)?;
        let length = u32::from_le_bytes(*bytes.get(at + 4..)?.first_chunk()?) as usize;
        let data = bytes.get(at + 8..(at + 8).checked_add(length)?)?;
        match kind {
            b"EXIF" if flags & EXIF_FLAG != 0 => found.exif = data.to_vec(),
            b"XMP " if flags & XMP_FLAG != 0 => found.xmp = data.to_vec(),
            _ => {}
        }
        at += 8 + length + length % 2;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIF: &[u8] = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";

    fn segment(data: &[u8]) -> Vec<u8> {
        [&[0xff, 0xe1], &(data.len() as u16 + 2).to_be_bytes()[..], data].concat()
    }

    #[test]
    fn a_jpeg_tells_before_its_first_scan() {
        let scan = [0xff, 0xda, 0, 2];
        let told = |parts: &[&[u8]]| orientation(Format::Jpeg, &parts.concat());
        let start: &[u8] = &[0xff, 0xd8];
        let clockwise = Told::Is(Orientation::Clockwise);
        assert_eq!(told(&[start, &segment(EXIF), &scan]), clockwise);
        assert_eq!(told(&[start, &segment(EXIF)]), clockwise);
        assert_eq!(told(&[start, &segment(&EXIF[..20])]), Told::NotYet);
        assert_eq!(told(&[start, &scan]), Told::Is(Orientation::Upright));
        let xmp = segment(&[XMP_START, b"<a tiff:Orientation=\"3\"/>"].concat());
        assert_eq!(told(&[start, &xmp, &scan]), Told::Is(Orientation::HalfTurn));
        assert_eq!(told(&[start, &xmp]), Told::NotYet);
        assert_eq!(told(&[start, &xmp, &segment(EXIF), &scan]), clockwise);
    }

    #[test]
    fn a_png_and_a_webp_tell_at_their_ends() {
        let chunk = |kind: &[u8], data: &[u8]| {
            [&(data.len() as u32).to_be_bytes()[..], kind, data, &[0; 4]].concat()
        };
        let start = b"\x89PNG\r\n\x1a\n".to_vec();
        let hex: String = EXIF.iter().map(|byte| format!("{byte:02x}")).collect();
        let profile = format!("Raw profile type exif\0\nexif\n  32\n{hex}\n");
        for data in [chunk(b"eXIf", &EXIF[6..]), chunk(b"tEXt", profile.as_bytes())] {
            let file = [start.clone(), data, chunk(b"IEND", b"")].concat();
            let told = orientation(Format::Png, &file);
            assert_eq!(told, Told::Is(Orientation::Clockwise));
            assert_eq!(orientation(Format::Png, &file[..20]), Told::NotYet);
        }
        let riff = |flags: u8, tail: &[u8]| {
            let body = [b"WEBPVP8X\x0a\0\0\0", &[flags][..], &[0; 9], tail].concat();
            [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
        };
        let exif = [b"EXIF", &(EXIF.len() as u32).to_le_bytes()[..], EXIF].concat();
        let webp = Format::WebP;
        assert_eq!(orientation(webp, &riff(8, &exif)), Told::Is(Orientation::Clockwise));
        assert_eq!(orientation(webp, &riff(0, &exif)), Told::Is(Orientation::Upright));
        assert_eq!(orientation(webp, &riff(8, &exif)[..40]), Told::NotYet);
    }
}
