//! The format of served files: how a finished sample becomes the bytes that a reader opens.
//!
//! It knows samples and nothing of files, names in a tree or the kernel.

mod npy;
mod picture;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sample::{Array, Buffer, Dtype, Layout, Sample, Spec};

/// The format of served files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// NumPy's array format, version 1.0: for arrays.
    Npy,
    /// The payload alone: little-endian elements in C order, or the raw bytes.
    Raw,
    /// PNG: for 8-bit pictures.
    Png,
    /// Binary PPM (three channels) or PGM (one): for 8-bit pictures.
    Ppm,
    /// Windows bitmap, 24 bits a pixel: for 8-bit pictures.
    Bmp,
}

/// A finished sample can't be written in the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("output `{format}` takes {takes}, not {got}")]
pub struct BadOutput {
    format: Output,
    takes: &'static str,
    got: String,
}

impl Output {
    /// The extension of a served file, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Output::Npy => "npy",
            Output::Raw => "raw",
            Output::Png => "png",
            Output::Ppm => "ppm",
            Output::Bmp => "bmp",
        }
    }

    /// Whether samples of this spec can be written.
    ///
    /// # Errors
    /// If they can't, with what can.
    pub fn check(self, spec: &Spec) -> Result<(), BadOutput> {
        let takes = match self {
            Output::Raw => return Ok(()),
            Output::Npy if spec.array().is_some() => return Ok(()),
            Output::Npy => "arrays",
            Output::Png | Output::Ppm | Output::Bmp if is_picture(spec) => return Ok(()),
            Output::Png | Output::Ppm | Output::Bmp => "uint8 pictures [H, W, 3] or [H, W, 1]",
        };
        Err(BadOutput { format: self, takes, got: spec.to_string() })
    }

    /// Bytes of the served file of a sample of this spec; `None` if the spec alone doesn't tell.
    pub fn size(self, spec: &Spec) -> Option<u64> {
        let bytes = spec.bytes()?;
        let array = spec.array()?;
        match self {
            Output::Raw => Some(bytes),
            Output::Npy => Some(npy::header(array.dtype, &array.shape()?).len() as u64 + bytes),
            Output::Png => None,
            Output::Ppm => Some(picture::ppm_header(&array.shape()?)?.len() as u64 + bytes),
            Output::Bmp => picture::bmp_size(&array.shape()?),
        }
    }

    /// The served file of a sample.
    ///
    /// # Errors
    /// If the sample isn't one that [`check`](Self::check) lets through.
    pub fn write(self, sample: Sample) -> Result<Buffer, BadOutput> {
        self.check(&sample.spec())?;
        let array = match sample {
            Sample::Bytes(data) => return Ok(data),
            Sample::Array(array) => array,
        };
        match self {
            Output::Raw => Ok(array.into_data()),
            Output::Npy => Ok(npy::write(array)),
            Output::Png => picture::png(&array),
            Output::Ppm => picture::ppm(array),
            Output::Bmp => picture::bmp(&array),
        }
    }
}

fn is_picture(spec: &Spec) -> bool {
    spec.array().is_some_and(|array| {
        array.dtype == Dtype::Uint8
            && array.layout == Layout::Hwc
            && matches!(array.dims.last().and_then(|dim| dim.exact()), Some(1 | 3))
    })
}

/// The error of a picture that a format has no room for.
fn too_large(format: Output, array: &Array) -> BadOutput {
    let got = Spec::Array(array.spec()).to_string();
    BadOutput { format, takes: "pictures that its header can describe", got }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.extension())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(height: usize, width: usize, channels: usize) -> Sample {
        let shape = [height, width, channels];
        let mut array = Array::for_overwrite(Dtype::Uint8, Layout::Hwc, &shape).unwrap();
        let ramp = (0..251).cycle();
        array.elements_mut::<u8>().unwrap().iter_mut().zip(ramp).for_each(|(to, from)| *to = from);
        Sample::Array(array)
    }

    #[test]
    fn the_size_told_is_the_size_written() {
        for output in [Output::Npy, Output::Raw, Output::Ppm, Output::Bmp] {
            for shape in [(1, 1, 3), (5, 7, 3), (5, 7, 1), (2, 1000, 3), (0, 3, 3)] {
                let sample = picture(shape.0, shape.1, shape.2);
                let told = output.size(&sample.spec()).unwrap();
                assert_eq!(output.write(sample).unwrap().len() as u64, told, "{output} {shape:?}");
            }
        }
    }

    #[test]
    fn pictures_read_back() {
        for output in [Output::Png, Output::Ppm, Output::Bmp] {
            for channels in [1, 3] {
                let sample = picture(5, 7, channels);
                let bytes = output.write(sample.clone()).unwrap();
                let back = match output {
                    Output::Png => picture::unpng(&bytes),
                    _ => image::load_from_memory(&bytes).unwrap().to_rgb8().into_raw(),
                };
                let rgb: Vec<u8> = match channels {
                    1 => sample.data().iter().flat_map(|gray| [*gray; 3]).collect(),
                    _ => sample.data().to_vec(),
                };
                assert_eq!(back, rgb, "{output}");
            }
        }
    }

    #[test]
    fn what_a_format_has_no_form_for_is_refused() {
        let floats = Array::for_overwrite(Dtype::Float32, Layout::Hwc, &[1, 1, 3]).unwrap();
        let error = Output::Png.write(Sample::Array(floats)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "output `png` takes uint8 pictures [H, W, 3] or [H, W, 1], not float32 [1, 1, 3]"
        );
        assert!(Output::Npy.check(&Spec::Bytes).is_err());
        assert!(Output::Raw.check(&Spec::Bytes).is_ok());
    }
}
