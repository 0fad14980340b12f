//! The sums of a resampling: one pass along one axis.
//!
//! 8-bit elements: 32-bit fixed point from one half, cut to 0 to 255. Others: double precision sums
//! in the order of the neighbours; of 16 bits, rounded. All as in Pillow's `libImaging/Resample.c`.
//! It knows neither filters nor the order of passes.

use std::ops::Range;

use super::Plane;
use super::weights::{FRACTION_BITS, Table, Weight};
use crate::sample::Element;

/// An element that can be resampled. `skipped` is the position, in the table's source, of the
/// plane's first row or column.
pub(super) trait Kernel: Element {
    type Weight: Weight;

    /// Makes the columns of `wanted`, for every row of the plane.
    fn horizontal(
        plane: Plane<Self>,
        table: &Table<Self::Weight>,
        skipped: usize,
        wanted: Range<usize>,
        out: &mut [Self],
    );

    /// Makes the rows of `wanted`, for every column of the plane.
    fn vertical(
        plane: Plane<Self>,
        table: &Table<Self::Weight>,
        skipped: usize,
        wanted: Range<usize>,
        out: &mut [Self],
    );
}

/// How sums are made: from an initial value, element by element, and finished.
pub(super) trait Sum: Kernel {
    type Total: Copy;
    const START: Self::Total;
    fn add(total: Self::Total, element: Self, weight: Self::Weight) -> Self::Total;
    fn finish(total: Self::Total) -> Self;
}

impl Sum for u8 {
    type Total = i32;
    const START: i32 = 1 << (FRACTION_BITS - 1);

    #[inline(always)]
    fn add(total: i32, element: u8, weight: i32) -> i32 {
        total.wrapping_add(i32::from(element).wrapping_mul(weight))
    }

    #[inline(always)]
    fn finish(total: i32) -> u8 {
        (total >> FRACTION_BITS).clamp(0, 255) as u8
    }
}

impl Sum for f32 {
    type Total = f64;
    const START: f64 = 0.0;

    #[inline(always)]
    fn add(total: f64, element: f32, weight: f64) -> f64 {
        total + f64::from(element) * weight
    }

    #[inline(always)]
    fn finish(total: f64) -> f32 {
        total as f32
    }
}

impl Sum for u16 {
    type Total = f64;
    const START: f64 = 0.0;

    #[inline(always)]
    fn add(total: f64, element: u16, weight: f64) -> f64 {
        total + f64::from(element) * weight
    }

    #[inline(always)]
    fn finish(total: f64) -> u16 {
        let rounded = if total >= 0.0 { total + 0.5 } else { total - 0.5 };
        (rounded as i32).clamp(0, i32::from(u16::MAX)) as u16
    }
}

impl Kernel for u8 {
    type Weight = i32;

    fn horizontal(
        plane: Plane<u8>,
        table: &Table<i32>,
        skipped: usize,
        wanted: Range<usize>,
        out: &mut [u8],
    ) {
        #[cfg(target_arch = "x86_64")]
        if super::avx2::horizontal(plane, table, skipped, wanted.clone(), out) {
            return;
        }
        plain_horizontal(plane, table, skipped, wanted, out);
    }

    fn vertical(
        plane: Plane<u8>,
        table: &Table<i32>,
        skipped: usize,
        wanted: Range<usize>,
        out: &mut [u8],
    ) {
        #[cfg(target_arch = "x86_64")]
        if super::avx2::vertical(plane, table, skipped, wanted.clone(), out) {
            return;
        }
        plain_vertical(plane, table, skipped, wanted, out);
    }
}

macro_rules! on_any_machine {
    ($($element:ty)*) => {$(
        impl Kernel for $element {
            type Weight = f64;

            fn horizontal(
                plane: Plane<$element>,
                table: &Table<f64>,
                skipped: usize,
                wanted: Range<usize>,
                out: &mut [$element],
            ) {
                plain_horizontal(plane, table, skipped, wanted, out);
            }

            fn vertical(
                plane: Plane<$element>,
                table: &Table<f64>,
                skipped: usize,
                wanted: Range<usize>,
                out: &mut [$element],
            ) {
                plain_vertical(plane, table, skipped, wanted, out);
            }
        }
    )*};
}

on_any_machine!(u16 f32);

/// The pass along rows, on any machine.
pub(super) fn plain_horizontal<T: Sum>(
    plane: Plane<T>,
    table: &Table<T::Weight>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [T],
) {
    match plane.channels {
        1 => horizontal::<T, 1>(plane, table, skipped, wanted, out),
        2 => horizontal::<T, 2>(plane, table, skipped, wanted, out),
        3 => horizontal::<T, 3>(plane, table, skipped, wanted, out),
        4 => horizontal::<T, 4>(plane, table, skipped, wanted, out),
        _ => horizontal_many(plane, table, skipped, wanted, out),
    }
}

fn horizontal<T: Sum, const C: usize>(
    plane: Plane<T>,
    table: &Table<T::Weight>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [T],
) {
    let rows = out.chunks_exact_mut(wanted.len() * C);
    for (y, out) in rows.take(plane.height).enumerate() {
        let pixels = plane.row(y).as_chunks::<C>().0;
        for (x, out) in wanted.clone().zip(out.as_chunks_mut::<C>().0) {
            let (first, weights) = table.at(x);
            let neighbours = &pixels[first - skipped..][..weights.len()];
            let mut totals = [T::START; C];
            for (pixel, weight) in neighbours.iter().zip(weights) {
                for (total, element) in totals.iter_mut().zip(pixel) {
                    *total = T::add(*total, *element, *weight);
                }
            }
            *out = totals.map(T::finish);
        }
    }
}

/// The same for any number of channels.
fn horizontal_many<T: Sum>(
    plane: Plane<T>,
    table: &Table<T::Weight>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [T],
) {
    let channels = plane.channels;
    let rows = out.chunks_exact_mut(wanted.len() * channels);
    for (y, out) in rows.take(plane.height).enumerate() {
        let row = plane.row(y);
        for (x, out) in wanted.clone().zip(out.chunks_exact_mut(channels)) {
            let (first, weights) = table.at(x);
            let neighbours = &row[(first - skipped) * channels..];
            for (channel, out) in out.iter_mut().enumerate() {
                let elements = neighbours[channel..].iter().step_by(channels);
                let total = elements
                    .zip(weights)
                    .fold(T::START, |total, (element, weight)| T::add(total, *element, *weight));
                *out = T::finish(total);
            }
        }
    }
}

/// Elements of a row that are summed at a time: their totals stay in the first-level cache.
const BLOCK: usize = 256;

/// The pass along columns, on any machine.
pub(super) fn plain_vertical<T: Sum>(
    plane: Plane<T>,
    table: &Table<T::Weight>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [T],
) {
    let length = plane.width * plane.channels;
    for (y, out) in wanted.zip(out.chunks_exact_mut(length)) {
        let (first, weights) = table.at(y);
        let first = first - skipped;
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let mut totals = [T::START; BLOCK];
            let totals = &mut totals[..out.len()];
            for (source, weight) in weights.iter().enumerate() {
                let row = &plane.row(first + source)[block * BLOCK..];
                for (total, element) in totals.iter_mut().zip(row) {
                    *total = T::add(*total, *element, *weight);
                }
            }
            for (out, total) in out.iter_mut().zip(totals) {
                *out = T::finish(*total);
            }
        }
    }
}
