//! The random steps that turn, move, scale and shear pictures.
//!
//! They draw the angles; the pixels are the business of `affine`.

use serde::{Deserialize, Serialize};

use super::affine::{Affine, Interpolation, Look, rotate};
use super::parameters::{Degrees, Fill, Place, Range, Shear};
use super::photo;
use crate::draw::Draw;
use crate::sample::{Sample, Spec};
use crate::step::image::array_in;
use crate::step::image::size::OutOfRange;
use crate::step::{Named, RandomMap, StepError, Unfit};

/// `random_rotation`: the picture turned by a random angle of `degrees`, its size kept.
///
/// As torchvision's `RandomRotation` without `expand`: `degrees` is `d` for −d to d, or `[low,
/// high]`, counter-clockwise, round `center` (`[x, y]`, default the middle); places that nothing
/// comes to are `fill`. Whole half turns, and quarter turns of square pictures, move pixels and make
/// none, as in Pillow.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. It draws once: the angle.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomRotation {
    degrees: Degrees,
    #[serde(default)]
    interpolation: Interpolation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    center: Option<Place>,
    #[serde(default)]
    fill: Fill,
}

impl Named for RandomRotation {
    const NAME: &'static str = "random_rotation";
}

impl RandomMap for RandomRotation {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = photo(input)?;
        self.fill.check(picture.channels)?;
        Ok(picture.spec())
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let angle = self.degrees.0.draw(draw);
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        rotate(array_in(input)?, angle, self.center.map(|place| place.0), &look).map(Sample::Array)
    }
}

/// `random_affine`: the picture turned, moved, scaled and sheared at random, its size kept.
///
/// As torchvision's `RandomAffine`: `degrees` is `d` for −d to d, or `[low, high]`, clockwise;
/// `translate` is `[across, down]`, the most that the picture is moved in either direction as a part
/// of its width and height, rounded to whole pixels; `scale` is `[low, high]`; `shear` is `d`, `[low,
/// high]` or `[low, high, low, high]`, in degrees, of columns and then of rows. What isn't given isn't
/// done.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. Order of draws: the angle;
/// with `translate`, across, then down; with `scale`, that; with `shear`, columns, then, if there are
/// four numbers, rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAffine {
    degrees: Degrees,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    translate: Option<Parts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Scales>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shear: Option<Shear>,
    #[serde(default)]
    interpolation: Interpolation,
    #[serde(default)]
    fill: Fill,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    center: Option<Place>,
}

/// Parts of width and height.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Parts([f64; 2]);

/// The smallest and the largest scale.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Scales(Range);

impl TryFrom<[f64; 2]> for Parts {
    type Error = OutOfRange;

    fn try_from(parts: [f64; 2]) -> Result<Parts, OutOfRange> {
        if parts.iter().all(|part| (0.0..=1.0).contains(part)) {
            return Ok(Parts(parts));
        }
        Err(OutOfRange("translate must be two numbers from 0 to 1: [across, down]"))
    }
}

impl From<Parts> for [f64; 2] {
    fn from(parts: Parts) -> [f64; 2] {
        parts.0
    }
}

impl TryFrom<[f64; 2]> for Scales {
    type Error = OutOfRange;

    fn try_from([low, high]: [f64; 2]) -> Result<Scales, OutOfRange> {
        Range::within(low, high, 0.001, 1000.0)
            .map(Scales)
            .ok_or(OutOfRange("scale must be two numbers from 0.001 to 1000, the smaller first"))
    }
}

impl From<Scales> for [f64; 2] {
    fn from(scales: Scales) -> [f64; 2] {
        [scales.0.low, scales.0.high]
    }
}

impl Named for RandomAffine {
    const NAME: &'static str = "random_affine";
}

impl RandomAffine {
    fn choose(&self, height: usize, width: usize, draw: &mut Draw) -> Affine {
        let angle = self.degrees.0.draw(draw);
        let translate = self.translate.map_or([0.0; 2], |Parts([across, down])| {
            [across * width as f64, down * height as f64]
                .map(|most| draw.uniform(-most, most).round_ties_even())
        });
        let scale = self.scale.map_or(1.0, |scales| scales.0.draw(draw));
        let shear = self.shear.map_or([0.0; 2], |shear| {
            [shear.columns.draw(draw), shear.rows.map_or(0.0, |rows| rows.draw(draw))]
        });
        Affine { angle, translate, scale, shear, center: self.center.map(|place| place.0) }
    }
}

impl RandomMap for RandomAffine {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let picture = photo(input)?;
        self.fill.check(picture.channels)?;
        Ok(picture.spec())
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        self.choose(height, width, draw).apply(&picture, &look).map(Sample::Array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_not_drawn() {
        let step: RandomAffine =
            serde_json::from_str(r#"{"degrees": 0, "translate": [0.5, 0], "shear": [5, 5]}"#)
                .unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for epoch in 0..100 {
            let chosen = step.choose(100, 10, &mut Draw::new(0, epoch, b"", 1));
            assert_eq!((chosen.angle, chosen.scale, chosen.shear), (0.0, 1.0, [5.0, 0.0]));
            assert_eq!(chosen.translate[1], 0.0);
            seen.insert(chosen.translate[0] as i32);
        }
        assert_eq!(seen, (-5..=5).collect());
    }

    #[test]
    fn ranges_are_checked() {
        let wrong = [
            (r#"{"degrees": -1}"#, "degrees must be a number from 0"),
            (r#"{"degrees": [5, 1]}"#, "the smaller first"),
            (r#"{"degrees": "5"}"#, "a number or a list"),
            (r#"{"degrees": 0, "translate": [2, 0]}"#, "from 0 to 1"),
            (r#"{"degrees": 0, "scale": [0, 1]}"#, "from 0.001 to 1000"),
            (r#"{"degrees": 0, "shear": [90, 95]}"#, "shear must be"),
            (r#"{"degrees": 0, "shear": [1, 2, 3]}"#, "shear must be"),
            (r#"{"degrees": 0, "fill": [1, 2]}"#, "fill must be"),
            (r#"{"degrees": 0, "interpolation": "lanczos"}"#, "expected one of"),
        ];
        for (text, said) in wrong {
            let error = serde_json::from_str::<RandomAffine>(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
