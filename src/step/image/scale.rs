//! Elements brought to a range: whole numbers to 0 to 1, or 0 to 255 to −1 to 1.
//!
//! It knows no axes: any array can be scaled.

use serde::{Deserialize, Serialize};

use super::compat::either_pillow;
use super::{Compat, Part, array_for, array_in, array_of, wrong_dtype};
use crate::sample::{Array, ArraySpec, Dtype, Element, Sample, Spec};
use crate::step::{Map, Named, Reach, StepError, Unfit};

/// `to_float`: float32 from 0 to 1.
///
/// uint8 is divided by 255, as torchvision's `ToTensor` does, and uint16 by 65,535, in float32;
/// float32 is kept as it is, whatever its range. Axes stay where they are: `to_chw` moves them.
///
/// With `compat = "tensorflow"`, whole numbers are multiplied by the float32 nearest to 1/255 or
/// 1/65,535, as `tf.image.convert_image_dtype` does: up to one unit in the last place away.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToFloat {
    #[serde(
        default,
        deserialize_with = "either_pillow",
        skip_serializing_if = "Compat::is_default"
    )]
    compat: Compat,
}

/// `pixel_center`: 8-bit values moved to −1 to 1, as `x / 127.5 − 1` in float32.
///
/// Takes uint8, or float32 *on the scale of 0 to 255*: the same formula is applied to both, so
/// after `to_float` it is not what is wanted (`normalize` with mean and std 0.5 is).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PixelCenter {}

impl Named for ToFloat {
    const NAME: &'static str = "to_float";
}

impl Named for PixelCenter {
    const NAME: &'static str = "pixel_center";
}

impl Map for ToFloat {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let array = array_of(input, "numbers")?;
        match array.dtype {
            Dtype::Uint8 | Dtype::Uint16 | Dtype::Float32 => Ok(as_float(array)),
            dtype => Err(wrong_dtype("uint8, uint16 or float32", dtype, "put `cast` before it")),
        }
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        self.spec(input).is_ok().then(|| vec![Part::Values])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let array = array_in(input)?;
        let multiply = self.compat == Compat::TensorFlow;
        match array.dtype() {
            Dtype::Uint8 if multiply => each(&array, &output, |x: u8| f32::from(x) * (1.0 / 255.0)),
            Dtype::Uint16 if multiply => {
                each(&array, &output, |x: u16| f32::from(x) * (1.0 / 65_535.0))
            }
            Dtype::Uint8 => each(&array, &output, |x: u8| f32::from(x) / 255.0),
            Dtype::Uint16 => each(&array, &output, |x: u16| f32::from(x) / 65_535.0),
            _ => Ok(Sample::Array(array)),
        }
    }
}

impl Map for PixelCenter {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let array = array_of(input, "numbers")?;
        match array.dtype {
            Dtype::Uint8 | Dtype::Float32 => Ok(as_float(array)),
            dtype => Err(wrong_dtype("uint8 or float32", dtype, "put `cast` before it")),
        }
    }

    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Pixel
    }

    fn parts(&self, input: &Spec) -> Option<Vec<Part>> {
        self.spec(input).is_ok().then(|| vec![Part::Values])
    }

    fn map(&self, input: Sample) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let array = array_in(input)?;
        match array.dtype() {
            Dtype::Uint8 => each(&array, &output, |x: u8| f32::from(x) / 127.5 - 1.0),
            _ => each(&array, &output, |x: f32| x / 127.5 - 1.0),
        }
    }
}

fn as_float(array: &ArraySpec) -> Spec {
    Spec::Array(ArraySpec { dtype: Dtype::Float32, ..array.clone() })
}

fn each<T: Element>(
    array: &Array,
    output: &Spec,
    scale: impl Fn(T) -> f32,
) -> Result<Sample, StepError> {
    let mut made = array_for(output)?;
    let source = array.elements::<T>().unwrap_or_default();
    let target = made.elements_mut::<f32>().unwrap_or_default();
    for (out, element) in target.iter_mut().zip(source) {
        *out = scale(*element);
    }
    Ok(Sample::Array(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Layout;

    fn array<T: Element>(elements: &[T]) -> Sample {
        let shape = [elements.len()];
        let mut array = Array::for_overwrite(T::DTYPE, Layout::Plain, &shape).unwrap();
        array.elements_mut().unwrap().copy_from_slice(elements);
        Sample::Array(array)
    }

    #[test]
    fn ends_of_the_range_are_exact() {
        let float = ToFloat { compat: Compat::Pillow13 };
        assert_eq!(
            float.map(array(&[0_u8, 51, 255])).unwrap(),
            array(&[0.0_f32, 51.0 / 255.0, 1.0])
        );
        assert_eq!(float.map(array(&[0_u16, 65_535])).unwrap(), array(&[0.0_f32, 1.0]));
        assert_eq!(float.map(array(&[7.5_f32])).unwrap(), array(&[7.5_f32]));
        let center = PixelCenter {};
        assert_eq!(center.map(array(&[0_u8, 255])).unwrap(), array(&[-1.0_f32, 1.0]));
        assert_eq!(center.map(array(&[127.5_f32])).unwrap(), array(&[0.0_f32]));
    }

    #[test]
    fn other_types_are_refused_with_a_hint() {
        let error =
            ToFloat { compat: Compat::Pillow13 }.map(array(&[1_i64])).unwrap_err().to_string();
        assert!(error.contains("but gets int64: put `cast`"), "{error}");
        assert!(PixelCenter {}.map(array(&[1_u16])).is_err());
    }
}
