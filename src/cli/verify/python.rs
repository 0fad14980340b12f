//! A Python that runs the reference, and talking to it: one question, one answer, each in its time.
//!
//! It knows messages, not what is in them; `reference.py` says what they look like.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::super::say::Failure;
use crate::sample::MAX_SAMPLE_BYTES;

const REFERENCE: &str = include_str!("reference.py");

/// More JSON than any answer has.
const MOST_TEXT: usize = 1 << 20;

/// What is kept of what the Python says on stderr: its last words tell why it ended.
const LAST_WORDS: usize = 4 << 10;

/// How long one that has said goodbye may take to go.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// An answer: what it says, and the bytes that follow.
type Answer = (Value, Vec<u8>);

/// A running reference.
pub(super) struct Python {
    name: String,
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<io::Result<Answer>>,
    /// Its last words, once it has ended.
    errors: Receiver<Vec<u8>>,
    patience: Duration,
    /// What it said it is.
    pub(super) versions: Value,
}

/// The Python to take: the one that is named, else the environment's word, else the one in `PATH`.
fn chosen(named: Option<&Path>) -> OsString {
    let from_environment =
        || std::env::var_os("PARBAKE_PYTHON").filter(|python| !python.is_empty());
    named
        .map(|python| python.as_os_str().to_owned())
        .or_else(from_environment)
        .unwrap_or_else(|| OsStr::new("python3").to_owned())
}

const NAME_ONE: &str =
    "name a Python that has Pillow and NumPy: `--python PATH`, or PARBAKE_PYTHON";

impl Python {
    /// Starts one and sees that it has what it needs.
    pub(super) fn start(named: Option<&Path>, patience: Duration) -> Result<Python, Failure> {
        let python = chosen(named);
        let name = python.display().to_string();
        let started = Command::new(&python)
            .arg("-c")
            .arg(REFERENCE)
            // Ctrl-C is for us: it gets to know by its end of the pipe.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            Failure::new(format_args!("cannot start the Python `{name}`: {error}")).hint(NAME_ONE)
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(Failure::new(format_args!("the Python `{name}` has no pipes")));
        };
        let (tell, answers) = channel();
        std::thread::spawn(move || read_answers(stdout, &|answer| tell.send(answer).is_ok()));
        let (tell, errors) = channel();
        // Nobody listens if all goes well.
        std::thread::spawn(move || tell.send(last_words(stderr)));
        let versions = Value::Null;
        let mut python = Python { name, child, stdin, answers, errors, patience, versions };
        python.versions = python.answer("while it started")?.0;
        python.refuse_missing()?;
        Ok(python)
    }

    fn refuse_missing(&self) -> Result<(), Failure> {
        let Some(missing) = self.versions["missing"].as_array() else { return Ok(()) };
        let packages: Vec<&str> = missing.iter().filter_map(|one| one[0].as_str()).collect();
        let causes: Vec<&str> = missing.iter().filter_map(|one| one[1].as_str()).collect();
        let (name, version) = (&self.name, self.versions["python"].as_str().unwrap_or("?"));
        let words = packages.join(" and ");
        let packages = packages.join(" ");
        Err(Failure::new(format_args!(
            "the Python `{name}` ({version}) has no {words}: {}",
            causes.join("; ")
        ))
        .hint(format_args!("`{name} -m pip install {packages}`; or {NAME_ONE}")))
    }

    /// Asks, and waits for the answer. `about` is what for, as in "while making a.jpg".
    pub(super) fn ask(&mut self, question: &Value, about: &str) -> Result<Answer, Failure> {
        let text = question.to_string();
        let mut message = (text.len() as u32).to_le_bytes().to_vec();
        message.extend_from_slice(text.as_bytes());
        // One that has ended doesn't hear it, and gives no answer either.
        let _ = self.stdin.write_all(&message);
        self.answer(about)
    }

    fn answer(&mut self, about: &str) -> Result<Answer, Failure> {
        match self.answers.recv_timeout(self.patience) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.ended(about))
            }
            Ok(Err(error)) => Err(Failure::new(format_args!(
                "the Python `{}` gave an answer that can't be read, {about}: {error}",
                self.name
            ))
            .hint(NAME_ONE)),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended(about)),
            Err(RecvTimeoutError::Timeout) => Err(Failure::new(format_args!(
                "the Python `{}` gave no answer in {} s, {about}",
                self.name,
                self.patience.as_secs()
            ))
            .hint("give it more with `--timeout SECONDS`")),
        }
    }

    /// Ends it, with whatever it has started: it has nothing to lose. Of one that was waited for
    /// already, there is nothing left.
    fn kill(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = Pid::from_raw(self.child.id() as i32);
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    fn ended(&mut self, about: &str) -> Failure {
        // It has closed its end of the pipe and is about to end. If it stays, then for nothing of
        // ours.
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < LAST_MOMENT {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        let how = self.child.wait().map_or_else(|error| error.to_string(), |how| how.to_string());
        let words = self.errors.recv_timeout(LAST_MOMENT).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let last = words.trim().lines().next_back().unwrap_or("it said nothing");
        Failure::new(format_args!("the Python `{}` ended ({how}), {about}: {last}", self.name))
            .hint(NAME_ONE)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Hands every answer over, until there are no more or nobody wants them.
fn read_answers(mut from: ChildStdout, hand_over: &dyn Fn(io::Result<Answer>) -> bool) {
    loop {
        let answer = read_answer(&mut from);
        let last = answer.is_err();
        if !hand_over(answer) || last {
            return;
        }
    }
}

fn read_answer(from: &mut impl Read) -> io::Result<Answer> {
    let too_long = || io::Error::new(io::ErrorKind::InvalidData, "it is longer than any answer");
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_TEXT {
        return Err(too_long());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    let told: Value = serde_json::from_slice(&text)?;
    let bytes = told["bytes"].as_u64().unwrap_or(0) as usize;
    if bytes > MAX_SAMPLE_BYTES {
        return Err(too_long());
    }
    let mut rest = vec![0; bytes];
    from.read_exact(&mut rest)?;
    Ok((told, rest))
}

/// The end of what is said.
fn last_words(mut from: ChildStderr) -> Vec<u8> {
    let (mut words, mut part) = (Vec::new(), [0; 1024]);
    while let Ok(got) = from.read(&mut part) {
        if got == 0 {
            break;
        }
        words.extend_from_slice(&part[..got]);
        let beyond = words.len().saturating_sub(LAST_WORDS);
        words.drain(..beyond);
    }
    words
}
