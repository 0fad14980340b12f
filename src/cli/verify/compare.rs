//! How far two arrays of one type and shape are apart.

use bytemuck::pod_read_unaligned;
use half::f16;

use crate::sample::{ArraySpec, Dtype, Layout};

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Apart {
    /// Pixels (of a picture) or elements that differ.
    pub(super) pixels: u64,
    /// Pixels or elements that there are.
    pub(super) of: u64,
    /// The largest difference of two values; infinite if one is no number.
    pub(super) most: f64,
}

/// Compares the elements of two arrays of this spec bit by bit, as little-endian bytes.
pub(super) fn apart(spec: &ArraySpec, ours: &[u8], theirs: &[u8]) -> Apart {
    let shape = spec.shape().unwrap_or_default();
    let size = spec.dtype.size();
    let elements = ours.len() / size;
    // The pixel that an element belongs to.
    let (of, pixel): (usize, Box<dyn Fn(usize) -> usize>) = match (spec.layout, shape.as_slice()) {
        (Layout::Hwc, &[height, width, channels]) => {
            (height * width, Box::new(move |at| at / channels.max(1)))
        }
        (Layout::Chw, &[_, height, width]) => {
            let plane = height * width;
            (plane, Box::new(move |at| at % plane.max(1)))
        }
        _ => (elements, Box::new(|at| at)),
    };
    if ours == theirs {
        return Apart { pixels: 0, of: of as u64, most: 0.0 };
    }
    let mut differs = vec![false; of];
    let mut most = 0.0_f64;
    for at in 0..elements {
        let place = at * size..(at + 1) * size;
        let (our, their) = (&ours[place.clone()], &theirs[place]);
        if our != their {
            differs[pixel(at)] = true;
            let by = (value(spec.dtype, our) - value(spec.dtype, their)).abs();
            most = most.max(if by.is_nan() { f64::INFINITY } else { by });
        }
    }
    let pixels = differs.iter().filter(|differs| **differs).count() as u64;
    Apart { pixels, of: of as u64, most }
}

fn value(dtype: Dtype, bytes: &[u8]) -> f64 {
    match dtype {
        Dtype::Uint8 => f64::from(bytes[0]),
        Dtype::Uint16 => f64::from(pod_read_unaligned::<u16>(bytes)),
        Dtype::Int16 => f64::from(pod_read_unaligned::<i16>(bytes)),
        Dtype::Int32 => f64::from(pod_read_unaligned::<i32>(bytes)),
        Dtype::Int64 => pod_read_unaligned::<i64>(bytes) as f64,
        Dtype::Float16 => pod_read_unaligned::<f16>(bytes).to_f64(),
        Dtype::Float32 => f64::from(pod_read_unaligned::<f32>(bytes)),
        Dtype::Float64 => pod_read_unaligned::<f64>(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Dim;

    fn spec(dtype: Dtype, layout: Layout, shape: &[usize]) -> ArraySpec {
        ArraySpec { dtype, layout, dims: shape.iter().map(|n| Dim::Is(*n)).collect() }
    }

    #[test]
    fn a_pixel_counts_once_in_either_order_of_axes() {
        let (ours, theirs) = ([1, 2, 3, 4, 5, 6], [1, 2, 9, 8, 5, 6]);
        let hwc = apart(&spec(Dtype::Uint8, Layout::Hwc, &[2, 1, 3]), &ours, &theirs);
        assert_eq!(hwc, Apart { pixels: 2, of: 2, most: 6.0 });
        let chw = apart(&spec(Dtype::Uint8, Layout::Chw, &[3, 2, 1]), &ours, &theirs);
        assert_eq!(chw, Apart { pixels: 2, of: 2, most: 6.0 });
        let same = apart(&spec(Dtype::Uint8, Layout::Chw, &[3, 2, 1]), &ours, &ours);
        assert_eq!(same, Apart { pixels: 0, of: 2, most: 0.0 });
        let one = apart(&spec(Dtype::Uint8, Layout::Hwc, &[2, 1, 3]), &ours, &[0, 1, 2, 4, 5, 6]);
        assert_eq!(one.pixels, 1);
    }

    #[test]
    fn bits_are_compared_not_numbers() {
        let floats = spec(Dtype::Float32, Layout::Plain, &[3]);
        let bytes = |values: [f32; 3]| bytemuck::cast_slice::<f32, u8>(&values).to_vec();
        let ours = bytes([0.0, f32::NAN, 1.0]);
        assert_eq!(apart(&floats, &ours, &ours).pixels, 0);
        let zero = apart(&floats, &ours, &bytes([-0.0, f32::NAN, 1.0]));
        assert_eq!(zero, Apart { pixels: 1, of: 3, most: 0.0 });
        let no_number = apart(&floats, &ours, &bytes([0.0, 2.0, 1.0]));
        assert_eq!(no_number.most, f64::INFINITY);
    }
}
