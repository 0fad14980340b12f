//! The chooser on made-up figures: no clock, so every word is exact.

use super::*;
use crate::output::Output;
use crate::pipeline::Strategy;
use crate::profile::table;
use crate::sample::Codec;
use crate::step;

fn pipeline() -> Pipeline {
    let steps = [
        ("decode_image", r#"{}"#),
        ("resize", r#"{"short_side": 256}"#),
        ("random_crop", r#"{"size": [224, 224]}"#),
    ];
    let build = |(name, parameters): &(&str, &str)| {
        step::build(name, &mut serde_json::Deserializer::from_str(parameters)).unwrap()
    };
    Pipeline::new(steps.iter().map(build).collect(), Output::Npy).unwrap()
}

fn measured(split: Split, codec: Codec, stored: u64, cold: f64, warm: f64) -> Measured {
    Measured {
        strategy: Strategy { split, codec },
        samples: 100,
        bad: 0,
        offline_seconds: if split == Split::None { 0.0 } else { 2.0 },
        stored_bytes: stored,
        cold,
        warm: vec![warm * 0.9, warm, warm * 1.1],
    }
}

fn figures() -> Vec<Measured> {
    vec![
        measured(Split::None, Codec::None, 0, 90.0, 100.0),
        measured(Split::After(0), Codec::None, 10 << 20, 95.0, 101.0),
        measured(Split::After(1), Codec::None, 50 << 20, 80.0, 400.0),
        measured(Split::After(2), Codec::None, 20 << 20, 300.0, 1000.0),
        measured(Split::After(2), Codec::Lz4, 18 << 20, 320.0, 980.0),
    ]
}

#[test]
fn of_equally_fast_ones_the_smaller_is_chosen() {
    let memory = Memory { available: 1 << 40 };
    let choice = choose(figures(), &pipeline(), 10_000, 1 << 30, memory).unwrap();
    assert_eq!(
        choice.why,
        "split `resize`, codec `lz4`: 980/s from memory, 9.8 times as much as with nothing kept, \
         for 1.8 GiB and 3 min 20 s of preparing; split `resize`, codec `none` is as fast and \
         takes 2.0 GiB"
    );
    assert_eq!(
        table(&choice, &pipeline()),
        "\x20 split                   codec           prepare      stored        cold        warm
* resize                  lz4          3 min 20 s     1.8 GiB       320/s       980/s
  resize                  none         3 min 20 s     2.0 GiB       300/s     1,000/s
  decode_image            none         3 min 20 s     4.9 GiB        80/s       400/s
  source                  none         3 min 20 s  1000.0 MiB        95/s       101/s
  none                    none                0 s         0 B        90/s       100/s
"
    );
}

#[test]
fn what_does_not_fit_in_memory_is_judged_by_the_disk() {
    let memory = Memory { available: 2 << 30 };
    let choice = choose(figures(), &pipeline(), 10_000, 1 << 30, memory).unwrap();
    let by_split =
        |split| choice.ranked.iter().find(|e| e.measured.strategy.split == split).unwrap();
    assert!(by_split(Split::None).fits);
    assert!(!by_split(Split::After(1)).fits);
    assert_eq!(by_split(Split::After(1)).throughput, 80.0);
    assert!(
        choice.why.starts_with("split `resize`, codec `lz4`: 320/s from the disk"),
        "{}",
        choice.why
    );
}

#[test]
fn a_small_lead_is_not_worth_four_times_the_storage() {
    let float = |warm| {
        vec![
            measured(Split::None, Codec::None, 0, 90.0, 100.0),
            measured(Split::After(1), Codec::None, 80 << 20, 300.0, warm),
            measured(Split::After(2), Codec::None, 20 << 20, 300.0, 1000.0),
        ]
    };
    let memory = Memory { available: 1 << 40 };
    let best = |warm| {
        let choice = choose(float(warm), &pipeline(), 10_000, 1 << 30, memory).unwrap();
        (choice.ranked[0].measured.strategy.split, choice.why)
    };
    let (split, why) = best(1090.0);
    assert_eq!(split, Split::After(2));
    assert!(
        why.ends_with(
            "; split `decode_image`, codec `none`, at 1,090/s, is only a little faster and takes 7.8 GiB"
        ),
        "{why}"
    );
    assert_eq!(best(1040.0).0, Split::After(2));
    let (split, why) = best(1200.0);
    assert_eq!(split, Split::After(1));
    assert!(why.ends_with("; next is split `resize`, codec `none`, at 1,000/s"), "{why}");
}

#[test]
fn the_ranking_does_not_depend_on_the_order_of_measuring() {
    let memory = Memory { available: 1 << 40 };
    let ranked = |figures| choose(figures, &pipeline(), 10_000, 1 << 30, memory).unwrap().ranked;
    let mut backwards = figures();
    backwards.reverse();
    assert_eq!(ranked(figures()), ranked(backwards));
}

#[test]
fn where_nothing_helps_nothing_is_kept() {
    let flat = vec![
        measured(Split::None, Codec::None, 0, 100.0, 100.0),
        measured(Split::After(1), Codec::None, 1 << 20, 99.0, 101.0),
    ];
    let choice = choose(flat, &pipeline(), 100, 1 << 20, Memory { available: 1 << 40 }).unwrap();
    assert_eq!(choice.ranked[0].measured.strategy, Strategy::NONE);
    assert!(choice.why.contains("keeping nothing costs nothing"), "{}", choice.why);
    assert!(choose(Vec::new(), &pipeline(), 0, 0, Memory { available: 1 }).is_none());
}
