//! Small pictures, the same on every machine: noise, so that no two crops of one are alike.

use libjpeg_turbo_rs::{Encoder, PixelFormat};

/// Height × width × 3 bytes of noise.
fn noise(height: usize, width: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..height * width * 3).map(|_| next()).collect()
}

/// A PNG of noise.
pub(super) fn png(height: usize, width: usize, seed: u64) -> Vec<u8> {
    png_of(height, width, &noise(height, width, seed))
}

/// A PNG of these pixels.
pub(super) fn png_of(height: usize, width: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    file
}

/// A JPEG of noise.
pub(super) fn jpeg(height: usize, width: usize, seed: u64) -> Vec<u8> {
    let pixels = noise(height, width, seed);
    Encoder::new(&pixels, width, height, PixelFormat::Rgb).quality(90).encode().unwrap()
}
