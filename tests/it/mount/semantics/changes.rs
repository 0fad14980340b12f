//! What becomes visible of a source that changes while it is served.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::errno::Errno;

use crate::mount::bed::{Bed, FIXED, RANDOM, VARYING, errno};
use crate::mount::{pictures, wait_for};

/// What a bare `stat` and a listing may lag behind, and a tick.
const LAG: Duration = Duration::from_millis(1200);

#[test]
fn the_next_open_after_a_change_sees_the_change() {
    for steps in [FIXED, VARYING, RANDOM] {
        let Some(bed) = Bed::mounted(steps) else { return };
        let fresh = |served: &str, source: &str| {
            let read = bed.read(served);
            assert!((0..2).any(|epoch| read == bed.expected(source, epoch)), "{served} is stale");
            let pinned = bed.read_pinned(4, served);
            assert_eq!(pinned, bed.expected(source, 4));
            (read, pinned)
        };
        let before = fresh("cat/0.npy", "cat/0.png");
        // In place.
        bed.write("cat/0.png", &pictures::png(70, 80, 100));
        let edited = fresh("cat/0.npy", "cat/0.png");
        assert!(before.1 != edited.1);
        // By another file of the same name, size and time.
        let stat = fs::metadata(bed.source("dog/2.png")).unwrap();
        fresh("dog/2.npy", "dog/2.png");
        let (height, width) = (50, 62);
        let other = (200..).map(|seed| pictures::png(height, width, seed));
        let other = other.take(300).find(|other| other.len() as u64 == stat.len()).unwrap();
        let beside = bed.source("dog/beside");
        fs::write(&beside, other).unwrap();
        File::options()
            .write(true)
            .open(&beside)
            .unwrap()
            .set_modified(stat.modified().unwrap())
            .unwrap();
        fs::rename(&beside, bed.source("dog/2.png")).unwrap();
        fresh("dog/2.npy", "dog/2.png");
        // A file that no pipeline is for.
        bed.read("labels.csv");
        bed.write("labels.csv", b"cat,2\ndog,3\n");
        assert_eq!(bed.read("labels.csv"), b"cat,2\ndog,3\n");
        // One that goes, and one that comes.
        fs::remove_file(bed.source("cat/1.jpg")).unwrap();
        assert_eq!(errno(File::open(bed.at("cat/1.npy"))), Errno::ENOENT);
        bed.write("cat/new/1.png", &pictures::png(64, 64, 5));
        fresh("cat/new/1.npy", "cat/new/1.png");
    }
}

#[test]
fn a_listing_and_a_bare_stat_may_lag_by_a_second() {
    let Some(bed) = Bed::mounted(VARYING) else { return };
    let listed = || {
        let names = fs::read_dir(bed.at("cat")).unwrap();
        let mut names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(listed(), ["0.npy", "1.npy"]);
    let size = |name: &str| fs::metadata(bed.at(name)).map_or(0, |stat| stat.len());
    let before = size("cat/0.npy");
    bed.write("cat/0.png", &pictures::png(90, 90, 9));
    bed.write("cat/2.png", &pictures::png(9, 9, 9));
    fs::remove_file(bed.source("cat/1.jpg")).unwrap();
    // A name that nobody has looked for is found at once.
    assert!(size("cat/2.npy") > 0);
    wait_for("the listing", LAG, || listed() == ["0.npy", "2.npy"]);
    wait_for("the size", LAG, || size("cat/0.npy") != before);
    assert_eq!(size("cat/0.npy"), bed.read("cat/0.npy").len() as u64);
    wait_for("the name to go", LAG, || fs::metadata(bed.at("cat/1.npy")).is_err());
}

#[test]
fn with_immutable_true_nothing_that_was_seen_is_looked_at_again() {
    let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
    bed.change_config("path = \"source\"", "path = \"source\"\nimmutable = true");
    bed.mount();
    let seen = bed.read("cat/0.npy");
    bed.write("cat/0.png", &pictures::png(90, 90, 9));
    bed.write("cat/2.png", &pictures::png(9, 9, 9));
    std::thread::sleep(LAG);
    assert!(fs::metadata(bed.at("cat/2.npy")).is_err(), "the folder was listed before");
    match fs::read(bed.at("cat/0.npy")) {
        Ok(read) => assert!(read == seen),
        Err(error) => assert_eq!(errno::<()>(Err(error)), Errno::ESTALE),
    }
    // One that is made only now can't be made of what is gone.
    bed.write("dog/2.png", &pictures::png(90, 90, 9));
    assert!(fs::read(bed.at("dog/2.npy")).is_ok(), "it was not looked at before");
}

#[test]
fn a_reader_never_sees_a_mixture_of_two_versions() {
    for (steps, source, served) in [
        (VARYING, "cat/0.png", "cat/0.npy"),
        (RANDOM, "cat/0.png", "cat/0.npy"),
        (VARYING, "long.bin", "long.bin"),
    ] {
        for change in ["in place", "by rename", "removed"] {
            let Some(mut bed) = Bed::new(steps, "npy") else { return };
            let versions = if served == "long.bin" {
                [vec![1; 1_000_000], vec![2; 1_000_000]]
            } else {
                [pictures::png(400, 400, 1), pictures::png(400, 400, 2)]
            };
            bed.write(source, &versions[0]);
            bed.mount();
            let made = |bed: &Bed, version: usize, epoch| match served {
                "long.bin" => versions[version].clone(),
                _ => bed.expected(source, epoch),
            };
            // The draws of the two openings, if there are any.
            let before = [0, 1].map(|epoch| made(&bed, 0, epoch));
            let mut begun = File::open(bed.at(served)).unwrap();
            let untouched = File::open(bed.at(served)).unwrap();
            let mut read = vec![0; 10];
            begun.read_exact(&mut read).unwrap();
            match change {
                "in place" => bed.write(source, &versions[1]),
                "by rename" => {
                    bed.write("beside", &versions[1]);
                    fs::rename(bed.source("beside"), bed.source(source)).unwrap();
                }
                _ => fs::remove_file(bed.source(source)).unwrap(),
            }
            // All of what it began, or no more of it.
            if let Err(error) = begun.read_to_end(&mut read) {
                assert_eq!(errno::<()>(Err(error)), Errno::ESTALE, "{served} {change}");
                read.resize(before[0].len(), 0);
                let whole = read.iter().zip(&before[0]).take_while(|(a, b)| a == b).count();
                assert!(read[whole..].iter().all(|byte| *byte == 0), "{served} {change}: mixed");
            } else {
                assert!(read == before[0], "{served} {change}: mixed");
            }
            let mut late = vec![0; before[1].len()];
            match untouched.read_exact_at(&mut late, 0) {
                Ok(()) => assert!(late == before[1], "{served} {change}: mixed"),
                Err(error) => {
                    assert_eq!(errno::<()>(Err(error)), Errno::ESTALE, "{served} {change}");
                }
            }
            // The next open has the new truth, in whole.
            if change == "removed" {
                assert_eq!(errno(File::open(bed.at(served))), Errno::ENOENT);
            } else {
                let now = bed.read(served);
                assert!((0..3).any(|epoch| made(&bed, 1, epoch) == now), "{served} {change}");
            }
            assert_eq!(bed.errors(), [] as [serde_json::Value; 0]);
        }
    }
}
