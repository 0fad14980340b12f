//! What to do with a sample, where that may be cut, and what identifies the part before the cut.
//!
//! A pipeline holds its steps in two parts: the fixed ones before the first random one, and the
//! rest. Only the first part can be offline, so an illegal split has no spelling once a
//! [`Split`] was got from [`Pipeline::split`]. Nothing here reads or makes a sample.

mod fingerprint;
mod matcher;
mod strategy;

pub use fingerprint::{Identity, PrefixDigest};
pub use matcher::{BadGlob, Matcher};
pub use strategy::{BadSplit, Split, Strategy};

use crate::output::{BadOutput, Output};
use crate::sample::Spec;
use crate::step::{Kind, Map, Step, Unfit};

/// A fixed step of a pipeline.
#[derive(Debug)]
pub struct FixedStep {
    /// Its name.
    pub name: &'static str,
    /// All its parameters, as canonical JSON.
    pub parameters: String,
    /// What it does.
    pub map: Box<dyn Map>,
}

/// Typed steps in order, from raw bytes to what is served.
#[derive(Debug)]
pub struct Pipeline {
    fixed: Vec<FixedStep>,
    rest: Vec<Step>,
    /// The spec before the first step and after each.
    specs: Vec<Spec>,
    /// What identifies the first 0, 1, 2, … fixed steps.
    prefixes: Vec<PrefixDigest>,
    output: Output,
}

/// Why steps are no pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPipeline {
    /// A step can't take what the one before it makes.
    #[error("step {number} `{name}` {cause}")]
    Step {
        /// Counted from 1.
        number: usize,
        /// Its name.
        name: &'static str,
        /// Why not.
        cause: Unfit,
    },
    /// What the last step makes can't be served in the format.
    #[error(transparent)]
    Output(#[from] BadOutput),
}

impl Pipeline {
    /// The pipeline of these steps.
    ///
    /// # Errors
    /// If a step can't take what comes before it, or the output what comes last.
    pub fn new(steps: Vec<Step>, output: Output) -> Result<Pipeline, BadPipeline> {
        let mut specs = vec![Spec::Bytes];
        for (at, step) in steps.iter().enumerate() {
            let spec = step.kind.spec(&specs[at]).map_err(|cause| BadPipeline::Step {
                number: at + 1,
                name: step.name,
                cause,
            })?;
            specs.push(spec);
        }
        output.check(&specs[steps.len()])?;

        let mut prefixes = vec![PrefixDigest::empty()];
        let mut fixed = Vec::new();
        let mut rest = Vec::new();
        for step in steps {
            let next = prefixes[fixed.len()].then(&step);
            match step.kind {
                Kind::Fixed(map) if rest.is_empty() => {
                    let Step { name, parameters, .. } = step;
                    fixed.push(FixedStep { name, parameters, map });
                    prefixes.push(next);
                }
                kind => rest.push(Step { kind, ..step }),
            }
        }
        Ok(Pipeline { fixed, rest, specs, prefixes, output })
    }

    /// The fixed steps before the first random one.
    pub fn fixed(&self) -> &[FixedStep] {
        &self.fixed
    }

    /// The first random step and all that follow.
    pub fn rest(&self) -> &[Step] {
        &self.rest
    }

    /// The format of served files.
    pub fn output(&self) -> Output {
        self.output
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.fixed.len() + self.rest.len()
    }

    /// Whether there are none: the raw bytes are served.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of the steps, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.fixed.iter().map(|step| step.name).chain(self.rest.iter().map(|step| step.name))
    }

    /// The parameters of the steps, in order, as canonical JSON.
    pub fn parameters(&self) -> impl Iterator<Item = &str> + '_ {
        let fixed = self.fixed.iter().map(|step| step.parameters.as_str());
        fixed.chain(self.rest.iter().map(|step| step.parameters.as_str()))
    }

    /// The name of step `number`, counted from 1; 0 is the source.
    pub fn name(&self, number: usize) -> &'static str {
        number.checked_sub(1).and_then(|at| self.names().nth(at)).unwrap_or(Split::SOURCE)
    }

    /// What is known of a sample after the first `steps` steps.
    pub fn spec(&self, steps: usize) -> &Spec {
        &self.specs[steps]
    }

    /// Whether every opening of a sample serves the same.
    pub fn is_deterministic(&self) -> bool {
        !self.rest.iter().any(|step| matches!(step.kind, Kind::Random(_)))
    }

    /// The spec of what is served, given the spec of a sample after the first `steps` steps.
    ///
    /// # Errors
    /// If a later step can't take it.
    pub fn spec_from(&self, steps: usize, spec: Spec) -> Result<Spec, BadPipeline> {
        let fixed = self.fixed.iter().map(|step| (step.name, None, Some(&step.map)));
        let rest = self.rest.iter().map(|step| (step.name, Some(&step.kind), None));
        let mut spec = spec;
        for (at, (name, kind, map)) in fixed.chain(rest).enumerate().skip(steps) {
            let next = match (kind, map) {
                (Some(kind), _) => kind.spec(&spec),
                (None, Some(map)) => map.spec(&spec),
                (None, None) => continue,
            };
            spec = next.map_err(|cause| BadPipeline::Step { number: at + 1, name, cause })?;
        }
        Ok(spec)
    }

    /// What identifies the first `steps` fixed steps.
    pub fn prefix(&self, steps: usize) -> &PrefixDigest {
        &self.prefixes[steps]
    }
}
