//! Which names there are.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::errno::Errno;

use crate::mount::bed::{Bed, FIXED, LABELS, RANDOM, SAMPLES, errno};

fn names(folder: &Path) -> BTreeSet<String> {
    let listed: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let names: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(names.len(), listed.len(), "a name is listed twice");
    names
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn the_tree_is_the_sources_with_another_extension_for_samples() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    bed.write("cat/empty folder/of/nothing.txt", b"");
    fs::create_dir(bed.source("bare")).unwrap();
    let picture = fs::read(bed.source("cat/0.png")).unwrap();
    // Any bytes are a name, and the longest name has room for no extension.
    let strange = [
        OsStr::from_bytes(b"\xff \n*.png").to_owned(),
        ["x".repeat(251), ".png".into()].concat().into(),
    ];
    for name in &strange {
        bed.write("strange/one", &picture);
        fs::rename(bed.source("strange/one"), bed.source("strange").join(name)).unwrap();
    }
    bed.mount();
    assert_eq!(names(&bed.mountpoint()), set(["bare", "cat", "dog", "labels.csv", "strange"]));
    assert_eq!(names(&bed.at("bare")), set([]));
    assert_eq!(names(&bed.at("cat")), set(["0.npy", "1.npy", "empty folder"]));
    assert_eq!(names(&bed.at("dog/deep")), set(["3.npy"]));
    for name in &strange {
        let served = bed.at("strange").join(Path::new(name).with_extension("npy"));
        assert_eq!(fs::read(served).unwrap(), bed.expected("cat/0.png", 0));
    }
    // The source's name is none.
    assert_eq!(errno(fs::metadata(bed.at("cat/0.png"))), Errno::ENOENT);
}

#[test]
fn a_listing_has_every_name_once_whatever_changes_meanwhile() {
    // The kernel asks for some 2000 names of this length at a time.
    const MANY: usize = 8000;
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    for n in 0..MANY {
        bed.write(&format!("many/{n:04} with a name of some length"), b"");
    }
    bed.mount();
    let mut listing = fs::read_dir(bed.at("many")).unwrap();
    let mut seen = BTreeSet::new();
    for round in 0.. {
        let Some(entry) = listing.next() else { break };
        assert!(seen.insert(entry.unwrap().file_name()), "listed twice");
        match round {
            100 => (10..20).for_each(|n| {
                fs::remove_file(bed.source(&format!("many/{n:04} with a name of some length")))
                    .unwrap();
            }),
            5000 => (0..10).for_each(|n| bed.write(&format!("many/0000 new {n}"), b"")),
            _ => {}
        }
    }
    let stayed = (0..MANY).filter(|n| !(10..20).contains(n));
    for name in stayed.map(|n| format!("{n:04} with a name of some length")) {
        assert!(seen.contains(OsStr::new(&name)), "{name} is not listed");
    }
}

#[test]
fn names_that_would_collide_stay_whole() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    bed.write("cat/0.jpg", &fs::read(bed.source("cat/1.jpg")).unwrap());
    bed.write("cat/0.npy", b"of the source");
    bed.mount();
    assert_eq!(names(&bed.at("cat")), set(["0.jpg.npy", "0.npy", "0.png.npy", "1.npy"]));
    assert_eq!(bed.read("cat/0.npy"), b"of the source");
    assert_eq!(bed.read("cat/0.jpg.npy"), bed.expected("cat/0.jpg", 0));
    assert_eq!(bed.read("cat/0.png.npy"), bed.expected("cat/0.png", 0));
}

#[test]
fn what_no_pipeline_matches_is_served_as_it_is() {
    let Some(mut bed) = Bed::new(RANDOM, "npy") else { return };
    let long: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    bed.write("long.bin", &long);
    bed.mount();
    assert_eq!(bed.read("labels.csv"), LABELS.as_bytes());
    assert_eq!(bed.read("long.bin"), long);
    assert_eq!(bed.read_pinned(3, "long.bin"), long);
    let served = fs::metadata(bed.at("long.bin")).unwrap();
    assert_eq!(
        served.modified().unwrap(),
        fs::metadata(bed.source("long.bin")).unwrap().modified().unwrap()
    );
}

#[test]
fn parbake_has_a_folder_that_is_reachable_and_not_listed() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    assert!(!names(&bed.mountpoint()).contains(".parbake"));
    assert_eq!(
        names(&bed.at(".parbake")),
        set([
            "epoch",
            "errors.jsonl",
            "manifest.jsonl",
            "metrics",
            "pipeline.toml",
            "stats",
            "stats.json",
        ])
    );
    for file in ["stats", "metrics", "pipeline.toml", "manifest.jsonl"] {
        assert!(!bed.read(&format!(".parbake/{file}")).is_empty(), "{file}");
    }
    let manifest = String::from_utf8(bed.read(".parbake/manifest.jsonl")).unwrap();
    for (_, served) in SAMPLES {
        let line = manifest.lines().find(|line| line.contains(&format!("\"{served}\""))).unwrap();
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["size"], fs::metadata(bed.at(served)).unwrap().len());
    }
    // It is in the root alone, and an epoch has one name.
    for none in ["cat/.parbake", ".parbake/epoch/007", ".parbake/epoch/-1", ".parbake/epoch/x"] {
        assert_eq!(errno(fs::metadata(bed.at(none))), Errno::ENOENT, "{none}");
    }
    assert_eq!(names(&bed.at(".parbake/epoch")), set([]));
    assert_eq!(names(&bed.at(".parbake/epoch/7")), names(&bed.mountpoint()));
}

#[test]
fn links_are_followed_inside_the_source_and_nowhere_else() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    fs::write(bed.folder().join("secret.png"), b"secret").unwrap();
    symlink("../secret.png", bed.source("out.png")).unwrap();
    symlink("..", bed.source("cat/up")).unwrap();
    symlink("0.png", bed.source("cat/again.png")).unwrap();
    symlink("cat", bed.source("kitten")).unwrap();
    nix::unistd::mkfifo(&bed.source("cat/pipe.png"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    bed.mount();
    assert_eq!(names(&bed.mountpoint()), set(["cat", "dog", "kitten", "labels.csv"]));
    assert_eq!(names(&bed.at("kitten")), set(["0.npy", "1.npy", "again.npy"]));
    assert_eq!(bed.read("cat/again.npy"), bed.read("cat/0.npy"));
    assert_eq!(errno(fs::metadata(bed.at("out.npy"))), Errno::ENOENT);
}
