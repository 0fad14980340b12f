//! What is known of a sample before it is made: type, axes, and dimensions as far as they are
//! fixed.
//!
//! Every step says, from the spec of its input, the spec of its output. That alone gives type
//! errors before any sample is read, sizes for `stat` without computing, and the profiler's
//! storage estimate.

use std::fmt;

use super::Dtype;

/// The most dimensions an array has.
pub const MAX_DIMS: usize = 6;

/// What a sample is, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Spec {
    /// Raw bytes of any length.
    Bytes,
    /// An array.
    Array(ArraySpec),
}

/// An array, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArraySpec {
    /// The type of its elements.
    pub dtype: Dtype,
    /// What its axes mean.
    pub layout: Layout,
    /// Its shape, outermost axis first; at most [`MAX_DIMS`] long.
    pub dims: Vec<Dim>,
}

/// One dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// The same for every sample.
    Is(usize),
    /// Depends on the sample.
    Varies,
}

/// What the axes of an array mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// A picture: height, width, channels.
    Hwc,
    /// A picture: channels, height, width.
    Chw,
    /// Axes without a meaning to us.
    Plain,
}

impl Layout {
    /// All of them, in the order of their wire numbers.
    pub const ALL: [Layout; 3] = [Layout::Hwc, Layout::Chw, Layout::Plain];

    const fn axes(self) -> &'static [&'static str] {
        match self {
            Layout::Hwc => &["H", "W", "C"],
            Layout::Chw => &["C", "H", "W"],
            Layout::Plain => &[],
        }
    }
}

impl Dim {
    /// The dimension, if it is the same for every sample.
    pub const fn exact(self) -> Option<usize> {
        match self {
            Dim::Is(n) => Some(n),
            Dim::Varies => None,
        }
    }
}

impl ArraySpec {
    /// A picture as height × width × channels.
    pub fn hwc(dtype: Dtype, height: Dim, width: Dim, channels: Dim) -> ArraySpec {
        ArraySpec { dtype, layout: Layout::Hwc, dims: vec![height, width, channels] }
    }

    /// The shape, if every dimension is exact.
    pub fn shape(&self) -> Option<Vec<usize>> {
        self.dims.iter().map(|dim| dim.exact()).collect()
    }

    /// The bytes of the elements, if every dimension is exact and the product fits.
    pub fn bytes(&self) -> Option<u64> {
        self.dims
            .iter()
            .try_fold(self.dtype.size() as u64, |bytes, dim| bytes.checked_mul(dim.exact()? as u64))
    }
}

impl Spec {
    /// The array, if it is one.
    pub fn array(&self) -> Option<&ArraySpec> {
        match self {
            Spec::Array(array) => Some(array),
            Spec::Bytes => None,
        }
    }

    /// The bytes of a sample's payload, if they are the same for every sample.
    pub fn bytes(&self) -> Option<u64> {
        self.array().and_then(ArraySpec::bytes)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Bytes => f.pad("bytes"),
            Spec::Array(array) => f.pad(&array.to_string()),
        }
    }
}

impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [", self.dtype)?;
        for (axis, dim) in self.dims.iter().enumerate() {
            let comma = if axis == 0 { "" } else { ", " };
            match dim {
                Dim::Is(n) => write!(f, "{comma}{n}")?,
                Dim::Varies => {
                    write!(f, "{comma}{}", self.layout.axes().get(axis).copied().unwrap_or("?"))?;
                }
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_reads_as_dtype_and_shape() {
        let picture = ArraySpec::hwc(Dtype::Uint8, Dim::Varies, Dim::Is(256), Dim::Is(3));
        assert_eq!(picture.to_string(), "uint8 [H, 256, 3]");
        assert_eq!(picture.bytes(), None);
        let fixed = ArraySpec::hwc(Dtype::Float32, Dim::Is(2), Dim::Is(4), Dim::Is(3));
        assert_eq!(fixed.bytes(), Some(96));
    }

    #[test]
    fn bytes_that_overflow_are_not_known() {
        let most = Dim::Is(usize::MAX);
        assert_eq!(ArraySpec::hwc(Dtype::Uint8, most, most, most).bytes(), None);
    }
}
