//! A sample as it is stored: a small fixed-size description, and the payload, compressed.
//!
//! What is read back is treated as hostile: it becomes a sample only if everything fits together.

use super::codec::BadData;
use super::{Array, ArraySpec, Buffer, Codec, Dim, Dtype, Layout, MAX_DIMS, Sample, Spec};

/// Bytes of a [`Stored::meta`].
pub const STORED_META_LEN: usize = DIMS_AT + MAX_DIMS * size_of::<u64>();

// docs/FORMAT.md draws this.
const VERSION_AT: usize = 0;
const KIND_AT: usize = VERSION_AT + 1;
const DTYPE_AT: usize = KIND_AT + 1;
const LAYOUT_AT: usize = DTYPE_AT + 1;
const CODEC_AT: usize = LAYOUT_AT + 1;
const NDIM_AT: usize = CODEC_AT + 2;
const RESERVED_AT: usize = NDIM_AT + 1;
const LEN_AT: usize = RESERVED_AT + 1;
const DIMS_AT: usize = LEN_AT + size_of::<u64>();

const VERSION: u8 = 1;
const BYTES: u8 = 0;
const ARRAY: u8 = 1;

/// A sample as it is stored.
pub struct Stored<'a> {
    /// Type, shape, codec and length.
    pub meta: [u8; STORED_META_LEN],
    /// The payload.
    pub body: Body<'a>,
}

/// The payload of a stored sample.
pub enum Body<'a> {
    /// As it is.
    Plain(&'a [u8]),
    /// Compressed.
    Packed(Vec<u8>),
}

impl Body<'_> {
    /// The bytes to store.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Body::Plain(bytes) => bytes,
            Body::Packed(bytes) => bytes,
        }
    }
}

/// What was read back is not a stored sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStored {
    /// The description makes no sense, or isn't this version's.
    #[error("not the description of a stored sample")]
    Meta,
    /// The payload doesn't fit the description.
    #[error("the payload doesn't fit its description")]
    Body(#[from] BadData),
}

/// The sample in stored form, compressed by `codec` where that makes it smaller.
pub fn store(sample: &Sample, codec: Codec) -> Stored<'_> {
    let data: &[u8] = sample.data();
    let (codec, body) = match codec.compress(data, &sample.spec()) {
        Some((codec, packed)) => (codec, Body::Packed(packed)),
        None => (Codec::None, Body::Plain(data)),
    };
    let mut meta = [0; STORED_META_LEN];
    meta[VERSION_AT] = VERSION;
    meta[CODEC_AT..NDIM_AT].copy_from_slice(&codec.wire());
    meta[LEN_AT..DIMS_AT].copy_from_slice(&(data.len() as u64).to_le_bytes());
    match sample {
        Sample::Bytes(_) => meta[KIND_AT] = BYTES,
        Sample::Array(array) => {
            meta[KIND_AT] = ARRAY;
            meta[DTYPE_AT] = number_of(&Dtype::ALL, array.dtype());
            meta[LAYOUT_AT] = number_of(&Layout::ALL, array.layout());
            meta[NDIM_AT] = array.shape().len() as u8;
            for (at, n) in meta[DIMS_AT..].chunks_exact_mut(size_of::<u64>()).zip(array.shape()) {
                at.copy_from_slice(&(*n as u64).to_le_bytes());
            }
        }
    }
    Stored { meta, body }
}

/// The sample that was stored.
///
/// # Errors
/// If this isn't one.
pub fn restore(meta: &[u8; STORED_META_LEN], body: Buffer) -> Result<Sample, NotStored> {
    let (spec, codec, len) = read_meta(meta)?;
    let data = codec.decompress(body, len, &spec)?;
    match spec {
        Spec::Bytes => Ok(Sample::Bytes(data)),
        Spec::Array(ArraySpec { dtype, layout, dims }) => {
            let shape: Vec<usize> = dims.iter().filter_map(|dim| dim.exact()).collect();
            Array::from_parts(dtype, layout, &shape, data).map(Sample::Array).ok_or(NotStored::Meta)
        }
    }
}

/// The spec of a stored sample, exact, told by its description alone.
///
/// # Errors
/// If it isn't a description.
pub fn stored_spec(meta: &[u8; STORED_META_LEN]) -> Result<Spec, NotStored> {
    read_meta(meta).map(|(spec, _, _)| spec)
}

fn read_meta(meta: &[u8; STORED_META_LEN]) -> Result<(Spec, Codec, usize), NotStored> {
    read_checked(meta).ok_or(NotStored::Meta)
}

fn read_checked(meta: &[u8; STORED_META_LEN]) -> Option<(Spec, Codec, usize)> {
    if meta[VERSION_AT] != VERSION {
        return None;
    }
    let codec = Codec::from_wire([meta[CODEC_AT], meta[CODEC_AT + 1]])?;
    let word = |at: usize| {
        let bytes = meta[at..at + size_of::<u64>()].try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let len = word(LEN_AT)?;
    let spec = match meta[KIND_AT] {
        BYTES => Spec::Bytes,
        ARRAY => {
            let ndim = usize::from(meta[NDIM_AT]);
            if ndim > MAX_DIMS {
                return None;
            }
            let dims = (0..ndim)
                .map(|n| word(DIMS_AT + n * size_of::<u64>()).map(Dim::Is))
                .collect::<Option<_>>()?;
            Spec::Array(ArraySpec {
                dtype: *Dtype::ALL.get(usize::from(meta[DTYPE_AT]))?,
                layout: *Layout::ALL.get(usize::from(meta[LAYOUT_AT]))?,
                dims,
            })
        }
        _ => return None,
    };
    Some((spec, codec, len))
}

fn number_of<T: PartialEq>(all: &[T], one: T) -> u8 {
    all.iter().position(|other| *other == one).expect("ALL lists every variant") as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sample> {
        let ramp = Buffer::copy_of(&(0..=250).cycle().take(6 * 251).collect::<Vec<u8>>());
        let mut all = vec![Sample::Bytes(ramp.clone()), Sample::Bytes(Buffer::zeroed(0))];
        for dtype in Dtype::ALL {
            let mut data = ramp.clone();
            data.truncate(48);
            let shape = [2, 3, 8 / dtype.size()];
            all.push(Sample::Array(Array::from_parts(dtype, Layout::Chw, &shape, data).unwrap()));
        }
        all
    }

    #[test]
    fn a_sample_comes_back_from_every_codec() {
        for sample in samples() {
            for codec in [Codec::None, Codec::Lz4, Codec::Zstd(3)] {
                let stored = store(&sample, codec);
                assert_eq!(stored_spec(&stored.meta).unwrap(), sample.spec());
                let body = Buffer::copy_of(stored.body.bytes());
                assert_eq!(restore(&stored.meta, body).unwrap(), sample);
            }
        }
    }

    #[test]
    fn a_description_with_any_byte_changed_never_panics_or_lies_about_the_length() {
        for sample in samples() {
            let stored = store(&sample, Codec::Zstd(1));
            for at in 0..STORED_META_LEN {
                for flip in [1, 0x80, 0xff] {
                    let mut meta = stored.meta;
                    meta[at] ^= flip;
                    if let Ok(got) = restore(&meta, Buffer::copy_of(stored.body.bytes())) {
                        assert_eq!(got.len(), sample.len());
                    }
                }
            }
        }
    }
}
