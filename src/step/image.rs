//! Steps on pictures: from a compressed file to the array that a training loop takes.
//!
//! A picture is an array with axes: height × width × channels (HWC) as decoded, or channels ×
//! height × width (CHW) after [`ToChw`]. The reference for every pixel is Pillow 13 and
//! torchvision, bit for bit, unless `compat` names another; where we differ on purpose, the step's
//! documentation says so.
//!
//! Nothing here knows of files, caches or pipelines. What all steps share is in this file: they
//! ask a spec for its `Picture` and make the array that the spec they promised describes.

mod augment;
mod cast;
mod compat;
mod crop;
mod decode;
mod flip;
mod fusion;
mod grayscale;
mod layout;
mod normalize;
mod numbers;
mod pad;
mod paint;
mod probability;
mod processor;
mod random_resized_crop;
mod resample;
mod resize;
mod scale;
mod size;

pub use augment::{
    AutoAugment, ColorJitter, GaussianBlur, RandAugment, RandomAdjustSharpness, RandomAffine,
    RandomAutocontrast, RandomEqualize, RandomErasing, RandomGrayscale, RandomInvert,
    RandomPosterize, RandomRotation, RandomSolarize, TrivialAugmentWide,
};
pub use cast::Cast;
pub use compat::Compat;
pub use crop::{CenterCrop, RandomCrop};
pub use decode::{DecodeImage, Mode};
pub use flip::{RandomHorizontalFlip, RandomVerticalFlip};
pub use fusion::{Part, Run, Worker};
pub use grayscale::Grayscale;
pub use layout::ToChw;
pub use normalize::Normalize;
pub use pad::Pad;
pub use paint::Table;
pub use processor::missing_instructions;
pub use random_resized_crop::RandomResizedCrop;
pub use resample::Filter;
pub use resize::Resize;
pub use scale::{PixelCenter, ToFloat};
pub use size::{Side, Size, Window};

use crate::sample::{Array, ArraySpec, Dim, Dtype, Layout, Sample, Spec};
use crate::step::{StepError, Unfit};

/// A picture, as far as it is known, whichever order its axes have.
#[derive(Clone, Copy, Debug)]
struct Picture {
    dtype: Dtype,
    layout: Layout,
    height: Dim,
    width: Dim,
    channels: Dim,
}

impl Picture {
    /// The picture that a spec describes; no side is empty.
    fn of(spec: &Spec) -> Result<Picture, Unfit> {
        let array = array_of(spec, "a picture")?;
        let (height, width, channels) = match (array.layout, array.dims.as_slice()) {
            (Layout::Hwc, &[height, width, channels]) => (height, width, channels),
            (Layout::Chw, &[channels, height, width]) => (height, width, channels),
            _ => return Err(Unfit(format!("needs a picture, but gets {array} without such axes"))),
        };
        if [height, width, channels].contains(&Dim::Is(0)) {
            return Err(Unfit(format!("needs a picture, but gets an empty one: {array}")));
        }
        Ok(Picture { dtype: array.dtype, layout: array.layout, height, width, channels })
    }

    /// The same, refused if channels don't come last.
    fn hwc(spec: &Spec) -> Result<Picture, Unfit> {
        let picture = Picture::of(spec)?;
        match picture.layout {
            Layout::Hwc => Ok(picture),
            _ => Err(Unfit("needs channels last: put `to_chw` after it".to_owned())),
        }
    }

    /// The spec of this picture.
    fn spec(self) -> Spec {
        let dims = match self.layout {
            Layout::Chw => vec![self.channels, self.height, self.width],
            Layout::Hwc | Layout::Plain => vec![self.height, self.width, self.channels],
        };
        Spec::Array(ArraySpec { dtype: self.dtype, layout: self.layout, dims })
    }
}

/// The array that a spec describes, or that `what` was needed.
fn array_of<'a>(spec: &'a Spec, what: &str) -> Result<&'a ArraySpec, Unfit> {
    spec.array().ok_or_else(|| {
        Unfit(format!("needs {what}, but gets bytes: put a step that decodes, such as `decode_image`, before it"))
    })
}

/// The array in a sample that a spec was already asked for.
fn array_in(sample: Sample) -> Result<Array, StepError> {
    match sample {
        Sample::Array(array) => Ok(array),
        Sample::Bytes(_) => Err(StepError::Unfit("needs an array, but gets bytes".to_owned())),
    }
}

/// An array to be overwritten, of the shape of an exact spec.
fn array_for(spec: &Spec) -> Result<Array, StepError> {
    let array = array_of(spec, "an array")?;
    let shape = array
        .shape()
        .ok_or_else(|| StepError::Unfit(format!("cannot tell the shape of {array}")))?;
    Ok(Array::for_overwrite(array.dtype, array.layout, &shape)?)
}

/// A new array of an exact spec, its bytes written by `write`.
fn array_of_bytes(spec: &Spec, write: impl FnOnce(&mut [u8])) -> Result<Sample, StepError> {
    let array = array_for(spec)?;
    let (dtype, layout, shape) = (array.dtype(), array.layout(), array.shape().to_vec());
    let mut data = array.into_data();
    write(&mut data);
    Array::from_parts(dtype, layout, &shape, data)
        .map(Sample::Array)
        .ok_or_else(|| StepError::Unfit("an array's bytes don't fit its shape".to_owned()))
}

/// The words for an element type that a step doesn't take.
fn wrong_dtype(wanted: &str, dtype: Dtype, hint: &str) -> Unfit {
    Unfit(format!("needs {wanted}, but gets {dtype}: {hint}"))
}
