//! docs/SEMANTICS.md, heading by heading: each has a test here that is named like it.

mod changes;
mod content;
mod lifetime;
mod names;
mod random;

use std::collections::BTreeSet;
use std::path::Path;

use super::bed::files_under;

/// `Stat tells the size` as the name of a function.
fn slug(heading: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let spaced: String = heading.replace('\'', "").chars().map(word).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("_")
}

/// The names of the tests in a file of tests.
fn tests_in(text: &str) -> BTreeSet<String> {
    let after = |line: &str| line.strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.into());
    let lines: Vec<&str> = text.lines().collect();
    let mut tests = BTreeSet::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[test]") {
        tests.extend(lines[at..].iter().find_map(|line| after(line)));
    }
    tests
}

#[test]
fn every_promise_has_its_test_and_every_test_its_promise() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("docs/SEMANTICS.md")).unwrap();
    let promises: BTreeSet<String> =
        document.lines().filter_map(|line| line.strip_prefix("### ")).map(slug).collect();
    assert!(promises.len() > 20, "{promises:?}");

    let tests = |folder: &Path| -> BTreeSet<String> {
        let files = files_under(folder).into_iter();
        let sources = files.filter(|path| path.extension().is_some_and(|name| name == "rs"));
        sources.flat_map(|path| tests_in(&std::fs::read_to_string(path).unwrap())).collect()
    };
    let all = tests(&root.join("tests/it"));
    let untested: Vec<_> = promises.difference(&all).collect();
    assert!(untested.is_empty(), "promised and not tested: {untested:#?}");
    let here = tests(&root.join("tests/it/mount/semantics"));
    let unsaid: Vec<_> = here.difference(&promises).collect();
    assert!(unsaid.is_empty(), "tested as a promise and not promised: {unsaid:#?}");
}
