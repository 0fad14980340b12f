//! A set of pictures, a config and a mount of it, all in one temporary folder. When a bed is
//! dropped its mount is gone, and a panic in the mount's log fails the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parbake::config::Config;
use parbake::exec::{Executor, Job};
use parbake::source::{DirSource, Source};
use serde_json::Value;
use tempfile::TempDir;

use super::{DEADLINE, pictures, skip, wait_for};

/// Steps without random ones: the shape of the result is known from the config.
pub(super) const FIXED: &str =
    r#"[{ use = "decode_image" }, { use = "center_crop", size = [32, 40] }]"#;

/// Steps without random ones: the shape of the result is the picture's.
pub(super) const VARYING: &str = r#"[{ use = "decode_image" }]"#;

/// Steps with random ones.
pub(super) const RANDOM: &str = r#"[
    { use = "decode_image" },
    { use = "random_crop", size = [24, 32] },
    { use = "random_horizontal_flip" },
]"#;

/// Those of the source's files that are samples, and the names that they are served under as npy.
pub(super) const SAMPLES: &[(&str, &str)] = &[
    ("cat/0.png", "cat/0.npy"),
    ("cat/1.jpg", "cat/1.npy"),
    ("dog/2.png", "dog/2.npy"),
    ("dog/deep/3.jpg", "dog/deep/3.npy"),
];

/// What `labels.csv` in the source says.
pub(super) const LABELS: &str = "cat,0\ndog,1\n";

pub(super) struct Bed {
    folder: TempDir,
    source: PathBuf,
    daemon: Option<Daemon>,
    starts: u32,
    /// When the stats that were read last were made.
    stats_made: f64,
    pub(super) threads: u32,
}

/// A mount's process.
pub(super) struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Waits for it to end by itself.
    #[track_caller]
    pub(super) fn ended(mut self) -> ExitStatus {
        let mut status = None;
        wait_for("the mount's process to end", DEADLINE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Bed {
    /// A set of four pictures and a table, served with these steps as npy, and mounted. `None`
    /// where nothing can be mounted.
    pub(super) fn mounted(steps: &str) -> Option<Bed> {
        let mut bed = Bed::new(steps, "npy")?;
        bed.mount();
        Some(bed)
    }

    /// The same, not mounted yet.
    pub(super) fn new(steps: &str, output: &str) -> Option<Bed> {
        let bed = Bed::empty(steps, output)?;
        for (at, (name, _)) in SAMPLES.iter().enumerate() {
            let (height, width) = (48 + at, 64 - at);
            let encode = if name.ends_with("png") { pictures::png } else { pictures::jpeg };
            bed.write(name, &encode(height, width, at as u64));
        }
        bed.write("labels.csv", LABELS.as_bytes());
        Some(bed)
    }

    /// Without anything in its source.
    pub(super) fn empty(steps: &str, output: &str) -> Option<Bed> {
        if let Err(error) = fs::File::options().read(true).write(true).open("/dev/fuse") {
            skip(&format!("nothing can be mounted: /dev/fuse: {error}"));
            return None;
        }
        let helper = ["fusermount3", "fusermount"];
        let helped = || helper.iter().any(|name| Command::new(name).arg("-V").output().is_ok());
        if !nix::unistd::geteuid().is_root() && !helped() {
            skip("nothing can be mounted: this is not root, and there is no fusermount3");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        let (daemon, threads) = (None, 2);
        let bed = Bed { folder, source, daemon, starts: 0, stats_made: -1.0, threads };
        bed.configure(&format!(
            "[source]\npath = \"source\"\n[cache]\npath = \"cache\"\nmin_free = \"0\"\n\
             [[pipeline]]\nmatch = [\"**/*.{{jpg,png}}\"]\noutput = \"{output}\"\nstep = {steps}\n\
             [strategy]\nsplit = \"decode_image\"\ncodec = \"lz4\"\n"
        ));
        Some(bed)
    }

    /// Serves a folder that is there already.
    pub(super) fn of(source: &Path, steps: &str) -> Option<Bed> {
        let mut bed = Bed::empty(steps, "npy")?;
        bed.change_config("path = \"source\"", &format!("path = \"{}\"", source.display()));
        bed.change_config(r#""**/*.{jpg,png}""#, r#""**/*""#);
        bed.source = source.to_owned();
        Some(bed)
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join("set.toml")
    }

    fn configure(&self, text: &str) {
        fs::write(self.config(), text).unwrap();
    }

    pub(super) fn change_config(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        self.configure(&text.replacen(from, to, 1));
    }

    /// Gives the config a `[mount]` section.
    pub(super) fn serve(&self, keys: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        self.configure(&format!("{text}[mount]\n{keys}\n"));
    }

    /// The temporary folder, which has everything in it.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn mountpoint(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// A path in the source.
    pub(super) fn source(&self, name: &str) -> PathBuf {
        self.source.join(name)
    }

    /// A path in the mount.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.mountpoint().join(name)
    }

    /// A path in the tree of an epoch.
    pub(super) fn pinned(&self, epoch: u64, name: &str) -> PathBuf {
        self.at(&format!(".parbake/epoch/{epoch}")).join(name)
    }

    /// Writes a file of the source.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.source(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[track_caller]
    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub(super) fn read_pinned(&self, epoch: u64, name: &str) -> Vec<u8> {
        fs::read(self.pinned(epoch, name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What is to be served for a source file: made here and now, without cache and mount.
    pub(super) fn expected(&self, name: &str, epoch: u64) -> Vec<u8> {
        self.made(name, epoch).unwrap()
    }

    /// The same, where it may be changing.
    pub(super) fn made(&self, name: &str, epoch: u64) -> Option<Vec<u8>> {
        let config = Config::load(&self.config()).unwrap();
        let source = Arc::new(DirSource::open(&self.source).unwrap());
        let path = Path::new(name);
        let stat = source.stat(path).ok()?;
        let exec = Executor::new(source, None, config.plans, config.seed);
        let plan = exec.plan_for(path).unwrap();
        Some(exec.serve(Job { path, stat, plan }, epoch).ok()?.to_vec())
    }

    /// The program with these arguments.
    pub(super) fn parbake<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parbake"));
        command.args(arguments).current_dir(self.folder());
        command
    }

    /// Mounts, and comes back when the mount is there.
    #[track_caller]
    pub(super) fn mount(&mut self) {
        assert!(self.daemon.is_none());
        self.starts += 1;
        let log = self.folder().join(format!("log-{}", self.starts));
        let threads = self.threads.to_string();
        let child = self
            .parbake(["mount", "--foreground", "--threads", &threads, "set.toml", "mnt"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let daemon = self.daemon.insert(Daemon { child, log });
        wait_for("the mount to be there", DEADLINE, || {
            let said = fs::read_to_string(&daemon.log).unwrap();
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "no mount: {said}");
            said.contains("mounted on")
        });
        self.stats_made = -1.0;
    }

    /// What the mount has said.
    pub(super) fn log(&self) -> String {
        let logs = (1..=self.starts).map(|n| self.folder().join(format!("log-{n}")));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect()
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(self.daemon.as_ref().unwrap().child.id() as i32)
    }

    pub(super) fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// The process that clears the name if the mount's is killed.
    pub(super) fn watchdog(&self) -> Pid {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        Pid::from_raw(children.trim().parse().expect("one child: the watchdog"))
    }

    /// Kills the mount's process as nothing but `kill -9` does.
    pub(super) fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.child.kill().unwrap();
        daemon.child.wait().unwrap();
    }

    /// Waits for the mount's process to end by itself.
    #[track_caller]
    pub(super) fn ended(&mut self) -> ExitStatus {
        self.detached().ended()
    }

    /// The process of a mount that has lost its name.
    pub(super) fn detached(&mut self) -> Daemon {
        self.daemon.take().unwrap()
    }

    /// Whether something is mounted, dead or alive.
    pub(super) fn is_mounted(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let place = self.mountpoint();
        mounts.lines().any(|line| line.split(' ').nth(4) == place.to_str())
    }

    /// Unmounts and mounts again: nothing that the kernel kept is left.
    #[track_caller]
    pub(super) fn remount(&mut self) {
        self.send(Signal::SIGTERM);
        self.ended();
        self.mount();
    }

    /// `stats.json`, made after this was called.
    #[track_caller]
    pub(super) fn stats(&mut self) -> Value {
        let path = self.at(".parbake/stats.json");
        let mut stats = Value::Null;
        let before = self.stats_made;
        wait_for("fresh stats", DEADLINE, || {
            stats = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            stats["seconds"].as_f64().unwrap() > before
        });
        self.stats_made = stats["seconds"].as_f64().unwrap();
        stats
    }

    /// How often something was done, by its name in `stats.json`.
    #[track_caller]
    pub(super) fn count(&mut self, tally: &str) -> u64 {
        self.stats()["tallies"][tally]["count"].as_u64().unwrap()
    }

    /// The lines of `errors.jsonl`, made after this was called.
    #[track_caller]
    pub(super) fn errors(&self) -> Vec<Value> {
        // A text is not made again within a second.
        let at = std::time::Instant::now();
        wait_for("fresh errors", DEADLINE, || at.elapsed() > Duration::from_millis(1050));
        let text = fs::read_to_string(self.at(".parbake/errors.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Nothing may be mounted any more, which is no trouble.
        while umount2(&self.mountpoint(), MntFlags::MNT_DETACH) == Ok(()) {}
        if let Some(mut daemon) = self.daemon.take() {
            let end = std::time::Instant::now() + Duration::from_secs(5);
            while matches!(daemon.child.try_wait(), Ok(None)) {
                if std::time::Instant::now() > end {
                    let _ = daemon.child.kill();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("the mount said:\n{log}");
        } else {
            assert!(!log.contains("panicked"), "{log}");
        }
    }
}

/// The number of an error of the system.
#[track_caller]
pub(super) fn errno<T>(result: std::io::Result<T>) -> Errno {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => Errno::from_raw(error.raw_os_error().expect("an error of the system")),
    }
}

/// Runs a program that has to succeed.
#[track_caller]
pub(super) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// What a program that has to succeed prints.
#[track_caller]
pub(super) fn printed(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).unwrap()
}

/// Every file under a folder, sorted.
pub(super) fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { files.extend(files_under(&path)) } else { files.push(path) }
    }
    files
}
