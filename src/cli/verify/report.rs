//! What was compared and what differs, as a text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::compare::Apart;
use crate::units::count;

/// The most differences that the text lists; JSON has all.
const MOST_LISTED: usize = 20;

/// A pipeline's figures.
pub(super) struct Report {
    /// Its globs.
    pub(super) patterns: Vec<String>,
    /// Samples of the set.
    population: usize,
    /// The steps' names.
    names: Vec<&'static str>,
    /// How many of them, from the first on, are compared.
    pub(super) compared: usize,
    /// The first that isn't, counted from 1, and why.
    why_not: Option<(usize, String)>,
    /// Parameters that the reference goes on without: step and name.
    pub(super) unknown: Vec<(usize, String)>,
    /// Samples that both could make.
    pub(super) both: usize,
    /// Samples that neither could.
    pub(super) neither: usize,
    /// Samples whose draw can't be told.
    pub(super) left_out: usize,
    /// Everything that isn't the same.
    pub(super) differences: Vec<Difference>,
    /// Nanoseconds of CPU time for a sample: parbake's and the reference's.
    pub(super) times: Vec<(f64, f64)>,
    pixels: u64,
    pixels_differing: u64,
}

/// A sample that isn't the same.
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) what: What,
}

/// How it differs. `first` is the step after which it did for the first time.
pub(super) enum What {
    Pixels {
        apart: Apart,
        first: usize,
    },
    Shape {
        words: String,
        first: usize,
    },
    /// parbake can't make it, and why.
    OnlyReference(String),
    /// The reference can't make it, and why.
    OnlyParbake(String),
}

impl What {
    fn first(&self) -> Option<usize> {
        match self {
            What::Pixels { first, .. } | What::Shape { first, .. } => Some(*first),
            What::OnlyReference(_) | What::OnlyParbake(_) => None,
        }
    }
}

/// The line that says what the reference is.
pub(super) fn reference(versions: &Value) -> String {
    let version = |key: &str| versions[key].as_str().unwrap_or("?");
    let torchvision = match versions["torchvision"].as_str() {
        Some(version) => format!("torchvision {version}"),
        None => "without torchvision: its arithmetic by NumPy".to_owned(),
    };
    let mut line = format!(
        "reference  Pillow {} (libjpeg {}), NumPy {}, {torchvision}\n",
        version("pillow"),
        version("libjpeg"),
        version("numpy"),
    );
    let major = version("pillow").split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < 13) {
        line.push_str(
            "           before Pillow 13, `resize` did its passes in another order: pixels may differ by 1\n",
        );
    }
    line
}

impl Report {
    pub(super) fn new(
        patterns: Vec<String>,
        population: usize,
        names: Vec<&'static str>,
        compared: usize,
        why_not: Option<(usize, String)>,
    ) -> Report {
        Report {
            patterns,
            population,
            names,
            compared,
            why_not,
            unknown: Vec::new(),
            both: 0,
            neither: 0,
            left_out: 0,
            differences: Vec::new(),
            times: Vec::new(),
            pixels: 0,
            pixels_differing: 0,
        }
    }

    /// Whether no sample was made by both, and none by one alone.
    pub(super) fn none(&self) -> bool {
        self.both == 0 && self.differences.is_empty()
    }

    /// Counts the pixels of a sample.
    pub(super) fn count(&mut self, of: u64, differing: u64) {
        self.pixels += of;
        self.pixels_differing += differing;
    }

    fn one_side(&self) -> usize {
        self.differences.iter().filter(|one| one.what.first().is_none()).count()
    }

    fn different(&self) -> usize {
        self.differences.len() - self.one_side()
    }

    /// The largest difference of two values.
    fn most(&self) -> f64 {
        let most = |one: &Difference| match &one.what {
            What::Pixels { apart, .. } => apart.most,
            _ => 0.0,
        };
        self.differences.iter().map(most).fold(0.0, f64::max)
    }

    /// How many samples differ for the first time after each step.
    fn first(&self) -> BTreeMap<usize, usize> {
        let mut first = BTreeMap::new();
        for number in self.differences.iter().filter_map(|one| one.what.first()) {
            *first.entry(number).or_default() += 1;
        }
        first
    }

    /// Medians of the CPU time of a sample in milliseconds: parbake's and the reference's.
    fn milliseconds(&self) -> Option<(f64, f64)> {
        let of = |side: fn(&(f64, f64)) -> f64| {
            median(&self.times.iter().map(side).collect::<Vec<_>>()) / 1e6
        };
        (!self.times.is_empty()).then(|| (of(|times| times.0), of(|times| times.1)))
    }

    fn step(&self, number: usize) -> String {
        format!("step {number} `{}`", self.names.get(number - 1).copied().unwrap_or("?"))
    }

    pub(super) fn text(&self, number: usize) -> String {
        let mut out = format!("\npipeline {number}  {}\n", self.patterns.join(" "));
        let mut row = |name: &str, text: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {name:<12}{text}");
        };
        let steps = match (self.compared, self.names.len()) {
            (0, made) => format!("none of {made} steps"),
            (all, made) if made == all => format!("all {made} steps"),
            (some, made) => format!("{some} of {made} steps, up to {}", self.step(some)),
        };
        row("compared", &steps);
        if let Some((number, why)) = &self.why_not {
            row("", &format!("not compared: {} and what follows: {why}", self.step(*number)));
        }
        for (number, name) in &self.unknown {
            let step = self.step(*number);
            row("", &format!("the reference knows no `{name}` of {step} and goes on without"));
        }
        if self.compared == 0 {
            return out;
        }
        let different = self.different();
        let mut samples = format!(
            "{} of {}: {} equal, {} different",
            count((self.both + self.neither + self.left_out + self.one_side()) as u64),
            count(self.population as u64),
            count((self.both - different) as u64),
            count(different as u64),
        );
        for (some, words) in [
            (self.one_side(), "made by one side alone"),
            (self.neither, "made by neither"),
            (self.left_out, "left out"),
        ] {
            if some > 0 {
                // Writing to a string cannot fail.
                let _ = write!(samples, ", {} {words}", count(some as u64));
            }
        }
        row("samples", &samples);
        let pixels = match self.pixels_differing {
            0 => format!("all {} equal, bit for bit", count(self.pixels)),
            differing => format!(
                "{} of {} differ ({:.3} %), by at most {}",
                count(differing),
                count(self.pixels),
                100.0 * differing as f64 / self.pixels as f64,
                amount(self.most()),
            ),
        };
        row("pixels", &pixels);
        for (number, samples) in self.first() {
            let differ = if samples == 1 { "sample differs" } else { "samples differ" };
            let samples = count(samples as u64);
            row("", &format!("{samples} {differ} from {} on", self.step(number)));
        }
        if let Some((ours, theirs)) = self.milliseconds() {
            let times = theirs / ours;
            let text = format!("parbake {ours:.2} ms, reference {theirs:.2} ms: {times:.1}x");
            row("CPU time", &format!("{text} (a sample, median, on one thread)"));
        }
        for one in self.differences.iter().take(MOST_LISTED) {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  differs: {}: {}", one.path.display(), self.words(&one.what));
        }
        let more = self.differences.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  and {} more: `--json` has all", count(more as u64));
        }
        out
    }

    fn words(&self, what: &What) -> String {
        match what {
            What::Pixels { apart: Apart { pixels, of, most }, first } => format!(
                "{} of {} pixels, by at most {}, from {} on",
                count(*pixels),
                count(*of),
                amount(*most),
                self.step(*first)
            ),
            What::Shape { words, first } => format!("{words}, from {} on", self.step(*first)),
            What::OnlyReference(cause) => format!("parbake can't make it: {cause}"),
            What::OnlyParbake(cause) => format!("the reference can't make it: {cause}"),
        }
    }

    /// The same for a script; docs/VERIFY.md describes it.
    pub(super) fn json(&self) -> Value {
        let step = |number: usize| json!({ "number": number, "name": self.names.get(number - 1) });
        let difference = |one: &Difference| {
            let (pixels, of, most) = match &one.what {
                What::Pixels { apart, .. } => {
                    (Some(apart.pixels), Some(apart.of), Some(apart.most))
                }
                _ => (None, None, None),
            };
            let cause = match &one.what {
                What::Pixels { .. } => None,
                What::Shape { words, .. } => Some(words),
                What::OnlyReference(cause) | What::OnlyParbake(cause) => Some(cause),
            };
            json!({
                "path": one.path.to_string_lossy(),
                "made_by": match one.what {
                    What::OnlyReference(_) => "reference",
                    What::OnlyParbake(_) => "parbake",
                    _ => "both",
                },
                "first_step": one.what.first().map(step),
                "pixels": of,
                "differing": pixels,
                "largest": most,
                "cause": cause,
            })
        };
        let milliseconds = self.milliseconds();
        json!({
            "match": self.patterns,
            "steps": self.names,
            "compared_steps": self.compared,
            "not_compared": self.why_not.as_ref().map(|(number, why)| {
                json!({ "step": step(*number), "why": why })
            }),
            "ignored_parameters": self.unknown.iter().map(|(number, name)| {
                json!({ "step": step(*number), "parameter": name })
            }).collect::<Vec<_>>(),
            "set": self.population,
            "samples": self.both + self.neither + self.left_out + self.one_side(),
            "equal": self.both - self.different(),
            "different": self.different(),
            "made_by_one": self.one_side(),
            "made_by_neither": self.neither,
            "left_out": self.left_out,
            "pixels": self.pixels,
            "differing_pixels": self.pixels_differing,
            "largest_difference": self.most(),
            "cpu_ms": milliseconds.map(|(ours, theirs)| {
                json!({ "parbake": ours, "reference": theirs })
            }),
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// A difference of values, short.
fn amount(most: f64) -> String {
    match most {
        _ if most.fract() == 0.0 && most < 1e6 => format!("{most}"),
        0.001..1e6 => format!("{most:.3}"),
        _ => format!("{most:.1e}"),
    }
}

/// The middle value; 0 if there is none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
