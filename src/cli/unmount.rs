//! `parbake unmount`: takes a mount off its name.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::say::{Done, Failure};
use crate::fuse;

const EXAMPLES: &str = "\
Files that are open are served until they are closed.

Examples:
  parbake unmount /mnt/photos";

/// Unmount, at once and even if files are open
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Unmount {
    /// The folder that it is mounted on
    mountpoint: PathBuf,
}

impl Unmount {
    pub(super) fn run(self) -> Done {
        let shown = self.mountpoint.display();
        // A dead mount can't be looked at: its name is taken as it was given.
        let mountpoint = self
            .mountpoint
            .canonicalize()
            .or_else(|_| std::path::absolute(&self.mountpoint))
            .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?;
        if !is_mounted(&mountpoint) {
            return Err(Failure::usage(format_args!("{shown} is not a parbake mount")));
        }
        fuse::detach(&mountpoint)
            .map_err(|error| Failure::new(format_args!("cannot unmount {shown}: {error}")))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a parbake mount, dead or alive, is on this very folder.
pub(super) fn is_mounted(mountpoint: &Path) -> bool {
    mounts().iter().any(|place| place == mountpoint)
}

/// Where parbake mounts are, dead or alive.
pub(super) fn mounts() -> Vec<PathBuf> {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let place = |line: &[u8]| {
        // proc_pid_mountinfo(5): the mount point is the fifth field; type and device follow a field
        // that is a single hyphen.
        let mut fields = line.split(|byte| *byte == b' ');
        let place = fields.nth(4).map(unescape)?;
        let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
        let ours = match (fields.next(), fields.next()) {
            // Mounted through the set-uid helper, the type says more than mounted by root.
            (Some(b"fuse.parbake"), _) => true,
            (Some(b"fuse"), Some(device)) => device.starts_with(fuse::DEVICE.as_bytes()),
            _ => false,
        };
        ours.then(|| PathBuf::from(OsString::from_vec(place)))
    };
    mounts.split(|byte| *byte == b'\n').filter_map(place).collect()
}

/// Blanks, tabs, newlines and backslashes are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| first == b'\\');
        let byte =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        rest = if byte.is_some() { &tail[3..] } else { tail };
        out.push(byte.unwrap_or(first));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_mountinfo_are_read_back() {
        assert_eq!(unescape(br"/mnt/a\040b\134c"), b"/mnt/a b\\c");
        assert_eq!(unescape(br"/mnt/\04"), br"/mnt/\04");
    }
}
