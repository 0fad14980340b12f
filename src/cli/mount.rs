//! `parbake mount`: serves a tree of samples.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::ConfigArgs;
use super::say::{self, Done, Failure, talk};
use super::setup::{Setup, cores, some_threads};
use super::watchdog;
use crate::config::resolved;
use crate::exec::Turns;
use crate::fs::{Fs, Mode, ServeBy, Serves, Texts, WatchBy};
use crate::fuse::{self, MountOptions};

const EXAMPLES: &str = "\
The mount mirrors the source: photos/cat/1.jpg is read as MOUNTPOINT/cat/1.npy. Each opening gets a
fresh random draw; MOUNTPOINT/.parbake/epoch/0/… always the same. docs/SEMANTICS.md has the rest.

Examples:
  parbake mount photos.toml /mnt/photos
  parbake mount photos.toml /mnt/photos --foreground
  python3 -c 'import numpy as np; print(np.load(\"/mnt/photos/cat/1.npy\").shape)'";

/// How long a mount waits for another one of the same folder, which takes a few milliseconds.
const TURN_AT_MOST: Duration = Duration::from_secs(3);

/// Serve every sample as a file; returns once the mount answers
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Mount {
    #[command(flatten)]
    config: ConfigArgs,

    /// The folder to mount on; made if it isn't there
    mountpoint: PathBuf,

    /// Stay, and say on stderr what goes wrong
    #[arg(long, short)]
    foreground: bool,

    /// Let other users read the mount, as far as the source's permissions let them (root's mounts
    /// always do; others need `user_allow_other` in /etc/fuse.conf)
    #[arg(long)]
    allow_other: bool,

    /// Samples to make at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = some_threads)]
    threads: Option<std::num::NonZeroUsize>,

    /// Who answers opens: the kernel, from pages that it keeps (`cached`, not with random steps), or
    /// the mount (`direct`) [default: the config's `mount.serve`]
    #[arg(long, value_name = "MODE")]
    serve: Option<Serve>,

    /// Where a mount in the background writes its warnings [default: logs/ in the cache folder]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Say `ready` on stdout when mounted, and leave the terminal
    #[arg(long, hide = true)]
    announce: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Serve {
    Auto,
    Cached,
    Direct,
}

impl From<Serve> for ServeBy {
    fn from(serve: Serve) -> ServeBy {
        match serve {
            Serve::Auto => ServeBy::Auto,
            Serve::Cached => ServeBy::Cached,
            Serve::Direct => ServeBy::Direct,
        }
    }
}

impl Mount {
    pub(super) fn run(self, verbose: bool) -> Done {
        if self.announce {
            close_inherited();
        }
        let mut setup = Setup::new(&self.config)?;
        if let Some(serve) = self.serve {
            setup.config.serve = serve.into();
        }
        let serving = serving(&setup)?;
        let mountpoint = prepare(&self.mountpoint, &setup)?;
        if self.foreground || self.announce {
            self.serve(&setup, serving, &mountpoint)
        } else {
            setup.mention_missing_strategy(&self.config.config);
            self.send_to_background(&setup, &mountpoint, verbose)
        }
    }

    fn serve(&self, setup: &Setup, serving: Serves, mountpoint: &Path) -> Done {
        if self.announce {
            // A process that was just started leads no group, the only reason to be refused.
            let _ = nix::unistd::setsid();
        } else {
            setup.mention_missing_strategy(&self.config.config);
        }
        // Before the cache is opened, which starts a thread.
        let signals = fuse::Signals::keep()
            .map_err(|error| Failure::new(format_args!("cannot keep signals: {error}")))?;
        let threads = self.threads.map_or_else(cores, usize::from);
        let root = nix::unistd::geteuid().is_root();
        let options = MountOptions {
            allow_other: self.allow_other || root,
            // One is always free for what needs no making.
            threads: threads + 1,
            name: setup.source.to_string_lossy().into_owned(),
        };
        let watched = serving.mode == Mode::Cached
            && setup.config.watch == WatchBy::Auto
            && !setup.config.freshness.immutable;
        let texts = Texts { pipeline: resolved(&setup.config), serving };
        let exec = Arc::new(setup.serving_executor()?);
        let turns = Arc::new(Turns::new(threads));
        let fs =
            Fs::new(exec, turns, setup.config.naming, texts).with_freshness(setup.config.freshness);
        let fs = Arc::new(if watched { fs.watched() } else { fs });
        // Of several that are started at once, the first mounts and the others are told.
        let turn = turn_to_mount(mountpoint);
        refuse_mounted(mountpoint)?;
        let watchdog = watchdog::watch(mountpoint)?;
        let mount =
            fuse::Mount::new(fs, mountpoint, &options, signals).map_err(refused(mountpoint))?;
        drop(turn);
        if self.announce {
            say::data("ready\n")?;
        } else {
            talk(format_args!("mounted on {}; Ctrl-C unmounts", mountpoint.display()));
        }
        let served = mount.serve();
        served.map_err(|error| Failure::new(format_args!("the mount broke off: {error}")))?;
        // Taken off its name, or the kernel was told to break the connection.
        if fuse::clear_dead(mountpoint).is_ok() {
            watchdog.dismiss();
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Starts this very program again, waits until it has mounted, and leaves it.
    fn send_to_background(&self, setup: &Setup, mountpoint: &Path, verbose: bool) -> Done {
        let failed =
            |what: &str, error: std::io::Error| Failure::new(format_args!("{what}: {error}"));
        let unwritten = |what: &str, error: std::io::Error| {
            failed(what, error).hint("name another file for its warnings: `--log FILE`")
        };
        let log = self.log.clone().unwrap_or_else(|| log_file(setup, mountpoint));
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| unwritten(&format!("cannot make {}", folder.display()), error))?;
        }
        let stderr = File::create(&log)
            .map_err(|error| unwritten(&format!("cannot write {}", log.display()), error))?;

        let program =
            std::env::current_exe().map_err(|error| failed("cannot find myself", error))?;
        let mut command = Command::new(program);
        command.arg("mount").arg("--announce");
        command.arg("--source").arg(&setup.source).arg("--cache").arg(&setup.cache);
        if let Some(threads) = self.threads {
            command.arg("--threads").arg(threads.to_string());
        }
        if let Some(serve) = self.serve.and_then(|serve| serve.to_possible_value()) {
            command.arg("--serve").arg(serve.get_name());
        }
        for (flag, given) in [("--allow-other", self.allow_other), ("--verbose", verbose)] {
            if given {
                command.arg(flag);
            }
        }
        // It isn't to keep the folder busy that it was started in.
        let config = std::path::absolute(&self.config.config)
            .map_err(|error| failed("lost the config", error))?;
        command.current_dir("/").arg("--").arg(config).arg(mountpoint);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().map_err(|error| failed("cannot start the mount", error))?;

        let mut first = String::new();
        if let Some(stdout) = child.stdout.take() {
            // An error here is the child's end; what it says of it is in the log.
            let _ = BufReader::new(stdout).read_line(&mut first);
        }
        if first != "ready\n" {
            let status = child.wait().map_err(|error| failed("lost the mount", error))?;
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            for line in said.lines() {
                talk(line);
            }
            let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
            return Ok(ExitCode::from(code.max(1)));
        }
        // The first answer of the mount itself.
        std::fs::metadata(mountpoint).map_err(|error| failed("the mount doesn't answer", error))?;
        talk(format_args!("mounted on {}; warnings go to {}", mountpoint.display(), log.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Closes what whoever started the mount had open: a lock or a pipe of theirs would else be held
/// for as long as it lives. To be called before anything is opened.
fn close_inherited() {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The one of the listing itself is closed by now.
        let _ = nix::unistd::close(descriptor);
    }
}

/// A mountpoint that is there, free, and apart from what is read to serve it.
fn prepare(mountpoint: &Path, setup: &Setup) -> Result<PathBuf, Failure> {
    let shown = mountpoint.display();
    match fuse::clear_dead(mountpoint) {
        Ok(true) => talk(format_args!("note: {shown} was a mount whose process is gone: cleared")),
        Ok(false) => {}
        Err(error) => {
            return Err(Failure::new(format_args!(
                "{shown} is a dead mount that can't be cleared: {error}"
            ))
            .hint(format_args!("`umount -l {shown}` as root, or `fusermount3 -uz {shown}`")));
        }
    }
    let meant = resolved_as_far_as_it_is_there(mountpoint)
        .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?;
    for (what, folder) in [("source", &setup.source), ("cache", &setup.cache)] {
        let Ok(folder) = resolved_as_far_as_it_is_there(folder) else { continue };
        if folder.starts_with(&meant) || meant.starts_with(&folder) {
            return Err(Failure::usage(format_args!(
                "the mountpoint {shown} and the {what} {} overlap: the mount would read itself",
                folder.display()
            )));
        }
    }
    if !mountpoint.exists() {
        std::fs::create_dir_all(mountpoint)
            .map_err(|error| Failure::new(format_args!("cannot make {shown}: {error}")))?;
    }
    let mountpoint = mountpoint
        .canonicalize()
        .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?;
    if !mountpoint.is_dir() {
        return Err(Failure::usage(format_args!("{shown} is not a folder")));
    }
    refuse_mounted(&mountpoint)?;
    let mut inside = std::fs::read_dir(&mountpoint)
        .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?;
    if inside.next().is_some() {
        talk(format_args!("note: {shown} isn't empty: what is in it is hidden while mounted"));
    }
    Ok(mountpoint)
}

fn refuse_mounted(mountpoint: &Path) -> Result<(), Failure> {
    if !super::unmount::is_mounted(mountpoint) {
        return Ok(());
    }
    let shown = mountpoint.display();
    Err(Failure::new(format_args!("{shown} is a parbake mount already"))
        .hint(format_args!("`parbake unmount {shown}` first, or choose another folder")))
}

/// Waits until nobody else is about to mount here, as far as the folder can be locked. Not for long:
/// it may be whoever started us that has the lock.
fn turn_to_mount(mountpoint: &Path) -> Option<File> {
    let folder = File::open(mountpoint).ok()?;
    let end = Instant::now() + TURN_AT_MOST;
    while matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    Some(folder)
}

/// A path without links, of which the last parts may have yet to be made.
fn resolved_as_far_as_it_is_there(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
    Ok(there.canonicalize()?.join(rest))
}

fn refused(mountpoint: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| {
        let words = error.to_string();
        let words = words.trim();
        let failure =
            Failure::new(format_args!("cannot mount on {}: {words}", mountpoint.display()));
        // It is installed, and says itself what it misses.
        if words.starts_with("fusermount") {
            return failure;
        }
        if !Path::new("/dev/fuse").exists() {
            return failure.hint(
                "there is no /dev/fuse: `modprobe fuse`; in a container, \
                                 `--device /dev/fuse --cap-add SYS_ADMIN`",
            );
        }
        failure.hint(
            "a user without root needs the package `fuse3`; a container needs \
                      `--device /dev/fuse --cap-add SYS_ADMIN`",
        )
    }
}

/// Who is to answer opens.
fn serving(setup: &Setup) -> Result<Serves, Failure> {
    let config = &setup.config;
    Serves::new(config.serve, &config.plans, config.freshness).map_err(|why| {
        Failure::usage(format_args!("the mount can't be served `cached`: {why}"))
            .hint("`auto` takes the mode that is right; files of `.parbake/epoch/<n>/` are kept all the same")
    })
}

/// One a mountpoint, in the cache folder.
fn log_file(setup: &Setup, mountpoint: &Path) -> PathBuf {
    let name: Vec<u8> = mountpoint
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| if byte.is_ascii_alphanumeric() { *byte } else { b'_' })
        .collect();
    let name = String::from_utf8_lossy(&name[name.len().saturating_sub(200)..]).into_owned();
    setup.cache.join("logs").join(format!("mount{name}.log"))
}
