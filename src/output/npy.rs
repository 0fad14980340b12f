//! NumPy's array format, version 1.0 (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use crate::sample::{Array, Buffer, Dtype};

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The header is a multiple of this, so that the elements that follow it are aligned for any use.
/// NumPy asks for a multiple of 64 and itself writes 128 for every array of a few dimensions.
const ALIGNMENT: usize = 128;

/// Everything before the elements.
pub(super) fn header(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let mut dims = String::new();
    for n in shape {
        dims.push_str(&format!("{n}, "));
    }
    // A tuple of one keeps its comma; longer ones have none at the end.
    let dims = if shape.len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let words =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}", dtype.numpy());
    let before = MAGIC.len() + size_of::<u16>();
    let total = (before + words.len() + 1).next_multiple_of(ALIGNMENT);
    let mut header = Vec::with_capacity(total);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&((total - before) as u16).to_le_bytes());
    header.extend_from_slice(words.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}

/// The file: without copying the elements if the header fits in front of them.
pub(super) fn write(array: Array) -> Buffer {
    let header = header(array.dtype(), array.shape());
    let mut data = array.into_data();
    if header.len() > data.free_in_front() {
        let mut moved = Buffer::for_overwrite(header.len() + data.len());
        moved[header.len()..].copy_from_slice(&data);
        moved[..header.len()].copy_from_slice(&header);
        return moved;
    }
    data.grow_front(header.len()).copy_from_slice(&header);
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Layout;

    #[test]
    fn headers_are_numpys_own_to_the_byte() {
        // From NumPy 2.4: np.lib.format.write_array_header_1_0 of the same dtype and shape.
        let numpy = |words: &str, shape: &[usize]| {
            let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
            expected.extend_from_slice(words.as_bytes());
            expected.resize(127, b' ');
            expected.push(b'\n');
            assert_eq!(header(Dtype::Float32, shape), expected);
        };
        numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (224, 224, 3), }", &[224, 224, 3]);
        numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", &[7]);
        numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", &[]);
    }

    #[test]
    fn a_header_too_long_for_the_headroom_moves_the_elements() {
        let shape = [1, 0, 1 << 40, 1 << 40, 1 << 40, 1 << 40];
        let array = Array::for_overwrite(Dtype::Float32, Layout::Plain, &shape).unwrap();
        assert_eq!(write(array).len(), 256);
    }
}
