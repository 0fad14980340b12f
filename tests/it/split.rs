//! The property that everything rests on: wherever a pipeline is cut, however the part before the
//! cut is kept and whatever happens to what is kept, the same bytes are served as without a cut.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parbake::cache::{Cache, DiskCache, Options, Policy};
use parbake::exec::{Executor, Job, Memory, Plan, Tally};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Split, Strategy as Cut};
use parbake::sample::{Codec, Dtype, Spec};
use parbake::source::{DirSource, Source};
use parbake::step::{self, Kind};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::reference::{self, Kept};

/// Cases that are tried unless `PROPTEST_CASES` says otherwise: about half a minute.
const CASES: u32 = 250;

const CODECS: [Codec; 7] = [
    Codec::None,
    Codec::Lz4,
    Codec::Picture(1),
    Codec::Zstd(3),
    Codec::Shuffle(1),
    Codec::Gzip(1),
    Codec::Zlib(1),
];

/// Valid parameters of a step.
fn parameters(name: &'static str) -> BoxedStrategy<Value> {
    let side = 1..=40usize;
    let filter = select(&["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"][..]);
    let size = (side.clone(), side.clone());
    match name {
        "decode_image" => {
            select(&["rgb", "l", "rgba"][..]).prop_map(|mode| json!({ "mode": mode })).boxed()
        }
        "resize" => prop_oneof![
            (1..=24usize, filter.clone())
                .prop_map(|(side, filter)| json!({ "short_side": side, "filter": filter })),
            (size, filter).prop_map(|((h, w), filter)| json!({ "size": [h, w], "filter": filter })),
        ]
        .boxed(),
        "center_crop" => size.prop_map(|(h, w)| json!({ "size": [h, w] })).boxed(),
        // Small: most pictures are larger.
        "random_crop" => {
            (1..=6usize, 1..=6usize).prop_map(|(h, w)| json!({ "size": [h, w] })).boxed()
        }
        "random_resized_crop" => (size, 1..=10u32, 1..=10u32, filter)
            .prop_map(|((h, w), a, b, filter)| {
                let scale = [f64::from(a.min(b)) / 10.0, f64::from(a.max(b)) / 10.0];
                let ratio = [f64::from(a.min(b)) / 4.0, f64::from(a.max(b)) / 4.0];
                json!({ "size": [h, w], "scale": scale, "ratio": ratio, "filter": filter })
            })
            .boxed(),
        "random_horizontal_flip" => {
            select(&[0.0, 0.5, 1.0][..]).prop_map(|p| json!({ "p": p })).boxed()
        }
        "grayscale" => select(&[1, 3][..]).prop_map(|n| json!({ "channels": n })).boxed(),
        "normalize" => (select(&[1, 3, 4][..]), 0.0..1.0f64, 0.1..2.0f64)
            .prop_map(|(n, mean, std)| json!({ "mean": vec![mean; n], "std": vec![std; n] }))
            .boxed(),
        "cast" => select(&Dtype::ALL[..]).prop_map(|dtype| json!({ "dtype": dtype })).boxed(),
        "to_float" | "pixel_center" | "to_chw" => Just(json!({})).boxed(),
        name => select(crate::steps::variants(name)).boxed(),
    }
}

type Wish = (&'static str, Value);

/// Steps that are wished for; those that don't fit where they come are left out.
fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let decode = parameters("decode_image").prop_map(|p| ("decode_image", p));
    let any = select(step::NAMES)
        .prop_flat_map(|name| parameters(name).prop_map(move |parameters| (name, parameters)));
    let rest = (decode, prop::collection::vec(any, 0..9));
    prop_oneof![
        1 => Just(Vec::new()),
        20 => rest.prop_map(|(decode, mut wishes)| {
            wishes.insert(0, decode);
            wishes
        }),
    ]
}

fn pipeline(wishes: &[Wish], output: usize) -> Pipeline {
    let mut steps = Vec::new();
    let mut spec = Spec::Bytes;
    let mut random = false;
    for (name, parameters) in wishes {
        let step = step::build(name, parameters).unwrap();
        if let Ok(next) = step.kind.spec(&spec) {
            spec = next;
            random |= matches!(step.kind, Kind::Random(_));
            steps.push(step);
        }
    }
    let outputs = [Output::Npy, Output::Raw, Output::Ppm, Output::Bmp, Output::Png];
    let fit = |output: &Output| {
        // A config with such a pipeline is refused: its files would change their length.
        output.check(&spec).is_ok() && !(random && *output == Output::Png)
    };
    let outputs: Vec<Output> = outputs.into_iter().filter(fit).collect();
    Pipeline::new(steps, outputs[output % outputs.len()]).unwrap()
}

fn kept() -> impl Strategy<Value = Kept> {
    prop_oneof![
        12 => select(&[
            Kept::Jpeg,
            Kept::ProgressiveJpeg,
            Kept::GrayJpeg,
            Kept::LateJpeg,
            Kept::Png,
            Kept::GrayPng,
            Kept::RgbaPng,
            Kept::Png16,
        ][..]),
        1 => select(&[Kept::Cut, Kept::Text][..]),
    ]
}

/// A picture's kind, height, width and seed.
fn pictures() -> impl Strategy<Value = Vec<(Kept, usize, usize, u64)>> {
    prop::collection::vec((kept(), 1..=44usize, 1..=44usize, any::<u64>()), 1..4)
}

/// What is served of each sample in each epoch, or why not.
type Served = Vec<Result<Vec<u8>, String>>;

struct Bed {
    folder: TempDir,
    source: Arc<DirSource>,
    pipeline: Arc<Pipeline>,
    paths: Vec<PathBuf>,
    seed: u64,
    epochs: [u64; 2],
}

impl Bed {
    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn executor(&self, cache: Option<Arc<dyn Cache>>, cut: Cut) -> Executor {
        let matcher = Matcher::new(&["**".to_owned()]).unwrap();
        let plan = Plan { matcher, pipeline: Arc::clone(&self.pipeline), strategy: cut };
        let source = Arc::clone(&self.source) as Arc<dyn Source>;
        Executor::new(source, cache, vec![plan], self.seed)
    }

    /// An executor on the cache's folder, as a process makes one that starts.
    fn open(&self, cut: Cut) -> Executor {
        let options =
            Options { path: self.cache(), limit: u64::MAX, min_free: 0, policy: Policy::Keep };
        self.executor(Some(Arc::new(DiskCache::open(options).unwrap())), cut)
    }

    fn job<'a>(&self, path: &'a Path) -> Job<'a> {
        Job { path, stat: self.source.stat(path).unwrap(), plan: 0 }
    }

    fn serve(&self, exec: &Executor) -> Served {
        let mut served = Vec::new();
        for path in &self.paths {
            let job = self.job(path);
            for epoch in self.epochs {
                let file = exec.serve(job, epoch);
                served.push(file.map(|file| file.to_vec()).map_err(|error| error.to_string()));
            }
        }
        served
    }

    /// What `stat` will tell is what was served.
    fn sizes_hold(&self, exec: &Executor, expected: &[Result<(Spec, Vec<u8>), String>]) {
        for (path, expected) in self.paths.iter().zip(expected.chunks(self.epochs.len())) {
            let job = self.job(path);
            for made in expected {
                let Ok((spec, file)) = made else { continue };
                let size = file.len() as u64;
                assert_eq!(exec.served_size(job).unwrap(), size, "{path:?}");
                assert_eq!(exec.served_spec(job).unwrap(), *spec, "{path:?}");
                assert!(exec.known_size(job).is_none_or(|known| known == size), "{path:?}");
                assert!(exec.known_spec(job).is_none_or(|known| known == *spec), "{path:?}");
            }
        }
    }

    fn flip(&self, pack: Index, at: Index, by: u8) {
        let Ok(listed) = self.cache().join("parbake-v1/packs").read_dir() else { return };
        let mut packs: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
        packs.sort();
        if packs.is_empty() {
            return;
        }
        let mut bytes = fs::read(pack.get(&packs)).unwrap();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            fs::write(pack.get(&packs), bytes).unwrap();
        }
    }
}

/// The shape in a `.npy` file's header.
fn npy_shape(file: &[u8]) -> Vec<usize> {
    let len = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let words = std::str::from_utf8(&file[10..10 + len]).unwrap();
    let (_, after) = words.split_once("'shape': (").unwrap();
    let (inside, _) = after.split_once(')').unwrap();
    let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[derive(Clone, Debug)]
struct Case {
    wishes: Vec<Wish>,
    output: usize,
    pictures: Vec<(Kept, usize, usize, u64)>,
    seed: u64,
    epochs: [u64; 2],
    damage: (Index, Index, u8),
}

fn case() -> impl Strategy<Value = Case> {
    let epochs = [0..3u64, 0..u64::MAX];
    let damage = (any::<Index>(), any::<Index>(), 1..=255u8);
    (wishes(), 0..5usize, pictures(), any::<u64>(), epochs, damage).prop_map(
        |(wishes, output, pictures, seed, epochs, damage)| Case {
            wishes,
            output,
            pictures,
            seed,
            epochs,
            damage,
        },
    )
}

/// Tries a case; whether everything in it could be made.
fn holds(case: &Case) -> bool {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("set");
    fs::create_dir_all(root.join("one")).unwrap();
    let mut paths = Vec::new();
    let mut expected = Vec::new();
    let pipeline = Arc::new(pipeline(&case.wishes, case.output));
    for (n, (kept, height, width, seed)) in case.pictures.iter().enumerate() {
        let path = PathBuf::from(if n % 2 == 0 { format!("{n}.jpg") } else { format!("one/{n}") });
        let bytes = reference::picture(*kept, *height, *width, *seed);
        fs::write(root.join(&path), &bytes).unwrap();
        for epoch in case.epochs {
            expected.push(reference::made(&pipeline, &path, &bytes, case.seed, epoch));
        }
        paths.push(path);
    }
    for (spec, file) in expected.iter().flatten() {
        if pipeline.output() == Output::Npy {
            assert_eq!(npy_shape(file), spec.array().unwrap().shape().unwrap());
        }
    }
    let source = Arc::new(DirSource::open(&root).unwrap());
    let bed = Bed { folder, source, pipeline, paths, seed: case.seed, epochs: case.epochs };
    let files: Served = expected.iter().map(|made| made.clone().map(|(_, file)| file)).collect();
    let whole = files.iter().all(Result::is_ok);

    let uncut = bed.executor(None, Cut::NONE);
    bed.sizes_hold(&uncut, &expected);
    assert!(bed.serve(&uncut) == files, "split none isn't each step in order");

    for split in bed.pipeline.splits() {
        for codec in CODECS {
            let cut = Cut { split, codec };
            let keeps = split != Split::None;
            let same = |served: Served, when: &str| {
                assert!(
                    served == files,
                    "{when}: split {split}, codec {codec} of {:?}",
                    bed.pipeline
                );
            };

            let exec = bed.open(cut);
            bed.sizes_hold(&exec, &expected);
            drop(exec);
            let _ = fs::remove_dir_all(bed.cache());

            let exec = bed.open(cut);
            same(bed.serve(&exec), "cold");
            bed.sizes_hold(&exec, &expected);
            same(bed.serve(&exec), "warm");
            if whole && keeps {
                let made = exec.meter().tally(Tally::Miss).count;
                assert_eq!(made, bed.paths.len() as u64, "made once each");
                assert!(bed.paths.iter().all(|path| exec.is_cached(bed.job(path))));
            }

            let exec = bed.open(cut);
            bed.sizes_hold(&exec, &expected);
            same(bed.serve(&exec), "reopened");
            if whole {
                assert_eq!(exec.meter().tally(Tally::Miss).count, 0, "kept over a restart");
            }

            for policy in [Policy::Keep, Policy::Lru] {
                // Room for one or two samples of most sets.
                let exec = bed.open(cut).with_memory(Memory::new(12 << 10, policy));
                same(bed.serve(&exec), "filling memory");
                same(bed.serve(&exec), "from memory");
                let holds = exec.memory().unwrap().holds();
                assert!(holds.bytes <= holds.limit);
            }

            let (pack, at, by) = case.damage;
            let exec = bed.open(cut);
            bed.flip(pack, at, by);
            same(bed.serve(&exec), "damaged while open");
            same(bed.serve(&bed.open(cut)), "damaged and opened");

            fs::remove_dir_all(bed.cache()).unwrap();
            same(bed.serve(&exec), "evicted");
            same(bed.serve(&exec), "evicted, again");
            bed.sizes_hold(&exec, &expected);

            let _ = fs::remove_dir_all(bed.cache());
            let exec = bed.open(cut);
            std::thread::scope(|scope| {
                let readers: Vec<_> = (0..8).map(|_| scope.spawn(|| bed.serve(&exec))).collect();
                for reader in readers {
                    same(reader.join().unwrap(), "eight readers at once");
                }
            });
            if whole && keeps {
                let made = exec.meter().tally(Tally::Miss).count;
                assert_eq!(made, bed.paths.len() as u64, "made once each for eight readers");
            }
            drop(exec);
            let _ = fs::remove_dir_all(bed.cache());
            if !keeps {
                break;
            }
        }
    }
    whole
}

#[test]
fn every_split_serves_the_same_bytes() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(CASES);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let whole = std::cell::Cell::new(0);
    proptest!(config, |(case in case())| {
        whole.set(whole.get() + u32::from(holds(&case)));
    });
    assert!(whole.get() * 2 > cases, "only {} of {cases} cases could be made", whole.get());
}

#[test]
fn what_is_in_memory_is_not_read_again() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("set");
    fs::create_dir_all(&root).unwrap();
    let paths: Vec<PathBuf> = (0..4).map(|n| PathBuf::from(n.to_string())).collect();
    for path in &paths {
        fs::write(root.join(path), reference::picture(Kept::Jpeg, 40, 50, 1)).unwrap();
    }
    let wishes = [("decode_image", json!({})), ("random_crop", json!({ "size": [9, 9] }))];
    let bed = Bed {
        source: Arc::new(DirSource::open(&root).unwrap()),
        folder,
        pipeline: Arc::new(pipeline(&wishes, 0)),
        paths,
        seed: 0,
        epochs: [0, 1],
    };
    let cut = Cut { split: Split::After(1), codec: Codec::Picture(1) };
    // Room for three of the four: 6,128 bytes of pixels take two pages each.
    let memory = Memory::new(3 * (8192 + 512), Policy::Keep);
    let exec = bed.open(cut).with_memory(memory);
    for _ in 0..3 {
        bed.serve(&exec);
    }
    let count = |tally| exec.meter().tally(tally).count;
    assert_eq!([count(Tally::Miss), count(Tally::Hit), count(Tally::MemoryHit)], [4, 5, 15]);
    assert_eq!(exec.memory().unwrap().holds().samples, 3);
}

#[test]
fn one_making_serves_every_thread_that_waits_for_it() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("set");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a"), reference::picture(Kept::Jpeg, 300, 400, 1)).unwrap();
    let wishes = [("decode_image", json!({})), ("resize", json!({ "short_side": 99 }))];
    let bed = Bed {
        source: Arc::new(DirSource::open(&root).unwrap()),
        folder,
        pipeline: Arc::new(pipeline(&wishes, 0)),
        paths: vec![PathBuf::from("a")],
        seed: 0,
        epochs: [0, 1],
    };
    let exec = bed.open(Cut { split: Split::After(2), codec: Codec::Zstd(3) });
    let barrier = std::sync::Barrier::new(16);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                barrier.wait();
                exec.serve(bed.job(&bed.paths[0]), 0).unwrap();
            });
        }
    });
    let count = |tally| exec.meter().tally(tally).count;
    assert_eq!([count(Tally::Miss), count(Tally::Hit), count(Tally::Served)], [1, 15, 16]);
    assert_eq!(exec.meter().steps(0).iter().map(|step| step.count).collect::<Vec<_>>(), [1, 1]);
}
