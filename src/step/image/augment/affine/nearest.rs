//! The nearest pixel, found as Pillow finds it: by whole columns and rows if nothing is turned, else
//! with 16 bits after the point, or in double precision where those don't suffice.

use super::{Matrix, View};

/// The picture seen through `matrix`; pixels from outside stay what they are in `target`.
pub(super) fn through<const C: usize>(view: View<'_, C>, matrix: Matrix, target: &mut [[u8; C]]) {
    let [_, b, _, d, _, _] = matrix;
    if b == 0.0 && d == 0.0 {
        scaled(view, matrix, target);
    } else if fits_fixed(&view, matrix) {
        fixed(view, matrix, target);
    } else {
        double(view, matrix, target);
    }
}

/// The place that a coordinate is in, if it is within `0..side`.
fn place(at: f64, side: usize) -> Option<usize> {
    (at >= 0.0 && at < side as f64).then_some(at as usize)
}

/// Rows and columns are scaled and moved. Positions are sums of steps, as in Pillow.
fn scaled<const C: usize>(view: View<'_, C>, [a, _, c, _, e, f]: Matrix, target: &mut [[u8; C]]) {
    let mut x = c + a * 0.5;
    let columns: Vec<Option<usize>> = (0..view.width)
        .map(|_| {
            let column = place(x, view.width);
            x += a;
            column
        })
        .collect();
    let mut y = f + e * 0.5;
    for target in target.chunks_exact_mut(view.width) {
        if let Some(row) = place(y, view.height) {
            let source = &view.pixels[row * view.width..][..view.width];
            for (column, target) in columns.iter().zip(target) {
                if let Some(column) = column {
                    *target = source[*column];
                }
            }
        }
        y += e;
    }
}

/// Whether the corners come from places that 16 bits before the point hold.
fn fits_fixed<const C: usize>(view: &View<'_, C>, [a, b, c, d, e, f]: Matrix) -> bool {
    let (width, height) = (view.width as f64, view.height as f64);
    [(0.0, 0.0), (width, height), (0.0, height), (width, 0.0)]
        .iter()
        .all(|(x, y)| (x * a + y * b + c).abs() < 32_768.0 && (x * d + y * e + f).abs() < 32_768.0)
}

fn fixed<const C: usize>(view: View<'_, C>, [a, b, c, d, e, f]: Matrix, target: &mut [[u8; C]]) {
    let fix = |x: f64| (x * 65_536.0 + 0.5).floor() as i32;
    let [right_x, down_x, right_y, down_y] = [a, b, d, e].map(fix);
    let mut start_x = fix(c + a * 0.5 + b * 0.5);
    let mut start_y = fix(f + d * 0.5 + e * 0.5);
    for target in target.chunks_exact_mut(view.width) {
        let (mut x, mut y) = (start_x, start_y);
        for target in target {
            // Negative ones become large: one comparison for both ends.
            let (column, row) = ((x >> 16) as usize, (y >> 16) as usize);
            if column < view.width && row < view.height {
                *target = view.pixels[row * view.width + column];
            }
            x = x.wrapping_add(right_x);
            y = y.wrapping_add(right_y);
        }
        start_x = start_x.wrapping_add(down_x);
        start_y = start_y.wrapping_add(down_y);
    }
}

fn double<const C: usize>(view: View<'_, C>, [a, b, c, d, e, f]: Matrix, target: &mut [[u8; C]]) {
    let mut start_x = c + b * 0.5 + a * 0.5;
    let mut start_y = f + e * 0.5 + d * 0.5;
    for target in target.chunks_exact_mut(view.width) {
        let (mut x, mut y) = (start_x, start_y);
        for target in target {
            if let (Some(column), Some(row)) = (place(x, view.width), place(y, view.height)) {
                *target = view.pixels[row * view.width + column];
            }
            x += a;
            y += d;
        }
        start_x += b;
        start_y += e;
    }
}
