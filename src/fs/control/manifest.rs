//! `manifest.jsonl` and `errors.jsonl`: a line of JSON a sample.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;

use super::super::ino::{ROOT, View};
use super::super::tree::Kind;
use super::super::{Fs, FsError};
use crate::exec::Job;
use crate::sample::Spec;

/// Every sample that is served: path, source, type, shape and size. Paths that are not UTF-8 have
/// `\u{fffd}` in the place of other bytes.
pub(super) fn samples(fs: &Fs) -> String {
    let mut lines = String::new();
    folder(fs, ROOT, Path::new(""), &mut lines);
    lines
}

fn folder(fs: &Fs, number: u64, served: &Path, lines: &mut String) {
    let mut names = Vec::new();
    let listed = fs.tree.list(number, View::Plain, 0, &mut |entry| {
        names.push((entry.name.to_owned(), entry.folder));
        ControlFlow::Continue(())
    });
    if let Err(error) = listed {
        return log::warn!("manifest: {}: {error}", served.display());
    }
    for (name, is_folder) in names {
        let path = served.join(&name);
        let line = fs.tree.find(number, &name, false).and_then(|(number, _)| {
            if is_folder {
                folder(fs, number, &path, lines);
                return Ok(None);
            }
            sample(fs, number, &path)
        });
        match line {
            Ok(Some(line)) => {
                lines.push_str(&line);
                lines.push('\n');
            }
            Ok(None) => {}
            Err(error) => log::warn!("manifest: {}: {error}", path.display()),
        }
    }
}

fn sample(fs: &Fs, number: u64, served: &Path) -> Result<Option<String>, FsError> {
    let node = fs.tree.node(number)?;
    let Kind::Sample { stat, plan, .. } = &node.kind else { return Ok(None) };
    let source = fs.tree.path(&node);
    let job = Job { path: &source, stat: *stat, plan: *plan };
    let names = json!({ "path": served.to_string_lossy(), "source": source.to_string_lossy() });
    let more = match fs.exec.served_spec(job) {
        Ok(Spec::Array(array)) => json!({
            "dtype": array.dtype.name(),
            "shape": array.shape(),
            "size": fs.quick_size(&node).unwrap_or_else(|| fs.made_size(&node)),
        }),
        Ok(Spec::Bytes) => json!({ "dtype": null, "shape": null, "size": fs.quick_size(&node) }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    Ok(Some(merged(names, more).to_string()))
}

/// Every sample that couldn't be made: source, step and cause.
pub(super) fn errors(fs: &Fs) -> String {
    let mut lines = String::new();
    for (path, bad) in fs.exec.bad_samples().list() {
        let line = json!({
            "source": path.to_string_lossy(),
            "step": bad.step.map(|(number, _)| number),
            "name": bad.step.map(|(_, name)| name),
            "cause": bad.cause,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    lines
}

fn merged(mut a: serde_json::Value, b: serde_json::Value) -> serde_json::Value {
    if let (Some(a), serde_json::Value::Object(b)) = (a.as_object_mut(), b) {
        a.extend(b);
    }
    a
}
