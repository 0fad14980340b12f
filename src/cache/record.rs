//! The bytes of one record: a header, then the body, then zeros up to the next record.
//!
//! `docs/FORMAT.md` draws it and says what a reader must check. Bytes that came from a disk are a
//! [`RawHeader`] or a [`RawRecord`] until they are checked; the checks are the only way on. It
//! knows no files.

use xxhash_rust::xxh3::xxh3_64;

use super::{Entry, Key, META_LEN, Meta};
use crate::sample::{Buffer, HEADROOM, MAX_SAMPLE_BYTES};

const MAGIC: [u8; 4] = *b"pbRe";
const VERSION: u32 = 1;

const VERSION_AT: usize = MAGIC.len();
const BODY_LEN_AT: usize = VERSION_AT + size_of::<u32>();
const BODY_SUM_AT: usize = BODY_LEN_AT + size_of::<u64>();
const KEY_AT: usize = BODY_SUM_AT + size_of::<u64>();
const META_AT: usize = KEY_AT + Key::LEN;
const HEADER_SUM_AT: usize = META_AT + META_LEN;

/// Bytes of a record's header.
pub(super) const HEADER_LEN: usize = HEADER_SUM_AT + size_of::<u64>();

// Header and body are read in one go, so that the body lands where a buffer's payload belongs.
const _: () = assert!(HEADER_LEN == HEADROOM);

/// Records start at multiples of this.
pub(super) const ALIGN: u64 = 64;

/// The longest body. The slack is for codecs that make what can't be compressed a little longer
/// (LZ4, the worst, by a 255th).
pub(super) const MAX_BODY: usize = MAX_SAMPLE_BYTES + (16 << 20);

/// Why bytes are not the record that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("no record starts here")]
    Magic,
    #[error("the record is of version {0}, and {VERSION} was expected")]
    Version(u32),
    #[error("the header's checksum is wrong")]
    HeaderSum,
    #[error("a body of {0} bytes is more than a record may have")]
    TooLong(u64),
    #[error("the record is of another key")]
    OtherKey,
    #[error("the record is of {found} bytes where {expected} were expected")]
    OtherLength { found: u32, expected: u32 },
    #[error("the body's checksum is wrong")]
    BodySum,
}

/// A header that is known to be as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) key: Key,
    pub(super) meta: Meta,
    pub(super) body_len: u32,
    body_sum: u64,
}

impl Header {
    /// The header for an entry; none if its body is longer than [`MAX_BODY`].
    pub(super) fn of(key: &Key, meta: &Meta, body: &[u8]) -> Option<Header> {
        let body_len = u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_BODY)?;
        Some(Header { key: *key, meta: *meta, body_len, body_sum: xxh3_64(body) })
    }

    /// The bytes to be written.
    pub(super) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..VERSION_AT].copy_from_slice(&MAGIC);
        bytes[VERSION_AT..BODY_LEN_AT].copy_from_slice(&VERSION.to_le_bytes());
        bytes[BODY_LEN_AT..BODY_SUM_AT].copy_from_slice(&u64::from(self.body_len).to_le_bytes());
        bytes[BODY_SUM_AT..KEY_AT].copy_from_slice(&self.body_sum.to_le_bytes());
        bytes[KEY_AT..META_AT].copy_from_slice(&self.key.0);
        bytes[META_AT..HEADER_SUM_AT].copy_from_slice(&self.meta);
        let sum = xxh3_64(&bytes[..HEADER_SUM_AT]);
        bytes[HEADER_SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Bytes from the start of this record to the start of the next.
    pub(super) fn record_len(&self) -> u64 {
        record_len(self.body_len)
    }

    /// Zeros that follow the body.
    pub(super) fn padding(&self) -> &'static [u8] {
        const ZEROS: [u8; ALIGN as usize] = [0; ALIGN as usize];
        let rest = self.body_len as usize % ZEROS.len();
        &ZEROS[..(ZEROS.len() - rest) % ZEROS.len()]
    }

    /// Checks that this is the header of the record that was looked for.
    pub(super) fn is_for(&self, key: &Key, body_len: u32) -> Result<(), Broken> {
        if self.key != *key {
            return Err(Broken::OtherKey);
        }
        if self.body_len != body_len {
            return Err(Broken::OtherLength { found: self.body_len, expected: body_len });
        }
        Ok(())
    }
}

/// Bytes of a record with a body of `body_len`, header and padding included.
pub(super) fn record_len(body_len: u32) -> u64 {
    (HEADER_LEN as u64 + u64::from(body_len)).next_multiple_of(ALIGN)
}

/// Bytes from where a header should be, not yet checked.
pub(super) struct RawHeader<'a>(pub(super) &'a [u8; HEADER_LEN]);

impl RawHeader<'_> {
    /// Checks all that can be checked without the body.
    pub(super) fn check(self) -> Result<Header, Broken> {
        let RawHeader(bytes) = self;
        if bytes[..VERSION_AT] != MAGIC {
            return Err(Broken::Magic);
        }
        let version = u32::from_le_bytes(field(bytes, VERSION_AT));
        if version != VERSION {
            return Err(Broken::Version(version));
        }
        if u64::from_le_bytes(field(bytes, HEADER_SUM_AT)) != xxh3_64(&bytes[..HEADER_SUM_AT]) {
            return Err(Broken::HeaderSum);
        }
        let long = u64::from_le_bytes(field(bytes, BODY_LEN_AT));
        let body_len = u32::try_from(long)
            .ok()
            .filter(|len| *len as usize <= MAX_BODY)
            .ok_or(Broken::TooLong(long))?;
        Ok(Header {
            key: Key(field(bytes, KEY_AT)),
            meta: field(bytes, META_AT),
            body_len,
            body_sum: u64::from_le_bytes(field(bytes, BODY_SUM_AT)),
        })
    }
}

fn field<const N: usize>(bytes: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

/// Which bytes of a record are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// All of them.
    Whole,
    /// Only the header: the body was found right before.
    Header,
}

/// Header and body as they came from a disk, not yet checked.
pub(super) struct RawRecord(Buffer);

impl RawRecord {
    /// Room for a record, and what reads into it: `read` is given the whole of header and body.
    pub(super) fn read<E>(
        body_len: u32,
        read: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<RawRecord, E> {
        let mut buffer = Buffer::for_overwrite(body_len as usize);
        buffer.grow_front(HEADER_LEN);
        read(&mut buffer)?;
        Ok(RawRecord(buffer))
    }

    /// The entry, if this is its record.
    pub(super) fn check(self, key: &Key, check: Check) -> Result<Entry, Broken> {
        let RawRecord(mut buffer) = self;
        let (header, body) =
            buffer.split_first_chunk().expect("a record's buffer is made with room for its header");
        let header = RawHeader(header).check()?;
        // A body is some 1 GiB at most, so that its length fits.
        header.is_for(key, body.len() as u32)?;
        if check == Check::Whole && xxh3_64(body) != header.body_sum {
            return Err(Broken::BodySum);
        }
        buffer.drop_front(HEADER_LEN);
        Ok(Entry { meta: header.meta, body: buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: Key, body: &[u8]) -> Vec<u8> {
        let header = Header::of(&key, &[3; META_LEN], body).unwrap();
        [&header.encode(), body].concat()
    }

    fn check(bytes: &[u8], key: Key, how: Check) -> Result<Entry, Broken> {
        let raw = RawRecord::read::<()>((bytes.len() - HEADER_LEN) as u32, |into| {
            into.copy_from_slice(bytes);
            Ok(())
        });
        raw.unwrap().check(&key, how)
    }

    #[test]
    fn a_record_comes_back_with_its_body_at_the_place_of_a_payload() {
        let key = Key([1; 32]);
        let entry = check(&record(key, b"body"), key, Check::Whole).unwrap();
        assert_eq!((entry.meta, &*entry.body), ([3; META_LEN], &b"body"[..]));
        assert_eq!(entry.body.free_in_front(), HEADROOM);
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let key = Key([1; 32]);
        let whole = record(key, b"some bytes");
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&bytes, key, Check::Whole).is_err(), "bit {bit}");
            let header_hit = bit / 8 < HEADER_LEN;
            assert_eq!(check(&bytes, key, Check::Header).is_err(), header_hit, "bit {bit}");
        }
    }

    #[test]
    fn a_record_of_another_key_or_length_is_refused() {
        let whole = record(Key([1; 32]), b"body");
        assert_eq!(check(&whole, Key([2; 32]), Check::Whole), Err(Broken::OtherKey));
        let longer = [&whole[..], b"!"].concat();
        let other = Broken::OtherLength { found: 4, expected: 5 };
        assert_eq!(check(&longer, Key([1; 32]), Check::Whole), Err(other));
    }

    #[test]
    fn a_length_that_no_body_may_have_is_refused_though_its_checksum_is_right() {
        let mut header = Header::of(&Key([1; 32]), &[0; META_LEN], b"").unwrap();
        header.body_len = MAX_BODY as u32 + 1;
        let refused = RawHeader(&header.encode()).check();
        assert_eq!(refused, Err(Broken::TooLong(MAX_BODY as u64 + 1)));
    }

    #[test]
    fn records_are_padded_to_the_next_multiple() {
        for (body, expected) in [(0, 128), (1, 192), (64, 192), (65, 256)] {
            let header = Header::of(&Key([0; 32]), &[0; META_LEN], &vec![0; body]).unwrap();
            assert_eq!(header.record_len(), expected);
            assert_eq!((HEADER_LEN + body + header.padding().len()) as u64, expected);
        }
    }
}
