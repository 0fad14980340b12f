//! The chooser on made-up figures: no clock, so every word is exact.

use super::*;
use crate::output::Output;
use crate::pipeline::Strategy;
use crate::profile::breakdown::{Breakdown, Portion, Work};
use crate::profile::goal::Limits;
use crate::profile::table;
use crate::profile::{bottleneck, breakdown_table};
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
        offline_error: 0.1,
        stored_bytes: stored,
        stored_error: 0.05,
        cold: vec![cold],
        warm: vec![warm * 0.99, warm, warm * 1.01],
        mounted: Vec::new(),
        beside: Vec::new(),
        cold_time: Breakdown::default(),
        warm_time: Breakdown::default(),
        beaten: false,
    }
}

const PLENTY: u64 = 1 << 40;

fn whole(population: usize, memory: u64) -> Whole {
    Whole { population, source_bytes: 1 << 30, memory }
}

fn choose_for(measured: Vec<Measured>, whole: Whole, goal: &Goal) -> Choice {
    let outcome = Outcome { measured, ..Outcome::default() };
    choose(outcome, &pipeline(), &whole, goal).unwrap()
}

fn fastest(measured: Vec<Measured>, whole: Whole) -> Choice {
    choose_for(measured, whole, &Goal::default())
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
    let choice = fastest(figures(), whole(10_000, PLENTY));
    assert_eq!(
        choice.why,
        "split `resize`, codec `lz4`: 980/s from memory, 9.8 times as much as with nothing kept, \
         for 1.8 GiB and 3 min 20 s of preparing; split `resize`, codec `none` is as fast \
         (beyond the noise) and takes 2.0 GiB"
    );
    assert_eq!(
        table(&choice, &pipeline()),
        "\x20 split               codec           prepare      stored     cold     warm   served      +-
* resize              lz4          3 min 20 s     1.8 GiB    320/s    980/s    980/s     2 %
+ resize              none         3 min 20 s     2.0 GiB    300/s  1,000/s  1,000/s     2 %
  decode_image        none         3 min 20 s     4.9 GiB     80/s    400/s    400/s     2 %
+ source              none         3 min 20 s  1000.0 MiB     95/s    101/s    101/s     2 %
+ none                none                0 s         0 B     90/s    100/s    100/s     2 %
"
    );
}

#[test]
fn what_does_not_fit_in_memory_is_judged_by_the_disk() {
    let choice = fastest(figures(), whole(10_000, 2 << 30));
    let by_split =
        |split| choice.ranked.iter().find(|e| e.measured.strategy.split == split).unwrap();
    assert!(by_split(Split::None).fits);
    assert!(!by_split(Split::After(1)).fits);
    assert_eq!(by_split(Split::After(1)).throughput.mean, 80.0);
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
    let best = |warm| {
        let choice = fastest(float(warm), whole(10_000, PLENTY));
        (choice.ranked[0].measured.strategy.split, choice.why)
    };
    let (split, why) = best(1090.0);
    assert_eq!(split, Split::After(2));
    assert!(
        why.ends_with(
            "; split `decode_image`, codec `none`, at 1,090/s, is only a little faster (beyond the noise) and takes 7.8 GiB"
        ),
        "{why}"
    );
    assert_eq!(best(1040.0).0, Split::After(2));
    let (split, why) = best(1200.0);
    assert_eq!(split, Split::After(1));
    assert!(
        why.ends_with(
            "; next is split `resize`, codec `none`, at 1,000/s, 17 % less (beyond the noise)"
        ),
        "{why}"
    );
}

#[test]
fn a_little_less_storage_is_not_worth_more_of_the_speed() {
    let figures = vec![
        measured(Split::None, Codec::None, 0, 90.0, 100.0),
        measured(Split::After(2), Codec::None, 200 << 20, 300.0, 1000.0),
        measured(Split::After(2), Codec::Lz4, 190 << 20, 300.0, 930.0),
    ];
    let choice = fastest(figures, whole(100, PLENTY));
    assert_eq!(choice.ranked[0].measured.strategy.codec, Codec::None);
    assert!(
        choice.why.ends_with(
            "; next is split `resize`, codec `lz4`, at 930/s, 7 % less (beyond the noise)"
        ),
        "{}",
        choice.why
    );
}

#[test]
fn the_ranking_does_not_depend_on_the_order_of_measuring() {
    let ranked = |figures| fastest(figures, whole(10_000, PLENTY)).ranked;
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
    let choice = fastest(flat, whole(100, PLENTY));
    assert_eq!(choice.ranked[0].measured.strategy, Strategy::NONE);
    assert!(choice.why.contains("keeping nothing costs nothing"), "{}", choice.why);
    let none = choose(Outcome::default(), &pipeline(), &whole(0, 1), &Goal::default());
    assert!(none.is_none());
}

fn goal(objective: Objective) -> Goal {
    Goal { objective, ..Goal::default() }
}

#[test]
fn a_limit_forbids_the_winner_and_says_so() {
    let limits = |limits| Goal { limits, ..Goal::default() };
    let storage = limits(Limits { storage: Some(1 << 30), ..Limits::default() });
    let choice = choose_for(figures(), whole(10_000, PLENTY), &storage);
    assert!(choice.meets);
    // The raw files are no faster than nothing kept.
    assert_eq!(choice.ranked[0].measured.strategy, Strategy::NONE);
    let fast = limits(Limits { throughput: Some(500.0), ..Limits::default() });
    let choice = choose_for(figures(), whole(10_000, PLENTY), &fast);
    assert_eq!(choice.ranked[0].measured.strategy.codec, Codec::Lz4);
    assert!(choice.meets);
    let prepare = Limits { prepare: Some(10.0), throughput: Some(500.0), storage: None };
    let choice = choose_for(figures(), whole(10_000, PLENTY), &limits(prepare));
    assert!(!choice.meets);
    assert!(choice.why.starts_with("no strategy keeps to the limits; nearest is split `"));
}

#[test]
fn few_epochs_are_not_worth_the_preparing() {
    let best = |epochs| {
        let choice =
            choose_for(figures(), whole(10_000, PLENTY), &goal(Objective::TotalTime { epochs }));
        (choice.ranked[0].measured.strategy.split, choice.why)
    };
    let (split, why) = best(1.0);
    assert_eq!(split, Split::None);
    assert_eq!(
        why,
        "split `none`, codec `none`: 100/s from memory, 1 min 40 s with 1 epoch: keeping nothing \
         costs nothing; next is split `resize`, codec `none`, with 3 min 30 s with 1 epoch (beyond \
         the noise)"
    );
    assert_eq!(best(100.0).0, Split::After(2));
}

#[test]
fn a_price_weighs_storage_against_hours() {
    let best = |storage, hour| {
        let cost = Objective::Cost { epochs: 10.0, storage, hour };
        choose_for(figures(), whole(10_000, PLENTY), &goal(cost)).ranked[0].measured.strategy
    };
    assert_eq!(best(0.02, 3.0).split, Split::After(2));
    assert_eq!(best(1e6, 0.01), Strategy::NONE);
}

#[test]
fn keeping_nothing_does_not_win_for_being_empty() {
    let weights =
        |weights| choose_for(figures(), whole(10_000, PLENTY), &goal(Objective::Weights(weights)));
    let choice = weights([1.0, 1.0, 1.0]);
    assert_eq!(choice.ranked[0].measured.strategy.split, Split::After(2));
    assert!(choice.why.contains(" of 3.00 by weights"), "{}", choice.why);
    assert!(choice.costs.windows(2).all(|pair| pair[0].mean <= pair[1].mean + 0.01));
    assert_eq!(weights([0.0, 1.0, 0.0]).ranked[0].measured.strategy.split, Split::After(0));
}

#[test]
fn noise_makes_two_equal() {
    let mut noisy = figures();
    noisy[3].warm = vec![800.0, 1000.0, 1200.0];
    noisy[4].warm = vec![1100.0, 900.0, 950.0];
    let choice = fastest(noisy, whole(10_000, PLENTY));
    assert!(choice.why.contains("(within the noise)"), "{}", choice.why);
}

#[test]
fn the_hopeless_are_dropped_and_the_others_are_not() {
    let known: Vec<Estimate> = figures()
        .into_iter()
        .map(|measured| Estimate::new(measured, &whole(10_000, PLENTY)))
        .collect();
    let beaten = |goal: &Goal| super::super::race::beaten(&known, goal);
    assert_eq!(beaten(&Goal::default()), [true, true, true, false, false]);
    let small = Limits { storage: Some(1 << 30), ..Limits::default() };
    let small = Goal { limits: small, ..Goal::default() };
    assert_eq!(beaten(&small), [false, false, true, true, true]);
    let sum = goal(Objective::Weights([1.0, 1.0, 1.0]));
    assert_eq!(beaten(&sum), [false, false, true, false, false], "worse at everything");
}

/// PRESTO's figures (SIGMOD 2022, figures 6 and 8; disk, nothing in memory): name, GB and samples a
/// second of each split of a pipeline, and which one they found best.
#[test]
fn the_published_figures_give_the_published_winners() {
    type Row = (f64, f64);
    let pipelines: [(&str, usize, &[Row]); 7] = [
        ("CV", 3, &[(146.9, 107.), (147., 962.), (842.5, 746.), (347.3, 1789.), (1389., 576.)]),
        ("CV2-JPG", 3, &[(2.5, 88.), (2.6, 288.), (65.7, 64.), (1.4, 1571.), (5.8, 643.)]),
        ("CV2-PNG", 3, &[(85.2, 15.), (87.2, 21.), (65.7, 73.), (1.4, 1786.), (5.8, 631.)]),
        ("NLP", 3, &[(7.7, 6.), (7.7, 6.), (0.594, 251.), (0.647, 1726.), (490.7, 131.)]),
        ("NILM", 2, &[(39.6, 42.), (262.5, 55.), (3.1, 9053.)]),
        ("MP3", 2, &[(0.25, 37.), (3.0, 205.), (0.995, 5220.)]),
        ("FLAC", 2, &[(6.6, 15.), (11.6, 47.), (11.6, 1436.)]),
    ];
    for (name, winner, rows) in pipelines {
        let all: Vec<Measured> = (0..)
            .zip(rows)
            .map(|(at, (gigabytes, rate)): (usize, &Row)| {
                // Their first one reads the source itself; the names of steps don't matter here.
                let split = if at == 0 { Split::None } else { Split::After(at) };
                let stored = if at == 0 { 0 } else { (gigabytes * 1e7) as u64 };
                measured(split, Codec::None, stored, *rate, *rate)
            })
            .collect();
        let whole = Whole { population: 10_000, source_bytes: (rows[0].0 * 1e9) as u64, memory: 0 };
        let known: Vec<Estimate> =
            all.into_iter().map(|measured| Estimate::new(measured, &whole)).collect();
        let costs = Objective::Throughput.costs(&known);
        let best = (0..known.len()).min_by(|a, b| costs[*a].mean.total_cmp(&costs[*b].mean));
        assert_eq!(best, Some(winner), "{name}");
    }
}

fn times(portions: &[(Work, f64, f64)]) -> Breakdown {
    let portion = |(work, ms, bytes): &(Work, f64, f64)| Portion {
        work: *work,
        seconds: ms * 0.1,
        bytes: bytes * 100.0,
    };
    Breakdown { samples: 100.0, portions: portions.iter().map(portion).collect() }
}

#[test]
fn the_bottleneck_is_named_with_what_helps() {
    let mut figures = figures();
    figures[0].warm_time = times(&[
        (Work::SourceRead, 0.5, 100e3),
        (Work::Step(0), 8.1, 500e3),
        (Work::Step(1), 1.0, 200e3),
        (Work::Step(2), 0.1, 150e3),
        (Work::HandOver, 0.2, 150e3),
        (Work::Other, 0.1, 150e3),
    ]);
    figures[4].warm_time = times(&[
        (Work::CacheRead, 0.1, 180e3),
        (Work::Decompress, 0.5, 200e3),
        (Work::Step(2), 0.1, 150e3),
        (Work::HandOver, 0.2, 150e3),
        (Work::Other, 0.1, 150e3),
    ]);
    let choice = fastest(figures, whole(10_000, PLENTY));
    assert_eq!(
        breakdown_table(&choice, &pipeline()),
        "\x20 of a sample's time            bytes in   bytes out   ratio   kept: none   kept: best
  source read                               97.7 KiB             500.0 us
  cache read                               175.8 KiB                          100.0 us
  decompress                               195.3 KiB                          500.0 us
  1 decode_image                97.7 KiB   488.3 KiB    5.00       8.1 ms
  2 resize                     488.3 KiB   195.3 KiB    0.40       1.0 ms
  3 random_crop                195.3 KiB   146.5 KiB    0.75     100.0 us     100.0 us
  copies to the reader                                           200.0 us     200.0 us
  other                                                          100.0 us     100.0 us
"
    );
    assert_eq!(
        bottleneck(&choice, &pipeline()),
        "with nothing kept it is `decode_image`, 81 % of the time; cut after `resize`: 9.8 times the \
         throughput for 1.8 GiB. Then it is decompress, 50 % of the time: the codec `lz4` or `none` \
         if there is room, or `[cache] memory`"
    );
}

#[test]
fn what_a_mount_gives_decides_and_tells_the_others_share() {
    // The kernel takes 1 ms a sample: 1,000/s are 500/s, 980/s are 495/s; 101/s stay 92/s.
    let mut figures = figures();
    for (at, mounted) in [(3, 500.0), (4, 494.9)] {
        figures[at].beside = figures[at].warm.clone();
        figures[at].mounted = vec![mounted * 0.99, mounted, mounted * 1.01];
    }
    let choice = fastest(figures, whole(10_000, PLENTY));
    let rates: Vec<u64> =
        choice.ranked.iter().map(|one| one.throughput.mean.round() as u64).collect();
    assert_eq!(rates, [495, 500, 286, 92, 91]);
    assert!(choice.why.contains("495/s from memory through a mount, "), "{}", choice.why);
    assert_eq!(
        choice.served[0],
        "split `resize`, codec `none`: 500/s read from a mount, 1,000/s without the kernel; 500/s \
         predicted from the others, -0 %"
    );
    assert_eq!(choice.served.len(), 2);
}

#[test]
fn a_lead_that_may_be_chance_is_not_worth_four_times_the_storage() {
    let best = |noise: f64| {
        let mut figures = vec![
            measured(Split::None, Codec::None, 0, 90.0, 100.0),
            measured(Split::After(1), Codec::None, 80 << 20, 300.0, 1150.0),
            measured(Split::After(2), Codec::None, 20 << 20, 300.0, 1000.0),
        ];
        figures[1].warm = vec![1150.0 * (1.0 + noise), 1150.0, 1150.0 * (1.0 - noise)];
        fastest(figures, whole(10_000, PLENTY)).ranked[0].measured.strategy.split
    };
    assert_eq!(best(0.01), Split::After(1));
    assert_eq!(best(0.2), Split::After(2));
}
