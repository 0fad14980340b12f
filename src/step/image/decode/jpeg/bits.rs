//! The entropy-coded data as bits: stuffed bytes are dropped and markers are kept away.
//!
//! The bytes go through a window, so that reading bits needs no check of its own: before each MCU
//! the window holds more than any MCU takes, or all there is, and zeros behind.

use super::baseline::Declined;

/// More bytes than an MCU of six blocks can take: 64 coefficients of 16 bits of code and 15 more.
const MOST: usize = 6 * 64 * 31 / 8 + 16;
/// Bytes of data in the window.
const ROOM: usize = 16 << 10;
/// The window with the zeros behind it.
pub(super) const WINDOW: usize = ROOM + 2 * MOST;

/// The bytes that bits are read from.
pub(super) type Window = [u8; WINDOW];

/// Entropy-coded data between two markers.
#[derive(Debug)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    /// What of `bytes` is not in the window yet.
    next: usize,
    window: Box<Window>,
    /// The end of the data in the window.
    end: usize,
    /// No more data comes before the next marker.
    last: bool,
    pub(super) bits: Bits,
}

/// The next bits, and where the window goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bits {
    /// The next bits, the first of them highest. Beyond `count` of them it may hold more of the
    /// window already.
    buffer: u64,
    count: u32,
    /// The byte of the window that follows the `count` bits.
    at: usize,
}

impl Bits {
    /// At least 56 bits.
    #[inline(always)]
    pub(super) fn refill(&mut self, window: &Window) {
        let bytes = window[self.at..].first_chunk::<8>().map_or(0, |b| u64::from_be_bytes(*b));
        self.buffer |= bytes >> self.count;
        self.at += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    #[inline(always)]
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Drops bits; there must be that many, and fewer than 64.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u32) {
        self.buffer <<= bits;
        self.count -= bits;
    }

    /// The number that `size` bits, 1 to 15, make by annex F.
    #[inline(always)]
    pub(super) fn number(&mut self, size: u32) -> i16 {
        let value = (self.buffer >> (64 - size)) as i32;
        let negative = !(self.buffer as i64 >> 63) as i32;
        self.take(size);
        (value - (((1 << size) - 1) & negative)) as i16
    }
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], start: usize, window: Box<Window>) -> Input<'a> {
        let mut input =
            Input { bytes, next: start, window, end: 0, last: false, bits: Bits::default() };
        input.fill();
        input
    }

    pub(super) fn into_window(self) -> Box<Window> {
        self.window
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// Makes sure that the bits of a whole MCU can be read.
    #[inline(always)]
    pub(super) fn prepare(&mut self) {
        if self.end < self.bits.at + MOST && !self.last {
            self.fill();
        }
    }

    /// Declines if more bits were taken than there are.
    #[inline(always)]
    pub(super) fn check(&self) -> Result<(), Declined> {
        self.left().map(|_| ())
    }

    /// Bits of the window that were not taken.
    #[inline(always)]
    fn left(&self) -> Result<usize, Declined> {
        (self.end * 8 + self.bits.count as usize).checked_sub(self.bits.at * 8).ok_or(Declined)
    }

    #[cold]
    fn fill(&mut self) {
        let kept = self.bits.at.min(self.end)..self.end;
        self.end = kept.len();
        self.window.copy_within(kept, 0);
        self.bits.at = 0;
        self.unstuff();
        self.window[self.end..self.end + MOST].fill(0);
    }

    /// Copies bytes to the window until it is full or a marker comes.
    fn unstuff(&mut self) {
        while self.end < ROOM {
            let (plain, all) = copy_plain(&self.bytes[self.next..], &mut self.window[self.end..]);
            self.next += plain;
            self.end += plain;
            if !all && !self.unstuff_one() {
                return;
            }
        }
    }

    /// One byte of data; false if a marker or the end of the file comes instead.
    fn unstuff_one(&mut self) -> bool {
        let (byte, length) = match self.bytes[self.next..] {
            [0xff, 0, ..] => (0xff, 2),
            [0xff, ..] | [] => {
                self.last = true;
                return false;
            }
            [byte, ..] => (byte, 1),
        };
        self.window[self.end] = byte;
        self.end += 1;
        self.next += length;
        true
    }

    /// Ends the data at this marker, which has to be next.
    pub(super) fn pass(&mut self, marker: u8) -> Result<(), Declined> {
        if self.left()? >= 8 {
            return Err(Declined);
        }
        let [0xff, found, ..] = self.bytes[self.next..] else { return Err(Declined) };
        if found != marker {
            return Err(Declined);
        }
        self.next += 2;
        self.end = 0;
        self.last = false;
        self.bits = Bits::default();
        Ok(())
    }

    /// What of the file is not in the window yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.next..]
    }
}

/// Copies bytes that need no look at their neighbours: up to one of FF, or until less than a chunk
/// is left or `ROOM` is full. Returns how many, and whether there may be more.
fn copy_plain(bytes: &[u8], window: &mut [u8]) -> (usize, bool) {
    let room = window.len() - 2 * MOST;
    let mut at = 0;
    while at < room {
        let Some(chunk) = bytes[at..].first_chunk::<CHUNK>() else { return (at, false) };
        window[at..at + CHUNK].copy_from_slice(chunk);
        if has_ff(chunk) {
            for eight in chunk.as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*eight);
                // The first byte of FF has its highest bit set in this, and none before it has.
                let marked =
                    (!word).wrapping_sub(0x0101_0101_0101_0101) & word & 0x8080_8080_8080_8080;
                at += (marked.trailing_zeros() / 8) as usize;
                if marked != 0 {
                    break;
                }
            }
            return (at, false);
        }
        at += CHUNK;
    }
    (at, true)
}

/// Bytes that are looked at together.
const CHUNK: usize = 32;

/// Without an early end, so that it is done in wide registers.
fn has_ff(chunk: &[u8; CHUNK]) -> bool {
    chunk.iter().fold(false, |found, byte| found | (*byte == 0xff))
}

/// Whether only data and these restart markers stand before the end marker.
pub(super) fn ends_well(mut rest: &[u8], restarts: std::ops::Range<usize>) -> bool {
    let mut restarts = restarts.map(restart);
    loop {
        while let Some(chunk) = rest.first_chunk::<CHUNK>() {
            if has_ff(chunk) {
                break;
            }
            rest = &rest[CHUNK..];
        }
        let Some(at) = rest.iter().position(|byte| *byte == 0xff) else { return false };
        match rest.get(at + 1) {
            Some(0) => {}
            Some(0xd9) => return restarts.next().is_none(),
            Some(marker) if restarts.next() == Some(*marker) => {}
            _ => return false,
        }
        rest = &rest[at + 2..];
    }
}

/// The `n`th restart marker, from 0.
pub(super) fn restart(n: usize) -> u8 {
    0xd0 | (n % 8) as u8
}
