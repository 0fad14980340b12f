//! Neighbouring online steps on pictures, run as one.
//!
//! It knows which steps those are, and hands out their draws; what is done to pixels is
//! `step::image`'s business. The numbers of the steps, and so their draws, their errors and their
//! figures, are those of the order in which they are written.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{Executor, Job, MakeError};
use crate::pipeline::Pipeline;
use crate::sample::{Sample, Spec};
use crate::step::image::{Part, Run, Table, Worker};
use crate::step::{Kind, StepError};

/// Steps that are run as one.
pub(super) struct Fused {
    run: Run,
    table: Option<Arc<Table>>,
    /// The steps that are left after them.
    pub(super) after: Vec<usize>,
}

/// What runs of steps that change values make of all values: by plan, steps and channels.
pub(super) type Tables = RwLock<HashMap<(usize, Vec<usize>, usize), Arc<Table>>>;

impl Executor {
    /// As many of the first of the steps that are `left` as can be done together; none if these
    /// are fewer than two.
    pub(super) fn fused(
        &self,
        job: Job,
        left: &[usize],
        sample: &Sample,
        epoch: u64,
    ) -> Option<Fused> {
        let (run, after) = self.together(job, left, sample, epoch)?;
        let table = match run.values() {
            [] => None,
            steps => Some(self.table(job, steps, run.channels())?),
        };
        Some(Fused { run, table, after })
    }

    /// Runs them.
    pub(super) fn run_fused(
        &self,
        job: Job,
        fused: &Fused,
        sample: Sample,
    ) -> Result<Sample, MakeError> {
        fused.run.run(sample, fused.table.as_deref(), &mut Steps { exec: self, job })
    }

    /// The run, and what is left after it.
    fn together(
        &self,
        job: Job,
        left: &[usize],
        sample: &Sample,
        epoch: u64,
    ) -> Option<(Run, Vec<usize>)> {
        let pipeline = self.pipeline(job);
        let mut after = left.to_vec();
        let mut spec = sample.spec();
        let mut run = None;
        while !after.is_empty() {
            let place = self.first(pipeline, &after, &spec);
            let at = after[place];
            let Some(parts) = self.parts(job, at, &spec, epoch) else { break };
            let Some(next) = spec_after(pipeline, at, &spec, sample) else { break };
            let start = if spec == Spec::Bytes { &next } else { &spec };
            let taken = match &mut run {
                Some(run) => Run::add(run, at, parts),
                None => Run::new(start).is_some_and(|new| run.insert(new).add(at, parts)),
            };
            if !taken {
                break;
            }
            after.remove(place);
            spec = next;
        }
        (left.len() - after.len() >= 2).then_some((run?.planned()?, after))
    }

    fn parts(&self, job: Job, at: usize, spec: &Spec, epoch: u64) -> Option<Vec<Part>> {
        let pipeline = self.pipeline(job);
        match pipeline.fixed().get(at) {
            Some(step) => step.map.parts(spec),
            None => match &pipeline.rest()[at - pipeline.fixed().len()].kind {
                Kind::Fixed(map) => map.parts(spec),
                Kind::Random(map) => map.parts(spec, &mut self.draw(job, at, epoch)),
            },
        }
    }

    /// What steps make together of all values; `None` if that isn't a table.
    fn table(&self, job: Job, steps: &[usize], channels: usize) -> Option<Arc<Table>> {
        let key = (job.plan, steps.to_vec(), channels);
        if let Some(table) = self.tables.read().get(&key) {
            return Some(Arc::clone(table));
        }
        let mut made = Table::ramp(channels).ok()?;
        for at in steps {
            let pipeline = self.pipeline(job);
            made = match pipeline.fixed().get(*at) {
                Some(step) => step.map.map(made).ok()?,
                None => match &pipeline.rest()[at - pipeline.fixed().len()].kind {
                    Kind::Fixed(map) => map.map(made).ok()?,
                    Kind::Random(_) => return None,
                },
            };
        }
        let table = Arc::new(Table::of(made)?);
        self.tables.write().insert(key, Arc::clone(&table));
        Some(table)
    }
}

/// What step `at` makes of a sample of an exact spec.
fn spec_after(pipeline: &Pipeline, at: usize, spec: &Spec, sample: &Sample) -> Option<Spec> {
    let fixed = pipeline.fixed().get(at);
    match (spec, sample, fixed) {
        (Spec::Bytes, Sample::Bytes(bytes), Some(step)) => step.map.probe(bytes),
        (_, _, Some(step)) => step.map.spec(spec).ok(),
        _ => pipeline.rest()[at - pipeline.fixed().len()].kind.spec(spec).ok(),
    }
}

/// Runs the work of each step as any step is run.
struct Steps<'a> {
    exec: &'a Executor,
    job: Job<'a>,
}

impl Worker for Steps<'_> {
    type Error = MakeError;

    fn work(
        &mut self,
        step: usize,
        work: impl FnOnce() -> Result<Sample, StepError>,
    ) -> Result<Sample, MakeError> {
        let name = self.exec.pipeline(self.job).name(step + 1);
        self.exec.step(self.job, step, name, work)
    }

    fn no_work(&mut self, step: usize, bytes: usize) {
        self.exec.meter.count_step(self.job.plan, step, bytes);
    }
}
