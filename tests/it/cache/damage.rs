//! Whatever is done to the packs: the entry that was put, or nothing, and then it can be put again.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Put(u32),
    Get(u32),
    Reopen,
    /// Changes a byte of a pack; then reopens, as the next ones do.
    Flip(Index, Index, u8),
    Truncate(Index, Index),
    Extend(Index, u8, usize),
    Delete(Index),
}

fn op() -> impl Strategy<Value = Op> {
    let place = || (any::<Index>(), any::<Index>());
    prop_oneof![
        8 => (0..12u32).prop_map(Op::Put),
        4 => (0..12u32).prop_map(Op::Get),
        2 => Just(Op::Reopen),
        3 => (place(), 1..=255u8).prop_map(|((pack, at), by)| Op::Flip(pack, at, by)),
        1 => place().prop_map(|(pack, at)| Op::Truncate(pack, at)),
        1 => (any::<Index>(), any::<u8>(), 1..300usize).prop_map(|(p, byte, n)| Op::Extend(p, byte, n)),
        1 => any::<Index>().prop_map(Op::Delete),
    ]
}

fn harm(folder: &Path, op: &Op) -> io::Result<()> {
    let packs = packs(folder);
    if packs.is_empty() {
        return Ok(());
    }
    match op {
        Op::Flip(pack, at, by) => {
            let mut bytes = fs::read(pack.get(&packs))?;
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= by;
            }
            fs::write(pack.get(&packs), bytes)
        }
        Op::Truncate(pack, at) => {
            let file = OpenOptions::new().write(true).open(pack.get(&packs))?;
            let len = file.metadata()?.len() as usize;
            file.set_len(at.index(len + 1) as u64)
        }
        Op::Extend(pack, byte, n) => {
            let bytes = fs::read(pack.get(&packs))?;
            fs::write(pack.get(&packs), [bytes, vec![*byte; *n]].concat())
        }
        Op::Delete(pack) => fs::remove_file(pack.get(&packs)),
        Op::Put(_) | Op::Get(_) | Op::Reopen => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_disk_cache_is_a_map_that_may_forget_what_is_damaged(
        ops in prop::collection::vec(op(), 1..40)
    ) {
        let folder = TempDir::new().unwrap();
        let mut cache = open(folder.path());
        // Entries that were put, and whether no damage was done since they were last seen.
        let mut model: HashMap<u32, bool> = HashMap::new();
        for op in &ops {
            match op {
                Op::Put(n) => {
                    prop_assert!(put(&cache, *n));
                    model.entry(*n).or_insert(true);
                }
                Op::Get(n) => {
                    let found = holds(&cache, *n);
                    match model.get(n) {
                        Some(true) => prop_assert!(found),
                        Some(false) => {}
                        None => prop_assert!(!found),
                    }
                    if found {
                        model.insert(*n, true);
                    } else if model.contains_key(n) {
                        prop_assert!(put(&cache, *n) && holds(&cache, *n));
                        model.insert(*n, true);
                    }
                }
                Op::Reopen => {
                    drop(cache);
                    cache = open(folder.path());
                }
                harmful => {
                    drop(cache);
                    harm(folder.path(), harmful)?;
                    cache = open(folder.path());
                    // What follows the last record is a torn tail, and costs nothing.
                    if !matches!(harmful, Op::Extend(..)) {
                        model.values_mut().for_each(|sure| *sure = false);
                    }
                }
            }
        }
        for n in 0..12 {
            let found = holds(&cache, n);
            prop_assert!(found || model.get(&n) != Some(&true));
            prop_assert!(found || put(&cache, n) && holds(&cache, n));
        }
    }
}

#[test]
fn any_byte_that_is_changed_costs_entries_and_never_changes_one() {
    let folder = TempDir::new().unwrap();
    let numbers = [0, 5, 23];
    let small = |n: u32| (entry(n).0, entry(n).1, vec![n as u8; n as usize * 3]);
    {
        let cache = open(folder.path());
        for (key, meta, body) in numbers.map(small) {
            assert!(cache.put(&key, &meta, &body));
        }
    }
    let pack = &packs(folder.path())[0];
    let whole = fs::read(pack).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(pack, bytes).unwrap();
        let cache = open(folder.path());
        for (key, meta, body) in numbers.map(small) {
            if let Some(found) = cache.get(&key) {
                assert!(found.meta == meta && *found.body == *body, "byte {at}");
            }
        }
    }
}
