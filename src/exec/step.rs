//! Running one step: its random numbers handed in, its time taken, its panic caught.

use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Executor, Job, MakeError};
use crate::draw::Draw;
use crate::sample::Sample;
use crate::step::{Kind, Step, StepError};

impl Executor {
    /// Runs step `at` (counted from 0) by calling `run`.
    pub(super) fn step(
        &self,
        job: Job,
        at: usize,
        name: &'static str,
        run: impl FnOnce() -> Result<Sample, StepError>,
    ) -> Result<Sample, MakeError> {
        let made = self.meter.time_step(job.plan, at, || {
            // What the step had in hands is dropped with it: nothing half-made is seen again.
            catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|panic| Err(StepError::Panicked(words_of(&*panic))))
        });
        made.map_err(|cause| MakeError::Step { number: at + 1, name, cause })
    }

    /// What a step of the online part makes.
    pub(super) fn run(
        &self,
        job: Job,
        at: usize,
        step: &Step,
        sample: Sample,
        epoch: u64,
    ) -> Result<Sample, StepError> {
        match &step.kind {
            Kind::Fixed(map) => map.map(sample),
            Kind::Random(map) => map.random_map(sample, &mut self.draw(job, at, epoch)),
        }
    }

    /// The random numbers of a step.
    pub(super) fn draw(&self, job: Job, at: usize, epoch: u64) -> Draw {
        // Samples whose paths differ in the extension alone share their draws.
        let group = job.path.with_extension("");
        Draw::new(self.seed, epoch, group.as_os_str().as_bytes(), at as u32 + 1)
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
