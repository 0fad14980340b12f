//! The shape of a config file, as serde reads it: nothing is checked but names and types.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::cache::Policy;
use crate::exec::IdentifiedBy;
use crate::fs::{Naming, ServeBy, WatchBy};
use crate::output::Output;
use crate::step::image::Compat;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfig {
    #[serde(default)]
    pub(super) source: RawSource,
    #[serde(default)]
    pub(super) pipeline: Vec<RawPipeline>,
    #[serde(default)]
    pub(super) cache: RawCache,
    pub(super) strategy: Option<RawStrategy>,
    #[serde(default)]
    pub(super) mount: RawMount,
    #[serde(default)]
    pub(super) random: RawRandom,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSource {
    pub(super) path: Option<PathBuf>,
    #[serde(default)]
    pub(super) identity: IdentifiedBy,
    #[serde(default)]
    pub(super) immutable: bool,
}

/// Without its steps: those are read by the steps' own types.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPipeline {
    pub(super) r#match: Spanned<Vec<String>>,
    pub(super) output: Spanned<Output>,
    pub(super) compat: Option<Spanned<Compat>>,
    pub(super) strategy: Option<RawStrategy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStrategy {
    pub(super) split: Spanned<RawSplit>,
    pub(super) codec: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "the name or number of a step, \"source\" or \"none\"")]
pub(super) enum RawSplit {
    Number(u32),
    Name(String),
}

impl fmt::Display for RawSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RawSplit::Number(number) => number.fmt(f),
            RawSplit::Name(name) => name.fmt(f),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCache {
    pub(super) path: Option<PathBuf>,
    pub(super) limit: Option<Spanned<String>>,
    pub(super) min_free: Option<Spanned<String>>,
    pub(super) memory: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) policy: RawPolicy,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawPolicy {
    #[default]
    Keep,
    Lru,
}

impl From<RawPolicy> for Policy {
    fn from(raw: RawPolicy) -> Policy {
        match raw {
            RawPolicy::Keep => Policy::Keep,
            RawPolicy::Lru => Policy::Lru,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMount {
    #[serde(default)]
    pub(super) naming: RawNaming,
    pub(super) revalidate: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) serve: RawServe,
    #[serde(default)]
    pub(super) watch: RawWatch,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawWatch {
    #[default]
    Auto,
    Poll,
}

impl From<RawWatch> for WatchBy {
    fn from(raw: RawWatch) -> WatchBy {
        match raw {
            RawWatch::Auto => WatchBy::Auto,
            RawWatch::Poll => WatchBy::Poll,
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawServe {
    #[default]
    Auto,
    Cached,
    Direct,
}

impl From<RawServe> for ServeBy {
    fn from(raw: RawServe) -> ServeBy {
        match raw {
            RawServe::Auto => ServeBy::Auto,
            RawServe::Cached => ServeBy::Cached,
            RawServe::Direct => ServeBy::Direct,
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawNaming {
    #[default]
    Replace,
    Append,
}

impl From<RawNaming> for Naming {
    fn from(raw: RawNaming) -> Naming {
        match raw {
            RawNaming::Replace => Naming::Replace,
            RawNaming::Append => Naming::Append,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRandom {
    #[serde(default)]
    pub(super) seed: u64,
}
