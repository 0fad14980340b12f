//! Saying things: data on stdout, talk on stderr, errors with their hint, progress on a terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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

/// Talk, on stderr. Where nobody listens, there is nothing to be done about it.
pub(super) fn talk(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

struct StderrLog;

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
            talk(format_args!("{level}: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

pub(super) fn start_log(verbose: bool) {
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Warn });
    // Fails only if a log was set before, and then there is one.
    let _ = log::set_logger(&StderrLog);
}

/// How far a long piece of work is: a bar on a terminal, a line now and then elsewhere.
pub(super) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    started: Instant,
    /// When a line was last written, where there is no bar.
    lines: Option<Mutex<Instant>>,
}

/// Between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

impl Progress {
    /// For `total` pieces; 0 if that isn't known. `what` they are, in the plural.
    pub(super) fn new(what: &'static str, total: usize) -> Progress {
        let terminal = io::stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr_with_hz(8)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target((total > 0).then_some(total as u64), target);
        let template = if total > 0 {
            "{bar:30} {human_pos}/{human_len} {msg}  {per_sec}  {eta} left"
        } else {
            "{spinner} {human_pos} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        let started = Instant::now();
        Progress { bar, what, started, lines: (!terminal).then(|| Mutex::new(started)) }
    }

    /// So many are done now.
    pub(super) fn at(&self, done: usize) {
        self.bar.set_position(done as u64);
        if let Some(last) = &self.lines {
            let mut last = last.lock();
            if last.elapsed() >= BETWEEN_LINES {
                *last = Instant::now();
                self.line(done);
            }
        }
    }

    fn line(&self, done: usize) {
        let elapsed = self.started.elapsed().as_secs_f64();
        let pace = done as f64 / elapsed;
        let total = self.bar.length().unwrap_or(0) as usize;
        if total > 0 {
            let left = if pace > 0.0 { total.saturating_sub(done) as f64 / pace } else { 0.0 };
            let (done, total) = (count(done as u64), count(total as u64));
            talk(format_args!(
                "{done}/{total} {}  {}  {} left",
                self.what,
                rate(pace),
                duration(left)
            ));
        } else {
            talk(format_args!("{} {}", count(done as u64), self.what));
        }
    }

    /// What is being done right now.
    pub(super) fn doing(&self, what: impl Display) {
        self.bar.set_message(what.to_string());
    }

    /// Takes the bar away.
    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }
}
