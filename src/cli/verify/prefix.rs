//! The leading steps of a pipeline as pipelines of their own, each with its executor; and the same
//! steps as the reference is told them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::say::Failure;
use super::draws::{self, Which};
use crate::exec::{Executor, Job, MakeError, Plan};
use crate::output::Output;
use crate::pipeline::{Pipeline, Strategy};
use crate::sample::{ArraySpec, Buffer, Spec};
use crate::source::Source;
use crate::step;

/// A plan's leading steps, as many as are compared, and each shorter prefix of them.
pub(super) struct Prefixes {
    /// One executor for the first 1, 2, 3, … steps.
    executors: Vec<Executor>,
    steps: Vec<Step>,
    seed: u64,
}

struct Step {
    name: &'static str,
    parameters: String,
    random: bool,
}

/// The steps of a pipeline as the reference is asked about them, up to the first random one whose
/// draw can't be told; and that one's number and name.
pub(super) fn described(pipeline: &Pipeline) -> (Vec<Value>, Option<(usize, &'static str)>) {
    let mut described = Vec::new();
    for (number, step) in (1..).zip(steps(pipeline)) {
        if step.random && !draws::can_be_told(step.name) {
            return (described, Some((number, step.name)));
        }
        described.push(as_told(&step));
    }
    (described, None)
}

fn steps(pipeline: &Pipeline) -> impl Iterator<Item = Step> {
    let is_random = |at: usize| {
        let rest = at.checked_sub(pipeline.fixed().len()).map(|at| &pipeline.rest()[at].kind);
        matches!(rest, Some(step::Kind::Random(_)))
    };
    pipeline.names().zip(pipeline.parameters()).enumerate().map(move |(at, (name, parameters))| {
        Step { name, parameters: parameters.to_owned(), random: is_random(at) }
    })
}

fn as_told(step: &Step) -> Value {
    let parameters: Value = serde_json::from_str(&step.parameters).unwrap_or_default();
    // Steps without any have null.
    let parameters = if parameters.is_object() { parameters } else { json!({}) };
    json!({ "name": step.name, "random": step.random, "parameters": parameters })
}

impl Prefixes {
    /// Of the first `count` steps of a plan, at least one.
    pub(super) fn new(
        source: &Arc<dyn Source>,
        plan: &Plan,
        count: usize,
        seed: u64,
    ) -> Result<Prefixes, Failure> {
        let steps: Vec<Step> = steps(&plan.pipeline).take(count).collect();
        let executor = |length: usize| {
            let built = steps[..length].iter().map(|step| {
                let mut parameters = serde_json::Deserializer::from_str(&step.parameters);
                step::build(step.name, &mut parameters)
            });
            let built = built.collect::<Result<Vec<_>, _>>().map_err(Failure::new)?;
            let pipeline = Pipeline::new(built, Output::Raw).map_err(Failure::new)?;
            let plan = Plan {
                matcher: plan.matcher.clone(),
                pipeline: Arc::new(pipeline),
                strategy: Strategy::NONE,
            };
            Ok(Executor::new(Arc::clone(source), None, vec![plan], seed))
        };
        let executors = (1..=count).map(executor).collect::<Result<_, Failure>>()?;
        Ok(Prefixes { executors, steps, seed })
    }

    /// How many steps there are.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// What is served of a sample after so many steps: its elements.
    pub(super) fn serve(&self, steps: usize, job: Job, epoch: u64) -> Result<Buffer, MakeError> {
        self.executors[steps - 1].serve(Job { plan: 0, ..job }, epoch)
    }

    /// Type and shape of that.
    pub(super) fn spec(&self, steps: usize, job: Job) -> Result<Option<ArraySpec>, MakeError> {
        let spec = self.executors[steps - 1].served_spec(Job { plan: 0, ..job })?;
        Ok(match spec {
            Spec::Array(array) => Some(array),
            Spec::Bytes => None,
        })
    }

    /// The steps before the first random one, for the reference.
    pub(super) fn before_random(&self) -> Vec<Value> {
        self.steps.iter().take_while(|step| !step.random).map(as_told).collect()
    }

    /// All steps as the reference is to do them for a sample, random ones as the moves of their
    /// draw.
    pub(super) fn told(&self, job: Job, epoch: u64) -> Result<Vec<Value>, MakeError> {
        let seed = self.seed;
        let told = |(at, step): (usize, &Step)| {
            if !step.random {
                return Ok(as_told(step));
            }
            let failed = |cause| MakeError::Step { number: at + 1, name: step.name, cause };
            let unfit = |words: &str| failed(step::StepError::Unfit(words.to_owned()));
            let input = match at {
                0 => None,
                at => self.spec(at, job)?,
            };
            let input = input.ok_or_else(|| unfit("it doesn't come after a picture"))?;
            let which = Which { seed, epoch, path: job.path, number: at + 1 };
            let moves = draws::moves(step.name, &step.parameters, &input, which).map_err(failed)?;
            Ok(json!({ "moves": moves }))
        };
        self.steps.iter().enumerate().map(told).collect()
    }
}
