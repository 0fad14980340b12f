//! `parbake materialize`: what is done stays done, whatever ends it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use parbake::cache::{Cache, Care, DiskCache, Key, Options, Policy};
use parbake::config::Config;
use parbake::exec::Executor;
use parbake::source::DirSource;

use crate::program::{Ended, Set, ended, until};

/// Every sample, read through the cache and past it: the same, and there are `count`.
fn reads_right(set: &Set, count: usize) {
    let config = Config::load(&set.config()).unwrap();
    let source = || Arc::new(DirSource::open(&set.path("photos")).unwrap());
    let options =
        Options { path: set.path("cache"), limit: u64::MAX, min_free: 0, policy: Policy::Keep };
    let cache: Arc<dyn Cache> = Arc::new(DiskCache::open(options).unwrap());
    let cached = Executor::new(source(), Some(cache), config.plans.clone(), config.seed);
    let fresh = Executor::new(source(), None, config.plans, config.seed);
    let all = fresh.walk(|_| true).unwrap();
    let mut good = 0;
    for found in all {
        let job = found.job(fresh.source()).unwrap();
        let Ok(wanted) = fresh.serve(job, 7) else { continue };
        assert_eq!(*cached.serve(job, 7).unwrap(), *wanted, "{}", found.path.display());
        good += 1;
    }
    assert_eq!(good, count);
}

/// The number before a word in what was said, 0 if the word isn't there.
fn number(ended: &Ended, word: &str) -> usize {
    let Some((before, _)) = ended.stderr.split_once(word) else { return 0 };
    let digits = before.rsplit([' ', '\n']).find(|part| !part.is_empty()).unwrap();
    digits.replace(',', "").parse().unwrap()
}

#[test]
fn with_identity_content_copies_and_touched_files_are_what_they_were() {
    let set = Set::with(10, "resize", "none");
    let text = set.text().replace("path = \"photos\"", "path = \"photos\"\nidentity = \"content\"");
    fs::write(set.config(), text).unwrap();
    assert_eq!(number(&set.run("materialize", &[]), " made in "), 10);
    for file in fs::read_dir(set.path("photos/one")).unwrap() {
        let file = fs::File::options().write(true).open(file.unwrap().path()).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    fs::copy(set.path("photos/one/0.ppm"), set.path("photos/two/copy.ppm")).unwrap();
    fs::rename(set.path("photos/one/2.ppm"), set.path("photos/two/renamed.ppm")).unwrap();
    let again = set.run("materialize", &[]);
    assert!(
        again.stderr.starts_with("11 of 11 samples are in the cache, 11 there before"),
        "{again:?}"
    );
    set.add(4..5, 60);
    let edited = set.run("materialize", &[]);
    assert_eq!(number(&edited, " made in "), 1, "{edited:?}");
    // By their stat, all of them are others.
    let text = set.text().replace("identity = \"content\"", "identity = \"stat\"");
    fs::write(set.config(), text).unwrap();
    assert_eq!(number(&set.run("materialize", &[]), " made in "), 11);
}

#[test]
fn a_second_run_has_nothing_to_make() {
    let set = Set::with(30, "resize", "lz4");
    let first = set.run("materialize", &[]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), ""), "{first:?}");
    assert!(
        first.stderr.starts_with("30 of 30 samples are in the cache, 30 made in "),
        "{first:?}"
    );
    assert!(first.stderr.contains(" holds 30 entries, "), "{first:?}");
    let second = set.run("materialize", &["--threads", "3"]);
    assert_eq!(second.code, Some(0));
    assert!(
        second.stderr.starts_with("30 of 30 samples are in the cache, 30 there before\n"),
        "{second:?}"
    );
    reads_right(&set, 30);
}

#[test]
fn bad_files_are_listed_and_the_others_are_done() {
    let set = Set::with(10, "resize", "none");
    set.add_bad();
    for (made, word) in [("10 made", "10 made"), ("10 there before", "10 there")] {
        let run = set.run("materialize", &[]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("10 of 12 samples are in the cache, "), "{run:?}");
        assert!(run.stderr.contains(made) && run.stderr.contains(word), "{run:?}");
        assert!(run.stderr.contains(", 2 bad\n"), "{run:?}");
        for file in
            ["warning: one/cut.ppm: step 1 `decode_image`: ", "warning: two/text.ppm: step 1 "]
        {
            assert_eq!(run.stderr.matches(file).count(), 1, "{file}: {run:?}");
        }
    }
    reads_right(&set, 10);
}

#[test]
fn a_cache_that_is_full_keeps_what_it_has() {
    let set = Set::with(40, "decode_image", "none");
    let text = set.text().replace("min_free", "limit = \"64KiB\"\nmin_free");
    fs::write(set.config(), &text).unwrap();
    let full = set.run("materialize", &["--threads", "1"]);
    assert_eq!(full.code, Some(1), "{full:?}");
    assert!(full.stderr.contains("error: the cache is full"), "{full:?}");
    assert!(full.stderr.contains("hint: raise `limit` in `[cache]`"), "{full:?}");
    let made = number(&full, " made in");
    assert!((1..40).contains(&made), "{full:?}");
    let again = set.run("materialize", &[]);
    assert_eq!((again.code, number(&again, " there before")), (Some(1), made), "{again:?}");
    fs::write(set.config(), text.replace("64KiB", "64MiB")).unwrap();
    let roomy = set.run("materialize", &[]);
    assert_eq!((roomy.code, number(&roomy, " there before")), (Some(0), made), "{roomy:?}");
    reads_right(&set, 40);
}

#[test]
fn a_source_without_samples_is_an_error() {
    let set = Set::with(0, "resize", "none");
    let run = set.run("materialize", &[]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("matches `**/*.ppm`\nhint: globs are "), "{run:?}");
}

#[test]
fn eight_at_once_share_a_cache() {
    let set = Set::with(120, "resize", "zstd:3");
    let all: Vec<Child> =
        (0..8).map(|_| set.command("materialize", &[]).spawn().unwrap()).collect();
    for child in all {
        let run = ended(child);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stderr.starts_with("120 of 120 samples are in the cache, "), "{run:?}");
    }
    reads_right(&set, 120);
    let after = set.run("materialize", &[]);
    assert_eq!(number(&after, " there before"), 120, "{after:?}");
}

#[test]
fn eight_at_once_stay_within_the_limit_and_one_pack() {
    let set = Set::with(0, "decode_image", "none");
    set.add(0..400, 100);
    fs::write(set.config(), set.text().replace("min_free", "limit = \"4MiB\"\nmin_free")).unwrap();
    let all: Vec<Child> =
        (0..8).map(|_| set.command("materialize", &[]).spawn().unwrap()).collect();
    for child in all {
        let run = ended(child);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert_eq!(run.stderr.matches("warning: the cache is full: ").count(), 1, "{run:?}");
    }
    let held = packed(&set.path("cache"));
    // With such a limit, a pack is of 1 MiB.
    assert!((3 << 20..5 << 20).contains(&held), "{held}");
    reads_right(&set, 400);
}

#[test]
fn what_a_changed_config_has_no_use_for_makes_room() {
    let set = Set::with(0, "decode_image", "none");
    set.add(0..300, 100);
    fs::write(set.config(), set.text().replace("min_free", "limit = \"12MiB\"\nmin_free")).unwrap();
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    fs::copy(set.config(), set.path("other.toml")).unwrap();
    let narrow =
        set.text().replace("lanczos", "bilinear").replace("short_side = 32", "short_side = 100");
    fs::write(set.config(), narrow.replace("\"decode_image\"\ncodec", "\"resize\"\ncodec"))
        .unwrap();
    let second = set.run("materialize", &["--verbose"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(second.stderr.contains(" to make room, packs: "), "{second:?}");
    assert!(packed(&set.path("cache")) <= 12 << 20);
    reads_right(&set, 300);
    // Nothing of it was dropped.
    assert_eq!(number(&set.run("materialize", &[]), " there before"), 300);
}

/// Bytes in the cache's packs.
fn packed(cache: &Path) -> u64 {
    let packs = fs::read_dir(cache.join("parbake-v1/packs")).into_iter().flatten().flatten();
    packs.filter_map(|pack| pack.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Materializes a set that takes a while, ends that by `stop` when something is in the cache, and
/// sees to it that a second run does the rest.
fn ended_in_the_middle(stop: impl Fn(&Child), code: Option<i32>) {
    let mut count = 100;
    loop {
        let set = Set::with(0, "resize", "none");
        set.add(0..count, 400);
        let mut command: Command = set.command("materialize", &["--threads", "1"]);
        // A group of its own, as a shell gives it.
        let mut child = command.process_group(0).spawn().unwrap();
        let begun = || packed(&set.path("cache")) > 10_000 || child.try_wait().unwrap().is_some();
        until("something is in the cache", begun);
        stop(&child);
        let first = ended(child);
        if first.code == Some(0) {
            // A machine that was busy elsewhere: it was done before we looked.
            count *= 4;
            assert!(count < 10_000, "never caught in the middle");
            continue;
        }
        assert_eq!(first.code, code, "{first:?}");
        let second = set.run("materialize", &[]);
        assert_eq!(second.code, Some(0), "{second:?}");
        let (made, before) = (number(&second, " made in"), number(&second, " there before"));
        assert_eq!(made + before, count, "{second:?}");
        assert!(made > 0 && before > 0, "{second:?}");
        if code.is_some() {
            assert_eq!(number(&first, " made in"), before, "{first:?} {second:?}");
            assert!(first.stderr.contains("interrupted: run the same command again"), "{first:?}");
        }
        reads_right(&set, count);
        return;
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

#[test]
fn ctrl_c_keeps_what_was_done() {
    // A terminal sends it to the whole group.
    ended_in_the_middle(|child| killpg(pid(child), Signal::SIGINT).unwrap_or_default(), Some(130));
}

#[test]
fn a_polite_kill_keeps_what_was_done() {
    ended_in_the_middle(|child| kill(pid(child), Signal::SIGTERM).unwrap_or_default(), Some(130));
}

#[test]
fn kill_9_sixty_times_loses_and_repeats_nothing() {
    let set = Set::with(0, "resize", "lz4");
    const SAMPLES: usize = 400;
    set.add(0..SAMPLES, 90);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut before = 0;
    let mut killed_at_work = 0;
    for round in 0..60 {
        let mut child = set.command("materialize", &["--threads", "2"]).spawn().unwrap();
        let grows = packed(&set.path("cache"));
        if round % 4 != 0 {
            let more = || packed(&set.path("cache")) > grows || child.try_wait().unwrap().is_some();
            until("something is made", more);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 15_000));
        child.kill().unwrap();
        let done = child.wait().unwrap().success();
        let (entries, keys) = records(&set.path("cache"));
        assert_eq!(entries, keys, "round {round}: something was made again");
        assert!(entries >= before, "round {round}: {before} were there, {entries} are");
        killed_at_work += usize::from(!done && entries > before && entries < SAMPLES);
        before = entries;
        if round % 10 == 9 {
            reads_right(&set, SAMPLES);
        }
        if round % 10 == 9 || entries == SAMPLES {
            fs::remove_dir_all(set.path("cache")).unwrap();
            before = 0;
        }
    }
    assert!(killed_at_work > 10, "only {killed_at_work} were killed at work");
}

/// How many records there are, and of how many keys.
fn records(cache: &Path) -> (usize, usize) {
    let Some(care) = Care::of(cache) else { return (0, 0) };
    let scanned = care.scan().unwrap();
    let keys: Vec<Key> =
        scanned.iter().flat_map(|pack| &pack.records).map(|record| record.key).collect();
    let entries = keys.len();
    (entries, keys.into_iter().collect::<HashSet<Key>>().len())
}

#[test]
fn kill_9_keeps_what_was_done() {
    ended_in_the_middle(|child| kill(pid(child), Signal::SIGKILL).unwrap_or_default(), None);
}
