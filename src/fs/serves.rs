//! Who answers opens: the kernel by itself, or this program one by one.

use super::Freshness;
use crate::exec::Plan;

/// Who answers opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The kernel, without a message: all openings read the same pages.
    Cached,
    /// This program: each opening is told apart from the others.
    #[default]
    Direct,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServeBy {
    /// The mode with the fewest messages that is right.
    #[default]
    Auto,
    /// [`Mode::Cached`], or nothing.
    Cached,
    /// [`Mode::Direct`].
    Direct,
}

/// How changes of the source are noticed where the kernel answers opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchBy {
    /// The system tells of them where it can.
    #[default]
    Auto,
    /// By asking again.
    Poll,
}

/// How a tree is served, and why not in another way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serves {
    /// Who answers opens.
    pub mode: Mode,
    /// Why it is this one.
    pub because: String,
}

impl Serves {
    /// What is asked for, as far as these plans let it.
    ///
    /// # Errors
    /// If it was to be cached and a plan has random steps.
    pub fn new(asked: ServeBy, plans: &[Plan], fresh: Freshness) -> Result<Serves, String> {
        let random = plans.iter().position(|plan| !plan.pipeline.is_deterministic());
        let random = random.map(|at| {
            let number = at + 1;
            format!("pipeline {number} has a random step, so each opening has bytes of its own")
        });
        let (mode, because) = match (asked, random) {
            (ServeBy::Direct, _) => (Mode::Direct, "it was asked for".to_owned()),
            (ServeBy::Cached, Some(why)) => return Err(why),
            (ServeBy::Auto, Some(why)) => (Mode::Direct, why),
            (ServeBy::Auto, None) if fresh.revalidate.is_zero() && !fresh.immutable => {
                (Mode::Direct, "`revalidate` is 0, so every open asks the source".to_owned())
            }
            (ServeBy::Auto | ServeBy::Cached, None) => {
                (Mode::Cached, "no step is random, so all openings read the same".to_owned())
            }
        };
        Ok(Serves { mode, because })
    }

    /// The mode's name.
    pub fn name(&self) -> &'static str {
        match self.mode {
            Mode::Cached => "cached",
            Mode::Direct => "direct",
        }
    }
}
