//! Which of the measured strategies is best for a goal, and why: a pure function of the figures.

use super::estimate::{Estimate, Measured, Whole};
use super::goal::{Goal, Objective};
use super::measure::{Outcome, Untried};
use super::notes::notes;
use super::served;
use super::stats::{self, Interval};
use crate::pipeline::{Pipeline, Split, Strategy};
use crate::units::{bytes, duration, rate};

/// What the figures come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The measured strategies with the whole set's figures, best first.
    pub ranked: Vec<Estimate>,
    /// What each costs by the goal, in the same order.
    pub costs: Vec<Interval>,
    /// Whether none is both faster and smaller, in the same order.
    pub front: Vec<bool>,
    /// Whether the best keeps to the limits.
    pub meets: bool,
    /// Strategies without figures.
    pub untried: Vec<(Strategy, Untried)>,
    /// Which it is and why, in one sentence.
    pub why: String,
    /// What came of reading from a mount: a line each strategy, or why there is none.
    pub served: Vec<String>,
    /// What is to be known before the figures are believed.
    pub notes: Vec<String>,
}

/// Of strategies that are slower than the fastest by no more than this share, the one that stores
/// least for each sample a second is best.
///
/// A judgement, not a measurement. Some of it is what two runs of one strategy differ by; the rest
/// is for the reader's own work, which is the same for all. A lead of this size would be paid for in
/// storage for good: float32 is four times the bytes of uint8.
pub(super) const AS_FAST: f64 = 0.10;

/// The largest lead that is taken to be chance where the figures don't say otherwise.
const BY_CHANCE: f64 = 0.25;

/// Sums and prices that differ by no more than this share are the same.
const SAME: f64 = 0.01;

/// Ranks the strategies for the whole set. `None` if nothing was measured.
pub fn choose(outcome: Outcome, pipeline: &Pipeline, whole: &Whole, goal: &Goal) -> Option<Choice> {
    let Outcome { measured, untried, unmounted } = outcome;
    let estimates: Vec<Estimate> =
        measured.into_iter().map(|measured: Measured| Estimate::new(measured, whole)).collect();
    let mut served = served::lines(&estimates, pipeline);
    let estimates = match served::kernel_seconds(&estimates) {
        Some(seconds) => estimates.into_iter().map(|one| one.through(seconds)).collect(),
        None => estimates,
    };
    served.extend(unmounted.map(|why| format!("not read from a mount: {why}")));
    let costs = goal.objective.costs(&estimates);
    let mut ranked: Vec<(Estimate, Interval)> = estimates.into_iter().zip(costs).collect();
    // Who keeps to the limits first; of the others, who is nearest to them.
    let order = |(one, cost): &(Estimate, Interval)| (goal.limits.excess(one), cost.mean);
    ranked.sort_by(|a, b| {
        let ((a, a_cost), (b, b_cost)) = (order(a), order(b));
        a.total_cmp(&b).then(a_cost.total_cmp(&b_cost))
    });
    let (first, cost) = ranked.first()?;
    let meets = goal.limits.broken(first).is_none();
    let most = match goal.objective {
        _ if !meets => cost.mean,
        Objective::Weights(_) => cost.mean + SAME,
        _ if goal.objective.is_time() => cost.mean / (1.0 - AS_FAST),
        _ => cost.mean * (1.0 + SAME),
    };
    // A lead that may be chance is none, but for those that were dropped before much was known.
    let by_chance = |one: &Estimate, cost: &Interval| {
        goal.objective == Objective::Throughput
            && !one.measured.beaten
            && cost.mean * (1.0 - BY_CHANCE) <= ranked[0].1.mean
            && ahead(one, first).high >= 1.0
    };
    let equal = |(one, cost): &(Estimate, Interval)| {
        (cost.mean <= most || meets && by_chance(one, cost))
            && (!meets || goal.limits.broken(one).is_none())
    };
    // Storage for each sample a second: a fifth less of it is worth a tenth of the speed, a
    // twentieth less isn't.
    let price = |at: &usize| ranked[*at].0.stored.mean * ranked[*at].1.mean;
    let best = (0..ranked.len())
        .filter(|at| equal(&ranked[*at]))
        .min_by(|a, b| price(a).total_cmp(&price(b)))
        .unwrap_or(0);
    let best = ranked.remove(best);
    ranked.insert(0, best);
    let (ranked, costs): (Vec<Estimate>, Vec<Interval>) = ranked.into_iter().unzip();
    let why = sentence(&ranked, &costs, meets, pipeline, goal);
    let (front, notes) = (front(&ranked), notes(&ranked, whole));
    Some(Choice { ranked, costs, front, meets, untried, why, served, notes })
}

/// Whether each is on the Pareto front: none is faster and as small, or smaller and as fast.
fn front(all: &[Estimate]) -> Vec<bool> {
    let point = |one: &Estimate| (one.throughput.mean, one.stored.mean);
    let beats = |other: &Estimate, one: &Estimate| {
        let ((rate, stored), (other_rate, other_stored)) = (point(one), point(other));
        other_rate >= rate && other_stored <= stored && (other_rate, other_stored) != (rate, stored)
    };
    all.iter().map(|one| !all.iter().any(|other| beats(other, one))).collect()
}

fn sentence(
    ranked: &[Estimate],
    costs: &[Interval],
    meets: bool,
    pipeline: &Pipeline,
    goal: &Goal,
) -> String {
    let best = &ranked[0];
    let name = |estimate: &Estimate| {
        let split = pipeline.split_name(estimate.measured.strategy.split);
        format!("split `{split}`, codec `{}`", estimate.measured.strategy.codec)
    };
    let memory = if best.fits { "from memory" } else { "from the disk" };
    let memory = if best.measured.mounted.is_empty() {
        memory.to_owned()
    } else {
        format!("{memory} through a mount")
    };
    let mut why = format!("{}: {} {memory}", name(best), rate(best.throughput.mean));
    if let Some(broken) = goal.limits.broken(best).filter(|_| !meets) {
        why = format!("no strategy keeps to the limits; nearest is {why}, but {broken}");
    }
    if goal.objective != Objective::Throughput {
        why.push_str(&format!(", {}", goal.objective.words(costs[0].mean)));
    }
    let none = ranked.iter().find(|other| other.measured.strategy.split == Split::None);
    match none {
        Some(none) if best.measured.strategy.split != Split::None => why.push_str(&format!(
            ", {:.1} times as much as with nothing kept, for {} and {} of preparing",
            best.throughput.mean / none.throughput.mean,
            bytes(best.stored_bytes()),
            duration(best.prepare.mean),
        )),
        None => why.push_str(&format!(
            ", for {} and {} of preparing",
            bytes(best.stored_bytes()),
            duration(best.prepare.mean),
        )),
        _ if goal.objective == Objective::Throughput => {
            why.push_str(": keeping nothing costs nothing, and nothing kept is faster");
        }
        _ => why.push_str(": keeping nothing costs nothing"),
    }
    if let (Some(second), true) = (ranked.get(1), meets) {
        why.push_str(&format!("; {}", runner_up(best, second, costs, &name(second), goal)));
    }
    why
}

/// How many times as fast as the other one is. Turns that were taken together tell more than the
/// intervals.
fn ahead(one: &Estimate, other: &Estimate) -> Interval {
    let mounted = [one, other].map(|one| one.measured.mounted.as_slice());
    if mounted.iter().all(|passes| !passes.is_empty()) {
        return stats::ratio(mounted[0], mounted[1]);
    }
    if mounted.iter().all(|passes| passes.is_empty()) && one.fits == other.fits {
        return stats::ratio(one.passes(), other.passes());
    }
    let (a, b) = (one.throughput, other.throughput);
    Interval { mean: a.mean / b.mean, low: a.low / b.high, high: a.high / b.low }
}

/// By how much the second one loses, and whether that may be chance.
fn runner_up(
    best: &Estimate,
    second: &Estimate,
    costs: &[Interval],
    rival: &str,
    goal: &Goal,
) -> String {
    let takes = bytes(second.stored_bytes());
    if let Some(broken) = goal.limits.broken(second) {
        return format!("no other keeps to the limits: {rival} doesn't, since {broken}");
    }
    if goal.objective != Objective::Throughput {
        let chance =
            if costs[1].low > costs[0].high { "beyond the noise" } else { "within the noise" };
        let words = goal.objective.words(costs[1].mean);
        return format!("next is {rival}, with {words} ({chance})");
    }
    let ahead = ahead(second, best);
    let chance =
        if ahead.low <= 1.0 && ahead.high >= 1.0 { "within the noise" } else { "beyond the noise" };
    let pace = rate(second.throughput.mean);
    let share = second.throughput.mean / best.throughput.mean;
    if share > 1.0 + AS_FAST / 2.0 {
        format!("{rival}, at {pace}, is only a little faster ({chance}) and takes {takes}")
    } else if share >= 1.0 - AS_FAST / 2.0 {
        format!("{rival} is as fast ({chance}) and takes {takes}")
    } else {
        format!("next is {rival}, at {pace}, {:.0} % less ({chance})", (1.0 - share) * 100.0)
    }
}

#[cfg(test)]
mod tests;
