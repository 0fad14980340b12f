//! What the code base promises about absences, held by reading it.

#![expect(clippy::unwrap_used, reason = "a helper of tests that fails fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first: a module names only modules on earlier lines, never a sibling.
const LAYERS: &[&[&str]] = &[
    &["units", "draw", "sample"],
    &["source", "step", "output", "cache", "demo"],
    &["pipeline"],
    &["exec"],
    &["fs", "profile"],
    &["fuse"],
    &["config"],
    &["cli"],
    &["main", "lib"],
];

/// The most lines of a file, its tests left out: what a reader still takes in as one thing.
const MOST_LINES: usize = 500;

struct Code {
    /// Relative to `src`.
    path: PathBuf,
    /// All of it.
    text: String,
    /// Without the tests at its end, and empty if it is a file of tests.
    code: String,
}

impl Code {
    /// The top module that it belongs to.
    fn module(&self) -> &str {
        let first = self.path.iter().next().unwrap().to_str().unwrap();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// The lines of code, numbered, without comments.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.code.lines().map(|line| line.split("//").next().unwrap_or(""));
        (1..).zip(code)
    }
}

fn sources() -> Vec<Code> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_path_buf();
                let tests = path.iter().any(|part| part == "tests" || part == "tests.rs");
                let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
                let code = if tests { String::new() } else { text[..end].to_owned() };
                sources.push(Code { path, text, code });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(sources.len() > 50);
    sources
}

/// The top modules that `crate::…` and `crate::{…}` name in a text.
fn named(code: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = Vec::new();
    for start in ["crate::", "parbake::"] {
        for (at, _) in code.match_indices(start) {
            let after = &code[at + start.len()..];
            let Some(list) = after.strip_prefix('{') else {
                names.push(word(after));
                continue;
            };
            let mut depth = 0;
            let mut first = String::new();
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.push(word(std::mem::take(&mut first).trim())),
                    c if depth == 0 => first.push(c),
                    _ => {}
                }
            }
            names.push(word(first.trim()));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn the_reading_of_names_is_right() {
    let code = "use crate::fs::{Fs, a::b};\nuse crate::{exec::{A, B}, units, sample::C};\n\
                crate::cli::run(); pub(crate) fn x()";
    assert_eq!(named(code), ["fs", "exec", "units", "sample", "cli"]);
}

#[test]
fn a_module_names_only_what_is_below_it() {
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut wrong = BTreeSet::new();
    for code in sources() {
        let module = code.module();
        let here = layer(module).unwrap_or_else(|| panic!("`{module}` is in no layer"));
        for (line, text) in code.lines() {
            for name in named(text) {
                let there = layer(&name).unwrap_or_else(|| panic!("`{name}` is in no layer"));
                if name != module && there >= here {
                    wrong.insert(format!("{}:{line} names `{name}`", code.path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_file_says_what_it_is_and_is_short_enough_to_be_read() {
    for code in sources() {
        let path = code.path.display();
        assert!(code.text.starts_with("//! "), "{path} doesn't say what it is");
        let lines = code.code.lines().count();
        assert!(lines <= MOST_LINES, "{path} has {lines} lines");
    }
}

/// The places where one of these words is in code outside of tests, other than in these modules
/// or files.
fn only(words: &[&str], places: &[&str]) {
    let mut wrong = Vec::new();
    for code in sources() {
        let path = code.path.to_str().unwrap();
        if places.contains(&code.module()) || places.contains(&path) {
            continue;
        }
        for (line, text) in code.lines() {
            if let Some(word) = words.iter().find(|word| text.contains(*word)) {
                wrong.push(format!("{path}:{line} has `{word}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "allowed in {places:?} alone: {wrong:#?}");
}

#[test]
fn the_kernel_is_known_to_one_module() {
    only(&["fuser::", "use fuser", "extern crate fuser"], &["fuse"]);
}

#[test]
fn files_are_written_in_one_place() {
    let writes = [
        "fs::write",
        "fs::rename",
        "fs::remove",
        "fs::copy",
        "fs::create",
        "fs::hard_link",
        "fs::set_permissions",
        "File::create",
        "OpenOptions",
        "DirBuilder",
    ];
    // The profiler throws its scratch caches away, which is no cache's business.
    only(&writes, &["cache/file.rs", "profile/measure.rs", "demo", "cli"]);
}

#[test]
fn clocks_are_read_where_time_is_what_it_is_about() {
    only(
        &["Instant::now", "SystemTime::now"],
        &["source", "exec", "profile", "cache", "fs", "cli"],
    );
}

#[test]
fn steps_read_no_clock_environment_or_file() {
    for code in
        sources().iter().filter(|code| ["step", "sample", "output"].contains(&code.module()))
    {
        for (line, text) in code.lines() {
            for word in ["std::env", "std::fs", "std::time", "std::thread", "std::net", "rand::"] {
                assert!(!text.contains(word), "{}:{line} has `{word}`", code.path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    for code in sources() {
        let lines: Vec<&str> = code.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let code_of = line.split("//").next().unwrap_or("");
            if !code_of.contains("unsafe {") && !code_of.contains("unsafe impl") {
                continue;
            }
            let above = lines[..at].iter().rev().take(6);
            let said = above.chain([&lines[at]]).any(|line| line.contains("// SAFETY:"));
            assert!(said, "{}:{} doesn't say `// SAFETY:`", code.path.display(), at + 1);
        }
    }
}
