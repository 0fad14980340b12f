//! One sample, made by parbake and by the reference: what differs, from which step on, and how long
//! both take.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::super::say::Failure;
use super::compare::{Apart, apart};
use super::prefix::Prefixes;
use super::python::Python;
use super::report::{self, Difference, Report, What};
use crate::exec::{Found, Job, MakeError};
use crate::sample::{ArraySpec, Buffer};
use crate::source::Source;

/// Every sample has its own draws anyway.
const EPOCH: u64 = 0;

/// Times that each is timed; the median isn't moved by one that was disturbed.
const ROUNDS: usize = 3;

/// The samples of a plan.
pub(super) struct Set<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) folder: &'a Path,
    pub(super) samples: &'a [Found],
}

/// Compares one sample, and times both.
pub(super) fn verify(
    python: &mut Python,
    set: &Set,
    found: &Found,
    prefixes: &Prefixes,
    report: &mut Report,
) -> Result<(), Failure> {
    let difference_of = |what| Difference { path: found.path.clone(), what };
    let job = match found.job(set.source) {
        Ok(job) => job,
        Err(error) => {
            log::warn!("{}: {error}", found.path.display());
            report.neither += 1;
            return Ok(());
        }
    };
    let last = prefixes.len();
    let ours = ours(prefixes, last, job);
    let photo = Photo::of(set, found);
    let steps = match prefixes.told(job, EPOCH) {
        Ok(steps) => steps,
        Err(error) => {
            let before = prefixes.before_random();
            let fixed = self::ours(prefixes, before.len(), job);
            match (fixed, photo.ask(python, &before, true)?) {
                // Then it is no random step that is in the way.
                (Err(_), Err(_)) => report.neither += 1,
                (Err(cause), Ok(_)) => {
                    report.differences.push(difference_of(What::OnlyReference(cause)));
                }
                (Ok(_), _) => {
                    let path = found.path.display();
                    log::warn!("left out: {path}: its draw can't be told: {error}");
                    report.left_out += 1;
                }
            }
            return Ok(());
        }
    };
    let theirs = photo.ask(python, &steps, true)?;
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) => {
            report.neither += 1;
            return Ok(());
        }
        (Err(cause), Ok(_)) => {
            report.differences.push(difference_of(What::OnlyReference(cause)));
            return Ok(());
        }
        (Ok(_), Err(cause)) => {
            report.differences.push(difference_of(What::OnlyParbake(cause)));
            return Ok(());
        }
    };
    report.both += 1;
    match difference(&ours, &theirs) {
        Compared::Same(of) => report.count(of, 0),
        Compared::Pixels(apart) => {
            report.count(apart.of, apart.pixels);
            let first = first_difference(python, &photo, prefixes, job, &steps)?;
            report.differences.push(difference_of(What::Pixels { apart, first }));
        }
        Compared::Shape(words) => {
            let first = first_difference(python, &photo, prefixes, job, &steps)?;
            report.differences.push(difference_of(What::Shape { words, first }));
        }
    }
    let (mut mine, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let since = cpu_time().map_err(no_clock)?;
        // It was made a moment ago; if it can't be any more, its time is that of finding out.
        let _ = prefixes.serve(last, job, EPOCH);
        mine.push((cpu_time().map_err(no_clock)? - since) as f64);
        if let Ok(made) = photo.ask(python, &steps, false)? {
            reference.push(made.nanoseconds);
        }
    }
    report.times.push((report::median(&mine), report::median(&reference)));
    Ok(())
}

/// What parbake makes of it.
struct Ours {
    spec: Option<ArraySpec>,
    elements: Buffer,
}

fn ours(prefixes: &Prefixes, steps: usize, job: Job) -> Result<Ours, String> {
    let made = || {
        let elements = prefixes.serve(steps, job, EPOCH)?;
        Ok(Ours { spec: prefixes.spec(steps, job)?, elements })
    };
    made().map_err(|error: MakeError| error.to_string())
}

/// What the reference makes of it.
struct Theirs {
    nanoseconds: f64,
    dtype: String,
    shape: Vec<usize>,
    elements: Vec<u8>,
}

/// A sample as the reference is asked for it.
struct Photo {
    /// A character for each byte, since not every path is text.
    path: String,
    about: String,
}

impl Photo {
    fn of(set: &Set, found: &Found) -> Photo {
        let path = set.folder.join(&found.path);
        Photo {
            path: path.as_os_str().as_bytes().iter().map(|byte| char::from(*byte)).collect(),
            about: format!("while making {}", found.path.display()),
        }
    }

    /// Makes it, or says why it can't.
    fn ask(
        &self,
        python: &mut Python,
        steps: &[Value],
        send: bool,
    ) -> Result<Result<Theirs, String>, Failure> {
        let question = json!({ "make": self.path, "steps": steps, "send": send });
        let (told, elements) = python.ask(&question, &self.about)?;
        if let Some(cause) = told["cause"].as_str() {
            return Ok(Err(cause.to_owned()));
        }
        let shape = told["shape"].as_array().into_iter().flatten();
        Ok(Ok(Theirs {
            nanoseconds: told["ns"].as_f64().unwrap_or(0.0),
            dtype: told["dtype"].as_str().unwrap_or_default().to_owned(),
            shape: shape.filter_map(|n| Some(n.as_u64()? as usize)).collect(),
            elements,
        }))
    }
}

/// What comparing two came to.
enum Compared {
    /// Nothing differs; so many pixels were compared.
    Same(u64),
    Pixels(Apart),
    /// Not even type or shape is the same.
    Shape(String),
}

fn difference(ours: &Ours, theirs: &Theirs) -> Compared {
    let spec = ours.spec.as_ref();
    let shape = spec.and_then(ArraySpec::shape).unwrap_or_default();
    let dtype = spec.map(|spec| spec.dtype.name()).unwrap_or_default();
    let sizes = (ours.elements.len(), theirs.elements.len());
    match spec {
        Some(spec) if dtype == theirs.dtype && shape == theirs.shape && sizes.0 == sizes.1 => {
            match apart(spec, &ours.elements, &theirs.elements) {
                Apart { pixels: 0, of, .. } => Compared::Same(of),
                apart => Compared::Pixels(apart),
            }
        }
        _ => Compared::Shape(format!(
            "parbake makes {dtype} {shape:?}, the reference {} {:?}",
            theirs.dtype, theirs.shape
        )),
    }
}

/// The first step after which something differs.
fn first_difference(
    python: &mut Python,
    photo: &Photo,
    prefixes: &Prefixes,
    job: Job,
    steps: &[Value],
) -> Result<usize, Failure> {
    for number in 1..prefixes.len() {
        let Ok(ours) = ours(prefixes, number, job) else { return Ok(number) };
        let Ok(theirs) = photo.ask(python, &steps[..number], true)? else { return Ok(number) };
        if !matches!(difference(&ours, &theirs), Compared::Same(_)) {
            return Ok(number);
        }
    }
    Ok(prefixes.len())
}

/// CPU time that this thread has had so far, in nanoseconds.
fn cpu_time() -> io::Result<i64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

fn no_clock(error: io::Error) -> Failure {
    Failure::new(format_args!("cannot read the thread's CPU time: {error}"))
}
