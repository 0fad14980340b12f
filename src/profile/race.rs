//! Who goes on in the race of strategies: a pure function of what is known so far.

use super::choose::AS_FAST;
use super::estimate::Estimate;
use super::goal::{Goal, Objective};

/// Intervals of this half width are narrow enough: no choice depends on less.
const TIGHT: f64 = 0.03;

/// Whether each one can't be the best: it surely breaks a limit, or at its best it costs more than
/// one that keeps to them at its worst, and a margin, since of two that differ by less than that the
/// smaller one may be chosen.
pub(super) fn beaten(known: &[Estimate], goal: &Goal) -> Vec<bool> {
    let meets = |one: &Estimate| goal.limits.broken(one).is_none();
    if let Objective::Weights(_) = goal.objective {
        // A sum depends on who else is there: out is only who is worse at everything.
        let worse = |one: &Estimate, than: &Estimate| {
            than.throughput.low * (1.0 - AS_FAST) > one.throughput.high
                && than.stored.mean <= one.stored.mean
                && than.prepare.mean <= one.prepare.mean
        };
        let out = |one| known.iter().any(|other| meets(other) && worse(one, other));
        return known.iter().map(|one| goal.limits.surely_broken(one) || out(one)).collect();
    }
    let costs = goal.objective.costs(known);
    let in_limits = known.iter().zip(&costs).filter(|(one, _)| meets(one));
    let to_beat = in_limits.map(|(_, cost)| cost.high).fold(f64::INFINITY, f64::min);
    let out = |(one, low): (&Estimate, f64)| {
        goal.limits.surely_broken(one) || low * (1.0 - AS_FAST) > to_beat
    };
    known.iter().zip(costs.iter().map(|cost| cost.low)).map(out).collect()
}

/// Whether an estimate needs no more passes.
pub(super) fn is_tight(estimate: &Estimate) -> bool {
    estimate.passes().len() >= 3 && estimate.throughput.share() <= TIGHT
}

/// How many samples to run on, so that every strategy can be tried in a share of the budget: each
/// is filled, read cold and read warm, which takes as long as making the samples three times at
/// most.
pub(super) fn part(seconds_a_sample: f64, strategies: usize, budget: f64, most: usize) -> usize {
    const SHARE: f64 = 0.6;
    const LEAST: usize = 8;
    let cost = 3.0 * strategies as f64 * seconds_a_sample;
    let affordable = budget * SHARE / cost.max(f64::MIN_POSITIVE);
    (affordable as usize).clamp(LEAST.min(most), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_what_the_budget_affords() {
        // 60 s for 10 strategies: 36 s, 1.2 s for each of the three.
        assert_eq!(part(0.01, 10, 60.0, 200), 120);
        assert_eq!(part(0.001, 10, 60.0, 200), 200);
        assert_eq!(part(10.0, 10, 60.0, 200), 8);
        assert_eq!(part(10.0, 10, 60.0, 1), 1);
        assert_eq!(part(0.0, 0, 0.0, 5), 5.min(part(0.0, 0, 0.0, 5)));
    }
}
