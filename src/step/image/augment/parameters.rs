//! Parameters that several augmentations share: what is put where nothing is, ranges to draw from.
//!
//! They know no picture.

use serde::{Deserialize, Serialize};

use crate::draw::Draw;
use crate::sample::Dim;
use crate::step::Unfit;
use crate::step::image::numbers::Numbers;
use crate::step::image::size::OutOfRange;

/// The colour of places that no pixel comes to: one number for all channels, or one for each of
/// three; 0 to 255.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub(super) struct Fill(Numbers);

impl Default for Fill {
    fn default() -> Fill {
        Fill(Numbers::One(0.0))
    }
}

impl TryFrom<Numbers> for Fill {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Fill, OutOfRange> {
        let given = numbers.as_slice();
        let fits = |n: &f64| n.fract() == 0.0 && (0.0..=255.0).contains(n);
        if matches!(given.len(), 1 | 3) && given.iter().all(fits) {
            return Ok(Fill(numbers));
        }
        Err(OutOfRange("fill must be a whole number from 0 to 255, or three of them"))
    }
}

impl From<Fill> for Numbers {
    fn from(fill: Fill) -> Numbers {
        fill.0
    }
}

impl Fill {
    /// Refuses three numbers for a picture of another number of channels.
    pub(super) fn check(&self, channels: Dim) -> Result<(), Unfit> {
        let given = self.0.as_slice().len();
        match channels {
            Dim::Is(channels) if given != 1 && given != channels => {
                Err(Unfit(format!("has {given} numbers in `fill` for {channels} channels")))
            }
            _ => Ok(()),
        }
    }

    /// A pixel of this colour.
    pub(super) fn pixel<const C: usize>(&self) -> [u8; C] {
        let given = self.0.as_slice();
        std::array::from_fn(|n| given[n.min(given.len() - 1)] as u8)
    }
}

/// Two numbers to draw one in between: `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Range {
    /// The pair, if it is in order and within these bounds.
    pub(super) fn within(low: f64, high: f64, least: f64, most: f64) -> Option<Range> {
        (least <= low && low <= high && high <= most).then_some(Range { low, high })
    }

    /// One number of `draw`, uniform.
    pub(super) fn draw(self, draw: &mut Draw) -> f64 {
        draw.uniform(self.low, self.high)
    }

    /// As it is written.
    pub(super) fn numbers(self) -> Vec<f64> {
        vec![self.low, self.high]
    }
}

/// The largest angle in degrees that a parameter may have.
const STEEPEST: f64 = 36_000.0;

/// Angles in degrees to draw from, written `d` for −d to d or `[low, high]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub(super) struct Degrees(pub(super) Range);

impl Degrees {
    fn of(low: f64, high: f64) -> Option<Degrees> {
        Range::within(low, high, -STEEPEST, STEEPEST).map(Degrees)
    }
}

impl TryFrom<Numbers> for Degrees {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Degrees, OutOfRange> {
        match numbers {
            Numbers::One(n) => Degrees::of(-n, n),
            Numbers::Many(list) => match list[..] {
                [low, high] => Degrees::of(low, high),
                _ => None,
            },
        }
        .ok_or(OutOfRange(
            "degrees must be a number from 0 to 36000, or two from -36000 to 36000, the smaller first",
        ))
    }
}

impl From<Degrees> for Numbers {
    fn from(degrees: Degrees) -> Numbers {
        Numbers::Many(degrees.0.numbers())
    }
}

/// Angles in degrees by which columns and rows are sheared, written `d`, `[low, high]` for columns
/// alone, or `[low, high, low, high]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
pub(super) struct Shear {
    pub(super) columns: Range,
    pub(super) rows: Option<Range>,
}

impl TryFrom<Numbers> for Shear {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Shear, OutOfRange> {
        // At a right angle, nothing is left of the picture.
        let range = |low, high| {
            Range::within(low, high, -89.9, 89.9).ok_or(OutOfRange(
                "shear must be a number from 0 to 89.9, or two or four from -89.9 to 89.9, the \
                 smaller of each two first",
            ))
        };
        match numbers.as_slice() {
            [n] if matches!(numbers, Numbers::One(_)) => {
                Ok(Shear { columns: range(-n, *n)?, rows: None })
            }
            [low, high] => Ok(Shear { columns: range(*low, *high)?, rows: None }),
            [low, high, lowest, highest] => {
                Ok(Shear { columns: range(*low, *high)?, rows: Some(range(*lowest, *highest)?) })
            }
            _ => range(1.0, 0.0).map(|columns| Shear { columns, rows: None }),
        }
    }
}

impl From<Shear> for Numbers {
    fn from(shear: Shear) -> Numbers {
        let rows = shear.rows.map(Range::numbers).unwrap_or_default();
        Numbers::Many([shear.columns.numbers(), rows].concat())
    }
}

/// A place in a picture, `[x, y]` in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
pub(super) struct Place(pub(super) [f64; 2]);

impl TryFrom<[f64; 2]> for Place {
    type Error = OutOfRange;

    fn try_from(place: [f64; 2]) -> Result<Place, OutOfRange> {
        if place.iter().all(|n| n.abs() <= 1e6) {
            return Ok(Place(place));
        }
        Err(OutOfRange("center must be two numbers of pixels: [x, y]"))
    }
}

impl From<Place> for [f64; 2] {
    fn from(place: Place) -> [f64; 2] {
        place.0
    }
}
