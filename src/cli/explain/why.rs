//! Why the result of a file isn't in the cache: which of the things that its key is made of changed.
//!
//! What tells are the texts that a cache has of the offline steps it was opened for: whether it has
//! the file's result of others of them, and since when it knows the present ones.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::cache::Key;
use crate::cli::contents;
use crate::exec::{Executor, Job};
use crate::pipeline::PrefixDigest;
use crate::source::Stat;

/// What a cache was opened for, read from its text.
pub(super) struct Known {
    note: Value,
    since: SystemTime,
}

/// Offline steps of the source that the cache knows.
pub(super) fn known(notes: Vec<(String, SystemTime)>, source: &str) -> Vec<Known> {
    let read = |(text, since): (String, SystemTime)| {
        let note = contents::parse(&text).filter(|note| note["source"] == source)?;
        Some(Known { note, since })
    };
    notes.into_iter().filter_map(read).collect()
}

impl Known {
    /// What the file's result of these steps is kept under.
    pub(super) fn key(&self, exec: &Executor, job: Job) -> Option<Key> {
        let word = |name: &str| self.note[name].as_str();
        let prefix = PrefixDigest::from_hex(word("prefix")?)?;
        exec.key_under(job, &prefix, word("codec")?.parse().ok()?)
    }

    fn is(&self, text: &Value) -> bool {
        ["prefix", "codec"].iter().all(|name| self.note[*name] == text[*name])
    }
}

/// Why a file's result isn't there. `wanted` is the text of what is wanted of it; `there` tells
/// whether its result of other steps is.
pub(super) fn why(
    wanted: &Value,
    stat: &Stat,
    known: &[Known],
    there: impl Fn(&Known) -> bool,
) -> String {
    let others = || known.iter().filter(|known| !known.is(wanted));
    if let Some(other) = others().find(|other| there(other)) {
        return format!("the config has changed: {}", difference(&other.note, wanted));
    }
    let Some(mine) = known.iter().find(|known| known.is(wanted)) else {
        return match others().next_back() {
            Some(other) => format!(
                "the cache was never opened for these offline steps; of those that it knows, {}",
                difference(&other.note, wanted)
            ),
            None => "the cache was never opened for this source".to_owned(),
        };
    };
    let since = ago(mine.since);
    let at = |nanoseconds: i128| {
        let after = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0));
        SystemTime::UNIX_EPOCH + after
    };
    let (content, status) = (at(stat.modified_ns), at(stat.changed_ns));
    if content > mine.since {
        format!(
            "the file has changed: its content {}, and the cache has kept results of these steps \
             since {since}",
            ago(content)
        )
    } else if status > mine.since {
        format!(
            "the file has changed: it was renamed, replaced or given other times or rights {}, and the \
             cache has kept results of these steps since {since}",
            ago(status)
        )
    } else {
        format!(
            "it was not made yet, or there was no room: the file is older than the first results of \
             these steps, {since}"
        )
    }
}

fn ago(time: SystemTime) -> String {
    let seconds = time.elapsed().unwrap_or_default().as_secs_f64();
    format!("{} ago", crate::units::duration(seconds.max(1e-6)))
}

/// The first thing in which what is wanted differs from what is there.
fn difference(there: &Value, wanted: &Value) -> String {
    let steps = |of: &Value| of["step"].as_array().cloned().unwrap_or_default();
    let (old, new) = (steps(there), steps(wanted));
    let name = |step: &Value| step["use"].as_str().unwrap_or("?").to_owned();
    for (number, pair) in (1..).zip(old.iter().zip(&new)) {
        let (old, new) = pair;
        if name(old) != name(new) {
            return format!("step {number} was `{}` and is `{}`", name(old), name(new));
        }
        let keys = [old, new].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys());
        if let Some(key) = keys.into_iter().find(|key| old[*key] != new[*key]) {
            let shown = |value: &Value| match value {
                Value::Null => "not given".to_owned(),
                value => value.to_string(),
            };
            return format!(
                "step {number} `{}`: `{key}` was {} and is {}",
                name(new),
                shown(&old[key]),
                shown(&new[key])
            );
        }
    }
    let last = |steps: &[Value]| steps.last().map_or("source".to_owned(), name);
    if old.len() != new.len() {
        return format!("the split was after `{}` and is after `{}`", last(&old), last(&new));
    }
    if there["codec"] != wanted["codec"] {
        return format!("the codec was {} and is {}", there["codec"], wanted["codec"]);
    }
    "a step is made by another version of parbake".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(codec: &str, steps: &Value) -> Value {
        json!({ "source": "/s", "codec": codec, "prefix": steps.to_string(), "step": steps })
    }

    #[test]
    fn the_first_difference_is_told() {
        let resize =
            |side: u32| json!([{"use": "decode_image"}, {"use": "resize", "short_side": side}]);
        let wanted = text("lz4", &resize(224));
        for (there, words) in [
            (text("lz4", &resize(256)), "step 2 `resize`: `short_side` was 256 and is 224"),
            (text("zstd:3", &resize(224)), "the codec was \"zstd:3\" and is \"lz4\""),
            (
                text("lz4", &json!([{"use": "decode_image"}])),
                "the split was after `decode_image` and is after `resize`",
            ),
            (
                text("lz4", &json!([{"use": "decode_image", "mode": "l"}])),
                "step 1 `decode_image`: `mode` was \"l\" and is not given",
            ),
            (text("lz4", &resize(224)), "a step is made by another version of parbake"),
        ] {
            assert_eq!(difference(&there, &wanted), words);
        }
    }

    #[test]
    fn what_is_newer_than_the_first_results_has_changed() {
        let wanted = text("lz4", &json!([]));
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let known = [Known { note: wanted.clone(), since }];
        let seconds = |n: i128| {
            let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i128;
            since + n * 1_000_000_000
        };
        let stat = |modified, changed| Stat {
            folder: false,
            size: 1,
            modified_ns: seconds(modified),
            changed_ns: seconds(changed),
            mode: 0,
            uid: 0,
            gid: 0,
        };
        let told = |stat, there: bool| why(&wanted, &stat, &known, |_| there);
        assert!(told(stat(60, 60), true).starts_with("the file has changed: its content "));
        assert!(told(stat(-60, 60), true).contains("renamed, replaced"));
        assert!(told(stat(-60, -60), true).starts_with("it was not made yet"));
        let other = text("none", &json!([]));
        let told = |there: bool| why(&other, &stat(-9, -9), &known, |_| there);
        assert_eq!(told(true), "the config has changed: the codec was \"lz4\" and is \"none\"");
        assert!(told(false).starts_with("the cache was never opened for these offline steps; of"));
    }
}
