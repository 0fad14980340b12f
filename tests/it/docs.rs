//! The documentation names everything that there is.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;

use parbake::config::Config;
use parbake::step;
use parbake::step::image::Compat;

/// Parameters that the steps take; a step whose parameters change fails the test below.
fn parameters(name: &str) -> Vec<String> {
    // An unknown field is answered with a list of those that there are.
    let unknown = r#"{"no such parameter": 0}"#;
    let mut text = serde_json::Deserializer::from_str(unknown);
    let error = step::build(name, &mut text).unwrap_err().to_string();
    assert!(error.starts_with("unknown field `no such parameter`"), "{name}: {error}");
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_step_and_parameter_is_described() {
    let text = fs::read_to_string("docs/CONFIG.md").unwrap();
    for name in step::NAMES {
        let heading = format!("\n### `{name}`\n");
        let (_, section) = text.split_once(&heading).expect(&heading);
        let section = section.split("\n##").next().unwrap();
        for parameter in parameters(name) {
            let row = format!("\n| `{parameter}` | ");
            assert!(section.contains(&row), "`{parameter}` of `{name}`");
        }
        for promise in ["Takes", "Makes"] {
            assert!(section.contains(promise), "{name}: {promise}");
        }
    }
    let headings = text.matches("\n### `").count();
    assert!(headings >= step::NAMES.len());
}

#[test]
fn compat_is_given_to_the_steps_that_take_it() {
    for name in step::NAMES {
        let takes = parameters(name).iter().any(|parameter| parameter == "compat");
        assert_eq!(takes, Compat::STEPS.contains(name), "{name}");
    }
}

#[test]
fn every_example_is_a_config() {
    for file in ["README.md", "docs/CONFIG.md", "docs/PROFILE.md"] {
        let text = fs::read_to_string(file).unwrap();
        for block in text.split("\n```toml\n").skip(1) {
            let block = block.split("\n```").next().unwrap();
            // A whole config is checked; a part of one is at least TOML.
            let parsed: Result<toml::Table, _> = toml::from_str(block);
            let parsed = parsed.unwrap_or_else(|error| panic!("{file}: {error}\n{block}"));
            let whole = parsed.get("pipeline").is_some_and(toml::Value::is_array)
                && parsed["pipeline"][0].get("match").is_some();
            if whole {
                Config::parse(block, file.as_ref()).unwrap();
            }
        }
    }
}

#[test]
fn the_readme_shows_the_config_that_is_shipped() {
    let readme = fs::read_to_string("README.md").unwrap();
    let shown = readme.split("\n```toml\n").nth(1).unwrap().split("\n```").next().unwrap();
    let file = Path::new("config/photos.toml");
    let resolved = |config: Config| parbake::config::resolved(&config);
    let shown = resolved(Config::parse(shown, file).unwrap());
    assert_eq!(shown, resolved(Config::load(file).unwrap()));
}
