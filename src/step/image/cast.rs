//! Casts: the same numbers as another type of element.
//!
//! It knows no axes and no scales: 255 stays 255.

use half::f16;
use serde::{Deserialize, Serialize};

use super::{Part, array_for, array_in, array_of};
use crate::sample::{Array, ArraySpec, Dtype, Element, Sample, Spec};
use crate::step::{Map, Named, Reach, StepError, Unfit};

/// `cast`: the elements as `dtype`, a NumPy name.
///
/// To floats: the nearest one, halves to even. To whole numbers: the fraction is cut off, and
/// what is out of range becomes the nearest end of it, NaN becoming 0. (NumPy's `astype` wraps
/// whole numbers round instead, and leaves floats out of range undefined.)
///
/// Takes any array and keeps its shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    dtype: Dtype,
}

impl Named for Cast {
    const NAME: &'static str = "cast";
}

impl Map for Cast {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let array = array_of(input, "numbers")?;
        Ok(Spec::Array(ArraySpec { dtype: self.dtype, ..array.clone() }))
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
        if array.dtype() == self.dtype {
            return Ok(Sample::Array(array));
        }
        let mut made = array_for(&output)?;
        match array.dtype() {
            Dtype::Uint8 => from::<u8>(&array, &mut made),
            Dtype::Uint16 => from::<u16>(&array, &mut made),
            Dtype::Int16 => from::<i16>(&array, &mut made),
            Dtype::Int32 => from::<i32>(&array, &mut made),
            Dtype::Int64 => from::<i64>(&array, &mut made),
            Dtype::Float16 => from::<f16>(&array, &mut made),
            Dtype::Float32 => from::<f32>(&array, &mut made),
            Dtype::Float64 => from::<f64>(&array, &mut made),
        }
        Ok(Sample::Array(made))
    }
}

fn from<T: Number>(array: &Array, made: &mut Array) {
    let source = array.elements::<T>().unwrap_or_default();
    match made.dtype() {
        Dtype::Uint8 => each::<T, u8>(source, made),
        Dtype::Uint16 => each::<T, u16>(source, made),
        Dtype::Int16 => each::<T, i16>(source, made),
        Dtype::Int32 => each::<T, i32>(source, made),
        Dtype::Int64 => each::<T, i64>(source, made),
        Dtype::Float16 => each::<T, f16>(source, made),
        Dtype::Float32 => each::<T, f32>(source, made),
        Dtype::Float64 => each::<T, f64>(source, made),
    }
}

fn each<T: Number, U: Number>(source: &[T], made: &mut Array) {
    let target = made.elements_mut::<U>().unwrap_or_default();
    for (out, element) in target.iter_mut().zip(source) {
        *out = match element.widened() {
            Wide::Whole(n) => U::of_whole(n),
            Wide::Float(x) => U::of_float(x),
        };
    }
}

/// A number without loss: every whole type fits an i64, every float a double.
enum Wide {
    Whole(i64),
    Float(f64),
}

trait Number: Element {
    fn widened(self) -> Wide;
    fn of_whole(n: i64) -> Self;
    fn of_float(x: f64) -> Self;
}

macro_rules! whole {
    ($($number:ty)*) => {$(
        impl Number for $number {
            #[inline(always)]
            fn widened(self) -> Wide {
                Wide::Whole(i64::from(self))
            }

            #[inline(always)]
            fn of_whole(n: i64) -> Self {
                n.clamp(i64::from(Self::MIN), i64::from(Self::MAX)) as Self
            }

            #[inline(always)]
            fn of_float(x: f64) -> Self {
                x as Self
            }
        }
    )*};
}

whole!(u8 u16 i16 i32 i64);

macro_rules! float {
    ($($number:ty, $whole:expr, $float:expr;)*) => {$(
        impl Number for $number {
            #[inline(always)]
            fn widened(self) -> Wide {
                Wide::Float(f64::from(self))
            }

            #[inline(always)]
            fn of_whole(n: i64) -> Self {
                $whole(n)
            }

            #[inline(always)]
            fn of_float(x: f64) -> Self {
                $float(x)
            }
        }
    )*};
}

// Whole numbers of more than 53 bits are far beyond the largest half, 65,504: going through a
// double rounds none of them to another half.
float! {
    f16, |n: i64| f16::from_f64(n as f64), f16::from_f64;
    f32, |n: i64| n as f32, |x: f64| x as f32;
    f64, |n: i64| n as f64, |x: f64| x;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Layout;

    fn cast<T: Element, U: Element>(elements: &[T]) -> Vec<U> {
        let shape = [elements.len()];
        let mut array = Array::for_overwrite(T::DTYPE, Layout::Plain, &shape).unwrap();
        array.elements_mut().unwrap().copy_from_slice(elements);
        let step = Cast { dtype: U::DTYPE };
        let Sample::Array(made) = step.map(Sample::Array(array)).unwrap() else { panic!() };
        made.elements::<U>().unwrap().to_vec()
    }

    #[test]
    fn numbers_out_of_range_stay_at_its_end() {
        let floats = [-1.5_f32, 1.9, 255.9, 1e30, f32::NAN, f32::NEG_INFINITY];
        assert_eq!(cast::<_, u8>(&floats), [0, 1, 255, 255, 0, 0]);
        assert_eq!(cast::<_, i64>(&floats), [-1, 1, 255, i64::MAX, 0, i64::MIN]);
        assert_eq!(cast::<_, u8>(&[-1_i64, 256, 7]), [0, 255, 7]);
        assert_eq!(cast::<_, i16>(&[65_535_u16]), [i16::MAX]);
    }

    #[test]
    fn floats_are_the_nearest() {
        assert_eq!(
            cast::<_, f32>(&[i64::MAX, 16_777_217]),
            [9_223_372_036_854_775_807.0, 16_777_216.0]
        );
        assert_eq!(
            cast::<_, f16>(&[2049_i32, 2051, 70_000]),
            [2048.0, 2052.0, f32::INFINITY].map(f16::from_f32)
        );
        assert_eq!(cast::<_, f64>(&[f16::from_f32(0.1)]), [0.0999755859375]);
    }
}
