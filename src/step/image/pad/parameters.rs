//! The parameters of padding: how much, what, in which way.
//!
//! They know no picture.

use serde::{Deserialize, Serialize};

use crate::sample::{Dim, Dtype};
use crate::step::Unfit;
use crate::step::image::numbers::Numbers;
use crate::step::image::size::OutOfRange;

/// Pixels to put at each side.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub(in crate::step::image) struct Padding {
    left: u16,
    top: u16,
    right: u16,
    bottom: u16,
}

/// What is put there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::step::image) enum PaddingMode {
    #[default]
    Constant,
    Edge,
    Reflect,
    Symmetric,
}

/// The values of a constant border: one for all channels, or one for each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub(in crate::step::image) struct Border(Numbers);

impl Padding {
    /// Before the first row and after the last.
    pub(in crate::step::image) fn rows(&self) -> [usize; 2] {
        [self.top, self.bottom].map(usize::from)
    }

    /// Before the first column and after the last.
    pub(in crate::step::image) fn columns(&self) -> [usize; 2] {
        [self.left, self.right].map(usize::from)
    }
}

impl TryFrom<Numbers> for Padding {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Padding, OutOfRange> {
        let whole = |n: f64| {
            (n.fract() == 0.0 && (0.0..=65_535.0).contains(&n))
                .then_some(n as u16)
                .ok_or(OutOfRange("padding must be whole numbers from 0 to 65535"))
        };
        let [left, top, right, bottom] = match *numbers.as_slice() {
            [all] => [all; 4],
            [across, down] => [across, down, across, down],
            [left, top, right, bottom] => [left, top, right, bottom],
            _ => {
                return Err(OutOfRange(
                    "padding must be a number, [left and right, top and bottom] or \
                     [left, top, right, bottom]",
                ));
            }
        };
        Ok(Padding {
            left: whole(left)?,
            top: whole(top)?,
            right: whole(right)?,
            bottom: whole(bottom)?,
        })
    }
}

impl From<Padding> for Numbers {
    fn from(padding: Padding) -> Numbers {
        let Padding { left, top, right, bottom } = padding;
        Numbers::Many([left, top, right, bottom].map(f64::from).to_vec())
    }
}

impl Default for Border {
    fn default() -> Border {
        Border(Numbers::One(0.0))
    }
}

impl TryFrom<Numbers> for Border {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Border, OutOfRange> {
        let given = numbers.as_slice();
        if given.is_empty() || !given.iter().all(|n| n.is_finite()) {
            return Err(OutOfRange("fill must be a number, or one for each channel"));
        }
        Ok(Border(numbers))
    }
}

impl From<Border> for Numbers {
    fn from(border: Border) -> Numbers {
        border.0
    }
}

impl Border {
    /// Refuses values that a picture's elements can't have.
    pub(in crate::step::image) fn check(
        &self,
        mode: PaddingMode,
        dtype: Dtype,
        channels: Dim,
    ) -> Result<(), Unfit> {
        let given = self.0.as_slice();
        if mode != PaddingMode::Constant {
            return Ok(());
        }
        if let Dim::Is(channels) = channels
            && given.len() != 1
            && given.len() != channels
        {
            let count = given.len();
            return Err(Unfit(format!("has {count} numbers in `fill` for {channels} channels")));
        }
        match given.iter().find(|n| !fits(**n, dtype)) {
            Some(n) => Err(Unfit(format!("cannot write a `fill` of {n} as {dtype}"))),
            None => Ok(()),
        }
    }

    /// The bytes of a pixel of these values.
    pub(in crate::step::image) fn pixel(&self, dtype: Dtype, channels: usize) -> Vec<u8> {
        let given = self.0.as_slice();
        (0..channels).flat_map(|n| bytes(given[n.min(given.len() - 1)], dtype)).collect()
    }
}

fn fits(n: f64, dtype: Dtype) -> bool {
    let whole = |low: f64, high: f64| n.fract() == 0.0 && (low..=high).contains(&n);
    match dtype {
        Dtype::Uint8 => whole(0.0, f64::from(u8::MAX)),
        Dtype::Uint16 => whole(0.0, f64::from(u16::MAX)),
        Dtype::Int16 => whole(f64::from(i16::MIN), f64::from(i16::MAX)),
        Dtype::Int32 => whole(f64::from(i32::MIN), f64::from(i32::MAX)),
        // Beyond that, not every whole number is a double.
        Dtype::Int64 => whole(-9_007_199_254_740_992.0, 9_007_199_254_740_992.0),
        Dtype::Float16 | Dtype::Float32 | Dtype::Float64 => true,
    }
}

fn bytes(n: f64, dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::Uint8 => vec![n as u8],
        Dtype::Uint16 => (n as u16).to_le_bytes().to_vec(),
        Dtype::Int16 => (n as i16).to_le_bytes().to_vec(),
        Dtype::Int32 => (n as i32).to_le_bytes().to_vec(),
        Dtype::Int64 => (n as i64).to_le_bytes().to_vec(),
        Dtype::Float16 => half::f16::from_f64(n).to_le_bytes().to_vec(),
        Dtype::Float32 => (n as f32).to_le_bytes().to_vec(),
        Dtype::Float64 => n.to_le_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_written_in_torchvisions_order() {
        let read = |text| serde_json::from_str::<Padding>(text);
        assert_eq!(read("[1, 2]").unwrap().columns(), [1, 1]);
        assert_eq!(read("[1, 2, 3, 4]").unwrap().rows(), [2, 4]);
        assert_eq!(serde_json::to_string(&read("7").unwrap()).unwrap(), "[7.0,7.0,7.0,7.0]");
        for wrong in ["-1", "0.5", "[1, 2, 3]", "70000", "\"4\"", "[]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fill_must_be_a_value_of_the_picture() {
        let read = |text| serde_json::from_str::<Border>(text).unwrap();
        let check = |text, dtype, channels| {
            read(text).check(PaddingMode::Constant, dtype, Dim::Is(channels)).is_ok()
        };
        assert!(check("255", Dtype::Uint8, 3) && check("[1, 2, 3]", Dtype::Uint8, 3));
        assert!(!check("256", Dtype::Uint8, 3) && !check("0.5", Dtype::Uint8, 3));
        assert!(!check("[1, 2]", Dtype::Uint8, 3) && check("-0.5", Dtype::Float32, 1));
        assert_eq!(read("[1, 2]").pixel(Dtype::Uint16, 2), [1, 0, 2, 0]);
    }
}
