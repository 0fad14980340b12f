//! `parbake check`: what a config means, without touching a sample.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;

use super::ConfigArgs;
use super::say::{self, Done};
use super::setup::Setup;
use crate::exec::Plan;
use crate::pipeline::{Pipeline, Split};
use crate::sample::Spec;
use crate::units::bytes;

const EXAMPLES: &str = "\
Examples:
  parbake check photos.toml
  parbake check photos.toml --source /data/photos";

/// Type the pipeline: what each step makes, and after which steps it may be cut
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    #[command(flatten)]
    config: ConfigArgs,
}

impl Check {
    pub(super) fn run(self) -> Done {
        let setup = Setup::new(&self.config)?;
        let mut out = format!("source  {}\n", setup.source.display());
        let _ = writeln!(out, "cache   {}", setup.cache.display());
        for (at, plan) in setup.config.plans.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "\npipeline {}  {}", at + 1, plan.matcher.patterns().join(" "));
            out.push_str(&steps(plan));
        }
        say::data(&out)?;
        setup.mention_missing_strategy(&self.config.config);
        Ok(ExitCode::SUCCESS)
    }
}

/// The table of a pipeline's steps.
fn steps(plan: &Plan) -> String {
    let pipeline = &plan.pipeline;
    let mut out = format!("  {:<4}{:<24}{:<26}{:>12}  split\n", "", "step", "makes", "bytes");
    for number in 0..=pipeline.len() {
        let spec = pipeline.spec(number);
        let split = match pipeline.after(number) {
            Ok(split) if split == plan.strategy.split => {
                format!("yes, chosen, codec `{}`", plan.strategy.codec)
            }
            Ok(_) => "yes".to_owned(),
            Err(why) => format!("no: {}", short(&why.to_string())),
        };
        let _ = writeln!(
            out,
            "  {:<4}{:<24}{:<26}{:>12}  {split}",
            number,
            pipeline.name(number),
            spec,
            spec.bytes().map_or("varies".to_owned(), bytes),
        );
    }
    let _ =
        writeln!(out, "  {:<4}{:<24}{:<26}{:>12}", "", "served", served(pipeline), size(pipeline));
    if plan.strategy.split == Split::None {
        out.push_str("  split `none`: nothing is cached\n");
    }
    out
}

/// The reason without the step's name: that stands at the beginning of the line.
fn short(why: &str) -> &str {
    why.split_once("` ").map_or(why, |(_, rest)| rest)
}

fn served(pipeline: &Pipeline) -> String {
    let draws =
        if pipeline.is_deterministic() { "the same every time" } else { "a draw an opening" };
    format!(".{}, {draws}", pipeline.output().extension())
}

fn size(pipeline: &Pipeline) -> String {
    let spec: &Spec = pipeline.spec(pipeline.len());
    pipeline.output().size(spec).map_or("varies".to_owned(), bytes)
}
