//! Values between pixels: Pillow's bilinear and bicubic filters, in double precision.
//!
//! Lines beyond the picture are its outermost ones.

use super::{Matrix, View};

/// The picture seen through `matrix`; pixels from outside stay what they are in `target`.
pub(super) fn filtered<const C: usize>(
    view: View<'_, C>,
    [a, b, c, d, e, f]: Matrix,
    target: &mut [[u8; C]],
    filter: impl Fn(View<'_, C>, f64, f64) -> [u8; C],
) {
    let inside = |x: f64, side: usize| x >= 0.0 && x < side as f64;
    for (row, target) in target.chunks_exact_mut(view.width).enumerate() {
        let y = row as f64 + 0.5;
        for (column, target) in target.iter_mut().enumerate() {
            let x = column as f64 + 0.5;
            let (from_x, from_y) = (a * x + b * y + c, d * x + e * y + f);
            if inside(from_x, view.width) && inside(from_y, view.height) {
                *target = filter(view, from_x, from_y);
            }
        }
    }
}

/// The `N` lines round a place, the `before` first of them before it, and how far it is from there.
fn around<const N: usize>(at: f64, before: isize, side: usize) -> ([usize; N], f64) {
    let at = at - 0.5;
    // Its floor: it is at least -0.5. `f64::floor` is a call on processors before SSE 4.1.
    let first = if at < 0.0 { -1 } else { at as isize };
    let line = |n: usize| first - before + n as isize;
    (std::array::from_fn(|n| line(n).clamp(0, side as isize - 1) as usize), at - first as f64)
}

/// From the four pixels round a place.
pub(super) fn bilinear<const C: usize>(view: View<'_, C>, x: f64, y: f64) -> [u8; C] {
    let (columns, dx) = around::<2>(x, 0, view.width);
    let (rows, dy) = around::<2>(y, 0, view.height);
    let [above, below] =
        rows.map(|row| columns.map(|column| view.pixels[row * view.width + column]));
    std::array::from_fn(|channel| {
        let mixed = |[left, right]: [[u8; C]; 2]| {
            let (left, right) = (f64::from(left[channel]), f64::from(right[channel]));
            left + (right - left) * dx
        };
        let (above, below) = (mixed(above), mixed(below));
        (above + (below - above) * dy) as u8
    })
}

/// From the sixteen pixels round a place.
pub(super) fn bicubic<const C: usize>(view: View<'_, C>, x: f64, y: f64) -> [u8; C] {
    let (columns, dx) = around::<4>(x, 1, view.width);
    let (rows, dy) = around::<4>(y, 1, view.height);
    let pixels = rows.map(|row| columns.map(|column| view.pixels[row * view.width + column]));
    std::array::from_fn(|channel| {
        let rows = pixels.map(|row| cubic(row.map(|pixel| f64::from(pixel[channel])), dx));
        // The cast cuts off the fraction and what is out of range, as Pillow does.
        cubic(rows, dy) as u8
    })
}

/// Pillow's `BICUBIC`.
fn cubic([v1, v2, v3, v4]: [f64; 4], d: f64) -> f64 {
    let p1 = v2;
    let p2 = -v1 + v3;
    let p3 = 2.0 * (v1 - v2) + v3 - v4;
    let p4 = -v1 + v2 - v3 + v4;
    p1 + d * (p2 + d * (p3 + d * p4))
}
