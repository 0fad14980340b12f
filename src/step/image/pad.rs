//! Padding: what is put round a picture, and the step that does nothing else.
//!
//! It knows no element type: a picture's places are listed along each axis, and pixels are copied
//! from there.

mod parameters;

use serde::{Deserialize, Serialize};

use super::{Picture, array_in, array_of_bytes};
use crate::sample::{Array, Dim, Layout, Sample, Spec};
use crate::step::{Map, Named, StepError, Unfit};
pub(super) use parameters::{Border, Padding, PaddingMode};

/// `pad`: the picture with `padding` pixels put round it.
///
/// As torchvision's `Pad` on Pillow pictures: `padding` is one number for all sides, `[left and
/// right, top and bottom]` or `[left, top, right, bottom]`. `padding_mode` says what is put there:
/// `constant` (default) is `fill` (default 0; a number, or one for each channel), `edge` the
/// nearest pixel, `reflect` the picture mirrored at its outermost pixels, `symmetric` the picture
/// mirrored at its border. Sizes of `reflect` and `symmetric` have no limit: the picture is
/// mirrored again and again, as NumPy does it.
///
/// Takes any picture, HWC or CHW; `fill` must be a value of its type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    padding: Padding,
    #[serde(default)]
    fill: Border,
    #[serde(default)]
    padding_mode: PaddingMode,
}

impl Named for Pad {
    const NAME: &'static str = "pad";
}

impl Map for Pad {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = Picture::of(input)?;
        self.fill.check(self.padding_mode, picture.dtype, picture.channels)?;
        let more = |dim: Dim, [before, after]: [usize; 2]| match dim {
            Dim::Is(n) => Dim::Is(n.saturating_add(before + after)),
            Dim::Varies => Dim::Varies,
        };
        let height = more(picture.height, self.padding.rows());
        let width = more(picture.width, self.padding.columns());
        Ok(Picture { height, width, ..picture }.spec())
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        let rows = Places::all(height).padded(self.padding.rows(), self.padding_mode);
        let columns = Places::all(width).padded(self.padding.columns(), self.padding_mode);
        gather(&picture, &output, &rows, &columns, &self.fill)
    }
}

/// Where the lines of a new picture come from along one axis: the number of a line of the old
/// picture, or [`Places::NONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places(Vec<usize>);

impl Places {
    /// What is not of the picture.
    const NONE: usize = usize::MAX;

    /// The picture itself.
    pub(super) fn all(side: usize) -> Places {
        Places((0..side).collect())
    }

    /// With `before` and `after` more lines.
    pub(super) fn padded(self, [before, after]: [usize; 2], mode: PaddingMode) -> Places {
        if before + after == 0 {
            return self;
        }
        let side = self.0.len() as isize;
        let places = -(before as isize)..side + after as isize;
        let from = |at: isize| match mode {
            PaddingMode::Constant if !(0..side).contains(&at) => None,
            PaddingMode::Constant => Some(at),
            PaddingMode::Edge => Some(at.clamp(0, side - 1)),
            PaddingMode::Symmetric => {
                let at = at.rem_euclid(2 * side);
                Some(at.min(2 * side - 1 - at))
            }
            PaddingMode::Reflect if side == 1 => Some(0),
            PaddingMode::Reflect => {
                let at = at.rem_euclid(2 * side - 2);
                Some(at.min(2 * side - 2 - at))
            }
        };
        Places(places.map(|at| from(at).map_or(Places::NONE, |at| self.0[at as usize])).collect())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// `len` of them from `start` on.
    pub(super) fn window(&self, start: usize, len: usize) -> Places {
        Places(self.0[start..start + len].to_vec())
    }

    /// Runs of neighbours that stay neighbours: first line, its place, how many.
    fn runs(&self) -> Vec<(usize, usize, usize)> {
        let mut runs: Vec<(usize, usize, usize)> = Vec::new();
        for (at, &place) in self.0.iter().enumerate() {
            match runs.last_mut() {
                Some((_, Places::NONE, len)) if place == Places::NONE => *len += 1,
                Some((_, first, len))
                    if place != Places::NONE
                        && *first != Places::NONE
                        && *first + *len == place =>
                {
                    *len += 1;
                }
                _ => runs.push((at, place, 1)),
            }
        }
        runs
    }
}

/// The picture of the spec `output` whose pixels are those of `picture` at these places.
pub(super) fn gather(
    picture: &Array,
    output: &Spec,
    rows: &Places,
    columns: &Places,
    fill: &Border,
) -> Result<Sample, StepError> {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let element = picture.dtype().size();
    let (planes, pixel) = match picture.layout() {
        Layout::Chw => (channels, element),
        Layout::Hwc | Layout::Plain => (1, channels * element),
    };
    let filling = fill.pixel(picture.dtype(), channels);
    let runs = columns.runs();
    let row_bytes = columns.len() * pixel;
    array_of_bytes(output, |bytes| {
        let sources = picture.data().chunks_exact(height * width * pixel);
        let targets = bytes.chunks_exact_mut(rows.len() * row_bytes);
        for (plane, (source, target)) in sources.zip(targets).enumerate() {
            debug_assert!(plane < planes);
            let filling = &filling[plane * pixel..][..pixel];
            for (&row, target) in rows.0.iter().zip(target.chunks_exact_mut(row_bytes)) {
                let blank = |target: &mut [u8]| {
                    target.chunks_exact_mut(pixel).for_each(|to| to.copy_from_slice(filling));
                };
                if row == Places::NONE {
                    blank(target);
                    continue;
                }
                let source = &source[row * width * pixel..][..width * pixel];
                for &(at, from, len) in &runs {
                    let target = &mut target[at * pixel..][..len * pixel];
                    match from {
                        Places::NONE => blank(target),
                        _ => target.copy_from_slice(&source[from * pixel..][..len * pixel]),
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(side: usize, padding: [usize; 2], mode: PaddingMode) -> Vec<usize> {
        Places::all(side).padded(padding, mode).0
    }

    #[test]
    fn each_mode_puts_other_lines_there() {
        let none = Places::NONE;
        assert_eq!(places(2, [1, 2], PaddingMode::Constant), [none, 0, 1, none, none]);
        assert_eq!(places(2, [1, 2], PaddingMode::Edge), [0, 0, 1, 1, 1]);
        assert_eq!(places(4, [2, 2], PaddingMode::Reflect), [2, 1, 0, 1, 2, 3, 2, 1]);
        assert_eq!(places(4, [2, 2], PaddingMode::Symmetric), [1, 0, 0, 1, 2, 3, 3, 2]);
        assert_eq!(places(1, [2, 1], PaddingMode::Reflect), [0; 4]);
        assert_eq!(places(2, [3, 0], PaddingMode::Reflect), [1, 0, 1, 0, 1]);
    }

    #[test]
    fn runs_join_neighbours() {
        let none = Places::NONE;
        let runs = Places(vec![none, none, 0, 1, 1, 0, none]).runs();
        assert_eq!(runs, [(0, none, 2), (2, 0, 2), (4, 1, 1), (5, 0, 1), (6, none, 1)]);
    }
}
