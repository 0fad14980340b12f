//! A folder of the machine as a source. Links are followed as long as they stay inside it.
//!
//! Every path is resolved by the kernel below the root's descriptor, so no name and no link,
//! however made, leads to a file outside.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, PosixFadviseAdvice, ResolveFlag, openat2, posix_fadvise};

use super::{Entry, Source, Stat, Watch, Watcher};
use crate::sample::{Buffer, MAX_SAMPLE_BYTES};

/// A folder of the machine.
pub struct DirSource {
    root: PathBuf,
    descriptor: OwnedFd,
}

impl DirSource {
    /// The folder at `root`.
    ///
    /// # Errors
    /// If it isn't a readable folder.
    pub fn open(root: &Path) -> io::Result<DirSource> {
        let root = root.canonicalize()?;
        std::fs::read_dir(&root)?;
        let descriptor = File::open(&root)?.into();
        Ok(DirSource { root, descriptor })
    }

    /// Opens what is at `path`. `flags` may not ask for more than reading.
    fn open_at(&self, path: &Path, flags: OFlag) -> io::Result<File> {
        match self.open_below(path, flags, ResolveFlag::RESOLVE_BENEATH) {
            // A link with an absolute target, or none of this call on an old kernel.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EXDEV | libc::ENOSYS)) => {
                self.open_resolved(path, flags)
            }
            opened => opened,
        }
    }

    /// Opens what is at `path`, over no links at all.
    fn open_straight(&self, path: &Path, flags: OFlag) -> io::Result<File> {
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
        self.open_below(path, flags, resolve)
    }

    fn open_below(&self, path: &Path, flags: OFlag, resolve: ResolveFlag) -> io::Result<File> {
        refuse_upward(path)?;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve);
        loop {
            match openat2(self.descriptor.as_fd(), path, how) {
                Ok(opened) => return Ok(File::from(opened)),
                // The kernel asks for another try when a rename crossed its walk.
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// As `open_at`, for paths over links with absolute targets.
    fn open_resolved(&self, path: &Path, flags: OFlag) -> io::Result<File> {
        let target = self.root.join(path).canonicalize()?;
        let inside = target
            .strip_prefix(&self.root)
            .map_err(|_| refused("the link leads out of the source"))?;
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW);
        match openat2(self.descriptor.as_fd(), inside, how) {
            Ok(opened) => Ok(File::from(opened)),
            Err(Errno::ENOSYS) => File::open(&target),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a file to read it. Never waits: a FIFO or a device put in a sample's place is refused.
    fn open_file(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let file = self.open_at(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Errno::EISDIR.into());
        }
        if !metadata.is_file() {
            return Err(refused("not a regular file"));
        }
        Ok((file, metadata))
    }

    /// What is at the far end of a link, refused if that is a folder which the link is in: a walk
    /// would never end.
    fn stat_link(&self, folder: &Path, path: &Path) -> io::Result<Stat> {
        let stat = self.stat(path)?;
        if stat.folder {
            let target = self.root.join(path).canonicalize()?;
            for above in folder.ancestors() {
                if self.root.join(above).canonicalize()? == target {
                    return Err(refused("the link leads back to a folder that it is in"));
                }
            }
        }
        Ok(stat)
    }
}

impl Source for DirSource {
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let opened = self.open_at(folder, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in nix::dir::Dir::from_fd(opened.into())?.iter() {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = folder.join(name);
            let found = match entry.file_type() {
                Some(nix::dir::Type::Directory) => Ok(true),
                Some(nix::dir::Type::File) => Ok(false),
                Some(nix::dir::Type::Symlink) | None => {
                    self.stat_link(folder, &path).map(|stat| stat.folder)
                }
                Some(_) => Err(refused("neither file nor folder")),
            };
            match found {
                Ok(is_folder) => entries.push(Entry { name: name.to_owned(), folder: is_folder }),
                Err(error) => log::warn!("left out of the source: {}: {error}", path.display()),
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let metadata = self.open_at(path, OFlag::O_PATH)?.metadata()?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(refused("neither file nor folder"));
        }
        Ok(stat_of(&metadata))
    }

    fn read(&self, path: &Path) -> io::Result<(Stat, Buffer)> {
        let (file, metadata) = self.open_file(path)?;
        let before = stat_of(&metadata);
        let len = usize::try_from(before.size).unwrap_or(usize::MAX);
        if len > MAX_SAMPLE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{len} bytes; a sample may have {} MiB", MAX_SAMPLE_BYTES >> 20),
            ));
        }
        settle(&before);
        let mut bytes = Buffer::for_overwrite(len);
        let whole = file.read_exact_at(&mut bytes, 0);
        if stat_of(&file.metadata()?) != before {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "changed while it was read"));
        }
        whole?;
        Ok((before, bytes))
    }

    fn read_at(&self, path: &Path, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let (file, metadata) = self.open_file(path)?;
        // The kernel takes no offset that isn't a signed number.
        if offset >= metadata.len() {
            return Ok(0);
        }
        let mut done = 0;
        while done < into.len() {
            match file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn watch(&self, folder: &Path, watcher: &Watcher) -> io::Result<Watch> {
        watcher.add(self.open_straight(folder, OFlag::O_PATH | OFlag::O_DIRECTORY)?.as_fd())
    }

    fn stat_watched(&self, path: &Path) -> io::Result<(Stat, bool)> {
        match self.open_straight(path, OFlag::O_PATH).and_then(|file| file.metadata()) {
            Ok(metadata) if metadata.is_dir() || (metadata.is_file() && metadata.nlink() == 1) => {
                Ok((stat_of(&metadata), true))
            }
            _ => Ok((self.stat(path)?, false)),
        }
    }

    fn forget_pages(&self, path: &Path) -> io::Result<()> {
        let (file, _) = self.open_file(path)?;
        Ok(posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
    }
}

/// Two changes within a tick of the file system's clock leave one time stamp: bytes read between
/// them would go by the stat of those that came after. So a file that was changed just now is read
/// a tick later: what is changed from then on has another stamp. (Kernels since 6.13 tell most such
/// changes apart; network file systems don't.)
fn settle(stat: &Stat) {
    #[expect(clippy::disallowed_methods, reason = "when a file is read, not what is read of it")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let age = now.map_or(0, |now| now.as_nanos() as i128) - stat.changed_ns;
    // A file of another machine's clock may be from the future: by how much, nobody knows.
    if let Ok(age) = u64::try_from(age.max(0))
        && let Some(rest) = TICK.checked_sub(Duration::from_nanos(age))
    {
        std::thread::sleep(rest);
    }
}

/// Longer than any tick: 10 ms at 100 Hz, the slowest that Linux is built for.
const TICK: Duration = Duration::from_millis(20);

fn stat_of(metadata: &Metadata) -> Stat {
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Stat {
        folder: metadata.is_dir(),
        size: metadata.len(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        mode: (metadata.mode() & 0o777) as u16,
        uid: metadata.uid(),
        gid: metadata.gid(),
    }
}

fn refuse_upward(path: &Path) -> io::Result<()> {
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(())
    } else {
        Err(refused("not a path below the source"))
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::Change;
    use super::*;

    fn names(source: &DirSource, folder: &str) -> Vec<String> {
        let entries = source.list(Path::new(folder)).unwrap();
        entries.into_iter().map(|entry| entry.name.into_string().unwrap()).collect()
    }

    fn bed() -> (tempfile::TempDir, DirSource) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("set");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/one"), b"first").unwrap();
        std::fs::write(outer.path().join("secret"), b"secret").unwrap();
        let source = DirSource::open(&root).unwrap();
        (outer, source)
    }

    #[test]
    fn a_file_is_listed_stated_and_read() {
        let (_outer, source) = bed();
        assert_eq!(names(&source, "a"), ["b", "one"]);
        let (stat, bytes) = source.read(Path::new("a/one")).unwrap();
        assert_eq!(&*bytes, b"first");
        assert_eq!(stat, source.stat(Path::new("a/one")).unwrap());
        let mut some = [0; 8];
        assert_eq!(source.read_at(Path::new("a/one"), 2, &mut some).unwrap(), 3);
        assert_eq!(&some[..3], b"rst");
    }

    #[test]
    fn links_inside_are_followed_and_links_out_are_refused() {
        let (outer, source) = bed();
        let root = outer.path().join("set");
        symlink("a/one", root.join("relative")).unwrap();
        symlink(root.join("a/one"), root.join("absolute")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(outer.path().join("secret"), root.join("far-out")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        assert_eq!(names(&source, ""), ["a", "absolute", "relative"]);
        for good in ["relative", "absolute"] {
            assert_eq!(&*source.read(Path::new(good)).unwrap().1, b"first");
        }
        for bad in ["out", "far-out", "../secret", "a/../../secret"] {
            assert!(source.read(Path::new(bad)).is_err(), "{bad}");
            assert!(source.stat(Path::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_watch_tells_of_changes_to_what_has_one_name() {
        let (outer, source) = bed();
        let root = outer.path().join("set");
        symlink("a/one", root.join("link")).unwrap();
        symlink("a", root.join("folder")).unwrap();
        std::fs::write(root.join("a/two"), b"second").unwrap();
        std::fs::hard_link(root.join("a/two"), outer.path().join("other name")).unwrap();
        let alone = |path: &str| source.stat_watched(Path::new(path)).unwrap().1;
        assert_eq!(
            ["a/one", "a", "link", "folder", "a/two"].map(alone),
            [true, true, false, false, false]
        );
        let watcher = Watcher::new().unwrap();
        assert!(source.watch(Path::new("folder"), &watcher).is_err());
        let watch = source.watch(Path::new("a"), &watcher).unwrap();
        std::fs::write(root.join("a/one"), b"longer than before").unwrap();
        std::fs::rename(root.join("a/b"), root.join("a/c")).unwrap();
        let mut all = Vec::new();
        let moved = Change::Name { watch, name: "c".into(), listed: true, folder: true };
        while !all.contains(&moved) {
            all.extend(watcher.changes().unwrap());
        }
        let edited = Change::Name { watch, name: "one".into(), listed: false, folder: false };
        assert!(all.contains(&edited), "{all:?}");
        std::fs::remove_dir_all(root.join("a")).unwrap();
        while !all.contains(&Change::End(watch)) {
            all.extend(watcher.changes().unwrap());
        }
    }

    #[test]
    fn loops_of_links_are_left_out() {
        let (outer, source) = bed();
        let root = outer.path().join("set");
        symlink("..", root.join("a/up")).unwrap();
        symlink(root.join("a"), root.join("a/b/again")).unwrap();
        symlink("self", root.join("self")).unwrap();
        symlink("a/b", root.join("fine")).unwrap();
        assert_eq!(names(&source, ""), ["a", "fine"]);
        assert_eq!(names(&source, "a"), ["b", "one"]);
        assert!(names(&source, "a/b").is_empty());
    }

    #[test]
    fn what_is_no_file_is_left_out_and_never_waited_for() {
        let (outer, source) = bed();
        let fifo = outer.path().join("set/a/fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(names(&source, "a"), ["b", "one"]);
        assert!(source.read(Path::new("a/fifo")).is_err());
        assert!(source.stat(Path::new("a/fifo")).is_err());
    }
}
