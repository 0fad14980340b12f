//! A real disk that stops or fails at its n-th write, or that says how much is free on it.

use std::fs::File;
use std::io;
use std::path::Path;

use parking_lot::Mutex;

use super::super::super::file::{Disk, Listed, OsDisk};

/// What happens to writes, counted from 0.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    /// The first that is hit.
    pub(super) at: usize,
    /// How many are hit: `usize::MAX` is a disk that stops.
    pub(super) times: usize,
    pub(super) errno: nix::Error,
    /// How much of the bytes is written all the same; see [`TEARS`].
    pub(super) tear: usize,
}

/// Ways to tear a write of `len` bytes.
pub(super) const TEARS: usize = 7;

fn torn(len: usize, tear: usize) -> usize {
    [0, 1, 127, 128, len / 2, len.saturating_sub(1), len][tear].min(len)
}

pub(super) struct Faulty {
    fault: Option<Fault>,
    writes: Mutex<usize>,
    free: Mutex<Option<u64>>,
}

impl Faulty {
    pub(super) fn new(fault: Fault) -> Faulty {
        Faulty { fault: Some(fault), writes: Mutex::new(0), free: Mutex::new(None) }
    }

    pub(super) fn with_free_bytes(free: u64) -> Faulty {
        Faulty { fault: None, writes: Mutex::new(0), free: Mutex::new(Some(free)) }
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.free.lock().unwrap()
    }

    pub(super) fn make_room(&self, bytes: u64) {
        *self.free.lock() = Some(bytes);
    }

    /// Whether the fault was met.
    pub(super) fn was_hit(&self) -> bool {
        self.fault.is_some_and(|fault| *self.writes.lock() > fault.at)
    }

    /// Counts a write; gives the fault if it is hit.
    fn hit(&self) -> Option<Fault> {
        let mut writes = self.writes.lock();
        let n = *writes;
        *writes += 1;
        self.fault.filter(|fault| n >= fault.at && n - fault.at < fault.times)
    }

    fn hit_whole(&self) -> io::Result<()> {
        self.hit().map_or(Ok(()), |fault| Err(fault.errno.into()))
    }
}

impl Disk for Faulty {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.make_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>> {
        OsDisk.list(folder)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.hit() {
            None => OsDisk.write(path, bytes),
            Some(fault) => {
                OsDisk.write(path, &bytes[..torn(bytes.len(), fault.tear)])?;
                Err(fault.errno.into())
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.remove(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.remove_folder(folder)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.hit_whole()?;
        OsDisk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        OsDisk.open(path)
    }

    fn release(&self, file: &File) {
        OsDisk.release(file);
    }

    fn is_claimed(&self, file: &File) -> bool {
        OsDisk.is_claimed(file)
    }

    fn append(&self, file: &File, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        let bytes = parts.concat();
        if let Some(fault) = self.hit() {
            OsDisk.append(file, offset, &[&bytes[..torn(bytes.len(), fault.tear)]])?;
            return Err(fault.errno.into());
        }
        if let Some(free) = &mut *self.free.lock() {
            *free = free.saturating_sub(bytes.len() as u64);
        }
        OsDisk.append(file, offset, parts)
    }

    fn read(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
        OsDisk.read(file, offset, into)
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.truncate(file, len)
    }

    fn free(&self, folder: &Path) -> io::Result<u64> {
        self.free.lock().map_or_else(|| OsDisk.free(folder), Ok)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.sync(file)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.touch(path)
    }

    fn mark_used(&self, file: &File) -> io::Result<()> {
        self.hit_whole()?;
        OsDisk.mark_used(file)
    }

    fn forget(&self, file: &File) -> io::Result<()> {
        OsDisk.forget(file)
    }
}
