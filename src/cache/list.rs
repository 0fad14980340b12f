//! A pack's list: the key and the length of each of its records, in a file beside the packs, so
//! that a cache is opened without reading through its packs.
//!
//! It saves time and nothing else: a list that is missing, damaged, of another version or of another
//! pack is as good as none, and a record is believed only once it is read. `docs/FORMAT.md` has
//! every byte.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::Key;
use super::file::{Disk, replace};
use super::record::{HEADER_LEN, RawHeader, record_len};

/// The folder of the lists, beside that of the packs.
pub(super) const LISTS: &str = "index";

const SUFFIX: &str = "index";

const MAGIC: [u8; 4] = *b"pbIx";
const VERSION: u32 = 1;

const VERSION_AT: usize = MAGIC.len();
const COVERED_AT: usize = VERSION_AT + size_of::<u32>();
const COUNT_AT: usize = COVERED_AT + size_of::<u64>();
const SUM_AT: usize = COUNT_AT + size_of::<u64>();
const HEAD: usize = SUM_AT + size_of::<u64>();

/// Bytes of a record's row.
const ROW: usize = Key::LEN + size_of::<u32>();

/// The records of a pack from its start on, in order. They lie one behind the other, so that their
/// lengths say where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    /// As they are in the file: there are many.
    rows: Vec<u8>,
    covered: u64,
}

/// Why there is no list to go by.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoList {
    #[error("it is not there")]
    Missing,
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is no index")]
    Magic,
    #[error("it is of version {0}, and {VERSION} was expected")]
    Version(u32),
    #[error("its length or checksum is wrong")]
    Damaged,
    #[error("it is not of the pack as it is now")]
    OtherPack,
}

impl List {
    /// Adds the next record.
    pub(super) fn add(&mut self, key: Key, body_len: u32) {
        self.rows.extend(key.0);
        self.rows.extend(body_len.to_le_bytes());
        self.covered += record_len(body_len);
    }

    /// Bytes of the pack that these records take: the next one starts here.
    pub(super) fn covered(&self) -> u64 {
        self.covered
    }

    /// Records.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / ROW
    }

    /// Each record: where it starts, its key and the bytes of its body.
    pub(super) fn records(&self) -> impl Iterator<Item = (u64, Key, u32)> {
        let mut next = 0;
        rows(&self.rows).map(move |(key, body_len)| {
            let at = next;
            next += record_len(body_len);
            (at, key, body_len)
        })
    }

    /// The list of a pack that had `len` bytes a moment ago.
    pub(super) fn read(
        disk: &dyn Disk,
        path: &Path,
        pack: &File,
        len: u64,
    ) -> Result<List, NoList> {
        let file = disk.open(&path_of(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoList::Missing,
            _ => NoList::Read(error),
        })?;
        let bytes = file.metadata()?.len();
        // Its writer may have gone on since, and have listed more than was there then.
        let len = len.max(pack.metadata()?.len());
        // A record takes more of its pack than its row does of the list.
        if bytes < HEAD as u64 {
            return Err(NoList::Damaged);
        }
        if bytes > len + HEAD as u64 {
            return Err(NoList::OtherPack);
        }
        let size = usize::try_from(bytes).map_err(io::Error::other)?;
        let mut bytes = vec![0; size];
        disk.read(&file, 0, &mut bytes)?;
        let list = List::decode(bytes)?;
        match list.covered <= len && list.ends_in(disk, pack)? {
            true => Ok(list),
            false => Err(NoList::OtherPack),
        }
    }

    /// Whether the last record is in the pack where it should be. The others are as likely there,
    /// and are looked at when they are read.
    fn ends_in(&self, disk: &dyn Disk, pack: &File) -> io::Result<bool> {
        let last = self.rows.len().saturating_sub(ROW);
        let Some((key, body_len)) = rows(&self.rows[last..]).next() else { return Ok(true) };
        let mut header = [0; HEADER_LEN];
        disk.read(pack, self.covered - record_len(body_len), &mut header)?;
        let header = RawHeader(&header).check();
        Ok(header.is_ok_and(|header| header.is_for(&key, body_len).is_ok()))
    }

    /// Writes the list of the pack at `path`, in place of the one that is there.
    pub(super) fn write(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        replace(disk, &path_of(path), &self.encode())
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.rows.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.covered.to_le_bytes());
        bytes.extend((self.len() as u64).to_le_bytes());
        bytes.extend([0; HEAD - SUM_AT]);
        bytes.extend(&self.rows);
        let sum = sum(&bytes);
        bytes[SUM_AT..HEAD].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(mut bytes: Vec<u8>) -> Result<List, NoList> {
        if bytes.get(..VERSION_AT) != Some(&MAGIC) {
            return Err(NoList::Magic);
        }
        let version = field(&bytes, VERSION_AT).map(u32::from_le_bytes);
        if version != Some(VERSION) {
            return version.map_or(Err(NoList::Damaged), |other| Err(NoList::Version(other)));
        }
        let number = |at| field(&bytes, at).map(u64::from_le_bytes).ok_or(NoList::Damaged);
        let (covered, count) = (number(COVERED_AT)?, number(COUNT_AT)?);
        let long = bytes.len().checked_sub(HEAD).ok_or(NoList::Damaged)?;
        let whole = long.is_multiple_of(ROW) && count == (long / ROW) as u64;
        if !whole || number(SUM_AT)? != sum(&bytes) {
            return Err(NoList::Damaged);
        }
        bytes.drain(..HEAD);
        let lengths = rows(&bytes).map(|(_, body_len)| record_len(body_len));
        // Wrong only if it was written wrong: the checksum was right.
        match lengths.sum::<u64>() == covered {
            true => Ok(List { rows: bytes, covered }),
            false => Err(NoList::Damaged),
        }
    }
}

/// Rows, from their bytes.
fn rows(bytes: &[u8]) -> impl Iterator<Item = (Key, u32)> {
    bytes.chunks_exact(ROW).filter_map(|row| {
        let (key, body_len) = row.split_first_chunk()?;
        Some((Key(*key), u32::from_le_bytes(field(body_len, 0)?)))
    })
}

/// Of all but the checksum itself.
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    sum.update(&bytes[..SUM_AT]);
    sum.update(&bytes[HEAD..]);
    sum.digest()
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Removes a pack and its list: that first, since a list without its pack means that somebody else
/// removed the pack.
pub(super) fn remove_pack(disk: &dyn Disk, pack: &Path) -> io::Result<()> {
    // A pack without a list is read through.
    let _ = disk.remove(&path_of(pack));
    match disk.remove(pack) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The packs that lists in a cache's folder are of.
pub(super) fn listed_packs(disk: &dyn Disk, packs: &Path) -> Vec<PathBuf> {
    let lists = packs.parent().unwrap_or(Path::new("")).join(LISTS);
    let files = disk.list(&lists).unwrap_or_default();
    let finished = files.into_iter().map(|file| PathBuf::from(file.name));
    finished
        .filter(|name| name.extension().is_some_and(|extension| extension == SUFFIX))
        .map(|name| packs.join(name).with_extension("pack"))
        .collect()
}

/// Where the list of a pack is.
pub(super) fn path_of(pack: &Path) -> PathBuf {
    let cache = pack.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut path = cache.join(LISTS);
    path.push(pack.file_name().unwrap_or_default());
    path.with_extension(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(len: u32) -> List {
        let mut list = List::default();
        (0..len).for_each(|n| list.add(Key([n as u8; 32]), n * 100));
        list
    }

    #[test]
    fn a_list_comes_back_with_the_places_of_its_records() {
        for len in [0, 1, 50] {
            assert_eq!(List::decode(list(len).encode()).unwrap(), list(len));
        }
        let records: Vec<(u64, Key, u32)> = list(3).records().collect();
        let expected = [(0, 0), (128, 100), (128 + 256, 200)];
        let expected = expected.map(|(at, len)| (at, Key([(len / 100) as u8; 32]), len));
        assert_eq!(records, expected);
        assert_eq!(list(3).covered(), 128 + 256 + 384);
    }

    #[test]
    fn any_flipped_bit_and_any_other_length_is_found() {
        let whole = list(5).encode();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(List::decode(bytes).is_err(), "bit {bit}");
        }
        for len in 0..whole.len() {
            assert!(List::decode(whole[..len].to_vec()).is_err(), "{len}");
        }
        assert!(List::decode([&whole[..], &[0; ROW]].concat()).is_err());
    }

    #[test]
    fn a_list_of_another_version_is_said_to_be_that() {
        let mut bytes = list(1).encode();
        bytes[VERSION_AT] = 9;
        let error = List::decode(bytes).unwrap_err();
        assert_eq!(error.to_string(), "it is of version 9, and 1 was expected");
    }

    #[test]
    fn a_list_lies_in_a_folder_beside_that_of_the_packs() {
        let path = path_of(Path::new("/c/parbake-v1/packs/00ff.pack"));
        assert_eq!(path, Path::new("/c/parbake-v1/index/00ff.index"));
    }
}
