//! Online steps may be run in another order than they are written in, and several as one, and
//! nobody can tell.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::path::Path;
use std::sync::Arc;

use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use parbake::exec::{Executor, Job, Plan};
use parbake::output::Output;
use parbake::pipeline::{Matcher, Pipeline, Strategy};
use parbake::source::{DirSource, Source};
use parbake::step;

/// Chains in which a crop or flip can come before steps that treat each pixel by itself, and some
/// in which it must not: a center crop of a smaller picture puts zeros round it. And chains of which
/// all, or a part, can be done in one pass.
const CHAINS: &[&[(&str, &str)]] = &[
    &[NORMALIZE, ("random_crop", r#"{"size": [20, 24]}"#)],
    &[NORMALIZE, ("to_chw", "{}"), ("random_crop", r#"{"size": [31, 1]}"#), FLIP],
    &[("to_float", "{}"), FLIP, NORMALIZE, ("center_crop", r#"{"size": [15, 20]}"#)],
    &[NORMALIZE, ("center_crop", r#"{"size": [15, 200]}"#)],
    &[("pixel_center", "{}"), ("center_crop", r#"{"size": [100, 90]}"#), FLIP],
    &[("grayscale", r#"{"channels": 3}"#), ("cast", r#"{"dtype": "float16"}"#), FLIP],
    &[NORMALIZE, ("resize", r#"{"size": [30, 30]}"#), FLIP, ("random_crop", r#"{"size": [9, 9]}"#)],
    &[("to_float", "{}"), ("random_crop", r#"{"size": [500, 5]}"#)],
    &[RESIZE, ("center_crop", r#"{"size": [16, 17]}"#), NORMALIZE, ("to_chw", "{}")],
    &[RRC, FLIP, NORMALIZE, ("to_chw", "{}"), ("cast", r#"{"dtype": "float16"}"#)],
    &[RRC, RRC, FLIP, RRC, ("random_crop", r#"{"size": [5, 23]}"#), FLIP],
    &[FLIP, RESIZE, ("random_crop", r#"{"size": [18, 18]}"#), ("to_chw", "{}")],
    &[FLIP, ("random_crop", r#"{"size": [30, 29]}"#), RESIZE, FLIP, ("to_float", "{}")],
    &[("random_crop", r#"{"size": [30, 29]}"#), LANCZOS, ("center_crop", r#"{"size": [3, 60]}"#)],
    &[NEAREST, ("random_crop", r#"{"size": [4, 9]}"#), FLIP, ("pixel_center", "{}")],
    &[("resize", r#"{"size": [33, 60]}"#), ("random_crop", r#"{"size": [20, 7]}"#), FLIP],
    &[("resize", r#"{"size": [10, 41]}"#), ("random_crop", r#"{"size": [7, 20]}"#)],
    &[
        ("resize", r#"{"size": [33, 41]}"#),
        ("random_crop", r#"{"size": [7, 20]}"#),
        ("to_chw", "{}"),
    ],
    &[("cast", r#"{"dtype": "int64"}"#), ("to_chw", "{}"), FLIP],
    &[("pixel_center", "{}"), ("cast", r#"{"dtype": "uint8"}"#), RESIZE, FLIP, NORMALIZE],
    &[RESIZE, ("grayscale", "{}"), FLIP, ("to_float", "{}"), ("to_chw", "{}")],
    &[RESIZE, ("random_crop", r#"{"size": [500, 5]}"#), NORMALIZE],
    &[FLIP],
    &[FLIP, ("to_chw", "{}")],
    &[
        ("random_invert", "{}"),
        ("color_jitter", r#"{"saturation": 0.5, "hue": 0.2}"#),
        ("random_grayscale", r#"{"p": 0.5}"#),
        ("random_vertical_flip", "{}"),
        ("random_crop", r#"{"size": [20, 24], "padding": 9, "padding_mode": "reflect"}"#),
    ],
    &[
        ("random_solarize", r#"{"threshold": 100}"#),
        ("random_crop", r#"{"size": [30, 40], "padding": 4}"#),
        NORMALIZE,
        ("random_erasing", "{}"),
        FLIP,
    ],
    &[("color_jitter", r#"{"contrast": 0.9}"#), ("random_crop", r#"{"size": [9, 9]}"#)],
];

const RESIZE: (&str, &str) = ("resize", r#"{"short_side": 22}"#);
const LANCZOS: (&str, &str) = ("resize", r#"{"size": [9, 77], "filter": "lanczos"}"#);
const NEAREST: (&str, &str) = ("resize", r#"{"size": [50, 12], "filter": "nearest"}"#);
const RRC: (&str, &str) = ("random_resized_crop", r#"{"size": [21, 23], "filter": "bicubic"}"#);

const NORMALIZE: (&str, &str) =
    ("normalize", r#"{"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}"#);
const FLIP: (&str, &str) = ("random_horizontal_flip", "{}");

#[test]
fn the_order_of_execution_changes_no_bit_and_no_error() {
    let bed = Bed::new();
    let mut tried = 0;
    for chain in CHAINS {
        for decode in ["{}", r#"{"mode": "l"}"#, r#"{"mode": "rgba"}"#] {
            // Some steps take one or three channels only.
            let Some(quick) = bed.executor(decode, chain) else { continue };
            let written = bed.executor(decode, chain).unwrap().as_written();
            tried += 1;
            for (name, epoch) in NAMES.iter().flat_map(|name| (0..12).map(move |n| (name, n))) {
                let told = |exec: &Executor| {
                    let served = exec.serve(bed.job(name), epoch);
                    served.map(|file| file.to_vec()).map_err(|error| error.to_string())
                };
                let place = || format!("{chain:?} of {name} as {decode}, epoch {epoch}");
                assert!(told(&quick) == told(&written), "{}", place());
            }
        }
    }
    assert!(tried > 2 * CHAINS.len(), "{tried}");
}

#[test]
fn what_a_crop_drops_is_never_computed() {
    let bed = Bed::new();
    let crop = ("random_crop", r#"{"size": [8, 8]}"#);
    let exec = bed.executor("{}", &[NORMALIZE, crop]).unwrap();
    exec.serve(bed.job(NAMES[0]), 0).unwrap();
    assert_eq!(exec.meter().steps(0)[1].bytes, 8 * 8 * 3 * 4);
}

#[test]
fn steps_that_are_run_as_one_are_counted_each() {
    let bed = Bed::new();
    let crop = ("center_crop", r#"{"size": [8, 8]}"#);
    let chain = [RESIZE, crop, FLIP, ("to_float", "{}"), NORMALIZE, ("to_chw", "{}")];
    let exec = bed.executor("{}", &chain).unwrap();
    for epoch in 0..3 {
        exec.serve(bed.job(NAMES[0]), epoch).unwrap();
    }
    let counts: Vec<u64> = exec.meter().steps(0).iter().map(|figures| figures.count).collect();
    assert_eq!(counts, [3; 7]);
    // The resize makes no more than the crop keeps.
    assert_eq!(exec.meter().steps(0)[1].bytes, 3 * 8 * 8 * 3);
}

/// One picture in several formats.
struct Bed {
    _folder: tempfile::TempDir,
    source: Arc<dyn Source>,
}

const NAMES: [&str; 5] = ["a.bmp", "a.png", "444.jpg", "422.jpg", "420.jpg"];

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let picture = image::RgbImage::from_fn(41, 33, |x, y| {
            image::Rgb([(x * 6) as u8, (y * 7) as u8, (x * y % 251) as u8])
        });
        for (name, sampling) in NAMES.iter().zip([
            None,
            None,
            Some(Subsampling::S444),
            Some(Subsampling::S422),
            Some(Subsampling::S420),
        ]) {
            let path = folder.path().join(name);
            match sampling {
                None => picture.save(path).unwrap(),
                Some(sampling) => {
                    let encoder = Encoder::new(&picture, 41, 33, PixelFormat::Rgb);
                    let bytes = encoder.quality(90).subsampling(sampling).encode().unwrap();
                    std::fs::write(path, bytes).unwrap();
                }
            }
        }
        let source = Arc::new(DirSource::open(folder.path()).unwrap());
        Bed { _folder: folder, source }
    }

    fn job(&self, name: &'static str) -> Job<'static> {
        let path = Path::new(name);
        Job { path, stat: self.source.stat(path).unwrap(), plan: 0 }
    }

    /// Runs `decode_image` with its parameters, then the chain, with nothing cached; `None` if these
    /// are no pipeline. A
    /// normalization takes the means of as many channels as there are.
    fn executor(&self, decode: &str, chain: &[(&str, &str)]) -> Option<Executor> {
        let build = |(name, parameters): &(&str, &str)| {
            let parameters = match (*name, decode) {
                ("normalize", "{}") => parameters,
                ("normalize", _) => r#"{"mean": [0.485], "std": [0.229]}"#,
                _ => parameters,
            };
            step::build(name, &mut serde_json::Deserializer::from_str(parameters)).unwrap()
        };
        let steps = std::iter::once(&("decode_image", decode)).chain(chain).map(build).collect();
        let plan = Plan {
            matcher: Matcher::new(&["*".to_owned()]).unwrap(),
            pipeline: Arc::new(Pipeline::new(steps, Output::Npy).ok()?),
            strategy: Strategy::NONE,
        };
        Some(Executor::new(Arc::clone(&self.source), None, vec![plan], 7))
    }
}
