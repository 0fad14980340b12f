//! Crops: a rectangle of the picture, moved without touching its elements.
//!
//! They know no element type: any picture can be cropped, in either order of axes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fusion::small_picture;
use super::pad::{Border, Padding, PaddingMode, Places, gather};
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
/// As torchvision's `RandomCrop`: `padding`, `fill` and `padding_mode` are those of `pad`, which is
/// done first; with `pad_if_needed`, a picture that is still narrower or lower than the crop gets
/// the difference on both sides. Takes any picture that is then at least as large as the crop, HWC
/// or CHW. It draws twice, always: the top row, then the left column, each position equally
/// likely.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomCrop {
    size: Size,
    // Not written if they aren't used: a crop without them is the step that it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    padding: Option<Padding>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pad_if_needed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill: Option<Border>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    padding_mode: Option<PaddingMode>,
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
        if self.pads() {
            let fill = self.fill.clone().unwrap_or_default();
            fill.check(self.mode(), picture.dtype, picture.channels)?;
        }
        let sides = [
            (picture.height, self.added(Padding::rows), self.size.height),
            (picture.width, self.added(Padding::columns), self.size.width),
        ];
        for (side, [before, after], wanted) in sides {
            let enough = |side: usize| side.saturating_add(before + after) >= wanted.get();
            if !self.pad_if_needed && side.exact().is_some_and(|side| !enough(side)) {
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
        if self.pads() && self.mode() == PaddingMode::Constant {
            // What comes before must not touch the border.
            return Reach::Whole;
        }
        Reach::Place
    }

    fn parts(&self, input: &Spec, draw: &mut Draw) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        self.spec(input).ok().filter(|_| !self.pads())?;
        let (rows, columns) = self.choose(height, width, draw);
        Some(vec![Part::Crop(Window { rows: rows.taken(), columns: columns.taken() })])
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        if !self.pads() {
            let (rows, columns) = self.choose(height, width, draw);
            return crop(&picture, &output, |_| rows, |_| columns);
        }
        let (crop_height, crop_width) = (self.size.height.get(), self.size.width.get());
        let rows = self.padded(height, self.added(Padding::rows), crop_height);
        let columns = self.padded(width, self.added(Padding::columns), crop_width);
        let rows = rows.window(anywhere(rows.len(), crop_height, draw), crop_height);
        let columns = columns.window(anywhere(columns.len(), crop_width, draw), crop_width);
        gather(&picture, &output, &rows, &columns, &self.fill.clone().unwrap_or_default())
    }
}

impl RandomCrop {
    /// Where it lies in a picture that gets no padding: rows, then columns.
    fn choose(&self, height: usize, width: usize, draw: &mut Draw) -> (Placed, Placed) {
        let mut placed = |side: usize, crop: Side| {
            let len = crop.get();
            Placed { skip: anywhere(side, len, draw), pad: 0, len }
        };
        let rows = placed(height, self.size.height);
        (rows, placed(width, self.size.width))
    }

    fn pads(&self) -> bool {
        self.padding.is_some() || self.pad_if_needed
    }

    fn mode(&self) -> PaddingMode {
        self.padding_mode.unwrap_or_default()
    }

    fn added(&self, axis: impl Fn(&Padding) -> [usize; 2]) -> [usize; 2] {
        self.padding.as_ref().map_or([0, 0], axis)
    }

    /// One axis with its padding, and with more if the crop needs it.
    fn padded(&self, side: usize, padding: [usize; 2], crop: usize) -> Places {
        let places = Places::all(side).padded(padding, self.mode());
        let lacks = if self.pad_if_needed { crop.saturating_sub(places.len()) } else { 0 };
        places.padded([lacks, lacks], self.mode())
    }
}

/// Where a crop of one axis starts: anywhere that it stays inside.
fn anywhere(side: usize, crop: usize, draw: &mut Draw) -> usize {
    draw.below(side.saturating_sub(crop) as u64 + 1) as usize
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
        let crop = random(r#"{"size": [2, 2]}"#);
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

    fn random(parameters: &str) -> RandomCrop {
        serde_json::from_str(parameters).unwrap()
    }

    #[test]
    fn what_is_padded_twice_is_mirrored_twice() {
        let crop = random(
            r#"{"size": [1, 9], "padding": [1, 0], "pad_if_needed": true, "padding_mode": "reflect"}"#,
        );
        // 1 2 3 becomes 2 1 2 3 2, and that lacks 4 on each side; the draw is 0 to 4.
        let whole = [2, 3, 2, 1, 2, 1, 2, 3, 2, 3, 2, 1, 2];
        let mut draw = Draw::new(0, 0, b"", 1);
        for _ in 0..20 {
            let out = crop.random_map(ramp(1, 3), &mut draw).unwrap();
            assert!(whole.windows(9).any(|window| window == &out.data()[..]), "{:?}", out.data());
        }
    }

    #[test]
    fn unused_parameters_are_not_written() {
        let text = serde_json::to_string(&random(r#"{"size": [4, 4]}"#)).unwrap();
        assert_eq!(text, r#"{"size":[4,4]}"#);
    }

    #[test]
    fn a_crop_larger_than_the_picture_names_the_way_out() {
        let crop = random(r#"{"size": [4, 4]}"#);
        let error = crop.random_map(ramp(3, 9), &mut Draw::new(0, 0, b"", 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot cut 4 × 4 out of uint8 [3, 9, 1]: put a `resize` before it"
        );
    }
}
