//! The random flips: left and right, or top and bottom, exchanged.
//!
//! It knows no element type: any picture can be flipped, in either order of axes.

use serde::{Deserialize, Serialize};

use super::fusion::small_picture;
use super::probability::Probability;
use super::{Part, Picture, Window, array_in, array_of_bytes};
use crate::draw::Draw;
use crate::sample::{Layout, Sample, Spec};
use crate::step::{Named, RandomMap, Reach, StepError, Unfit};

/// `random_horizontal_flip`: left and right exchanged with probability `p` (default 0.5).
///
/// Takes any picture, HWC or CHW, and keeps its spec. It draws once, always: whether to flip.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomHorizontalFlip {
    #[serde(default)]
    p: Probability,
}

/// `random_vertical_flip`: top and bottom exchanged with probability `p` (default 0.5).
///
/// Takes any picture, HWC or CHW, and keeps its spec. It draws once, always: whether to flip.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomVerticalFlip {
    #[serde(default)]
    p: Probability,
}

impl Named for RandomHorizontalFlip {
    const NAME: &'static str = "random_horizontal_flip";
}

impl Named for RandomVerticalFlip {
    const NAME: &'static str = "random_vertical_flip";
}

impl RandomMap for RandomHorizontalFlip {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        Picture::of(input).map(Picture::spec)
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Place
    }

    fn parts(&self, input: &Spec, draw: &mut Draw) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        let flipped = self.p.hits(draw);
        Some(vec![if flipped { Part::Mirror } else { Part::Crop(Window::whole(height, width)) }])
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        if !self.p.hits(draw) {
            return Ok(input);
        }
        let picture = array_in(input)?;
        let (_, width, channels) = picture.picture().unwrap_or_default();
        let element = picture.dtype().size();
        let pixel = match picture.layout() {
            Layout::Chw => element,
            Layout::Hwc | Layout::Plain => channels * element,
        };
        array_of_bytes(&output, |bytes| mirrored(picture.data(), bytes, width, pixel))
    }
}

/// Exchanges left and right of a picture whose pixels are of `pixel` bytes.
pub(super) fn mirrored(source: &[u8], target: &mut [u8], width: usize, pixel: usize) {
    let rows = source.chunks_exact(width * pixel);
    for (source, target) in rows.zip(target.chunks_exact_mut(width * pixel)) {
        mirror(source, target, pixel);
    }
}

impl RandomMap for RandomVerticalFlip {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        Picture::of(input).map(Picture::spec)
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Place
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        if !self.p.hits(draw) {
            return Ok(input);
        }
        let picture = array_in(input)?;
        let (height, width, channels) = picture.picture().unwrap_or_default();
        let element = picture.dtype().size();
        let row = match picture.layout() {
            Layout::Chw => width * element,
            Layout::Hwc | Layout::Plain => width * channels * element,
        };
        array_of_bytes(&output, |bytes| {
            let planes = picture.data().chunks_exact(height * row);
            for (source, target) in planes.zip(bytes.chunks_exact_mut(height * row)) {
                let rows = source.chunks_exact(row).rev();
                for (source, target) in rows.zip(target.chunks_exact_mut(row)) {
                    target.copy_from_slice(source);
                }
            }
        })
    }
}

/// Copies a row of pixels in reverse; the usual pixels by a copy of fixed size.
fn mirror(source: &[u8], target: &mut [u8], pixel: usize) {
    fn fixed<const N: usize>(source: &[u8], target: &mut [u8]) {
        let (source, target) = (source.as_chunks::<N>().0, target.as_chunks_mut::<N>().0);
        for (source, target) in source.iter().rev().zip(target) {
            *target = *source;
        }
    }
    match pixel {
        1 => fixed::<1>(source, target),
        3 => fixed::<3>(source, target),
        4 => fixed::<4>(source, target),
        12 => fixed::<12>(source, target),
        _ => {
            let source = source.chunks_exact(pixel).rev();
            for (source, target) in source.zip(target.chunks_exact_mut(pixel)) {
                target.copy_from_slice(source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Array, Buffer, Dtype};

    fn always(p: f64) -> RandomHorizontalFlip {
        RandomHorizontalFlip { p: p.try_into().unwrap() }
    }

    #[test]
    fn pixels_change_sides_and_channels_keep_their_order() {
        let cases: [(Layout, &[usize], &[u8]); 3] = [
            (Layout::Hwc, &[1, 2, 3], &[4, 5, 6, 1, 2, 3]),
            (Layout::Hwc, &[1, 3, 2], &[5, 6, 3, 4, 1, 2]),
            (Layout::Chw, &[2, 1, 3], &[3, 2, 1, 6, 5, 4]),
        ];
        for (layout, shape, flipped) in cases {
            let data = Buffer::copy_of(&[1, 2, 3, 4, 5, 6]);
            let picture = Array::from_parts(Dtype::Uint8, layout, shape, data).unwrap();
            let mut draw = Draw::new(0, 0, b"", 1);
            let out = always(1.0).random_map(Sample::Array(picture.clone()), &mut draw).unwrap();
            assert_eq!(&out.data()[..], flipped);
            let out = always(0.0).random_map(Sample::Array(picture), &mut draw).unwrap();
            assert_eq!(&out.data()[..], &[1, 2, 3, 4, 5, 6]);
        }
    }

    #[test]
    fn rows_change_places_and_planes_do_not() {
        let cases: [(Layout, &[usize], &[u8]); 2] = [
            (Layout::Hwc, &[2, 1, 3], &[4, 5, 6, 1, 2, 3]),
            (Layout::Chw, &[2, 3, 1], &[3, 2, 1, 6, 5, 4]),
        ];
        for (layout, shape, flipped) in cases {
            let data = Buffer::copy_of(&[1, 2, 3, 4, 5, 6]);
            let picture = Array::from_parts(Dtype::Uint8, layout, shape, data).unwrap();
            let step = RandomVerticalFlip { p: 1.0.try_into().unwrap() };
            let mut draw = Draw::new(0, 0, b"", 1);
            let out = step.random_map(Sample::Array(picture), &mut draw).unwrap();
            assert_eq!(&out.data()[..], flipped);
        }
    }

    #[test]
    fn p_is_a_probability() {
        let read = |text| serde_json::from_str::<RandomHorizontalFlip>(text);
        assert!(read(r#"{"p": 1.5}"#).unwrap_err().to_string().contains("from 0 to 1"));
        assert_eq!(serde_json::to_string(&read("{}").unwrap()).unwrap(), r#"{"p":0.5}"#);
    }
}
