//! Resampling: a rectangle of a picture made into another size, as Pillow or TensorFlow does it.
//!
//! Pillow's way: two passes, one along each axis, each a weighted sum of neighbours. Only what a
//! window of the output needs is computed, so a crop after a resize costs no more than its own
//! pixels; nor need more of the source be at hand than that window looks at.
//!
//! It knows no parameters and no randomness. The weights are `weights.rs`'s, the sums
//! `kernel.rs`'s.

mod alpha;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod kernel;
mod nearest;
mod tensorflow;
mod weights;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::kernel::Kernel;
use self::weights::Table;
use super::{Compat, Window, array_for};
use crate::sample::{Array, Dtype, Element, Layout, Sample, Spec};
use crate::step::StepError;

/// How neighbours are weighted when a picture is resized: Pillow's filters.
///
/// All but `nearest` are stretched when a picture gets smaller, so that every source pixel
/// counts (antialiasing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// The nearest pixel, without any antialiasing.
    Nearest,
    /// The mean of the pixels under the new pixel.
    Box,
    /// A triangle over two pixels.
    #[default]
    Bilinear,
    /// A cosine bell over two pixels: sharper than bilinear.
    Hamming,
    /// Keys' cubic over four pixels, a = −0.5.
    Bicubic,
    /// A sinc windowed by a wider one, over six pixels.
    Lanczos,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Filter::Nearest => "nearest",
            Filter::Box => "box",
            Filter::Bilinear => "bilinear",
            Filter::Hamming => "hamming",
            Filter::Bicubic => "bicubic",
            Filter::Lanczos => "lanczos",
        })
    }
}

/// The picture that is resampled: `whole`, of which only a part need be at hand.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    /// HWC; all that is at hand is a rectangle of it.
    pub(super) picture: &'a Array,
    /// That rectangle, in `picture`.
    pub(super) at_hand: Window,
    /// The row and column of the whole where the rectangle lies.
    pub(super) origin: (usize, usize),
    /// Height and width of the whole.
    pub(super) whole: (usize, usize),
}

impl<'a> Source<'a> {
    /// A rectangle of a picture as if it were the whole of one.
    pub(super) fn cut(picture: &'a Array, rectangle: Window) -> Source<'a> {
        let whole = (rectangle.height(), rectangle.width());
        Source { picture, at_hand: rectangle, origin: (0, 0), whole }
    }
}

/// What of a source of `whole` (height, width) is looked at for a window of it resampled to `size`.
///
/// # Errors
/// As [`resample`]'s.
pub(super) fn looked_at(
    whole: (usize, usize),
    size: (usize, usize),
    filter: Filter,
    window: &Window,
) -> Result<Window, StepError> {
    let along = |from: usize, to: usize, wanted: &Range<usize>| match filter {
        _ if from == to => Ok(wanted.clone()),
        Filter::Nearest => Ok(nearest::sources(from, to, wanted)),
        filter => Table::<i32>::new(filter, from, to).map(|table| table.sources(wanted)),
    };
    Ok(Window {
        rows: along(whole.0, size.0, &window.rows)?,
        columns: along(whole.1, size.1, &window.columns)?,
    })
}

/// Rows of pixels whose elements are `T`, a `stride` of elements apart.
#[derive(Clone, Copy, Debug)]
struct Plane<'a, T> {
    data: &'a [T],
    stride: usize,
    height: usize,
    width: usize,
    channels: usize,
}

impl<'a, T> Plane<'a, T> {
    fn row(&self, y: usize) -> &'a [T] {
        &self.data[y * self.stride..][..self.width * self.channels]
    }

    fn cut(self, rows: Range<usize>, columns: Range<usize>) -> Plane<'a, T> {
        let data = &self.data[rows.start * self.stride + columns.start * self.channels..];
        Plane { data, height: rows.len(), width: columns.len(), ..self }
    }
}

/// A plane that is part of a larger one.
#[derive(Debug)]
struct Part<'a, T> {
    plane: Plane<'a, T>,
    top: usize,
    left: usize,
    /// Height and width of the larger one.
    whole: (usize, usize),
}

impl<'a, T: Copy> Part<'a, T> {
    /// Rows and columns of the larger one; they are at hand.
    fn cut(&self, rows: &Range<usize>, columns: &Range<usize>) -> Plane<'a, T> {
        let (rows, columns) = (self.rows(rows), self.columns(columns));
        self.plane.cut(rows, columns)
    }

    fn rows(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start - self.top..rows.end - self.top
    }

    fn columns(&self, columns: &Range<usize>) -> Range<usize> {
        columns.start - self.left..columns.end - self.left
    }
}

/// Resamples `source` to `size` (height, width) and makes the part of it that `window` wants.
/// `output` is the spec of that part: of as many channels as the source, and of its element type or
/// the one that `compat` makes of it. What [`looked_at`] says must be at hand; TensorFlow's way
/// takes whole pictures only.
pub(super) fn resample(
    source: Source,
    size: (usize, usize),
    filter: Filter,
    compat: Compat,
    window: &Window,
    output: &Spec,
) -> Result<Sample, StepError> {
    let mut out = array_for(output)?;
    if compat == Compat::TensorFlow {
        match source.picture.dtype() {
            Dtype::Uint8 => as_tensorflow::<u8>(&source, size, filter, window, &mut out)?,
            Dtype::Uint16 => as_tensorflow::<u16>(&source, size, filter, window, &mut out)?,
            _ => as_tensorflow::<f32>(&source, size, filter, window, &mut out)?,
        }
        return Ok(Sample::Array(out));
    }
    match source.picture.dtype() {
        Dtype::Uint8 => {
            let (part, target) = planes::<u8, u8>(&source, &mut out)?;
            let unchanged = size == part.whole;
            if alpha::has_alpha(part.plane.channels) && filter != Filter::Nearest && !unchanged {
                let premultiplied = alpha::premultiplied(part.plane)?;
                let plane = whole_of(&premultiplied, part.plane)?;
                transform(&Part { plane, ..part }, size, filter, compat, window, target)?;
                alpha::divide(target, plane.channels);
            } else {
                transform(&part, size, filter, compat, window, target)?;
            }
        }
        Dtype::Uint16 => {
            let (part, target) = planes::<u16, u16>(&source, &mut out)?;
            transform(&part, size, filter, compat, window, target)?;
        }
        Dtype::Float32 => {
            let (part, target) = planes::<f32, f32>(&source, &mut out)?;
            transform(&part, size, filter, compat, window, target)?;
        }
        dtype => return Err(StepError::Unfit(format!("cannot resample {dtype}"))),
    }
    Ok(Sample::Array(out))
}

fn as_tensorflow<T: Element + Into<f32>>(
    source: &Source,
    size: (usize, usize),
    filter: Filter,
    window: &Window,
    out: &mut Array,
) -> Result<(), StepError> {
    match filter {
        Filter::Nearest => {
            let (part, target) = planes::<T, T>(source, out)?;
            tensorflow::nearest(part.plane, size, window, target);
        }
        _ => {
            let (part, target) = planes::<T, f32>(source, out)?;
            tensorflow::bilinear(part.plane, size, window, target);
        }
    }
    Ok(())
}

fn planes<'a, T: Element, U: Element>(
    source: &Source<'a>,
    out: &'a mut Array,
) -> Result<(Part<'a, T>, &'a mut [U]), StepError> {
    let wrong = || StepError::Unfit("resampling needs one element type".to_owned());
    let (height, width, channels) = source.picture.picture().ok_or_else(wrong)?;
    let data = source.picture.elements::<T>().ok_or_else(wrong)?;
    let plane = Plane { data, stride: width * channels, height, width, channels };
    let Window { rows, columns } = source.at_hand.clone();
    let target = out.elements_mut::<U>().ok_or_else(wrong)?;
    let (top, left) = source.origin;
    Ok((Part { plane: plane.cut(rows, columns), top, left, whole: source.whole }, target))
}

/// A plane of the same size whose rows are in `array`, one right after the other.
fn whole_of<'a, T: Kernel>(array: &'a Array, like: Plane<T>) -> Result<Plane<'a, T>, StepError> {
    let wrong = || StepError::Unfit("resampling needs one element type".to_owned());
    let data = array.elements::<T>().ok_or_else(wrong)?;
    Ok(Plane { data, stride: like.width * like.channels, ..like })
}

/// A scratch array for elements of a pass in between.
fn scratch<T: Kernel>(elements: usize) -> Result<Array, StepError> {
    Ok(Array::for_overwrite(T::DTYPE, Layout::Plain, &[elements])?)
}

/// Resamples a plane; a pass along an axis whose size stays is none at all, as in Pillow.
fn transform<T: Kernel>(
    part: &Part<T>,
    (height, width): (usize, usize),
    filter: Filter,
    compat: Compat,
    window: &Window,
    out: &mut [T],
) -> Result<(), StepError> {
    if filter == Filter::Nearest {
        nearest::nearest(part, (height, width), window, out);
        return Ok(());
    }
    let all = 0..part.plane.height;
    match (part.whole.1 != width, part.whole.0 != height) {
        (false, false) => {
            let plane = part.cut(&window.rows, &window.columns);
            let length = plane.width * plane.channels;
            for (y, out) in out.chunks_exact_mut(length).enumerate() {
                out.copy_from_slice(plane.row(y));
            }
        }
        (true, false) => {
            let columns = Table::new(filter, part.whole.1, width)?;
            let plane = part.plane.cut(part.rows(&window.rows), 0..part.plane.width);
            T::horizontal(plane, &columns, part.left, window.columns.clone(), out);
        }
        (false, true) => {
            let rows = Table::new(filter, part.whole.0, height)?;
            let plane = part.plane.cut(all, part.columns(&window.columns));
            T::vertical(plane, &rows, part.top, window.rows.clone(), out);
        }
        (true, true) => {
            let rows = Table::new(filter, part.whole.0, height)?;
            let columns = Table::new(filter, part.whole.1, width)?;
            let first = vertical_first(part.whole, (height, width), compat);
            both(part, first, &rows, &columns, window, out)?;
        }
    }
    Ok(())
}

/// Whether the pass along columns is the first of both, which decides the rounding in between:
/// Pillow 13's rule is that it drops more than twice the rows that the other drops columns. The
/// plane in between is then never larger than the source or the whole output.
fn vertical_first(from: (usize, usize), to: (usize, usize), compat: Compat) -> bool {
    let fewer_rows = from.0 as i64 - to.0 as i64;
    let fewer_columns = from.1 as i64 - to.1 as i64;
    compat != Compat::Pillow12 && fewer_rows > 0 && fewer_rows > 2 * fewer_columns
}

/// Both passes.
fn both<T: Kernel>(
    part: &Part<T>,
    vertical_first: bool,
    rows: &Table<T::Weight>,
    columns: &Table<T::Weight>,
    window: &Window,
    out: &mut [T],
) -> Result<(), StepError> {
    let plane = part.plane;
    if vertical_first {
        let wanted = columns.sources(&window.columns);
        let (height, width) = (window.height(), wanted.len());
        let mut between = scratch::<T>(height * width * plane.channels)?;
        let source = plane.cut(0..plane.height, part.columns(&wanted));
        if let Some(between) = between.elements_mut() {
            T::vertical(source, rows, part.top, window.rows.clone(), between);
        }
        let between = whole_of(&between, Plane { height, width, ..plane })?;
        T::horizontal(between, columns, wanted.start, window.columns.clone(), out);
    } else {
        let wanted = rows.sources(&window.rows);
        let (height, width) = (wanted.len(), window.width());
        let mut between = scratch::<T>(height * width * plane.channels)?;
        let source = plane.cut(part.rows(&wanted), 0..plane.width);
        if let Some(between) = between.elements_mut() {
            T::horizontal(source, columns, part.left, window.columns.clone(), between);
        }
        let between = whole_of(&between, Plane { height, width, ..plane })?;
        T::vertical(between, rows, wanted.start, window.rows.clone(), out);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{ArraySpec, Buffer, Dim};

    fn noise(height: usize, width: usize, channels: usize) -> Array {
        let mut state = 1_u32;
        let bytes: Vec<u8> = (0..height * width * channels)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        let shape = [height, width, channels];
        Array::from_parts(Dtype::Uint8, Layout::Hwc, &shape, Buffer::copy_of(&bytes)).unwrap()
    }

    fn made(picture: &Array, size: (usize, usize), filter: Filter, window: Window) -> Vec<u8> {
        let (height, width, channels) = picture.picture().unwrap();
        let output = Spec::Array(ArraySpec::hwc(
            Dtype::Uint8,
            Dim::Is(window.height()),
            Dim::Is(window.width()),
            Dim::Is(channels),
        ));
        let source = Source::cut(picture, Window::whole(height, width));
        let made = resample(source, size, filter, Compat::Pillow13, &window, &output);
        made.unwrap().data().to_vec()
    }

    #[test]
    fn a_window_is_the_same_part_of_the_whole() {
        for (height, width, size) in [(40, 30, (20, 21)), (60, 10, (7, 40)), (9, 9, (30, 9))] {
            for channels in 1..=4 {
                let picture = noise(height, width, channels);
                for filter in [Filter::Nearest, Filter::Bilinear, Filter::Lanczos] {
                    let all = made(&picture, size, filter, Window::whole(size.0, size.1));
                    let part = Window { rows: 2..5, columns: 3..9 };
                    let got = made(&picture, size, filter, part);
                    let wanted: Vec<u8> = (2..5)
                        .flat_map(|y| &all[(y * size.1 + 3) * channels..][..6 * channels])
                        .copied()
                        .collect();
                    assert_eq!(got, wanted, "{size:?} {channels} {filter:?}");
                }
            }
        }
    }

    #[test]
    fn a_rectangle_is_resampled_as_if_it_were_the_picture() {
        let picture = noise(20, 20, 3);
        let cut: Vec<u8> =
            (5..15).flat_map(|y| &picture.data()[(y * 20 + 4) * 3..][..12 * 3]).copied().collect();
        let small =
            Array::from_parts(Dtype::Uint8, Layout::Hwc, &[10, 12, 3], Buffer::copy_of(&cut))
                .unwrap();
        let wanted = made(&small, (7, 25), Filter::Bicubic, Window::whole(7, 25));
        let source = Source::cut(&picture, Window { rows: 5..15, columns: 4..16 });
        let output = Spec::Array(ArraySpec::hwc(Dtype::Uint8, Dim::Is(7), Dim::Is(25), Dim::Is(3)));
        let whole = Window::whole(7, 25);
        let filter = Filter::Bicubic;
        let got = resample(source, (7, 25), filter, Compat::Pillow13, &whole, &output);
        assert_eq!(&got.unwrap().data()[..], wanted);
    }

    #[test]
    fn a_flat_picture_stays_flat() {
        let data = Buffer::copy_of(&[200; 50 * 40]);
        let picture = Array::from_parts(Dtype::Uint8, Layout::Hwc, &[50, 40, 1], data).unwrap();
        for filter in [Filter::Box, Filter::Hamming, Filter::Bicubic, Filter::Lanczos] {
            let out = made(&picture, (13, 90), filter, Window::whole(13, 90));
            assert!(out.iter().all(|v| *v == 200), "{filter:?}");
        }
    }
}
