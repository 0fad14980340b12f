//! `parbake profile`, run for real: what it shows, writes and leaves behind. No figure is looked at.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::program::{Set, ended, until};

const SPLITS: [&str; 4] = ["none", "source", "decode_image", "resize"];

/// What is in the cache folder beside a cache.
fn left_behind(set: &Set) -> Vec<String> {
    let entries = fs::read_dir(set.path("cache")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn the_table_has_every_legal_strategy() {
    let set = Set::new(30);
    let run = set.run("profile", &["--threads", "2", "--budget", "10s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let sentences = ["best: ", "bottleneck: ", "served: ", "note: "];
    let is_table = |line: &&&str| !sentences.iter().any(|start| line.starts_with(start));
    assert_eq!(lines[0], "pipeline 1  **/*.ppm");
    assert_eq!(lines[1], "30 samples, measured on 30 with 2 threads");
    let rows: Vec<Vec<&str>> = lines[3..]
        .iter()
        .take_while(|line| !line.is_empty())
        .map(|line| line.trim_start_matches(['*', '+', ' ']).split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["split", "codec", "prepare", "stored", "cold", "warm", "served", "+-"]);
    assert_eq!(rows.len(), 1 + 1 + 3 + 2 * 4);
    for split in SPLITS {
        for codec in ["none", "lz4", "zstd:3", "picture:1"] {
            let there = rows.iter().filter(|row| row[..2] == [split, codec]).count();
            let tried = match codec {
                "none" => true,
                "picture:1" => ["decode_image", "resize"].contains(&split),
                _ => split != "none",
            };
            assert_eq!(there, usize::from(tried), "{split} {codec}");
        }
    }
    assert_eq!(run.stdout.matches("\n* ").count(), 1, "the best is marked");
    assert!(run.stdout.contains("\nbest: split `"), "{run:?}");
    for part in ["  source read ", "  1 decode_image ", "  copies to the reader "] {
        assert!(lines.iter().any(|line| line.starts_with(part)), "{run:?}");
    }
    assert!(run.stdout.contains("\nbottleneck: "), "{run:?}");
    assert!(run.stdout.contains("\nserved: split `"), "{run:?}");
    assert!(run.stdout.contains(" read from a mount, "), "{run:?}");
    assert!(lines.iter().filter(is_table).all(|line| line.chars().count() <= 100));
    assert!(left_behind(&set).is_empty(), "{:?}", left_behind(&set));
    assert!(!set.text().contains("[strategy]"), "nothing is written without `--apply`");
}

/// The keys of docs/PROFILE.md's table of that heading.
fn documented(heading: &str) -> Vec<String> {
    let text = fs::read_to_string("docs/PROFILE.md").unwrap();
    let (_, after) = text.split_once(heading).expect("the heading is there");
    let rows = after.lines().skip_while(|line| !line.starts_with("| `"));
    let mut keys: Vec<String> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('`').nth(1).unwrap().to_owned())
        .collect();
    keys.sort();
    keys
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn json_is_as_documented() {
    let set = Set::new(5);
    set.add_bad();
    let run = set.run("profile", &["--json", "--budget", "10s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    let [pipeline] = all.as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!(keys(pipeline), documented("### A pipeline"));
    assert_eq!(pipeline["match"][0], "**/*.ppm");
    assert_eq!((&pipeline["samples"], &pipeline["best"]["samples_bad"]), (&7.into(), &2.into()));
    let strategies = pipeline["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 12);
    assert_eq!(pipeline["best"], strategies[0]);
    for strategy in strategies {
        assert_eq!(keys(strategy), documented("### A strategy"));
        assert_eq!(strategy["samples_measured"], 5);
        let times = strategy["time_of_a_sample"].as_array().unwrap();
        assert!(times.iter().all(|time| keys(time) == documented("### A part of a sample's time")));
        assert!(times.len() >= 3);
        let passes = strategy["warm_samples_per_second"].as_array().unwrap().len();
        assert!((1..=24).contains(&passes), "{strategy}");
    }
}

#[test]
fn bad_samples_are_counted_and_named_once() {
    let set = Set::new(6);
    set.add_bad();
    let run = set.run("profile", &["--threads", "2", "--budget", "10s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stdout.contains("8 samples, measured on 6 with 2 threads, 2 more are bad\n"),
        "{run:?}"
    );
    for file in ["one/cut.ppm: step 1 `decode_image`: ", "two/text.ppm: step 1 `decode_image`: "] {
        assert_eq!(run.stderr.matches(file).count(), 1, "{run:?}");
    }
}

#[test]
fn nothing_but_bad_samples_is_an_error() {
    let set = Set::new(1);
    set.add_bad();
    fs::remove_file(set.path("photos/one/0.ppm")).unwrap();
    let run = set.run("profile", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("error: not one sample can be made"), "{run:?}");
    assert!(left_behind(&set).is_empty());
}

#[test]
fn a_set_of_one_is_enough() {
    let run = Set::new(1).run("profile", &["--budget", "5s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("\n1 sample, measured on 1 with "), "{run:?}");
    assert!(run.stdout.contains("\nnote: 1 sample only: the figures say little"), "{run:?}");
}

#[test]
fn a_source_without_samples_is_an_error() {
    let set = Set::new(0);
    let run = set.run("profile", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("matches `**/*.ppm`\nhint: globs are "), "{run:?}");
    assert!(left_behind(&set).is_empty());
}

/// Applying needs no good figures.
const QUICK: [&str; 5] = ["--apply", "--samples", "3", "--budget", "1s"];

#[test]
fn apply_keeps_comments_and_is_accepted() {
    let set = Set::new(6);
    let before = set.text();
    let run = set.run("profile", &QUICK);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("6 samples, measured on 3 with "), "{run:?}");
    let after = set.text();
    assert!(after.starts_with(&before), "{after}");
    assert!(after[before.len()..].starts_with("\n[strategy]\nsplit = \""), "{after}");
    let check = set.run("check", &[]);
    assert_eq!((check.code, check.stderr.as_str()), (Some(0), ""), "{check:?}");
    // And again, over what is there.
    assert_eq!(set.run("profile", &QUICK).code, Some(0));
    assert_eq!(set.text().matches("[strategy]").count(), 1);
    assert!(set.text().starts_with(&before));
}

#[test]
fn apply_gives_each_pipeline_its_own() {
    let set = Set::new(4);
    let second = "\n[[pipeline]] # the second\nmatch = [\"**/*.PPM\"]\noutput = \"raw\"\n";
    set.append(second);
    fs::copy(set.path("photos/one/0.ppm"), set.path("photos/one/big.PPM")).unwrap();
    let run = set.run("profile", &QUICK);
    assert_eq!(run.code, Some(0), "{run:?}");
    let text = set.text();
    assert_eq!(text.matches("[pipeline.strategy]").count(), 2, "{text}");
    assert!(text.contains("# the second") && text.contains("# by name"), "{text}");
    let check = set.run("check", &[]);
    assert_eq!((check.code, check.stderr.as_str()), (Some(0), ""), "{check:?}");
}

#[test]
fn a_link_to_a_config_stays_one() {
    let set = Set::new(2);
    fs::create_dir(set.path("real")).unwrap();
    fs::rename(set.config(), set.path("real/set.toml")).unwrap();
    std::os::unix::fs::symlink("real/set.toml", set.config()).unwrap();
    let run = set.run("profile", &QUICK);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(fs::symlink_metadata(set.config()).unwrap().is_symlink());
    assert!(fs::read_to_string(set.path("real/set.toml")).unwrap().contains("[strategy]"));
    let beside: Vec<_> = fs::read_dir(set.path("real")).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing is left beside it");
}

#[test]
fn a_read_only_config_is_refused_before_measuring() {
    let set = Set::new(2);
    let before = set.text();
    fs::set_permissions(set.config(), fs::Permissions::from_mode(0o444)).unwrap();
    let run = set.run("profile", &QUICK);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("is read-only") && run.stderr.contains("hint: "), "{run:?}");
    assert_eq!(set.text(), before);
    assert_eq!(set.run("profile", &["--samples", "1", "--budget", "1s"]).code, Some(0));
}

#[test]
fn what_cannot_be_applied_says_what_to_write() {
    let set = Set::new(2);
    // Several pipelines that are written inline have no section to write below.
    let text = "pipeline = [{ match = [\"**/*.ppm\"], output = \"raw\" }, \
                { match = [\"**/*.PPM\"], output = \"raw\" }]\nsource.path = \"photos\"\n";
    fs::write(set.config(), format!("{text}cache.path = \"cache\"\n")).unwrap();
    fs::copy(set.path("photos/one/0.ppm"), set.path("photos/one/big.PPM")).unwrap();
    let run = set.run("profile", &QUICK);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("hint: write it by hand: split `"), "{run:?}");
    assert!(set.text().starts_with(text));
}

#[test]
fn a_budget_that_is_over_at_once_still_gives_an_answer() {
    let set = Set::new(0);
    set.add(0..60, 200);
    let run = set.run("profile", &["--budget", "0s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("not tried: the time was over"), "{run:?}");
    assert!(run.stdout.contains("\nbest: split `none`"), "{run:?}");
    assert!(left_behind(&set).is_empty());
}

#[test]
fn limits_that_nothing_keeps_to_are_said_and_nothing_is_written() {
    let set = Set::new(5);
    let quick = ["--budget", "1s", "--apply", "--min-throughput", "1e12"];
    let run = set.run("profile", &quick);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("best: no strategy keeps to the limits; nearest is "), "{run:?}");
    assert!(run.stderr.contains("nothing is written"), "{run:?}");
    assert!(!set.text().contains("[strategy]"));
    let run = set.run("profile", &["--max-storage", "0", "--budget", "1s", "--apply"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(set.text().contains("split = \"none\""), "{}", set.text());
}

#[test]
fn a_goal_without_its_figures_is_refused() {
    let set = Set::new(1);
    for (arguments, missing) in [
        (&["--objective", "total-time"][..], "needs `--epochs N`"),
        (&["--objective", "cost", "--epochs", "3"], "needs `--price-storage PRICE`"),
        (&["--weights", "1,2"], "three numbers"),
        (&["--weights", "0,0,0"], "three numbers"),
    ] {
        let run = set.run("profile", arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(missing), "{run:?}");
    }
    for arguments in [
        &["--objective", "total-time", "--epochs", "3"][..],
        &["--objective", "cost", "--epochs", "3", "--price-storage", "0.02", "--price-hour", "1"],
        &["--weights", "1,1,1"],
    ] {
        let run = set.run("profile", &[arguments, &["--budget", "1s"]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.contains("epochs") || run.stdout.contains("by weights"), "{run:?}");
    }
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let set = Set::new(0);
    set.add(0..300, 400);
    let mut child = set.command("profile", &["--apply"]).process_group(0).spawn().unwrap();
    // The first one, `none`, has no folder: it is done when the second has one.
    let begun = || {
        let names = left_behind(&set).into_iter().map(|name| set.path("cache").join(name));
        names.into_iter().any(|folder| folder.join("strategy-1").exists())
            || child.try_wait().unwrap().is_some()
    };
    until("the second strategy is run", begun);
    killpg(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let run = ended(child);
    assert_eq!(run.code, Some(130), "{run:?}");
    assert!(
        run.stderr.ends_with(
            "interrupted: only what was measured until then is shown, and nothing is written\n"
        ),
        "{run:?}"
    );
    assert!(run.stdout.contains("\nbest: split `"), "what was found is shown: {run:?}");
    assert!(run.stdout.contains("not tried: "), "{run:?}");
    assert!(left_behind(&set).is_empty(), "{:?}", left_behind(&set));
    assert!(!set.text().contains("[strategy]"));
}

#[test]
fn what_a_killed_run_left_is_swept() {
    let set = Set::new(0);
    set.add(0..300, 400);
    let mut child = set.command("profile", &[]).spawn().unwrap();
    let begun = || {
        left_behind(&set).iter().any(|name| set.path("cache").join(name).join("lock").exists())
            || child.try_wait().unwrap().is_some()
    };
    until("the scratch folder is there", begun);
    child.kill().unwrap();
    ended(child);
    assert_eq!(left_behind(&set).len(), 1);
    let run = set.run("profile", &["--samples", "1", "--budget", "1s"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(left_behind(&set).is_empty(), "{:?}", left_behind(&set));
}
