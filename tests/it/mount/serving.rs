//! Who answers opens, and what is said of it.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::bed::{Bed, FIXED, RANDOM, SAMPLES, VARYING, printed};
use super::{DEADLINE, pictures, wait_for};

#[test]
fn what_was_read_is_opened_and_read_again_without_the_mounts_process() {
    let Some(mut bed) = Bed::mounted(VARYING) else { return };
    let first: Vec<_> = SAMPLES.iter().map(|(_, served)| bed.read(served)).collect();
    // A listing that is new is looked at once more.
    std::thread::sleep(Duration::from_millis(1100));
    SAMPLES.iter().for_each(|(_, served)| drop(bed.read(served)));
    let open = File::open(bed.at(SAMPLES[0].1)).unwrap();
    assert_eq!(bed.stats()["open_files"], 0);
    bed.send(Signal::SIGSTOP);
    let (send, answer) = mpsc::channel();
    let paths: Vec<_> = SAMPLES.iter().map(|(_, served)| bed.at(served)).collect();
    std::thread::spawn(move || {
        let read: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        send.send(read).unwrap();
    });
    let again = answer.recv_timeout(DEADLINE);
    bed.send(Signal::SIGCONT);
    assert!(again.expect("an open or a read that needs the mount's process") == first);
    drop(open);
    assert_eq!(bed.count("served"), SAMPLES.len() as u64);
}

#[test]
fn the_mode_is_what_the_steps_allow_and_is_told() {
    for (steps, keys, mode, because) in [
        (FIXED, "", "cached", "no step is random"),
        (FIXED, "serve = \"direct\"", "direct", "asked for"),
        (FIXED, "revalidate = \"0s\"", "direct", "revalidate"),
        (RANDOM, "", "direct", "pipeline 1 has a random step"),
    ] {
        let Some(mut bed) = Bed::new(steps, "npy") else { return };
        bed.serve(keys);
        bed.mount();
        let stats = bed.stats();
        assert_eq!(stats["serving"]["mode"], mode, "{keys}");
        assert!(stats["serving"]["because"].as_str().unwrap().contains(because), "{stats}");
        let told = printed(&mut bed.parbake(["stats", "mnt"]));
        assert!(told.contains(mode) && told.contains(because), "{told}");
        let file = File::open(bed.at(SAMPLES[0].1)).unwrap();
        assert_eq!(bed.stats()["open_files"], u64::from(mode == "direct"));
        drop(file);
    }
    let Some(bed) = Bed::new(RANDOM, "npy") else { return };
    let refused = bed.parbake(["mount", "set.toml", "mnt", "--serve", "cached"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("pipeline 1 has a random step"), "{said}");
}

#[test]
fn an_opening_of_a_text_keeps_what_it_said() {
    for mode in ["cached", "direct"] {
        let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
        bed.serve(&format!("serve = \"{mode}\""));
        bed.mount();
        bed.stats();
        let old = File::open(bed.at(".parbake/stats.json")).unwrap();
        let told = old.metadata().unwrap().len();
        SAMPLES.iter().for_each(|(_, served)| drop(bed.read(served)));
        assert_eq!(bed.count("served"), SAMPLES.len() as u64);
        let text = std::io::read_to_string(&old).unwrap();
        assert_eq!(text.len() as u64, told);
        let text: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text["tallies"]["served"]["count"], 0);
    }
}

#[test]
fn what_cannot_be_watched_is_asked_for_again() {
    let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
    bed.serve("revalidate = \"500ms\"");
    symlink("../cat", bed.source("dog/kittens")).unwrap();
    symlink("../cat/0.png", bed.source("dog/link.png")).unwrap();
    let (name, elsewhere) = (bed.source("dog/2.png"), bed.folder().join("second name"));
    fs::hard_link(name, &elsewhere).unwrap();
    bed.mount();
    let served = ["dog/kittens/0.npy", "dog/link.npy", "dog/2.npy"];
    for round in 0..3 {
        let sources = ["cat/0.png", "cat/0.png", "dog/2.png"];
        for (served, source) in served.iter().zip(sources) {
            let now = bed.expected(source, 0);
            wait_for(served, Duration::from_millis(1200), || bed.read(served) == now);
        }
        bed.write("cat/0.png", &pictures::png(33, 44, round));
        fs::write(&elsewhere, pictures::png(43, 44, round)).unwrap();
    }
    let log = bed.log();
    assert_eq!(log.matches("not every folder can be watched").count(), 1, "{log}");
}
