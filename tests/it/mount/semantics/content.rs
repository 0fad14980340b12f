//! What a file has in it, and what `stat` says of it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

use nix::errno::Errno;

use crate::mount::bed::{Bed, FIXED, RANDOM, SAMPLES, VARYING, errno};
use crate::mount::{tools, wait_for};

#[test]
fn stat_tells_the_size_that_a_read_delivers() {
    for steps in [FIXED, VARYING, RANDOM] {
        let Some(mut bed) = Bed::mounted(steps) else { return };
        // With nothing cached, and with everything cached.
        for round in 0..2 {
            for (source, served) in SAMPLES {
                let told = fs::metadata(bed.at(served)).unwrap();
                let read = bed.read(served);
                assert_eq!(read, bed.expected(source, if steps == RANDOM { round } else { 0 }));
                assert_eq!(read.len() as u64, told.len());
                // Tools that look for holes take what has no blocks for one.
                assert_eq!(told.blocks(), told.len().div_ceil(512));
            }
            if steps != RANDOM {
                bed.remount();
            }
        }
    }
}

#[test]
fn without_random_steps_all_openings_read_the_same_and_the_kernel_keeps_it() {
    let Some(mut bed) = Bed::mounted(VARYING) else { return };
    for (source, served) in SAMPLES {
        let first = bed.read(served);
        assert_eq!(first, bed.expected(source, 0));
        assert_eq!(bed.read(served), first);
        // An epoch is another name of the same.
        assert_eq!(bed.read_pinned(7, served), first);
    }
    // Once for each of the two names; how often each was read made no difference.
    assert_eq!(bed.count("served"), 2 * SAMPLES.len() as u64);
    assert_eq!(bed.count("miss"), SAMPLES.len() as u64);
}

#[test]
fn a_bad_sample_is_an_error_to_its_reader_and_to_nobody_else() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    let whole = fs::read(bed.source("cat/1.jpg")).unwrap();
    bed.write("cat/cut.jpg", &whole[..whole.len() / 2]);
    bed.write("cat/empty.jpg", b"");
    bed.mount();
    let size = fs::metadata(bed.at("cat/0.npy")).unwrap().len();
    for (name, served) in [("cat/cut.jpg", "cat/cut.npy"), ("cat/empty.jpg", "cat/empty.npy")] {
        // Its size is known from the config, so it opens; no read gives anything.
        assert_eq!(fs::metadata(bed.at(served)).unwrap().len(), size);
        let file = File::open(bed.at(served)).unwrap();
        assert_eq!(errno(file.read_at(&mut [0; 10], 0)), Errno::EIO);
        assert_eq!(errno(file.read_at(&mut [0; 10], 5)), Errno::EIO);
        assert!(bed.log().contains(name), "{}", bed.log());
    }
    assert_eq!(bed.read("cat/0.npy"), bed.expected("cat/0.png", 0));
    let errors = bed.errors();
    let sources: Vec<_> = errors.iter().map(|line| line["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["cat/cut.jpg", "cat/empty.jpg"]);
    for line in &errors {
        assert_eq!((&line["step"], &line["name"]), (&1.into(), &"decode_image".into()));
        assert!(line["cause"].as_str().unwrap().contains("decode_image"), "{line}");
    }
    // Made good, it is served and struck off the list.
    bed.write("cat/cut.jpg", &whole);
    bed.write("cat/empty.jpg", &whole);
    wait_for("the mended sample", crate::mount::DEADLINE, || {
        fs::read(bed.at("cat/cut.npy")).is_ok_and(|read| read == bed.expected("cat/cut.jpg", 0))
    });
    bed.read("cat/empty.npy");
    assert_eq!(bed.errors(), [] as [serde_json::Value; 0]);
}

#[test]
fn a_bad_sample_whose_size_cannot_be_known_has_none() {
    for mode in ["direct", "cached"] {
        let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
        bed.serve(&format!("serve = \"{mode}\""));
        bed.write("cat/empty.jpg", b"");
        bed.write("cat/page.jpg", b"<html>404</html>");
        bed.mount();
        for served in ["cat/empty.npy", "cat/page.npy"] {
            assert_eq!(fs::metadata(bed.at(served)).unwrap().len(), 0);
            // Not a read that ends at once: that would look like success.
            let opened = File::open(bed.at(served));
            if mode == "direct" {
                assert_eq!(errno(opened), Errno::EIO);
            } else {
                let mut opened = opened.unwrap();
                assert_eq!(errno(opened.read(&mut [0; 10])), Errno::EIO);
                assert_eq!(errno(opened.read_at(&mut [0; 10], 500)), Errno::EIO);
            }
            assert_eq!(errno(fs::read(bed.at(served))), Errno::EIO);
        }
        assert_eq!(bed.errors().len(), 2);
    }
}

#[test]
fn everything_is_read_only() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    for path in [bed.at("cat/0.npy"), bed.at("labels.csv"), bed.at(".parbake/stats")] {
        assert_eq!(errno(File::options().write(true).open(&path)), Errno::EROFS);
        assert_eq!(errno(fs::remove_file(&path)), Errno::EROFS);
        assert_eq!(
            errno(fs::set_permissions(&path, PermissionsExt::from_mode(0o777))),
            Errno::EROFS
        );
        assert_eq!(errno(fs::rename(&path, bed.at("other"))), Errno::EROFS);
    }
    assert_eq!(errno(File::create_new(bed.at("new"))), Errno::EROFS);
    assert_eq!(errno(fs::create_dir(bed.at("cat/new"))), Errno::EROFS);
}

#[test]
fn permissions_are_the_sources_without_the_right_to_write() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    let give = |name: &str, mode| {
        fs::set_permissions(bed.source(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    give("cat/0.png", 0o640);
    give("labels.csv", 0o604);
    give("dog", 0o750);
    bed.mount();
    for (source, served) in
        [("cat/0.png", "cat/0.npy"), ("labels.csv", "labels.csv"), ("dog", "dog")]
    {
        let (theirs, ours) =
            (fs::metadata(bed.source(source)).unwrap(), fs::metadata(bed.at(served)).unwrap());
        assert_eq!(ours.mode() & 0o777, theirs.mode() & 0o555, "{served}");
        assert_eq!((ours.uid(), ours.gid()), (theirs.uid(), theirs.gid()));
        assert_eq!(ours.modified().unwrap(), theirs.modified().unwrap());
    }
    assert_eq!(fs::metadata(bed.at("cat/0.npy")).unwrap().mode() & 0o777, 0o440);
}

#[test]
fn locks_work_among_the_readers_of_one_machine() {
    let Some(python) = tools::python() else { return };
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    // As HDF5 does it before it reads.
    let lock = "
import fcntl
files = [open(sys.argv[1], 'rb') for _ in range(2)]
for file in files:
    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
fcntl.flock(files[0], fcntl.LOCK_UN)
fcntl.flock(files[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
try:
    fcntl.flock(files[0], fcntl.LOCK_SH | fcntl.LOCK_NB)
    print('two have it')
except BlockingIOError:
    fcntl.lockf(files[0], fcntl.LOCK_SH | fcntl.LOCK_NB)
    print(len(files[0].read()) == os.stat(sys.argv[1]).st_size)
";
    assert_eq!(tools::script(python, lock, &[&bed.at("cat/0.npy")]), "True");
}
