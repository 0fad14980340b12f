//! The order of axes: channels moved from the last place to the first.
//!
//! It knows no element type.

use serde::{Deserialize, Serialize};

use super::{Part, Picture, array_in, array_of_bytes};
use crate::sample::{Layout, Sample, Spec};
use crate::step::{Map, Named, Reach, StepError, Unfit};

/// `to_chw`: height × width × channels to channels × height × width, as torch wants pictures.
///
/// Takes any HWC picture; elements keep their type and value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToChw {}

impl Named for ToChw {
    const NAME: &'static str = "to_chw";
}

impl Map for ToChw {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = Picture::of(input)?;
        if picture.layout == Layout::Chw {
            return Err(Unfit(format!("needs channels last, but gets {input}: remove one of two")));
        }
        Ok(Picture { layout: Layout::Chw, ..picture }.spec())
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        self.spec(input).is_ok().then(|| vec![Part::ChannelsFirst])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (_, _, channels) = picture.picture().unwrap_or_default();
        array_of_bytes(&output, |bytes| match picture.dtype().size() {
            1 => planes::<1>(picture.data(), bytes, channels),
            2 => planes::<2>(picture.data(), bytes, channels),
            4 => planes::<4>(picture.data(), bytes, channels),
            _ => planes::<8>(picture.data(), bytes, channels),
        })
    }
}

/// Pixels of elements of `N` bytes to planes of them.
fn planes<const N: usize>(pixels: &[u8], planes: &mut [u8], channels: usize) {
    let (pixels, planes) = (pixels.as_chunks::<N>().0, planes.as_chunks_mut::<N>().0);
    let length = planes.len() / channels;
    if channels == 3 {
        // One pass over the pixels instead of three.
        let (first, rest) = planes.split_at_mut(length);
        let (second, third) = rest.split_at_mut(length);
        let planes = first.iter_mut().zip(second).zip(third);
        for ([r, g, b], ((first, second), third)) in pixels.as_chunks::<3>().0.iter().zip(planes) {
            (*first, *second, *third) = (*r, *g, *b);
        }
        return;
    }
    for (channel, plane) in planes.chunks_exact_mut(length).enumerate() {
        let elements = pixels[channel..].iter().step_by(channels);
        for (out, element) in plane.iter_mut().zip(elements) {
            *out = *element;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Array, Buffer, Dtype};

    #[test]
    fn elements_of_every_width_move() {
        for (dtype, size) in
            [(Dtype::Uint8, 1), (Dtype::Int16, 2), (Dtype::Int32, 4), (Dtype::Int64, 8)]
        {
            let wide = |order: [u8; 6]| order.map(|n| vec![n; size]).concat();
            let data = Buffer::copy_of(&wide([1, 2, 3, 4, 5, 6]));
            let picture = Array::from_parts(dtype, Layout::Hwc, &[1, 2, 3], data).unwrap();
            let made = ToChw {}.map(Sample::Array(picture)).unwrap();
            assert_eq!(made.spec().to_string(), format!("{dtype} [3, 1, 2]"));
            assert_eq!(made.data()[..], wide([1, 4, 2, 5, 3, 6]));
            let data = Buffer::copy_of(&wide([1, 2, 3, 4, 5, 6]));
            let picture = Array::from_parts(dtype, Layout::Hwc, &[3, 1, 2], data).unwrap();
            let made = ToChw {}.map(Sample::Array(picture)).unwrap();
            assert_eq!(made.data()[..], wide([1, 3, 5, 2, 4, 6]));
        }
    }
}
