//! Mounting, and making sure that no dead mount is left: not by a signal, not by a crash before.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use fuser::{Config, INodeNo, MountOption, Notifier, Session, SessionACL};
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::statvfs::statvfs;

use super::Kernel;
use crate::fs::{Fs, Outdated};

/// How long files that are open at the unmount are still served.
const LINGER: Duration = Duration::from_secs(30);

/// What the device of every mount begins with, in `mount`, `df` and `/proc/mounts`; the source
/// folder follows.
pub const DEVICE: &str = "parbake:";

/// How to mount.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Let other users in, as far as the source's permissions let them.
    pub allow_other: bool,
    /// Threads that take requests.
    pub threads: usize,
    /// The source folder, to be shown as the device.
    pub name: String,
}

/// The device that is shown. A comma or a backslash in it would be another option's to the set-uid
/// helper, which then refuses it.
fn device(name: &str) -> String {
    format!("{DEVICE}{}", name.replace([',', '\\'], "?"))
}

/// SIGINT, SIGTERM and SIGHUP, kept for a mount.
pub struct Signals(SigSet);

impl Signals {
    /// Keeps them, as long as the process lives: to be called before any other thread is started,
    /// so that none of them gets one.
    ///
    /// # Errors
    /// The system's.
    pub fn keep() -> io::Result<Signals> {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signals.add(signal);
        }
        signals.thread_block()?;
        Ok(Signals(signals))
    }
}

/// A mounted tree, answering once [`serve`](Mount::serve) runs.
pub struct Mount {
    session: Session<Kernel>,
    fs: Arc<Fs>,
    mountpoint: PathBuf,
    signals: Signals,
}

impl Mount {
    /// Mounts.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(
        fs: Arc<Fs>,
        mountpoint: &Path,
        options: &MountOptions,
        signals: Signals,
    ) -> io::Result<Mount> {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoAtime,
            MountOption::DefaultPermissions,
            MountOption::FSName(device(&options.name)),
            MountOption::Subtype("parbake".to_owned()),
        ];
        config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
        config.n_threads = Some(options.threads);
        config.clone_fd = true;
        let kernel = Kernel { fs: Arc::clone(&fs), unopened: false };
        let session = Session::new(kernel, mountpoint, &config)?;
        Ok(Mount { session, fs, mountpoint: mountpoint.to_owned(), signals })
    }

    /// Serves until the tree is unmounted, by a signal or by someone else. Files that are open
    /// then are served for another half a minute.
    ///
    /// # Errors
    /// If the connection to the kernel breaks.
    pub fn serve(self) -> io::Result<()> {
        let Mount { session, fs, mountpoint, signals } = self;
        if let Some(outdated) = fs.take_outdated() {
            let notifier = session.notifier();
            let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
            thread("notify").spawn(move || notify(outdated, &notifier))?;
            let fs = Arc::downgrade(&fs);
            thread("watch").spawn(move || Fs::watch(fs))?;
        }
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if signals.0.wait().is_err() {
                return;
            }
            if let Err(error) = detach(&mountpoint) {
                log::error!("cannot unmount {}: {error}", mountpoint.display());
            }
            // The loops end by themselves when the last open file is closed.
            std::thread::spawn(move || {
                std::thread::sleep(LINGER);
                std::process::exit(0);
            });
            // A second signal is meant.
            if signals.0.wait().is_ok() {
                std::process::exit(0);
            }
        })?;
        run(session)
    }
}

/// Tells the kernel what it keeps and isn't true any more. This waits for lookups in the same
/// folder, so it may not be done by a thread that answers them.
fn notify(outdated: Receiver<Outdated>, notifier: &Notifier) {
    for one in outdated {
        let told = match &one {
            Outdated::Name(folder, name) => notifier.inval_entry(INodeNo(folder.0), name),
            // The pages of a folder are its listing.
            Outdated::Folder(folder) => notifier.inval_inode(INodeNo(folder.0), 0, 0),
        };
        if let Err(error) = told {
            log::debug!("the kernel wasn't told of {one:?}: {error}");
        }
    }
}

/// Answers until the tree is unmounted. Whoever ended that has taken it off its name, which may be
/// another mount's by now; fuser 0.18 would unmount the name once more when its handle is dropped.
/// So the handle is kept for as long as the process lives.
fn run(session: Session<Kernel>) -> io::Result<()> {
    let background = session.spawn()?;
    let (end, ended) = mpsc::channel();
    std::thread::Builder::new().name("session".to_owned()).spawn(move || {
        let background = background;
        // Nobody but the main thread listens, and it listens until the end.
        let _ = end.send(background.guard.join());
        loop {
            std::thread::park();
        }
    })?;
    match ended.recv() {
        // The kernel ended the connection while a last message was on its way.
        Ok(Ok(Err(error))) if error.raw_os_error() == Some(libc::ECONNABORTED) => Ok(()),
        Ok(Ok(result)) => result,
        Ok(Err(_)) | Err(_) => Err(io::Error::other("the session panicked")),
    }
}

/// Takes a mount off its name, at once and even if files are open.
///
/// # Errors
/// If nothing is mounted there, or this user may not.
pub fn detach(mountpoint: &Path) -> io::Result<()> {
    match umount2(mountpoint, MntFlags::MNT_DETACH) {
        Ok(()) => Ok(()),
        // What a user mounted through the set-uid helper, a user unmounts through it.
        Err(Errno::EPERM) => ["fusermount3", "fusermount"]
            .iter()
            .map(|helper| Command::new(helper).arg("-uz").arg("--").arg(mountpoint).output())
            .find_map(|ran| ran.ok())
            .map_or(Err(Errno::EPERM.into()), |ran| {
                if ran.status.success() {
                    return Ok(());
                }
                Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).trim().to_owned()))
            }),
        Err(errno) => Err(errno.into()),
    }
}

/// Takes a mount off its name if the process that served it is gone; whether it did.
///
/// # Errors
/// If there is such a mount and it can't be taken off.
pub fn clear_dead(mountpoint: &Path) -> io::Result<bool> {
    // Of a dead mount, attributes and listings are still told as long as the kernel keeps them;
    // this is asked for anew each time.
    match statvfs(mountpoint) {
        Err(Errno::ENOTCONN | Errno::ECONNABORTED) => match detach(mountpoint) {
            // The watchdog was faster, or whoever mounts here next.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(true),
            detached => detached.map(|()| true),
        },
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_folder_is_one_option_whatever_its_name() {
        assert_eq!(device("/data/a b=c"), "parbake:/data/a b=c");
        assert_eq!(device("/data/a,dev\\"), "parbake:/data/a?dev?");
    }
}
