//! The fast decoder beside the general one, on files of our own making and on real ones.

use libjpeg_turbo_rs::{Encoder, Subsampling};

use super::baseline::{Declined, decode as decode_region};
use super::*;

/// Numbers that look random and are the same in each run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn region(&mut self, size: Dimensions) -> Region {
        let (top, left) = (self.below(size.height), self.below(size.width));
        let height = 1 + self.below(size.height - top);
        Region { top, left, height, width: 1 + self.below(size.width - left) }
    }
}

const SAMPLINGS: [Subsampling; 4] =
    [Subsampling::S444, Subsampling::S422, Subsampling::S420, Subsampling::S440];

/// Waves, edges and noise.
fn scene(size: Dimensions, channels: usize, dice: &mut Dice) -> Vec<u8> {
    let (a, b, noise) = (dice.below(40) + 1, dice.below(40) + 1, dice.below(120) + 1);
    let mut pixels = Vec::new();
    for y in 0..size.height {
        for x in 0..size.width {
            for c in 0..channels {
                let edge = if (x / a + y / b + c).is_multiple_of(3) { 120 } else { 0 };
                pixels.push((x * a + y * b * (c + 1) / 2 + edge + dice.below(noise)) as u8);
            }
        }
    }
    pixels
}

fn encode(size: Dimensions, gray: bool, sampling: Subsampling, dice: &mut Dice) -> Vec<u8> {
    let format = if gray { PixelFormat::Grayscale } else { PixelFormat::Rgb };
    let pixels = scene(size, if gray { 1 } else { 3 }, dice);
    let mut encoder = Encoder::new(&pixels, size.width, size.height, format)
        .quality([1, 20, 50, 75, 90, 100][dice.below(6)])
        .subsampling(sampling)
        .optimize_huffman(dice.below(2) == 0);
    if dice.below(2) == 0 {
        encoder = encoder.restart_blocks(1 + dice.below(9) as u16);
    }
    encoder.encode().unwrap()
}

fn reference(bytes: &[u8], channels: Channels) -> Result<(Dimensions, Vec<u8>), String> {
    let mut decoder = Decoder::new(bytes).map_err(|error| error.to_string())?;
    decoder.set_output_format(match channels {
        Channels::L => PixelFormat::Grayscale,
        Channels::Rgb => PixelFormat::Rgb,
    });
    decoder.set_block_smoothing(true);
    let image = decoder.decode_image().map_err(|error| error.to_string())?;
    Ok((Dimensions { height: image.height, width: image.width }, image.data))
}

fn crop(pixels: &[u8], size: Dimensions, region: Region, channels: usize) -> Vec<u8> {
    (region.top..region.top + region.height)
        .flat_map(|y| {
            let start = (y * size.width + region.left) * channels;
            &pixels[start..start + region.width * channels]
        })
        .copied()
        .collect()
}

fn fast(bytes: &[u8], region: Region, channels: Channels) -> Option<Vec<u8>> {
    let depth = if channels == Channels::L { 1 } else { 3 };
    let mut out = vec![0xa5; region.height * region.width * depth];
    let done = decode_region(bytes, region, channels, &mut out);
    let mut plain = vec![0x5a; out.len()];
    let plainly = baseline::decode_on(machine::Machine::Any, bytes, region, channels, &mut plain);
    assert_eq!(done, plainly);
    assert!(done.is_err() || out == plain, "this machine and any other differ");
    done.ok().map(|()| out)
}

fn whole(size: Dimensions) -> Region {
    Region { top: 0, left: 0, height: size.height, width: size.width }
}

/// Compares the whole picture and some regions; whether the fast decoder took it.
fn agrees(bytes: &[u8], channels: Channels, regions: usize, dice: &mut Dice) -> bool {
    let (size, expected) = reference(bytes, channels).unwrap();
    let depth = if channels == Channels::L { 1 } else { 3 };
    let Some(pixels) = fast(bytes, whole(size), channels) else { return false };
    let differ = pixels.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{size:?}, of {} bytes", expected.len());
    for _ in 0..regions {
        let region = dice.region(size);
        let part = fast(bytes, region, channels).unwrap();
        let same = part == crop(&expected, size, region, depth);
        assert!(same, "{region:?} of {size:?}");
    }
    true
}

#[test]
fn every_size_and_sampling_is_as_the_reference_decodes_it() {
    let mut dice = Dice(1);
    for width in 1..=70 {
        for sampling in SAMPLINGS {
            let size = Dimensions { height: 1 + dice.below(70), width };
            let bytes = encode(size, false, sampling, &mut dice);
            let taken = agrees(&bytes, Channels::Rgb, 6, &mut dice);
            let halved = matches!(sampling, Subsampling::S422 | Subsampling::S420);
            assert_eq!(taken, !(halved && width <= 4), "{size:?} {sampling:?}");
        }
        let size = Dimensions { height: 1 + dice.below(70), width };
        let bytes = encode(size, true, Subsampling::S444, &mut dice);
        assert!(agrees(&bytes, Channels::L, 4, &mut dice));
        assert!(agrees(&bytes, Channels::Rgb, 4, &mut dice));
    }
}

#[test]
fn wide_pictures_and_their_regions_are_as_the_reference_decodes_them() {
    let mut dice = Dice(2);
    for round in 0..12 {
        let size = Dimensions { height: 100 + dice.below(150), width: 200 + dice.below(300) };
        let bytes = encode(size, round % 5 == 4, SAMPLINGS[round % 4], &mut dice);
        assert!(agrees(&bytes, Channels::Rgb, 12, &mut dice));
    }
}

#[test]
fn what_the_fast_decoder_cannot_do_is_declined() {
    let mut dice = Dice(3);
    let size = Dimensions { height: 40, width: 50 };
    let pixels = scene(size, 3, &mut dice);
    let encoder = || Encoder::new(&pixels, size.width, size.height, PixelFormat::Rgb);
    let region = whole(size);
    for other in [
        encoder().progressive(true),
        encoder().arithmetic(true),
        encoder().subsampling(Subsampling::S411),
        encoder().colorspace(libjpeg_turbo_rs::ColorSpace::Rgb),
    ] {
        assert_eq!(fast(&other.encode().unwrap(), region, Channels::Rgb), None);
    }
    let bytes = encoder().encode().unwrap();
    assert!(fast(&bytes, region, Channels::Rgb).is_some());
    assert_eq!(fast(&bytes, region, Channels::L), None);
    for (top, left, height, width) in
        [(0, 0, 0, 1), (0, 0, 41, 1), (0, 50, 1, 1), (usize::MAX, 0, 2, 1), (0, 0, 1, 51)]
    {
        assert_eq!(fast_of_nothing(&bytes, Region { top, left, height, width }), Err(Declined));
    }
    // Without its end, even where the end isn't wanted.
    let upper = Region { height: 3, ..region };
    assert!(fast(&bytes, upper, Channels::Rgb).is_some());
    for cut in [1, 2, 3, 60] {
        assert_eq!(fast(&bytes[..bytes.len() - cut], region, Channels::Rgb), None);
        assert_eq!(fast(&bytes[..bytes.len() - cut], upper, Channels::Rgb), None);
    }
    // A marker where data should be.
    let mut stray = bytes.clone();
    let at = stray.len() - 20;
    stray[at..at + 2].copy_from_slice(&[0xff, 0xd0]);
    assert_eq!(fast(&stray, upper, Channels::Rgb), None);
}

fn fast_of_nothing(bytes: &[u8], region: Region) -> Result<(), Declined> {
    decode_region(bytes, region, Channels::Rgb, &mut [])
}

/// Whatever the bytes are, the fast decoder either declines or makes the reference's pixels.
#[test]
fn a_damaged_file_is_declined_or_decoded_as_the_reference_does() {
    let mut dice = Dice(4);
    let mut taken = 0;
    for round in 0..160 {
        let size = Dimensions { height: 1 + dice.below(50), width: 1 + dice.below(60) };
        let gray = round % 5 == 4;
        let bytes = encode(size, gray, SAMPLINGS[round % 4], &mut dice);
        let data = bytes.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
        for _ in 0..100 {
            let mut bytes = bytes.clone();
            match dice.below(4) {
                0 => bytes.truncate(dice.below(bytes.len())),
                1 => bytes[dice.below(data + 12)] = dice.next() as u8,
                2 => {
                    let at = data + dice.below(bytes.len() - data);
                    bytes[at] = [0xff, 0xd9, 0xd0, 0, dice.next() as u8][dice.below(5)];
                }
                _ => {
                    for _ in 0..=dice.below(3) {
                        let at = dice.below(bytes.len());
                        bytes[at] ^= 1 << dice.below(8);
                    }
                }
            }
            let Ok(Frame { size, .. }) = frame(&bytes) else { continue };
            if size.height * size.width == 0 || size.height * size.width > 1 << 20 {
                continue;
            }
            let pixels = fast(&bytes, whole(size), Channels::Rgb);
            let region = dice.region(size);
            let part = fast(&bytes, region, Channels::Rgb);
            let Some(pixels) = pixels else { continue };
            taken += 1;
            let (size, expected) = reference(&bytes, Channels::Rgb).unwrap();
            assert!(pixels == expected, "{size:?} {:?} round {round}", SAMPLINGS[round % 4]);
            assert!(part == Some(crop(&expected, size, region, 3)));
        }
    }
    assert!(taken > 2000, "{taken}");
}

fn files_under(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_under(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Of a folder of the corpus: how many files the fast decoder took, and how many it could not.
fn compare_files_under(folder: &std::path::Path, dice: &mut Dice) -> (usize, usize) {
    let (mut taken, mut declined) = (0, 0);
    for path in files_under(folder) {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(Frame { size, .. }) = frame(&bytes) else { continue };
        let pixels = size.height * size.width;
        if !bytes.starts_with(b"\xff\xd8\xff") || pixels == 0 || pixels > 1 << 24 {
            continue;
        }
        let region = dice.region(size);
        let part = fast(&bytes, region, Channels::Rgb);
        let Some(pixels) = fast(&bytes, whole(size), Channels::Rgb) else {
            declined += 1;
            continue;
        };
        taken += 1;
        let (size, expected) = reference(&bytes, Channels::Rgb).unwrap();
        assert!(pixels == expected, "{}", path.display());
        assert!(part == Some(crop(&expected, size, region, 3)), "{} {region:?}", path.display());
    }
    (taken, declined)
}

#[test]
fn real_files_are_as_the_reference_decodes_them() {
    let Some(corpus) = std::env::var_os("PARBAKE_CORPUS").map(std::path::PathBuf::from) else {
        eprintln!("SKIPPED: set PARBAKE_CORPUS to a folder of pictures to run this test");
        return;
    };
    let mut dice = Dice(5);
    let (taken, declined) = compare_files_under(&corpus.join("images"), &mut dice);
    eprintln!("images: {taken} taken, {declined} declined");
    let (taken, declined) = compare_files_under(&corpus.join("photos"), &mut dice);
    eprintln!("photos: {taken} taken, {declined} declined");
    assert!(taken > 0 && declined <= taken / 50, "{taken} photos taken, {declined} declined");
}

/// Coefficients as no encoder makes them: each version of the transform does the same with them.
#[test]
fn the_transforms_of_all_machines_are_equal() {
    let mut dice = Dice(6);
    let this = machine::Machine::this();
    for round in 0..20_000 {
        let mut block = block::Block([0; 64]);
        let bits = 1 + dice.below(16) as u32;
        for _ in 0..=dice.below(64) {
            block.0[dice.below(64)] = (dice.next() as i16) >> (16 - bits);
        }
        let mut steps = [0; 64];
        steps.fill_with(|| (dice.next() as i16) >> [0, 4, 8, 12][round % 4]);
        let (mut fast, mut plain) = ([0; 8 * 40], [0; 8 * 40]);
        this.block(&block, &steps, &mut fast, 40);
        idct::block(&block, &steps, &mut plain, 40);
        assert_eq!(fast, plain, "{block:?}");
        block.0[1..].fill(0);
        // Without overflow, the short cut is the same too.
        if (i32::from(block.0[0]) * i32::from(steps[0])).abs() < 1 << 13 {
            idct::block(&block, &steps, &mut plain, 40);
            let mut flat = [0; 8 * 40];
            idct::flat(block.0[0], steps[0], &mut flat, 40);
            assert_eq!(flat, plain);
        }
    }
}

#[test]
fn the_colours_of_all_machines_are_equal() {
    let this = machine::Machine::this();
    let all: Vec<u8> = (0..=255).collect();
    let padded = |value: u8| vec![value; 256 + rows::SLACK];
    for y in [0, 1, 100, 128, 200, 255] {
        for cb in 0..=255 {
            let mut cr = all.clone();
            cr.resize(256 + rows::SLACK, 0);
            let (mut fast, mut plain) = (vec![0; 255 * 3], vec![0; 255 * 3]);
            this.rgb(&padded(y), &padded(cb), &cr, &mut fast);
            rows::rgb(&padded(y), &padded(cb), &cr, &mut plain);
            assert_eq!(fast, plain, "{y} {cb}");
        }
    }
}
