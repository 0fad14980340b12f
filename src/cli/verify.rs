//! `parbake verify`: the pipeline on samples of the set, beside Pillow and torchvision: the same
//! pixels? and how fast are both?

mod compare;
mod draws;
mod prefix;
mod python;
mod report;
mod sample;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::ConfigArgs;
use super::say::{self, Done, Failure, Progress};
use super::setup::{Setup, no_match, one_or_more, stop_flag};
use crate::exec::{Executor, Found, Plan};
use crate::profile::strata;
use prefix::Prefixes;
use python::Python;
use report::Report;
use sample::Set;

const EXAMPLES: &str = "\
The reference is Pillow, with torchvision where it can be imported and else its arithmetic by NumPy,
run by a Python of yours. Random steps get parbake's draws. Bits are compared, not numbers that are
nearly alike. docs/VERIFY.md has the rest.

Exit codes: 0 if all are equal, 1 if some differ or it could not be done, 2 if the command line or
the config is wrong, or no step of it can be compared.

Examples:
  parbake verify photos.toml
  parbake verify photos.toml --samples 1000 --python venv/bin/python
  parbake verify photos.toml --json | jq '.pipelines[0].differences[].path'";

/// Compare pixels and speed with Pillow and torchvision, on samples of the set
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    #[command(flatten)]
    config: ConfigArgs,

    /// How many samples of each pipeline to compare, drawn from all over the set
    #[arg(long, value_name = "N", default_value = "64", value_parser = one_or_more)]
    samples: NonZeroUsize,

    /// The Python to run the reference [default: $PARBAKE_PYTHON, else python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// The longest to wait for the reference, for it to start and for each sample
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = one_or_more)]
    timeout: NonZeroUsize,

    /// As JSON (docs/VERIFY.md)
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(self) -> Done {
        let stop = stop_flag()?;
        // Each sample is made many times.
        say::log_each_line_once();
        let setup = Setup::new(&self.config)?;
        let source = setup.open_source()?;
        let plans = &setup.config.plans;
        let patience = Duration::from_secs(self.timeout.get() as u64);
        let mut python = Python::start(self.python.as_deref(), patience)?;
        // Only to find what there is: nothing is made by it.
        let exec = Executor::new(Arc::clone(&source), None, plans.clone(), setup.config.seed);
        let looking = Progress::new("samples found", 0);
        let found = exec
            .walk(|found| {
                looking.at(found);
                !stop.load(Relaxed)
            })
            .map_err(|error| Failure::new(format_args!("cannot list the source: {error}")))?;
        looking.end();

        let mut reports = Vec::new();
        for (at, plan) in plans.iter().enumerate() {
            let mine: Vec<Found> = found.iter().filter(|one| one.plan == at).cloned().collect();
            if stop.load(Relaxed) {
                break;
            }
            if mine.is_empty() {
                return Err(no_match(&setup.source, &plan.matcher.patterns().join(" ")));
            }
            let mut report = plan_report(&mut python, plan, mine.len())?;
            if report.compared > 0 {
                let prefixes = Prefixes::new(&source, plan, report.compared, setup.config.seed)?;
                let set = Set { source: &*source, folder: &setup.source, samples: &mine };
                self.compare(&mut python, &set, &prefixes, &mut report, stop)?;
            }
            reports.push(report);
        }
        if self.json {
            let pipelines: Vec<Value> = reports.iter().map(Report::json).collect();
            let all = json!({ "reference": python.versions, "pipelines": pipelines });
            say::data(&format!("{all:#}\n"))?;
        } else {
            let mut out = report::reference(&python.versions);
            for (number, report) in (1..).zip(&reports) {
                out.push_str(&report.text(number));
            }
            say::data(&out)?;
        }
        if stop.load(Relaxed) {
            say::talk("interrupted: only what was compared until then is shown");
            return Ok(super::interrupted());
        }
        if reports.iter().all(|report| report.compared == 0) {
            let hint = "the reference knows pictures: a pipeline that starts with `decode_image`";
            return Err(Failure::usage("no step can be compared").hint(hint));
        }
        if let Some(report) = reports.iter().find(|report| report.compared > 0 && report.none()) {
            return Err(Failure::new(format_args!(
                "not one sample of `{}` could be made by both",
                report.patterns.join(" ")
            )));
        }
        let all_equal = reports.iter().all(|report| report.differences.is_empty());
        Ok(if all_equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn compare(
        &self,
        python: &mut Python,
        set: &Set,
        prefixes: &Prefixes,
        report: &mut Report,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        // One that can't be looked at can't be made either, and is told as such.
        let size = |one: &Found| set.source.stat(&one.path).map_or(0, |stat| stat.size);
        let sizes: Vec<u64> = set.samples.iter().map(size).collect();
        let part = strata(&sizes, self.samples.get());
        let progress = Progress::new("samples", part.len());
        for (done, place) in part.iter().enumerate() {
            if stop.load(Relaxed) {
                break;
            }
            sample::verify(python, set, &set.samples[*place], prefixes, report)?;
            progress.at(done + 1);
        }
        progress.end();
        Ok(())
    }
}

/// A report without any figures yet: how far the plan can be compared, and why no further.
fn plan_report(python: &mut Python, plan: &Plan, population: usize) -> Result<Report, Failure> {
    let (steps, untold) = prefix::described(&plan.pipeline);
    let (told, _) = python.ask(&json!({ "plan": steps }), "when it was told the steps")?;
    let compared = told["steps"].as_u64().unwrap_or(0) as usize;
    let names: Vec<&'static str> = plan.pipeline.names().collect();
    let why_not = match (told["why"].as_str(), untold) {
        (Some(why), _) => Some((compared + 1, why.to_owned())),
        (None, Some((number, _))) => {
            Some((number, "it is random, and its draw can't be handed over".to_owned()))
        }
        (None, None) => None,
    };
    let unknown = told["unknown"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| Some((one[0].as_u64()? as usize, one[1].as_str()?.to_owned())));
    let patterns = plan.matcher.patterns().to_vec();
    let mut report = Report::new(patterns, population, names, compared, why_not);
    report.unknown = unknown.filter(|(number, _)| *number <= compared).collect();
    Ok(report)
}
