//! Running the real program on small sets, with a deadline on everything.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// A config's steps; `{split}` is to be filled in.
const CONFIG: &str = r#"# Mine.
[source]
path = "photos"

[[pipeline]]
match  = ["**/*.ppm"]
output = "npy"

[[pipeline.step]]
use = "decode_image" # by name

[[pipeline.step]]
use        = "resize"
short_side = 32
filter     = "lanczos"

[[pipeline.step]]
use  = "random_crop"
size = [24, 24]

[cache]
path     = "cache"
min_free = "0"
"#;

/// A folder with a set, its config and the place of its cache.
pub(crate) struct Set(TempDir);

impl Set {
    /// A set of `count` small pictures in two folders, with a config that says no strategy.
    pub(crate) fn new(count: usize) -> Set {
        let set = Set(TempDir::new().unwrap());
        for folder in ["photos/one", "photos/two"] {
            fs::create_dir_all(set.path(folder)).unwrap();
        }
        set.add(0..count, 40);
        fs::write(set.config(), CONFIG).unwrap();
        set
    }

    /// The same with a strategy.
    pub(crate) fn with(count: usize, split: &str, codec: &str) -> Set {
        let set = Set::new(count);
        set.append(&format!("\n[strategy]\nsplit = \"{split}\"\ncodec = \"{codec}\"\n"));
        set
    }

    /// Adds pictures whose sides are `side` pixels or a few more.
    pub(crate) fn add(&self, numbers: std::ops::Range<usize>, side: usize) {
        for n in numbers {
            let (width, height) = (side + n % 7, side + n % 5);
            let mut ppm = format!("P6\n{width} {height}\n255\n").into_bytes();
            ppm.extend((0..width * height * 3).map(|at| ((at * (n + 3)) % 251) as u8));
            let folder = if n.is_multiple_of(2) { "one" } else { "two" };
            fs::write(self.path(format!("photos/{folder}/{n}.ppm")), ppm).unwrap();
        }
    }

    /// Adds two files that can't be made: one that ends too early, one that is no picture.
    pub(crate) fn add_bad(&self) {
        let whole = fs::read(self.path("photos/one/0.ppm")).unwrap();
        fs::write(self.path("photos/one/cut.ppm"), &whole[..whole.len() / 2]).unwrap();
        fs::write(self.path("photos/two/text.ppm"), "not a picture\n").unwrap();
    }

    pub(crate) fn append(&self, text: &str) {
        fs::write(self.config(), self.text() + text).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.config()).unwrap()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("set.toml")
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// `parbake COMMAND CONFIG ARGUMENTS`, not started yet.
    pub(crate) fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut parbake = Command::new(env!("CARGO_BIN_EXE_parbake"));
        parbake.arg(command).arg(self.config()).args(arguments);
        parbake.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        parbake
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, command: &str, arguments: &[&str]) -> Ended {
        ended(self.command(command, arguments).spawn().unwrap())
    }
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code, unless a signal has ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Waits for a program's end. What it says fits into a pipe.
pub(crate) fn ended(mut child: Child) -> Ended {
    until("the program ends", || child.try_wait().unwrap().is_some());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ended = Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) };
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    ended
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !so() {
        assert!(since.elapsed() < DEADLINE, "waited {DEADLINE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
