//! A process that outlives the mount's, however that ends, and clears the name then: after
//! `kill -9`, every open of a mount would otherwise fail until someone unmounts it by hand.
//!
//! It holds the end of a pipe whose other end only the mount's process has, and waits for that to
//! close. It is started before mounting, so it holds nothing of the mount.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::{SigSet, Signal};

use super::say::{Done, Failure};
use super::unmount;
use crate::fuse;

/// What the mount's process says last if it ends well.
const WELL: &[u8] = b"unmounted";

/// How long a mount whose process is gone may look alive. After that, it is another's.
const AT_MOST: Duration = Duration::from_secs(10);

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(20);

/// Wait for the end of stdin, then clear a dead mount
#[derive(Args)]
pub(super) struct Watchdog {
    mountpoint: PathBuf,
}

impl Watchdog {
    pub(super) fn run(self) -> Done {
        // What ends the mount politely is not meant for its watchdog.
        let _ = nix::unistd::setsid();
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signals.add(signal);
        }
        let failed = |error| Failure::new(format_args!("the watchdog can't start: {error}"));
        signals.thread_block().map_err(failed)?;
        let mut said = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut said);
        if said == WELL {
            return Ok(ExitCode::SUCCESS);
        }
        // The mount's process is gone, or going: the kernel closes its files one by one, and until
        // it comes to the mount's that looks alive.
        let end = Instant::now() + AT_MOST;
        while unmount::is_mounted(&self.mountpoint) && Instant::now() < end {
            if fuse::clear_dead(&self.mountpoint).map_err(Failure::new)? {
                break;
            }
            std::thread::sleep(AGAIN);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A running watchdog.
pub(super) struct Watched {
    child: Child,
    pipe: Option<ChildStdin>,
}

/// Starts one.
pub(super) fn watch(mountpoint: &Path) -> Result<Watched, Failure> {
    let start = || {
        Command::new(std::env::current_exe()?)
            .arg("watchdog")
            .arg("--")
            .arg(mountpoint)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    };
    let mut child = start()
        .map_err(|error| Failure::new(format_args!("cannot start the watchdog: {error}")))?;
    Ok(Watched { pipe: child.stdin.take(), child })
}

impl Watched {
    /// Ends it. To be called when the mount has been taken off its name; until then it is needed,
    /// and it outlives this process if this is never called.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // One that isn't there to hear it has ended already.
            let _ = pipe.write_all(WELL);
        }
        // Asked for so that no zombie is left.
        let _ = self.child.wait();
    }
}
