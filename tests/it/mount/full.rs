//! A cache on a disk that is really full.

use std::fs;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::bed::{Bed, FIXED};
use super::{DEADLINE, pictures, skip, wait_for};

const SOURCES: usize = 40;

#[test]
fn a_full_disk_costs_no_read_and_one_warning_and_is_used_again_when_there_is_room() {
    let Some(mut bed) = Bed::empty(FIXED, "npy") else { return };
    // A changed file is seen at its very next open.
    bed.change_config("[cache]", "[mount]\nserve = \"direct\"\n[cache]");
    fs::create_dir(bed.cache()).unwrap();
    let cache = bed.cache();
    if let Err(error) =
        mount(Some("tmpfs"), &cache, Some("tmpfs"), MsFlags::empty(), Some("size=2m"))
    {
        skip(&format!("cannot mount a tmpfs: {error}"));
        return;
    }
    let name = |n: usize| (format!("{n}.png"), format!("{n}.npy"));
    for n in 0..SOURCES {
        bed.write(&name(n).0, &pictures::png(200, 200, n as u64));
    }
    fs::write(cache.join("ballast"), vec![0; 1 << 20]).unwrap();
    bed.mount();
    let read = |bed: &Bed, n: usize| {
        assert_eq!(bed.read(&name(n).1), bed.expected(&name(n).0, 0), "{n}");
    };
    (0..SOURCES - 1).for_each(|n| read(&bed, n));
    let warnings = || {
        let log = bed.log();
        log.lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect()
    };
    let said: Vec<String> = warnings();
    assert_eq!(said.len(), 1, "{said:?}");
    for words in ["the disk of the cache is nearly full: ", " are free, ", "make room there"] {
        assert!(said[0].contains(words), "{words}: {said:?}");
    }
    let held = || -> u64 {
        let packs = fs::read_dir(cache.join("parbake-v1/packs")).unwrap();
        packs.map(|pack| pack.unwrap().metadata().unwrap().len()).sum()
    };
    let before = held();
    fs::remove_file(cache.join("ballast")).unwrap();
    let mut version = 0;
    wait_for("the cache to be filled again", DEADLINE, || {
        // Another content each time: one that was read is in the kernel's memory.
        version += 1;
        bed.write(&name(SOURCES - 1).0, &pictures::png(200, 200, 1000 + version));
        read(&bed, SOURCES - 1);
        held() > before
    });
    assert_eq!(warnings(), said);
    drop(bed.detached());
    while umount2(&bed.mountpoint(), MntFlags::MNT_DETACH) == Ok(()) {}
    while umount2(&cache, MntFlags::MNT_DETACH) == Ok(()) {}
}
