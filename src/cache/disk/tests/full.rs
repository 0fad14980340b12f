//! A file system that is really full.

use std::fs;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::*;

/// A small file system in memory, gone when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn new(size: &str) -> Result<SmallDisk, nix::Error> {
        let folder = TempDir::new().unwrap();
        let data = format!("size={size}");
        mount(Some("tmpfs"), folder.path(), Some("tmpfs"), MsFlags::empty(), Some(&*data))?;
        Ok(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        umount2(self.0.path(), MntFlags::MNT_DETACH).unwrap();
    }
}

#[test]
fn a_full_disk_costs_no_read_and_is_used_again_when_there_is_room() {
    let disk = match SmallDisk::new("1m") {
        Ok(disk) => disk,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "cannot mount a tmpfs: {error}");
            eprintln!("SKIPPED: cannot mount a tmpfs ({error}); needs root");
            return;
        }
    };
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![0; 512 << 10]).unwrap();

    let cache = open(disk.0.path());
    let kept: Vec<usize> = (0..1000).filter(|n| put(&cache, *n)).collect();
    assert!(kept.len() > 50 && kept.len() < 900, "{} kept", kept.len());
    let all_there = |cache: &DiskCache| kept.iter().all(|n| holds(cache, *n));
    assert!(all_there(&cache) && all_there(&open(disk.0.path())));

    fs::remove_file(&ballast).unwrap();
    let kept_now = (0..1000).filter(|n| put(&cache, *n)).count();
    assert!(kept_now > kept.len() + 50, "{kept_now} kept");
    assert!(all_there(&cache) && all_there(&open(disk.0.path())));
}
