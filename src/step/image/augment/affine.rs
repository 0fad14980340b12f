//! Pictures turned, moved, scaled and sheared: Pillow's `Image.transform` with `AFFINE`.
//!
//! A matrix `[a, b, c, d, e, f]` says where a pixel of the new picture comes from:
//! `(a x + b y + c, d x + e y + f)` for its middle `(x, y)`. The size stays. What comes from outside
//! is `fill`. Arithmetic is Pillow's, operation by operation: 16 bits after the point for `nearest`,
//! double precision for the others.

mod filter;
mod nearest;

use serde::{Deserialize, Serialize};

use super::parameters::Fill;
use super::{like, pixels, pixels_mut};
use crate::sample::Array;
use crate::step::StepError;
use filter::{bicubic, bilinear, filtered};

/// How a value between pixels is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Interpolation {
    #[default]
    Nearest,
    Bilinear,
    Bicubic,
}

/// How pixels are made that aren't simply moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub(super) interpolation: Interpolation,
    pub(super) fill: Fill,
}

/// Where a pixel comes from.
pub(super) type Matrix = [f64; 6];

/// A picture's pixels, to be looked at from elsewhere.
#[derive(Clone, Copy)]
struct View<'a, const C: usize> {
    pixels: &'a [[u8; C]],
    height: usize,
    width: usize,
}

/// The picture seen through `matrix`.
pub(super) fn transform(picture: &Array, matrix: Matrix, look: &Look) -> Result<Array, StepError> {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let mut made = like(picture)?;
    match channels {
        1 => {
            let view = View { pixels: pixels::<1>(picture), height, width };
            view.through(matrix, look, pixels_mut(&mut made));
        }
        _ => {
            let view = View { pixels: pixels::<3>(picture), height, width };
            view.through(matrix, look, pixels_mut(&mut made));
        }
    }
    Ok(made)
}

impl<const C: usize> View<'_, C> {
    fn through(self, matrix: Matrix, look: &Look, target: &mut [[u8; C]]) {
        target.fill(look.fill.pixel());
        match look.interpolation {
            Interpolation::Nearest => nearest::through(self, matrix, target),
            Interpolation::Bilinear => filtered(self, matrix, target, bilinear),
            Interpolation::Bicubic => filtered(self, matrix, target, bicubic),
        }
    }
}

/// Pillow's `Image.rotate`: turned counter-clockwise by `angle` degrees round `center`, `[x, y]` from
/// the upper left corner, or else round the middle. Whole half turns, and quarter turns of square
/// pictures, move pixels and make none.
pub(super) fn rotate(
    picture: Array,
    angle: f64,
    center: Option<[f64; 2]>,
    look: &Look,
) -> Result<Array, StepError> {
    let (height, width, _) = picture.picture().unwrap_or_default();
    let angle = angle.rem_euclid(360.0);
    if center.is_none() {
        if angle == 0.0 {
            return Ok(picture);
        }
        if angle == 180.0 {
            return moved(&picture, |row, column| (height - 1 - row) * width + width - 1 - column);
        }
        if angle == 90.0 && width == height {
            return moved(&picture, |row, column| column * width + width - 1 - row);
        }
        if angle == 270.0 && width == height {
            return moved(&picture, |row, column| (height - 1 - column) * width + row);
        }
    }
    let [x, y] = center.unwrap_or([width as f64 / 2.0, height as f64 / 2.0]);
    let angle = -angle.to_radians();
    let (cos, sin, minus) = (rounded(angle.cos()), rounded(angle.sin()), rounded(-angle.sin()));
    let matrix =
        [cos, sin, cos * -x + sin * -y + 0.0 + x, minus, cos, minus * -x + cos * -y + 0.0 + y];
    transform(&picture, matrix, look)
}

/// Python's `round(x, 15)`.
fn rounded(x: f64) -> f64 {
    format!("{x:.15}").parse().expect("a number that was just written is one")
}

/// The picture whose pixels come from the places that `from` gives for their row and column.
fn moved(picture: &Array, from: impl Fn(usize, usize) -> usize) -> Result<Array, StepError> {
    fn copied<const C: usize>(
        picture: &Array,
        made: &mut Array,
        width: usize,
        from: impl Fn(usize, usize) -> usize,
    ) {
        let source = pixels::<C>(picture);
        for (row, target) in pixels_mut::<C>(made).chunks_exact_mut(width).enumerate() {
            for (column, target) in target.iter_mut().enumerate() {
                *target = source[from(row, column)];
            }
        }
    }
    let (_, width, channels) = picture.picture().unwrap_or_default();
    let mut made = like(picture)?;
    match channels {
        1 => copied::<1>(picture, &mut made, width, from),
        _ => copied::<3>(picture, &mut made, width, from),
    }
    Ok(made)
}

/// What an affine change is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    /// In degrees, clockwise.
    pub(super) angle: f64,
    /// To the right and down, in pixels.
    pub(super) translate: [f64; 2],
    pub(super) scale: f64,
    /// In degrees, of columns and of rows.
    pub(super) shear: [f64; 2],
    /// `[x, y]` from the upper left corner, or else the middle.
    pub(super) center: Option<[f64; 2]>,
}

/// Nothing is changed.
pub(super) const UNCHANGED: Affine =
    Affine { angle: 0.0, translate: [0.0; 2], scale: 1.0, shear: [0.0; 2], center: None };

impl Affine {
    /// torchvision's `affine` of a Pillow picture.
    pub(super) fn apply(&self, picture: &Array, look: &Look) -> Result<Array, StepError> {
        let (height, width, _) = picture.picture().unwrap_or_default();
        let center = self.center.unwrap_or([width as f64 * 0.5, height as f64 * 0.5]);
        transform(picture, self.matrix(center), look)
    }

    /// torchvision's `_get_inverse_affine_matrix`, sums in its order.
    fn matrix(&self, [cx, cy]: [f64; 2]) -> Matrix {
        let rot = self.angle.to_radians();
        let [sx, sy] = self.shear.map(f64::to_radians);
        let [tx, ty] = self.translate;
        let a = (rot - sy).cos() / sy.cos();
        let b = -(rot - sy).cos() * sx.tan() / sy.cos() - rot.sin();
        let c = (rot - sy).sin() / sy.cos();
        let d = -(rot - sy).sin() * sx.tan() / sy.cos() + rot.cos();
        let [a, b, c, d] = [d, -b, -c, a].map(|x| x / self.scale);
        let right = 0.0 / self.scale + (a * (-cx - tx) + b * (-cy - ty)) + cx;
        let down = 0.0 / self.scale + (c * (-cx - tx) + d * (-cy - ty)) + cy;
        [a, b, right, c, d, down]
    }
}
