//! One number or a list of them, as a parameter.
//!
//! It knows no step.

use serde::{Deserialize, Serialize};

/// What a config has: a number, or a list of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or a list of numbers is needed")]
pub(super) enum Numbers {
    /// A number.
    One(f64),
    /// A list of numbers.
    Many(Vec<f64>),
}

impl Numbers {
    /// All of them.
    pub(super) fn as_slice(&self) -> &[f64] {
        match self {
            Numbers::One(n) => std::slice::from_ref(n),
            Numbers::Many(list) => list,
        }
    }
}
