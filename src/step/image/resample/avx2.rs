//! The 8-bit sums of `kernel.rs` with AVX2: the same numbers, several times faster.
//!
//! The multiplier takes pairs of 16-bit numbers, so each 22-bit weight is split into
//! `high · 2¹⁰ + low`; both parts are summed apart and put together at the end. All sums wrap at
//! 32 bits and the whole one fits, so the result is exact.

use std::arch::x86_64::{
    __m128i, _mm_packus_epi16, _mm_setr_epi8, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepu8_epi16, _mm256_extracti128_si256,
    _mm256_madd_epi16, _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permute4x64_epi64,
    _mm256_set_m128i, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_srai_epi32,
};
use std::ops::Range;

use super::Plane;
use super::weights::{FRACTION_BITS, Table};

const LOW_BITS: i32 = 10;
const SHIFT: i32 = FRACTION_BITS as i32;
const HALF: i32 = 1 << (FRACTION_BITS - 1);

/// Does the pass along rows if the machine and the number of channels allow it.
pub(super) fn horizontal(
    plane: Plane<u8>,
    table: &Table<i32>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [u8],
) -> bool {
    if !matches!(plane.channels, 3 | 4) || !is_x86_feature_detected!("avx2") {
        return false;
    }
    #[expect(unsafe_code, reason = "code for AVX2 may be called only where there is AVX2")]
    // SAFETY: AVX2 was just detected.
    unsafe {
        match plane.channels {
            3 => columns::<3>(plane, table, skipped, wanted, out),
            _ => columns::<4>(plane, table, skipped, wanted, out),
        }
    }
    true
}

/// Does the pass along columns if the machine allows it.
pub(super) fn vertical(
    plane: Plane<u8>,
    table: &Table<i32>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [u8],
) -> bool {
    if !is_x86_feature_detected!("avx2") {
        return false;
    }
    #[expect(unsafe_code, reason = "code for AVX2 may be called only where there is AVX2")]
    // SAFETY: AVX2 was just detected.
    unsafe {
        rows(plane, table, skipped, wanted, out);
    }
    true
}

/// Two neighbours' weights, their high and their low parts as pairs of 16 bits.
#[derive(Clone, Copy)]
struct Pair {
    high: i32,
    low: i32,
}

impl Pair {
    fn new(first: i32, second: i32) -> Pair {
        let pair = |first: i32, second: i32| (first & 0xffff) | (second << 16);
        let mask = (1 << LOW_BITS) - 1;
        Pair {
            high: pair(first >> LOW_BITS, second >> LOW_BITS),
            low: pair(first & mask, second & mask),
        }
    }

    /// The pairs of a list of weights; an odd one is paired with a weight of 0.
    fn list(weights: &[i32]) -> impl Iterator<Item = Pair> {
        weights.chunks(2).map(|pair| Pair::new(pair[0], pair.get(1).copied().unwrap_or(0)))
    }
}

/// The first 16 bytes, or all there are and zeros.
#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8]) -> __m128i {
    let mut padded = [0; 16];
    let bytes = bytes.first_chunk::<16>().unwrap_or_else(|| {
        padded[..bytes.len()].copy_from_slice(bytes);
        &padded
    });
    bytemuck::cast(*bytes)
}

/// Two rows at a time, one in each half of a register.
#[target_feature(enable = "avx2")]
fn columns<const C: usize>(
    plane: Plane<u8>,
    table: &Table<i32>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [u8],
) {
    // For each output column, the first byte of its neighbours and its weights, four at a time.
    let mut groups: Vec<[Pair; 2]> = Vec::new();
    let positions: Vec<(usize, Range<usize>)> = wanted
        .clone()
        .map(|x| {
            let (first, weights) = table.at(x);
            let start = groups.len();
            let mut pairs = Pair::list(weights);
            while let Some(pair) = pairs.next() {
                groups.push([pair, pairs.next().unwrap_or(Pair { high: 0, low: 0 })]);
            }
            ((first - skipped) * C, start..groups.len())
        })
        .collect();
    // Of four pixels, the first two as 16-bit r0 r1 g0 g1 b0 b1 (a0 a1); then the other two.
    let [left, right] = [0, 2 * C as i8].map(|at| {
        let c = C as i8;
        let alpha = |n| if C == 4 { at + n } else { -1 };
        let order = [at, at + c, at + 1, at + c + 1, at + 2, at + c + 2, alpha(3), alpha(c + 3)];
        let [a, b, c, d, e, f, g, h] = order;
        let half = _mm_setr_epi8(a, -1, b, -1, c, -1, d, -1, e, -1, f, -1, g, -1, h, -1);
        _mm256_set_m128i(half, half)
    });
    let tight = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    let tight = _mm256_set_m128i(tight, tight);
    let line = wanted.len() * C;
    let mut spare = vec![0; line];
    for (n, lines) in out[..plane.height * line].chunks_mut(2 * line).enumerate() {
        let upper = plane.row(2 * n);
        let lower = plane.row((2 * n + 1).min(plane.height - 1));
        let (upper_out, lower_out) = lines.split_at_mut(line);
        let lower_out = if lower_out.is_empty() { &mut spare } else { lower_out };
        // Four pixels at a time are rounded and packed together.
        let outs = upper_out.chunks_mut(4 * C).zip(lower_out.chunks_mut(4 * C));
        for (positions, (upper_out, lower_out)) in positions.chunks(4).zip(outs) {
            let mut totals = [_mm256_setzero_si256(); 4];
            for (total, (first, range)) in totals.iter_mut().zip(positions) {
                let (upper, lower) = (&upper[*first..], &lower[*first..]);
                let (mut high, mut low) = (_mm256_setzero_si256(), _mm256_set1_epi32(HALF));
                for (n, pairs) in groups[range.clone()].iter().enumerate() {
                    let at = n * 4 * C;
                    let pixels = _mm256_set_m128i(load(&lower[at..]), load(&upper[at..]));
                    for (pair, order) in pairs.iter().zip([left, right]) {
                        let pixels = _mm256_shuffle_epi8(pixels, order);
                        let product = _mm256_madd_epi16(pixels, _mm256_set1_epi32(pair.high));
                        high = _mm256_add_epi32(high, product);
                        let product = _mm256_madd_epi16(pixels, _mm256_set1_epi32(pair.low));
                        low = _mm256_add_epi32(low, product);
                    }
                }
                let sum = _mm256_add_epi32(_mm256_slli_epi32::<LOW_BITS>(high), low);
                *total = _mm256_srai_epi32::<SHIFT>(sum);
            }
            let [a, b, c, d] = totals;
            let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            // Pixels of four bytes; of three channels, the fourth byte of each goes to the end.
            let bytes = if C == 4 { bytes } else { _mm256_shuffle_epi8(bytes, tight) };
            let upper: [u8; 16] = bytemuck::cast(_mm256_castsi256_si128(bytes));
            let lower: [u8; 16] = bytemuck::cast(_mm256_extracti128_si256::<1>(bytes));
            if positions.len() == 4 {
                upper_out[..4 * C].copy_from_slice(&upper[..4 * C]);
                lower_out[..4 * C].copy_from_slice(&lower[..4 * C]);
            } else {
                upper_out.copy_from_slice(&upper[..upper_out.len()]);
                lower_out.copy_from_slice(&lower[..lower_out.len()]);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn rows(
    plane: Plane<u8>,
    table: &Table<i32>,
    skipped: usize,
    wanted: Range<usize>,
    out: &mut [u8],
) {
    let length = plane.width * plane.channels;
    let mut taps: Vec<(&[u8], &[u8], Pair)> = Vec::new();
    for (y, out) in wanted.zip(out.chunks_exact_mut(length)) {
        let (first, weights) = table.at(y);
        let first = first - skipped;
        taps.clear();
        taps.extend(Pair::list(weights).enumerate().map(|(n, pair)| {
            let upper = first + 2 * n;
            // The partner of an odd last row has no weight: any row will do.
            let lower = (upper + 1).min(first + weights.len() - 1);
            (plane.row(upper), plane.row(lower), pair)
        }));
        for (n, out) in out.chunks_mut(16).enumerate() {
            let made = sixteen(&taps, 16 * n);
            match out.first_chunk_mut::<16>() {
                Some(out) => *out = made,
                None => out.copy_from_slice(&made[..out.len()]),
            }
        }
    }
}

/// Sixteen elements of an output row, from the `at`-th on.
#[target_feature(enable = "avx2")]
#[inline]
fn sixteen(taps: &[(&[u8], &[u8], Pair)], at: usize) -> [u8; 16] {
    let zero = _mm256_setzero_si256();
    let (mut high, mut low) = ([zero; 2], [zero; 2]);
    for (upper, lower, pair) in taps {
        let (upper, lower) = (load(&upper[at..]), load(&lower[at..]));
        let elements = [_mm_unpacklo_epi8(upper, lower), _mm_unpackhi_epi8(upper, lower)];
        for n in 0..2 {
            let elements = _mm256_cvtepu8_epi16(elements[n]);
            let product = _mm256_madd_epi16(elements, _mm256_set1_epi32(pair.high));
            high[n] = _mm256_add_epi32(high[n], product);
            let product = _mm256_madd_epi16(elements, _mm256_set1_epi32(pair.low));
            low[n] = _mm256_add_epi32(low[n], product);
        }
    }
    let mut totals = [zero; 2];
    for n in 0..2 {
        let high = _mm256_slli_epi32::<LOW_BITS>(high[n]);
        let total = _mm256_add_epi32(_mm256_add_epi32(high, low[n]), _mm256_set1_epi32(HALF));
        totals[n] = _mm256_srai_epi32::<SHIFT>(total);
    }
    // Packing works within halves: their quarters are put in order again.
    let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(totals[0], totals[1]));
    let bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
    bytemuck::cast(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::super::Filter;
    use super::super::kernel;
    use super::*;
    use crate::draw::Draw;

    #[test]
    fn every_sum_is_that_of_the_plain_kernel() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let mut draw = Draw::new(5, 0, b"avx2", 1);
        let filters = [Filter::Box, Filter::Bilinear, Filter::Bicubic, Filter::Lanczos];
        for round in 0..300 {
            let mut side = || 1 + draw.below(70) as usize;
            let (height, width, to) = (side(), side(), side());
            let channels = 1 + round % 4;
            // Black and white neighbours reach the ends of the range and beyond.
            let extreme = round % 3 == 0;
            let data: Vec<u8> = (0..height * width * channels)
                .map(|_| draw.bits() as u8)
                .map(|byte| if extreme { 255 * (byte & 1) } else { byte })
                .collect();
            let plane = Plane { data: &data, stride: width * channels, height, width, channels };
            let filter = filters[round % filters.len()];
            let wanted = to / 3..to;

            let table = Table::<i32>::new(filter, width, to).unwrap();
            let mut plain = vec![0; height * wanted.len() * channels];
            let mut fast = plain.clone();
            kernel::plain_horizontal(plane, &table, 0, wanted.clone(), &mut plain);
            if horizontal(plane, &table, 0, wanted.clone(), &mut fast) {
                assert_eq!(plain, fast, "columns {width} to {to}, {filter:?}");
            } else {
                assert!(channels < 3);
            }

            let table = Table::<i32>::new(filter, height, to).unwrap();
            let mut plain = vec![0; width * wanted.len() * channels];
            let mut fast = plain.clone();
            kernel::plain_vertical(plane, &table, 0, wanted.clone(), &mut plain);
            assert!(vertical(plane, &table, 0, wanted, &mut fast));
            assert_eq!(plain, fast, "rows {height} to {to}, {filter:?}");
        }
    }
}
