//! A config as it was understood: every default filled in, every path absolute. It reads back as
//! the same config.

use std::fmt::Write;

use super::{CacheConfig, Config};
use crate::cache::Policy;
use crate::exec::{IdentifiedBy, Plan};
use crate::fs::{Naming, ServeBy, WatchBy};

/// The text of a config.
pub fn resolved(config: &Config) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    if let Some(source) = &config.source {
        let _ = writeln!(out, "[source]\npath = {}", quoted(&source.to_string_lossy()));
        let identity = match config.identified_by {
            IdentifiedBy::Stat => "stat",
            IdentifiedBy::Content => "content",
        };
        let immutable = config.freshness.immutable;
        let _ = writeln!(out, "identity = \"{identity}\"\nimmutable = {immutable}\n");
    }
    for plan in &config.plans {
        pipeline(&mut out, plan);
    }
    let CacheConfig { path, limit, min_free, memory, policy } = &config.cache;
    let _ = writeln!(out, "[cache]");
    if let Some(path) = path {
        let _ = writeln!(out, "path = {}", quoted(&path.to_string_lossy()));
    }
    if *limit != u64::MAX {
        let _ = writeln!(out, "limit = \"{limit}\"");
    }
    let _ = writeln!(out, "min_free = \"{min_free}\"");
    if *memory != 0 {
        let _ = writeln!(out, "memory = \"{memory}\"");
    }
    let policy = match policy {
        Policy::Keep => "keep",
        Policy::Lru => "lru",
    };
    let _ = writeln!(out, "policy = \"{policy}\"");
    let naming = match config.naming {
        Naming::Replace => "replace",
        Naming::Append => "append",
    };
    let revalidate = config.freshness.revalidate.as_millis();
    let watch = match config.watch {
        WatchBy::Auto => "auto",
        WatchBy::Poll => "poll",
    };
    let serve = match config.serve {
        ServeBy::Auto => "auto",
        ServeBy::Cached => "cached",
        ServeBy::Direct => "direct",
    };
    let _ = writeln!(
        out,
        "\n[mount]\nnaming = \"{naming}\"\nrevalidate = \"{revalidate}ms\"\nserve = \"{serve}\"\n\
         watch = \"{watch}\"\n\n[random]\nseed = {}",
        config.seed
    );
    out
}

fn pipeline(out: &mut String, plan: &Plan) {
    let globs: Vec<String> = plan.matcher.patterns().iter().map(|glob| quoted(glob)).collect();
    let _ = writeln!(out, "[[pipeline]]\nmatch = [{}]", globs.join(", "));
    let _ = writeln!(out, "output = \"{}\"\n", plan.pipeline.output());
    for (name, parameters) in plan.pipeline.names().zip(plan.pipeline.parameters()) {
        let _ = writeln!(out, "[[pipeline.step]]\nuse = \"{name}\"");
        let parsed: serde_json::Value = serde_json::from_str(parameters).unwrap_or_default();
        for (key, value) in parsed.as_object().into_iter().flatten() {
            // Numbers, words, truths and lists of them are written alike in JSON and TOML; what
            // JSON has and TOML has not is null, a parameter that isn't given.
            if !value.is_null() {
                let _ = writeln!(out, "{key} = {value}");
            }
        }
        out.push('\n');
    }
    let split = plan.pipeline.split_name(plan.strategy.split);
    let codec = plan.strategy.codec;
    let _ = writeln!(out, "[pipeline.strategy]\nsplit = \"{split}\"\ncodec = \"{codec}\"\n");
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
