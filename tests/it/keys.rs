//! What a cached result is found by: everything that decides its bytes, and nothing else.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parbake::cache::{Cache, Key, MemoryCache};
use parbake::exec::{Executor, Job, Plan, Tally};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Split, Strategy};
use parbake::sample::Codec;
use parbake::source::{DirSource, Source};
use parbake::step::{self, Step};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::reference::{Kept, picture};

/// One picture, and a cache that outlives its executors.
struct Bed {
    _folder: TempDir,
    source: Arc<DirSource>,
    cache: Arc<MemoryCache>,
}

const NAME: &str = "a.jpg";
const LZ4: Strategy = Strategy { split: Split::After(2), codec: Codec::Lz4 };

impl Bed {
    fn new() -> Bed {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(NAME), picture(Kept::Jpeg, 40, 60, 1)).unwrap();
        let source = Arc::new(DirSource::open(folder.path()).unwrap());
        Bed { _folder: folder, source, cache: Arc::new(MemoryCache::new()) }
    }

    fn executor(&self, steps: Vec<Step>, strategy: Strategy) -> Executor {
        let matcher = Matcher::new(&["**".to_owned()]).unwrap();
        let pipeline = Arc::new(Pipeline::new(steps, Output::Npy).unwrap());
        let plan = Plan { matcher, pipeline, strategy };
        let cache = Arc::clone(&self.cache) as Arc<dyn Cache>;
        Executor::new(Arc::clone(&self.source) as Arc<dyn Source>, Some(cache), vec![plan], 0)
    }

    fn job(&self) -> Job<'static> {
        let path = Path::new(NAME);
        Job { path, stat: self.source.stat(path).unwrap(), plan: 0 }
    }

    fn key(&self, steps: Vec<Step>, strategy: Strategy) -> Key {
        self.executor(steps, strategy).key_of(self.job()).unwrap()
    }
}

fn steps(resize: Value, last: (&str, Value)) -> Vec<Step> {
    [("decode_image", json!({})), ("resize", resize), last]
        .map(|(name, parameters)| step::build(name, parameters).unwrap())
        .into()
}

fn usual() -> Vec<Step> {
    steps(json!({"short_side": 20}), ("to_float", json!({})))
}

#[test]
fn whatever_decides_offline_bytes_changes_the_key() {
    let bed = Bed::new();
    let mut other_version = usual();
    other_version[1].version += 1;
    let float = || ("to_float", json!({}));
    let keys = [
        bed.key(usual(), LZ4),
        bed.key(steps(json!({"short_side": 21}), float()), LZ4),
        bed.key(steps(json!({"short_side": 20, "filter": "box"}), float()), LZ4),
        bed.key(steps(json!({"short_side": 20, "compat": "pillow-12"}), float()), LZ4),
        bed.key(other_version, LZ4),
        bed.key(usual(), Strategy { split: Split::After(1), ..LZ4 }),
        bed.key(usual(), Strategy { codec: Codec::None, ..LZ4 }),
    ];
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{at}");
    }
    // A default that is written out is the default.
    let written = steps(json!({"short_side": 20, "filter": "bilinear"}), float());
    assert_eq!(bed.key(written, LZ4), keys[0]);
}

#[test]
fn another_online_step_reuses_everything_and_a_common_prefix_is_shared() {
    let bed = Bed::new();
    let first = bed.executor(usual(), LZ4);
    first.materialize(bed.job()).unwrap();
    let mut other_version = usual();
    other_version[2].version += 1;
    let resize = || json!({"short_side": 20});
    for online in [
        usual(),
        other_version,
        steps(resize(), ("normalize", json!({"mean": [0.5], "std": [0.2]}))),
        steps(resize(), ("random_crop", json!({"size": [9, 9]}))),
    ] {
        let exec = bed.executor(online, LZ4);
        exec.serve(bed.job(), 0).unwrap();
        let count = |tally| exec.meter().tally(tally).count;
        assert_eq!((count(Tally::Hit), count(Tally::Miss)), (1, 0));
    }
    assert_eq!(bed.cache.status().entries, 1);
}
