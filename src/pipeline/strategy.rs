//! Where a pipeline is cut and how the part before the cut is kept.

use std::fmt;

use super::Pipeline;
use crate::sample::Codec;

/// Where a pipeline is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Nothing is kept: every read starts at the source.
    None,
    /// The result of the first so many steps is kept; 0 keeps the raw bytes, packed.
    After(usize),
}

impl Split {
    /// The word for [`Split::None`].
    pub const NONE: &str = "none";
    /// The word for `Split::After(0)`.
    pub const SOURCE: &str = "source";

    /// How many steps are offline.
    pub fn offline(self) -> usize {
        match self {
            Split::None => 0,
            Split::After(steps) => steps,
        }
    }
}

/// Where a pipeline is cut and how the part before the cut is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// Where it is cut.
    pub split: Split,
    /// How the results of the offline steps are compressed.
    pub codec: Codec,
}

impl Strategy {
    /// Nothing is kept.
    pub const NONE: Strategy = Strategy { split: Split::None, codec: Codec::None };
}

/// A split that the pipeline doesn't have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSplit {
    /// No step of that name or number.
    #[error("no step `{name}` to split after; there are {there}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What can be asked for.
        there: String,
    },
    /// Several steps of that name.
    #[error("`{name}` is the name of several steps: split by number, {numbers}")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The steps that it could be.
        numbers: String,
    },
    /// The step is random or comes after one that is.
    #[error("{}", random(*.number, .name, *.first))]
    Random {
        /// The step asked for.
        number: usize,
        /// Its name.
        name: &'static str,
        /// The first random step.
        first: usize,
    },
}

fn random(number: usize, name: &str, first: usize) -> String {
    if number == first {
        format!(
            "step {number} `{name}` draws random numbers: kept, every epoch would see the same draw"
        )
    } else {
        format!("step {number} `{name}` comes after step {first}, which draws random numbers")
    }
}

impl Pipeline {
    /// The split after the step of that name or number (counted from 1), or one of the words
    /// `none` and `source`.
    ///
    /// # Errors
    /// If there is no such step, or it can't be offline.
    pub fn split(&self, name: &str) -> Result<Split, BadSplit> {
        match name {
            Split::NONE => return Ok(Split::None),
            Split::SOURCE => return Ok(Split::After(0)),
            _ => {}
        }
        let numbers: Vec<usize> =
            (1..=self.len()).filter(|number| self.name(*number) == name).collect();
        let number = match numbers.as_slice() {
            [number] => Some(*number),
            [] => name.parse().ok().filter(|number| *number <= self.len()),
            several => {
                let several: Vec<String> = several.iter().map(usize::to_string).collect();
                return Err(BadSplit::Ambiguous {
                    name: name.to_owned(),
                    numbers: several.join(" or "),
                });
            }
        };
        let Some(number) = number else {
            let there = [Split::NONE, Split::SOURCE].into_iter().chain(self.names());
            let there: Vec<String> = there.map(|name| format!("`{name}`")).collect();
            return Err(BadSplit::Unknown { name: name.to_owned(), there: there.join(", ") });
        };
        self.after(number)
    }

    /// The split after step `number`; 0 is the source.
    ///
    /// # Errors
    /// If that step can't be offline.
    pub fn after(&self, number: usize) -> Result<Split, BadSplit> {
        if number <= self.fixed.len() {
            return Ok(Split::After(number));
        }
        Err(BadSplit::Random { number, name: self.name(number), first: self.fixed.len() + 1 })
    }

    /// Every legal split: `none`, `source`, and after each fixed step.
    pub fn splits(&self) -> impl Iterator<Item = Split> + use<> {
        std::iter::once(Split::None).chain((0..=self.fixed.len()).map(Split::After))
    }

    /// The word for a split: `none`, `source` or the step's name, with its number where the name
    /// alone wouldn't tell.
    pub fn split_name(&self, split: Split) -> String {
        match split {
            Split::None => Split::NONE.to_owned(),
            Split::After(0) => Split::SOURCE.to_owned(),
            Split::After(number) => {
                let name = self.name(number);
                if self.names().filter(|other| *other == name).count() > 1 {
                    number.to_string()
                } else {
                    name.to_owned()
                }
            }
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Split::None => f.pad(Split::NONE),
            Split::After(0) => f.pad(Split::SOURCE),
            Split::After(number) => f.pad(&format!("step {number}")),
        }
    }
}
