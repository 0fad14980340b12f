//! Many threads at one mount: each opening is made once, and is nobody else's.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use parbake::exec::Tally;

use super::*;

const SAMPLES: usize = 3;

/// A mount of a few pictures.
struct Many {
    _folder: TempDir,
    fs: Arc<Fs>,
    inos: Vec<Ino>,
    /// What is served of each picture in each of the first epochs.
    expected: Vec<Vec<Vec<u8>>>,
}

fn bed(turns: usize, epochs: usize) -> Many {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("set");
    fs::create_dir(&root).unwrap();
    let pipeline = pipeline(
        &[("decode_image", json!({})), ("random_resized_crop", json!({ "size": [40, 50] }))],
        Output::Npy,
    );
    let mut expected = Vec::new();
    for n in 0..SAMPLES {
        let name = format!("{n}.jpg");
        let content = reference::picture(Kept::Jpeg, 61, 83, n as u64);
        fs::write(root.join(&name), &content).unwrap();
        let files: Vec<Vec<u8>> = (0..epochs as u64)
            .map(|epoch| {
                reference::made(&pipeline, Path::new(&name), &content, SEED, epoch).unwrap().1
            })
            .collect();
        let distinct: BTreeSet<&Vec<u8>> = files.iter().collect();
        assert_eq!(distinct.len(), files.len(), "draws can be told apart");
        expected.push(files);
    }
    let options = Options {
        path: folder.path().join("cache"),
        limit: u64::MAX,
        min_free: 0,
        policy: Policy::Keep,
    };
    let cache: Arc<dyn Cache> = Arc::new(DiskCache::open(options).unwrap());
    let source = Arc::new(DirSource::open(&root).unwrap());
    let matcher = Matcher::new(&["**".to_owned()]).unwrap();
    let strategy = Cut { split: Split::After(1), codec: Codec::Lz4 };
    let exec = Executor::new(source, Some(cache), vec![Plan { matcher, pipeline, strategy }], SEED);
    let turns = Arc::new(Turns::new(turns));
    let fs = Arc::new(Fs::new(Arc::new(exec), turns, Naming::Replace, Texts::default()));
    let name = |n| OsString::from(format!("{n}.npy"));
    let inos = (0..SAMPLES).map(|n| lookup(&fs, Ino::ROOT, &name(n)).unwrap().ino).collect();
    Many { _folder: folder, fs, inos, expected }
}

#[test]
fn random_ranges_of_the_same_and_other_openings_are_right_and_each_is_made_once() {
    const OPENINGS: usize = 15;
    let Many { _folder, fs, inos, expected } = bed(2, OPENINGS / SAMPLES);
    let openings: Vec<(usize, Fh)> =
        (0..OPENINGS).map(|n| (n % SAMPLES, open(&fs, inos[n % SAMPLES]).unwrap().fh)).collect();
    let got: Vec<Vec<(usize, usize, Vec<u8>)>> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8_u64)
            .map(|thread| {
                let (fs, openings) = (&fs, &openings);
                scope.spawn(move || {
                    let mut draw = parbake::draw::Draw::new(thread, 0, b"ranges", 0);
                    let reads = (0..150).map(|_| {
                        let which = draw.below(OPENINGS as u64) as usize;
                        let (from, len) = (draw.below(7000) as usize, draw.below(7000) as usize);
                        (which, from, read(fs, openings[which].1, from, len).unwrap())
                    });
                    reads.collect()
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert_eq!(fs.exec().meter().tally(Tally::Served).count, OPENINGS as u64);
    let mut given = vec![BTreeSet::new(); SAMPLES];
    for (which, (sample, fh)) in openings.iter().enumerate() {
        let whole = read(&fs, *fh, 0, 1 << 20).unwrap();
        let draw = expected[*sample].iter().position(|file| *file == whole);
        assert!(given[*sample].insert(draw.expect("one of the lowest draws")), "a draw twice");
        for (_, from, bytes) in got.iter().flatten().filter(|read| read.0 == which) {
            let from = (*from).min(whole.len());
            assert_eq!(bytes, &whole[from..from + bytes.len()]);
        }
    }
    assert_eq!(fs.exec().meter().tally(Tally::Served).count, OPENINGS as u64);
    assert_eq!(fs.exec().meter().tally(Tally::Miss).count, SAMPLES as u64);
}

#[test]
fn workers_that_open_read_and_close_share_no_draw() {
    let Many { _folder, fs, inos, expected } = bed(2, 40);
    let got: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8)
            .map(|thread| {
                let (fs, ino) = (&fs, inos[0]);
                scope.spawn(move || {
                    let mut got = Vec::new();
                    for round in 0..5 {
                        // Now and then one that is given up.
                        if (thread + round) % 3 == 0 {
                            let fh = open(fs, ino).unwrap().fh;
                            read(fs, fh, 0, 10).unwrap();
                            fs.close(fh);
                        }
                        let fh = open(fs, ino).unwrap().fh;
                        got.push(read(fs, fh, 0, 1 << 20).unwrap());
                        fs.close(fh);
                    }
                    got
                })
            })
            .collect();
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    let mut draws = BTreeSet::new();
    for file in &got {
        // Eight at once hold at most eight draws that come back.
        let draw = expected[0].iter().position(|expected| expected == file);
        if let Some(draw) = draw {
            assert!(draws.insert(draw), "a draw twice");
        }
    }
    let distinct: BTreeSet<&Vec<u8>> = got.iter().collect();
    assert_eq!(distinct.len(), got.len(), "two workers with one draw");
    assert!(draws.len() >= 32, "{draws:?}");
}

#[test]
fn an_opening_that_is_closed_before_it_is_made_hands_its_draw_back() {
    let Many { _folder, fs, inos, expected } = bed(1, 2);
    let fh = open(&fs, inos[0]).unwrap().fh;
    // The one turn is taken by a reader that is slow to take its answer.
    let (blocker, slow) = (open(&fs, inos[1]).unwrap().fh, Arc::clone(&fs));
    let (hold, held) = mpsc::channel::<()>();
    let (started, start) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        slow.read(blocker, 0, 1, To::Reader, move |_| {
            started.send(()).unwrap();
            held.recv().unwrap();
        });
    });
    start.recv_timeout(DEADLINE).unwrap();
    let (send, answer) = mpsc::channel();
    let answered = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&answered);
    fs.read(fh, 0, 10, To::Reader, move |read| {
        seen.store(true, SeqCst);
        send.send(read.map(<[u8]>::to_vec)).unwrap();
    });
    assert!(!answered.load(SeqCst), "it was to wait for the one turn");
    fs.close(fh);
    hold.send(()).unwrap();
    thread.join().unwrap();
    assert_eq!(answer.recv_timeout(DEADLINE).unwrap().unwrap(), expected[0][0][..10]);
    let fh = open(&fs, inos[0]).unwrap().fh;
    assert!(
        read(&fs, fh, 0, 1 << 20).unwrap() == expected[0][0],
        "a draw that nobody read is lost"
    );
}
