//! Sides of pictures as parameters: whole numbers in a range that no typing error leaves.
//!
//! And rectangles. It knows no picture.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The longest side that a parameter may ask for: what a JPEG can have.
const LONGEST: i64 = 65_535;

/// A side of a picture in pixels, from 1 to 65,535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Side(u16);

/// Height and width of a picture in pixels, written `[height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct Size {
    /// The height.
    pub height: Side,
    /// The width.
    pub width: Side,
}

/// A rectangle of a picture, by its rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The rows, from the top.
    pub rows: Range<usize>,
    /// The columns, from the left.
    pub columns: Range<usize>,
}

impl Window {
    /// All of a picture.
    pub fn whole(height: usize, width: usize) -> Window {
        Window { rows: 0..height, columns: 0..width }
    }

    /// How many rows it has.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// How many columns it has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// A rectangle of this one, as one of the picture.
    #[must_use]
    pub fn within(&self, part: &Window) -> Window {
        let shifted = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
        Window {
            rows: shifted(&part.rows, self.rows.start),
            columns: shifted(&part.columns, self.columns.start),
        }
    }
}

/// A parameter out of its range: what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange(pub(super) &'static str);

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Side {
    /// The number of pixels.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl TryFrom<i64> for Side {
    type Error = OutOfRange;

    fn try_from(n: i64) -> Result<Side, OutOfRange> {
        match u16::try_from(n) {
            Ok(n) if n > 0 => Ok(Side(n)),
            _ => Err(OutOfRange("a side must be a whole number from 1 to 65535")),
        }
    }
}

impl From<Side> for i64 {
    fn from(side: Side) -> i64 {
        i64::from(side.0)
    }
}

impl TryFrom<Vec<i64>> for Size {
    type Error = OutOfRange;

    fn try_from(sides: Vec<i64>) -> Result<Size, OutOfRange> {
        match sides[..] {
            [height @ 1..=LONGEST, width @ 1..=LONGEST] => {
                Ok(Size { height: height.try_into()?, width: width.try_into()? })
            }
            _ => Err(OutOfRange("size must be two numbers from 1 to 65535: [height, width]")),
        }
    }
}

impl From<Size> for Vec<i64> {
    fn from(size: Size) -> Vec<i64> {
        vec![size.height.into(), size.width.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_out_of_range_are_refused() {
        let read = serde_json::from_str::<Size>;
        assert_eq!(read("[224, 65535]").unwrap().width.get(), 65_535);
        for wrong in ["[0, 1]", "[1, 65536]", "[1]", "[1, 2, 3]", "[-1, 5]"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("two numbers from 1 to 65535"), "{error}");
        }
        assert!(serde_json::from_str::<Side>("0").is_err());
        assert_eq!(serde_json::to_string(&read("[3, 4]").unwrap()).unwrap(), "[3,4]");
    }
}
