//! The size that is told is the size that is read: in every format, whatever is cached.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::bed::{Bed, RANDOM, SAMPLES, VARYING};
use super::pictures;

/// Every sample's size is told before it is read, and is what is read.
#[track_caller]
fn sizes_are_right(bed: &Bed, output: &str) {
    for (_, served) in SAMPLES {
        let path = bed.at(&served.replace("npy", output));
        let told = fs::metadata(&path).unwrap();
        let read = fs::read(&path).unwrap();
        assert!(!read.is_empty());
        assert_eq!(told.len(), read.len() as u64, "{served} as {output}");
        assert_eq!(told.blocks(), told.len().div_ceil(512));
        assert_eq!(fs::metadata(&path).unwrap().len(), told.len());
    }
}

#[test]
fn sizes_are_right_in_every_format_cold_and_warm() {
    for output in ["npy", "raw", "ppm", "bmp", "png"] {
        for steps in [VARYING, RANDOM] {
            if (output, steps) == ("png", RANDOM) {
                continue;
            }
            let Some(mut bed) = Bed::new(steps, output) else { return };
            bed.mount();
            sizes_are_right(&bed, output);
            bed.remount();
            sizes_are_right(&bed, output);
        }
    }
}

#[test]
fn sizes_are_right_when_the_cache_is_gone_or_too_small() {
    let Some(mut bed) = Bed::mounted(VARYING) else { return };
    sizes_are_right(&bed, "npy");
    // While it is mounted.
    for pack in super::bed::files_under(&bed.cache()) {
        fs::remove_file(pack).unwrap();
    }
    sizes_are_right(&bed, "npy");
    bed.remount();
    sizes_are_right(&bed, "npy");
    bed.change_config("min_free = \"0\"", "min_free = \"0\"\nlimit = \"10KiB\"");
    fs::remove_dir_all(bed.cache()).unwrap();
    bed.remount();
    sizes_are_right(&bed, "npy");
    for (source, served) in SAMPLES {
        assert_eq!(bed.read(served), bed.expected(source, 0));
    }
}

#[test]
fn a_damaged_cache_is_never_served() {
    let Some(mut bed) = Bed::mounted(VARYING) else { return };
    sizes_are_right(&bed, "npy");
    for pack in super::bed::files_under(&bed.cache().join("parbake-v1/packs")) {
        let mut bytes = fs::read(&pack).unwrap();
        bytes.iter_mut().skip(300).step_by(997).for_each(|byte| *byte ^= 0x20);
        fs::write(&pack, bytes).unwrap();
    }
    bed.remount();
    for (source, served) in SAMPLES {
        assert_eq!(bed.read(served), bed.expected(source, 0));
    }
    assert_eq!(bed.count("error"), 0);
}

#[test]
fn sizes_are_right_after_a_source_has_changed() {
    for output in ["npy", "png"] {
        let Some(mut bed) = Bed::new(VARYING, output) else { return };
        bed.serve("serve = \"direct\"");
        bed.mount();
        sizes_are_right(&bed, output);
        for (at, (source, served)) in SAMPLES.iter().enumerate() {
            bed.write(source, &pictures::png(20 + at, 90, 50));
            let path = bed.at(&served.replace("npy", output));
            // By the opening: what `fstat` tells is true of what it reads.
            let mut file = fs::File::open(&path).unwrap();
            let told = file.metadata().unwrap().len();
            let mut read = Vec::new();
            std::io::Read::read_to_end(&mut file, &mut read).unwrap();
            assert_eq!(read, bed.expected(source, 0));
            assert_eq!(told, read.len() as u64);
        }
        sizes_are_right(&bed, output);
    }
}
