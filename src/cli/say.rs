//! Saying things: data on stdout, talk on stderr, errors with their hint, progress on a terminal.

use std::collections::HashSet;
use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;

use crate::config::ConfigError;
use crate::units::{count, duration, rate};

/// Why a command ended early.
pub(super) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// What is in the way of doing it.
    pub(super) fn new(message: impl Display) -> Failure {
        Failure { code: 1, message: message.to_string(), hint: None }
    }

    /// A wrong command line or config.
    pub(super) fn usage(message: impl Display) -> Failure {
        Failure { code: 2, ..Failure::new(message) }
    }

    pub(super) fn hint(self, hint: impl Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    pub(super) fn report(self) -> ExitCode {
        talk(format_args!("error: {}", self.message));
        if let Some(hint) = self.hint {
            talk(format_args!("hint: {hint}"));
        }
        ExitCode::from(self.code)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        let failure = Failure::usage(&error);
        match error.way_out() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What a command comes to.
pub(super) type Done = Result<ExitCode, Failure>;

/// Data, on stdout. A reader that has seen enough is no failure.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format_args!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// The bar that is on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Talk, on stderr, above a bar if there is one. Where nobody listens, there is nothing to be done
/// about it.
pub(super) fn talk(line: impl Display) {
    let say = || {
        let _ = writeln!(io::stderr().lock(), "{line}");
    };
    let bar = BAR.lock().clone();
    match bar {
        Some(bar) => bar.suspend(say),
        None => say(),
    }
}

struct StderrLog;

/// The lines that were logged, while none is to be logged twice.
static LOGGED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// From now on, what was logged before isn't logged again: for a command that does the same to the
/// same samples many times.
pub(super) fn log_each_line_once() {
    *LOGGED.lock() = Some(HashSet::new());
}

impl Log for StderrLog {
    fn enabled(&self, metadata: &Metadata) -> bool {
        // fuser warns of an unmount that somebody else has done: that is how ours end.
        metadata.level() <= log::max_level()
            && (log::max_level() > LevelFilter::Warn
                || !metadata.target().starts_with("fuser")
                || metadata.level() == Level::Error)
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let level = match record.level() {
                Level::Error => "error",
                Level::Warn => "warning",
                Level::Info => "info",
                Level::Debug | Level::Trace => "debug",
            };
            let line = format!("{level}: {}", record.args());
            let known = LOGGED.lock().as_mut().is_some_and(|lines| !lines.insert(line.clone()));
            if !known {
                talk(line);
            }
        }
    }

    fn flush(&self) {}
}

pub(super) fn start_log(verbose: bool) {
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Warn });
    // Fails only if a log was set before, and then there is one.
    let _ = log::set_logger(&StderrLog);
}

/// How far a long piece of work is: a bar on a terminal, a line now and then elsewhere. Of work
/// that is done at once, nothing is shown.
pub(super) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    started: Instant,
    shown: Mutex<Shown>,
}

/// What has been shown so far.
enum Shown {
    /// Nothing yet, on a terminal.
    NoBar,
    /// The bar.
    Bar,
    /// Lines, where there is no terminal; the last one was written then.
    Line(Instant),
}

/// Work that takes less needs no progress.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

impl Progress {
    /// For `total` pieces; 0 if that isn't known. `what` they are, in the plural.
    pub(super) fn new(what: &'static str, total: usize) -> Progress {
        let total = (total > 0).then_some(total as u64);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = if total.is_some() {
            "{bar:30} {human_pos}/{human_len} {msg}  {pace}  {eta} left"
        } else {
            "{spinner} {human_pos} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let pace = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // A bar without its pace is a bar.
                let _ = out.write_str(&rate(state.per_sec()));
            };
            bar.set_style(style.with_key("pace", pace));
        }
        bar.set_message(what);
        let started = Instant::now();
        let shown = if io::stderr().is_terminal() { Shown::NoBar } else { Shown::Line(started) };
        Progress { bar, what, started, shown: Mutex::new(shown) }
    }

    /// So many are done now.
    pub(super) fn at(&self, done: usize) {
        self.bar.set_position(done as u64);
        self.show(done);
    }

    /// What is being done right now.
    pub(super) fn doing(&self, what: impl Display) {
        self.bar.set_message(what.to_string());
    }

    /// Takes the bar away.
    pub(super) fn end(self) {
        *BAR.lock() = None;
        self.bar.finish_and_clear();
    }

    fn show(&self, done: usize) {
        // Whoever holds it shows something right now.
        let Some(mut shown) = self.shown.try_lock() else { return };
        match &mut *shown {
            Shown::NoBar if self.started.elapsed() >= AT_ONCE => {
                self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
                *BAR.lock() = Some(self.bar.clone());
                *shown = Shown::Bar;
            }
            Shown::Line(last) if last.elapsed() >= BETWEEN_LINES => {
                *last = Instant::now();
                talk(self.line(done));
            }
            _ => {}
        }
    }

    fn line(&self, done: usize) -> String {
        let (what, total) = (self.what, self.bar.length().unwrap_or(0));
        let counted = count(done as u64);
        if total == 0 {
            return format!("{counted} {what}");
        }
        let pace = done as f64 / self.started.elapsed().as_secs_f64();
        let mut line = format!("{counted}/{} {what}  {}", count(total), rate(pace));
        if pace > 0.0 {
            let left = total.saturating_sub(done as u64) as f64 / pace;
            let _ = write!(line, "  {} left", duration(left));
        }
        line
    }
}
