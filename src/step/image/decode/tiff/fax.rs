//! Fax coding of black and white rows: ITU-T T.4 in one dimension, and T.6.
//!
//! The codes are the `fax` crate's; it knows where rows start and end, and what a row may be.

use std::convert::Infallible;

use fax::decoder::{DecodeStatus, Group4Decoder};
use fax::maps::{black, white};
use fax::{BitReader, ByteReader, slice_reader};

use super::{malformed, unsupported};
use crate::step::StepError;
use crate::step::image::decode::Dimensions;

/// Which of the codings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Runs, each row from a new byte.
    Rows,
    /// Runs, each row after an end-of-line code, if there are any.
    Group3,
    /// Changes against the row above.
    Group4,
}

/// Rows of bits, black ones set.
pub(super) fn unpacked(
    packed: &[u8],
    coding: Coding,
    size: Dimensions,
) -> Result<Vec<u8>, StepError> {
    let Ok(width) = u16::try_from(size.width) else {
        return Err(unsupported(format!("of fax rows of {} pixels", size.width)));
    };
    let mut out = vec![0; size.width.div_ceil(8) * size.height];
    let rows = out.chunks_exact_mut(size.width.div_ceil(8));
    if coding == Coding::Group4 {
        let bytes = packed.iter().copied().map(Ok::<u8, Infallible>);
        let mut decoder = Group4Decoder::new(bytes, width).map_err(|_| broken())?;
        for row in rows {
            match decoder.advance() {
                Ok(DecodeStatus::Incomplete) => blacken(row, decoder.transition(), width),
                _ => return Err(broken()),
            }
        }
        return Ok(out);
    }
    // The crate looks ahead as far as its longest code.
    let padded = [packed, &[0; 2]].concat();
    let mut reader = slice_reader(&padded);
    for row in rows {
        if coding == Coding::Group3 {
            skip_end_of_line(&mut reader)?;
        }
        let changes = runs(&mut reader, width)?;
        blacken(row, &changes, width);
        if coding == Coding::Rows {
            let left = reader.bits_to_byte_boundary();
            reader.consume(left).map_err(|_| broken())?;
        }
    }
    Ok(out)
}

/// Where colours change in a row of runs, white first.
fn runs<R: Iterator<Item = Result<u8, Infallible>>>(
    reader: &mut ByteReader<R>,
    width: u16,
) -> Result<Vec<u16>, StepError> {
    let (mut at, mut is_black) = (0_u16, false);
    let mut changes = Vec::new();
    while at < width {
        loop {
            let run = if is_black { black::decode(reader) } else { white::decode(reader) };
            let run = run.ok_or_else(broken)?;
            at = at.checked_add(run).ok_or_else(broken)?;
            // Longer runs start with codes of multiples of 64.
            if run < 64 {
                break;
            }
        }
        changes.push(at);
        is_black = !is_black;
    }
    Ok(changes)
}

/// Skips zeros and the one that ends them, if these are enough zeros for an end of line.
fn skip_end_of_line<R: Iterator<Item = Result<u8, Infallible>>>(
    reader: &mut ByteReader<R>,
) -> Result<(), StepError> {
    const MIN_ZEROS: u8 = 11;
    while reader.peek(MIN_ZEROS) == Some(0) {
        while reader.peek(1) == Some(0) {
            reader.consume(1).map_err(|_| broken())?;
        }
        reader.consume(1).map_err(|_| broken())?;
    }
    Ok(())
}

/// Sets the bits of black pixels.
fn blacken(row: &mut [u8], changes: &[u16], width: u16) {
    for run in changes.chunks(2).filter(|run| run.len() == 2 || run[0] < width) {
        let end = run.get(1).map_or(width, |end| *end).min(width);
        for x in run[0]..end {
            row[usize::from(x / 8)] |= 0x80 >> (x % 8);
        }
    }
}

fn broken() -> StepError {
    malformed("its fax codes are broken")
}
