//! The texts in a cache that tell people what is kept in it, and of what (docs/FORMAT.md).

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::exec::Plan;
use crate::pipeline::Split;

/// The text of a plan; none if it keeps nothing.
pub(super) fn text(source: &Path, plan: &Plan) -> Option<String> {
    let Split::After(steps) = plan.strategy.split else { return None };
    let pipeline = &plan.pipeline;
    let quoted = |text: &str| toml_edit::Value::from(text).to_string();
    let mut out =
        "# Kept in this cache by parbake, the result of the last step below. For people: \
                   nothing depends on it.\n"
            .to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "source = {}", quoted(&source.to_string_lossy()));
    let _ = writeln!(out, "codec = \"{}\"", plan.strategy.codec);
    let _ = writeln!(out, "prefix = \"{}\"", pipeline.prefix(steps));
    for step in &pipeline.fixed()[..steps] {
        let _ = writeln!(out, "\n[[step]]\nuse = \"{}\"", step.name);
        let parameters: Value = serde_json::from_str(&step.parameters).unwrap_or_default();
        for (key, value) in parameters.as_object().into_iter().flatten() {
            if !value.is_null() {
                let _ = writeln!(out, "{key} = {value}");
            }
        }
    }
    Some(out)
}

/// A text, read back: an object with `source`, `codec`, `prefix` and a list `step`. None if it is
/// none of ours.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut parsed: Value = toml::from_str(text).ok()?;
    let known = ["source", "codec", "prefix"].iter().all(|key| parsed[*key].is_string());
    if known && parsed.get("step").is_none() {
        parsed["step"] = Value::Array(Vec::new());
    }
    known.then_some(parsed)
}

/// A text in a line: the source, the steps and the codec.
pub(super) fn line(parsed: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let steps: Vec<String> = parsed["step"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|step| word(&step["use"]))
        .collect();
    let steps = if steps.is_empty() { Split::SOURCE.to_owned() } else { steps.join(" > ") };
    format!("{}: {steps}, codec `{}`", word(&parsed["source"]), word(&parsed["codec"]))
}
