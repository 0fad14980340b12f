//! All packs of a cache folder: which there are, how far each is known, and their open files.
//!
//! It finds records and puts them into the [`Index`]; it reads no bodies and writes no records.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use lru::LruCache;
use nix::unistd::{SysconfVar, sysconf};
use parking_lot::{Mutex, RwLock};

use super::Kind;
use super::file::{Disk, Listed};
use super::index::{Id, Index, Place};
use super::list::{self, List, NoList};
use super::record::{Broken, HEADER_LEN, Header, RawHeader, record_len};

pub(super) const SUFFIX: &str = ".pack";

/// The most packs that are kept open. A set of 256 GiB in full packs.
const OPEN_PACKS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// Packs that are kept open where a process may have so many files: a quarter of them, since
/// without a file for the source, a read of what isn't cached would fail.
fn open_packs(files: Option<i64>) -> NonZeroUsize {
    let Some(files) = files else { return OPEN_PACKS };
    let quarter = usize::try_from(files / 4).ok().and_then(NonZeroUsize::new);
    quarter.unwrap_or(NonZeroUsize::MIN).min(OPEN_PACKS)
}

/// Threads that look through packs. They wait for the disk more than they compute.
pub(super) const SCANNERS: usize = 8;

/// Bytes that a scan reads at once: costs no more than a header alone, and has many of them where
/// bodies are short.
const WINDOW: usize = 4096;

/// Records that a reader has to have found without a list before it writes one.
const WORTH_A_LIST: usize = 1000;

/// Seconds between two marks of a pack as used.
const MARK_EVERY: u64 = 10;

/// The kind of the entries in a pack, by its name; none if it doesn't say.
pub(super) fn kind_of(name: &OsStr) -> Option<Kind> {
    let (_, kind) = name.to_str()?.strip_suffix(SUFFIX)?.split_once('-')?;
    u64::from_str_radix(kind, 16).ok().map(Kind)
}

/// One pack.
pub(super) struct Pack {
    pub(super) number: u32,
    pub(super) path: PathBuf,
    /// Written by this process: its records are in the index as they are written.
    own: bool,
    /// Bytes from the start that are whole records; the next one starts here.
    whole: AtomicU64,
    /// Bytes of the file, as last seen.
    bytes: AtomicU64,
    warned: AtomicBool,
    /// Seconds after the packs were opened at which it was last marked as used, and one more.
    marked: AtomicU64,
}

impl Pack {
    /// Where the next record starts.
    pub(super) fn end(&self) -> u64 {
        self.whole.load(Ordering::Acquire)
    }

    /// Notes that the pack, which is ours, was written up to here.
    pub(super) fn set_end(&self, end: u64) {
        self.whole.store(end, Ordering::Release);
        self.bytes.store(end, Ordering::Release);
    }

    /// Says what is wrong with a pack: the first time as a warning, then in detail only.
    pub(super) fn complain(&self, offset: u64, trouble: &dyn std::error::Error) {
        let path = self.path.display();
        if self.warned.swap(true, Ordering::Relaxed) {
            log::debug!("{path}, byte {offset}: {trouble}");
        } else {
            log::warn!("{path}, byte {offset}: {trouble}; what can't be used there is made again");
        }
    }
}

/// A pack has less than it had.
#[derive(Debug, thiserror::Error)]
#[error("it is shorter than what was written to it")]
struct Shorter;

/// The packs of a folder.
pub(super) struct Packs {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    table: RwLock<Table>,
    open: Mutex<LruCache<u32, Arc<File>>>,
    warned_of_list: AtomicBool,
    warned_of_gone: AtomicBool,
    /// Whether the folder was listed before.
    looked: AtomicBool,
    since: Instant,
}

#[derive(Default)]
struct Table {
    by_number: HashMap<u32, Arc<Pack>>,
    by_name: HashMap<OsString, u32>,
    next: u32,
}

impl Table {
    fn add(&mut self, name: OsString, path: PathBuf, own: bool) -> Arc<Pack> {
        let number = self.next;
        self.next += 1;
        let (whole, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        let (warned, marked) = (AtomicBool::new(false), AtomicU64::new(0));
        let pack = Arc::new(Pack { number, path, own, whole, bytes, warned, marked });
        self.by_number.insert(number, Arc::clone(&pack));
        self.by_name.insert(name, number);
        pack
    }

    fn named(&self, name: &OsString) -> Option<&Arc<Pack>> {
        self.by_number.get(self.by_name.get(name)?)
    }
}

impl Packs {
    /// None yet; [`look`](Self::look) finds them.
    pub(super) fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Packs {
        let files = sysconf(SysconfVar::OPEN_MAX).ok().flatten();
        let open = Mutex::new(LruCache::new(open_packs(files)));
        let [warned_of_list, warned_of_gone, looked] = [const { AtomicBool::new(false) }; 3];
        let since = Instant::now();
        Packs {
            disk,
            folder,
            table: RwLock::default(),
            open,
            warned_of_list,
            warned_of_gone,
            looked,
            since,
        }
    }

    /// Where they are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The pack, unless it is gone.
    pub(super) fn get(&self, number: u32) -> Option<Arc<Pack>> {
        self.table.read().by_number.get(&number).cloned()
    }

    /// Bytes of all packs, as last seen.
    pub(super) fn bytes(&self) -> u64 {
        let table = self.table.read();
        table.by_number.values().map(|pack| pack.bytes.load(Ordering::Acquire)).sum()
    }

    /// All packs.
    pub(super) fn all(&self) -> Vec<Arc<Pack>> {
        self.table.read().by_number.values().cloned().collect()
    }

    /// A new, empty pack that nobody else writes to.
    pub(super) fn create(&self, kind: Kind) -> io::Result<(Arc<Pack>, Arc<File>)> {
        // Held until it is in the table, so that a look at the folder can't take the new file for
        // another process's.
        let mut table = self.table.write();
        loop {
            // Freshly keyed by the system's randomness. A name that is taken costs another turn.
            let name = RandomState::new().hash_one(std::process::id());
            let name = OsString::from(match kind {
                Kind::UNKNOWN => format!("{name:016x}{SUFFIX}"),
                Kind(kind) => format!("{name:016x}-{kind:016x}{SUFFIX}"),
            });
            let path = self.folder.join(&name);
            let made = match self.disk.create(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.disk.make_folder(&self.folder)?;
                    self.disk.create(&path)
                }
                other => other,
            };
            match made {
                Ok(file) => {
                    let (pack, file) = (table.add(name, path, true), Arc::new(file));
                    self.open.lock().put(pack.number, Arc::clone(&file));
                    return Ok((pack, file));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The open file of a pack.
    pub(super) fn file(&self, pack: &Pack) -> io::Result<Arc<File>> {
        if let Some(file) = self.open.lock().get(&pack.number) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.disk.open(&pack.path)?);
        self.open.lock().put(pack.number, Arc::clone(&file));
        Ok(file)
    }

    /// Notes now and then that a pack is in use, for those who look for one that isn't.
    pub(super) fn mark_used(&self, pack: &Pack, file: &File) {
        let now = self.since.elapsed().as_secs() + 1;
        let last = pack.marked.load(Ordering::Relaxed);
        if last != 0 && now < last + MARK_EVERY {
            return;
        }
        pack.marked.store(now, Ordering::Relaxed);
        if let Err(error) = self.disk.mark_used(file) {
            log::debug!("cannot mark {} as used: {error}", pack.path.display());
        }
    }

    /// Looks at the folder: finds new packs, records that were added to known ones, and packs that
    /// are gone. One call at a time.
    pub(super) fn look(&self, index: &Index) -> io::Result<()> {
        // Before the folder is listed: what is made meanwhile isn't gone for not being listed.
        let known = self.table.read().by_name.clone();
        let first = !self.looked.swap(true, Ordering::Relaxed);
        let lists = first.then(|| list::listed_packs(&*self.disk, &self.folder));
        let listed = match self.disk.list(&self.folder) {
            // Deleted while in use, with all packs. The next new pack makes it again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        for pack in lists.into_iter().flatten() {
            if !listed.iter().any(|file| pack.file_name() == Some(&file.name)) {
                self.complain_of_gone(&pack);
            }
        }
        self.forget_gone(known, &listed, index);

        let mut grown = Vec::new();
        for Listed { name, len, .. } in listed {
            if !name.as_encoded_bytes().ends_with(SUFFIX.as_bytes()) {
                continue;
            }
            let mut table = self.table.write();
            let pack = match table.named(&name) {
                Some(pack) => Arc::clone(pack),
                None => {
                    let path = self.folder.join(&name);
                    table.add(name, path, false)
                }
            };
            drop(table);
            if pack.own {
                continue;
            }
            pack.bytes.store(len, Ordering::Release);
            if len < pack.end() || first && len == 0 && self.has_list(&pack.path) {
                // Its writer cuts it back to whole records at most: where these end isn't known.
                pack.complain(len, &Shorter);
                pack.whole.store(0, Ordering::Release);
            }
            if pack.end() < len {
                grown.push((pack, len));
            }
        }
        self.scan_all(&grown, index);
        Ok(())
    }

    fn forget_gone(&self, mut known: HashMap<OsString, u32>, listed: &[Listed], index: &Index) {
        for Listed { name, .. } in listed {
            known.remove(name);
        }
        for (name, number) in known {
            let path = self.folder.join(&name);
            if self.has_list(&path) {
                self.complain_of_gone(&path);
            }
            let mut table = self.table.write();
            table.by_name.remove(&name);
            table.by_number.remove(&number);
            drop(table);
            self.open.lock().pop(&number);
            index.remove_pack(number);
        }
    }

    fn scan_all(&self, packs: &[(Arc<Pack>, u64)], index: &Index) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((pack, len)) = packs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.scan(pack, *len, index) {
                    pack.complain(pack.end(), &error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..packs.len().min(SCANNERS) {
                // Without a thread that the system doesn't give, it takes longer.
                _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// Puts the whole records from the pack's end on into the index. What isn't whole now (its
    /// writer is at it, or was stopped) is tried again at the next look.
    fn scan(&self, pack: &Pack, len: u64, index: &Index) -> io::Result<()> {
        let file = self.file(pack)?;
        // A pack that is read from its start goes by its list, and gets one if that saves others
        // much reading.
        let (mut list, mut must_list, mut missing) = (None, false, false);
        if pack.end() == 0 {
            let listed = List::read(&*self.disk, &pack.path, &file, len);
            missing = matches!(listed, Err(NoList::Missing));
            must_list = listed.is_err() && !missing;
            list = Some(listed.unwrap_or_else(|why| {
                self.complain_of_list(pack, &why);
                List::default()
            }));
        }
        if let Some(list) = &list {
            for (at, key, body_len) in list.records() {
                let Some(place) = Place::new(pack.number, at, body_len) else { break };
                index.add(Id::of(&key), place);
                pack.whole.store(at + record_len(body_len), Ordering::Release);
            }
        }
        let listed = list.as_ref().map_or(0, List::len);
        let len = len.max(pack.end());
        let mut window = Window::new(&*self.disk, &file, len);
        loop {
            let at = pack.end();
            let Some(header) = window.header(at)? else { break };
            let end = at + record_len(header.body_len);
            let Some(place) = Place::new(pack.number, at, header.body_len) else { break };
            if end > len {
                break;
            }
            index.add(Id::of(&header.key), place);
            if let Some(list) = &mut list {
                list.add(header.key, header.body_len);
            }
            pack.whole.store(end, Ordering::Release);
        }
        if let Some(other) = window.other_version(pack.end()) {
            pack.complain(pack.end(), &other);
        }
        if pack.end() < len {
            let (path, rest) = (pack.path.display(), len - pack.end());
            log::debug!("{path}: the last {rest} of {len} bytes are no whole record (yet)");
        }
        let worth = list.as_ref().is_some_and(|list| list.len() - listed >= WORTH_A_LIST);
        if worth && missing && !self.warned_of_list.swap(true, Ordering::Relaxed) {
            // A writer leaves one long before its pack has so many records.
            log::warn!("{} has no index: it was read through", pack.path.display());
        }
        if let Some(list) = list
            && (must_list || worth)
            && let Err(error) = list.write(&*self.disk, &pack.path)
        {
            log::debug!("cannot write the index of {}: {error}", pack.path.display());
        }
        Ok(())
    }

    fn has_list(&self, pack: &Path) -> bool {
        self.disk.open(&list::path_of(pack)).is_ok()
    }

    /// Says that somebody took a pack away who isn't one of us: we take its list first.
    fn complain_of_gone(&self, pack: &Path) {
        let _ = self.disk.remove(&list::path_of(pack));
        let pack = pack.display();
        if self.warned_of_gone.swap(true, Ordering::Relaxed) {
            log::debug!("{pack} is gone");
        } else {
            log::warn!("{pack} is gone, and its index was left: what was in it is made again");
        }
    }

    /// Says why a pack has no list: that one was never written is nothing to worry about, all else
    /// is a warning, once.
    fn complain_of_list(&self, pack: &Pack, why: &NoList) {
        let path = list::path_of(&pack.path);
        let path = path.display();
        let worry = !matches!(why, NoList::Missing);
        if worry && !self.warned_of_list.swap(true, Ordering::Relaxed) {
            log::warn!("{path}: {why}; the pack is read through, and the index is made again");
        } else {
            log::debug!("{path}: {why}; the pack is read through");
        }
    }
}

/// Headers out of a file, several a read where they are near each other.
pub(super) struct Window<'a> {
    disk: &'a dyn Disk,
    file: &'a File,
    /// Bytes of the file.
    len: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(super) fn new(disk: &'a dyn Disk, file: &'a File, len: u64) -> Window<'a> {
        Window { disk, file, len, start: 0, bytes: Vec::new() }
    }

    /// The header at `at`, if a whole and right one is there.
    pub(super) fn header(&mut self, at: u64) -> io::Result<Option<Header>> {
        if self.held(at).is_none() {
            let left = self.len.saturating_sub(at).min(WINDOW as u64);
            self.start = at;
            // At most a window, so that it fits.
            self.bytes.resize(left as usize, 0);
            self.disk.read(self.file, at, &mut self.bytes)?;
        }
        Ok(self.held(at).and_then(|bytes| RawHeader(bytes).check().ok()))
    }

    /// What is wrong if a record of another version starts at `at`, where no header was found.
    fn other_version(&self, at: u64) -> Option<Broken> {
        let broken = RawHeader(self.held(at)?).check().err()?;
        matches!(broken, Broken::Version(_)).then_some(broken)
    }

    fn held(&self, at: u64) -> Option<&[u8; HEADER_LEN]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..)?.first_chunk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_leave_files_for_others() {
        let most = |files| open_packs(files).get();
        assert_eq!([most(Some(64)), most(Some(1024)), most(Some(1 << 20))], [16, 256, 256]);
        assert_eq!([most(Some(3)), most(Some(-1)), most(None)], [1, 1, 256]);
    }
}
