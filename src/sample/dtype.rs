//! The types of an array's elements, by their NumPy names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of an array's elements. The serde and displayed names are NumPy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 8-bit unsigned.
    Uint8,
    /// 16-bit unsigned.
    Uint16,
    /// 16-bit signed.
    Int16,
    /// 32-bit signed.
    Int32,
    /// 64-bit signed.
    Int64,
    /// IEEE half precision.
    Float16,
    /// IEEE single precision.
    Float32,
    /// IEEE double precision.
    Float64,
}

impl Dtype {
    /// All of them, in the order of their wire numbers.
    pub const ALL: [Dtype; 8] = [
        Dtype::Uint8,
        Dtype::Uint16,
        Dtype::Int16,
        Dtype::Int32,
        Dtype::Int64,
        Dtype::Float16,
        Dtype::Float32,
        Dtype::Float64,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::Uint8 => 1,
            Dtype::Uint16 | Dtype::Int16 | Dtype::Float16 => 2,
            Dtype::Int32 | Dtype::Float32 => 4,
            Dtype::Int64 | Dtype::Float64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::Float16 | Dtype::Float32 | Dtype::Float64)
    }

    /// The type string of NumPy's array interface, always little-endian: `|u1`, `<f4`, …
    pub const fn numpy(self) -> &'static str {
        match self {
            Dtype::Uint8 => "|u1",
            Dtype::Uint16 => "<u2",
            Dtype::Int16 => "<i2",
            Dtype::Int32 => "<i4",
            Dtype::Int64 => "<i8",
            Dtype::Float16 => "<f2",
            Dtype::Float32 => "<f4",
            Dtype::Float64 => "<f8",
        }
    }

    /// NumPy's name: `uint8`, `float32`, …
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Uint8 => "uint8",
            Dtype::Uint16 => "uint16",
            Dtype::Int16 => "int16",
            Dtype::Int32 => "int32",
            Dtype::Int64 => "int64",
            Dtype::Float16 => "float16",
            Dtype::Float32 => "float32",
            Dtype::Float64 => "float64",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A Rust type that is an array's element.
pub trait Element: bytemuck::Pod + Send + Sync {
    /// Its [`Dtype`].
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident,)*) => {
        $(impl Element for $rust { const DTYPE: Dtype = Dtype::$dtype; })*
    };
}

elements! {
    u8 => Uint8,
    u16 => Uint16,
    i16 => Int16,
    i32 => Int32,
    i64 => Int64,
    half::f16 => Float16,
    f32 => Float32,
    f64 => Float64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_serde() {
        for dtype in Dtype::ALL {
            let quoted = serde_json::to_string(&dtype).unwrap();
            assert_eq!(quoted, format!("\"{}\"", dtype.name()));
            assert!(dtype.numpy().ends_with(&dtype.size().to_string()));
        }
    }
}
