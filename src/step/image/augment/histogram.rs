//! Operations that depend on how often each value is there: Pillow's `ImageOps.equalize` and
//! `ImageOps.autocontrast`, each channel by itself.
//!
//! They make tables and know no picture beyond its histogram.

use super::table::{Table, look_up_each};
use super::{channels, pixels};
use crate::sample::Array;

type Histogram = [usize; 256];

/// Each channel's values spread so that each is about as frequent.
pub(super) fn equalize(picture: &mut Array) {
    let tables = histograms(picture).map(|histogram| equalized(&histogram));
    look_up_each(picture, &tables);
}

/// Each channel stretched to reach from 0 to 255.
pub(super) fn autocontrast(picture: &mut Array) {
    let tables = histograms(picture).map(|histogram| stretched(&histogram));
    look_up_each(picture, &tables);
}

fn histograms(picture: &Array) -> [Histogram; 3] {
    let mut counts = [[0; 256]; 3];
    if channels(picture) == 1 {
        for value in picture.elements::<u8>().unwrap_or_default() {
            counts[0][usize::from(*value)] += 1;
        }
    } else {
        for pixel in pixels::<3>(picture) {
            for (value, counts) in pixel.iter().zip(&mut counts) {
                counts[usize::from(*value)] += 1;
            }
        }
    }
    counts
}

fn unchanged() -> Table {
    std::array::from_fn(|n| n as u8)
}

fn equalized(histogram: &Histogram) -> Table {
    let Some(last) = histogram.iter().rfind(|count| **count > 0) else { return unchanged() };
    let step = (histogram.iter().sum::<usize>() - last) / 255;
    if step == 0 {
        return unchanged();
    }
    let mut n = step / 2;
    std::array::from_fn(|value| {
        let level = n / step;
        n += histogram[value];
        // Pillow's lookup cuts off what is beyond 255.
        level.min(255) as u8
    })
}

fn stretched(histogram: &Histogram) -> Table {
    let low = histogram.iter().position(|count| *count > 0).unwrap_or(0);
    let high = histogram.iter().rposition(|count| *count > 0).unwrap_or(0);
    if high <= low {
        return unchanged();
    }
    let scale = 255.0 / (high - low) as f64;
    let offset = -(low as f64) * scale;
    // `as u8` cuts off the fraction and what is out of range, as Pillow does.
    std::array::from_fn(|value| (value as f64 * scale + offset) as u8)
}
