//! A reversible filter that makes numbers of several bytes easier to compress: first bytes of all
//! elements are put together, then all second bytes, and so on. Signs and exponents of neighbours are
//! alike, the last bits of fractions aren't, and kept apart, the first pack well (Blosc and HDF5 do the same).
//!
//! It knows no compressor.

use crate::sample::{Buffer, Spec};

/// Bytes of an element of such a sample, if they are several.
pub(super) fn width(spec: &Spec) -> Option<usize> {
    spec.array().map(|array| array.dtype.size()).filter(|width| *width > 1)
}

/// The bytes, apart by their place in an element of `width` bytes. What is no whole element at the end
/// stays there.
pub(super) fn shuffle(bytes: &[u8], width: usize) -> Buffer {
    let mut apart = Buffer::for_overwrite(bytes.len());
    let elements = bytes.len() / width;
    let (planes, rest) = apart.split_at_mut(elements * width);
    if elements > 0 {
        for (place, plane) in planes.chunks_exact_mut(elements).enumerate() {
            for (byte, element) in plane.iter_mut().zip(bytes.chunks_exact(width)) {
                *byte = element[place];
            }
        }
    }
    rest.copy_from_slice(&bytes[elements * width..]);
    apart
}

/// The bytes that were put apart.
pub(super) fn unshuffle(apart: &[u8], width: usize) -> Buffer {
    let mut bytes = Buffer::for_overwrite(apart.len());
    match width {
        2 => join::<2>(apart, &mut bytes),
        4 => join::<4>(apart, &mut bytes),
        8 => join::<8>(apart, &mut bytes),
        // No type has such elements; nothing was put apart.
        _ => bytes.copy_from_slice(apart),
    }
    bytes
}

/// The width is known when this is compiled: so the loop over elements is one of vectors.
fn join<const WIDTH: usize>(apart: &[u8], bytes: &mut [u8]) {
    let elements = apart.len() / WIDTH;
    let (planes, rest) = apart.split_at(elements * WIDTH);
    let planes: [&[u8]; WIDTH] =
        std::array::from_fn(|place| &planes[place * elements..(place + 1) * elements]);
    let (whole, end) = bytes.split_at_mut(elements * WIDTH);
    for (at, element) in whole.chunks_exact_mut(WIDTH).enumerate() {
        for (byte, plane) in element.iter_mut().zip(&planes) {
            *byte = plane[at];
        }
    }
    end.copy_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_place_are_together_and_come_back() {
        assert_eq!(&*shuffle(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [1, 5, 2, 6, 3, 7, 4, 8, 9]);
        for width in [2, 4, 8] {
            for len in [0, 1, 7, 8, 9, 640, 643] {
                let bytes: Vec<u8> = (0..len).map(|at: usize| (at * 37) as u8).collect();
                assert_eq!(&*unshuffle(&shuffle(&bytes, width), width), bytes);
            }
        }
    }
}
