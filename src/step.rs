//! What a pipeline is made of: typed functions on samples, told apart by whether they draw random
//! numbers.
//!
//! A step says what it makes of a spec before any sample is read, and does the same to a sample.
//! It knows no source, no cache, no clock, no environment and no generator but the one handed in.
//!
//! Adding a step is one file with a type that is [`Named`] and [`Map`] or [`RandomMap`], and one
//! line in the table at the end of this file.

pub mod image;

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};

use self::image::Part;
use crate::draw::Draw;
use crate::sample::{Sample, Spec, TooLarge};

/// A step's name in configs and its implementation's version.
pub trait Named: Serialize + DeserializeOwned {
    /// The name that a config uses.
    const NAME: &'static str;
    /// Raised whenever the step makes other bytes of the same input and parameters than before:
    /// what was cached by the earlier version is then not used any more.
    const VERSION: u32 = 1;
}

/// A step that always makes the same of the same input.
///
/// Promise, tested for every step: for every input that fits a spec accepted by `spec`, `map`
/// makes a sample that fits the spec it returned, or an error; and always the same one.
pub trait Map: Send + Sync + fmt::Debug {
    /// What it makes of an input of this spec. The more dimensions of the input are exact, the
    /// more of the output's are.
    ///
    /// # Errors
    /// If it can't take such an input.
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit>;

    /// Makes it.
    ///
    /// # Errors
    /// If this sample can't be made: see [`StepError`].
    fn map(&self, input: Sample) -> Result<Sample, StepError>;

    /// How far it reaches, for inputs of this spec.
    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Whole
    }

    /// What it does to a picture of this spec, told in parts that can be done together with those
    /// of its neighbours. `None` if it can't be told so, or the spec isn't exact enough.
    ///
    /// Promise, tested for every step: doing the parts makes what `map` makes, bit for bit.
    fn parts(&self, _input: &Spec) -> Option<Vec<Part>> {
        None
    }

    /// The exact spec of what `map` would make of a source file, told from its first bytes, or
    /// `None` if they don't tell. Only steps that decode raw bytes know.
    fn probe(&self, _head: &[u8]) -> Option<Spec> {
        None
    }
}

/// A step that draws random numbers: always online, and never before a fixed one in the cache.
///
/// Its promise is that of [`Map`], for each draw.
pub trait RandomMap: Send + Sync + fmt::Debug {
    /// As [`Map::spec`]; it holds for every draw.
    ///
    /// # Errors
    /// If it can't take such an input.
    fn spec(&self, input: &Spec) -> Result<Spec, Unfit>;

    /// How far it reaches, for inputs of this spec.
    fn reach(&self, _input: &Spec) -> Reach {
        Reach::Whole
    }

    /// As [`Map::parts`], with the numbers of `draw`.
    fn parts(&self, _input: &Spec, _draw: &mut Draw) -> Option<Vec<Part>> {
        None
    }

    /// Makes it, with the numbers of `draw` and no others.
    ///
    /// # Errors
    /// If this sample can't be made: see [`StepError`].
    fn random_map(&self, input: Sample, draw: &mut Draw) -> Result<Sample, StepError>;
}

/// What of a picture a step looks at and changes: it decides which steps can change places without
/// changing one bit of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Each pixel is made of the same pixel alone and stays where it is, whatever is round it.
    Pixel,
    /// Pixels are moved or left out; what stays is what it was, and which do depends on height and
    /// width alone.
    Place,
    /// Anything else.
    Whole,
}

/// Why a step can't take inputs of a spec: the words that follow "step 3 `resize`".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// Why a step couldn't make this sample. The messages name neither file nor step: who calls knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The bytes break their format's rules, or end too early.
    #[error("malformed {format}: {cause}")]
    Malformed {
        /// `JPEG`, `PNG`, …
        format: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// A legal input that we can't read.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The sample would take more memory than one may.
    #[error("limit reached: {0}")]
    Limit(String),
    /// The sample doesn't fit the step's parameters; with the way out, if there is one.
    #[error("{0}")]
    Unfit(String),
    /// The step panicked: a bug in it or in a library it uses, at the cost of one sample.
    #[error("the step panicked: {0}")]
    Panicked(String),
}

impl From<TooLarge> for StepError {
    fn from(error: TooLarge) -> StepError {
        StepError::Limit(error.to_string())
    }
}

impl From<Unfit> for StepError {
    fn from(error: Unfit) -> StepError {
        StepError::Unfit(error.0)
    }
}

/// A step as a pipeline holds it.
#[derive(Debug)]
pub struct Step {
    /// The name that a config uses.
    pub name: &'static str,
    /// The implementation's version.
    pub version: u32,
    /// All parameters, defaults included, as canonical JSON: what identifies the step beside name
    /// and version.
    pub parameters: String,
    /// What it does.
    pub kind: Kind,
}

/// The two kinds of steps.
#[derive(Debug)]
pub enum Kind {
    /// Always makes the same: may be offline.
    Fixed(Box<dyn Map>),
    /// Draws random numbers: always online.
    Random(Box<dyn RandomMap>),
}

impl Kind {
    /// What the step makes of an input of this spec.
    ///
    /// # Errors
    /// If it can't take such an input.
    pub fn spec(&self, input: &Spec) -> Result<Spec, Unfit> {
        match self {
            Kind::Fixed(map) => map.spec(input),
            Kind::Random(map) => map.spec(input),
        }
    }

    /// How far the step reaches, for inputs of this spec.
    pub fn reach(&self, input: &Spec) -> Reach {
        match self {
            Kind::Fixed(map) => map.reach(input),
            Kind::Random(map) => map.reach(input),
        }
    }
}

impl Step {
    /// A fixed step.
    pub fn fixed<S: Named + Map + 'static>(step: S) -> Step {
        Step::new::<S>(parameters_of(&step), Kind::Fixed(Box::new(step)))
    }

    /// A random step.
    pub fn random<S: Named + RandomMap + 'static>(step: S) -> Step {
        Step::new::<S>(parameters_of(&step), Kind::Random(Box::new(step)))
    }

    fn new<S: Named>(parameters: String, kind: Kind) -> Step {
        Step { name: S::NAME, version: S::VERSION, parameters, kind }
    }
}

/// A struct serialises its fields in the order of their declaration and floats in the shortest
/// form that reads back the same: equal parameters are equal text.
fn parameters_of<S: Named>(step: &S) -> String {
    serde_json::to_string(step).expect("parameters are plain numbers, words and lists")
}

/// The table of all steps: kind, type.
macro_rules! steps {
    ($($kind:ident $step:ty,)*) => {
        /// The names of all steps.
        pub const NAMES: &[&str] = &[$(<$step as Named>::NAME),*];

        /// The step of that name, its parameters read from `parameters`.
        ///
        /// # Errors
        /// The deserializer's, if the name is none of [`NAMES`] or a parameter is unknown, missing
        /// or out of its range.
        pub fn build<'de, D: Deserializer<'de>>(name: &str, parameters: D) -> Result<Step, D::Error> {
            match name {
                $(<$step as Named>::NAME => {
                    <$step as serde::Deserialize>::deserialize(parameters).map(Step::$kind)
                })*
                _ => Err(D::Error::custom(format_args!("unknown step `{name}`"))),
            }
        }
    };
}

steps! {
    fixed image::DecodeImage,
    fixed image::Resize,
    fixed image::CenterCrop,
    fixed image::Pad,
    random image::RandomCrop,
    random image::RandomResizedCrop,
    random image::RandomHorizontalFlip,
    random image::RandomVerticalFlip,
    random image::RandomRotation,
    random image::RandomAffine,
    random image::ColorJitter,
    random image::RandomGrayscale,
    random image::RandomInvert,
    random image::RandomPosterize,
    random image::RandomSolarize,
    random image::RandomEqualize,
    random image::RandomAutocontrast,
    random image::RandomAdjustSharpness,
    random image::GaussianBlur,
    random image::AutoAugment,
    random image::RandAugment,
    random image::TrivialAugmentWide,
    random image::RandomErasing,
    fixed image::Grayscale,
    fixed image::ToFloat,
    fixed image::Normalize,
    fixed image::PixelCenter,
    fixed image::Cast,
    fixed image::ToChw,
}
