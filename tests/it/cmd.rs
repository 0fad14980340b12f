//! The words of the command line, held to what they were: `tests/it/cmd/*.trycmd`. After a change
//! on purpose, `TRYCMD=overwrite cargo test` writes them anew.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Set, ended};

#[test]
fn the_command_line_says_what_it_said() {
    trycmd::TestCases::new()
        .register_bin("parbake", Path::new(env!("CARGO_BIN_EXE_parbake")))
        .env("XDG_CACHE_HOME", "/home/you/.cache")
        .env("COLUMNS", "100")
        .case("tests/it/cmd/*.trycmd");
}

#[test]
fn every_shipped_config_is_snapshotted() {
    let snapshots = fs::read_to_string("tests/it/cmd/configs.trycmd").unwrap();
    let configs: Vec<_> =
        fs::read_dir("config").unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(configs.len() >= 5);
    for config in configs {
        let command = format!("$ parbake check {}\n", config.display());
        assert!(snapshots.contains(&command), "{command}");
    }
}

#[test]
fn what_is_shown_fits_a_hundred_columns() {
    for file in ["help", "configs", "use"] {
        let text = fs::read_to_string(format!("tests/it/cmd/{file}.trycmd")).unwrap();
        // What people read as it is: no commands, no messages, no JSON.
        let talk = ["$ ", "error: ", "hint: ", "note: "];
        let shown = text.lines().filter(|line| {
            !talk.iter().any(|word| line.starts_with(word)) && !line.trim_start().starts_with('"')
        });
        for line in shown {
            assert!(line.chars().count() <= 100, "{file}: {line}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let set = Set::new(1);
    for arguments in [vec!["--json"], vec![]] {
        let mut child = set.command("check", &arguments).spawn().unwrap();
        drop(child.stdout.take());
        let ended = ended(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let set = Set::new(1);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = ended(set.command("check", &[]).stdout(full).spawn().unwrap());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("error: cannot write to stdout: "), "{ended:?}");
}

#[test]
fn stdout_is_data_alone() {
    let set = Set::new(1);
    let ended = set.run("check", &["--json"]);
    let parsed: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let pipeline = &parsed["pipelines"][0];
    assert_eq!(pipeline["served"]["dtype"], "uint8");
    assert_eq!(pipeline["served"]["shape"], serde_json::json!([24, 24, 3]));
    assert_eq!(pipeline["steps"][2]["parameters"]["filter"], "lanczos");
    assert_eq!(pipeline["steps"][3]["may_split"], false);
    assert_eq!(pipeline["strategy"]["split"], "none");
    assert!(ended.stderr.starts_with("note: no `[strategy]`"), "{ended:?}");
}

#[test]
fn a_config_can_come_through_a_pipe() {
    let set = Set::new(1);
    let mut child = Command::new(env!("CARGO_BIN_EXE_parbake"))
        .args(["check", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(set.text().as_bytes()).unwrap();
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Relative paths start at the config's folder.
    assert!(ended.stdout.starts_with("source  /dev/photos\n"), "{ended:?}");
}

#[test]
fn without_a_place_for_the_cache_one_must_be_named() {
    let set = Set::new(1);
    std::fs::write(set.config(), set.text().replace("path     = \"cache\"\n", "")).unwrap();
    for (home, xdg) in [("", ""), ("relative", "relative")] {
        let mut command = set.command("check", &[]);
        let command = command.env("HOME", home).env("XDG_CACHE_HOME", xdg);
        let ended = ended(command.spawn().unwrap());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(
            ended.stderr,
            "error: no place for the cache: neither XDG_CACHE_HOME nor HOME is set\n\
             hint: name one: `[cache] path = …`, or `--cache DIR`\n"
        );
    }
    let mut command = set.command("check", &[]);
    let command = command.env("HOME", "/home/you").env_remove("XDG_CACHE_HOME");
    let ended = ended(command.spawn().unwrap());
    assert!(ended.stdout.contains("\ncache   /home/you/.cache/parbake\n"), "{ended:?}");
}
