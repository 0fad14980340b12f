//! What flows through a pipeline: raw bytes or one array, with everything known about it.
//!
//! A sample knows nothing of where it came from, what will be done to it or where it is kept.

mod array;
mod buffer;
mod codec;
mod dtype;
mod spec;
mod stored;

pub use array::{Array, MAX_SAMPLE_BYTES, TooLarge};
pub use buffer::{Buffer, HEADROOM};
pub use codec::{BadData, CODECS, Codec};
pub use dtype::{Dtype, Element};
pub use spec::{ArraySpec, Dim, Layout, MAX_DIMS, Spec};
pub use stored::{Body, NotStored, STORED_META_LEN, Stored, restore, store, stored_spec};

/// One datum between two steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Bytes as the source has them, not yet decoded.
    Bytes(Buffer),
    /// A dense array in C order.
    Array(Array),
}

impl Sample {
    /// The spec of this very sample: every dimension is exact.
    pub fn spec(&self) -> Spec {
        match self {
            Sample::Bytes(_) => Spec::Bytes,
            Sample::Array(array) => Spec::Array(array.spec()),
        }
    }

    /// The payload, without any header, in bytes.
    pub fn len(&self) -> usize {
        self.data().len()
    }

    /// Whether there is no payload.
    pub fn is_empty(&self) -> bool {
        self.data().is_empty()
    }

    /// The payload as bytes; numbers are little-endian.
    pub fn data(&self) -> &Buffer {
        match self {
            Sample::Bytes(data) => data,
            Sample::Array(array) => array.data(),
        }
    }
}
