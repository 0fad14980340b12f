//! Resizing as `tf.image.resize` does without antialiasing: two neighbours along each axis, or the
//! nearest, positions by the middles of pixels, everything in single precision.
//!
//! From TensorFlow 2's `resize_bilinear_op.cc`, `resize_nearest_neighbor_op.cc` and
//! `image_resizer_state.h` (`HalfPixelScaler`). It knows no parameters and no file.

use std::ops::Range;

use super::{Plane, Window};

/// An output position: both neighbours, and how far it is from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    low: usize,
    high: usize,
    part: f32,
}

/// Weighs the two neighbours along each axis; the sums are not rounded.
pub(super) fn bilinear<T: Copy + Into<f32>>(
    plane: Plane<T>,
    (height, width): (usize, usize),
    window: &Window,
    out: &mut [f32],
) {
    let rows = between(plane.height, height, window.rows.clone());
    let columns = between(plane.width, width, window.columns.clone());
    let channels = plane.channels;
    for (y, out) in rows.iter().zip(out.chunks_exact_mut(columns.len() * channels)) {
        let (top, bottom) = (plane.row(y.low), plane.row(y.high));
        for (x, out) in columns.iter().zip(out.chunks_exact_mut(channels)) {
            let (left, right) = (x.low * channels, x.high * channels);
            for (channel, out) in out.iter_mut().enumerate() {
                let along = |row: &[T]| {
                    let (left, right) = (row[left + channel].into(), row[right + channel].into());
                    left + (right - left) * x.part
                };
                let (top, bottom) = (along(top), along(bottom));
                *out = top + (bottom - top) * y.part;
            }
        }
    }
}

/// Picks the pixel under the middle.
pub(super) fn nearest<T: Copy>(
    plane: Plane<T>,
    (height, width): (usize, usize),
    window: &Window,
    out: &mut [T],
) {
    let channels = plane.channels;
    let lines = out.chunks_exact_mut(window.width() * channels);
    for (y, out) in window.rows.clone().zip(lines) {
        let row = plane.row(under(plane.height, height, y));
        for (x, out) in window.columns.clone().zip(out.chunks_exact_mut(channels)) {
            out.copy_from_slice(&row[under(plane.width, width, x) * channels..][..channels]);
        }
    }
}

fn between(from: usize, to: usize, wanted: Range<usize>) -> Vec<Between> {
    let scale = from as f32 / to as f32;
    wanted
        .map(|position| {
            let at = (position as f32 + 0.5) * scale - 0.5;
            let floor = at.floor();
            Between {
                low: floor.max(0.0) as usize,
                high: (at.ceil().max(0.0) as usize).min(from - 1),
                part: at - floor,
            }
        })
        .collect()
}

fn under(from: usize, to: usize, position: usize) -> usize {
    let scale = from as f32 / to as f32;
    (((position as f32 + 0.5) * scale).floor() as usize).min(from - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_same_part_of_the_whole() {
        let data: Vec<u8> = (0..9 * 11 * 3).map(|n| (n * n % 251) as u8).collect();
        let plane = Plane { data: &data, stride: 33, height: 9, width: 11, channels: 3 };
        let plane = plane.cut(1..9, 2..11);
        let part = Window { rows: 2..5, columns: 3..9 };
        let mut whole = vec![0.0; 7 * 25 * 3];
        bilinear(plane, (7, 25), &Window::whole(7, 25), &mut whole);
        let mut cut = vec![0.0; 3 * 6 * 3];
        bilinear(plane, (7, 25), &part, &mut cut);
        let wanted = (2..5).flat_map(|y| &whole[(y * 25 + 3) * 3..][..6 * 3]);
        assert!(cut.iter().eq(wanted));
        let mut whole = vec![0; 7 * 25 * 3];
        nearest(plane, (7, 25), &Window::whole(7, 25), &mut whole);
        let mut cut = vec![0; 3 * 6 * 3];
        nearest(plane, (7, 25), &part, &mut cut);
        assert!(cut.iter().eq((2..5).flat_map(|y| &whole[(y * 25 + 3) * 3..][..6 * 3])));
    }

    #[test]
    fn neighbours_lie_round_the_middle_and_inside() {
        let at = |low, high, part| Between { low, high, part };
        assert_eq!(between(4, 2, 0..2), [at(0, 1, 0.5), at(2, 3, 0.5)]);
        assert_eq!(between(1, 3, 0..1), [at(0, 0, 0.6666667)]);
        assert_eq!(between(2, 4, 3..4), [at(1, 1, 0.25)]);
        assert_eq!([0, 1, 2].map(|n| under(5, 3, n)), [0, 2, 4]);
    }
}
