//! Reading everything in a cache to see whether it is as it was written.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::list::List;
use super::super::packs::Window;
use super::super::record::{HEADER_LEN, RawHeader};
use super::{Care, PackFile, Record, side_by_side};

/// A place where a pack isn't as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The pack.
    pub pack: PathBuf,
    /// Where it starts.
    pub offset: u64,
    /// Bytes that can't be used for it.
    pub bytes: u64,
    /// What is wrong.
    pub cause: String,
}

/// What [`Care::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Packs that were read.
    pub packs: usize,
    /// Records that are whole.
    pub entries: u64,
    /// Bytes that these take.
    pub bytes: u64,
    /// What is damaged, by pack and place.
    pub damaged: Vec<Damage>,
    /// Ends of packs where a record was begun and not finished (its writer was stopped, or is at
    /// it): no damage, and no use.
    pub torn: Vec<Damage>,
}

impl Care {
    /// Reads every record and checks all of it. `read` is told how many bytes have been read so
    /// far; what it returns says whether to go on.
    ///
    /// # Errors
    /// If packs can't be listed or opened. What can't be read in them is damage.
    pub fn verify(&self, read: impl Fn(u64) -> bool + Sync) -> io::Result<Verified> {
        let packs = self.packs()?;
        let total = AtomicU64::new(0);
        let go_on = |bytes| read(total.fetch_add(bytes, Ordering::Relaxed) + bytes);
        let mut all = Verified::default();
        for one in side_by_side(&packs, |pack| self.verify_pack(pack, &go_on)) {
            let one = match one {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                one => one?,
            };
            all.packs += 1;
            all.entries += one.entries;
            all.bytes += one.bytes;
            all.damaged.extend(one.damaged);
            all.torn.extend(one.torn);
        }
        Ok(all)
    }

    fn verify_pack(
        &self,
        pack: &PackFile,
        go_on: &(impl Fn(u64) -> bool + Sync),
    ) -> io::Result<Verified> {
        let file = self.disk.open(&pack.path)?;
        let mut window = Window::new(&*self.disk, &file, pack.bytes);
        let list = List::read(&*self.disk, &pack.path, &file, pack.bytes).unwrap_or_default();
        let mut found = Verified::default();
        let mut at = 0;
        let place =
            |offset, bytes, cause: String| Damage { pack: pack.path.clone(), offset, bytes, cause };
        while at < pack.bytes {
            let left = pack.bytes - at;
            let header = match window.header(at) {
                Ok(Some(header)) => header,
                Ok(None) if left < HEADER_LEN as u64 || pack.in_use => {
                    found.torn.push(place(at, left, "a record was begun here".to_owned()));
                    break;
                }
                unusable => {
                    let cause = match unusable {
                        Err(error) => format!("cannot be read: {error}"),
                        Ok(_) => self.why_no_header(&file, at),
                    };
                    // Behind it, only a list knows where the next one starts.
                    if let Some((next, ..)) = list.records().find(|(next, ..)| *next > at) {
                        found.damaged.push(place(at, next - at, cause));
                        at = next;
                        continue;
                    }
                    let cause = format!("{cause}; the rest of the pack can't be found");
                    found.damaged.push(place(at, left, cause));
                    break;
                }
            };
            let bytes = header.record_len();
            if bytes > left {
                found.torn.push(place(at, left, "a record was begun here".to_owned()));
                break;
            }
            let record = Record { key: header.key, offset: at, body_len: header.body_len };
            match self.read_whole(pack, &record) {
                Ok(_) => {
                    found.entries += 1;
                    found.bytes += bytes;
                }
                Err(error) => found.damaged.push(place(at, bytes, error.to_string())),
            }
            at += bytes;
            if !go_on(bytes) {
                break;
            }
        }
        Ok(found)
    }

    fn why_no_header(&self, file: &File, at: u64) -> String {
        let mut bytes = [0; HEADER_LEN];
        match self.disk.read(file, at, &mut bytes) {
            Err(error) => format!("cannot be read: {error}"),
            Ok(()) => match RawHeader(&bytes).check() {
                Err(broken) => broken.to_string(),
                Ok(_) => "the header changed while it was read".to_owned(),
            },
        }
    }
}
