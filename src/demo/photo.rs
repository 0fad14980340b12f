//! One photo: from its number to the bytes of a JPEG file.
//!
//! It knows nothing of folders, nor of how many photos there are: photo 7 is photo 7 in any set.

use std::io;

use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};

use super::classes::CLASSES;
use super::noise::{self, Stream};
use super::scene::Scene;

/// What the numbers of all photos begin with. Changing anything that changes a photo's bytes
/// takes a new [`super::VERSION`].
const SEED: u64 = 0x7061_7262_616B_6531;

/// Sizes and how many of 100 photos have them.
const SIZES: [(u32, [usize; 2]); 9] = [
    (46, [500, 375]),
    (14, [375, 500]),
    (16, [500, 333]),
    (5, [333, 500]),
    (6, [500, 334]),
    (4, [500, 332]),
    (3, [500, 400]),
    (3, [400, 300]),
    (3, [320, 240]),
];

/// The class and the file's name in the class's folder.
pub(super) fn name(number: usize) -> (&'static str, String) {
    let class = CLASSES[number % CLASSES.len()].name;
    (class, format!("{class}_{:04}.jpg", number / CLASSES.len() + 1))
}

/// The file.
pub(super) fn jpeg(number: usize) -> io::Result<Vec<u8>> {
    let mut stream = Stream::new(noise::bits(SEED, number as u64));
    let [width, height] = size(stream.below(100));
    let coding = stream.below(100);
    let coarse = 81 + stream.below(12) as u8;
    let scene = Scene::of(&CLASSES[number % CLASSES.len()], width, height, &mut stream);
    let (pixels, format) = match coding {
        0..3 => (scene.grey(), PixelFormat::Grayscale),
        _ => (scene.rgb(), PixelFormat::Rgb),
    };
    let (subsampling, quality) = match coding {
        0..80 => (Subsampling::S444, 96),
        _ => (Subsampling::S420, coarse),
    };
    Encoder::new(&pixels, width, height, format)
        .subsampling(subsampling)
        .quality(quality)
        .encode()
        .map_err(io::Error::other)
}

fn size(mut percent: u32) -> [usize; 2] {
    for (share, size) in SIZES {
        if percent < share {
            return size;
        }
        percent -= share;
    }
    SIZES[0].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_make_a_hundred() {
        assert_eq!(SIZES.iter().map(|(share, _)| share).sum::<u32>(), 100);
        assert_eq!(size(99), [320, 240]);
    }

    #[test]
    fn every_class_has_its_turn() {
        assert_eq!(name(0), ("bark", "bark_0001.jpg".to_owned()));
        assert_eq!(name(19), ("roof", "roof_0002.jpg".to_owned()));
        assert!(CLASSES.is_sorted_by_key(|class| class.name));
    }
}
