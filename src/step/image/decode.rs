//! Decoding: a compressed picture of any common format to 8-bit pixels.
//!
//! The format is told by the first bytes of the content, never by a name. The size is read from
//! the header and checked before memory is taken for pixels. Each format is a file in `decode/`;
//! this one knows only which there are and what all of them must keep.

mod gif;
mod jpeg;
mod other;
mod pixels;
mod png;

use image::ImageFormat;
use serde::{Deserialize, Serialize};

use super::size::OutOfRange;
use super::{Part, Window, array_in};
use crate::sample::{Array, ArraySpec, Dim, Dtype, Layout, MAX_SAMPLE_BYTES, Sample, Spec};
use crate::step::{Map, Named, StepError, Unfit};

/// `decode_image`: the pixels of a compressed picture, uint8 HWC.
///
/// Reads JPEG, PNG, GIF, BMP, TIFF, WebP, PNM, ICO and QOI; of several pictures in a file, the
/// first (of an ICO file, the largest). The pixels are those of Pillow 13's `convert(mode)`:
///
/// * `mode = "rgb"` (default): red, green, blue; alpha is dropped, not blended.
/// * `mode = "l"`: one lightness, as `grayscale` makes it of rgb.
/// * `mode = "rgba"`: with alpha, 255 where the file has none.
///
/// CMYK becomes RGB by Pillow's formula, without a colour profile. On purpose unlike Pillow,
/// which cuts 16-bit gray off at 255, every 16-bit value becomes its high byte. Orientation tags
/// and colour profiles are ignored. A file that ends before its last pixel is an error.
///
/// `max_pixels` (default 178,956,970, where Pillow sees a decompression bomb) limits height ×
/// width.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecodeImage {
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    max_pixels: MaxPixels,
}

/// The channels of a decoded picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Lightness.
    L,
    /// Red, green, blue, alpha; colours are not multiplied by alpha.
    Rgba,
}

impl Mode {
    fn channels(self) -> usize {
        match self {
            Mode::Rgb => 3,
            Mode::L => 1,
            Mode::Rgba => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
struct MaxPixels(u64);

impl Default for MaxPixels {
    /// Twice Pillow's `Image.MAX_IMAGE_PIXELS`: beyond it, `Image.open` raises.
    fn default() -> MaxPixels {
        MaxPixels(2 * (1024 * 1024 * 1024 / 4 / 3))
    }
}

impl TryFrom<u64> for MaxPixels {
    type Error = OutOfRange;

    fn try_from(n: u64) -> Result<MaxPixels, OutOfRange> {
        match n {
            0 => Err(OutOfRange("max_pixels must be 1 or more")),
            n => Ok(MaxPixels(n)),
        }
    }
}

impl From<MaxPixels> for u64 {
    fn from(pixels: MaxPixels) -> u64 {
        pixels.0
    }
}

impl DecodeImage {
    /// The picture of a file, or a part of it that has at least the rows and columns of `needed`,
    /// and the row and column where that part lies. The whole is of `size` (height, width).
    ///
    /// # Errors
    /// As [`map`](Map::map)'s; but damage that no pixel of `needed` depends on may go unnoticed.
    pub(super) fn part(
        &self,
        bytes: &[u8],
        size: (usize, usize),
        needed: &Window,
    ) -> Result<(Array, (usize, usize)), StepError> {
        let _ = needed;
        let picture = array_in(self.decode(bytes)?)?;
        match picture.picture() {
            Some((height, width, _)) if (height, width) == size => Ok((picture, (0, 0))),
            _ => {
                Err(StepError::Unfit("the header claims another size than the pixels have".into()))
            }
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<Sample, StepError> {
        match Format::of(bytes) {
            Some(Format::Jpeg) => jpeg::decode(self, bytes),
            Some(Format::Png) => png::decode(self, bytes),
            Some(Format::Gif) => gif::decode(self, bytes),
            Some(Format::Other(name, format)) => other::decode(self, bytes, name, format),
            None => Err(StepError::Unsupported(unknown(bytes))),
        }
    }

    /// The spec of a decoded picture of this size.
    fn spec_of(&self, height: Dim, width: Dim) -> Spec {
        let channels = Dim::Is(self.mode.channels());
        Spec::Array(ArraySpec::hwc(Dtype::Uint8, height, width, channels))
    }

    /// Refuses a size that a header claims, before any memory is taken for it.
    fn admit(&self, size: Dimensions) -> Result<(), StepError> {
        let Dimensions { height, width } = size;
        let pixels = height as u128 * width as u128;
        if pixels == 0 {
            return Err(StepError::Unsupported(format!("an empty picture of {height} × {width}")));
        }
        let most = u128::from(self.max_pixels.0);
        if pixels > most {
            return Err(StepError::Limit(format!(
                "a picture of {height} × {width} has {pixels} pixels, more than max_pixels = {most}"
            )));
        }
        // Four channels are the most that any decoder needs in between.
        if pixels * 4 > MAX_SAMPLE_BYTES as u128 {
            return Err(StepError::Limit(format!(
                "a picture of {height} × {width} takes more than {} MiB",
                MAX_SAMPLE_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// A picture of the size that was admitted, its bytes written by `write`.
    fn picture(
        &self,
        size: Dimensions,
        write: impl FnOnce(&mut [u8]) -> Result<(), StepError>,
    ) -> Result<Sample, StepError> {
        let shape = [size.height, size.width, self.mode.channels()];
        let mut array = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &shape)?;
        write(array.elements_mut().unwrap_or_default())?;
        Ok(Sample::Array(array))
    }
}

impl Named for DecodeImage {
    const NAME: &'static str = "decode_image";
}

impl Map for DecodeImage {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        match input {
            Spec::Bytes => Ok(self.spec_of(Dim::Varies, Dim::Varies)),
            Spec::Array(array) => {
                Err(Unfit(format!("needs the bytes of a file, but gets {array}: put it first")))
            }
        }
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        matches!(input, Spec::Bytes).then(|| vec![Part::Decode(self.clone())])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let Sample::Bytes(bytes) = input else {
            return Err(StepError::Unfit("needs the bytes of a file".to_owned()));
        };
        self.decode(&bytes)
    }

    fn probe(&self, head: &[u8]) -> Option<Spec> {
        let size = match Format::of(head)? {
            Format::Jpeg => jpeg::size(head),
            Format::Png => png::size(head),
            Format::Gif => gif::size(head),
            Format::Other(_, format) => other::size(head, format),
        }?;
        self.admit(size).ok()?;
        Some(self.spec_of(Dim::Is(size.height), Dim::Is(size.width)))
    }
}

/// Height and width as a header claims them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimensions {
    height: usize,
    width: usize,
}

/// Which decoder reads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Jpeg,
    Png,
    Gif,
    Other(&'static str, ImageFormat),
}

impl Format {
    /// The format, by the first bytes.
    fn of(bytes: &[u8]) -> Option<Format> {
        if bytes.starts_with(b"II+\0") || bytes.starts_with(b"MM\0+") {
            return Some(Format::Other("TIFF", ImageFormat::Tiff)); // BigTIFF
        }
        match image::guess_format(bytes).ok()? {
            ImageFormat::Jpeg => Some(Format::Jpeg),
            ImageFormat::Png => Some(Format::Png),
            ImageFormat::Gif => Some(Format::Gif),
            format @ ImageFormat::Bmp => Some(Format::Other("BMP", format)),
            format @ ImageFormat::Ico => Some(Format::Other("ICO", format)),
            format @ ImageFormat::Pnm => Some(Format::Other("PNM", format)),
            format @ ImageFormat::Qoi => Some(Format::Other("QOI", format)),
            format @ ImageFormat::Tiff => Some(Format::Other("TIFF", format)),
            format @ ImageFormat::WebP => Some(Format::Other("WebP", format)),
            _ => None,
        }
    }
}

/// What bytes that no decoder knows look like.
fn unknown(bytes: &[u8]) -> String {
    let start = bytes.trim_ascii_start();
    match bytes.len() {
        0 => "an empty file".to_owned(),
        _ if start.starts_with(b"<") => {
            "a text that starts with `<`, such as HTML, and no picture".to_owned()
        }
        len => {
            let head: Vec<String> =
                bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("no known picture format: {len} bytes that start with {}", head.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Buffer;

    fn step(text: &str) -> DecodeImage {
        serde_json::from_str(text).unwrap()
    }

    fn error(bytes: &[u8]) -> String {
        step("{}").map(Sample::Bytes(Buffer::copy_of(bytes))).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_picture_is_said_clearly() {
        assert_eq!(error(b""), "unsupported: an empty file");
        assert_eq!(
            error(b"\x01"),
            "unsupported: no known picture format: 1 bytes that start with 01"
        );
        assert!(error(b"\n<!DOCTYPE html><html>").contains("such as HTML"));
        for magic in [
            &b"\xff\xd8\xff"[..],
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"BM",
            b"II*\0",
            b"P6",
            b"qoif",
            b"\0\0\x01\0",
            b"RIFF\0\0\0\0WEBP",
        ] {
            assert!(error(magic).starts_with("malformed"), "{}", error(magic));
        }
    }

    #[test]
    fn a_size_beyond_the_limits_takes_no_memory() {
        let claim = |height, width| step("{}").admit(Dimensions { height, width });
        assert!(claim(1 << 14, 10_000).is_ok());
        assert!(matches!(claim(30_000, 30_000), Err(StepError::Limit(_))));
        assert!(matches!(claim(usize::MAX, usize::MAX), Err(StepError::Limit(_))));
        assert!(matches!(claim(0, 5), Err(StepError::Unsupported(_))));
        let small = step(r#"{"max_pixels": 6}"#);
        assert!(small.admit(Dimensions { height: 2, width: 3 }).is_ok());
        assert!(small.admit(Dimensions { height: 7, width: 1 }).is_err());
    }

    #[test]
    fn parameters_have_their_defaults_written_out() {
        let text = serde_json::to_string(&step("{}")).unwrap();
        assert_eq!(text, r#"{"mode":"rgb","max_pixels":178956970}"#);
        assert!(serde_json::from_str::<DecodeImage>(r#"{"mode": "cmyk"}"#).is_err());
        assert!(serde_json::from_str::<DecodeImage>(r#"{"max_pixels": 0}"#).is_err());
    }
}
