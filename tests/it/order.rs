//! Online steps may be run in another order than they are written in, and nobody can tell.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::path::Path;
use std::sync::Arc;

use parbake::exec::{Executor, Job, Plan};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Strategy};
use parbake::source::{DirSource, Source};
use parbake::step;

/// Chains in which a crop or flip can come before steps that treat each pixel by itself, and some
/// in which it must not: a center crop of a smaller picture puts zeros round it.
const CHAINS: &[&[(&str, &str)]] = &[
    &[NORMALIZE, ("random_crop", r#"{"size": [20, 24]}"#)],
    &[NORMALIZE, ("to_chw", "{}"), ("random_crop", r#"{"size": [31, 1]}"#), FLIP],
    &[("to_float", "{}"), FLIP, NORMALIZE, ("center_crop", r#"{"size": [15, 20]}"#)],
    &[NORMALIZE, ("center_crop", r#"{"size": [15, 200]}"#)],
    &[("pixel_center", "{}"), ("center_crop", r#"{"size": [100, 90]}"#), FLIP],
    &[("grayscale", r#"{"channels": 3}"#), ("cast", r#"{"dtype": "float16"}"#), FLIP],
    &[NORMALIZE, ("resize", r#"{"size": [30, 30]}"#), FLIP, ("random_crop", r#"{"size": [9, 9]}"#)],
    &[("to_float", "{}"), ("random_crop", r#"{"size": [500, 5]}"#)],
];

const NORMALIZE: (&str, &str) =
    ("normalize", r#"{"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}"#);
const FLIP: (&str, &str) = ("random_horizontal_flip", "{}");

#[test]
fn the_order_of_execution_changes_no_bit_and_no_error() {
    let bed = Bed::new();
    for chain in CHAINS {
        let (quick, written) = (bed.executor(chain), bed.executor(chain).as_written());
        for epoch in 0..20 {
            let told = |exec: &Executor| {
                let served = exec.serve(bed.job(), epoch);
                served.map(|file| file.to_vec()).map_err(|error| error.to_string())
            };
            assert!(told(&quick) == told(&written), "{chain:?}, epoch {epoch}");
        }
    }
}

#[test]
fn what_a_crop_drops_is_never_computed() {
    let bed = Bed::new();
    let exec = bed.executor(&[NORMALIZE, ("random_crop", r#"{"size": [8, 8]}"#)]);
    exec.serve(bed.job(), 0).unwrap();
    assert_eq!(exec.meter().steps(0)[1].bytes, 8 * 8 * 3 * 4);
}

/// One picture.
struct Bed {
    _folder: tempfile::TempDir,
    source: Arc<dyn Source>,
}

const NAME: &str = "a.bmp";

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let picture = image::RgbImage::from_fn(41, 33, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 7) as u8, (x * y % 251) as u8])
        });
        picture.save_with_format(folder.path().join(NAME), image::ImageFormat::Bmp).unwrap();
        let source = Arc::new(DirSource::open(folder.path()).unwrap());
        Bed { _folder: folder, source }
    }

    fn job(&self) -> Job<'static> {
        let path = Path::new(NAME);
        Job { path, stat: self.source.stat(path).unwrap(), plan: 0 }
    }

    /// Runs `decode_image`, then the chain, with nothing cached.
    fn executor(&self, chain: &[(&str, &str)]) -> Executor {
        let build = |(name, parameters): &(&str, &str)| {
            step::build(name, &mut serde_json::Deserializer::from_str(parameters)).unwrap()
        };
        let steps = std::iter::once(&("decode_image", "{}")).chain(chain).map(build).collect();
        let plan = Plan {
            matcher: Matcher::new(&["*".to_owned()]).unwrap(),
            pipeline: Arc::new(Pipeline::new(steps, Output::Npy).unwrap()),
            strategy: Strategy::NONE,
        };
        Executor::new(Arc::clone(&self.source), None, vec![plan], 7)
    }
}
