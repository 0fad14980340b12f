//! The online steps, in the order that costs least of those that make the same bits.
//!
//! A crop (or a flip) that comes after steps which treat each pixel by itself is done before them:
//! what it drops is then never computed, and what it moves is often still one byte a channel. The
//! numbers of the steps, and so their draws, their errors and their figures, are those of the
//! order in which they are written.

use super::{Executor, Job, MakeError};
use crate::pipeline::Pipeline;
use crate::sample::{Sample, Spec};
use crate::step::{Kind, Reach, Unfit};

impl Executor {
    /// Runs every step after the first `steps`.
    pub(super) fn online(
        &self,
        job: Job,
        steps: usize,
        mut sample: Sample,
        epoch: u64,
    ) -> Result<Sample, MakeError> {
        let pipeline = self.pipeline(job);
        let mut left: Vec<usize> = (steps..pipeline.len()).collect();
        while !left.is_empty() {
            let fused = (!self.as_written).then(|| self.fused(job, &left, &sample, epoch));
            if let Some(fused) = fused.flatten() {
                sample = self.run_fused(job, &fused, sample)?;
                left = fused.after;
                continue;
            }
            let at = left.remove(self.first(pipeline, &left, &sample.spec()));
            let fixed = pipeline.fixed().len();
            sample = if at < fixed {
                let step = &pipeline.fixed()[at];
                self.step(job, at, step.name, || step.map.map(sample))?
            } else {
                let step = &pipeline.rest()[at - fixed];
                self.step(job, at, step.name, || self.run(job, at, step, sample, epoch))?
            };
        }
        Ok(sample)
    }

    /// Which of the steps that are left comes first: the first that only moves pixels, if all
    /// before it treat each by itself and it can take the sample as it is; else the first.
    pub(super) fn first(&self, pipeline: &Pipeline, left: &[usize], spec: &Spec) -> usize {
        if self.as_written {
            return 0;
        }
        for (place, at) in left.iter().enumerate() {
            match reach(pipeline, *at, spec) {
                Reach::Pixel => {}
                // One that can't take it fails where it is written, and says so of that input.
                Reach::Place if accepts(pipeline, *at, spec).is_ok() => return place,
                Reach::Place | Reach::Whole => break,
            }
        }
        0
    }
}

fn reach(pipeline: &Pipeline, at: usize, spec: &Spec) -> Reach {
    match pipeline.fixed().get(at) {
        Some(step) => step.map.reach(spec),
        None => kind(pipeline, at).reach(spec),
    }
}

fn accepts(pipeline: &Pipeline, at: usize, spec: &Spec) -> Result<Spec, Unfit> {
    match pipeline.fixed().get(at) {
        Some(step) => step.map.spec(spec),
        None => kind(pipeline, at).spec(spec),
    }
}

fn kind(pipeline: &Pipeline, at: usize) -> &Kind {
    &pipeline.rest()[at - pipeline.fixed().len()].kind
}
