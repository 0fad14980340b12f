//! The last pass over an 8-bit picture: its values looked up in a table, left and right exchanged,
//! channels moved first, all at once and straight into the array that is served.
//!
//! It knows no step: a table is what steps make of all 256 values.

use super::Window;
use crate::sample::{Array, Buffer, Dtype, Layout, Sample};
use crate::step::StepError;

/// What each 8-bit value of each channel becomes.
#[derive(Clone, Debug)]
pub struct Table {
    dtype: Dtype,
    channels: usize,
    /// 256 elements a channel.
    elements: Buffer,
}

/// Values that a channel has.
const VALUES: usize = 256;

impl Table {
    /// The picture of 256 rows and one column whose row `n` is `n` in every channel: what steps
    /// that look at each value by itself make of it is their table.
    ///
    /// # Errors
    /// If there are more channels than an array can have.
    pub fn ramp(channels: usize) -> Result<Sample, StepError> {
        let mut ramp = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &[VALUES, 1, channels])?;
        let rows = ramp.elements_mut::<u8>().unwrap_or_default().chunks_exact_mut(channels);
        rows.zip(0..=u8::MAX).for_each(|(row, value)| row.fill(value));
        Ok(Sample::Array(ramp))
    }

    /// The table that was made of a [`ramp`](Self::ramp); `None` if it has lost its shape.
    pub fn of(made: Sample) -> Option<Table> {
        let Sample::Array(made) = made else { return None };
        let &[VALUES, 1, channels] = made.shape() else { return None };
        if made.layout() != Layout::Hwc {
            return None;
        }
        let (dtype, size) = (made.dtype(), made.dtype().size());
        let mut elements = Buffer::for_overwrite(made.data().len());
        for (value, row) in made.data().chunks_exact(channels * size).enumerate() {
            for (channel, element) in row.chunks_exact(size).enumerate() {
                elements[(channel * VALUES + value) * size..][..size].copy_from_slice(element);
            }
        }
        Some(Table { dtype, channels, elements })
    }

    /// A table for each channel, of elements of `N` bytes, which is their size.
    fn of_size<const N: usize>(&self) -> &[[[u8; N]; VALUES]] {
        self.elements.as_chunks::<N>().0.as_chunks().0
    }
}

/// How a picture is painted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint<'a> {
    /// What values become; without one they stay.
    pub(super) table: Option<&'a Table>,
    /// Whether left and right change places.
    pub(super) mirrored: bool,
    /// Whether channels come first.
    pub(super) channels_first: bool,
}

/// Paints a rectangle of an 8-bit HWC picture.
pub(super) fn paint(picture: Array, part: &Window, how: Paint) -> Result<Sample, StepError> {
    let wrong = || StepError::Unfit("needs an 8-bit picture with channels last".to_owned());
    let (height, width, channels) = picture.picture().ok_or_else(wrong)?;
    let all = *part == Window::whole(height, width);
    if all && how.table.is_none() && !how.mirrored && !how.channels_first {
        return Ok(Sample::Array(picture));
    }
    let dtype = how.table.map_or(Dtype::Uint8, |table| table.dtype);
    let (layout, shape) = match how.channels_first {
        true => (Layout::Chw, [channels, part.height(), part.width()]),
        false => (Layout::Hwc, [part.height(), part.width(), channels]),
    };
    if how.table.is_some_and(|table| table.channels != channels) {
        return Err(StepError::Unfit(format!("has numbers for other than {channels} channels")));
    }
    let mut data = Array::for_overwrite(dtype, layout, &shape)?.into_data();
    let pixels = picture.elements::<u8>().ok_or_else(wrong)?;
    let source = Rows { pixels, stride: width * channels, part, channels };
    match (how.table, dtype.size()) {
        (None, _) => {
            let same: [[u8; 1]; VALUES] = std::array::from_fn(|value| [value as u8]);
            source.paint(&vec![same; channels], how, &mut data);
        }
        (Some(table), 1) => source.paint::<1>(table.of_size(), how, &mut data),
        (Some(table), 2) => source.paint::<2>(table.of_size(), how, &mut data),
        (Some(table), 4) => source.paint::<4>(table.of_size(), how, &mut data),
        (Some(table), _) => source.paint::<8>(table.of_size(), how, &mut data),
    }
    Array::from_parts(dtype, layout, &shape, data).map(Sample::Array).ok_or_else(wrong)
}

/// The rows of a rectangle.
#[derive(Clone, Copy)]
struct Rows<'a> {
    pixels: &'a [u8],
    stride: usize,
    part: &'a Window,
    channels: usize,
}

impl<'a> Rows<'a> {
    fn row(&self, y: usize) -> &'a [u8] {
        let start = (self.part.rows.start + y) * self.stride;
        &self.pixels[start + self.part.columns.start * self.channels..]
            [..self.part.width() * self.channels]
    }

    /// `of` has a table for each channel, of elements of `N` bytes.
    fn paint<const N: usize>(self, of: &[[[u8; N]; VALUES]], how: Paint, out: &mut [u8]) {
        let out = out.as_chunks_mut::<N>().0;
        match (of, how.channels_first) {
            ([r, g, b], false) => {
                let rows = out.as_chunks_mut::<3>().0.chunks_exact_mut(self.part.width());
                for (y, out) in rows.enumerate() {
                    let pixels = self.row(y).as_chunks::<3>().0;
                    each(pixels, out, how.mirrored, |[x, y, z], out| {
                        *out = [r[usize::from(*x)], g[usize::from(*y)], b[usize::from(*z)]];
                    });
                }
            }
            ([r, g, b], true) => {
                let (first, rest) = out.split_at_mut(out.len() / 3);
                let (second, third) = rest.split_at_mut(rest.len() / 2);
                let width = self.part.width();
                let rows = first.chunks_exact_mut(width).zip(second.chunks_exact_mut(width));
                for (y, ((first, second), third)) in
                    rows.zip(third.chunks_exact_mut(width)).enumerate()
                {
                    let pixels = self.row(y).as_chunks::<3>().0;
                    let planes = first.iter_mut().zip(second).zip(third);
                    let one = |([x, y, z], ((first, second), third)): (&[u8; 3], _)| {
                        let planes: (&mut [u8; N], &mut [u8; N], &mut [u8; N]) =
                            (first, second, third);
                        *planes.0 = r[usize::from(*x)];
                        *planes.1 = g[usize::from(*y)];
                        *planes.2 = b[usize::from(*z)];
                    };
                    match how.mirrored {
                        true => pixels.iter().rev().zip(planes).for_each(one),
                        false => pixels.iter().zip(planes).for_each(one),
                    }
                }
            }
            (_, channels_first) => {
                let (height, width) = (self.part.height(), self.part.width());
                for (channel, table) in of.iter().enumerate() {
                    let (start, step) = match channels_first {
                        true => (channel * height * width, 1),
                        false => (channel, self.channels),
                    };
                    let mut targets = out[start..].iter_mut().step_by(step);
                    for y in 0..height {
                        let values = self.row(y)[channel..].iter().step_by(self.channels);
                        let mut one = |value: &u8| {
                            if let Some(out) = targets.next() {
                                *out = table[usize::from(*value)];
                            }
                        };
                        match how.mirrored {
                            true => values.rev().for_each(&mut one),
                            false => values.for_each(&mut one),
                        }
                    }
                }
            }
        }
    }
}

/// Calls `one` for every pixel of a row and its place.
fn each<T, U>(row: &[T], out: &mut [U], mirrored: bool, one: impl Fn(&T, &mut U)) {
    match mirrored {
        true => row.iter().rev().zip(out).for_each(|(pixel, out)| one(pixel, out)),
        false => row.iter().zip(out).for_each(|(pixel, out)| one(pixel, out)),
    }
}
