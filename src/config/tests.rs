//! Configs as people write them: what is understood, and what a mistake is answered with.

use std::path::Path;

use super::*;

const GOOD: &str = r#"
[source]
path = "photos"

[[pipeline]]
match  = ["**/*.{jpg,png}"]
output = "npy"

[[pipeline.step]]
use = "decode_image"

[[pipeline.step]]
use = "resize"
short_side = 256

[[pipeline.step]]
use = "random_crop"
size = [224, 224]

[cache]
path  = "/fast/parbake"
limit = "200GiB"

[strategy]
split = "resize"
codec = "zstd:3"
"#;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("sets/photos.toml"))
}

/// The error and hint of `GOOD` with one thing replaced.
fn mistake(from: &str, to: &str) -> (String, String) {
    assert!(GOOD.contains(from), "{from}");
    let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
    (error.to_string(), error.way_out().unwrap_or_default().to_owned())
}

#[test]
fn sections_in_single_brackets_are_refused_and_not_read_over() {
    let start = GOOD.find("[[pipeline.step]]").unwrap();
    let text = format!("{}[pipeline.step]\nuse = \"decode_image\"\n", &GOOD[..start]);
    let error = parse(&text).unwrap_err();
    assert_eq!(error.to_string(), "sets/photos.toml:9: a step is a section in double brackets");
    assert_eq!(error.way_out(), Some("write `[[pipeline.step]]`"));
    let error = parse("[pipeline]\nmatch = [\"*\"]\noutput = \"raw\"\n").unwrap_err();
    assert_eq!(error.to_string(), "sets/photos.toml:1: a pipeline is a section in double brackets");
}

#[test]
fn types_are_called_as_people_call_them() {
    assert!(mistake("= 256", "= \"256\"").0.ends_with("string \"256\", expected a whole number"));
    assert!(mistake("[224, 224]", "224").0.ends_with("integer `224`, expected a list"));
}

#[test]
fn a_good_config_is_understood() {
    let config = parse(GOOD).unwrap();
    assert_eq!(config.source.as_deref(), Some(Path::new("sets/photos")));
    assert_eq!(config.cache.path.as_deref(), Some(Path::new("/fast/parbake")));
    assert_eq!(config.cache.limit, 200 << 30);
    assert_eq!(config.cache.memory, 0);
    let plan = &config.plans[0];
    assert_eq!(plan.strategy, Strategy { split: Split::After(2), codec: Codec::Zstd(3) });
    assert_eq!(
        plan.pipeline.names().collect::<Vec<_>>(),
        ["decode_image", "resize", "random_crop"]
    );
    assert_eq!(config.strategies_given, [true]);
}

#[test]
fn the_resolved_text_reads_back_as_the_same() {
    let first = parse(&GOOD.replace("limit", "memory = \"2GiB\"\nlimit")).unwrap();
    assert_eq!(first.cache.memory, 2 << 30);
    let second = Config::parse(&resolved(&first), Path::new("sets/photos.toml")).unwrap();
    assert_eq!(second.plans[0].strategy, first.plans[0].strategy);
    assert_eq!(second.plans[0].pipeline.prefix(2), first.plans[0].pipeline.prefix(2));
    assert_eq!(second.cache, first.cache);
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    let (error, hint) = mistake("short_side", "shortside");
    assert!(
        error.starts_with("sets/photos.toml:14: step 2 `resize`: unknown field `shortside`"),
        "{error}"
    );
    assert_eq!(hint, "did you mean `short_side`?");

    let (error, hint) = mistake("limit =", "limits =");
    assert!(error.starts_with("sets/photos.toml:22: unknown field `limits`"), "{error}");
    assert_eq!(hint, "did you mean `limit`?");

    let (error, hint) = mistake("[cache]", "[cash]");
    assert!(error.starts_with("sets/photos.toml:20: unknown field `cash`"), "{error}");
    assert_eq!(hint, "did you mean `cache`?");
}

#[test]
fn an_unknown_step_or_word_is_refused_with_the_nearest_known_one() {
    let (error, hint) = mistake("\"decode_image\"", "\"decode-image\"");
    assert_eq!(error, "sets/photos.toml:10: step 1: unknown step `decode-image`");
    assert_eq!(hint, "did you mean `decode_image`?");

    let (error, hint) = mistake("\"npy\"", "\"npi\"");
    assert!(error.starts_with("sets/photos.toml:7: unknown variant `npi`"), "{error}");
    assert_eq!(hint, "did you mean `npy`?");

    let (error, _) = mistake("use = \"resize\"", "#");
    assert_eq!(error, "sets/photos.toml:12: step 2 doesn't say what to `use`");
}

#[test]
fn a_chain_that_does_not_fit_points_at_its_step() {
    let text = GOOD.replace("[[pipeline.step]]\nuse = \"decode_image\"\n", "");
    let error = parse(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("sets/photos.toml:11: step 1 `resize` needs a picture, but gets bytes"),
        "{error}"
    );
}

#[test]
fn a_bad_split_says_what_there_is_and_why() {
    let (error, _) = mistake("split = \"resize\"", "split = \"resise\"");
    assert!(error.starts_with("sets/photos.toml:25: no step `resise` to split after; there are `none`, `source`, `decode_image`"), "{error}");
    let (error, _) = mistake("split = \"resize\"", "split = 3");
    assert_eq!(
        error,
        "sets/photos.toml:25: step 3 `random_crop` draws random numbers: kept, every epoch would see the same draw"
    );
    assert_eq!(
        parse(&GOOD.replace("\"resize\"\ncodec", "1\ncodec")).unwrap().plans[0].strategy.split,
        Split::After(1)
    );
}

#[test]
fn compat_of_a_pipeline_is_that_of_its_steps_unless_they_say_otherwise() {
    let given = |text: &str| {
        let config = parse(text).unwrap();
        config.plans[0].pipeline.parameters().map(str::to_owned).collect::<Vec<_>>()
    };
    let text = GOOD.replace("output = \"npy\"", "output = \"npy\"\ncompat = \"tensorflow\"");
    let steps = given(&text);
    assert!(steps[0].contains(r#""compat":"tensorflow""#), "{steps:?}");
    assert!(steps[1].contains(r#""compat":"tensorflow""#), "{steps:?}");
    assert!(!steps[2].contains("compat"), "{steps:?}");
    let steps = given(&text.replace("= 256", "= 256\ncompat = \"pillow-12\""));
    assert!(steps[1].contains(r#""compat":"pillow-12""#), "{steps:?}");
    // What is the default is not written down: keys stay what they were.
    let plain = text.replace("tensorflow", "pillow-13");
    assert_eq!(given(&plain), given(GOOD));

    let error = parse(&text.replace("tensorflow", "tensorflaw")).unwrap_err();
    assert!(error.to_string().starts_with("sets/photos.toml:8: unknown variant `tensorflaw`"));
    assert_eq!(error.way_out(), Some("did you mean `tensorflow`?"));
    let error = parse(&text.replace("= 256", "= 256\nfilter = \"box\"")).unwrap_err().to_string();
    assert!(
        error.contains("step 2 `resize` can't do filter = \"box\" with compat = \"tensorflow\""),
        "{error}"
    );
}

#[test]
fn sizes_codecs_globs_and_toml_are_checked_in_place() {
    assert!(
        mistake("200GiB", "plenty").0.starts_with("sets/photos.toml:22: `plenty` is not a size")
    );
    assert!(
        mistake("zstd:3", "brotli").0.starts_with("sets/photos.toml:26: unknown codec `brotli`")
    );
    assert!(mistake("{jpg,png}", "{jpg").0.starts_with("sets/photos.toml:6: glob `**/*.{jpg`"));
    assert!(mistake("[cache]", "[cache").0.starts_with("sets/photos.toml:20: "));
    assert!(mistake("size = [224, 224]", "size = [224, 0]").0.starts_with("sets/photos.toml:"));
}

#[test]
fn a_png_that_changes_with_every_draw_is_refused() {
    let (error, hint) = mistake("\"npy\"", "\"png\"");
    assert!(error.starts_with("sets/photos.toml:7: output `png`"), "{error}");
    assert!(hint.contains("`npy`"));
}

#[test]
fn without_a_strategy_nothing_is_kept() {
    let config = parse(GOOD.split("[strategy]").next().unwrap()).unwrap();
    assert_eq!(config.plans[0].strategy, Strategy::NONE);
    assert_eq!(config.strategies_given, [false]);
}
