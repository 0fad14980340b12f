//! A dense array in C order, its elements in a [`Buffer`].

use super::{ArraySpec, Buffer, Dim, Dtype, Element, Layout, MAX_DIMS};

// Elements are written and read in the machine's order and promised little-endian.
#[cfg(target_endian = "big")]
compile_error!("parbake serves little-endian arrays and runs on little-endian machines");

/// The most bytes a sample may have, so that a lying header or a typing error in a size costs an
/// error instead of the machine's memory.
pub const MAX_SAMPLE_BYTES: usize = 1 << 30;

/// Refused: an array of more than [`MAX_SAMPLE_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an array of {shape:?} {dtype} is larger than the {} MiB a sample may have", MAX_SAMPLE_BYTES >> 20)]
pub struct TooLarge {
    dtype: Dtype,
    shape: Vec<usize>,
}

/// A dense array in C order. `data.len() == shape.product() * dtype.size()`, always.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    dtype: Dtype,
    layout: Layout,
    shape: Vec<usize>,
    data: Buffer,
}

impl Array {
    /// An array to be overwritten: its elements are not specified until then.
    ///
    /// # Errors
    /// If it would have more than [`MAX_SAMPLE_BYTES`]; nothing is allocated then.
    ///
    /// # Panics
    /// If the shape has more than [`MAX_DIMS`] dimensions.
    pub fn for_overwrite(dtype: Dtype, layout: Layout, shape: &[usize]) -> Result<Array, TooLarge> {
        let len = bytes_of(dtype, shape)?;
        Ok(Array { dtype, layout, shape: shape.to_vec(), data: Buffer::for_overwrite(len) })
    }

    /// An array from its parts; `None` if `data` is not exactly as long as the shape asks.
    pub fn from_parts(
        dtype: Dtype,
        layout: Layout,
        shape: &[usize],
        data: Buffer,
    ) -> Option<Array> {
        let len = bytes_of(dtype, shape).ok()?;
        (len == data.len()).then(|| Array { dtype, layout, shape: shape.to_vec(), data })
    }

    /// The same array with its elements elsewhere; `None` if there are more or fewer of them.
    #[must_use]
    pub fn with_data(&self, data: Buffer) -> Option<Array> {
        Array::from_parts(self.dtype, self.layout, &self.shape, data)
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// What the axes mean.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The shape, outermost axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The spec of this very array: every dimension is exact.
    pub fn spec(&self) -> ArraySpec {
        ArraySpec {
            dtype: self.dtype,
            layout: self.layout,
            dims: self.shape.iter().map(|n| Dim::Is(*n)).collect(),
        }
    }

    /// The elements as bytes.
    pub fn data(&self) -> &Buffer {
        &self.data
    }

    /// The elements as bytes.
    pub fn into_data(self) -> Buffer {
        self.data
    }

    /// The elements, if `T` is their type.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        (self.dtype == T::DTYPE).then(|| bytemuck::cast_slice(&self.data))
    }

    /// The elements, if `T` is their type.
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        (self.dtype == T::DTYPE).then(|| bytemuck::cast_slice_mut(&mut self.data))
    }

    /// Height, width and channels of a picture; `None` if this isn't one.
    pub fn picture(&self) -> Option<(usize, usize, usize)> {
        match (self.layout, self.shape.as_slice()) {
            (Layout::Hwc, &[height, width, channels]) => Some((height, width, channels)),
            (Layout::Chw, &[channels, height, width]) => Some((height, width, channels)),
            _ => None,
        }
    }
}

/// Bytes of an array, refused beyond [`MAX_SAMPLE_BYTES`].
fn bytes_of(dtype: Dtype, shape: &[usize]) -> Result<usize, TooLarge> {
    assert!(shape.len() <= MAX_DIMS, "an array of {} dimensions", shape.len());
    shape
        .iter()
        .try_fold(dtype.size(), |bytes, n| bytes.checked_mul(*n))
        .filter(|bytes| *bytes <= MAX_SAMPLE_BYTES)
        .ok_or_else(|| TooLarge { dtype, shape: shape.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_only_given_as_what_they_are() {
        let mut array = Array::for_overwrite(Dtype::Float32, Layout::Plain, &[2, 2]).unwrap();
        array.elements_mut::<f32>().unwrap().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(array.elements::<u8>(), None);
        assert_eq!(&array.data()[..4], &[0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn a_size_beyond_the_limit_is_refused_before_memory_is_taken() {
        let error = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &[1 << 40, 1 << 40, 3]);
        assert!(error.unwrap_err().to_string().contains("larger than the 1024 MiB"));
        assert!(Array::from_parts(Dtype::Uint8, Layout::Plain, &[3], Buffer::zeroed(2)).is_none());
    }
}
