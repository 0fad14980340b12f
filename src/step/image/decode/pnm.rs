//! PNM: PBM, PGM and PPM as text or bytes, and PAM.
//!
//! From Netpbm's descriptions of the formats, read as Pillow's `PpmImagePlugin.py` does: values are
//! rounded to 8 bits by their largest one, halves to even. Gray of more than 8 bits is brought to
//! 16 and then has a high byte; colours are brought to 8 at once.

use super::{Bits16, DecodeImage, Dimensions};
use crate::sample::{Buffer, Sample};
use crate::step::StepError;

pub(super) fn decode(step: &DecodeImage, bytes: &[u8]) -> Result<Sample, StepError> {
    let (header, rest) = Header::read(bytes).ok_or_else(|| malformed("its header is broken"))?;
    step.admit(header.size)?;
    if !(1..=4).contains(&header.channels) {
        return Err(StepError::Unsupported(format!("PAM of {} channels", header.channels)));
    }
    let wide = header.most > 255 && (header.channels <= 2 || step.bits16 == Bits16::Keep);
    let scale = f64::from(if wide { u16::MAX } else { u16::from(u8::MAX) });
    let most = f64::from(header.most);
    let scaled = |value: u32| (f64::from(value) / most * scale).round_ties_even().min(scale) as u16;
    let mut values = Values::of(&header, rest);
    let length = header.size.height * header.size.width * header.channels;
    if wide {
        let mut out = Buffer::for_overwrite(2 * length);
        for out in bytemuck::cast_slice_mut::<u8, u16>(&mut out) {
            *out = scaled(values.next()?);
        }
        return step.wide(header.size, header.channels, bytemuck::cast_slice(&out));
    }
    let mut out = Buffer::for_overwrite(length);
    if header.most == 255 && header.form == Form::Bytes {
        out.copy_from_slice(rest.get(..length).ok_or_else(ends)?);
    } else {
        for out in &mut *out {
            *out = scaled(values.next()?) as u8;
        }
    }
    step.narrow(header.size, header.channels, &out)
}

/// The size in the header.
pub(super) fn size(head: &[u8]) -> Option<Dimensions> {
    Header::read(head).map(|(header, _)| header.size)
}

fn malformed(cause: &str) -> StepError {
    StepError::Malformed { format: "PNM", cause: cause.to_owned() }
}

fn ends() -> StepError {
    malformed("it ends before its last pixel")
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As numbers, 0 white in a bitmap.
    Text,
    /// Digits that need nothing between them.
    TextBits,
    /// One or two bytes each.
    Bytes,
    /// Eight to a byte, each row from a new one.
    Bits,
}

struct Header {
    form: Form,
    size: Dimensions,
    channels: usize,
    most: u16,
}

impl Header {
    /// The header and what is after it; `None` if it isn't whole.
    fn read(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let (form, channels) = match bytes.get(..2)? {
            b"P1" => (Form::TextBits, 1),
            b"P2" => (Form::Text, 1),
            b"P3" => (Form::Text, 3),
            b"P4" => (Form::Bits, 1),
            b"P5" => (Form::Bytes, 1),
            b"P6" => (Form::Bytes, 3),
            b"P7" => return Header::read_pam(&bytes[2..]),
            _ => return None,
        };
        let mut tokens = Tokens(&bytes[2..]);
        let width = tokens.number()?;
        let height = tokens.number()?;
        let most = match form {
            Form::TextBits | Form::Bits => 1,
            Form::Text | Form::Bytes => tokens.number()?,
        };
        let size = Dimensions { height, width };
        let most = u16::try_from(most).ok().filter(|most| *most > 0)?;
        Some((Header { form, size, channels, most }, tokens.0))
    }

    fn read_pam(bytes: &[u8]) -> Option<(Header, &[u8])> {
        let mut size = Dimensions { height: 0, width: 0 };
        let (mut channels, mut most) = (0, 0);
        let mut rest = bytes;
        loop {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let line = std::str::from_utf8(&rest[..end]).ok()?;
            rest = &rest[end + 1..];
            let (key, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match key {
                "WIDTH" => size.width = value.trim().parse().ok()?,
                "HEIGHT" => size.height = value.trim().parse().ok()?,
                "DEPTH" => channels = value.trim().parse().ok()?,
                "MAXVAL" => most = value.trim().parse().ok()?,
                "ENDHDR" if most > 0 => {
                    return Some((Header { form: Form::Bytes, size, channels, most }, rest));
                }
                "ENDHDR" => return None,
                _ => {}
            }
        }
    }
}

/// Words with white space and comments between them.
struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    /// Goes to the start of the next word.
    fn skip(&mut self) -> Option<()> {
        loop {
            let start = self.0.iter().position(|byte| !is_space(*byte))?;
            self.0 = &self.0[start..];
            if self.0.first() != Some(&b'#') {
                return Some(());
            }
            let end = self.0.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
            self.0 = &self.0[end..];
        }
    }

    /// The next word, and whether something comes after it: if it is white space, one is taken.
    fn word(&mut self) -> Option<(&'a [u8], bool)> {
        self.skip()?;
        let end = self.0.iter().position(|byte| is_space(*byte) || *byte == b'#');
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = if rest.first() == Some(&b'#') { rest } else { rest.get(1..).unwrap_or_default() };
        Some((word, end.is_some()))
    }

    /// A number of a header; none if the end of the bytes may have cut it.
    fn number(&mut self) -> Option<usize> {
        let (word, ended) = self.word()?;
        let number = std::str::from_utf8(word).ok()?.parse().ok()?;
        ended.then_some(number)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The values of a picture, one after the other.
struct Values<'a> {
    form: Form,
    most: u16,
    width: usize,
    rest: &'a [u8],
    column: usize,
}

impl<'a> Values<'a> {
    fn of(header: &Header, rest: &'a [u8]) -> Values<'a> {
        Values { form: header.form, most: header.most, width: header.size.width, rest, column: 0 }
    }

    fn next(&mut self) -> Result<u32, StepError> {
        match self.form {
            Form::Bytes if self.most > 255 => {
                let (value, rest) = self.rest.split_first_chunk().ok_or_else(ends)?;
                self.rest = rest;
                Ok(u32::from(u16::from_be_bytes(*value)))
            }
            Form::Bytes => {
                let (value, rest) = self.rest.split_first().ok_or_else(ends)?;
                self.rest = rest;
                Ok(u32::from(*value))
            }
            Form::Bits => {
                let byte = *self.rest.get(self.column / 8).ok_or_else(ends)?;
                let ink = byte >> (7 - self.column % 8) & 1;
                self.column += 1;
                if self.column == self.width {
                    self.rest = &self.rest[self.width.div_ceil(8)..];
                    self.column = 0;
                }
                Ok(u32::from(1 - ink))
            }
            Form::TextBits => {
                let mut words = Tokens(self.rest);
                words.skip().ok_or_else(ends)?;
                let (digit, rest) = words.0.split_first().ok_or_else(ends)?;
                self.rest = rest;
                match digit {
                    b'0' => Ok(1),
                    b'1' => Ok(0),
                    _ => Err(malformed("a bit is neither 0 nor 1")),
                }
            }
            Form::Text => {
                let mut words = Tokens(self.rest);
                let (word, _) = words.word().ok_or_else(ends)?;
                self.rest = words.0;
                let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                let value = value.filter(|value| *value <= u32::from(self.most));
                value.ok_or_else(|| malformed("a value is no number up to the largest one"))
            }
        }
    }
}
