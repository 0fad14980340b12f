//! Which rows of pixels are ready after a row of MCUs, and what each is made of.

use super::baseline::{Channels, Region};
use super::machine::Machine;
use super::plane::{Plane, Wanted};
use super::rows::{self, SLACK};

/// Writes a region.
#[derive(Debug)]
pub(super) struct Output<'s> {
    pub(super) machine: Machine,
    pub(super) wanted: Wanted,
    pub(super) channels: Channels,
    pub(super) gray: bool,
    /// Rows of upsampled Cb and Cr.
    pub(super) rows: &'s mut [Vec<u8>; 2],
}

impl Output<'_> {
    /// Writes the rows of pixels that have all that they need: with half the rows of chroma, the
    /// last row waits for the next row of MCUs, unless this one is the `last` of the picture.
    pub(super) fn emit(
        &mut self,
        planes: &mut [Plane; 3],
        mcu_row: usize,
        last: bool,
        out: &mut [u8],
    ) {
        let Wanted { size, sampling, region } = self.wanted;
        let Region { top, left, height, width } = region;
        let first = mcu_row * 8 * sampling.down;
        let waiting = sampling.down - 1;
        let end = if last { size.height } else { first + 8 * sampling.down - waiting };
        let start = first.saturating_sub(waiting).max(top);
        let end = end.min(top + height);
        let (luma, chroma) = planes.split_at_mut(1);
        if !self.gray && sampling.across == 2 {
            let columns = self.wanted.columns(true);
            for plane in &mut *chroma {
                plane.repeat_edges(size.width.div_ceil(2), &columns);
            }
        }
        let channels = match self.channels {
            Channels::L => 1,
            Channels::Rgb => 3,
        };
        for y in start..end {
            let line = &mut out[(y - top) * width * channels..][..width * channels];
            let lightness = &luma[0].row(y as isize - first as isize, left);
            match (self.channels, self.gray) {
                (Channels::L, _) => line.copy_from_slice(&lightness[..width]),
                (Channels::Rgb, true) => rows::gray(lightness, line),
                (Channels::Rgb, false) => {
                    if (sampling.across, sampling.down) == (1, 1) {
                        let row = (y - first) as isize;
                        let [cb, cr] = [&chroma[0], &chroma[1]].map(|plane| plane.row(row, left));
                        self.machine.rgb(lightness, cb, cr, line);
                        continue;
                    }
                    self.chroma(chroma, mcu_row, y);
                    let skipped = left % sampling.across;
                    let [cb, cr] = &*self.rows;
                    self.machine.rgb(lightness, &cb[skipped..], &cr[skipped..], line);
                }
            }
        }
    }

    /// Upsamples the chroma of a row of pixels, from the first column that shares a sample with
    /// the region's.
    fn chroma(&mut self, planes: &[Plane], mcu_row: usize, y: usize) {
        let Wanted { size, sampling, region } = self.wanted;
        let first = (mcu_row * 8) as isize;
        let near = y / sampling.down;
        // The nearer row of the others; at an edge of the picture, the row itself.
        let upper = y.is_multiple_of(2);
        let far = match upper {
            true => near.saturating_sub(1),
            false => (near + 1).min(size.height.div_ceil(2) - 1),
        };
        let (near, far) = (near as isize - first, far as isize - first);
        let column = region.left / sampling.across;
        let width = region.left % sampling.across + region.width;
        for (plane, out) in planes.iter().zip(self.rows.iter_mut()) {
            out.resize(width.next_multiple_of(SLACK) + SLACK, 0);
            match (sampling.across, sampling.down) {
                (2, 2) => {
                    let (near, far) =
                        (plane.row_before(near, column), plane.row_before(far, column));
                    self.machine.double_both(near, far, width, out);
                }
                (2, _) => self.machine.double_across(plane.row_before(near, column), width, out),
                (_, 2) => {
                    let bias = if upper { 1 } else { 2 };
                    let (near, far) = (plane.row(near, column), plane.row(far, column));
                    self.machine.double_down(near, far, bias, width, out);
                }
                _ => {}
            }
        }
    }
}
