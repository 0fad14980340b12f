//! How a camera was held: which way a picture is turned, and turning it.
//!
//! The eight orientations are those of EXIF and TIFF (tag 274). Where the tag is found in a file
//! is `exif.rs`'s business.

use crate::sample::{Array, Dtype, Sample};
use crate::step::StepError;

use super::Dimensions;

/// Where the first row and column of a stored picture are to be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Orientation {
    #[default]
    Upright,
    Mirrored,
    HalfTurn,
    UpsideDown,
    Transposed,
    /// To be turned clockwise by 90°.
    Clockwise,
    Transversed,
    /// To be turned counterclockwise by 90°.
    Counterclockwise,
}

impl Orientation {
    /// By the tag's value; those that there aren't mean nothing, as for Pillow.
    pub(super) fn of(tag: i64) -> Orientation {
        match tag {
            2 => Orientation::Mirrored,
            3 => Orientation::HalfTurn,
            4 => Orientation::UpsideDown,
            5 => Orientation::Transposed,
            6 => Orientation::Clockwise,
            7 => Orientation::Transversed,
            8 => Orientation::Counterclockwise,
            _ => Orientation::Upright,
        }
    }

    /// Whether rows become columns.
    pub(super) fn swaps(self) -> bool {
        matches!(
            self,
            Orientation::Transposed
                | Orientation::Clockwise
                | Orientation::Transversed
                | Orientation::Counterclockwise
        )
    }

    /// The size of the turned picture.
    pub(super) fn turned(self, Dimensions { height, width }: Dimensions) -> Dimensions {
        if self.swaps() {
            return Dimensions { height: width, width: height };
        }
        Dimensions { height, width }
    }

    /// The stored place of a pixel of the turned picture.
    fn source(self, y: usize, x: usize, stored: Dimensions) -> (usize, usize) {
        let (bottom, right) = (stored.height - 1, stored.width - 1);
        match self {
            Orientation::Upright => (y, x),
            Orientation::Mirrored => (y, right - x),
            Orientation::HalfTurn => (bottom - y, right - x),
            Orientation::UpsideDown => (bottom - y, x),
            Orientation::Transposed => (x, y),
            Orientation::Clockwise => (bottom - x, y),
            Orientation::Transversed => (bottom - x, right - y),
            Orientation::Counterclockwise => (x, right - y),
        }
    }

    /// Turns a picture, HWC.
    pub(super) fn turn(self, sample: Sample) -> Result<Sample, StepError> {
        let Sample::Array(stored) = sample else { return Ok(sample) };
        let (height, width, channels) = stored.picture().unwrap_or_default();
        if self == Orientation::Upright || stored.data().is_empty() {
            return Ok(Sample::Array(stored));
        }
        let size = Dimensions { height, width };
        let turned = self.turned(size);
        let shape = [turned.height, turned.width, channels];
        let mut made = Array::for_overwrite(stored.dtype(), stored.layout(), &shape)?;
        match made.dtype() {
            Dtype::Uint16 => {
                let (from, to) = (stored.elements::<u16>(), made.elements_mut::<u16>());
                self.copy(from.unwrap_or_default(), to.unwrap_or_default(), size, channels);
            }
            _ => {
                let (from, to) = (stored.elements::<u8>(), made.elements_mut::<u8>());
                self.copy(from.unwrap_or_default(), to.unwrap_or_default(), size, channels);
            }
        }
        Ok(Sample::Array(made))
    }

    fn copy<T: Copy>(self, from: &[T], to: &mut [T], stored: Dimensions, channels: usize) {
        let width = self.turned(stored).width;
        for (y, row) in to.chunks_exact_mut(width * channels).enumerate() {
            for (x, pixel) in row.chunks_exact_mut(channels).enumerate() {
                let (y, x) = self.source(y, x, stored);
                pixel.copy_from_slice(&from[(y * stored.width + x) * channels..][..channels]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Buffer, Layout};

    #[test]
    fn turns_are_those_of_pillow() {
        // 1 2 3
        // 4 5 6
        let data = Buffer::copy_of(&[1, 2, 3, 4, 5, 6]);
        let picture = Array::from_parts(Dtype::Uint8, Layout::Hwc, &[2, 3, 1], data).unwrap();
        let turned = |tag| {
            let turned = Orientation::of(tag).turn(Sample::Array(picture.clone())).unwrap();
            let swaps = Orientation::of(tag).swaps();
            let Sample::Array(array) = &turned else { panic!() };
            assert_eq!(array.shape()[..2], if swaps { [3, 2] } else { [2, 3] });
            turned.data().to_vec()
        };
        assert_eq!(turned(1), [1, 2, 3, 4, 5, 6]);
        assert_eq!(turned(2), [3, 2, 1, 6, 5, 4]);
        assert_eq!(turned(3), [6, 5, 4, 3, 2, 1]);
        assert_eq!(turned(4), [4, 5, 6, 1, 2, 3]);
        assert_eq!(turned(5), [1, 4, 2, 5, 3, 6]);
        assert_eq!(turned(6), [4, 1, 5, 2, 6, 3]);
        assert_eq!(turned(7), [6, 3, 5, 2, 4, 1]);
        assert_eq!(turned(8), [3, 6, 2, 5, 1, 4]);
        assert_eq!(turned(0), turned(1));
        assert_eq!(turned(9), turned(1));
    }
}
