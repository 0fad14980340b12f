//! Augmentation: pictures changed at random, as torchvision's transforms change Pillow pictures.
//!
//! Each operation is a function of a picture and its parameters, in a file of its own, and knows
//! no random numbers. The steps draw the parameters. [`Operation`] names the operations that
//! policies of augmentation choose from.

mod affine;
mod automatic;
mod blur;
mod enhance;
mod erase;
mod geometric;
mod histogram;
mod hue;
mod jitter;
mod operation;
mod parameters;
mod policy;
mod sometimes;
mod space;
mod table;

#[cfg(test)]
mod tests;

pub use automatic::{AutoAugment, RandAugment, TrivialAugmentWide};
pub use blur::GaussianBlur;
pub use erase::RandomErasing;
pub use geometric::{RandomAffine, RandomRotation};
pub use jitter::ColorJitter;
pub use sometimes::{
    RandomAdjustSharpness, RandomAutocontrast, RandomEqualize, RandomGrayscale, RandomInvert,
    RandomPosterize, RandomSolarize,
};

use super::{Picture, wrong_dtype};
use crate::sample::{Array, Dim, Dtype, Spec, TooLarge};
use crate::step::Unfit;
use operation::Operation;

/// The picture that a spec describes, if it can be augmented: uint8, HWC, gray or RGB.
fn photo(input: &Spec) -> Result<Picture, Unfit> {
    let picture = Picture::hwc(input)?;
    if picture.dtype != Dtype::Uint8 {
        let hint = "put it before steps that make other types, such as `normalize`";
        return Err(wrong_dtype("uint8", picture.dtype, hint));
    }
    if !matches!(picture.channels, Dim::Is(1 | 3) | Dim::Varies) {
        return Err(Unfit(format!(
            "needs 1 or 3 channels, but gets {input}: let `decode_image` make mode = \"rgb\""
        )));
    }
    Ok(picture)
}

/// An array of the same shape, to be overwritten.
fn like(picture: &Array) -> Result<Array, TooLarge> {
    Array::for_overwrite(picture.dtype(), picture.layout(), picture.shape())
}

/// The pixels of a uint8 HWC picture of `C` channels.
fn pixels<const C: usize>(picture: &Array) -> &[[u8; C]] {
    picture.elements::<u8>().unwrap_or_default().as_chunks().0
}

/// The same, to be changed.
fn pixels_mut<const C: usize>(picture: &mut Array) -> &mut [[u8; C]] {
    picture.elements_mut::<u8>().unwrap_or_default().as_chunks_mut().0
}

/// How many channels a picture has.
fn channels(picture: &Array) -> usize {
    picture.picture().unwrap_or_default().2
}
