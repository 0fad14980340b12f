//! How a payload is compressed where it is stored. Lossless, and the length is told beside.
//!
//! A codec knows bytes only: neither what they mean nor where they lie.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use super::{Buffer, MAX_SAMPLE_BYTES};

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As it is.
    None,
    /// LZ4, block format.
    Lz4,
    /// Zstandard at a level from 1 to 19.
    Zstd(u8),
}

/// What a codec can be called.
pub const CODECS: &str = "`none`, `lz4`, `zstd` or `zstd:1` to `zstd:19`";

/// The level of a plain `zstd`.
const ZSTD_LEVEL: u8 = 3;

/// The compressed bytes don't decompress to what was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {0} data of the told length")]
pub struct BadData(Codec);

thread_local! {
    // A context is 100 KB to several MB that would otherwise be made and cleared for each sample.
    static ZSTD: RefCell<Zstd> = const { RefCell::new(Zstd { compressor: None, decompressor: None }) };
}

struct Zstd {
    compressor: Option<(u8, zstd::bulk::Compressor<'static>)>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Codec {
    /// `bytes` compressed, or `None` if that would not be smaller: store them as they are then.
    pub fn compress(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let packed = match self {
            Codec::None => return None,
            Codec::Lz4 => lz4_flex::block::compress(bytes),
            Codec::Zstd(level) => ZSTD.with_borrow_mut(|zstd| {
                if zstd.compressor.as_ref().is_none_or(|(current, _)| *current != level) {
                    let fresh = zstd::bulk::Compressor::new(i32::from(level)).ok()?;
                    zstd.compressor = Some((level, fresh));
                }
                zstd.compressor.as_mut()?.1.compress(bytes).ok()
            })?,
        };
        (packed.len() < bytes.len()).then_some(packed)
    }

    /// The `len` bytes that were compressed to `packed`.
    ///
    /// # Errors
    /// If `packed` isn't that: it is treated as hostile.
    pub fn decompress(self, packed: Buffer, len: usize) -> Result<Buffer, BadData> {
        if len > MAX_SAMPLE_BYTES {
            return Err(BadData(self));
        }
        let done = match self {
            Codec::None => {
                return if packed.len() == len { Ok(packed) } else { Err(BadData(self)) };
            }
            Codec::Lz4 => {
                let mut bytes = Buffer::for_overwrite(len);
                let got = lz4_flex::block::decompress_into(&packed, &mut bytes).ok();
                got.filter(|got| *got == len).map(|_| bytes)
            }
            Codec::Zstd(_) => ZSTD.with_borrow_mut(|zstd| {
                if zstd.decompressor.is_none() {
                    zstd.decompressor = zstd::bulk::Decompressor::new().ok();
                }
                let mut bytes = Buffer::for_overwrite(len);
                let got =
                    zstd.decompressor.as_mut()?.decompress_to_buffer(&packed, &mut *bytes).ok();
                got.filter(|got| *got == len).map(|_| bytes)
            }),
        };
        done.ok_or(BadData(self))
    }

    /// Kind and level, as stored.
    pub(super) const fn wire(self) -> [u8; 2] {
        match self {
            Codec::None => [0, 0],
            Codec::Lz4 => [1, 0],
            Codec::Zstd(level) => [2, level],
        }
    }

    pub(super) const fn from_wire(wire: [u8; 2]) -> Option<Codec> {
        match wire {
            [0, 0] => Some(Codec::None),
            [1, 0] => Some(Codec::Lz4),
            [2, level @ 1..=19] => Some(Codec::Zstd(level)),
            _ => None,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Codec::None => f.pad("none"),
            Codec::Lz4 => f.pad("lz4"),
            Codec::Zstd(level) => f.pad(&format!("zstd:{level}")),
        }
    }
}

impl FromStr for Codec {
    type Err = String;

    fn from_str(text: &str) -> Result<Codec, String> {
        let codec = match text.split_once(':') {
            None if text == "none" => Some(Codec::None),
            None if text == "lz4" => Some(Codec::Lz4),
            None if text == "zstd" => Some(Codec::Zstd(ZSTD_LEVEL)),
            Some(("zstd", level)) => {
                level.parse().ok().filter(|level| (1..=19).contains(level)).map(Codec::Zstd)
            }
            _ => None,
        };
        codec.ok_or_else(|| format!("unknown codec `{text}`: it is one of {CODECS}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1), Codec::Zstd(19)] {
            assert_eq!(codec.to_string().parse(), Ok(codec));
            assert_eq!(Codec::from_wire(codec.wire()), Some(codec));
        }
        for bad in ["", "zstd:0", "zstd:20", "gzip", "lz4:1", "zstd:"] {
            assert!(bad.parse::<Codec>().unwrap_err().contains("it is one of"), "{bad}");
        }
    }

    #[test]
    fn bytes_come_back_and_noise_is_not_made_longer() {
        let smooth: Vec<u8> = (0..50_000_u32).map(|i| (i / 100) as u8).collect();
        for codec in [Codec::Lz4, Codec::Zstd(1), Codec::Zstd(9), Codec::Zstd(3)] {
            let packed = codec.compress(&smooth).unwrap();
            assert!(packed.len() < smooth.len() / 4);
            let back = codec.decompress(Buffer::copy_of(&packed), smooth.len()).unwrap();
            assert_eq!(&*back, smooth);
            for wrong in [smooth.len() - 1, smooth.len() + 1, usize::MAX] {
                assert!(codec.decompress(Buffer::copy_of(&packed), wrong).is_err());
            }
            let torn = Buffer::copy_of(&packed[..packed.len() / 2]);
            assert!(codec.decompress(torn, smooth.len()).is_err());
            assert_eq!(codec.compress(&[7, 1, 250]), None);
        }
    }
}
