//! The random steps that choose operations and magnitudes: AutoAugment, RandAugment and
//! TrivialAugment.
//!
//! They draw; the operations are the business of `operation`, the magnitudes that of `space`.

use serde::{Deserialize, Serialize};

use super::affine::{Interpolation, Look};
use super::parameters::Fill;
use super::policy::Policy;
use super::space::{Bin, CHOICES, NARROW, WIDE};
use super::{Operation, photo};
use crate::draw::Draw;
use crate::sample::{Array, Sample, Spec};
use crate::step::image::array_in;
use crate::step::image::size::OutOfRange;
use crate::step::{Named, RandomMap, StepError, Unfit};

/// `rand_augment`: `num_ops` (default 2) random operations one after the other, all of the same
/// `magnitude` (default 9, counted from 0, of `num_magnitude_bins`, default 31).
///
/// As torchvision's `RandAugment`, of Cubuk et al., "RandAugment: Practical automated data
/// augmentation with a reduced search space" (2019), with the same operations and magnitudes.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. Order of draws, for each
/// operation: which of the 14; for those with two directions, which.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "RandParameters", into = "RandParameters")]
pub struct RandAugment {
    num_ops: usize,
    magnitude: Bin,
    look: Look,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RandParameters {
    #[serde(default = "two")]
    num_ops: i64,
    #[serde(default = "nine")]
    magnitude: i64,
    #[serde(default = "thirty_one")]
    num_magnitude_bins: i64,
    #[serde(default)]
    interpolation: Interpolation,
    #[serde(default)]
    fill: Fill,
}

fn two() -> i64 {
    2
}

fn nine() -> i64 {
    9
}

fn thirty_one() -> i64 {
    31
}

/// A number of magnitudes, checked.
fn bins(n: i64) -> Result<usize, OutOfRange> {
    match n {
        2..=10_000 => Ok(n as usize),
        _ => Err(OutOfRange("num_magnitude_bins must be a whole number from 2 to 10000")),
    }
}

impl TryFrom<RandParameters> for RandAugment {
    type Error = OutOfRange;

    fn try_from(parameters: RandParameters) -> Result<RandAugment, OutOfRange> {
        let RandParameters { num_ops, magnitude, num_magnitude_bins, interpolation, fill } =
            parameters;
        if !(1..=100).contains(&num_ops) {
            return Err(OutOfRange("num_ops must be a whole number from 1 to 100"));
        }
        let of = bins(num_magnitude_bins)?;
        if !(0..num_magnitude_bins).contains(&magnitude) {
            return Err(OutOfRange(
                "magnitude must be a whole number from 0 to num_magnitude_bins - 1",
            ));
        }
        Ok(RandAugment {
            num_ops: num_ops as usize,
            magnitude: Bin { index: magnitude as usize, of },
            look: Look { interpolation, fill },
        })
    }
}

impl From<RandAugment> for RandParameters {
    fn from(step: RandAugment) -> RandParameters {
        RandParameters {
            num_ops: step.num_ops as i64,
            magnitude: step.magnitude.index as i64,
            num_magnitude_bins: step.magnitude.of as i64,
            interpolation: step.look.interpolation,
            fill: step.look.fill,
        }
    }
}

/// A magnitude in one of two directions, by one draw: 1 is the other one.
fn either(magnitude: f64, draw: &mut Draw) -> f64 {
    if draw.below(2) == 1 { -magnitude } else { magnitude }
}

impl RandAugment {
    fn choose(&self, size: [usize; 2], draw: &mut Draw) -> Operation {
        let name = CHOICES[draw.below(CHOICES.len() as u64) as usize];
        let magnitude = NARROW.magnitude(name, self.magnitude, size);
        name.with(if name.is_signed() { either(magnitude, draw) } else { magnitude })
    }
}

impl Named for RandAugment {
    const NAME: &'static str = "rand_augment";
}

impl RandomMap for RandAugment {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        unchanged(input, &self.look)
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let mut picture = array_in(input)?;
        for _ in 0..self.num_ops {
            picture = self.choose(size(&picture), draw).apply(picture, &self.look)?;
        }
        Ok(Sample::Array(picture))
    }
}

/// `trivial_augment_wide`: one random operation of a random magnitude, one of `num_magnitude_bins`
/// (default 31).
///
/// As torchvision's `TrivialAugmentWide`, of Müller and Hutter, "TrivialAugment: Tuning-free Yet
/// State-of-the-Art Data Augmentation" (ICCV 2021), with the same operations and magnitudes.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. Order of draws: which of the
/// 14 operations; for those that have one, the magnitude; for those with two directions, which.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrivialAugmentWide {
    #[serde(default)]
    num_magnitude_bins: Bins,
    #[serde(default)]
    interpolation: Interpolation,
    #[serde(default)]
    fill: Fill,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
struct Bins(usize);

impl Default for Bins {
    fn default() -> Bins {
        Bins(31)
    }
}

impl TryFrom<i64> for Bins {
    type Error = OutOfRange;

    fn try_from(n: i64) -> Result<Bins, OutOfRange> {
        bins(n).map(Bins)
    }
}

impl From<Bins> for i64 {
    fn from(bins: Bins) -> i64 {
        bins.0 as i64
    }
}

impl TrivialAugmentWide {
    fn choose(&self, size: [usize; 2], draw: &mut Draw) -> Operation {
        let name = CHOICES[draw.below(CHOICES.len() as u64) as usize];
        if !name.has_magnitude() {
            return name.with(0.0);
        }
        let of = self.num_magnitude_bins.0;
        let bin = Bin { index: draw.below(of as u64) as usize, of };
        let magnitude = WIDE.magnitude(name, bin, size);
        name.with(if name.is_signed() { either(magnitude, draw) } else { magnitude })
    }
}

impl Named for TrivialAugmentWide {
    const NAME: &'static str = "trivial_augment_wide";
}

impl RandomMap for TrivialAugmentWide {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        unchanged(input, &look)
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        self.choose(size(&picture), draw).apply(picture, &look).map(Sample::Array)
    }
}

/// `auto_augment`: one of 25 pairs of operations that were found to be good for a data set,
/// `policy` = `imagenet` (default), `cifar10` or `svhn`.
///
/// As torchvision's `AutoAugment`, of Cubuk et al., "AutoAugment: Learning Augmentation Strategies
/// from Data" (CVPR 2019), with the same operations, probabilities and magnitudes.
///
/// Takes uint8 pictures of 1 or 3 channels, HWC, and keeps their spec. Order of draws, always all:
/// which of the 25; a number from 0 to 1 for each operation, done if it is not above its probability;
/// one of two directions for each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoAugment {
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    interpolation: Interpolation,
    #[serde(default)]
    fill: Fill,
}

/// The number of magnitudes in AutoAugment's policies.
const AUTO_BINS: usize = 10;

impl AutoAugment {
    /// Up to two operations, in order.
    fn choose(&self, size: [usize; 2], draw: &mut Draw) -> [Option<Operation>; 2] {
        let pair = &self.policy.pairs()[draw.below(25) as usize];
        let chances = pair.map(|_| draw.unit());
        let negative = pair.map(|_| draw.below(2) == 0);
        std::array::from_fn(|n| {
            let (name, p, index) = pair[n];
            let magnitude = NARROW.magnitude(name, Bin { index, of: AUTO_BINS }, size);
            let signed = if name.is_signed() && negative[n] { -magnitude } else { magnitude };
            (chances[n] <= p).then(|| name.with(signed))
        })
    }
}

impl Named for AutoAugment {
    const NAME: &'static str = "auto_augment";
}

impl RandomMap for AutoAugment {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        unchanged(input, &look)
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        self.spec(&input.spec())?;
        let mut picture = array_in(input)?;
        let look = Look { interpolation: self.interpolation, fill: self.fill.clone() };
        for operation in self.choose(size(&picture), draw).into_iter().flatten() {
            picture = operation.apply(picture, &look)?;
        }
        Ok(Sample::Array(picture))
    }
}

/// The spec, if pictures of it can be augmented.
fn unchanged(input: &Spec, look: &Look) -> Result<Spec, Unfit> {
    let picture = photo(input)?;
    look.fill.check(picture.channels)?;
    Ok(picture.spec())
}

/// Height and width.
fn size(picture: &Array) -> [usize; 2] {
    let (height, width, _) = picture.picture().unwrap_or_default();
    [height, width]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked() {
        let wrong = [
            (r#"{"num_ops": 0}"#, "num_ops must be"),
            (r#"{"magnitude": 31}"#, "from 0 to num_magnitude_bins - 1"),
            (r#"{"num_magnitude_bins": 1}"#, "from 2 to 10000"),
            (r#"{"fill": 300}"#, "from 0 to 255"),
        ];
        for (text, said) in wrong {
            let error = serde_json::from_str::<RandAugment>(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn every_operation_is_chosen_in_both_directions() {
        let step: TrivialAugmentWide = serde_json::from_str("{}").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for epoch in 0..2000 {
            let chosen = step.choose([224, 224], &mut Draw::new(0, epoch, b"", 1));
            let text = format!("{chosen:?}");
            let kind = text.split('(').next().unwrap().to_owned();
            seen.insert((kind, text.contains('-')));
        }
        // Four operations move in both directions, one turns; factors are never negative.
        assert_eq!(seen.len(), 14 + 5);
    }

    #[test]
    fn a_policy_is_done_as_likely_as_it_says() {
        let step: AutoAugment = serde_json::from_str(r#"{"policy": "svhn"}"#).unwrap();
        let wanted: f64 =
            step.policy.pairs().iter().flatten().map(|(_, p, _)| p).sum::<f64>() / 25.0;
        let done: usize = (0..5000)
            .map(|epoch| step.choose([9, 9], &mut Draw::new(0, epoch, b"", 1)))
            .map(|chosen| chosen.iter().flatten().count())
            .sum();
        assert!((done as f64 / 5000.0 - wanted).abs() < 0.05, "{done} {wanted}");
    }
}
