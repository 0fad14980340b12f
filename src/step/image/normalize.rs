//! Normalisation: each channel shifted by its mean and divided by its spread.
//!
//! It knows numbers and channels, not where the statistics come from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Part, Picture, array_for, array_in, wrong_dtype};
use crate::sample::{Dim, Dtype, Layout, Sample, Spec};
use crate::step::{Map, Named, Reach, StepError, Unfit};

/// `normalize`: `(x − mean) / std` per channel, in float32.
///
/// `mean` and `std` are lists of one number for each channel, or of one for all, on the scale of
/// 0 to 1. uint8 and uint16 are first divided by 255 and 65,535, as `to_float` does, so
/// `to_float` may come before it or not. Bit-identical to torchvision's `ToTensor` and
/// `Normalize`: the three operations are done one after the other in float32.
///
/// Takes pictures, HWC or CHW, and makes float32 of the same shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct Normalize {
    parameters: Parameters,
    channels: Vec<Channel>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// One channel's numbers, and what they make of each of the 256 values of a uint8.
#[derive(Clone)]
struct Channel {
    mean: f32,
    std: f32,
    of_byte: [f32; 256],
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.mean, self.std)
    }
}

impl Channel {
    fn new(mean: f32, std: f32) -> Channel {
        let mut channel = Channel { mean, std, of_byte: [0.0; 256] };
        for (byte, value) in channel.of_byte.iter_mut().enumerate() {
            *value = (byte as f32 / 255.0 - mean) / std;
        }
        channel
    }

    fn of_float(&self, x: f32) -> f32 {
        (x - self.mean) / self.std
    }

    fn of_word(&self, x: u16) -> f32 {
        self.of_float(f32::from(x) / 65_535.0)
    }
}

/// What the lists must be like.
struct WrongLists(&'static str);

impl fmt::Display for WrongLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl TryFrom<Parameters> for Normalize {
    type Error = WrongLists;

    fn try_from(parameters: Parameters) -> Result<Normalize, WrongLists> {
        let (means, stds) = (&parameters.mean, &parameters.std);
        let count = means.len().max(stds.len());
        let fits = |list: &[f64]| list.len() == count || list.len() == 1;
        if count == 0 || count > MOST_CHANNELS || !fits(means) || !fits(stds) {
            return Err(WrongLists(
                "mean and std must be lists of one number, or of one for each channel",
            ));
        }
        let narrowed = |list: &[f64]| list.iter().map(|x| *x as f32).collect::<Vec<_>>();
        let (means, stds) = (narrowed(means), narrowed(stds));
        if !means.iter().chain(&stds).all(|x| x.is_finite()) || stds.contains(&0.0) {
            return Err(WrongLists("mean and std must be finite and std not 0, in float32"));
        }
        let at = |list: &[f32], n: usize| list[n.min(list.len() - 1)];
        let channels = (0..count).map(|n| Channel::new(at(&means, n), at(&stds, n))).collect();
        Ok(Normalize { parameters, channels })
    }
}

/// More channels than any picture that we know of, and few enough to keep their tables.
const MOST_CHANNELS: usize = 1024;

impl From<Normalize> for Parameters {
    fn from(normalize: Normalize) -> Parameters {
        normalize.parameters
    }
}

impl Named for Normalize {
    const NAME: &'static str = "normalize";
}

impl Map for Normalize {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let mut picture = Picture::of(input)?;
        if !matches!(picture.dtype, Dtype::Uint8 | Dtype::Uint16 | Dtype::Float32) {
            let wanted = "uint8, uint16 or float32";
            return Err(wrong_dtype(wanted, picture.dtype, "put `cast` before it"));
        }
        let count = self.channels.len();
        if count > 1 {
            if picture.channels.exact().is_some_and(|channels| channels != count) {
                return Err(Unfit(format!("has numbers for {count} channels, but gets {input}")));
            }
            picture.channels = Dim::Is(count);
        }
        picture.dtype = Dtype::Float32;
        Ok(picture.spec())
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        self.spec(input).is_ok().then(|| vec![Part::Values])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, count) = picture.picture().unwrap_or_default();
        let run = match picture.layout() {
            Layout::Chw => height * width,
            Layout::Hwc | Layout::Plain => 1,
        };
        let mut made = array_for(&output)?;
        let target = made.elements_mut::<f32>().unwrap_or_default();
        if let Some(source) = picture.elements::<u8>() {
            self.each(source, target, count, run, |c, x| c.of_byte[usize::from(x)]);
        } else if let Some(source) = picture.elements::<u16>() {
            self.each(source, target, count, run, Channel::of_word);
        } else if let Some(source) = picture.elements::<f32>() {
            self.each(source, target, count, run, Channel::of_float);
        }
        Ok(Sample::Array(made))
    }
}

impl Normalize {
    /// Does every element; a channel's come in runs of `run`.
    fn each<T: Copy>(
        &self,
        source: &[T],
        target: &mut [f32],
        count: usize,
        run: usize,
        one: impl Fn(&Channel, T) -> f32,
    ) {
        if let ([first, second, third], 3, 1) = (self.channels.as_slice(), count, run) {
            let pixels = source.as_chunks::<3>().0.iter().zip(target.as_chunks_mut::<3>().0);
            for ([r, g, b], out) in pixels {
                *out = [one(first, *r), one(second, *g), one(third, *b)];
            }
            return;
        }
        let channels = self.channels.iter().cycle();
        let runs = source.chunks_exact(run).zip(target.chunks_exact_mut(run));
        for ((source, target), channel) in runs.zip(channels) {
            for (out, element) in target.iter_mut().zip(source) {
                *out = one(channel, *element);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Array, Buffer};

    fn step(text: &str) -> Normalize {
        serde_json::from_str(text).unwrap()
    }

    fn floats(layout: Layout, shape: &[usize], bytes: &[u8], step: &Normalize) -> Vec<f32> {
        let data = Buffer::copy_of(bytes);
        let picture = Array::from_parts(Dtype::Uint8, layout, shape, data).unwrap();
        let Sample::Array(made) = step.map(Sample::Array(picture)).unwrap() else { panic!() };
        made.elements::<f32>().unwrap().to_vec()
    }

    #[test]
    fn channels_get_their_own_numbers_in_either_order() {
        let step = step(r#"{"mean": [0, 0.5, 1], "std": [1, 0.5, 0.25]}"#);
        let hwc = floats(Layout::Hwc, &[1, 2, 3], &[255, 255, 255, 0, 0, 0], &step);
        assert_eq!(hwc, [1.0, 1.0, 0.0, 0.0, -1.0, -4.0]);
        let chw = floats(Layout::Chw, &[3, 1, 2], &[255, 0, 255, 0, 255, 0], &step);
        assert_eq!(chw, [1.0, 0.0, 1.0, -1.0, 0.0, -4.0]);
    }

    #[test]
    fn one_number_is_for_all_channels_and_bytes_are_as_floats() {
        let step = step(r#"{"mean": [0.485], "std": [0.229]}"#);
        let bytes: Vec<u8> = (0..=255).collect();
        let made = floats(Layout::Hwc, &[64, 2, 2], &bytes, &step);
        for (byte, value) in bytes.iter().zip(made) {
            assert_eq!(value, (f32::from(*byte) / 255.0 - 0.485) / 0.229);
        }
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        for wrong in [
            r#"{"mean": [], "std": []}"#,
            r#"{"mean": [1, 2], "std": [1, 2, 3]}"#,
            r#"{"mean": [0], "std": [0]}"#,
            r#"{"mean": [0], "std": [1e-60]}"#,
            r#"{"mean": [1e60], "std": [1]}"#,
        ] {
            assert!(serde_json::from_str::<Normalize>(wrong).is_err(), "{wrong}");
        }
        let text = serde_json::to_string(&step(r#"{"std": [1], "mean": [0.5]}"#)).unwrap();
        assert_eq!(text, r#"{"mean":[0.5],"std":[1.0]}"#);
    }
}
