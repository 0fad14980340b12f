//! Decoding: a compressed picture of any common format to pixels of 8 bits, or of 16.
//!
//! The format is told by the first bytes of the content, never by a name. The size is read from
//! the header and checked before memory is taken for pixels. Each format is a file in `decode/`;
//! this one knows only which there are and what all of them must keep.

mod bmp;
mod exif;
mod gif;
mod ico;
mod ifd;
mod jpeg;
mod orientation;
mod other;
mod pixels;
mod png;
mod pnm;
mod tga;
mod tiff;
mod webp;
mod ycck;

use image::ImageFormat;
use serde::{Deserialize, Serialize};

use self::exif::Told;
use super::Compat;
use super::compat::either_pillow;
use super::size::OutOfRange;
use super::{Part, Window, array_in};
use crate::sample::{Array, ArraySpec, Buffer, Dim, Dtype, Layout, MAX_SAMPLE_BYTES, Sample, Spec};
use crate::step::{Map, Named, StepError, Unfit};

/// `decode_image`: the pixels of a compressed picture, uint8 or uint16 HWC.
///
/// Reads JPEG, PNG, GIF, BMP, TIFF, WebP, PNM, ICO, TGA and QOI; of several pictures in a file, the
/// first (of an ICO file, the largest). The pixels are those of Pillow 13's `convert(mode)`:
///
/// * `mode = "rgb"` (default): red, green, blue; alpha is dropped, not blended.
/// * `mode = "l"`: one lightness, as `grayscale` makes it of rgb.
/// * `mode = "rgba"`: with alpha, 255 where the file has none.
///
/// CMYK becomes RGB by Pillow's formula, without a colour profile; colour profiles are ignored. A
/// file that ends before its last pixel is an error.
///
/// `bits16` says what becomes of files of more than 8 bits:
///
/// * `high_byte` (default): every value its high byte, on purpose unlike Pillow, which cuts gray
///   off at 255.
/// * `keep`: the picture is uint16, whatever the file has: 8-bit values are multiplied by 257, so
///   that white is 65,535 either way. Lightness is weighted as for 8 bits.
///
/// `orientation` says what becomes of the tag of that name in EXIF or XMP data:
///
/// * `ignore` (default): nothing, as in `Image.open` and torchvision.
/// * `apply`: the picture is turned as `PIL.ImageOps.exif_transpose` does. Values other than 1 to 8
///   mean nothing.
///
/// TIFF's own tag is always applied, as Pillow does.
///
/// `compat = "tensorflow"` makes what `tf.io.decode_image(channels=3)` does: of JPEG, by
/// libjpeg-turbo's fast integer transform, with CMYK rounded down; of GIF, a canvas as large as its
/// largest picture, black where the first one isn't or is transparent. Only with `mode = "rgb"` and 8 bits.
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
    #[serde(default, skip_serializing_if = "Turn::is_default")]
    orientation: Turn,
    #[serde(default, skip_serializing_if = "Bits16::is_default")]
    bits16: Bits16,
    #[serde(
        default,
        deserialize_with = "either_pillow",
        skip_serializing_if = "Compat::is_default"
    )]
    compat: Compat,
}

/// What becomes of an orientation tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Turn {
    #[default]
    Ignore,
    Apply,
}

/// What becomes of values of more than 8 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Bits16 {
    #[default]
    HighByte,
    Keep,
}

impl Turn {
    fn is_default(&self) -> bool {
        *self == Turn::default()
    }
}

impl Bits16 {
    fn is_default(&self) -> bool {
        *self == Bits16::default()
    }

    fn dtype(self) -> Dtype {
        match self {
            Bits16::HighByte => Dtype::Uint8,
            Bits16::Keep => Dtype::Uint16,
        }
    }
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
        let plain = self.orientation == Turn::Ignore && self.bits16 == Bits16::HighByte;
        if plain && Format::of(bytes) == Some(Format::Jpeg) {
            self.fits()?;
            if let Some(part) = jpeg::part(self, bytes, needed)? {
                return Ok((array_in(part)?, (needed.rows.start, needed.columns.start)));
            }
        }
        let picture = array_in(self.made_of(bytes)?)?;
        match picture.picture() {
            Some((height, width, _)) if (height, width) == size => Ok((picture, (0, 0))),
            _ => {
                Err(StepError::Unfit("the header claims another size than the pixels have".into()))
            }
        }
    }

    /// The spec of a decoded picture of this size.
    fn spec_of(&self, height: Dim, width: Dim) -> Spec {
        let channels = Dim::Is(self.mode.channels());
        Spec::Array(ArraySpec::hwc(self.bits16.dtype(), height, width, channels))
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
        if pixels * 4 * self.bits16.dtype().size() as u128 > MAX_SAMPLE_BYTES as u128 {
            return Err(StepError::Limit(format!(
                "a picture of {height} × {width} takes more than {} MiB",
                MAX_SAMPLE_BYTES >> 20
            )));
        }
        Ok(())
    }

    fn array(&self, size: Dimensions) -> Result<Array, StepError> {
        let shape = [size.height, size.width, self.mode.channels()];
        Ok(Array::for_overwrite(self.bits16.dtype(), Layout::Hwc, &shape)?)
    }

    /// A picture of the size that was admitted, its 8-bit values written by `write`.
    fn picture(
        &self,
        size: Dimensions,
        write: impl FnOnce(&mut [u8]) -> Result<(), StepError>,
    ) -> Result<Sample, StepError> {
        let mut array = self.array(size)?;
        if let Some(wide) = array.elements_mut::<u16>() {
            let mut narrow = Buffer::for_overwrite(wide.len());
            write(&mut narrow)?;
            for (wide, narrow) in wide.iter_mut().zip(&*narrow) {
                *wide = u16::from(*narrow) * 257;
            }
        } else {
            write(array.elements_mut().unwrap_or_default())?;
        }
        Ok(Sample::Array(array))
    }

    /// A picture of the size that was admitted, of 8-bit values of `channels`: see
    /// [`pixels::convert`].
    fn narrow(
        &self,
        size: Dimensions,
        channels: usize,
        values: &[u8],
    ) -> Result<Sample, StepError> {
        self.picture(size, |out| {
            pixels::convert(values, channels, self.mode, out);
            Ok(())
        })
    }

    /// The same of 16-bit values.
    fn wide(&self, size: Dimensions, channels: usize, values: &[u16]) -> Result<Sample, StepError> {
        if self.bits16 == Bits16::HighByte {
            let mut high = Buffer::for_overwrite(values.len());
            for (high, value) in high.iter_mut().zip(values) {
                *high = (value >> 8) as u8;
            }
            return self.narrow(size, channels, &high);
        }
        let mut array = self.array(size)?;
        pixels::convert(values, channels, self.mode, array.elements_mut().unwrap_or_default());
        Ok(Sample::Array(array))
    }

    /// Refuses what the library of `compat` hasn't got.
    fn fits(&self) -> Result<(), Unfit> {
        match (self.compat, self.mode, self.bits16) {
            (Compat::Pillow13 | Compat::Pillow12, _, _)
            | (Compat::TensorFlow, Mode::Rgb, Bits16::HighByte) => Ok(()),
            (Compat::TensorFlow, Mode::Rgb, Bits16::Keep) => Err(self
                .compat
                .cannot("bits16 = \"keep\"", "tf.io.decode_image makes uint8 of every format")),
            (Compat::TensorFlow, Mode::L | Mode::Rgba, _) => Err(self.compat.cannot(
                "another mode than \"rgb\"",
                "tf.io.decode_image makes others of some formats only; put `grayscale` after it",
            )),
        }
    }

    fn made_of(&self, bytes: &[u8]) -> Result<Sample, StepError> {
        self.fits()?;
        let Some(format) = Format::of(bytes) else {
            return Err(StepError::Unsupported(unknown(bytes)));
        };
        let stored = self.decode(format, bytes)?;
        match self.orientation {
            Turn::Ignore => Ok(stored),
            Turn::Apply => exif::orientation(format, bytes).unless_told().turn(stored),
        }
    }

    fn decode(&self, format: Format, bytes: &[u8]) -> Result<Sample, StepError> {
        match format {
            Format::Jpeg => jpeg::decode(self, bytes),
            Format::Png => png::decode(self, bytes),
            Format::Gif => gif::decode(self, bytes),
            Format::Bmp => bmp::decode(self, bytes),
            Format::Ico => ico::decode(self, bytes),
            Format::Pnm => pnm::decode(self, bytes),
            Format::Tga => tga::decode(self, bytes),
            Format::Tiff => tiff::decode(self, bytes),
            Format::WebP => webp::decode(self, bytes),
            Format::Qoi => other::decode(self, bytes, "QOI", ImageFormat::Qoi),
        }
    }
}

impl Named for DecodeImage {
    const NAME: &'static str = "decode_image";
    // 2: TIFF is turned as its tag says and its CMYK rounded as in Pillow; of an ICO file, another
    // picture; four-component JPEG with subsampled colours at its edges; hidden colours of WebP.
    const VERSION: u32 = 2;
}

impl Map for DecodeImage {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        match input {
            Spec::Bytes => {
                self.fits()?;
                Ok(self.spec_of(Dim::Varies, Dim::Varies))
            }
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
        self.made_of(&bytes)
    }

    fn probe(&self, head: &[u8]) -> Option<Spec> {
        let format = Format::of(head)?;
        let stored = match format {
            Format::Jpeg => jpeg::size(head),
            Format::Png => png::size(head),
            Format::Gif => gif::size(self, head),
            Format::Bmp => bmp::size(head),
            Format::Ico => ico::size(head),
            Format::Pnm => pnm::size(head),
            Format::Tga => tga::size(head),
            Format::Tiff => tiff::size(head),
            Format::WebP => webp::size(head),
            Format::Qoi => other::size(head, ImageFormat::Qoi),
        }?;
        self.admit(stored).ok()?;
        let size = match self.orientation {
            Turn::Apply if stored.height != stored.width => match exif::orientation(format, head) {
                Told::Is(orientation) => orientation.turned(stored),
                Told::NotYet => return None,
            },
            Turn::Apply | Turn::Ignore => stored,
        };
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
    Bmp,
    Ico,
    Pnm,
    Tga,
    Tiff,
    WebP,
    Qoi,
}

impl Format {
    /// The format, by the first bytes.
    fn of(bytes: &[u8]) -> Option<Format> {
        if ifd::is_tiff(bytes) {
            return Some(Format::Tiff);
        }
        match image::guess_format(bytes) {
            Ok(ImageFormat::Jpeg) => Some(Format::Jpeg),
            Ok(ImageFormat::Png) => Some(Format::Png),
            Ok(ImageFormat::Gif) => Some(Format::Gif),
            Ok(ImageFormat::Bmp) => Some(Format::Bmp),
            Ok(ImageFormat::Ico) => Some(Format::Ico),
            Ok(ImageFormat::Pnm) => Some(Format::Pnm),
            Ok(ImageFormat::Qoi) => Some(Format::Qoi),
            Ok(ImageFormat::WebP) => Some(Format::WebP),
            // The only one without a mark at its start.
            _ => tga::is_tga(bytes).then_some(Format::Tga),
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
    fn what_tensorflow_has_not_is_refused_before_any_file() {
        let spec = |text: &str| step(text).spec(&Spec::Bytes);
        assert!(spec(r#"{"compat": "tensorflow"}"#).is_ok());
        let error = spec(r#"{"compat": "tensorflow", "mode": "l"}"#).unwrap_err().to_string();
        assert!(error.starts_with("can't do another mode than \"rgb\" with compat"), "{error}");
        assert!(spec(r#"{"compat": "tensorflow", "bits16": "keep"}"#).is_err());
        let kept = spec(r#"{"bits16": "keep", "mode": "l"}"#).unwrap();
        assert_eq!(kept.to_string(), "uint16 [H, W, 1]");
    }

    #[test]
    fn parameters_have_their_defaults_written_out() {
        let text = serde_json::to_string(&step("{}")).unwrap();
        assert_eq!(text, r#"{"mode":"rgb","max_pixels":178956970}"#);
        let plain = r#"{"orientation": "ignore", "bits16": "high_byte", "compat": "pillow-12"}"#;
        assert_eq!(serde_json::to_string(&step(plain)).unwrap(), text);
        assert!(serde_json::from_str::<DecodeImage>(r#"{"mode": "cmyk"}"#).is_err());
        assert!(serde_json::from_str::<DecodeImage>(r#"{"max_pixels": 0}"#).is_err());
    }
}
