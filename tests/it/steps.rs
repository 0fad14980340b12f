//! Every step in the table keeps its contract; decoders survive cut files; pixels are Pillow's.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod corpus;
mod golden;
mod pillow;

use parbake::draw::Draw;
use parbake::sample::{Array, Buffer, Dim, Dtype, Layout, Sample, Spec};
use parbake::step::image::{Run, Table, Worker};
use parbake::step::{self, Kind, Step, StepError};
use serde_json::json;

/// A step with these parameters.
fn build(name: &str, parameters: serde_json::Value) -> Step {
    step::build(name, parameters).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What a step makes of a sample; random ones with the draw of an epoch.
fn run(step: &Step, input: Sample, epoch: u64) -> Result<Sample, StepError> {
    match &step.kind {
        Kind::Fixed(map) => map.map(input),
        Kind::Random(map) => map.random_map(input, &mut Draw::new(1, epoch, b"group", 1)),
    }
}

/// Parameters that every step is tried with. A step that isn't here fails the test that asks.
pub(crate) fn variants(name: &str) -> Vec<serde_json::Value> {
    match name {
        "decode_image" => vec![
            json!({}),
            json!({"mode": "l"}),
            json!({"mode": "rgba", "orientation": "apply"}),
            json!({"bits16": "keep"}),
            json!({"compat": "tensorflow"}),
        ],
        "resize" => vec![
            json!({"short_side": 9}),
            json!({"size": [5, 17], "filter": "lanczos"}),
            json!({"size": [11, 2], "filter": "nearest"}),
            json!({"size": [5, 17], "compat": "pillow-12"}),
            json!({"short_side": 9, "compat": "tensorflow"}),
            json!({"size": [11, 2], "filter": "nearest", "compat": "tensorflow"}),
        ],
        "center_crop" => vec![json!({"size": [6, 9]})],
        "random_crop" => vec![
            json!({"size": [6, 5]}),
            json!({"size": [9, 9], "padding": [2, 3], "padding_mode": "reflect"}),
            json!({"size": [20, 20], "pad_if_needed": true, "padding": 1, "fill": 7}),
        ],
        "pad" => vec![
            json!({"padding": 3}),
            json!({"padding": [1, 0, 2, 5], "padding_mode": "symmetric"}),
            json!({"padding": [40, 1], "fill": [9]}),
        ],
        "random_resized_crop" => {
            vec![
                json!({"size": [7, 8]}),
                json!({"size": [3, 3], "scale": [1, 1], "ratio": [9, 9]}),
                json!({"size": [7, 8], "compat": "tensorflow"}),
            ]
        }
        "random_horizontal_flip"
        | "random_vertical_flip"
        | "random_grayscale"
        | "random_invert"
        | "random_equalize"
        | "random_autocontrast" => {
            vec![json!({}), json!({"p": 1})]
        }
        "random_posterize" => vec![json!({"bits": 3}), json!({"bits": 8, "p": 1})],
        "random_solarize" => vec![json!({"threshold": 128}), json!({"threshold": 0.5, "p": 1})],
        "random_adjust_sharpness" => {
            vec![json!({"sharpness_factor": 2}), json!({"sharpness_factor": 0, "p": 1})]
        }
        "random_rotation" => vec![
            json!({"degrees": 180}),
            json!({"degrees": [-30, 60], "interpolation": "bicubic", "center": [0, 3], "fill": 9}),
        ],
        "random_affine" => vec![
            json!({"degrees": 10, "translate": [0.5, 1], "scale": [0.001, 1000]}),
            json!({"degrees": 0, "shear": [-89.9, 89.9, 0, 45], "interpolation": "bilinear"}),
        ],
        "color_jitter" => vec![
            json!({"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
            json!({"brightness": [0, 1000], "hue": [0.5, 0.5]}),
            json!({}),
        ],
        "gaussian_blur" => {
            vec![json!({"kernel_size": 5}), json!({"kernel_size": [1, 9], "sigma": [0.001, 9]})]
        }
        "auto_augment" => ["imagenet", "cifar10", "svhn"]
            .map(|policy| json!({"policy": policy, "interpolation": "bilinear"}))
            .to_vec(),
        "rand_augment" => vec![json!({}), json!({"num_ops": 5, "magnitude": 30, "fill": 128})],
        "trivial_augment_wide" => vec![json!({}), json!({"interpolation": "bicubic"})],
        "random_erasing" => vec![
            json!({"p": 1}),
            json!({"value": "random", "p": 1}),
            json!({"value": 255, "scale": [0, 1], "ratio": [0.001, 1000]}),
        ],
        "grayscale" => {
            vec![json!({}), json!({"channels": 3}), json!({"compat": "tensorflow"})]
        }
        "normalize" => vec![
            json!({"mean": [0.5], "std": [0.2]}),
            json!({"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}),
        ],
        "cast" => Dtype::ALL.iter().map(|dtype| json!({"dtype": dtype})).collect(),
        "to_float" => vec![json!({}), json!({"compat": "tensorflow"})],
        "pixel_center" | "to_chw" => vec![json!({})],
        _ => panic!("say with which parameters `{name}` is to be tried"),
    }
}

/// Random numbers for tests, the same in every run.
struct Noise(Draw);

impl Noise {
    fn new(name: &str) -> Noise {
        Noise(Draw::new(0, 0, name.as_bytes(), 0))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.0.bits() as u8).collect()
    }

    /// A picture, or now and then an array of another kind.
    fn array(&mut self) -> Array {
        let dtype = Dtype::ALL[self.below(Dtype::ALL.len())];
        let dtype = if self.below(2) == 0 { Dtype::Uint8 } else { dtype };
        let (height, width) = (1 + self.below(24), 1 + self.below(24));
        let channels = [1, 2, 3, 3, 3, 4, 5][self.below(7)];
        let (layout, shape) = match self.below(8) {
            0 => (Layout::Plain, vec![height, width]),
            1 => (Layout::Hwc, vec![height, 0, channels]),
            2 | 3 => (Layout::Chw, vec![channels, height, width]),
            _ => (Layout::Hwc, vec![height, width, channels]),
        };
        let len = shape.iter().product::<usize>() * dtype.size();
        let data = Buffer::copy_of(&self.bytes(len));
        Array::from_parts(dtype, layout, &shape, data).unwrap()
    }
}

/// Whether a sample is one of those that a spec describes.
fn fits(sample: &Spec, spec: &Spec) -> bool {
    match (sample, spec) {
        (Spec::Bytes, Spec::Bytes) => true,
        (Spec::Array(sample), Spec::Array(spec)) => {
            let dims = sample.dims.iter().zip(&spec.dims);
            sample.dtype == spec.dtype
                && sample.layout == spec.layout
                && sample.dims.len() == spec.dims.len()
                && dims.into_iter().all(|(is, may)| *may == Dim::Varies || is == may)
        }
        _ => false,
    }
}

/// The spec with some of its dimensions unknown.
fn vaguer(spec: &Spec, which: usize) -> Spec {
    let Spec::Array(array) = spec else { return spec.clone() };
    let mut array = array.clone();
    for (axis, dim) in array.dims.iter_mut().enumerate() {
        if which >> axis & 1 == 1 {
            *dim = Dim::Varies;
        }
    }
    Spec::Array(array)
}

/// Bit for bit, NaNs included.
fn same(a: &Result<Sample, StepError>, b: &Result<Sample, StepError>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.spec() == b.spec() && a.data() == b.data(),
        (a, b) => a == b,
    }
}

#[test]
fn every_step_makes_what_its_spec_promises() {
    for name in step::NAMES {
        let mut noise = Noise::new(name);
        let mut made = 0;
        for parameters in variants(name) {
            let step = build(name, parameters);
            for round in 0..150 {
                let input = if *name == "decode_image" {
                    let files = fixtures();
                    Sample::Bytes(Buffer::copy_of(&files[round % files.len()].bytes))
                } else {
                    Sample::Array(noise.array())
                };
                let exact = step.kind.spec(&input.spec());
                let output = run(&step, input.clone(), round as u64);
                assert!(same(&output, &run(&step, input.clone(), round as u64)), "{step:?}");
                if let Ok(output) = &output {
                    made += 1;
                    let promised = exact.clone().unwrap_or_else(|error| panic!("{name} {error}"));
                    assert!(fits(&output.spec(), &promised), "{step:?} {promised}");
                }
                for which in 0..8 {
                    match (step.kind.spec(&vaguer(&input.spec(), which)), &output) {
                        (Ok(promised), Ok(output)) => {
                            assert!(fits(&output.spec(), &promised), "{step:?} {promised}");
                        }
                        (Err(error), Ok(_)) => panic!("{step:?} made what it refused: {error}"),
                        (_, Err(_)) => {}
                    }
                }
            }
        }
        assert!(made > 20, "{name} made only {made} samples");
    }
}

/// Runs the work of each step as it is.
struct Plain;

impl Worker for Plain {
    type Error = StepError;

    fn work(
        &mut self,
        _: usize,
        work: impl FnOnce() -> Result<Sample, StepError>,
    ) -> Result<Sample, StepError> {
        work()
    }

    fn no_work(&mut self, _: usize, _: usize) {}
}

#[test]
fn the_parts_that_a_step_tells_make_what_the_step_makes() {
    let mut told = 0;
    for name in step::NAMES {
        let mut noise = Noise::new(name);
        for (step, round) in
            variants(name).into_iter().flat_map(|p| (0..60).map(move |n| (p.clone(), n)))
        {
            let step = build(name, step);
            let files = fixtures();
            let (input, spec) = match (*name, &step.kind) {
                ("decode_image", Kind::Fixed(map)) => {
                    let bytes = &files[round % files.len()].bytes;
                    let Some(spec) = map.probe(bytes) else { continue };
                    (Sample::Bytes(Buffer::copy_of(bytes)), spec)
                }
                _ => {
                    let array = noise.array();
                    let spec = Spec::Array(array.spec());
                    (Sample::Array(array), spec)
                }
            };
            let mut draw = Draw::new(1, round as u64, b"group", 1);
            let parts = match &step.kind {
                Kind::Fixed(map) => map.parts(&input.spec()),
                Kind::Random(map) => map.parts(&input.spec(), &mut draw),
            };
            let Some((mut run, parts)) = Run::new(&spec).zip(parts) else { continue };
            assert!(run.add(0, parts), "{step:?}");
            let table = (!run.values().is_empty()).then(|| {
                let ramp = self::run(&step, Table::ramp(run.channels()).unwrap(), 0).unwrap();
                Table::of(ramp).unwrap()
            });
            let together = run.planned().unwrap().run(input.clone(), table.as_ref(), &mut Plain);
            assert!(same(&together, &self::run(&step, input, round as u64)), "{step:?}");
            told += 1;
        }
    }
    assert!(told > 300, "{told}");
}

#[test]
fn exact_dimensions_in_are_exact_dimensions_out() {
    let picture = |dtype| {
        let [height, width, channels] = [30, 40, 3].map(Dim::Is);
        Spec::Array(parbake::sample::ArraySpec::hwc(dtype, height, width, channels))
    };
    for name in step::NAMES.iter().filter(|name| **name != "decode_image") {
        for parameters in variants(name) {
            let step = build(name, parameters);
            let spec = step.kind.spec(&picture(Dtype::Uint8));
            let spec = spec.or_else(|_| step.kind.spec(&picture(Dtype::Float32))).unwrap();
            assert!(spec.bytes().is_some(), "{name}: {spec}");
        }
    }
}

#[test]
fn parameters_written_out_build_the_same_step() {
    for name in step::NAMES {
        for parameters in variants(name) {
            let step = build(name, parameters);
            let again = build(name, serde_json::from_str(&step.parameters).unwrap());
            assert_eq!(step.parameters, again.parameters);
            let mut wrong: serde_json::Value = serde_json::from_str(&step.parameters).unwrap();
            wrong["colour"] = json!(1);
            assert!(step::build(name, wrong).is_err(), "{name} takes an unknown parameter");
        }
    }
}

/// A file made by an encoder, and its size.
struct Fixture {
    name: String,
    bytes: Vec<u8>,
    height: usize,
    width: usize,
}

/// Files of every format that we have an encoder for.
fn fixtures() -> &'static [Fixture] {
    use image::{DynamicImage, ExtendedColorType, ImageFormat};
    use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
    static FIXTURES: std::sync::LazyLock<Vec<Fixture>> = std::sync::LazyLock::new(|| {
        let mut noise = Noise::new("fixtures");
        let mut made = Vec::new();
        let (height, width) = (21, 34);
        // Noise on a ramp: files long enough for many cuts.
        let rgb: Vec<u8> = noise
            .bytes(height * width * 3)
            .iter()
            .enumerate()
            .map(|(n, byte)| (n / 9) as u8 ^ (byte & 15))
            .collect();
        let mut add = |name: &str, bytes: Vec<u8>| {
            made.push(Fixture { name: name.to_owned(), bytes, height, width });
        };
        let subsamplings = [Subsampling::S444, Subsampling::S422, Subsampling::S420];
        for (n, subsampling) in subsamplings.into_iter().enumerate() {
            let jpeg = |progressive| {
                Encoder::new(&rgb, width, height, PixelFormat::Rgb)
                    .quality(90)
                    .subsampling(subsampling)
                    .progressive(progressive)
                    .encode()
                    .unwrap()
            };
            add(&format!("baseline {n}"), jpeg(false));
            add(&format!("progressive {n}"), jpeg(true));
        }
        let picture: DynamicImage =
            image::RgbImage::from_raw(width as u32, height as u32, rgb).unwrap().into();
        let pictures = [
            ("rgb", picture.clone()),
            ("rgba", picture.to_rgba8().into()),
            ("l", picture.to_luma8().into()),
            ("rgb16", picture.to_rgb16().into()),
            ("l16", picture.to_luma16().into()),
        ];
        let formats = [
            ImageFormat::Bmp,
            ImageFormat::Gif,
            ImageFormat::Ico,
            ImageFormat::Pnm,
            ImageFormat::Qoi,
            ImageFormat::Tga,
            ImageFormat::Tiff,
            ImageFormat::WebP,
        ];
        for (mode, picture) in &pictures {
            // In an ICO file, the image crate writes PNGs of any kind but reads RGBA only.
            for format in formats {
                if format == ImageFormat::Ico && *mode != "rgba" {
                    continue;
                }
                let mut bytes = std::io::Cursor::new(Vec::new());
                if picture.write_to(&mut bytes, format).is_ok() {
                    add(&format!("{format:?} {mode}"), bytes.into_inner());
                }
            }
            let color = ExtendedColorType::from(picture.color());
            add(&format!("Png {mode}"), png_file(picture.as_bytes(), width, height, color));
        }
        made
    });
    &FIXTURES
}

fn png_file(
    pixels: &[u8],
    width: usize,
    height: usize,
    color: image::ExtendedColorType,
) -> Vec<u8> {
    use image::ExtendedColorType as Color;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    let (color, depth) = match color {
        Color::L8 => (png::ColorType::Grayscale, png::BitDepth::Eight),
        Color::L16 => (png::ColorType::Grayscale, png::BitDepth::Sixteen),
        Color::Rgb16 => (png::ColorType::Rgb, png::BitDepth::Sixteen),
        Color::Rgba8 => (png::ColorType::Rgba, png::BitDepth::Eight),
        _ => (png::ColorType::Rgb, png::BitDepth::Eight),
    };
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    bytes
}

#[test]
fn cut_files_are_errors_or_whole_pictures() {
    let step = build("decode_image", json!({}));
    let Kind::Fixed(map) = &step.kind else { panic!() };
    let mut noise = Noise::new("cuts");
    for Fixture { name, bytes, height, width } in fixtures() {
        let shape = format!("uint8 [{height}, {width}, 3]");
        let whole = map.map(Sample::Bytes(Buffer::copy_of(bytes))).unwrap();
        assert_eq!(whole.spec().to_string(), shape, "{name}");
        assert_eq!(map.probe(bytes), Some(whole.spec()), "{name}");
        // JPEGs at every byte: between two scans, a progressive one looks whole.
        let cuts: Vec<usize> = match name.split_once(' ') {
            Some(("baseline" | "progressive", _)) => (0..bytes.len()).collect(),
            _ => (0..64).map(|_| noise.below(bytes.len())).collect(),
        };
        for cut in cuts {
            let cut = &bytes[..cut];
            if let Some(probed) = map.probe(cut) {
                assert_eq!(probed, whole.spec(), "{name} cut at {}", cut.len());
            }
            if let Ok(made) = map.map(Sample::Bytes(Buffer::copy_of(cut))) {
                assert_eq!(made, whole, "{name} cut at {} of {}", cut.len(), bytes.len());
            }
        }
    }
}

#[test]
fn damaged_files_are_errors_or_pictures_of_the_probed_size() {
    let step = build("decode_image", json!({"max_pixels": 1_000_000}));
    let Kind::Fixed(map) = &step.kind else { panic!() };
    let mut noise = Noise::new("damage");
    for Fixture { name, bytes, .. } in fixtures() {
        for round in 0..64 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + noise.below(4) {
                // Every other round in the head, where sizes and types are.
                let most = if round % 2 == 0 { damaged.len().min(64) } else { damaged.len() };
                let at = noise.below(most);
                damaged[at] = noise.below(256) as u8;
            }
            let probed = map.probe(&damaged);
            if let (Some(probed), Ok(made)) =
                (probed, map.map(Sample::Bytes(Buffer::copy_of(&damaged))))
            {
                assert_eq!(probed, made.spec(), "{name}");
            }
        }
    }
}

#[test]
fn a_size_beyond_the_limit_is_told_from_the_header() {
    let little = |n: u32| n.to_le_bytes();
    let jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\x01\x03\x11\x01";
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &[0, 1, 0, 0, 0, 1, 0, 0, 8, 2, 0, 0, 0]]
        .concat();
    let gif =
        [&b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x02"[..], &[0; 4]].concat();
    let dib = |height: u32| {
        let tail = [&[1, 0, 24, 0][..], &[0; 24]].concat();
        [&little(40)[..], &little(50_000), &little(height), &tail].concat()
    };
    let bmp = [&b"BM"[..], &little(54), &[0; 4], &little(54), &dib(50_000)].concat();
    let ico =
        [&b"\0\0\x01\0\x01\0\0\0\0\0\x01\0\x18\0"[..], &little(40), &little(22), &dib(100_000)]
            .concat();
    let entry = |tag: u8| [&[tag, 1, 4, 0, 1, 0, 0, 0][..], &little(1 << 16)].concat();
    let tiff = [&b"II*\0\x08\0\0\0\x02\0"[..], &entry(0), &entry(1), &[0; 4]].concat();
    let webp = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\xff\xff\0\xff\xff\0";
    let qoi = [&b"qoif"[..], &[0, 0, 0x40, 0, 0, 0, 0x40, 0, 3, 0], &[0; 8]].concat();
    let mut tga = [0; 18];
    (tga[2], tga[16]) = (2, 24);
    tga[12..16].fill(0xff);
    let files: [(&str, &[u8]); 11] = [
        ("JPEG", jpeg),
        ("PNG", &png),
        ("GIF", &gif),
        ("BMP", &bmp),
        ("ICO", &ico),
        ("TIFF", &tiff),
        ("WebP", webp),
        ("QOI", &qoi),
        ("TGA", &tga),
        ("PPM", b"P6 65536 65536 255\n"),
        ("PAM", b"P7\nWIDTH 65536\nHEIGHT 65536\nDEPTH 3\nMAXVAL 255\nENDHDR\n"),
    ];
    for parameters in [json!({}), json!({"bits16": "keep", "orientation": "apply"})] {
        let step = build("decode_image", parameters);
        for (name, bytes) in files {
            let made = run(&step, Sample::Bytes(Buffer::copy_of(bytes)), 0);
            assert!(matches!(made, Err(StepError::Limit(_))), "{name}: {made:?}");
        }
    }
}

#[test]
fn rubbish_after_the_picture_is_ignored() {
    let step = build("decode_image", json!({}));
    for Fixture { name, bytes, .. } in fixtures() {
        let longer = [bytes.as_slice(), b"rubbish\xff\xd8\xff\x89PNG"].concat();
        let made = |bytes: &[u8]| run(&step, Sample::Bytes(Buffer::copy_of(bytes)), 0).unwrap();
        assert_eq!(made(&longer), made(bytes), "{name}");
    }
}
