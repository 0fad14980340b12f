//! The directory of tags at the start of a TIFF file, and in EXIF data.
//!
//! From TIFF 6.0, section 2, and the BigTIFF design. It knows the types of values and no tag's
//! meaning. Only the first directory is read; a tag whose value lies outside of the bytes isn't
//! there.

use std::collections::BTreeMap;

/// Whether these are the first bytes of a TIFF file. As Pillow does, a byte order that the magic
/// number contradicts is believed.
pub(super) fn is_tiff(bytes: &[u8]) -> bool {
    const STARTS: [&[u8; 4]; 6] = [b"II*\0", b"MM\0*", b"II\0*", b"MM*\0", b"II+\0", b"MM\0+"];
    STARTS.iter().any(|start| bytes.starts_with(*start))
}

/// A directory.
#[derive(Debug)]
pub(super) struct Ifd<'a> {
    /// Whether numbers in the file start with their high byte.
    pub(super) big_endian: bool,
    entries: BTreeMap<u16, Entry<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    kind: u16,
    value: &'a [u8],
}

/// Numbers at places in a file.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Reader<'a> {
    fn take(&self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(len)?)
    }

    fn number(&self, at: usize, len: usize) -> Option<u64> {
        Some(number(self.take(at, len)?, self.big_endian))
    }

    fn offset(&self, at: usize, len: usize) -> Option<usize> {
        self.number(at, len)?.try_into().ok()
    }
}

/// The unsigned number of so many bytes.
fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

/// Bytes of one value of a type.
fn size_of_kind(kind: u16) -> Option<usize> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => return None,
    })
}

impl<'a> Ifd<'a> {
    /// The first directory of a file or of EXIF data; `None` if it isn't all there.
    pub(super) fn first(bytes: &'a [u8]) -> Option<Ifd<'a>> {
        if !is_tiff(bytes) {
            return None;
        }
        let big_endian = bytes.starts_with(b"MM");
        let big = bytes[2..4].contains(&b'+');
        let reader = Reader { bytes, big_endian };
        let (start, word, entry_size) =
            if big { (reader.offset(8, 8)?, 8, 20) } else { (reader.offset(4, 4)?, 4, 12) };
        let (count, first) = if big {
            (reader.offset(start, 8)?, start.checked_add(8)?)
        } else {
            (reader.offset(start, 2)?, start.checked_add(2)?)
        };
        let table = reader.take(first, count.checked_mul(entry_size)?)?;
        let mut entries = BTreeMap::new();
        for (n, entry) in table.chunks_exact(entry_size).enumerate() {
            let field = |at: usize, len| number(&entry[at..at + len], big_endian);
            let (tag, kind) = (field(0, 2) as u16, field(2, 2) as u16);
            let values = usize::try_from(field(4, word)).ok();
            let len = values.zip(size_of_kind(kind)).and_then(|(n, size)| n.checked_mul(size));
            let inline = first + n * entry_size + 4 + word;
            let value = len.and_then(|len| {
                let at = if len <= word { inline } else { reader.offset(inline, word)? };
                reader.take(at, len)
            });
            if let Some(value) = value {
                entries.insert(tag, Entry { kind, value });
            }
        }
        Some(Ifd { big_endian, entries })
    }

    /// The whole numbers of a tag; none if it isn't there or of another type.
    pub(super) fn numbers(&self, tag: u16) -> impl ExactSizeIterator<Item = i64> + use<'a> {
        let found = self.entries.get(&tag).copied();
        let whole =
            found.filter(|entry| matches!(entry.kind, 1 | 3 | 4 | 6 | 8 | 9 | 13 | 16..=18));
        let entry = whole.unwrap_or(Entry { kind: 1, value: &[] });
        let size = size_of_kind(entry.kind).unwrap_or(1);
        let big_endian = self.big_endian;
        entry.value.chunks_exact(size).map(move |bytes| {
            let unsigned = number(bytes, big_endian);
            match entry.kind {
                6 => i64::from(unsigned as i8),
                8 => i64::from(unsigned as i16),
                9 => i64::from(unsigned as i32),
                _ => unsigned as i64,
            }
        })
    }

    /// The first whole number of a tag.
    pub(super) fn number(&self, tag: u16) -> Option<i64> {
        self.numbers(tag).next()
    }

    /// The bytes of a tag's value.
    pub(super) fn bytes(&self, tag: u16) -> Option<&'a [u8]> {
        self.entries.get(&tag).map(|entry| entry.value)
    }

    /// The value of the orientation tag. Pillow takes no bytes for one.
    pub(super) fn orientation(&self) -> Option<i64> {
        const ORIENTATION: u16 = 274;
        let entry = self.entries.get(&ORIENTATION)?;
        let mut values = self.numbers(ORIENTATION);
        match (entry.kind, values.len()) {
            (1, _) => Some(1),
            (_, 1) => values.next(),
            _ => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_read_and_cut_ones_are_none() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";
        assert_eq!(Ifd::first(little).unwrap().orientation(), Some(6));
        assert_eq!(Ifd::first(big).unwrap().orientation(), Some(8));
        for cut in 0..22 {
            assert!(Ifd::first(&little[..cut]).is_none());
        }
        assert!(Ifd::first(b"II*\0\xff\xff\xff\xff").is_none());
    }

    #[test]
    fn values_that_lie_outside_are_not_there() {
        let far = b"II*\0\x08\0\0\0\x01\0\x12\x01\x04\0\x02\0\0\0\xff\xff\xff\x7f\0\0\0\0";
        let ifd = Ifd::first(far).unwrap();
        assert_eq!(ifd.orientation(), None);
        assert_eq!(ifd.numbers(274).len(), 0);
        let many = b"II*\0\x08\0\0\0\x01\0\x12\x01\x04\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0";
        assert_eq!(Ifd::first(many).unwrap().number(274), None);
    }
}
