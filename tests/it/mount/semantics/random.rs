//! What random steps draw: which opening gets which draw, and which ways of reading there are.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;

use crate::mount::bed::{Bed, FIXED, RANDOM, SAMPLES};
use crate::mount::{DEADLINE, pictures, tools, wait_for};

const NAME: &str = SAMPLES[0].1;

/// Which epoch's draw these bytes are.
fn draw_of(bed: &Bed, bytes: &[u8]) -> Option<u64> {
    (0..64).find(|epoch| bed.expected(SAMPLES[0].0, *epoch) == bytes)
}

/// Waits until every file that was closed is closed for the mount too.
fn all_closed(bed: &mut Bed) {
    all_closed_but(bed, 0);
}

fn all_closed_but(bed: &mut Bed, open: u64) {
    wait_for("the others to be closed", DEADLINE, || bed.stats()["open_files"] == open);
}

#[test]
fn every_opening_of_a_random_sample_has_a_draw_of_its_own() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    // One after the other: epochs of a training loop.
    for epoch in 0..3 {
        assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(epoch));
    }
    // At once, by other processes and by this one.
    let mut cats: Vec<_> = (0..4)
        .map(|_| {
            let mut cat = std::process::Command::new("cat");
            cat.arg(bed.at(NAME)).stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut open: Vec<File> = (0..4).map(|_| File::open(bed.at(NAME)).unwrap()).collect();
    let mut draws: Vec<_> = open
        .iter_mut()
        .map(|file| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            draw_of(&bed, &bytes).unwrap()
        })
        .collect();
    for cat in cats.drain(..) {
        draws.push(draw_of(&bed, &cat.wait_with_output().unwrap().stdout).unwrap());
    }
    draws.sort_unstable();
    assert_eq!(draws, (3..11).collect::<Vec<_>>());
    // Each sample counts for itself.
    assert_eq!(bed.read(SAMPLES[1].1), bed.expected(SAMPLES[1].0, 0));
    assert_eq!(bed.count("error"), 0);
}

#[test]
fn an_opening_makes_its_sample_at_the_first_read_and_once() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let size = fs::metadata(bed.at(NAME)).unwrap().len();
    let file = File::open(bed.at(NAME)).unwrap();
    assert_eq!(bed.count("served"), 0, "made without a read");
    let mut bytes = vec![0; size as usize];
    for at in (0..size).rev() {
        file.read_exact_at(&mut bytes[at as usize..=at as usize], at).unwrap();
    }
    assert_eq!(bytes, bed.expected(SAMPLES[0].0, 0));
    let twin = file.try_clone().unwrap();
    assert_eq!(twin.read_at(&mut bytes, 0).unwrap() as u64, size);
    assert_eq!(bed.count("served"), 1);
    // A second opening is another, even of one process and with the first still open.
    assert_eq!(bed.read(NAME), bed.expected(SAMPLES[0].0, 1));
    assert_eq!(bed.count("served"), 2);
}

#[test]
fn a_draw_is_handed_back_if_the_last_byte_was_never_read() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let size = fs::metadata(bed.at(NAME)).unwrap().len();
    for _ in 0..2 {
        // As `file`, an indexer or a copy that was stopped does.
        let file = File::open(bed.at(NAME)).unwrap();
        let mut head = vec![0; size as usize - 1];
        assert_eq!(file.read_at(&mut head, 0).unwrap(), head.len());
        assert!(bed.expected(SAMPLES[0].0, 0).starts_with(&head));
        drop(file);
        all_closed(&mut bed);
    }
    // Opened and not read at all.
    drop(File::open(bed.at(NAME)).unwrap());
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(0));
    // Of two that are open the later one has the higher draw; handed back is what was not used.
    let (first, mut second) =
        (File::open(bed.at(NAME)).unwrap(), File::open(bed.at(NAME)).unwrap());
    first.read_at(&mut [0; 1], 0).unwrap();
    let mut bytes = Vec::new();
    second.read_to_end(&mut bytes).unwrap();
    assert_eq!(draw_of(&bed, &bytes), Some(2));
    drop(first);
    all_closed_but(&mut bed, 1);
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(1));
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(3));
}

#[test]
fn draws_start_anew_with_each_mount() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(0));
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(1));
    bed.remount();
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(0));
}

#[test]
fn a_pinned_epoch_is_the_same_for_ever() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let before: Vec<_> = (0..3).map(|epoch| bed.read_pinned(epoch, NAME)).collect();
    assert!(before[0] != before[1] && before[1] != before[2]);
    // Whatever is read in between, in whatever order, however it is mounted and cached.
    bed.read(NAME);
    bed.remount();
    bed.read(NAME);
    for epoch in [2, 0, 1] {
        assert_eq!(bed.read_pinned(epoch, NAME), before[epoch as usize]);
        assert_eq!(bed.expected(SAMPLES[0].0, epoch), before[epoch as usize]);
    }
    // The kernel keeps it: read again, it is not made again.
    let made = bed.count("served");
    assert_eq!(bed.read_pinned(2, NAME), before[2]);
    assert_eq!(bed.count("served"), made);
}

#[test]
#[expect(unsafe_code, reason = "mapping a file is a promise that nobody changes it")]
fn a_random_sample_cannot_be_mapped() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let file = File::open(bed.at(NAME)).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    let map = |flags| {
        // SAFETY: a new mapping at an address of the kernel's choice: it is nobody's memory.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if address == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(address) }
    };
    assert_eq!(map(libc::MAP_SHARED), Err(Errno::ENODEV));
    // The kernel lets private ones be made, and only tells at the first touch: here its own, which
    // costs an error and no bus error.
    if let Ok(address) = map(libc::MAP_PRIVATE) {
        let out = tempfile::tempfile().unwrap();
        // SAFETY: the kernel reads the range, and checks that it can.
        let written = unsafe { libc::write(out.as_raw_fd(), address, 64) };
        assert_eq!((written, Errno::last()), (-1, Errno::EFAULT));
        // SAFETY: it was mapped above, and is not used after.
        assert_eq!(unsafe { libc::munmap(address, length) }, 0);
    }
    // It still can be read.
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(draw_of(&bed, &bytes), Some(0));
    drop(file);
    assert_eq!(bed.count("served"), 1);
}

#[test]
#[expect(unsafe_code, reason = "there is no other way to call it")]
fn a_random_sample_is_not_copied_inside_the_kernel() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    let file = File::open(bed.at(NAME)).unwrap();
    let copy = tempfile::tempfile().unwrap();
    // SAFETY: two open files and no memory.
    let sent =
        unsafe { libc::sendfile(copy.as_raw_fd(), file.as_raw_fd(), std::ptr::null_mut(), 64) };
    assert_eq!((sent, Errno::last()), (-1, Errno::EINVAL));
    assert_eq!(copy.metadata().unwrap().len(), 0);
    // Copies take that as word to read and write, and still get draws of their own.
    let names = ["one", "two"].map(|name| bed.folder().join(name));
    for (epoch, to) in (0..).zip(&names) {
        fs::copy(bed.at(NAME), to).unwrap();
        assert_eq!(draw_of(&bed, &fs::read(to).unwrap()), Some(epoch));
    }
}

#[test]
fn np_load_with_mmap_mode_opens_a_file_three_times() {
    let Some(python) = tools::python() else { return };
    let steps = RANDOM.replace("[24, 32]", "[300, 300]");
    let Some(mut bed) = Bed::new(&steps, "npy") else { return };
    // Python reads 128 KiB at a time: of less than that, every peek would be a whole reading.
    bed.write(SAMPLES[0].0, &pictures::png(310, 320, 1));
    bed.mount();
    let load = "
try:
    np.load(sys.argv[1], mmap_mode='r')
    print('mapped')
except OSError as error:
    print(error.errno)
";
    let refused = tools::script(python, load, &[&bed.at(NAME)]);
    assert_eq!(refused, (Errno::ENODEV as i32).to_string());
    // None of them read to the end, so none of them used a draw up.
    all_closed(&mut bed);
    assert_eq!(draw_of(&bed, &bed.read(NAME)), Some(0));

    let same = "print((np.load(sys.argv[1], mmap_mode='r') == np.load(sys.argv[1])).all())";
    let python = || tools::python().unwrap();
    assert_eq!(tools::script(python(), same, &[&bed.pinned(5, NAME)]), "True");
    let Some(mut fixed) = Bed::mounted(FIXED) else { return };
    assert_eq!(tools::script(python(), same, &[&fixed.at(NAME)]), "True");
    assert_eq!(fixed.count("served"), 1, "the page cache was there for the other openings");
}
