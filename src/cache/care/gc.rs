//! Dropping what is no longer wanted: the rest of a pack is copied into a new one, and the old one
//! is removed.
//!
//! Whatever stops it, every wanted record is in a pack: an old pack is removed only after the new
//! one is whole and on the disk. At worst some are there twice, which the next run cleans up.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::super::Kind;
use super::super::contents;
use super::super::disk::PACKS;
use super::super::list::{self, LISTS};
use super::super::packs::{Packs, kind_of};
use super::super::record::Header;
use super::super::users;
use super::super::writer::{Room, Tuning, Writer};
use super::{Care, Key, PackFile, Record, Scanned, Unread};

/// What is to be done.
pub struct Gc<'a> {
    /// What is wanted; all else is garbage.
    pub wanted: &'a HashSet<Key>,
    /// A pack is copied if more than this share of it (0 to 1) is garbage.
    pub share: f64,
    /// Packs that were written to since then are left alone, as those in use are.
    pub quiet_since: SystemTime,
    /// The texts that are still right; others are removed once what they tell of is gone.
    pub notes: &'a [String],
    /// Only says what would be done.
    pub dry_run: bool,
}

/// What [`Care::gc`] did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Packs that were there.
    pub packs: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Packs that nothing wanted was in: removed.
    pub removed: usize,
    /// Packs whose wanted records were copied.
    pub rewritten: usize,
    /// Entries that were dropped.
    pub dropped: u64,
    /// Bytes less than before.
    pub freed: u64,
    /// Bytes of garbage in packs that have too little of it.
    pub left: u64,
    /// Packs that are, or may be, in use: left alone.
    pub in_use: usize,
    /// Packs that couldn't be read: left alone.
    pub unread: usize,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// A pack that is to be looked through.
struct Task {
    pack: PackFile,
    wanted: Vec<Record>,
    records: usize,
}

impl Task {
    fn wanted_bytes(&self) -> u64 {
        self.wanted.iter().map(Record::bytes).sum()
    }
}

impl Care {
    /// Drops what isn't wanted. `done` is told how many packs are done, of how many; what it
    /// returns says whether to go on.
    ///
    /// # Errors
    /// If packs can't be listed, copied or removed. What was done so far is done.
    pub fn gc(&self, gc: &Gc, done: impl Fn(usize, usize) -> bool) -> io::Result<Collected> {
        self.gc_tuned(gc, Tuning::default(), done)
    }

    pub(in super::super) fn gc_tuned(
        &self,
        gc: &Gc,
        tuning: Tuning,
        done: impl Fn(usize, usize) -> bool,
    ) -> io::Result<Collected> {
        let packs = self.packs()?;
        let mut collected = Collected {
            packs: packs.len(),
            bytes: packs.iter().map(|pack| pack.bytes).sum(),
            ..Collected::default()
        };
        let is_quiet = |pack: &PackFile| !pack.in_use && pack.modified < gc.quiet_since;
        let (quiet, in_use): (Vec<_>, Vec<_>) = packs.into_iter().partition(is_quiet);
        collected.in_use = in_use.len();
        let tasks = self.tasks(self.scan_packs(quiet)?, gc.wanted);

        let new = Packs::new(Arc::clone(&self.disk), self.folder.join(PACKS));
        let room = Room { limit: u64::MAX, min_free: 0 };
        let mut writer = Writer::new(Arc::clone(&self.disk), room, tuning);
        for (at, task) in tasks.iter().enumerate() {
            if !done(at, tasks.len()) {
                collected.stopped = true;
                return Ok(collected);
            }
            let (bytes, wanted) = (task.pack.bytes, task.wanted_bytes());
            let garbage = bytes.saturating_sub(wanted);
            if wanted > 0 && garbage as f64 <= gc.share * bytes as f64 {
                collected.left += garbage;
                continue;
            }
            let mut kept = (task.wanted.len(), wanted);
            if !gc.dry_run {
                match self.copy(task, &new, &mut writer)? {
                    Some(copied) => kept = copied,
                    None => {
                        collected.unread += 1;
                        continue;
                    }
                }
                list::remove_pack(&*self.disk, &task.pack.path)?;
            }
            match kept.0 {
                0 => collected.removed += 1,
                _ => collected.rewritten += 1,
            }
            collected.dropped += (task.records - kept.0) as u64;
            collected.freed += bytes.saturating_sub(kept.1);
        }
        if !gc.dry_run {
            self.drop_lists(gc.quiet_since);
            users::forget_gone(&*self.disk, &self.folder, gc.quiet_since);
        }
        if !gc.dry_run && collected.left + (collected.in_use + collected.unread) as u64 == 0 {
            contents::keep_only(&*self.disk, &self.folder, gc.notes)?;
        }
        Ok(collected)
    }

    /// Removes lists of which there is no pack, and what was begun of one and not finished.
    fn drop_lists(&self, quiet_since: SystemTime) {
        let Ok(packs) = self.packs() else { return };
        let of_packs: HashSet<PathBuf> =
            packs.iter().map(|pack| list::path_of(&pack.path)).collect();
        let folder = self.folder.join(LISTS);
        for file in self.disk.list(&folder).unwrap_or_default() {
            let path = folder.join(&file.name);
            if !of_packs.contains(&path) && file.modified < quiet_since {
                // Nothing reads it.
                let _ = self.disk.remove(&path);
            }
        }
    }

    /// What is wanted of each pack. Of several records of a key, one that is whole.
    fn tasks(&self, scanned: Vec<Scanned>, wanted: &HashSet<Key>) -> Vec<Task> {
        let mut chosen: HashMap<Key, (usize, Record)> = HashMap::new();
        for (at, Scanned { records, .. }) in scanned.iter().enumerate() {
            for record in records.iter().filter(|record| wanted.contains(&record.key)) {
                let better = chosen.get(&record.key).is_none_or(|(other, first)| {
                    self.read_whole(&scanned[*other].pack, first).is_err()
                });
                if better {
                    chosen.insert(record.key, (at, *record));
                }
            }
        }
        let is_chosen = |at: usize, record: &Record| {
            chosen
                .get(&record.key)
                .is_some_and(|(pack, first)| (*pack, first.offset) == (at, record.offset))
        };
        scanned
            .into_iter()
            .enumerate()
            .map(|(at, Scanned { pack, records })| Task {
                pack,
                records: records.len(),
                wanted: records.into_iter().filter(|record| is_chosen(at, record)).collect(),
            })
            .collect()
    }

    /// Copies what is wanted of a pack; gives the number of records and their bytes, or nothing if
    /// the pack can't be read. What is damaged isn't copied.
    fn copy(
        &self,
        task: &Task,
        new: &Packs,
        writer: &mut Writer,
    ) -> io::Result<Option<(usize, u64)>> {
        let name = task.pack.path.file_name().unwrap_or_default();
        let kind = kind_of(name).unwrap_or(Kind::UNKNOWN);
        let mut written = HashSet::new();
        let (mut records, mut bytes) = (0, 0);
        for record in &task.wanted {
            let entry = match self.read_whole(&task.pack, record) {
                Ok(entry) => entry,
                Err(Unread::Broken(_)) => continue,
                Err(Unread::Io(error)) => {
                    let path = task.pack.path.display();
                    log::warn!("{path} is left alone: byte {}: {error}", record.offset);
                    return Ok(None);
                }
            };
            let Some(header) = Header::of(&record.key, &entry.meta, &entry.body) else { continue };
            let place = writer
                .append(new, kind, &header, &entry.body)
                .map_err(|refusal| io::Error::other(refusal.to_string()))?;
            written.insert(place.pack);
            records += 1;
            bytes += record.bytes();
        }
        for pack in written.iter().filter_map(|number| new.get(*number)) {
            let file = new.file(&pack)?;
            self.disk.sync(&file)?;
        }
        if !written.is_empty() {
            // Its name too.
            self.disk.sync(&self.disk.open(new.folder())?)?;
        }
        Ok(Some((records, bytes)))
    }
}
