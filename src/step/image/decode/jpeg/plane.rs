//! The samples of one component that are in memory: those of a row of MCUs, and the last row of
//! samples before it if upsampling looks there.
//!
//! It knows which samples a region needs, and nothing of what they become.

use std::ops::Range;

use super::baseline::Region;
use super::header::Sampling;
use super::rows::SLACK;
use crate::step::image::decode::Dimensions;

/// Room beside each row, for what stands beyond an edge and for reading on in wide registers.
const MARGIN: usize = SLACK;

/// Which part of a picture is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) size: Dimensions,
    pub(super) sampling: Sampling,
    pub(super) region: Region,
}

impl Wanted {
    /// The columns of samples that the region needs.
    pub(super) fn columns(&self, chroma: bool) -> Range<usize> {
        let Region { left, width, .. } = self.region;
        let factor = if chroma { self.sampling.across } else { 1 };
        needed(left..left + width, factor, self.size.width)
    }

    /// The rows of samples that the region needs.
    pub(super) fn rows(&self, chroma: bool) -> Range<usize> {
        let Region { top, height, .. } = self.region;
        let factor = if chroma { self.sampling.down } else { 1 };
        needed(top..top + height, factor, self.size.height)
    }
}

/// Where samples stand on `factor` pixels, those that pixels need: with a neighbour on each side
/// if there is one.
fn needed(pixels: Range<usize>, factor: usize, size: usize) -> Range<usize> {
    match factor {
        2 => {
            let last = (pixels.end - 1) / 2;
            (pixels.start / 2).saturating_sub(1)..(last + 2).min(size.div_ceil(2))
        }
        _ => pixels,
    }
}

/// The samples of a component in memory.
#[derive(Debug, Default)]
pub(super) struct Plane {
    samples: Vec<u8>,
    stride: usize,
    /// The first column of samples.
    left: usize,
    /// Rows of samples, those before the row of MCUs included.
    rows: usize,
    /// Rows of samples before the row of MCUs.
    before: usize,
}

impl Plane {
    /// Makes room for these columns of blocks, `down` of them on each other.
    pub(super) fn reset(&mut self, columns: &Range<usize>, down: usize, before: usize) {
        self.stride = columns.len() * 8 + 2 * MARGIN;
        self.left = columns.start * 8;
        self.rows = before + down * 8;
        self.before = before;
        self.samples.resize(self.stride * self.rows, 0);
    }

    /// Keeps what the next row of MCUs needs of this one.
    pub(super) fn carry(&mut self) {
        if self.before > 0 {
            let last = (self.rows - 1) * self.stride;
            self.samples.copy_within(last..last + self.stride, 0);
        }
    }

    /// Where the samples of a block go, and how far apart its rows are. `down` counts blocks in
    /// the row of MCUs, `column` those in the picture.
    #[inline(always)]
    pub(super) fn block(&mut self, down: usize, column: usize) -> (&mut [u8], usize) {
        let row = self.before + down * 8;
        let start = row * self.stride + MARGIN + column * 8 - self.left;
        (&mut self.samples[start..], self.stride)
    }

    /// A row of samples from a column on, with all of the margin behind. Rows count from the row
    /// of MCUs' first; -1 is the last one before.
    pub(super) fn row(&self, row: isize, column: usize) -> &[u8] {
        let row = self.before.strict_add_signed(row) * self.stride;
        &self.samples[row + MARGIN + column - self.left..row + self.stride]
    }

    /// The row from one sample before a column on.
    pub(super) fn row_before(&self, row: isize, column: usize) -> &[u8] {
        let row = self.before.strict_add_signed(row) * self.stride;
        &self.samples[row + MARGIN + column - self.left - 1..row + self.stride]
    }

    /// Repeats the samples at the edges of a picture beyond them, where `edges` are columns in
    /// memory. `edges` has the first column of the picture and the one behind its last.
    pub(super) fn repeat_edges(&mut self, width: usize, wanted: &Range<usize>) {
        for row in self.samples.chunks_exact_mut(self.stride).skip(self.before) {
            if wanted.start == 0 {
                row[MARGIN - 1] = row[MARGIN];
            }
            if wanted.end == width {
                let end = MARGIN + width - self.left;
                row[end] = row[end - 1];
            }
        }
    }
}
