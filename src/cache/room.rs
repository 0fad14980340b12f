//! Making room in a full cache: which packs go, and in which order.
//!
//! First those of kinds that nobody has use for any more; the others only where the policy is to
//! drop what was not used for longest. Always whole packs, never one that is being written. Whoever
//! has one open reads on from it, and makes the rest anew.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::file::{Disk, Listed};
use super::list;
use super::packs::{SUFFIX, kind_of};
use super::{Kind, Policy};

/// What was dropped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) packs: usize,
    pub(super) bytes: u64,
}

/// Drops packs until at least `need` bytes are free, as far as the policy allows. `wanted` are the
/// kinds that somebody has use for; if that isn't known, all are.
pub(super) fn make(
    disk: &dyn Disk,
    folder: &Path,
    need: u64,
    policy: Policy,
    wanted: Option<&HashSet<Kind>>,
) -> io::Result<Dropped> {
    let mut packs = disk.list(folder)?;
    packs.retain(|file| file.name.as_encoded_bytes().ends_with(SUFFIX.as_bytes()));
    let mut dropped = Dropped::default();
    for file in order(&packs, policy, wanted) {
        if dropped.bytes >= need {
            break;
        }
        let path = folder.join(&file.name);
        // Being written, as far as its file system knows.
        if disk.open(&path).is_ok_and(|file| disk.is_claimed(&file)) {
            continue;
        }
        list::remove_pack(disk, &path)?;
        dropped.packs += 1;
        dropped.bytes += file.len;
    }
    Ok(dropped)
}

/// The packs that may go, the first to go first.
fn order<'a>(
    packs: &'a [Listed],
    policy: Policy,
    wanted: Option<&HashSet<Kind>>,
) -> Vec<&'a Listed> {
    let is_useless = |file: &Listed| {
        let kind = kind_of(&file.name);
        wanted.zip(kind).is_some_and(|(wanted, kind)| !wanted.contains(&kind))
    };
    let mut going: Vec<&Listed> =
        packs.iter().filter(|file| policy == Policy::Lru || is_useless(file)).collect();
    going.sort_by_key(|file| (!is_useless(file), file.used));
    going
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn what_nobody_wants_goes_first_and_then_what_was_not_used_for_longest() {
        let pack = |name: &str, used| Listed {
            name: name.into(),
            len: 1,
            modified: SystemTime::UNIX_EPOCH,
            used: SystemTime::UNIX_EPOCH + Duration::from_secs(used),
        };
        let packs = [
            pack("a-0000000000000001.pack", 4),
            pack("b-0000000000000002.pack", 5),
            pack("c-0000000000000002.pack", 3),
            pack("d.pack", 1),
            pack("e-0000000000000001.pack", 2),
        ];
        let wanted = HashSet::from([Kind(1)]);
        let first_letters = |policy, wanted| -> String {
            let going = order(&packs, policy, wanted);
            going.iter().map(|file| &file.name.to_str().unwrap()[..1]).collect()
        };
        assert_eq!(first_letters(Policy::Keep, Some(&wanted)), "cb");
        assert_eq!(first_letters(Policy::Keep, None), "");
        assert_eq!(first_letters(Policy::Lru, Some(&wanted)), "cbdea");
        assert_eq!(first_letters(Policy::Lru, None), "decab");
    }
}
