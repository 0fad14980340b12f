//! Looking after a cache that a mount uses.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::bed::{Bed, RANDOM, SAMPLES, printed, run};

fn json(bed: &Bed, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&mut bed.parbake(arguments.iter().copied()))).unwrap()
}

/// Makes the packs older than what is taken for being in use.
fn age(bed: &Bed) {
    for pack in fs::read_dir(bed.cache().join("parbake-v1/packs")).unwrap() {
        let file = File::options().write(true).open(pack.unwrap().path()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }
}

fn gc(bed: &Bed) -> Value {
    age(bed);
    json(bed, &["cache", "gc", "set.toml", "--min-garbage", "0", "--json"])
}

fn all_read_right(bed: &Bed, epoch: u64) {
    for (source, served) in SAMPLES.iter().filter(|(source, _)| bed.source(source).exists()) {
        assert_eq!(bed.read_pinned(epoch, served), bed.expected(source, epoch), "{source}");
    }
}

#[test]
fn a_file_below_a_mountpoint_is_explained() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    let (plain, pinned) = (bed.at("dog/deep/3.npy"), bed.pinned(7, "dog/deep/3.npy"));
    bed.read("dog/deep/3.npy");
    for path in [plain, pinned, bed.source("dog/deep/3.jpg")] {
        let all = json(&bed, &["explain", "set.toml", path.to_str().unwrap(), "--json"]);
        assert_eq!(
            (&all[0]["source"], &all[0]["state"]),
            (&"dog/deep/3.jpg".into(), &"kept".into())
        );
    }
    // The mount of one source tells nothing of another one's files.
    fs::create_dir(bed.folder().join("other")).unwrap();
    let path = bed.at("dog/deep/3.npy");
    let other = ["explain", "set.toml", "--source", "other", path.to_str().unwrap()];
    let refused = bed.parbake(other).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("isn't one of the source"));
}

#[test]
fn gc_beside_a_mount_breaks_no_read_and_spares_its_pack() {
    let Some(mut bed) = Bed::new(RANDOM, "npy") else { return };
    // A pack of the mount's config, and one of another codec.
    run(&mut bed.parbake(["materialize", "set.toml"]));
    bed.change_config("codec = \"lz4\"", "codec = \"none\"");
    run(&mut bed.parbake(["materialize", "set.toml"]));
    bed.mount();
    all_read_right(&bed, 0);
    fs::remove_file(bed.source(SAMPLES[0].0)).unwrap();
    let done = gc(&bed);
    assert_eq!(
        (&done["removed"], &done["rewritten"], &done["in_use"]),
        (&1.into(), &1.into(), &0.into())
    );
    all_read_right(&bed, 1);

    // What the mount writes now is in a pack that it has claimed, though it is old.
    bed.write(SAMPLES[0].0, &fs::read(bed.source(SAMPLES[2].0)).unwrap());
    all_read_right(&bed, 2);
    bed.write(SAMPLES[0].0, b"no picture any more");
    assert_eq!(gc(&bed)["in_use"], 1);
    fs::remove_file(bed.source(SAMPLES[0].0)).unwrap();
    all_read_right(&bed, 3);
    bed.remount();
    let after = gc(&bed);
    assert_eq!((&after["in_use"], &after["dropped"]), (&0.into(), &1.into()));
    all_read_right(&bed, 4);
}
