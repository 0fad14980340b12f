//! A sample that takes long holds up nobody who doesn't ask for it.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::bed::{Bed, LABELS, SAMPLES, VARYING};
use super::{DEADLINE, pictures, wait_for};

#[test]
fn while_large_samples_are_made_all_that_needs_no_making_is_answered() {
    const LARGE: usize = 6;
    let Some(mut bed) = Bed::new(VARYING, "npy") else { return };
    // Quick to write, and a good part of a second to decode.
    let picture = pictures::png_of(5000, 5000, &vec![7; 5000 * 5000 * 3]);
    for n in 0..LARGE {
        bed.write(&format!("large/{n}.png"), &picture);
    }
    bed.change_config("min_free = \"0\"", "min_free = \"0\"\nlimit = \"1MiB\"");
    bed.mount();
    for (_, served) in SAMPLES {
        bed.read(served);
    }
    let (open, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for n in 0..LARGE {
            let (bed, open, done) = (&bed, &open, &done);
            scope.spawn(move || {
                let mut file = fs::File::open(bed.at(&format!("large/{n}.npy"))).unwrap();
                open.fetch_add(1, SeqCst);
                let size = std::io::copy(&mut file, &mut std::io::sink()).unwrap();
                done.fetch_add(1, SeqCst);
                assert_eq!(size, 128 + 5000 * 5000 * 3);
            });
        }
        wait_for("the large ones to be open", DEADLINE, || open.load(SeqCst) == LARGE);
        // More are open than may be made at once, and all of this is answered before they are done.
        for (source, served) in SAMPLES {
            assert!(fs::metadata(bed.at(served)).unwrap().len() > 128);
            assert_eq!(bed.read(served), bed.expected(source, 0), "from the page cache");
        }
        assert_eq!(bed.read("labels.csv"), LABELS.as_bytes());
        assert_eq!(fs::read_dir(bed.at("large")).unwrap().count(), LARGE);
        assert_eq!(fs::metadata(bed.at("large/5.npy")).unwrap().len(), 128 + 5000 * 5000 * 3);
        assert!(done.load(SeqCst) < LARGE, "the large ones were done first");
    });
    // One that has to be made takes its turn, and comes to it.
    assert_eq!(bed.read_pinned(1, SAMPLES[0].1), bed.expected(SAMPLES[0].0, 0));
}
