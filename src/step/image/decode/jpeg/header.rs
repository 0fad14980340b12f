//! What stands before the entropy-coded data of a baseline file (ITU-T T.81, annex B).
//!
//! It takes only what the fast decoder can do and what no decoder would warn about. It says no
//! reason when it declines: the general decoder reads such files, and words their errors.

use super::baseline::Declined;
use crate::step::image::decode::Dimensions;

/// The frame, its one scan, and the tables that the scan uses.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) size: Dimensions,
    pub(super) sampling: Sampling,
    /// One component, or three: Y, Cb, Cr.
    pub(super) components: Vec<Component<'a>>,
    /// MCUs between restart markers; 0 if there are none.
    pub(super) restart_interval: usize,
    /// Where the entropy-coded data starts.
    pub(super) data: usize,
}

/// How many samples of luma stand on one of chroma, across and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sampling {
    pub(super) across: usize,
    pub(super) down: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Component<'a> {
    /// Row by row, with the bits of unsigned numbers.
    pub(super) quantization: [i16; 64],
    pub(super) dc: Code<'a>,
    pub(super) ac: Code<'a>,
}

/// A Huffman code as a file defines it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code<'a> {
    /// How many codes there are of 1, 2, … 16 bits.
    pub(super) counts: &'a [u8; 16],
    /// Their symbols, in order.
    pub(super) symbols: &'a [u8],
}

/// The place in a block, row by row, of the coefficients in the order of the file.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

#[derive(Clone, Copy)]
struct FrameComponent {
    id: u8,
    factors: u8,
    quantization: usize,
}

#[derive(Default)]
struct Tables<'a> {
    quantization: [Option<[i16; 64]>; 4],
    dc: [Option<Code<'a>>; 4],
    ac: [Option<Code<'a>>; 4],
    restart_interval: usize,
    jfif: bool,
    adobe: Option<u8>,
}

impl<'a> Header<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Header<'a>, Declined> {
        let mut tables = Tables::default();
        let mut frame: Option<(Dimensions, Vec<FrameComponent>)> = None;
        let mut at = match bytes {
            [0xff, 0xd8, ..] => 2,
            _ => return Err(Declined),
        };
        loop {
            let rest = bytes.get(at..).ok_or(Declined)?;
            let &[0xff, marker, length_1, length_0, ..] = rest else { return Err(Declined) };
            let length = usize::from(u16::from_be_bytes([length_1, length_0]));
            let segment = rest.get(4..2 + length).ok_or(Declined)?;
            at += 2 + length;
            match marker {
                0xc0 | 0xc1 if frame.is_none() => frame = Some(read_frame(segment)?),
                0xc4 => tables.read_codes(segment)?,
                0xda => {
                    let (size, components) = frame.ok_or(Declined)?;
                    return tables.scan(size, &components, segment, at);
                }
                0xdb => tables.read_quantization(segment)?,
                0xdd => match segment {
                    &[high, low] => {
                        tables.restart_interval = usize::from(u16::from_be_bytes([high, low]));
                    }
                    _ => return Err(Declined),
                },
                0xe0 => tables.jfif |= segment.len() >= 14 && segment.starts_with(b"JFIF\0"),
                0xee if segment.len() >= 12 && segment.starts_with(b"Adobe") => {
                    tables.adobe = Some(segment[11]);
                }
                0xe1..=0xef | 0xfe => {}
                _ => return Err(Declined),
            }
        }
    }
}

fn read_frame(segment: &[u8]) -> Result<(Dimensions, Vec<FrameComponent>), Declined> {
    let &[8, h1, h0, w1, w0, count, ref specs @ ..] = segment else { return Err(Declined) };
    let height = usize::from(u16::from_be_bytes([h1, h0]));
    let width = usize::from(u16::from_be_bytes([w1, w0]));
    if height == 0 || width == 0 || specs.len() != 3 * usize::from(count) {
        return Err(Declined);
    }
    let components = specs
        .chunks_exact(3)
        .map(|spec| FrameComponent {
            id: spec[0],
            factors: spec[1],
            quantization: usize::from(spec[2]),
        })
        .collect();
    Ok((Dimensions { height, width }, components))
}

impl<'a> Tables<'a> {
    fn read_quantization(&mut self, mut segment: &'a [u8]) -> Result<(), Declined> {
        while let [kind, rest @ ..] = segment {
            let wide = match kind >> 4 {
                0 => false,
                1 => true,
                _ => return Err(Declined),
            };
            let bytes = if wide { 128 } else { 64 };
            let (values, rest) = rest.split_at_checked(bytes).ok_or(Declined)?;
            let table = self.quantization.get_mut(usize::from(kind & 15)).ok_or(Declined)?;
            let table = table.insert([0; 64]);
            for (i, place) in ZIGZAG.iter().enumerate() {
                table[usize::from(*place)] = if wide {
                    i16::from_be_bytes([values[2 * i], values[2 * i + 1]])
                } else {
                    i16::from(values[i])
                };
            }
            segment = rest;
        }
        Ok(())
    }

    fn read_codes(&mut self, mut segment: &'a [u8]) -> Result<(), Declined> {
        while let [kind, rest @ ..] = segment {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or(Declined)?;
            let total = counts.iter().map(|count| usize::from(*count)).sum();
            let (symbols, rest) = rest.split_at_checked(total).ok_or(Declined)?;
            let tables = match kind >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(Declined),
            };
            let table = tables.get_mut(usize::from(kind & 15)).ok_or(Declined)?;
            *table = Some(Code { counts, symbols });
            segment = rest;
        }
        Ok(())
    }

    /// The one scan with all components, if the segment says that.
    fn scan(
        &self,
        size: Dimensions,
        frame: &[FrameComponent],
        segment: &[u8],
        data: usize,
    ) -> Result<Header<'a>, Declined> {
        let sampling = self.sampling(frame)?;
        let (count, specs) = segment.split_first().ok_or(Declined)?;
        if usize::from(*count) != frame.len() || specs.len() != 2 * frame.len() + 3 {
            return Err(Declined);
        }
        let (specs, spectrum) = specs.split_at(2 * frame.len());
        if spectrum != [0, 63, 0] {
            return Err(Declined);
        }
        let of = |tables: &[Option<Code<'a>>; 4], id: u8| {
            tables.get(usize::from(id)).copied().flatten().ok_or(Declined)
        };
        let components = frame.iter().zip(specs.chunks_exact(2)).map(|(component, spec)| {
            if spec[0] != component.id {
                return Err(Declined);
            }
            let quantization = self.quantization.get(component.quantization);
            Ok(Component {
                quantization: quantization.copied().flatten().ok_or(Declined)?,
                dc: of(&self.dc, spec[1] >> 4)?,
                ac: of(&self.ac, spec[1] & 15)?,
            })
        });
        Ok(Header {
            size,
            sampling,
            components: components.collect::<Result<_, _>>()?,
            restart_interval: self.restart_interval,
            data,
        })
    }

    /// How chroma is sampled, if it is chroma by libjpeg's rules, and in a way that is supported.
    fn sampling(&self, frame: &[FrameComponent]) -> Result<Sampling, Declined> {
        match frame {
            // A scan of one component has one block in an MCU, whatever its factors say.
            [one] if matches!(one.factors >> 4, 1..=4) && matches!(one.factors & 15, 1..=4) => {
                Ok(Sampling { across: 1, down: 1 })
            }
            [y, cb, cr] if cb.factors == 0x11 && cr.factors == 0x11 => {
                let chroma = match self.adobe {
                    _ if self.jfif => true,
                    Some(transform) => transform == 1,
                    None => [y.id, cb.id, cr.id] != *b"RGB",
                };
                let distinct = y.id != cb.id && cb.id != cr.id && cr.id != y.id;
                let sampled = matches!(y.factors, 0x11 | 0x21 | 0x12 | 0x22);
                if !chroma || !distinct || !sampled {
                    return Err(Declined);
                }
                Ok(Sampling {
                    across: usize::from(y.factors >> 4),
                    down: usize::from(y.factors & 15),
                })
            }
            _ => Err(Declined),
        }
    }
}
