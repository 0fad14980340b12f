//! `parbake explain` and `parbake cache`: what they say is so, and what they drop isn't needed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::program::{Ended, Set, ended};

/// Runs `parbake ARGUMENTS` where the set is.
fn run(set: &Set, arguments: &[&str]) -> Ended {
    let mut parbake = Command::new(env!("CARGO_BIN_EXE_parbake"));
    parbake.args(arguments).current_dir(set.path(""));
    parbake.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(parbake.spawn().unwrap())
}

fn json(set: &Set, arguments: &[&str]) -> Value {
    let run = run(set, arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

fn packs(set: &Set) -> Vec<PathBuf> {
    let listed = fs::read_dir(set.path("cache/parbake-v1/packs")).unwrap();
    listed.map(|entry| entry.unwrap().path()).collect()
}

/// Makes the packs older than what is taken for being in use.
fn age(set: &Set) {
    for pack in packs(set) {
        let file = File::options().write(true).open(pack).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }
}

fn use_split(set: &Set, split: &str) {
    let text = set.text();
    let (before, _) = text.split_once("\n[strategy]").unwrap();
    let text = format!("{before}\n[strategy]\nsplit = \"{split}\"\ncodec = \"none\"\n");
    fs::write(set.config(), text).unwrap();
}

#[test]
fn a_file_is_explained_by_any_of_its_names() {
    let set = Set::with(4, "resize", "lz4");
    let source = set.path("photos/two/1.ppm");
    let names =
        ["two/1.ppm", "two/1.npy", "./two/1.ppm", "photos/two/1.ppm", ".parbake/epoch/3/two/1.npy"];
    for name in names.into_iter().chain([source.to_str().unwrap()]) {
        let all = json(&set, &["explain", "set.toml", name, "--json"]);
        assert_eq!(all[0]["source"], "two/1.ppm", "{name}");
        assert_eq!(all[0]["served"], "two/1.npy", "{name}");
        assert_eq!((&all[0]["state"], &all[0]["split"]), (&"absent".into(), &"resize".into()));
    }
    // Nothing was made for that.
    assert!(!set.path("cache").exists());
}

#[test]
fn where_an_entry_is_said_to_be_it_is() {
    let set = Set::with(6, "resize", "none");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    let all = json(&set, &["explain", "set.toml", "one/0.ppm", "two/5.ppm", "--json"]);
    for one in all.as_array().unwrap() {
        assert_eq!(one["state"], "kept");
        let pack = fs::read(one["pack"].as_str().unwrap()).unwrap();
        let offset = one["offset"].as_u64().unwrap() as usize;
        assert_eq!(&pack[offset..offset + 4], b"pbRe");
        let key: String =
            pack[offset + 24..offset + 56].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(one["key"], *key);
        assert!(one["makes"].as_str().unwrap().starts_with("uint8 [32, "), "{one}");
    }
    let text = run(&set, &["explain", "set.toml", "one/0.ppm"]);
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("\n  kept     uint8 ["), "{text:?}");

    let offset = all[0]["offset"].as_u64().unwrap() as usize;
    let path = all[0]["pack"].as_str().unwrap();
    let mut pack = fs::read(path).unwrap();
    pack[offset + 200] ^= 1;
    fs::write(path, pack).unwrap();
    let damaged = json(&set, &["explain", "set.toml", "one/0.ppm", "--json"]);
    assert_eq!(damaged[0]["state"], "damaged");
    assert_eq!(damaged[0]["cause"], "the body's checksum is wrong");

    // Another content: another key, and nothing under it.
    set.add(5..6, 50);
    let changed = json(&set, &["explain", "set.toml", "two/5.ppm", "--json"]);
    assert_eq!(changed[0]["state"], "absent");
    assert_ne!(changed[0]["key"], all[1]["key"]);
    let cause = |file: &str| {
        let all = json(&set, &["explain", "set.toml", file, "--json"]);
        all[0]["cause"].as_str().unwrap_or_default().to_owned()
    };
    assert!(cause("two/5.ppm").starts_with("the file has changed: its content "));
    fs::rename(set.path("photos/two/3.ppm"), set.path("photos/two/9.ppm")).unwrap();
    assert!(cause("two/9.ppm").starts_with("the file has changed: it was renamed, "));
    fs::write(set.config(), set.text().replace("short_side = 32", "short_side = 30")).unwrap();
    assert_eq!(
        cause("one/2.ppm"),
        "the config has changed: step 2 `resize`: `short_side` was 32 and is 30"
    );
    let text = run(&set, &["explain", "set.toml", "one/2.ppm"]);
    assert!(text.stdout.contains("\n  because  the config has changed: step 2"), "{text:?}");
}

#[test]
fn what_is_not_kept_and_what_is_not_there_is_said_to_be_so() {
    let set = Set::new(2);
    fs::write(set.path("photos/labels.csv"), "0,1\n").unwrap();
    let paths = ["one/0.ppm", "labels.csv", "one/no.ppm", "one", "/elsewhere/0.ppm", "../set.toml"];
    let arguments = [&["explain", "set.toml"], &paths[..]].concat();
    let run = run(&set, &arguments);
    assert_eq!(run.code, Some(1), "{run:?}");
    for line in ["split    none: nothing of it is kept", "pipeline none matches: it is served as"] {
        assert!(run.stdout.contains(line), "{run:?}");
    }
    for path in &paths[2..] {
        assert!(run.stderr.contains(&format!("error: {path}: ")), "{path}: {run:?}");
    }
}

#[test]
fn status_tells_how_much_is_there_and_of_what() {
    let set = Set::with(10, "resize", "lz4");
    let empty = json(&set, &["cache", "status", "set.toml", "--json"]);
    assert_eq!((&empty["there"], &empty["config"]["kept"]), (&false.into(), &0.into()));
    assert!(!set.path("cache").exists());

    assert_eq!(set.run("materialize", &[]).code, Some(0));
    let full = json(&set, &["cache", "status", "set.toml", "--json"]);
    let of = &full["config"];
    assert_eq!(
        (&of["samples"], &of["kept"], &of["other_bytes"]),
        (&10.into(), &10.into(), &0.into())
    );
    let length: u64 = packs(&set).iter().map(|pack| pack.metadata().unwrap().len()).sum();
    assert_eq!((&full["bytes"], &of["bytes"]), (&length.into(), &length.into()));
    let contents = &full["contents"][0];
    assert_eq!(
        (&contents["codec"], &contents["step"][1]["use"]),
        (&"lz4".into(), &"resize".into())
    );
    assert_eq!(contents["source"], *set.path("photos").to_str().unwrap());

    // A changed file, and another split beside the first.
    set.add(0..1, 60);
    let changed = json(&set, &["cache", "status", "set.toml", "--json"]);
    assert_eq!(changed["config"]["kept"], 9);
    assert!(changed["config"]["other_bytes"].as_u64().unwrap() > 0);
    use_split(&set, "decode_image");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    let two = json(&set, &["cache", "status", "--cache", "cache", "--json"]);
    assert_eq!(two["contents"].as_array().unwrap().len(), 2);
    assert_eq!((&two["entries"], &two["config"]), (&20.into(), &Value::Null));
    let text = run(&set, &["cache", "status", "set.toml"]);
    assert!(
        text.stdout.contains("of the config, 10 of 10 samples are there (100.0 %)"),
        "{text:?}"
    );
    assert!(text.stdout.contains("/photos: decode_image > resize, codec `lz4`\n"), "{text:?}");
}

#[test]
fn damage_is_reported_by_pack_and_place() {
    let set = Set::with(5, "resize", "none");
    assert_eq!(set.run("materialize", &["--threads", "1"]).code, Some(0));
    let sound = run(&set, &["cache", "verify", "set.toml"]);
    assert_eq!((sound.code, sound.stdout.as_str()), (Some(0), ""), "{sound:?}");
    assert!(sound.stderr.starts_with("5 entries of 1 packs are whole, "), "{sound:?}");
    let pack = packs(&set).remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    bytes[200] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let damaged = run(&set, &["cache", "verify", "--cache", "cache", "--json"]);
    assert_eq!(damaged.code, Some(3), "{damaged:?}");
    let found: Value = serde_json::from_str(&damaged.stdout).unwrap();
    assert_eq!((&found["entries"], &found["damaged"][0]["offset"]), (&4.into(), &0.into()));
    assert_eq!(found["damaged"][0]["pack"], *pack.file_name().unwrap().to_str().unwrap());
}

#[test]
fn gc_drops_what_no_config_needs_and_the_rest_is_there() {
    let set = Set::with(20, "decode_image", "none");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    fs::copy(set.config(), set.path("old.toml")).unwrap();
    use_split(&set, "resize");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    // Just written: left alone.
    let young = json(&set, &["cache", "gc", "set.toml", "--json"]);
    assert_eq!((&young["freed"], &young["in_use"]), (&0.into(), &2.into()));
    age(&set);
    let both = json(&set, &["cache", "gc", "set.toml", "old.toml", "--json"]);
    assert_eq!((&both["freed"], &both["in_use"]), (&0.into(), &0.into()));
    let dry = json(&set, &["cache", "gc", "set.toml", "--dry-run", "--json"]);
    assert_eq!((packs(&set).len(), &dry["dropped"]), (2, &20.into()));
    let one = run(&set, &["cache", "gc", "set.toml"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    assert!(one.stdout.contains(" freed: 20 entries dropped, packs removed: 1, "), "{one:?}");
    let after = json(&set, &["cache", "status", "set.toml", "--json"]);
    let of = &after["config"];
    assert_eq!((&of["kept"], &of["other_bytes"]), (&20.into(), &0.into()));
    assert_eq!(after["contents"].as_array().unwrap().len(), 1);

    // Half of the files change: the pack is rewritten.
    set.add(0..10, 60);
    age(&set);
    let half = json(&set, &["cache", "gc", "set.toml", "--json"]);
    assert_eq!((&half["rewritten"], &half["dropped"]), (&1.into(), &10.into()));
    let again = set.run("materialize", &[]);
    assert!(again.stderr.contains("10 made in ") && again.stderr.contains("10 there before"));
}

#[test]
fn gc_never_takes_a_source_that_is_not_there_for_an_empty_one() {
    let set = Set::with(4, "resize", "none");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    age(&set);
    for (source, code) in [("nowhere", 1), ("cache", 1)] {
        let run = run(&set, &["cache", "gc", "set.toml", "--source", source]);
        assert_eq!(run.code, Some(code), "{run:?}");
    }
    fs::write(set.path("none.toml"), set.text().replace("\"resize\"\ncodec", "\"none\"\ncodec"))
        .unwrap();
    let none = run(&set, &["cache", "gc", "none.toml"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("hint: `parbake cache clear` removes all of it"), "{none:?}");
    fs::write(set.path("other.toml"), set.text().replace("\"cache\"", "\"elsewhere\"")).unwrap();
    let two = run(&set, &["cache", "gc", "set.toml", "other.toml"]);
    assert_eq!(two.code, Some(2), "{two:?}");
    assert!(two.stderr.starts_with("error: the configs have two caches: "), "{two:?}");
    let status = json(&set, &["cache", "status", "set.toml", "--json"]);
    assert_eq!(status["config"]["kept"], 4);
}

#[test]
fn a_cache_is_cleared_when_asked_for_in_so_many_words() {
    let set = Set::with(3, "resize", "none");
    assert_eq!(set.run("materialize", &[]).code, Some(0));
    fs::write(set.path("cache/mine.txt"), "kept").unwrap();
    let refused = run(&set, &["cache", "clear", "set.toml"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("hint: say `--yes` where there is no terminal"), "{refused:?}");
    assert_eq!(packs(&set).len(), 1);
    let cleared = run(&set, &["cache", "clear", "set.toml", "--yes"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    assert!(cleared.stderr.ends_with(" KiB are free\n"), "{cleared:?}");
    assert!(!set.path("cache/parbake-v1").exists() && set.path("cache/mine.txt").exists());
    let again = run(&set, &["cache", "clear", "set.toml", "--yes"]);
    assert_eq!(again.code, Some(1), "{again:?}");
}
