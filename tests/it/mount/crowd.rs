//! Eight processes on one cache at once: mounts that are read, and `materialize`.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::bed::{Bed, FIXED};
use super::{DEADLINE, pictures, wait_for};

const SOURCES: usize = 160;
const MOUNTS: usize = 4;

/// Waits for a process to end, and gives what it said.
fn said_at_end(mut child: Child) -> String {
    let mut status = None;
    wait_for("it to end", DEADLINE * 4, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

fn number_before(said: &str, word: &str) -> u64 {
    let Some((before, _)) = said.split_once(word) else { return 0 };
    before.rsplit([' ', '\n']).next().unwrap().parse().unwrap()
}

#[test]
fn eight_processes_that_fill_and_read_a_cache_at_once() {
    let Some(bed) = Bed::empty(FIXED, "npy") else { return };
    for n in 0..SOURCES {
        bed.write(&format!("{n}.png"), &pictures::png(240, 240, n as u64));
    }
    let expected: Vec<Vec<u8>> =
        (0..SOURCES).map(|n| bed.expected(&format!("{n}.png"), 0)).collect();

    let points: Vec<_> = (0..MOUNTS).map(|n| bed.folder().join(format!("mnt-{n}"))).collect();
    for point in &points {
        // It comes back when it is mounted.
        let said = said_at_end(
            bed.parbake(["mount", "--threads", "2", "set.toml", point.to_str().unwrap()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        assert!(said.contains("mounted on"), "{said}");
    }
    let filling: Vec<Child> = (0..8 - MOUNTS)
        .map(|_| {
            let mut command = bed.parbake(["materialize", "--threads", "2", "set.toml"]);
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for (at, point) in points.iter().enumerate() {
            let expected = &expected;
            scope.spawn(move || {
                for n in 0..SOURCES {
                    // Each in an order of its own.
                    let n = (n * [5, 7, 11, 13][at] + at * 17) % SOURCES;
                    let file = fs::read(point.join(format!("{n}.npy"))).unwrap();
                    assert!(file == expected[n], "mount {at}: {n} is wrong");
                }
            });
        }
    });
    let mut made: u64 =
        filling.into_iter().map(|child| number_before(&said_at_end(child), " made in ")).sum();
    std::thread::sleep(Duration::from_millis(1100));
    for point in &points {
        let text = fs::read(point.join(".parbake/stats.json")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&text).unwrap();
        made += stats["tallies"]["miss"]["count"].as_u64().unwrap();
        assert_eq!(stats["tallies"]["error"]["count"], 0);
        said_at_end(
            bed.parbake(["unmount", point.to_str().unwrap()])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
    }
    let samples = SOURCES as u64;
    eprintln!("{made} makings of {samples} samples by eight processes");
    assert!((samples..=samples * 4).contains(&made), "{made} makings of {samples} samples");
    let packs = fs::read_dir(bed.cache().join("parbake-v1/packs")).unwrap();
    let held: u64 = packs.map(|pack| pack.unwrap().metadata().unwrap().len()).sum();
    let raw = samples * 240 * 240 * 3;
    assert!(held <= raw * 4, "{held} bytes of {raw}");
    // Whoever ended well left an index of what it wrote.
    wait_for("the mounts to end", DEADLINE, || {
        let users = bed.cache().join("parbake-v1/users").read_dir().unwrap();
        users
            .filter(|file| file.as_ref().unwrap().path().extension() == Some("live".as_ref()))
            .count()
            == 0
    });
    let count = |folder: &str| bed.cache().join(folder).read_dir().unwrap().count();
    assert_eq!(count("parbake-v1/index"), count("parbake-v1/packs"));
}
