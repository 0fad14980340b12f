//! The programs that people read datasets with.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::bed::{Bed, FIXED, LABELS, RANDOM, SAMPLES, VARYING, files_under, printed, run};
use super::tools::{python, script, tool};

/// Every file of the mount is in `folder` too, with the same bytes.
fn same_tree(bed: &Bed, folder: &Path) {
    for (source, served) in SAMPLES {
        assert_eq!(fs::read(folder.join(served)).unwrap(), bed.expected(source, 0), "{served}");
    }
    assert_eq!(fs::read(folder.join("labels.csv")).unwrap(), LABELS.as_bytes());
    assert_eq!(files_under(folder).len(), SAMPLES.len() + 1);
}

#[test]
fn reads_of_odd_sizes_at_odd_offsets_give_the_files_bytes() {
    for steps in [VARYING, RANDOM] {
        let Some(bed) = Bed::mounted(steps) else { return };
        for (source, served) in SAMPLES {
            let whole = bed.expected(source, 0);
            let mut file = File::open(bed.at(served)).unwrap();
            for (offset, size) in [(1, 1), (4095, 4097), (127, 3), (0, 1 << 20), (5000, 129)] {
                let mut part = vec![0; size];
                let got = file.read_at(&mut part, offset as u64).unwrap();
                let there = &whole[offset.min(whole.len())..(offset + size).min(whole.len())];
                assert_eq!(part[..got], there[..got], "{served} from {offset}");
                assert!(got == there.len() || got >= 4096 - offset % 4096, "{got} of {size}");
            }
            // At the end, one before it, and beyond.
            let size = whole.len() as u64;
            assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), size);
            assert_eq!(file.read(&mut [0; 9]).unwrap(), 0);
            assert_eq!(file.read_at(&mut [0; 9], size - 1).unwrap(), 1);
            assert_eq!(file.read_at(&mut [0; 9], size + 100_000).unwrap(), 0);
            file.seek(SeekFrom::Start(0)).unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert_eq!(read, whole);
        }
    }
}

#[test]
fn numpy_loads_what_was_made() {
    let Some(_) = python() else { return };
    let checked = "
import hashlib
path = sys.argv[1]
array = np.load(path)
whole = open(path, 'rb', buffering=0).read() if 'fixed' in sys.argv[2:] else None
print(array.dtype, array.shape, array.flags.c_contiguous, hashlib.sha1(array).hexdigest())
flat = np.fromfile(path, dtype=np.uint8)
print(flat.size == os.stat(path).st_size, flat[:6].tobytes())
";
    let Some(fixed) = Bed::mounted(VARYING) else { return };
    let Some(random) = Bed::mounted(RANDOM) else { return };
    let told = script(python().unwrap(), checked, &[&fixed.at("cat/0.npy")]);
    assert!(told.starts_with("uint8 (48, 64, 3) True "), "{told}");
    assert!(told.ends_with("True b'\\x93NUMPY'"), "{told}");
    let told = script(python().unwrap(), checked, &[&random.at("cat/0.npy")]);
    assert!(told.starts_with("uint8 (24, 32, 3) True "), "{told}");
    assert!(told.ends_with("True b'\\x93NUMPY'"), "{told}");
    let mapped = "
one = np.load(sys.argv[1], mmap_mode='r')
print((one == np.load(sys.argv[1])).all(), type(one).__name__)
copy = np.load(sys.argv[1], mmap_mode='c')
copy[0] = 0
print((one == np.load(sys.argv[1])).all())
";
    for path in [fixed.at("dog/2.npy"), fixed.pinned(1, "dog/2.npy"), random.pinned(1, "dog/2.npy")]
    {
        assert_eq!(script(python().unwrap(), mapped, &[&path]), "True memmap\nTrue");
    }
}

#[test]
fn python_copies_and_reads_each_way_that_it_has() {
    let Some(_) = python() else { return };
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    let ways = "
import io, mmap, shutil
path, copy = sys.argv[1:]
size = os.stat(path).st_size
shutil.copyfile(path, copy)
read = [open(copy, 'rb').read(), open(path, 'rb').read(), open(path, 'rb', buffering=0).read()]
fd = os.open(path, os.O_RDONLY)
buffers = [bytearray(100), bytearray(size - 100)]
assert os.readv(fd, buffers) == size
os.close(fd)
read.append(b''.join(buffers))
with open(path, 'rb', buffering=512) as file:
    read.append(b''.join(iter(lambda: file.read(77), b'')))
assert {len(one) for one in read} == {size}
print(len(set(read)))
";
    let distinct =
        script(python().unwrap(), ways, &[&bed.at("cat/0.npy"), &bed.folder().join("copy")]);
    assert_eq!(distinct, "5", "each of five openings has a draw of its own");
    let copied = fs::read(bed.folder().join("copy")).unwrap();
    assert!((0..6).any(|epoch| bed.expected("cat/0.png", epoch) == copied));
}

#[test]
fn cp_and_rsync_copy_the_tree() {
    let Some(bed) = Bed::mounted(VARYING) else { return };
    let copy = bed.folder().join("copy");
    run(Command::new("cp").arg("-r").arg(bed.mountpoint()).arg(&copy));
    same_tree(&bed, &copy);
    let Some(mut rsync) = tool("rsync") else { return };
    let synced = bed.folder().join("synced");
    let from = bed.at("");
    let arguments = ["-a", "--stats", "--no-owner", "--no-group"];
    run(rsync.args(arguments).arg(&from).arg(&synced));
    same_tree(&bed, &synced);
    let again = printed(tool("rsync").unwrap().args(arguments).arg(&from).arg(&synced));
    assert!(again.contains("Number of regular files transferred: 0"), "{again}");
    let compared = ["-a", "-c", "-i", "--no-owner", "--no-group"];
    assert_eq!(printed(tool("rsync").unwrap().args(compared).arg(&from).arg(&synced)), "");
}

#[test]
fn tar_packs_the_tree_with_and_without_looking_for_holes() {
    let Some(bed) = Bed::mounted(VARYING) else { return };
    for flags in ["-cf", "-cSf"] {
        let unpacked = bed.folder().join(flags);
        fs::create_dir(&unpacked).unwrap();
        let packed = bed.folder().join("packed.tar");
        let said = run(Command::new("tar")
            .arg(flags)
            .arg(&packed)
            .arg("-C")
            .arg(bed.mountpoint())
            .arg("."));
        assert_eq!(String::from_utf8_lossy(&said.stderr), "");
        let listed = printed(Command::new("tar").arg("-tf").arg(&packed));
        assert_eq!(listed.lines().filter(|name| name.ends_with(".npy")).count(), SAMPLES.len());
        run(Command::new("tar").arg("-xf").arg(&packed).arg("-C").arg(&unpacked));
        same_tree(&bed, &unpacked);
    }
}

#[test]
fn find_and_du_know_sizes_without_anything_being_read() {
    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let size = bed.expected("cat/0.png", 0).len();
    let found = printed(Command::new("find").arg(bed.mountpoint()).args([
        "-type",
        "f",
        "-size",
        &format!("{size}c"),
    ]));
    assert_eq!(found.lines().count(), SAMPLES.len());
    let du = |flags: &[&str]| {
        let told = printed(Command::new("du").args(flags).arg(bed.mountpoint()));
        told.split_whitespace().next().unwrap().parse::<usize>().unwrap()
    };
    let apparent = du(&["-s", "--apparent-size", "--block-size=1"]);
    let blocks = du(&["-s", "--block-size=1"]);
    assert!(apparent >= SAMPLES.len() * size && apparent < SAMPLES.len() * size + 100);
    assert!(blocks >= apparent && blocks < apparent + 5 * 512, "{blocks} for {apparent}");
    run(Command::new("ls").arg("-lR").arg(bed.mountpoint()));
    assert_eq!(bed.count("served"), 0);
}

#[test]
fn dd_reads_at_the_end_and_beyond() {
    let Some(bed) = Bed::mounted(RANDOM) else { return };
    let whole = bed.expected("cat/0.png", 0);
    let dd = |skip: usize| {
        let output = Command::new("dd")
            .arg(format!("if={}", bed.pinned(0, "cat/0.npy").display()))
            .args([&format!("skip={skip}"), "bs=1", "status=none"])
            .output()
            .unwrap();
        (output.status.success(), output.stdout)
    };
    assert_eq!(dd(whole.len() - 1), (true, whole[whole.len() - 1..].to_vec()));
    assert_eq!(dd(whole.len()).1, b"");
    assert_eq!(dd(whole.len() + 5000).1, b"");
}

/// What eight `cat` at once read.
fn eight_cats(path: &Path) -> Vec<Vec<u8>> {
    let cats: Vec<_> = (0..8)
        .map(|_| Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    cats.into_iter()
        .map(|cat| {
            let output = cat.wait_with_output().unwrap();
            assert!(output.status.success());
            output.stdout
        })
        .collect()
}

#[test]
fn eight_readers_at_once_read_the_same_unless_steps_are_random() {
    let Some(mut bed) = Bed::mounted(VARYING) else { return };
    let whole = bed.expected("cat/0.png", 0);
    assert!(eight_cats(&bed.at("cat/0.npy")).iter().all(|read| *read == whole));
    assert_eq!(bed.count("miss"), 1);

    let Some(mut bed) = Bed::mounted(RANDOM) else { return };
    let whole = bed.expected("cat/0.png", 9);
    assert!(eight_cats(&bed.pinned(9, "cat/0.npy")).iter().all(|read| *read == whole));
    assert_eq!(bed.count("miss"), 1);
    let before = bed.count("served");

    let mut read = eight_cats(&bed.at("cat/0.npy"));
    let mut draws: Vec<_> = (0..8).map(|epoch| bed.read_pinned(epoch, "cat/0.npy")).collect();
    read.sort();
    draws.sort();
    assert!(read == draws, "not each of the first eight draws once");
    assert_eq!(bed.count("served"), before + 16);
    assert_eq!(bed.count("miss"), 1, "the decoded picture was in the cache");
}

#[test]
fn eight_readers_of_a_sample_that_is_not_cached_decode_it_once() {
    let Some(mut bed) = Bed::new(FIXED, "npy") else { return };
    bed.write("large.png", &super::pictures::png(1200, 1200, 3));
    bed.mount();
    let whole = bed.expected("large.png", 0);
    std::thread::scope(|scope| {
        for epoch in 0..8 {
            let (bed, whole) = (&bed, &whole);
            scope.spawn(move || assert!(bed.read_pinned(epoch, "large.npy") == *whole));
        }
    });
    assert_eq!(bed.count("source_read"), 1);
    assert_eq!((bed.count("miss"), bed.count("hit")), (1, 7));
}
