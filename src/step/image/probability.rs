//! How likely a random step acts, as a parameter.
//!
//! It knows no step.

use serde::{Deserialize, Serialize};

use super::size::OutOfRange;
use crate::draw::Draw;

/// A number from 0 to 1; 0.5 by default, as in most of torchvision.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub(super) struct Probability(f64);

impl Probability {
    /// torchvision's default of `RandomGrayscale`.
    pub(super) fn tenth() -> Probability {
        Probability(0.1)
    }

    /// Whether to act, by one number of `draw`.
    pub(super) fn hits(self, draw: &mut Draw) -> bool {
        draw.chance(self.0)
    }
}

impl Default for Probability {
    fn default() -> Probability {
        Probability(0.5)
    }
}

impl TryFrom<f64> for Probability {
    type Error = OutOfRange;

    fn try_from(p: f64) -> Result<Probability, OutOfRange> {
        if (0.0..=1.0).contains(&p) {
            return Ok(Probability(p));
        }
        Err(OutOfRange("p must be a number from 0 to 1"))
    }
}

impl From<Probability> for f64 {
    fn from(p: Probability) -> f64 {
        p.0
    }
}
