//! The operations that policies choose from, by torchvision's names, with their magnitudes.
//!
//! torchvision's `_apply_op`. It knows no random numbers.

use super::affine::{Affine, Look, UNCHANGED, rotate};
use super::{enhance, histogram, table};
use crate::sample::Array;
use crate::step::StepError;

/// An operation and how much of it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Identity,
    /// The tangent of the angle.
    ShearX(f64),
    /// The tangent of the angle.
    ShearY(f64),
    /// Pixels; the fraction is cut off.
    TranslateX(f64),
    /// Pixels; the fraction is cut off.
    TranslateY(f64),
    /// Degrees, counter-clockwise.
    Rotate(f64),
    /// The factor.
    Brightness(f64),
    /// The factor.
    Color(f64),
    /// The factor.
    Contrast(f64),
    /// The factor.
    Sharpness(f64),
    /// How many bits are kept.
    Posterize(u8),
    /// The least value that is inverted.
    Solarize(f64),
    AutoContrast,
    Equalize,
    Invert,
}

impl Operation {
    /// Makes it of a uint8 HWC picture of 1 or 3 channels.
    pub(super) fn apply(self, mut picture: Array, look: &Look) -> Result<Array, StepError> {
        let sheared = |shear: [f64; 2]| Affine { shear, center: Some([0.0; 2]), ..UNCHANGED };
        let moved = |translate: [f64; 2]| Affine { translate, ..UNCHANGED };
        match self {
            Operation::Identity => {}
            Operation::ShearX(x) => {
                return sheared([x.atan().to_degrees(), 0.0]).apply(&picture, look);
            }
            Operation::ShearY(y) => {
                return sheared([0.0, y.atan().to_degrees()]).apply(&picture, look);
            }
            Operation::TranslateX(x) => return moved([x.trunc(), 0.0]).apply(&picture, look),
            Operation::TranslateY(y) => return moved([0.0, y.trunc()]).apply(&picture, look),
            Operation::Rotate(angle) => return rotate(picture, angle, None, look),
            Operation::Brightness(factor) => enhance::brightness(&mut picture, factor),
            Operation::Color(factor) => enhance::saturation(&mut picture, factor),
            Operation::Contrast(factor) => enhance::contrast(&mut picture, factor),
            Operation::Sharpness(factor) => return enhance::sharpness(picture, factor),
            Operation::Posterize(bits) => table::look_up(&mut picture, &table::posterized(bits)),
            Operation::Solarize(threshold) => {
                table::look_up(&mut picture, &table::solarized(threshold));
            }
            Operation::AutoContrast => histogram::autocontrast(&mut picture),
            Operation::Equalize => histogram::equalize(&mut picture),
            Operation::Invert => table::look_up(&mut picture, &table::inverted()),
        }
        Ok(picture)
    }
}
