//! The weights of a resampling along one axis.
//!
//! From Pillow 13's `libImaging/Resample.c` (`precompute_coeffs`, `normalize_coeffs_8bpc`):
//! computed in double precision; for 8-bit pictures then rounded to 22 bits after the point. It
//! knows no pixels.

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use lru::LruCache;
use parking_lot::Mutex;

use super::Filter;
use crate::step::StepError;

/// Bits after the point of a fixed-point weight: 8 bits of result and 2 for filters that leave
/// 0 to 1 remain of 32.
pub(super) const FRACTION_BITS: u32 = 32 - 8 - 2;

/// The most weights of one axis, at most half a GiB: only pictures of millions of pixels along
/// one side need more.
const MAX_WEIGHTS: usize = 1 << 26;

/// Tables that are kept, and the most weights that a kept one has: 16 MiB in all.
const KEPT: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
const MAX_KEPT_WEIGHTS: usize = 1 << 16;

/// For each output position, the first source position and the weights from there on.
#[derive(Clone, Debug)]
pub(super) struct Table<W> {
    spans: Vec<(usize, usize)>,
    width: usize,
    weights: Vec<W>,
}

type Kept<W> = LazyLock<Mutex<LruCache<(Filter, usize, usize), Arc<Table<W>>>>>;

/// A number that weighs: fixed-point for 8-bit pictures, double precision for others.
pub(super) trait Weight: Copy + Send + Sync + 'static {
    fn of(weight: f64) -> Self;
    fn kept() -> &'static Kept<Self>;
}

impl Weight for i32 {
    fn of(weight: f64) -> i32 {
        let scaled = weight * f64::from(1_u32 << FRACTION_BITS);
        (scaled + if weight < 0.0 { -0.5 } else { 0.5 }) as i32
    }

    fn kept() -> &'static Kept<i32> {
        static TABLES: Kept<i32> = LazyLock::new(|| Mutex::new(LruCache::new(KEPT)));
        &TABLES
    }
}

impl Weight for f64 {
    fn of(weight: f64) -> f64 {
        weight
    }

    fn kept() -> &'static Kept<f64> {
        static TABLES: Kept<f64> = LazyLock::new(|| Mutex::new(LruCache::new(KEPT)));
        &TABLES
    }
}

impl<W: Weight> Table<W> {
    /// The weights from `from` source positions to `to`; a recent one is not computed again.
    pub(super) fn new(filter: Filter, from: usize, to: usize) -> Result<Arc<Table<W>>, StepError> {
        if let Some(table) = W::kept().lock().get(&(filter, from, to)) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(Table::compute(filter, from, to)?);
        if table.weights.len() <= MAX_KEPT_WEIGHTS {
            W::kept().lock().put((filter, from, to), Arc::clone(&table));
        }
        Ok(table)
    }

    fn compute(filter: Filter, from: usize, to: usize) -> Result<Table<W>, StepError> {
        let scale = from as f64 / to as f64;
        let stretch = scale.max(1.0);
        let support = support(filter) * stretch;
        let width = (support.ceil() as usize).saturating_mul(2).saturating_add(1);
        let len = width.saturating_mul(to);
        if len > MAX_WEIGHTS {
            return Err(StepError::Limit(format!(
                "resizing a side of {from} to {to} takes {len} weights, more than {MAX_WEIGHTS}"
            )));
        }
        let mut spans = Vec::with_capacity(to);
        let mut weights = Vec::with_capacity(len);
        let mut exact = Vec::with_capacity(width);
        for position in 0..to {
            let center = (position as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            let end = ((center + support + 0.5) as usize).min(from);
            exact.clear();
            exact.extend((first..end).map(|source| {
                let distance = source as f64 - center + 0.5;
                weight(filter, distance * (1.0 / stretch))
            }));
            let sum = exact.iter().fold(0.0, |sum, weight| sum + weight);
            if sum != 0.0 {
                exact.iter_mut().for_each(|weight| *weight /= sum);
            }
            spans.push((first, exact.len()));
            weights.extend(exact.iter().map(|weight| W::of(*weight)));
            weights.resize((position + 1) * width, W::of(0.0));
        }
        Ok(Table { spans, width, weights })
    }

    /// The first source position of an output position, and the weights from there on.
    pub(super) fn at(&self, position: usize) -> (usize, &[W]) {
        let (first, len) = self.spans[position];
        (first, &self.weights[position * self.width..][..len])
    }

    /// The source positions that a range of output positions needs.
    pub(super) fn sources(&self, positions: &Range<usize>) -> Range<usize> {
        let spans = &self.spans[positions.clone()];
        let start = spans.first().map_or(0, |(first, _)| *first);
        let end = spans.last().map_or(start, |(first, len)| first + len);
        start..end
    }
}

/// How far a filter reaches, in pixels of the smaller of both pictures.
fn support(filter: Filter) -> f64 {
    match filter {
        Filter::Nearest => 0.0,
        Filter::Box => 0.5,
        Filter::Bilinear | Filter::Hamming => 1.0,
        Filter::Bicubic => 2.0,
        Filter::Lanczos => 3.0,
    }
}

fn weight(filter: Filter, x: f64) -> f64 {
    let distance = x.abs();
    match filter {
        Filter::Nearest => 0.0,
        Filter::Box => f64::from(x > -0.5 && x <= 0.5),
        Filter::Bilinear => (1.0 - distance).max(0.0),
        Filter::Hamming if distance == 0.0 => 1.0,
        Filter::Hamming if distance >= 1.0 => 0.0,
        Filter::Hamming => {
            // The constants are single precision in Pillow.
            let angle = distance * PI;
            angle.sin() / angle * (f64::from(0.54_f32) + f64::from(0.46_f32) * angle.cos())
        }
        Filter::Bicubic if distance < 1.0 => {
            ((CUBIC + 2.0) * distance - (CUBIC + 3.0)) * distance * distance + 1.0
        }
        Filter::Bicubic if distance < 2.0 => {
            (((distance - 5.0) * distance + 8.0) * distance - 4.0) * CUBIC
        }
        Filter::Bicubic => 0.0,
        Filter::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
        Filter::Lanczos => 0.0,
    }
}

/// Keys' parameter.
const CUBIC: f64 = -0.5;

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let angle = x * PI;
    angle.sin() / angle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_weights_sum_to_one() {
        for filter in
            [Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos]
        {
            for (from, to) in [(500, 341), (3, 100), (1000, 1), (1, 7), (640, 639)] {
                let table = Table::<i32>::compute(filter, from, to).unwrap();
                for position in 0..to {
                    let (first, weights) = table.at(position);
                    let sum: i32 = weights.iter().sum();
                    assert!((sum - (1 << FRACTION_BITS)).unsigned_abs() as usize <= weights.len());
                    assert!(first + weights.len() <= from);
                }
            }
        }
    }

    #[test]
    fn too_many_weights_are_a_limit() {
        let error = Table::<i32>::new(Filter::Lanczos, 178_000_000, 1).unwrap_err();
        assert!(matches!(error, StepError::Limit(_)), "{error}");
    }
}
