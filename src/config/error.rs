//! Errors that point at a line of the file, with a hint at the way out where there is one.

use std::fmt::{self, Display};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is wrong with a config, and where: `set.toml:14: step 3 `resize` …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: PathBuf,
    /// Counted from 1; `None` if it is about the whole file.
    line: Option<usize>,
    message: String,
    hint: Option<String>,
}

impl ConfigError {
    pub(super) fn unread(file: &Path, error: &io::Error) -> ConfigError {
        let message = format!("cannot read the config: {error}");
        ConfigError { file: file.to_owned(), line: None, message, hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub(super) fn hint(self, hint: impl Into<String>) -> ConfigError {
        ConfigError { hint: Some(hint.into()), ..self }
    }

    /// The same, said of a step.
    #[must_use]
    pub(super) fn in_step(self, number: usize, name: &str) -> ConfigError {
        ConfigError { message: format!("step {number} `{name}`: {}", self.message), ..self }
    }

    /// The way out, if one is known.
    pub fn way_out(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Turns places in a text into lines.
pub(super) struct Places<'a> {
    text: &'a str,
    file: &'a Path,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str, file: &'a Path) -> Places<'a> {
        Places { text, file }
    }

    pub(super) fn at(&self, span: Range<usize>, message: impl Display) -> ConfigError {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError { line: Some(line), ..self.file(message) }
    }

    pub(super) fn file(&self, message: impl Display) -> ConfigError {
        let message = message.to_string();
        ConfigError { file: self.file.to_owned(), line: None, message, hint: None }
    }

    pub(super) fn toml(&self, error: &toml::de::Error) -> ConfigError {
        match error.span() {
            Some(span) => self.toml_at(span, error),
            None => self.file(in_words(error.message())),
        }
    }

    /// Where an unknown key has a near known one, the hint says so.
    pub(super) fn toml_at(&self, span: Range<usize>, error: &toml::de::Error) -> ConfigError {
        let placed = self.at(span, in_words(error.message()));
        match suggestion(error.message()) {
            Some(hint) => placed.hint(hint),
            None => placed,
        }
    }
}

/// Types as people call them: serde says "expected i64".
fn in_words(message: &str) -> String {
    let Some((before, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "i64" | "u64" | "u32" => "a whole number",
        "f64" => "a number",
        "a sequence" => "a list",
        other => other,
    };
    format!("{before}, expected {expected}")
}

/// serde says "unknown field `a`, expected `b`" or "…, expected one of `b`, `c`", and the same of
/// variants. Tests of the whole way hold that form.
fn suggestion(message: &str) -> Option<String> {
    let unknown = ["unknown field", "unknown variant"].iter().any(|form| message.starts_with(form));
    let mut quoted = message.split('`').skip(1).step_by(2);
    let got = quoted.next().filter(|_| unknown)?;
    nearest(got, quoted).map(|near| format!("did you mean `{near}`?"))
}

/// The known word that `word` was most likely meant to be: the most alike, else the only one whose
/// letters are all in it in their order (`npy` in `numpy`) or that has all of its.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Two words that have less than this in common are not a typing error of one another; at
    /// 0.7, `widht` finds `width` and `colour` doesn't find `codec`.
    const ALIKE: f64 = 0.7;
    let known: Vec<&str> = known.collect();
    let alike = known
        .iter()
        .map(|other| (strsim::jaro_winkler(word, other), *other))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, other)) = alike {
        return Some(other);
    }
    let mut within =
        known.into_iter().filter(|other| is_within(other, word) || is_within(word, other));
    within.next().filter(|_| within.next().is_none())
}

/// Whether the letters of a word of at least three are all in another, in their order.
fn is_within(short: &str, long: &str) -> bool {
    let mut rest = long.chars();
    short.len() >= 3 && short.chars().all(|letter| rest.any(|other| other == letter))
}
