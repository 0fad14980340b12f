//! The random crop of random size and shape that is resized to one size: what most networks on
//! pictures are trained with.
//!
//! It knows how to choose the rectangle; the pixels are the resampler's business.

use serde::{Deserialize, Serialize};

use super::fusion::small_picture;
use super::resample::{Source, resample};
use super::resize::resizable;
use super::size::OutOfRange;
use super::{Compat, Filter, Part, Size, Window, array_in};
use crate::draw::Draw;
use crate::sample::{Sample, Spec};
use crate::step::{Named, RandomMap, StepError, Unfit};

/// `random_resized_crop`: a random rectangle of the picture, resized to `size`.
///
/// As torchvision's `RandomResizedCrop`: up to ten times, the rectangle's area is drawn as a part
/// of the picture's, uniformly from `scale` (default 0.08 to 1), and its width / height
/// log-uniformly from `ratio` (default 3/4 to 4/3); the first that fits is taken, else the
/// largest rectangle in the middle whose shape is within `ratio`. The crop comes before the
/// resize: no pixel outside of it has influence. `filter` is as for `resize`.
///
/// Takes and makes what `resize` with this `filter` and `compat` does.
///
/// Order of draws, for each try: area, shape, and if it fits, top row, left column. Area and
/// shape are computed in double precision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomResizedCrop {
    size: Size,
    #[serde(default)]
    scale: Scale,
    #[serde(default)]
    ratio: Ratio,
    #[serde(default)]
    filter: Filter,
    #[serde(default, skip_serializing_if = "Compat::is_default")]
    compat: Compat,
}

/// The smallest and the largest part of the picture's area.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Scale([f64; 2]);

/// The smallest and the largest width / height.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
struct Ratio([f64; 2]);

impl Default for Scale {
    fn default() -> Scale {
        Scale([0.08, 1.0])
    }
}

impl Default for Ratio {
    fn default() -> Ratio {
        Ratio([3.0 / 4.0, 4.0 / 3.0])
    }
}

impl TryFrom<[f64; 2]> for Scale {
    type Error = OutOfRange;

    fn try_from([low, high]: [f64; 2]) -> Result<Scale, OutOfRange> {
        if low > 0.0 && low <= high && high <= 1.0 {
            return Ok(Scale([low, high]));
        }
        Err(OutOfRange("scale must be two numbers above 0 and up to 1, the smaller first"))
    }
}

impl TryFrom<[f64; 2]> for Ratio {
    type Error = OutOfRange;

    fn try_from([low, high]: [f64; 2]) -> Result<Ratio, OutOfRange> {
        if low >= 0.001 && low <= high && high <= 1000.0 {
            return Ok(Ratio([low, high]));
        }
        Err(OutOfRange("ratio must be two numbers from 0.001 to 1000, the smaller first"))
    }
}

impl From<Scale> for [f64; 2] {
    fn from(scale: Scale) -> [f64; 2] {
        scale.0
    }
}

impl From<Ratio> for [f64; 2] {
    fn from(ratio: Ratio) -> [f64; 2] {
        ratio.0
    }
}

/// Rectangles tried before the one in the middle is taken; torchvision's number.
const TRIES: usize = 10;

impl RandomResizedCrop {
    fn choose(&self, height: usize, width: usize, draw: &mut Draw) -> Window {
        let area = height as f64 * width as f64;
        let Scale([smallest, largest]) = self.scale;
        let Ratio([narrowest, widest]) = self.ratio;
        for _ in 0..TRIES {
            let wanted = area * draw.uniform(smallest, largest);
            let shape = draw.uniform(narrowest.ln(), widest.ln()).exp();
            let w = (wanted * shape).sqrt().round_ties_even() as usize;
            let h = (wanted / shape).sqrt().round_ties_even() as usize;
            if (1..=width).contains(&w) && (1..=height).contains(&h) {
                let top = draw.below((height - h) as u64 + 1) as usize;
                let left = draw.below((width - w) as u64 + 1) as usize;
                return Window { rows: top..top + h, columns: left..left + w };
            }
        }
        let shape = width as f64 / height as f64;
        let (h, w) = if shape < narrowest {
            ((width as f64 / narrowest).round_ties_even() as usize, width)
        } else if shape > widest {
            (height, (height as f64 * widest).round_ties_even() as usize)
        } else {
            (height, width)
        };
        let (h, w) = (h.clamp(1, height), w.clamp(1, width));
        let (top, left) = ((height - h) / 2, (width - w) / 2);
        Window { rows: top..top + h, columns: left..left + w }
    }
}

impl Named for RandomResizedCrop {
    const NAME: &'static str = "random_resized_crop";
}

impl RandomMap for RandomResizedCrop {
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        let mut picture = resizable(input, self.filter, self.compat)?;
        picture.height = crate::sample::Dim::Is(self.size.height.get());
        picture.width = crate::sample::Dim::Is(self.size.width.get());
        Ok(picture.spec())
    }

    fn parts(&self, input: &Spec, draw: &mut Draw) -> Option<Vec<Part>> {
        let (height, width) = small_picture(input)?;
        let size = (self.size.height.get(), self.size.width.get());
        let chosen = self.choose(height, width, draw);
        let resize = Part::Resize { size, filter: self.filter, compat: self.compat };
        (self.compat != Compat::TensorFlow).then(|| vec![Part::Crop(chosen), resize])
    }

    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError> {
        let output = self.spec(&input.spec())?;
        let picture = array_in(input)?;
        let (height, width, _) = picture.picture().unwrap_or_default();
        let chosen = self.choose(height, width, draw);
        let (height, width) = (self.size.height.get(), self.size.width.get());
        let (source, window) = (Source::cut(&picture, chosen), Window::whole(height, width));
        resample(source, (height, width), self.filter, self.compat, &window, &output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> RandomResizedCrop {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rectangles_stay_inside_and_within_their_ranges() {
        let step = step(r#"{"size": [8, 8]}"#);
        for epoch in 0..2000 {
            let mut draw = Draw::new(3, epoch, b"p", 2);
            let r = step.choose(300, 400, &mut draw);
            assert!(r.rows.end <= 300 && r.columns.end <= 400, "{r:?}");
            let part = (r.height() * r.width()) as f64 / 120_000.0;
            let shape = r.width() as f64 / r.height() as f64;
            assert!((0.078..=1.0).contains(&part) && (0.74..1.35).contains(&shape), "{r:?}");
        }
    }

    #[test]
    fn a_shape_that_never_fits_falls_back_to_the_middle() {
        let step = step(r#"{"size": [8, 8], "scale": [1, 1]}"#);
        let mut draw = Draw::new(0, 0, b"", 1);
        let narrow = step.choose(100, 10, &mut draw);
        assert_eq!(narrow, Window { rows: 43..56, columns: 0..10 });
        let wide = step.choose(10, 100, &mut draw);
        assert_eq!(wide, Window { rows: 0..10, columns: 43..56 });
        let extreme = RandomResizedCrop { ratio: Ratio([1000.0, 1000.0]), ..step };
        assert_eq!(extreme.choose(2, 1, &mut draw).height(), 1);
    }

    #[test]
    fn ranges_are_checked() {
        for wrong in [
            r#"{"size": [8, 8], "scale": [0, 1]}"#,
            r#"{"size": [8, 8], "scale": [0.5, 0.1]}"#,
            r#"{"size": [8, 8], "ratio": [0, 1]}"#,
            r#"{"size": [8, 8], "sclae": [0.5, 1]}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<RandomResizedCrop>(wrong).is_err(), "{wrong}");
        }
    }
}
