//! Nearest neighbours: pixels picked, none computed.
//!
//! Positions are summed up step by step in double precision, as Pillow's `ImagingScaleAffine`
//! (`libImaging/Geometry.c`) does: multiplying instead would round otherwise.

use std::ops::Range;

use super::{Part, Window};

pub(super) fn nearest<T: Copy>(
    part: &Part<T>,
    (height, width): (usize, usize),
    window: &Window,
    out: &mut [T],
) {
    let plane = part.plane;
    let rows = positions(part.whole.0, height);
    let columns = positions(part.whole.1, width);
    let channels = plane.channels;
    let lines = out.chunks_exact_mut(window.width() * channels);
    for (y, out) in rows[window.rows.clone()].iter().zip(lines) {
        let row = plane.row(y - part.top);
        let pixels = out.chunks_exact_mut(channels);
        for (x, out) in columns[window.columns.clone()].iter().zip(pixels) {
            out.copy_from_slice(&row[(x - part.left) * channels..][..channels]);
        }
    }
}

/// Where the first of some positions lies, to where the last does.
pub(super) fn sources(from: usize, to: usize, wanted: &Range<usize>) -> Range<usize> {
    let picked = &positions(from, to)[wanted.clone()];
    let start = picked.first().copied().unwrap_or(0);
    start..picked.last().map_or(start, |last| last + 1)
}

/// For each of `to` positions, the one of `from` that lies under its middle.
fn positions(from: usize, to: usize) -> Vec<usize> {
    let step = from as f64 / to as f64;
    let mut at = step * 0.5;
    (0..to)
        .map(|_| {
            let position = at as usize;
            at += step;
            position.min(from - 1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pixel_under_the_middle_is_taken() {
        assert_eq!(positions(4, 2), [1, 3]);
        assert_eq!(positions(2, 4), [0, 0, 1, 1]);
        assert_eq!(positions(5, 3), [0, 2, 4]);
        assert_eq!(positions(3, 3), [0, 1, 2]);
    }
}
