//! Operations that give each value of a channel another one, whatever is round it: a table.
//!
//! They know no picture until it is looked up.

use super::{channels, pixels_mut};
use crate::sample::Array;

/// The new value of each old one.
pub(super) type Table = [u8; 256];

/// `255 − x`.
pub(super) fn inverted() -> Table {
    std::array::from_fn(|n| 255 - n as u8)
}

/// The first `bits` bits of each value, 1 to 8.
pub(super) fn posterized(bits: u8) -> Table {
    let mask = (0xff00_u16 >> bits) as u8;
    std::array::from_fn(|n| n as u8 & mask)
}

/// Values from `threshold` on are inverted.
pub(super) fn solarized(threshold: f64) -> Table {
    std::array::from_fn(|n| if (n as f64) < threshold { n as u8 } else { 255 - n as u8 })
}

/// Looks up all channels in one table.
pub(super) fn look_up(picture: &mut Array, table: &Table) {
    for value in picture.elements_mut::<u8>().unwrap_or_default() {
        *value = table[usize::from(*value)];
    }
}

/// Looks up each channel in its own table.
pub(super) fn look_up_each(picture: &mut Array, tables: &[Table; 3]) {
    if channels(picture) == 1 {
        return look_up(picture, &tables[0]);
    }
    for pixel in pixels_mut::<3>(picture) {
        for (value, table) in pixel.iter_mut().zip(tables) {
            *value = table[usize::from(*value)];
        }
    }
}
