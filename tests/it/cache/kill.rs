//! `kill -9` in the middle of filling: what was acknowledged is there, and all else is right.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};

use super::*;

const FOLDER: &str = "PARBAKE_TEST_FILL";
const FIRST: &str = "PARBAKE_TEST_FILL_FROM";
const THREADS: u32 = 3;

/// Not a test but the child of the one below: fills a cache until it is killed.
#[test]
#[ignore = "run by the test that kills it"]
fn child_fills_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let first: u32 = std::env::var(FIRST).unwrap().parse().unwrap();
    let cache = open(Path::new(&folder));
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (cache, out) = (&cache, &out);
            scope.spawn(move || {
                for n in (first + thread..).step_by(THREADS as usize) {
                    assert!(put(cache, n));
                    // A line is complete only with its end, which a kill may cut off.
                    out.lock().unwrap().write_all(format!("\nkept {n} .\n").as_bytes()).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_cache_whose_process_is_killed_has_all_that_was_acknowledged() {
    let folder = TempDir::new().unwrap();
    let mut kept: Vec<u32> = Vec::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::kill::child_fills_until_killed", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(FIRST, (round * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (say, heard) = mpsc::channel::<u32>();
        let reader = std::thread::spawn(move || {
            let acknowledged =
                |line: &str| line.strip_prefix("kept ")?.strip_suffix(" .")?.parse().ok();
            for line in stdout.lines().map_while(Result::ok) {
                acknowledged(&line).map(|n| say.send(n));
            }
        });
        // Half of the children are killed at work, the others perhaps before they begin.
        let longest = if round % 2 == 0 { 30_000 } else { 150_000 };
        if round % 2 == 0 {
            kept.push(heard.recv_timeout(Duration::from_secs(60)).expect("the child fills"));
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % longest));
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
        kept.extend(heard.try_iter());

        let cache = open(folder.path());
        assert!(
            kept.iter().all(|n| holds(&cache, *n)),
            "round {round}: an acknowledged entry is lost"
        );
        let after = kept.iter().max().map_or(0, |n| n + 1);
        // What was being written may be there, and is right if it is.
        (after..after + 2 * THREADS).for_each(|n| _ = holds(&cache, n));
    }
    assert!(kept.len() > 20, "only {} entries were acknowledged in all rounds", kept.len());
}
