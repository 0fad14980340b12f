//! How a mount begins and ends, and what is left of it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};

use crate::mount::bed::{Bed, FIXED, RANDOM, errno, run};
use crate::mount::{DEADLINE, wait_for};

/// How long a dead mount may keep its name.
const CLEARED: Duration = Duration::from_secs(5);

#[test]
fn a_signal_unmounts_at_once_and_open_files_are_served_on() {
    let all = [(Signal::SIGTERM, RANDOM), (Signal::SIGINT, FIXED), (Signal::SIGHUP, RANDOM)];
    for (signal, steps) in all {
        let Some(mut bed) = Bed::mounted(steps) else { return };
        let mut file = File::open(bed.at("cat/0.npy")).unwrap();
        bed.send(signal);
        wait_for("the name to be free", DEADLINE, || !bed.is_mounted());
        assert_eq!(errno(fs::metadata(bed.at("cat"))), Errno::ENOENT);
        let mut read = Vec::new();
        file.read_to_end(&mut read).unwrap();
        assert_eq!(read, bed.expected("cat/0.png", 0));
        // It ends by itself when the last one is closed.
        drop(file);
        assert!(bed.ended().success());
        bed.mount();
        assert_eq!(bed.read("cat/0.npy"), read);
        // A second signal doesn't wait for that.
        let file = File::open(bed.at("cat/1.npy")).unwrap();
        bed.send(signal);
        wait_for("the name to be free", DEADLINE, || !bed.is_mounted());
        bed.send(signal);
        assert!(bed.ended().success());
        assert_eq!(errno(file.read_at(&mut [0; 10], 0)), Errno::ENOTCONN);
    }
}

#[test]
fn unmount_is_done_at_once_and_open_files_are_served_on() {
    for steps in [RANDOM, FIXED] {
        let Some(mut bed) = Bed::mounted(steps) else { return };
        let mut file = File::open(bed.at("cat/0.npy")).unwrap();
        run(&mut bed.parbake(["unmount", "mnt"]));
        assert!(!bed.is_mounted());
        assert_eq!(bed.parbake(["unmount", "mnt"]).output().unwrap().status.code(), Some(2));
        // Another mount has the name at once, and the old file is still the old mount's.
        let before = bed.detached();
        bed.mount();
        let mut read = Vec::new();
        file.read_to_end(&mut read).unwrap();
        assert_eq!(read, bed.expected("cat/0.png", 0));
        assert_eq!(bed.read("cat/0.npy"), read);
        drop(file);
        assert!(before.ended().success());
        assert!(bed.is_mounted(), "the one before took the name of the one after");
    }
}

#[test]
fn a_killed_mount_leaves_no_dead_name() {
    for signal in [Signal::SIGKILL, Signal::SIGABRT] {
        let Some(mut bed) = Bed::mounted(RANDOM) else { return };
        fs::metadata(bed.mountpoint()).unwrap();
        let file = File::open(bed.at("cat/0.npy")).unwrap();
        bed.send(signal);
        wait_for("the name to be cleared", CLEARED, || !bed.is_mounted());
        assert_eq!(errno(file.read_at(&mut [0; 10], 0)), Errno::ENOTCONN);
        assert!(!bed.ended().success());
        bed.mount();
        assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    }
}

#[test]
fn a_dead_mount_is_cleared_at_the_start() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    kill(bed.watchdog(), Signal::SIGKILL).unwrap();
    // What the kernel was told it goes on telling for a while.
    assert_eq!(fs::read_dir(bed.mountpoint()).unwrap().count(), 3);
    fs::metadata(bed.mountpoint()).unwrap();
    bed.kill();
    assert_eq!(errno(fs::metadata(bed.at("cat/nothing"))), Errno::ENOTCONN);
    bed.mount();
    assert!(bed.log().contains("cleared"), "{}", bed.log());
    assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    assert_eq!(bed.stats()["tallies"]["error"]["count"], 0);
}

#[test]
fn the_mountpoint_is_apart_from_source_and_cache() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    fs::create_dir(bed.cache()).unwrap();
    for overlapping in ["source", "source/new/one", "cache", "cache/new", "."] {
        let refused = bed.parbake(["mount", "set.toml", overlapping]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{overlapping}: {said}");
        assert!(said.contains("overlap"), "{said}");
    }
    // Nothing was left in the source by asking.
    assert!(!bed.source("new").exists());
    assert!(!bed.cache().join("new").exists());
}

#[test]
fn in_the_background_the_mount_answers_when_the_command_returns() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    let done = run(&mut bed.parbake(["mount", "set.toml", "mnt", "--log", "background.log"]));
    assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    assert!(String::from_utf8_lossy(&done.stderr).contains("background.log"));
    // A second one on the same folder is refused, and the first goes on.
    let second = bed.parbake(["mount", "set.toml", "mnt"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(bed.read("cat/1.npy"), bed.expected("cat/1.jpg", 0));
    run(&mut bed.parbake(["unmount", "mnt"]));
    assert!(!bed.is_mounted());
}
