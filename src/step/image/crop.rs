//! Crops: a rectangle of the picture, moved without touching its elements.
//!
//! They know no element type: any picture can be cropped, in either order of axes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fusion::small_picture;
use super::{Part, Picture, Side, Size, Window, array_in, array_of_bytes};
use crate::draw::Draw;
use crate::sample::{Array, Dim, Layout, Sample, Spec};
use crate::step::{Map, Named, RandomMap, Reach, StepError, Unfit};

/// `center_crop`: the middle `size` of the picture.
///
/// As torchvision's `CenterCrop`: the offset is `round((side − crop) / 2)` with halves rounded to
/// the even number; a picture smaller than the crop is first padded with zeros, the odd row or
/// column going below or to the right. Takes any picture, HWC or CHW; the output has the crop's
/// height and width.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CenterCrop {
    size: Size,
}

/// `random_crop`: a random `size` of the picture.
///
/// As torchvision's `RandomCrop` without padding. Takes any picture at least as large as the
/// crop, HWC or CHW. It draws twice, always: the top row, then the left column, each position
/// equally likely.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomCrop {
    size: Size,
}

impl Named for CenterCrop {
    const NAME: &'static str = "center_crop";
}

impl Named for RandomCrop {
    const NAME: &'static str = "random_crop";
}

impl Map for CenterCrop {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        Ok(cropped(Picture::of(input)?, self.size))
    }

    fn reach(&self, input: &Spec) -> Reach {
        let inside =
            |side: Dim, wanted: Side| side.exact().is_some_and(|side| side >= wanted.get());
        match Picture::of(input) {
            Ok(picture)
                if inside(picture.height, self.size.height)
                    && inside(picture.width, self.size.width) =>
            {
                Reach::Place
            }
            // Zeros are put round it: what comes before must not touch those.
            _ => Reach::Whole,
        }
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        let rows = middle(height, self.size.height.get());
        let columns = middle(width, self.size.width.get());
        let inside = rows.len == self.size.height.get() && columns.len == self.size.width.get();
        inside.then(|| vec![Part::Crop(Window { rows: rows.taken(), columns: columns.taken() })])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let rows = |side| middle(side, self.size.height.get());
        let columns = |side| middle(side, self.size.width.get());
        crop(&picture, &output, rows, columns)
    }
}

impl RandomMap for RandomCrop {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = Picture::of(input)?;
        for (side, wanted) in [(picture.height, self.size.height), (picture.width, self.size.width)]
        {
            if side.exact().is_some_and(|side| side < wanted.get()) {
                return Err(Unfit(format!(
                    "cannot cut {} × {} out of {input}: put a `resize` before it",
                    self.size.height.get(),
                    self.size.width.get()
                )));
            }
        }
        Ok(cropped(picture, self.size))
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Place
    }

    fn parts(&self, input: &Spec, draw: &mut Draw) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        self.spec(input).ok()?;
        let (rows, columns) = self.choose(height, width, draw);
        Some(vec![Part::Crop(Window { rows: rows.taken(), columns: columns.taken() })])
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        let (rows, columns) = self.choose(height, width, draw);
        crop(&picture, &output, |_| rows, |_| columns)
    }
}

impl RandomCrop {
    /// Where it lies: rows, then columns.
    fn choose(&self, height: usize, width: usize, draw: &mut Draw) -> (Placed, Placed) {
        let mut anywhere = |side: usize, crop: usize| {
            let free = side.saturating_sub(crop) as u64;
            let start = draw.below(free + 1) as usize;
            Placed { skip: start, pad: 0, len: crop }
        };
        let rows = anywhere(height, self.size.height.get());
        (rows, anywhere(width, self.size.width.get()))
    }
}

fn cropped(picture: Picture, size: Size) -> Spec {
    let (height, width) = (Dim::Is(size.height.get()), Dim::Is(size.width.get()));
    Picture { height, width, ..picture }.spec()
}

/// Where a crop lies along one axis: it skips the first `skip` of the picture, starts with `pad`
/// zeros and then has `len` of the picture; what is left of it is zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    skip: usize,
    pad: usize,
    len: usize,
}

impl Placed {
    /// What it takes of the picture.
    fn taken(self) -> Range<usize> {
        self.skip..self.skip + self.len
    }
}

/// torchvision's rule for one axis of a centre crop.
fn middle(side: usize, crop: usize) -> Placed {
    if side <= crop {
        return Placed { skip: 0, pad: (crop - side) / 2, len: side };
    }
    let free = side - crop;
    let half = free / 2;
    let skip = if free.is_multiple_of(2) { half } else { half + half % 2 };
    Placed { skip, pad: 0, len: crop }
}

/// Copies a rectangle of `picture` to a new one of the spec `output`.
fn crop(
    picture: &Array,
    output: &Spec,
    rows: impl Fn(usize) -> Placed,
    columns: impl Fn(usize) -> Placed,
) -> Result<Sample, StepError> {
    let (height, width, channels) = picture.picture().unwrap_or_default();
    let made = Picture::of(output)?;
    let (crop_height, crop_width) = (made.height.exact(), made.width.exact());
    let (crop_height, crop_width) = (crop_height.unwrap_or(0), crop_width.unwrap_or(0));
    let (rows, columns) = (rows(height), columns(width));
    let (planes, pixel) = match picture.layout() {
        Layout::Chw => (channels, picture.dtype().size()),
        Layout::Hwc | Layout::Plain => (1, channels * picture.dtype().size()),
    };
    let from: Range<usize> = columns.skip * pixel..(columns.skip + columns.len) * pixel;
    let to: Range<usize> = columns.pad * pixel..(columns.pad + columns.len) * pixel;
    let whole = rows.len == crop_height && columns.len == crop_width;
    array_of_bytes(output, |bytes| {
        if !whole {
            bytes.fill(0);
        }
        for plane in 0..planes {
            let source = &picture.data()[plane * height * width * pixel..];
            let target = &mut bytes[plane * crop_height * crop_width * pixel..];
            let source = source.chunks_exact(width * pixel).skip(rows.skip);
            let target = target.chunks_exact_mut(crop_width * pixel).skip(rows.pad);
            for (source, target) in source.zip(target).take(rows.len) {
                target[to.clone()].copy_from_slice(&source[from.clone()]);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Buffer, Dtype};

    fn ramp(height: usize, width: usize) -> Sample {
        let bytes: Vec<u8> = (0..height * width).map(|n| n as u8 + 1).collect();
        let data = Buffer::copy_of(&bytes);
        Sample::Array(
            Array::from_parts(Dtype::Uint8, Layout::Hwc, &[height, width, 1], data).unwrap(),
        )
    }

    fn center(height: i64, width: i64) -> CenterCrop {
        CenterCrop { size: vec![height, width].try_into().unwrap() }
    }

    #[test]
    fn halves_round_to_even_as_in_python() {
        // round(0.5) == 0, round(1.5) == 2, round(2.5) == 2, round(3.5) == 4
        let skips = [1, 3, 5, 7].map(|free| middle(10 + free, 10).skip);
        assert_eq!(skips, [0, 2, 2, 4]);
    }

    #[test]
    fn a_small_picture_is_padded_the_odd_line_last() {
        let out = center(4, 2).map(ramp(1, 2)).unwrap();
        assert_eq!(&out.data()[..], &[0, 0, 1, 2, 0, 0, 0, 0]);
        let mixed = center(1, 4).map(ramp(2, 1)).unwrap();
        assert_eq!(&mixed.data()[..], &[0, 1, 0, 0]);
    }

    #[test]
    fn a_random_crop_stays_inside_and_reaches_every_place() {
        let crop = RandomCrop { size: vec![2, 2].try_into().unwrap() };
        let mut corners = std::collections::BTreeSet::new();
        for epoch in 0..200 {
            let mut draw = Draw::new(1, epoch, b"x", 1);
            let out = crop.random_map(ramp(3, 4), &mut draw).unwrap();
            let bytes = out.data();
            assert_eq!([bytes[1], bytes[2]], [bytes[0] + 1, bytes[0] + 4]);
            corners.insert(bytes[0]);
        }
        assert_eq!(corners.into_iter().collect::<Vec<_>>(), [1, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn a_crop_larger_than_the_picture_names_the_way_out() {
        let crop = RandomCrop { size: vec![4, 4].try_into().unwrap() };
        let error = crop.random_map(ramp(3, 9), &mut Draw::new(0, 0, b"", 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot cut 4 × 4 out of uint8 [3, 9, 1]: put a `resize` before it"
        );
    }
}
