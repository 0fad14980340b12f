//! A real mount, read the way that readers read: by plain file reads, NumPy and the tools of the
//! system. Every test starts the program itself and leaves nothing mounted.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod bed;
mod care;
mod corpus;
mod crowd;
mod export;
mod full;
mod kills;
mod pictures;
mod readers;
mod rot;
mod semantics;
mod serving;
mod sizes;
mod slow;
mod starts;
mod tools;
mod watching;

use std::time::{Duration, Instant};

/// Longer than anything takes on a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until `done`, at most `deadline`.
#[track_caller]
fn wait_for(what: &str, deadline: Duration, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !done() {
        assert!(Instant::now() < end, "waited {deadline:?} for this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Says why a test is skipped; where everything is to be tested, that is a failure.
#[track_caller]
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "this has to be tested here, but {why}");
    eprintln!("SKIPPED: {why}");
}
