//! What becomes visible of a source that changes while it is served.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::time::Duration;

use nix::errno::Errno;

use crate::mount::bed::{Bed, FIXED, RANDOM, VARYING, errno};
use crate::mount::{pictures, wait_for};

/// What a bare `stat` and a listing may lag behind, and a tick.
const LAG: Duration = Duration::from_millis(1200);

/// Puts another file into the place of a picture: of the same name, size and time.
fn replace_by_its_like(bed: &Bed, name: &str, (height, width): (usize, usize)) {
    let stat = fs::metadata(bed.source(name)).unwrap();
    let before = fs::read(bed.source(name)).unwrap();
    let other = (200..).map(|seed| pictures::png(height, width, seed));
    let like = |other: &Vec<u8>| other.len() == before.len() && *other != before;
    let beside = bed.source("beside");
    fs::write(&beside, other.take(300).find(like).unwrap()).unwrap();
    let file = File::options().write(true).open(&beside).unwrap();
    file.set_modified(stat.modified().unwrap()).unwrap();
    fs::rename(&beside, bed.source(name)).unwrap();
}

/// Waits until a sample is served as its source is now, also in an epoch.
#[track_caller]
fn becomes_fresh(bed: &Bed, served: &str, source: &str) {
    let now = bed.expected(source, 0);
    wait_for(served, LAG, || {
        let read = |path| fs::read(path).is_ok_and(|read| read == now);
        read(bed.at(served)) && read(bed.pinned(4, served))
    });
}

#[track_caller]
fn becomes(bed: &Bed, folder: &str, names: &[&str]) {
    wait_for(folder, LAG, || {
        let Ok(listed) = fs::read_dir(bed.at(folder)) else { return false };
        let mut listed: Vec<_> = listed.map(|name| name.unwrap().file_name()).collect();
        listed.sort();
        listed == names
    });
}

#[test]
fn where_the_kernel_answers_opens_they_see_a_change_within_revalidate() {
    // An hour is too long to wait for: there it is told by the system, or never.
    for keys in ["revalidate = \"1h\"", "watch = \"poll\"\nrevalidate = \"500ms\""] {
        let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
        bed.serve(keys);
        bed.write("cat/deep/er/5.png", &pictures::png(40, 40, 4));
        bed.mount();
        assert_eq!(bed.stats()["serving"]["mode"], "cached");
        becomes(&bed, "cat", &["0.npy", "1.npy", "deep"]);
        becomes(&bed, ".parbake/epoch/4/cat", &["0.npy", "1.npy", "deep"]);
        for (served, source) in [
            ("cat/0.npy", "cat/0.png"),
            ("dog/2.npy", "dog/2.png"),
            ("cat/deep/er/5.npy", "cat/deep/er/5.png"),
        ] {
            becomes_fresh(&bed, served, source);
        }
        // A listing that is new is looked at once more: from here on only what is told is new.
        std::thread::sleep(Duration::from_millis(50));
        let before = bed.read("cat/0.npy");
        let old = File::open(bed.at("cat/0.npy")).unwrap();
        let map = map(&old, before.len());

        bed.write("cat/0.png", &pictures::png(70, 80, 100));
        becomes_fresh(&bed, "cat/0.npy", "cat/0.png");
        replace_by_its_like(&bed, "dog/2.png", (50, 62));
        becomes_fresh(&bed, "dog/2.npy", "dog/2.png");
        // What is open or mapped is what it was.
        let mut read = vec![0; before.len()];
        old.read_exact_at(&mut read, 0).unwrap();
        assert!(read == before && map == before);

        // By who keeps it open.
        bed.read("labels.csv");
        let mut labels = File::options().append(true).open(bed.source("labels.csv")).unwrap();
        std::io::Write::write_all(&mut labels, b"pig,2\n").unwrap();
        wait_for("the table", LAG, || bed.read("labels.csv").ends_with(b"pig,2\n"));

        // One that goes, and one that comes and takes the other's name.
        assert!(fs::read(bed.at("cat/1.npy")).is_ok());
        fs::remove_file(bed.source("cat/1.jpg")).unwrap();
        wait_for("the name to go", LAG, || File::open(bed.at("cat/1.npy")).is_err());
        bed.write("cat/0.jpg", &pictures::jpeg(30, 30, 8));
        wait_for("the name to go", LAG, || File::open(bed.at("cat/0.npy")).is_err());
        becomes_fresh(&bed, "cat/0.jpg.npy", "cat/0.jpg");
        becomes_fresh(&bed, "cat/0.png.npy", "cat/0.png");
        becomes(&bed, "cat", &["0.jpg.npy", "0.png.npy", "deep"]);
        becomes(&bed, ".parbake/epoch/4/cat", &["0.jpg.npy", "0.png.npy", "deep"]);
        fs::set_permissions(bed.source("cat/0.jpg"), PermissionsExt::from_mode(0o400)).unwrap();
        let mode = |name: &str| fs::metadata(bed.at(name)).map_or(0, |stat| stat.mode() & 0o777);
        wait_for("the permissions", LAG, || mode("cat/0.jpg.npy") == 0o400);
        fs::set_permissions(bed.source("cat"), PermissionsExt::from_mode(0o750)).unwrap();
        wait_for("the folder's permissions", LAG, || mode("cat") == 0o550);

        // Another folder in the place of one, while something in it is open.
        let inside = File::open(bed.at("cat/deep/er/5.npy")).unwrap();
        fs::rename(bed.source("cat/deep"), bed.folder().join("away")).unwrap();
        wait_for("the folder to go", LAG, || fs::metadata(bed.at("cat/deep")).is_err());
        bed.write("cat/deep/er/5.png", &pictures::png(41, 40, 4));
        becomes_fresh(&bed, "cat/deep/er/5.npy", "cat/deep/er/5.png");
        bed.write("cat/deep/er/6.png", &pictures::png(41, 40, 4));
        becomes(&bed, "cat/deep/er", &["5.npy", "6.npy"]);
        bed.write("cat/deep/er/6.png", &pictures::png(42, 40, 4));
        becomes_fresh(&bed, "cat/deep/er/6.npy", "cat/deep/er/6.png");
        fs::rename(bed.source("cat"), bed.source("pig")).unwrap();
        becomes_fresh(&bed, "pig/deep/er/6.npy", "pig/deep/er/6.png");
        bed.write("pig/deep/er/6.png", &pictures::png(43, 40, 4));
        becomes_fresh(&bed, "pig/deep/er/6.npy", "pig/deep/er/6.png");
        becomes(&bed, "", &["dog", "labels.csv", "pig"]);
        drop(inside);
        assert_eq!(bed.stats()["open_files"], 0);
    }
}

/// The bytes of a mapped file.
#[expect(unsafe_code, reason = "mapping a file is a promise that nobody changes it")]
fn map(file: &File, length: usize) -> &'static [u8] {
    use std::os::fd::AsRawFd;
    let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
    // SAFETY: a new mapping at an address of the kernel's choice: it is nobody's memory.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), length, read, shared, file.as_raw_fd(), 0) };
    assert_ne!(at, libc::MAP_FAILED);
    // SAFETY: it was mapped with this length, and stays so until the process ends; that nobody
    // changes it is what is tested.
    unsafe { std::slice::from_raw_parts(at.cast(), length) }
}

#[test]
fn the_next_open_after_a_change_sees_the_change() {
    for steps in [FIXED, VARYING, RANDOM] {
        let Some(mut bed) = Bed::new(steps, "npy") else { return };
        bed.serve("serve = \"direct\"");
        bed.mount();
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
        fresh("dog/2.npy", "dog/2.png");
        replace_by_its_like(&bed, "dog/2.png", (50, 62));
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
        for (change, mode) in ["in place", "by rename", "removed"]
            .into_iter()
            .flat_map(|change| [(change, "auto"), (change, "direct")])
        {
            let Some(mut bed) = Bed::new(steps, "npy") else { return };
            bed.serve(&format!("serve = \"{mode}\""));
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
            // The next open has the new truth, in whole: at once, or soon.
            let now = || {
                if change == "removed" {
                    return File::open(bed.at(served))
                        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
                }
                let Ok(now) = fs::read(bed.at(served)) else { return false };
                let new = (0..9).any(|epoch| made(&bed, 1, epoch) == now);
                assert!(new || now == before[0], "{served} {change}: mixed");
                new
            };
            if (mode, steps) == ("auto", VARYING) {
                wait_for("the new version", LAG, now);
            } else {
                assert!(now(), "{served} {change}");
            }
            assert_eq!(bed.errors(), [] as [serde_json::Value; 0]);
        }
    }
}
