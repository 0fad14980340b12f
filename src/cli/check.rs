//! `parbake check`: what a config means, without touching a sample.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::ConfigArgs;
use super::say::{self, Done};
use super::setup::Setup;
use crate::exec::Plan;
use crate::pipeline::{BadSplit, Pipeline, Split};
use crate::sample::{Dim, Spec};
use crate::units::bytes;

const EXAMPLES: &str = "\
No sample is read: the source need not be there.

Examples:
  parbake check photos.toml
  parbake check photos.toml --source /data/photos
  parbake check photos.toml --json | jq -r '.pipelines[0].served.dtype'";

/// Type the pipeline: what each step makes, and after which steps it may be cut
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    #[command(flatten)]
    config: ConfigArgs,

    /// As JSON (docs/CONFIG.md)
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> Done {
        let setup = Setup::new(&self.config)?;
        let plans = &setup.config.plans;
        if self.json {
            let all = json!({
                "source": setup.source.to_string_lossy(),
                "cache": setup.cache.to_string_lossy(),
                "pipelines": plans.iter().map(as_json).collect::<Vec<_>>(),
            });
            say::data(&format!("{all:#}\n"))?;
        } else {
            let mut out = format!("source  {}\n", setup.source.display());
            // Writing to a string cannot fail.
            let _ = writeln!(out, "cache   {}", setup.cache.display());
            for (number, plan) in (1..).zip(plans) {
                let patterns = plan.matcher.patterns().join(" ");
                let _ = writeln!(out, "\npipeline {number}  {patterns}");
                out.push_str(&steps(plan));
            }
            say::data(&out)?;
        }
        setup.mention_missing_strategy(&self.config.config);
        Ok(ExitCode::SUCCESS)
    }
}

/// The table of a pipeline's steps, of at most 100 columns.
fn steps(plan: &Plan) -> String {
    let pipeline = &plan.pipeline;
    let mut out = format!("  {:<4}{:<24}{:<26}{:>11}  split\n", "", "step", "makes", "bytes");
    let mut row = |number: &str, name: &str, makes: &str, size: Option<u64>, split: &str| {
        let size = size.map_or("varies".to_owned(), bytes);
        let line = format!("  {number:<4}{name:<24}{makes:<26}{size:>11}  {split}");
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line.trim_end());
    };
    for number in 0..=pipeline.len() {
        let spec = pipeline.spec(number);
        let split = match pipeline.after(number) {
            Ok(split) if split == plan.strategy.split => {
                format!("chosen, codec `{}`", plan.strategy.codec)
            }
            Ok(_) => "yes".to_owned(),
            Err(BadSplit::Random { first, .. }) if first == number => "no: random".to_owned(),
            Err(BadSplit::Random { first, .. }) => format!("no: after step {first}, random"),
            Err(why) => format!("no: {why}"),
        };
        let name = pipeline.name(number);
        row(&number.to_string(), name, &spec.to_string(), spec.bytes(), &split);
    }
    row("", "served", &served(pipeline), size(pipeline), "");
    if plan.strategy.split == Split::None {
        out.push_str("  split `none`: nothing is cached\n");
    }
    if !pipeline.is_deterministic() {
        out.push_str(
            "  a split after a random step would keep its draw: every epoch the same one\n",
        );
    }
    out
}

fn served(pipeline: &Pipeline) -> String {
    let draws = if pipeline.is_deterministic() { "always the same" } else { "a draw an opening" };
    format!(".{}, {draws}", pipeline.output().extension())
}

fn size(pipeline: &Pipeline) -> Option<u64> {
    pipeline.output().size(pipeline.spec(pipeline.len()))
}

/// The same for a script; docs/CONFIG.md describes it.
fn as_json(plan: &Plan) -> Value {
    let pipeline = &plan.pipeline;
    let parameters: Vec<Value> = pipeline
        .parameters()
        .map(|parameters| serde_json::from_str(parameters).unwrap_or_default())
        .collect();
    let step = |number: usize| {
        let spec = pipeline.spec(number);
        json!({
            "number": number,
            "name": pipeline.name(number),
            "parameters": number.checked_sub(1).map(|at| &parameters[at]),
            "dtype": dtype(spec),
            "shape": shape(spec),
            "bytes": spec.bytes(),
            "may_split": pipeline.after(number).is_ok(),
            "why_not": pipeline.after(number).err().map(|why| why.to_string()),
        })
    };
    let last = pipeline.spec(pipeline.len());
    json!({
        "match": plan.matcher.patterns(),
        "steps": (0..=pipeline.len()).map(step).collect::<Vec<_>>(),
        "served": {
            "format": pipeline.output().extension(),
            "dtype": dtype(last),
            "shape": shape(last),
            "bytes": size(pipeline),
            "random": !pipeline.is_deterministic(),
        },
        "strategy": {
            "split": pipeline.split_name(plan.strategy.split),
            "codec": plan.strategy.codec.to_string(),
        },
    })
}

/// Of raw bytes there is none.
fn dtype(spec: &Spec) -> Option<String> {
    spec.array().map(|array| array.dtype.to_string())
}

/// What varies is `null`.
fn shape(spec: &Spec) -> Option<Vec<Option<usize>>> {
    spec.array().map(|array| array.dims.iter().copied().map(Dim::exact).collect())
}
