//! Colour jitter: brightness, contrast, saturation and hue changed at random, in random order.
//!
//! It draws the factors; the pixels are the business of `enhance` and `hue`.

use serde::{Deserialize, Serialize};

use super::parameters::Range;
use super::{enhance, hue, photo};
use crate::draw::Draw;
use crate::sample::{Sample, Spec};
use crate::step::image::numbers::Numbers;
use crate::step::image::size::OutOfRange;
use crate::step::image::{Picture, array_in};
use crate::step::{Named, RandomMap, Reach, StepError, Unfit};

/// `color_jitter`: brightness, contrast, saturation and hue changed by random factors, in random
/// order.
///
/// As torchvision's `ColorJitter`: `brightness`, `contrast` and `saturation` are `b` for factors from
/// `max(0, 1 − b)` to `1 + b`, or `[low, high]`; `hue` is `h` for −h to h, up to 0.5, or `[low, high]`,
/// as parts of the circle of colours. What isn't given, or can only be 1 (hue: 0), isn't done. Hue and
/// saturation of gray pictures stay.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. Order of draws: three whole
/// numbers below 4, 3 and 2, each choosing the next of what is left of brightness, contrast,
/// saturation and hue, in this order; then the factors of those that are done, in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColorJitter {
    #[serde(default)]
    brightness: Factors,
    #[serde(default)]
    contrast: Factors,
    #[serde(default)]
    saturation: Factors,
    #[serde(default)]
    hue: Turns,
}

/// Factors to draw from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
struct Factors(Range);

/// Parts of the circle of colours to draw from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Numbers", into = "Numbers")]
struct Turns(Range);

/// Larger factors make everything black or white.
const LARGEST: f64 = 1000.0;

impl Default for Factors {
    fn default() -> Factors {
        Factors(Range { low: 1.0, high: 1.0 })
    }
}

impl Default for Turns {
    fn default() -> Turns {
        Turns(Range { low: 0.0, high: 0.0 })
    }
}

impl TryFrom<Numbers> for Factors {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Factors, OutOfRange> {
        match numbers {
            Numbers::One(n) if n >= 0.0 => Range::within((1.0 - n).max(0.0), 1.0 + n, 0.0, LARGEST),
            Numbers::One(_) => None,
            Numbers::Many(list) => match list[..] {
                [low, high] => Range::within(low, high, 0.0, LARGEST),
                _ => None,
            },
        }
        .map(Factors)
        .ok_or(OutOfRange(
            "brightness, contrast and saturation must be a number from 0, or two, the smaller first",
        ))
    }
}

impl From<Factors> for Numbers {
    fn from(factors: Factors) -> Numbers {
        Numbers::Many(factors.0.numbers())
    }
}

impl TryFrom<Numbers> for Turns {
    type Error = OutOfRange;

    fn try_from(numbers: Numbers) -> Result<Turns, OutOfRange> {
        match numbers {
            Numbers::One(n) => Range::within(-n, n, -0.5, 0.5),
            Numbers::Many(list) => match list[..] {
                [low, high] => Range::within(low, high, -0.5, 0.5),
                _ => None,
            },
        }
        .map(Turns)
        .ok_or(OutOfRange(
            "hue must be a number from 0 to 0.5, or two from -0.5 to 0.5, the smaller first",
        ))
    }
}

impl From<Turns> for Numbers {
    fn from(turns: Turns) -> Numbers {
        Numbers::Many(turns.0.numbers())
    }
}

/// What is changed, and by which factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    Brightness(f64),
    Contrast(f64),
    Saturation(f64),
    Hue(f64),
}

impl Change {
    pub(super) fn apply(self, picture: &mut crate::sample::Array) {
        match self {
            Change::Brightness(factor) => enhance::brightness(picture, factor),
            Change::Contrast(factor) => enhance::contrast(picture, factor),
            Change::Saturation(factor) => enhance::saturation(picture, factor),
            Change::Hue(turn) => hue::hue(picture, turn),
        }
    }
}

impl ColorJitter {
    /// What is done, in order; a change that is off is `None`.
    fn choose(&self, draw: &mut Draw) -> [Option<Change>; 4] {
        let mut order = [0, 1, 2, 3];
        for next in 0..3 {
            // What is left keeps its order.
            let chosen = next + draw.below(4 - next as u64) as usize;
            order[next..=chosen].rotate_right(1);
        }
        let ranges = [
            (self.brightness.0, 1.0),
            (self.contrast.0, 1.0),
            (self.saturation.0, 1.0),
            (self.hue.0, 0.0),
        ];
        let factors = ranges
            .map(|(range, off)| (range != Range { low: off, high: off }).then(|| range.draw(draw)));
        let [brightness, contrast, saturation, hue] = factors;
        let changes = [
            brightness.map(Change::Brightness),
            contrast.map(Change::Contrast),
            saturation.map(Change::Saturation),
            hue.map(Change::Hue),
        ];
        order.map(|which| changes[which])
    }
}

impl Named for ColorJitter {
    const NAME: &'static str = "color_jitter";
}

impl RandomMap for ColorJitter {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        photo(input).map(Picture::spec)
    }

    fn reach(&self, _input: &Spec) -> Reach {
        // The mean that contrast starts from is one of the whole picture.
        let contrast = self.contrast.0 != Factors::default().0;
        if contrast { Reach::Whole } else { Reach::Pixel }
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let mut picture = array_in(input)?;
        for change in self.choose(draw).into_iter().flatten() {
            change.apply(&mut picture);
        }
        Ok(Sample::Array(picture))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(text: &str) -> ColorJitter {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_order_is_as_likely() {
        let step = step(r#"{"brightness": 0.1, "contrast": 0.1, "saturation": 0.1, "hue": 0.1}"#);
        let mut orders = BTreeMap::new();
        for epoch in 0..4800 {
            let chosen = step.choose(&mut Draw::new(0, epoch, b"", 1));
            let order = chosen.map(|change| match change.unwrap() {
                Change::Brightness(_) => 'b',
                Change::Contrast(_) => 'c',
                Change::Saturation(_) => 's',
                Change::Hue(_) => 'h',
            });
            *orders.entry(order).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 24);
        assert!(orders.values().all(|count| (140..260).contains(count)), "{orders:?}");
    }

    #[test]
    fn numbers_are_read_as_torchvision_reads_them() {
        let read = step(r#"{"brightness": 1.5, "contrast": [0.5, 0.5], "hue": 0.25}"#);
        assert_eq!(read.brightness.0, Range { low: 0.0, high: 2.5 });
        assert_eq!(read.hue.0, Range { low: -0.25, high: 0.25 });
        let chosen: Vec<_> =
            read.choose(&mut Draw::new(0, 0, b"", 1)).into_iter().flatten().collect();
        assert_eq!(chosen.len(), 3);
        assert!(chosen.contains(&Change::Contrast(0.5)));
        for wrong in [
            r#"{"brightness": -1}"#,
            r#"{"contrast": [2, 1]}"#,
            r#"{"saturation": [-1, 1]}"#,
            r#"{"hue": 0.6}"#,
            r#"{"hue": [0.1]}"#,
        ] {
            assert!(serde_json::from_str::<ColorJitter>(wrong).is_err(), "{wrong}");
        }
    }
}
