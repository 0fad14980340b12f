//! Whose pixels a step makes, where libraries differ.
//!
//! It knows the names; what each is like is the steps' own business.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::step::Unfit;

/// The library whose result a step makes bit for bit.
///
/// It is among a step's parameters, hence in the cache's key, but written down only where it isn't
/// the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Compat {
    /// Pillow 13 and torchvision on its pictures.
    #[default]
    #[serde(rename = "pillow-13")]
    Pillow13,
    /// Pillow 12 and older: a resize goes along rows first, whatever the sizes.
    #[serde(rename = "pillow-12")]
    Pillow12,
    /// `tf.io.decode_image` and `tf.image` of TensorFlow 2, as a `tf.data` pipeline runs them.
    #[serde(rename = "tensorflow")]
    TensorFlow,
}

impl Compat {
    /// The steps that have `compat` among their parameters: those for which it makes a difference.
    pub const STEPS: &[&str] =
        &["decode_image", "resize", "random_resized_crop", "grayscale", "to_float"];

    /// For `skip_serializing_if`: keys of what was cached before there was a choice stay the same.
    pub(super) fn is_default(&self) -> bool {
        *self == Compat::default()
    }

    /// That the library has nothing like what was asked for, for `why`.
    pub(super) fn cannot(self, what: &str, why: &str) -> Unfit {
        Unfit(format!("can't do {what} with compat = \"{self}\": {why}"))
    }
}

/// For steps that both Pillows do alike: one key for both.
pub(super) fn either_pillow<'de, D: Deserializer<'de>>(read: D) -> Result<Compat, D::Error> {
    Ok(match Compat::deserialize(read)? {
        Compat::Pillow12 => Compat::Pillow13,
        compat => compat,
    })
}

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compat::Pillow13 => "pillow-13",
            Compat::Pillow12 => "pillow-12",
            Compat::TensorFlow => "tensorflow",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_serde() {
        for compat in [Compat::Pillow13, Compat::Pillow12, Compat::TensorFlow] {
            assert_eq!(serde_json::to_string(&compat).unwrap(), format!("\"{compat}\""));
        }
    }
}
