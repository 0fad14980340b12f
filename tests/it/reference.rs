//! The simplest way to make a sample, for comparison: every step in order, from bytes in memory.
//! And small pictures to make samples of.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::io::Cursor;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use parbake::draw::Draw;
use parbake::exec::MakeError;
use parbake::pipeline::Pipeline;
use parbake::sample::{Buffer, Sample, Spec};
use parbake::step::{Kind, StepError};

/// What is made of a file of these bytes at this path: the spec of the last sample and the served
/// file, or the words of the error.
pub(crate) fn made(
    pipeline: &Pipeline,
    path: &Path,
    bytes: &[u8],
    seed: u64,
    epoch: u64,
) -> Result<(Spec, Vec<u8>), String> {
    let group = path.with_extension("");
    let mut sample = Sample::Bytes(Buffer::copy_of(bytes));
    let failed = |at: usize, name, cause: StepError| {
        MakeError::Step { number: at + 1, name, cause }.to_string()
    };
    for (at, step) in pipeline.fixed().iter().enumerate() {
        sample = step.map.map(sample).map_err(|cause| failed(at, step.name, cause))?;
    }
    for (at, step) in (pipeline.fixed().len()..).zip(pipeline.rest()) {
        let done = match &step.kind {
            Kind::Fixed(map) => map.map(sample),
            Kind::Random(map) => {
                let group = group.as_os_str().as_bytes();
                map.random_map(sample, &mut Draw::new(seed, epoch, group, at as u32 + 1))
            }
        };
        sample = done.map_err(|cause| failed(at, step.name, cause))?;
    }
    let spec = sample.spec();
    let file = pipeline.output().write(sample).map_err(|error| error.to_string())?;
    Ok((spec, file.to_vec()))
}

/// What kind of file a picture is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Jpeg,
    ProgressiveJpeg,
    GrayJpeg,
    /// Its size comes after the first 16 KiB.
    LateJpeg,
    Png,
    GrayPng,
    RgbaPng,
    Png16,
    /// Ends too early.
    Cut,
    Text,
}

/// A picture of noise on a ramp, of this size, in a file.
pub(crate) fn picture(kept: Kept, height: usize, width: usize, seed: u64) -> Vec<u8> {
    let mut draw = Draw::new(seed, 0, b"picture", 0);
    let mut pixels = |channels: usize| -> Vec<u8> {
        let len = height * width * channels;
        (0..len).map(|n| (n * 3) as u8 ^ (draw.bits() as u8 & 63)).collect()
    };
    let jpeg = |pixels: &[u8], format, progressive| {
        let subsampling =
            if seed.is_multiple_of(2) { Subsampling::S420 } else { Subsampling::S444 };
        let encoder = Encoder::new(pixels, width, height, format).quality(85);
        let encoder = match format {
            PixelFormat::Grayscale => encoder,
            _ => encoder.subsampling(subsampling),
        };
        encoder.progressive(progressive).encode().unwrap()
    };
    let png = |pixels: &[u8], color, depth| {
        let mut file = Cursor::new(Vec::new());
        let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
        file.into_inner()
    };
    let eight = png::BitDepth::Eight;
    match kept {
        Kept::Jpeg => jpeg(&pixels(3), PixelFormat::Rgb, false),
        Kept::ProgressiveJpeg => jpeg(&pixels(3), PixelFormat::Rgb, true),
        Kept::GrayJpeg => jpeg(&pixels(1), PixelFormat::Grayscale, false),
        Kept::LateJpeg => {
            let mut file = jpeg(&pixels(3), PixelFormat::Rgb, false);
            let comment = [&[0xff, 0xfe, 0x4f, 0xff][..], &[b'.'; 0x4ffd]].concat();
            file.splice(2..2, comment);
            file
        }
        Kept::Png => png(&pixels(3), png::ColorType::Rgb, eight),
        Kept::GrayPng => png(&pixels(1), png::ColorType::Grayscale, eight),
        Kept::RgbaPng => png(&pixels(4), png::ColorType::Rgba, eight),
        Kept::Png16 => png(&pixels(6), png::ColorType::Rgb, png::BitDepth::Sixteen),
        Kept::Cut => {
            let mut file = png(&pixels(3), png::ColorType::Rgb, eight);
            file.truncate(file.len() * 2 / 3);
            file
        }
        Kept::Text => b"<html>no picture</html>".to_vec(),
    }
}
