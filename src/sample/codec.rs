//! How a payload is compressed where it is stored. Lossless, and the length is told beside.
//!
//! Of a sample it knows at most that it is a picture and how large; not where its bytes lie.

mod picture;
mod shuffle;

use std::cell::RefCell;
use std::fmt;
use std::io::{Read, Write};
use std::str::FromStr;

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use self::picture::Grid;
use self::shuffle::{shuffle, unshuffle, width};
use super::{Buffer, MAX_SAMPLE_BYTES, Spec};

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As it is.
    None,
    /// LZ4, block format.
    Lz4,
    /// Zstandard at a level from 1 to 19.
    Zstd(u8),
    /// 8-bit pictures: a filter that takes out what neighbouring channels and rows have in common,
    /// then Zstandard at a level from 1 to 19. Anything else: Zstandard alone.
    Picture(u8),
    /// Gzip (RFC 1952) at a level from 1 to 9. Zstandard is faster and smaller: this is to compare.
    Gzip(u8),
    /// Zlib (RFC 1950) at a level from 1 to 9; likewise.
    Zlib(u8),
    /// Arrays of elements of several bytes: the bytes of a place in each element put together, then
    /// Zstandard at a level from 1 to 19. Anything else: Zstandard alone.
    Shuffle(u8),
}

/// What a codec can be called.
pub const CODECS: &str = "`none`, `lz4`, `zstd`, `zstd:1` to `zstd:19`, `picture`, `picture:1` to \
                          `picture:19`, `shuffle`, `shuffle:1` to `shuffle:19`, `gzip`, `gzip:1` to \
                          `gzip:9`, `zlib` or `zlib:1` to `zlib:9`";

/// The level of a plain `zstd`.
const ZSTD_LEVEL: u8 = 3;

/// The level of a plain `picture`: after the filter, higher ones are slower and not smaller.
const PICTURE_LEVEL: u8 = 1;

/// The level of a plain `shuffle`: the filter has left little for higher ones to find.
const SHUFFLE_LEVEL: u8 = 1;

/// The level of a plain `gzip` or `zlib`, as the programs have it.
const DEFLATE_LEVEL: u8 = 6;

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
    /// The bytes of a sample of this spec compressed, and by which codec; `None` if that would not
    /// be smaller: store them as they are then.
    pub fn compress(self, bytes: &[u8], spec: &Spec) -> Option<(Codec, Vec<u8>)> {
        let (codec, packed) = match self {
            Codec::None => return None,
            Codec::Lz4 => (self, lz4_flex::block::compress(bytes)),
            Codec::Zstd(level) => (self, zstd(level, bytes)?),
            Codec::Picture(level) => {
                match Grid::of(spec).filter(|grid| grid.bytes() == bytes.len()) {
                    Some(grid) => (self, zstd(level, &grid.filter(bytes))?),
                    None => (Codec::Zstd(level), zstd(level, bytes)?),
                }
            }
            Codec::Gzip(level) => {
                let mut packer = GzEncoder::new(Vec::new(), Compression::new(level.into()));
                packer.write_all(bytes).ok()?;
                (self, packer.finish().ok()?)
            }
            Codec::Zlib(level) => {
                let mut packer = ZlibEncoder::new(Vec::new(), Compression::new(level.into()));
                packer.write_all(bytes).ok()?;
                (self, packer.finish().ok()?)
            }
            Codec::Shuffle(level) => match width(spec) {
                Some(width) => (self, zstd(level, &shuffle(bytes, width))?),
                None => (Codec::Zstd(level), zstd(level, bytes)?),
            },
        };
        (packed.len() < bytes.len()).then_some((codec, packed))
    }

    /// The `len` bytes of a sample of this spec that were compressed to `packed`.
    ///
    /// # Errors
    /// If `packed` isn't that: it is treated as hostile.
    pub fn decompress(self, packed: Buffer, len: usize, spec: &Spec) -> Result<Buffer, BadData> {
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
            Codec::Zstd(_) => unzstd(&packed, len),
            Codec::Picture(_) => Grid::of(spec)
                .filter(|grid| grid.bytes() == len)
                .and_then(|grid| unzstd(&packed, len).map(|planes| grid.unfilter(planes))),
            Codec::Gzip(_) => inflated(GzDecoder::new(&packed[..]), len),
            Codec::Zlib(_) => inflated(ZlibDecoder::new(&packed[..]), len),
            Codec::Shuffle(_) => width(spec)
                .and_then(|width| unzstd(&packed, len).map(|apart| unshuffle(&apart, width))),
        };
        done.ok_or(BadData(self))
    }

    /// Kind and level, as stored.
    pub(super) const fn wire(self) -> [u8; 2] {
        match self {
            Codec::None => [0, 0],
            Codec::Lz4 => [1, 0],
            Codec::Zstd(level) => [2, level],
            Codec::Picture(level) => [3, level],
            Codec::Gzip(level) => [4, level],
            Codec::Zlib(level) => [5, level],
            Codec::Shuffle(level) => [6, level],
        }
    }

    pub(super) const fn from_wire(wire: [u8; 2]) -> Option<Codec> {
        match wire {
            [0, 0] => Some(Codec::None),
            [1, 0] => Some(Codec::Lz4),
            [2, level @ 1..=19] => Some(Codec::Zstd(level)),
            [3, level @ 1..=19] => Some(Codec::Picture(level)),
            [4, level @ 1..=9] => Some(Codec::Gzip(level)),
            [5, level @ 1..=9] => Some(Codec::Zlib(level)),
            [6, level @ 1..=19] => Some(Codec::Shuffle(level)),
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
            Codec::Picture(level) => f.pad(&format!("picture:{level}")),
            Codec::Gzip(level) => f.pad(&format!("gzip:{level}")),
            Codec::Zlib(level) => f.pad(&format!("zlib:{level}")),
            Codec::Shuffle(level) => f.pad(&format!("shuffle:{level}")),
        }
    }
}

impl FromStr for Codec {
    type Err = String;

    fn from_str(text: &str) -> Result<Codec, String> {
        let up_to =
            |most: u8, level: &str| level.parse().ok().filter(|level| (1..=most).contains(level));
        let leveled = |level: &str| up_to(19, level);
        let codec = match text.split_once(':') {
            None if text == "none" => Some(Codec::None),
            None if text == "lz4" => Some(Codec::Lz4),
            None if text == "zstd" => Some(Codec::Zstd(ZSTD_LEVEL)),
            None if text == "picture" => Some(Codec::Picture(PICTURE_LEVEL)),
            None if text == "gzip" => Some(Codec::Gzip(DEFLATE_LEVEL)),
            None if text == "zlib" => Some(Codec::Zlib(DEFLATE_LEVEL)),
            None if text == "shuffle" => Some(Codec::Shuffle(SHUFFLE_LEVEL)),
            Some(("gzip", level)) => up_to(9, level).map(Codec::Gzip),
            Some(("zlib", level)) => up_to(9, level).map(Codec::Zlib),
            Some(("shuffle", level)) => leveled(level).map(Codec::Shuffle),
            Some(("zstd", level)) => leveled(level).map(Codec::Zstd),
            Some(("picture", level)) => leveled(level).map(Codec::Picture),
            _ => None,
        };
        codec.ok_or_else(|| format!("unknown codec `{text}`: it is one of {CODECS}"))
    }
}

fn zstd(level: u8, bytes: &[u8]) -> Option<Vec<u8>> {
    ZSTD.with_borrow_mut(|zstd| {
        if zstd.compressor.as_ref().is_none_or(|(current, _)| *current != level) {
            let fresh = zstd::bulk::Compressor::new(i32::from(level)).ok()?;
            zstd.compressor = Some((level, fresh));
        }
        zstd.compressor.as_mut()?.1.compress(bytes).ok()
    })
}

fn unzstd(packed: &[u8], len: usize) -> Option<Buffer> {
    ZSTD.with_borrow_mut(|zstd| {
        if zstd.decompressor.is_none() {
            zstd.decompressor = zstd::bulk::Decompressor::new().ok();
        }
        let mut bytes = Buffer::for_overwrite(len);
        let got = zstd.decompressor.as_mut()?.decompress_to_buffer(packed, &mut *bytes).ok();
        got.filter(|got| *got == len).map(|_| bytes)
    })
}

/// All that a stream inflates to, if that is `len` bytes; its own checksum is checked at the end.
fn inflated(mut stream: impl Read, len: usize) -> Option<Buffer> {
    let mut bytes = Buffer::for_overwrite(len);
    stream.read_exact(&mut bytes).ok()?;
    (stream.read(&mut [0]).ok()? == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ArraySpec, Dim, Dtype};

    #[test]
    fn names_read_back() {
        for codec in [
            Codec::None,
            Codec::Lz4,
            Codec::Zstd(1),
            Codec::Zstd(19),
            Codec::Picture(1),
            Codec::Picture(19),
            Codec::Gzip(1),
            Codec::Zlib(9),
            Codec::Shuffle(19),
        ] {
            assert_eq!(codec.to_string().parse(), Ok(codec));
            assert_eq!(Codec::from_wire(codec.wire()), Some(codec));
        }
        assert_eq!("picture".parse(), Ok(Codec::Picture(1)));
        assert_eq!("gzip".parse(), Ok(Codec::Gzip(6)));
        assert_eq!("shuffle".parse(), Ok(Codec::Shuffle(1)));
        for bad in [
            "",
            "zstd:0",
            "zstd:20",
            "gzip:10",
            "zlib:0",
            "shuffle:20",
            "bzip2",
            "lz4:1",
            "zstd:",
            "picture:0",
        ] {
            assert!(bad.parse::<Codec>().unwrap_err().contains("it is one of"), "{bad}");
        }
    }

    fn picture(height: usize, width: usize) -> Spec {
        let (height, width) = (Dim::Is(height), Dim::Is(width));
        Spec::Array(ArraySpec::hwc(Dtype::Uint8, height, width, Dim::Is(1)))
    }

    #[test]
    fn bytes_come_back_and_noise_is_not_made_longer() {
        let smooth: Vec<u8> = (0..50_000_u32).map(|i| (i / 100) as u8).collect();
        let wide =
            Spec::Array(ArraySpec::hwc(Dtype::Float32, Dim::Is(50), Dim::Is(250), Dim::Is(1)));
        let specs = [Spec::Bytes, picture(250, 200), picture(1, 50_000), wide];
        let codecs = [
            Codec::Lz4,
            Codec::Zstd(1),
            Codec::Zstd(9),
            Codec::Zstd(3),
            Codec::Picture(1),
            Codec::Gzip(6),
            Codec::Zlib(1),
            Codec::Shuffle(1),
        ];
        for (codec, spec) in
            codecs.into_iter().flat_map(|codec| specs.iter().map(move |s| (codec, s)))
        {
            let (used, packed) = codec.compress(&smooth, spec).unwrap();
            assert!(packed.len() < smooth.len() / 4);
            let back = used.decompress(Buffer::copy_of(&packed), smooth.len(), spec).unwrap();
            assert_eq!(&*back, smooth);
            for wrong in [smooth.len() - 1, smooth.len() + 1, usize::MAX] {
                assert!(used.decompress(Buffer::copy_of(&packed), wrong, spec).is_err());
            }
            let torn = Buffer::copy_of(&packed[..packed.len() / 2]);
            assert!(used.decompress(torn, smooth.len(), spec).is_err());
            assert_eq!(codec.compress(&[7, 1, 250], spec), None);
        }
    }

    #[test]
    fn floats_of_few_values_pack_better_apart() {
        let floats: Vec<u8> = (0..20_000_u32)
            .flat_map(|at| (((at * at) % 251) as f32 / 127.5 - 1.0).to_le_bytes())
            .collect();
        let (height, width) = (Dim::Is(100), Dim::Is(200));
        let spec = Spec::Array(ArraySpec::hwc(Dtype::Float32, height, width, Dim::Is(1)));
        let (used, packed) = Codec::Shuffle(1).compress(&floats, &spec).unwrap();
        assert_eq!(used, Codec::Shuffle(1));
        let back = used.decompress(Buffer::copy_of(&packed), floats.len(), &spec).unwrap();
        assert_eq!(&*back, floats);
        let zeros = [0; 5000];
        assert_eq!(
            Codec::Shuffle(1).compress(&zeros, &picture(50, 100)).unwrap().0,
            Codec::Zstd(1)
        );
    }

    #[test]
    fn what_is_no_picture_is_compressed_without_the_filter() {
        let smooth = vec![7; 5000];
        let picture = picture(50, 100);
        let used = |spec: &Spec| Codec::Picture(1).compress(&smooth, spec).unwrap().0;
        assert_eq!(used(&picture), Codec::Picture(1));
        assert_eq!(used(&Spec::Bytes), Codec::Zstd(1));
        let packed = Codec::Picture(1).compress(&smooth, &picture).unwrap().1;
        let packed = Buffer::copy_of(&packed);
        assert!(Codec::Picture(1).decompress(packed, smooth.len(), &Spec::Bytes).is_err());
    }
}
