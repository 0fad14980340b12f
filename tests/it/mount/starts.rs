//! How mounts are started: several at once, from a shell that holds things, with little to spend.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use super::bed::{Bed, FIXED, SAMPLES, run};
use super::{DEADLINE, pictures};

#[test]
fn of_several_mounts_at_once_on_one_folder_one_is_made() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    let started: Vec<_> = (0..4)
        .map(|n| {
            let log = format!("log-of-{n}");
            let mut mount = bed.parbake(["mount", "set.toml", "mnt", "--log", &log]);
            mount.stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> =
        started.into_iter().map(|mut mount| mount.wait().unwrap().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 1).count(), 3, "{codes:?}");
    assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    run(&mut bed.parbake(["unmount", "mnt"]));
    assert!(!bed.is_mounted());
}

#[test]
fn a_mount_in_the_background_holds_nothing_of_who_started_it() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    // A pipe that the shell has open, as it might a lock: its other end is told when all are gone.
    let mut shell = Command::new("sh")
        .args(["-c", "exec 9>&1; \"$0\" mount set.toml mnt --log background.log"])
        .arg(bed.parbake([]).get_program())
        .current_dir(bed.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (end, ended) = mpsc::channel();
    let mut pipe = shell.stdout.take().unwrap();
    std::thread::spawn(move || end.send(pipe.read_to_end(&mut Vec::new()).is_ok()));
    assert!(shell.wait().unwrap().success());
    assert_eq!(ended.recv_timeout(DEADLINE), Ok(true), "the pipe is still open");
    let processes = fs::read_dir("/proc").unwrap();
    let here = processes.filter(|process| {
        let folder = process.as_ref().unwrap().path().join("cwd");
        fs::read_link(folder).is_ok_and(|folder| folder == bed.folder())
    });
    assert_eq!(here.count(), 0, "somebody is in the folder that it was started in");
    assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    run(&mut bed.parbake(["unmount", "mnt"]));
}

#[test]
fn a_mount_with_little_to_open_and_to_write_serves_all() {
    let Some(bed) = Bed::new(FIXED, "npy") else { return };
    // Each of them writes a pack of its own.
    for n in 0..40 {
        bed.write("cat/0.png", &pictures::png(48, 64, n));
        run(&mut bed.parbake(["materialize", "set.toml"]));
    }
    bed.write("dog/new.png", &pictures::png(300, 300, 41));
    let mount = "ulimit -n 40; ulimit -f 1; exec \"$0\" mount set.toml mnt --log background.log";
    let mut shell = Command::new("sh");
    shell.args(["-c", mount]).arg(bed.parbake([]).get_program()).current_dir(bed.folder());
    run(&mut shell);
    for (source, served) in SAMPLES.iter().chain([&("dog/new.png", "dog/new.npy")]) {
        assert_eq!(bed.read(served), bed.expected(source, 0), "{served}");
    }
    run(&mut bed.parbake(["unmount", "mnt"]));
}
