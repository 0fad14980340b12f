//! Changes of the source that are told by the system, where names are kept for an hour: whatever is
//! done, the mount comes to be what the source is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;

use super::bed::{Bed, FIXED};
use super::{DEADLINE, wait_for};

/// Everything under a folder; files with their bytes.
fn tree(root: &Path) -> std::io::Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                all.insert(name, None);
                folders.push(path);
            } else {
                all.insert(name, Some(fs::read(path)?));
            }
        }
    }
    Ok(all)
}

/// The plain tree and that of an epoch.
fn is_the_sources(bed: &Bed) -> bool {
    let source = tree(&bed.source("")).unwrap();
    [bed.at(""), bed.pinned(3, "")].iter().all(|root| tree(root).is_ok_and(|tree| tree == source))
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// One change. That it can't be made, such as moving a folder into itself, is no trouble.
fn change(bed: &Bed, numbers: &mut Numbers) -> std::io::Result<()> {
    let now = tree(&bed.source(""))?;
    let mut folders = vec![PathBuf::new()];
    folders.extend(now.iter().filter(|(_, file)| file.is_none()).map(|(name, _)| name.clone()));
    let files: Vec<_> =
        now.iter().filter(|(_, file)| file.is_some()).map(|(name, _)| name.clone()).collect();
    let at = |name: &Path| bed.source("").join(name);
    let (file, folder) = (numbers.of(&["w", "x", "y", "z"]), numbers.of(&["D", "E"]));
    let (file, folder) = (numbers.of(&folders).join(file), numbers.of(&folders).join(folder));
    // All of one byte: a mixture would show.
    let bytes = vec![b'a' + numbers.below(20) as u8; 1 + numbers.below(200_000)];
    match numbers.below(10) {
        0..3 => fs::write(at(&file), bytes),
        3 | 4 => {
            fs::write(bed.folder().join("beside"), bytes)?;
            fs::rename(bed.folder().join("beside"), at(&file))
        }
        5 if !files.is_empty() => fs::remove_file(at(&numbers.of(&files))),
        6 if !files.is_empty() => fs::rename(at(&numbers.of(&files)), at(&file)),
        7 => fs::rename(at(&numbers.of(&folders)), at(&folder)),
        8 if folders.len() > 5 => fs::remove_dir_all(at(&numbers.of(&folders[1..]))),
        _ => fs::create_dir(at(&folder)),
    }
}

/// Sets it in the end.
struct Set<'a>(&'a AtomicBool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn whatever_is_done_to_the_source_the_mount_comes_to_be_like_it() {
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    bed.serve("revalidate = \"1h\"");
    let mut numbers = Numbers(1);
    for _ in 0..30 {
        let _ = change(&bed, &mut numbers);
    }
    bed.mount();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // It reads all the time, so the kernel knows every name and keeps every page.
        scope.spawn(|| {
            while !done.load(SeqCst) {
                let Ok(tree) = tree(&bed.mountpoint()) else { continue };
                for (name, bytes) in tree {
                    let bytes = bytes.unwrap_or_default();
                    let whole = bytes.iter().all(|byte| *byte == bytes[0]);
                    assert!(whole, "{} is mixed", name.display());
                }
            }
        });
        // Also if this fails, or it would read for ever.
        let _done = Set(&done);
        for round in 0..40 {
            for _ in 0..numbers.below(12) {
                let _ = change(&bed, &mut numbers);
            }
            wait_for(&format!("round {round}"), DEADLINE, || is_the_sources(&bed));
        }
    });
}

#[test]
fn more_changes_than_the_system_notes_are_seen_all_the_same() {
    const FILES: usize = 1000;
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 200_000 {
        return eprintln!("SKIPPED: this system notes {limit} changes");
    }
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    bed.serve("revalidate = \"1h\"");
    for n in 0..FILES {
        bed.write(&format!("a/b/{n}"), b"before");
    }
    bed.mount();
    for _ in 0..2 {
        assert!(is_the_sources(&bed));
        std::thread::sleep(Duration::from_millis(50));
    }
    bed.send(Signal::SIGSTOP);
    for n in (0..FILES).cycle().take(limit + FILES) {
        let file = File::options().write(true).open(bed.source(&format!("a/b/{n}"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(n as u64)).unwrap();
    }
    (0..FILES).for_each(|n| bed.write(&format!("a/b/{n}"), b"after"));
    fs::rename(bed.source("a"), bed.source("c")).unwrap();
    bed.send(Signal::SIGCONT);
    wait_for("what has changed", DEADLINE, || is_the_sources(&bed));
    assert!(bed.log().contains("faster than can be followed"), "{}", bed.log());
}
