//! A config file's text, checked: what the rest of parbake runs on, or an error that points at the
//! line.
//!
//! The only module that knows that there is a config file. It reads no environment.

mod apply;
mod error;
mod raw;
mod resolved;
mod steps;

pub use apply::with_strategy;
pub use error::ConfigError;
pub use resolved::resolved;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::cache::Policy;
use crate::exec::{IdentifiedBy, Plan};
use crate::fs::{Freshness, Naming, ServeBy, WatchBy};
use crate::pipeline::{Matcher, Pipeline, Split, Strategy};
use crate::sample::Codec;
use crate::units::{parse_bytes, parse_duration};
use error::Places;
use raw::{RawConfig, RawPipeline, RawStrategy};

/// A checked config.
#[derive(Debug)]
pub struct Config {
    /// The source folder.
    pub source: Option<PathBuf>,
    /// What to do with which files, the first match first.
    pub plans: Vec<Plan>,
    /// Whether each plan's strategy was given, by itself or for all.
    pub strategies_given: Vec<bool>,
    /// The cache.
    pub cache: CacheConfig,
    /// What identifies a source file in the cache's keys.
    pub identified_by: IdentifiedBy,
    /// When what was once seen of the source is looked at again.
    pub freshness: Freshness,
    /// Who is to answer a mount's opens.
    pub serve: ServeBy,
    /// How a mount notices changes of the source, where the kernel answers opens.
    pub watch: WatchBy,
    /// How served names come of the source's.
    pub naming: Naming,
    /// What all random draws follow from.
    pub seed: u64,
}

/// The `[cache]` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// The folder, if one was given.
    pub path: Option<PathBuf>,
    /// The most bytes that it may take.
    pub limit: u64,
    /// Free bytes to leave on its disk.
    pub min_free: u64,
    /// The most bytes of samples at the split that a process keeps in memory.
    pub memory: u64,
    /// What is done when it is full.
    pub policy: Policy,
}

/// Free space that is left alone unless the config says otherwise: a full disk hurts more than a
/// smaller cache.
const MIN_FREE: u64 = 1 << 30;

impl Config {
    /// Reads and checks a file. Relative paths in it start at its folder.
    ///
    /// # Errors
    /// If it can't be read, or is no config; the message names file and line.
    pub fn load(file: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(file).map_err(|error| ConfigError::unread(file, &error))?;
        Config::parse(&text, file)
    }

    /// Checks a text. `file` is what errors call it, and where relative paths start.
    ///
    /// # Errors
    /// If it is no config; the message names file and line.
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let places = Places::new(text, file);
        let mut table = DeTable::parse(text).map_err(|error| places.toml(&error))?;
        let steps = steps::take(&mut table, &places)?;
        let raw = RawConfig::deserialize(toml::Deserializer::from(table))
            .map_err(|error| places.toml(&error))?;
        if raw.pipeline.is_empty() {
            return Err(places.file("no `[[pipeline]]`: there is nothing to do"));
        }

        let size = |text: &Option<Spanned<String>>, default| match text {
            None => Ok(default),
            Some(text) => {
                parse_bytes(text.get_ref()).map_err(|error| places.at(text.span(), error))
            }
        };
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut plans = Vec::new();
        let mut strategies_given = Vec::new();
        let several = raw.pipeline.len() > 1;
        for (pipeline, steps) in raw.pipeline.into_iter().zip(steps) {
            let (plan, given) = plan(pipeline, steps, raw.strategy.as_ref(), several, &places)?;
            plans.push(plan);
            strategies_given.push(given);
        }
        let revalidate = match &raw.mount.revalidate {
            None => Freshness::default().revalidate,
            Some(text) => {
                parse_duration(text.get_ref()).map_err(|error| places.at(text.span(), error))?
            }
        };
        Ok(Config {
            source: raw.source.path.map(|path| folder.join(path)),
            plans,
            strategies_given,
            cache: CacheConfig {
                limit: size(&raw.cache.limit, u64::MAX)?,
                min_free: size(&raw.cache.min_free, MIN_FREE)?,
                memory: size(&raw.cache.memory, 0)?,
                policy: raw.cache.policy.into(),
                path: raw.cache.path.map(|path| folder.join(path)),
            },
            identified_by: raw.source.identity,
            freshness: Freshness { revalidate, immutable: raw.source.immutable },
            serve: raw.mount.serve.into(),
            watch: raw.mount.watch.into(),
            naming: raw.mount.naming.into(),
            seed: raw.random.seed,
        })
    }
}

/// The plan of one `[[pipeline]]`, and whether a strategy was given for it.
fn plan(
    raw: RawPipeline,
    steps: steps::Tables<'_>,
    for_all: Option<&RawStrategy>,
    several: bool,
    places: &Places,
) -> Result<(Plan, bool), ConfigError> {
    let matcher = Matcher::new(raw.r#match.get_ref())
        .map_err(|error| places.at(raw.r#match.span(), error))?;
    let pipeline = steps::pipeline(steps, raw.output, raw.compat.as_ref(), places)?;
    let strategy = match raw.strategy.as_ref().or(for_all) {
        Some(raw) => Some(strategy(raw, &pipeline, several, places)?),
        None => None,
    };
    let given = strategy.is_some();
    let pipeline = Arc::new(pipeline);
    Ok((Plan { matcher, pipeline, strategy: strategy.unwrap_or(Strategy::NONE) }, given))
}

fn strategy(
    raw: &RawStrategy,
    pipeline: &Pipeline,
    several: bool,
    places: &Places,
) -> Result<Strategy, ConfigError> {
    let split = pipeline.split(&raw.split.get_ref().to_string()).map_err(|error| {
        let error = places.at(raw.split.span(), error);
        if several {
            error.hint("give each pipeline its own strategy: `[pipeline.strategy]` below its steps")
        } else {
            error.hint("`parbake check` shows every split, and why a step can't be one")
        }
    })?;
    let codec = match &raw.codec {
        None => Codec::None,
        Some(codec) => {
            codec.get_ref().parse().map_err(|error: String| places.at(codec.span(), error))?
        }
    };
    Ok(match split {
        Split::None => Strategy::NONE,
        split => Strategy { split, codec },
    })
}

#[cfg(test)]
mod tests;
