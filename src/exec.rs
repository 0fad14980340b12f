//! The one way a sample is made: from the cache if it is there, else from the source.
//!
//! The mount, the profiler and `materialize` all come through here, so what is profiled is what is
//! served. Nothing here knows served names, inodes, the kernel or that there is a config file.

mod error;
mod fused;
mod identity;
mod memory;
mod meter;
mod online;
mod step;
#[cfg(test)]
mod tests;
mod turns;
mod walk;

pub use error::{BadSamples, MakeError};
pub use identity::IdentifiedBy;
pub use memory::{Holds, Memory};
pub use meter::{Figures, Meter, Tally};
pub use turns::Turns;
pub use walk::Found;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::cache::{Cache, Key, Kind, META_LEN};
use crate::pipeline::{Identity, Matcher, Pipeline, PrefixDigest, Split, Strategy};
use crate::sample::{Buffer, Codec, STORED_META_LEN, Sample, Spec, restore, store, stored_spec};
use crate::source::{Source, Stat};

const _: () = assert!(META_LEN == STORED_META_LEN, "a stored sample's meta fills a cache entry's");

/// Bytes of a file that are read to learn its picture's size. Most headers are shorter; for the
/// others (a large EXIF or ICC block first) the whole file is read.
const HEAD: usize = 16 << 10;

/// A pipeline, what it is for, and the strategy it is run with.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which source files it is for.
    pub matcher: Matcher,
    /// What to do.
    pub pipeline: Arc<Pipeline>,
    /// Where it is cut, and how the offline part is kept.
    pub strategy: Strategy,
}

impl Plan {
    /// The kind of what it keeps: the same for the same offline steps and codec.
    pub fn kind(&self) -> Option<Kind> {
        let Split::After(steps) = self.strategy.split else { return None };
        let words = format!("{} {}", self.pipeline.prefix(steps), self.strategy.codec);
        Some(Kind(xxh3_64(words.as_bytes())))
    }
}

/// A sample to make: a source file as it was when it was looked at, and what to do with it.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The path within the source.
    pub path: &'a Path,
    /// The file's stat. If the file has changed since, the job fails instead of making another.
    pub stat: Stat,
    /// Which plan, by its place.
    pub plan: usize,
}

/// Makes samples.
pub struct Executor {
    source: Arc<dyn Source>,
    cache: Option<Arc<dyn Cache>>,
    memory: Option<Memory>,
    identified_by: IdentifiedBy,
    digests: identity::Digests,
    plans: Vec<Plan>,
    seed: u64,
    meter: Meter,
    bad: BadSamples,
    /// Keys in the making: one making at a time per key, the others wait for it.
    making: Mutex<HashMap<Key, Arc<Mutex<()>>>>,
    /// Whether online steps are run one by one, in no other order than that of the pipeline.
    as_written: bool,
    tables: fused::Tables,
}

/// What [`Executor::materialize`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Materialized {
    /// It was in the cache already.
    Already,
    /// It was made and kept.
    Kept,
    /// It was made, and the cache had no room for it.
    NoRoom,
}

impl Executor {
    /// An executor. Without a cache, every strategy is run as if its split were `none`.
    pub fn new(
        source: Arc<dyn Source>,
        cache: Option<Arc<dyn Cache>>,
        plans: Vec<Plan>,
        seed: u64,
    ) -> Executor {
        let meter = Meter::new(&plans.iter().map(|plan| plan.pipeline.len()).collect::<Vec<_>>());
        Executor {
            source,
            cache,
            memory: None,
            identified_by: IdentifiedBy::default(),
            digests: identity::Digests::default(),
            plans,
            seed,
            meter,
            bad: BadSamples::default(),
            making: Mutex::default(),
            as_written: false,
            tables: fused::Tables::default(),
        }
    }

    /// The same, with source files told apart so.
    #[must_use]
    pub fn identified_by(self, identified_by: IdentifiedBy) -> Executor {
        Executor { identified_by, ..self }
    }

    /// The same, with what is at the split kept in memory too.
    #[must_use]
    pub fn with_memory(self, memory: Memory) -> Executor {
        Executor { memory: Some(memory), ..self }
    }

    /// The same, running online steps one by one, in the very order of the pipeline: what all that
    /// is done otherwise is held to, bit for bit.
    #[must_use]
    pub fn as_written(self) -> Executor {
        Executor { as_written: true, ..self }
    }

    /// The plans, by place.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// The plan for the file at a path: the first one that it matches.
    pub fn plan_for(&self, path: &Path) -> Option<usize> {
        self.plans.iter().position(|plan| plan.matcher.matches(path))
    }

    /// Where raw samples come from.
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Where results are kept.
    pub fn cache(&self) -> Option<&dyn Cache> {
        self.cache.as_deref()
    }

    /// What is kept in memory.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// What has been done so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The samples that couldn't be made.
    pub fn bad_samples(&self) -> &BadSamples {
        &self.bad
    }

    /// The served file of a sample, with the random draws of `epoch`.
    ///
    /// # Errors
    /// If it can't be made; that is also noted in [`bad_samples`](Self::bad_samples).
    pub fn serve(&self, job: Job, epoch: u64) -> Result<Buffer, MakeError> {
        let served = self.meter.time(Tally::Served, || {
            let (steps, sample) = self.offline(job)?;
            let sample = self.online(job, steps, sample, epoch)?;
            Ok(self.pipeline(job).output().write(sample)?)
        });
        self.note(job, served)
    }

    /// Sees to it that the result of the offline steps is in the cache.
    ///
    /// # Errors
    /// If it can't be made; that is also noted in [`bad_samples`](Self::bad_samples).
    pub fn materialize(&self, job: Job) -> Result<Materialized, MakeError> {
        let Some((cache, steps)) = self.kept(job) else { return Ok(Materialized::NoRoom) };
        let key = match self.key(job, steps) {
            Ok(key) => key,
            Err(error) => return self.note(job, Err(error)),
        };
        if cache.meta(&key).is_some() {
            return Ok(Materialized::Already);
        }
        let made = self.alone(key, || match cache.meta(&key) {
            Some(_) => Ok(Materialized::Already),
            None => self
                .make_and_keep(job, steps, cache, &key)
                .map(|(_, kept)| if kept { Materialized::Kept } else { Materialized::NoRoom }),
        });
        self.note(job, made)
    }

    /// Whether the result of the offline steps is in the cache.
    pub fn is_cached(&self, job: Job) -> bool {
        self.kept(job).is_some_and(|(cache, steps)| {
            self.key(job, steps).is_ok_and(|key| cache.meta(&key).is_some())
        })
    }

    /// Type and shape of what is served for a sample, exact where the steps allow: from the
    /// pipeline alone, else from the cache, else from the file's header, else by making it.
    ///
    /// # Errors
    /// If the sample can't be made.
    pub fn served_spec(&self, job: Job) -> Result<Spec, MakeError> {
        if let Some(spec) = self.known_spec(job) {
            return Ok(spec);
        }
        let made = self.offline(job).and_then(|(steps, sample)| self.online(job, steps, sample, 0));
        self.note(job, made.map(|sample| sample.spec()))
    }

    /// Type and shape of what is served for a sample, if that can be told without making it.
    pub fn known_spec(&self, job: Job) -> Option<Spec> {
        let pipeline = self.pipeline(job);
        let last = pipeline.spec(pipeline.len());
        if is_exact(last) {
            return Some(last.clone());
        }
        // What is kept of raw bytes tells no more than the pipeline does.
        let cached = self.spec_from_cache(job).filter(is_exact);
        cached.or_else(|| self.spec_from_header(job).filter(is_exact))
    }

    /// Bytes of the served file, if that can be told without making it.
    pub fn known_size(&self, job: Job) -> Option<u64> {
        let pipeline = self.pipeline(job);
        if pipeline.is_empty() {
            return Some(job.stat.size);
        }
        pipeline.output().size(&self.known_spec(job)?)
    }

    /// Bytes of the served file: what [`serve`](Self::serve) gives, for every epoch.
    ///
    /// # Errors
    /// If the sample can't be made.
    pub fn served_size(&self, job: Job) -> Result<u64, MakeError> {
        let spec = self.served_spec(job)?;
        match self.pipeline(job).output().size(&spec) {
            Some(size) => Ok(size),
            None => self.serve(job, 0).map(|file| file.len() as u64),
        }
    }

    /// The bytes of a source file that no plan is for.
    ///
    /// # Errors
    /// As the file system's.
    pub fn read_plain(&self, path: &Path, offset: u64, into: &mut [u8]) -> std::io::Result<usize> {
        self.source.read_at(path, offset, into)
    }

    /// The key of the result of the offline steps; none if the plan keeps nothing, or the file can't
    /// be read for it.
    pub fn key_of(&self, job: Job) -> Option<Key> {
        match self.plans[job.plan].strategy.split {
            Split::None => None,
            Split::After(steps) => self.key(job, steps).ok(),
        }
    }

    /// The key that the result of other offline steps, kept with `codec`, would have.
    pub fn key_under(&self, job: Job, prefix: &PrefixDigest, codec: Codec) -> Option<Key> {
        Some(Key(self.identity(job).ok()?.key(prefix, codec)))
    }

    fn pipeline(&self, job: Job) -> &Pipeline {
        &self.plans[job.plan].pipeline
    }

    /// The cache and the number of offline steps, if this plan keeps anything.
    fn kept(&self, job: Job) -> Option<(&dyn Cache, usize)> {
        match self.plans[job.plan].strategy.split {
            Split::None => None,
            Split::After(steps) => Some((self.cache.as_deref()?, steps)),
        }
    }

    fn key(&self, job: Job, steps: usize) -> Result<Key, MakeError> {
        Ok(self.key_for(job, steps, &self.identity(job)?))
    }

    fn key_for(&self, job: Job, steps: usize, identity: &Identity) -> Key {
        let Plan { pipeline, strategy, .. } = &self.plans[job.plan];
        Key(identity.key(pipeline.prefix(steps), strategy.codec))
    }

    /// The sample at the split, and how many steps it has behind it.
    fn offline(&self, job: Job) -> Result<(usize, Sample), MakeError> {
        let Some((cache, steps)) = self.kept(job) else {
            return self.raw(job).map(|sample| (0, sample));
        };
        let key = self.key(job, steps)?;
        if let Some(sample) = self.memory.as_ref().and_then(|memory| memory.get(&key)) {
            self.meter.count(Tally::MemoryHit);
            return Ok((steps, sample));
        }
        let found = match self.recall(cache, &key) {
            Some(sample) => {
                self.meter.count(Tally::Hit);
                Ok((steps, sample))
            }
            None => self.made_once(job, steps, cache, key),
        };
        if let (Some(memory), Ok((_, sample))) = (&self.memory, &found) {
            memory.put(&key, sample);
        }
        found
    }

    /// The sample at the split, made by one for all that want it now.
    fn made_once(
        &self,
        job: Job,
        steps: usize,
        cache: &dyn Cache,
        key: Key,
    ) -> Result<(usize, Sample), MakeError> {
        self.alone(key, || match self.recall(cache, &key) {
            Some(sample) => {
                self.meter.count(Tally::Hit);
                Ok((steps, sample))
            }
            None => {
                self.meter.count(Tally::Miss);
                self.make_and_keep(job, steps, cache, &key).map(|(sample, _)| (steps, sample))
            }
        })
    }

    fn recall(&self, cache: &dyn Cache, key: &Key) -> Option<Sample> {
        let entry = self.meter.time_some(Tally::CacheRead, || {
            let entry = cache.get(key)?;
            let bytes = entry.body.len();
            Some((entry, bytes))
        })?;
        let restored = self.meter.time_some(Tally::Decompress, || {
            let restored = restore(&entry.meta, entry.body);
            let bytes = restored.as_ref().map_or(0, Sample::len);
            Some((restored, bytes))
        })?;
        restored
            .inspect_err(|error| log::warn!("an entry of the cache is made again: {error}"))
            .ok()
    }

    fn make_and_keep(
        &self,
        job: Job,
        steps: usize,
        cache: &dyn Cache,
        key: &Key,
    ) -> Result<(Sample, bool), MakeError> {
        let mut sample = self.raw(job)?;
        for (at, step) in self.pipeline(job).fixed()[..steps].iter().enumerate() {
            sample = self.step(job, at, step.name, || step.map.map(sample))?;
        }
        let stored = self.meter.time_some(Tally::Compress, || {
            let stored = store(&sample, self.plans[job.plan].strategy.codec);
            let bytes = stored.body.bytes().len();
            Some((stored, bytes))
        });
        let kind = self.plans[job.plan].kind().unwrap_or(Kind::UNKNOWN);
        let kept = stored.is_some_and(|stored| {
            self.meter
                .time_some(Tally::CacheWrite, || {
                    let body = stored.body.bytes();
                    Some((cache.put_as(kind, key, &stored.meta, body), body.len()))
                })
                .unwrap_or(false)
        });
        Ok((sample, kept))
    }

    fn raw(&self, job: Job) -> Result<Sample, MakeError> {
        let (stat, bytes) = self.meter.time_result(Tally::SourceRead, || {
            let (stat, bytes) = self.source.read(job.path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::Interrupted => MakeError::Changed,
                _ => error.into(),
            })?;
            let len = bytes.len();
            Ok::<_, MakeError>(((stat, bytes), len))
        })?;
        if stat != job.stat {
            return Err(MakeError::Changed);
        }
        Ok(Sample::Bytes(bytes))
    }

    fn spec_from_cache(&self, job: Job) -> Option<Spec> {
        let (cache, steps) = self.kept(job)?;
        // A file isn't read to tell its size.
        let key = self.key_for(job, steps, &self.known_identity(job)?);
        let meta = cache.meta(&key)?;
        self.pipeline(job).spec_from(steps, stored_spec(&meta).ok()?).ok()
    }

    fn spec_from_header(&self, job: Job) -> Option<Spec> {
        let decode = &self.pipeline(job).fixed().first()?.map;
        let size = usize::try_from(job.stat.size).ok()?;
        let mut head = Buffer::for_overwrite(size.min(HEAD));
        if self.source.read_at(job.path, 0, &mut head).ok()? != head.len() {
            return None;
        }
        let probed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            decode.probe(&head).or_else(|| {
                let whole = (size > HEAD).then(|| self.source.read(job.path).ok()).flatten()?;
                decode.probe(&whole.1)
            })
        }));
        self.pipeline(job).spec_from(1, probed.ok()??).ok()
    }

    /// Runs `make` while nobody else does for the same key.
    fn alone<T>(&self, key: Key, make: impl FnOnce() -> T) -> T {
        let lock = Arc::clone(self.making.lock().entry(key).or_default());
        let turn = lock.lock();
        let made = make();
        drop(turn);
        let mut making = self.making.lock();
        // Given up before the owners are counted, and both while nobody else can: of two calls
        // that end at once, the last one sees that it is the last.
        drop(lock);
        if making.get(&key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            making.remove(&key);
        }
        made
    }

    fn note<T>(&self, job: Job, made: Result<T, MakeError>) -> Result<T, MakeError> {
        match &made {
            Ok(_) => self.bad.forget(job.path),
            Err(error) => {
                self.meter.count(Tally::Error);
                self.bad.note(job.path, error);
            }
        }
        made
    }
}

/// Whether a spec says everything about a sample: nothing about raw bytes is left open.
fn is_exact(spec: &Spec) -> bool {
    spec.array().is_none_or(|array| array.shape().is_some())
}
