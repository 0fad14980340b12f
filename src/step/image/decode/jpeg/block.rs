//! The coefficients of one block, out of the bits.
//!
//! Both functions take the same bits; `skip` keeps none of the coefficients.

use super::baseline::Declined;
use super::bits::{Bits, Window};
use super::header::ZIGZAG;
use super::huffman::{LOOKUP_BITS, Table};

// What `decode` takes of 56 bits: three looked-up numbers, a looked-up code and its number.
const _: () = assert!(4 * LOOKUP_BITS + 15 <= 56);

/// Coefficients, row by row.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Block(pub(super) [i16; 64]);

/// The codes of one component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes<'a> {
    pub(super) dc: &'a Table,
    pub(super) ac: &'a Table,
}

/// `ZIGZAG`, and room for a run of zeros that goes beyond the block.
const PLACES: [u8; 128] = {
    let mut places = [63; 128];
    let mut i = 0;
    while i < 64 {
        places[i] = ZIGZAG[i];
        i += 1;
    }
    places
};

/// Reads a block into `block`, which has to be all zeros. `dc` is that of the block before, and
/// then of this one. Returns the place of the last coefficient in the order of the file.
#[inline(always)]
pub(super) fn read(
    bits: &mut Bits,
    window: &Window,
    codes: Codes<'_>,
    dc: &mut i16,
    block: &mut Block,
) -> Result<usize, Declined> {
    decode(bits, window, codes, dc, |at, value| {
        block.0[usize::from(PLACES[at & 127] & 63)] = value;
    })
}

/// Reads past a block. `dc` is that of the block before, and then of this one.
#[inline(always)]
pub(super) fn skip(
    bits: &mut Bits,
    window: &Window,
    codes: Codes<'_>,
    dc: &mut i16,
) -> Result<(), Declined> {
    decode(bits, window, codes, dc, |_, _| {}).map(|_| ())
}

#[inline(always)]
fn decode(
    bits: &mut Bits,
    window: &Window,
    codes: Codes<'_>,
    dc: &mut i16,
    mut put: impl FnMut(usize, i16),
) -> Result<usize, Declined> {
    bits.refill(window);
    let mut entry = codes.dc.look(bits.buffer());
    let mut difference = entry.number();
    if difference != 0 {
        bits.take(entry.bits());
    } else {
        if entry.bits() == 0 {
            entry = codes.dc.search(bits.buffer())?;
        }
        bits.take(entry.bits());
        match entry.symbol() {
            0 => {}
            size @ 1..=15 => difference = bits.number(u32::from(size)),
            _ => return Err(Declined),
        }
    }
    // As libjpeg does, in 16 bits.
    *dc = dc.wrapping_add(difference);
    put(0, *dc);

    let mut last = 0;
    loop {
        bits.refill(window);
        // Of the 56 bits, looked-up numbers take no more than 10 each: four of them, or three and
        // a short code with its 15 bits.
        macro_rules! short {
            () => {{
                let entry = codes.ac.look(bits.buffer());
                let number = entry.number();
                if number != 0 {
                    bits.take(entry.bits());
                    last += usize::from(entry.symbol());
                    put(last, number);
                    if last >= 63 {
                        break;
                    }
                }
                (entry, number)
            }};
        }
        let (mut entry, number) = short!();
        if number != 0 {
            let (second, number) = short!();
            entry = second;
            if number != 0 {
                let (third, number) = short!();
                entry = third;
                if number != 0 {
                    let (fourth, number) = short!();
                    entry = fourth;
                    if number != 0 {
                        continue;
                    }
                }
            }
        }
        if entry.bits() == 0 {
            bits.refill(window);
            entry = codes.ac.search(bits.buffer())?;
        }
        bits.take(entry.bits());
        let (run, size) = (entry.symbol() >> 4, entry.symbol() & 15);
        match (run, size) {
            (0, 0) => return Ok(last),
            (15, 0) => {
                last += 16;
                if last >= 63 {
                    return Err(Declined);
                }
            }
            (_, 0) => return Err(Declined),
            _ => {
                last += usize::from(run) + 1;
                let number = bits.number(u32::from(size));
                put(last, number);
                if last >= 63 {
                    break;
                }
            }
        }
    }
    if last > 63 { Err(Declined) } else { Ok(last) }
}
