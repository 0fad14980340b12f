//! What a strategy is to be good for, and what it may cost. Pure functions of estimates.

use super::estimate::Estimate;
use super::stats::Interval;
use crate::pipeline::Split;
use crate::units::{bytes, duration, rate};

/// Limits, and what counts within them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// What a strategy may take.
    pub limits: Limits,
    /// What makes one better than another.
    pub objective: Objective,
}

/// What a strategy may take; nothing said, nothing refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Bytes in the cache at most.
    pub storage: Option<u64>,
    /// Seconds of preparing at most.
    pub prepare: Option<f64>,
    /// Samples a second at least.
    pub throughput: Option<f64>,
}

/// What makes one strategy better than another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Objective {
    /// More samples a second.
    #[default]
    Throughput,
    /// Less time for preparing and so many epochs.
    TotalTime {
        /// Epochs.
        epochs: f64,
    },
    /// Less money for them.
    Cost {
        /// Epochs.
        epochs: f64,
        /// The price of keeping 10^9 bytes for a month.
        storage: f64,
        /// The price of the machine for an hour.
        hour: f64,
    },
    /// PRESTO's weighted sum: preparing, storage, throughput.
    Weights([f64; 3]),
}

/// Hours of a month, as clouds count.
const MONTH: f64 = 730.0;

impl Objective {
    /// What each costs, the lower the better: seconds a sample, seconds, money, or what is missing
    /// to the best sum.
    pub fn costs(&self, all: &[Estimate]) -> Vec<Interval> {
        match *self {
            Objective::Throughput => {
                all.iter().map(|one| over(one, |rate, _, _| 1.0 / rate)).collect()
            }
            Objective::TotalTime { epochs } => all.iter().map(|one| total(one, epochs)).collect(),
            Objective::Cost { epochs, storage, hour } => all
                .iter()
                .map(|one| {
                    let price = |seconds: f64, stored: f64| {
                        let hours = seconds / 3600.0;
                        hours * hour + stored / 1e9 * storage * hours / MONTH
                    };
                    let (time, stored) = (total(one, epochs), one.stored);
                    Interval {
                        mean: price(time.mean, stored.mean),
                        low: price(time.low, stored.low),
                        high: price(time.high, stored.high),
                    }
                })
                .collect(),
            Objective::Weights(weights) => weighted(all, weights),
        }
    }

    /// Whether a little of it may be given away for less storage, which it doesn't count itself.
    pub fn is_time(&self) -> bool {
        matches!(self, Objective::Throughput | Objective::TotalTime { .. })
    }

    /// A cost in words.
    pub fn words(&self, cost: f64) -> String {
        let plural = |epochs: f64| if epochs == 1.0 { "" } else { "s" };
        match *self {
            Objective::Throughput => rate(1.0 / cost),
            Objective::TotalTime { epochs } => {
                format!("{} with {epochs} epoch{}", duration(cost), plural(epochs))
            }
            Objective::Cost { epochs, .. } => {
                format!("a price of {cost:.2} with {epochs} epoch{}", plural(epochs))
            }
            Objective::Weights(weights) => {
                let most: f64 = weights.iter().sum();
                format!("{:.2} of {most:.2} by weights", most - cost)
            }
        }
    }
}

/// A function of rate, seconds of preparing and bytes that falls with the first and grows with the
/// others.
fn over(one: &Estimate, cost: impl Fn(f64, f64, f64) -> f64) -> Interval {
    let Estimate { throughput: rate, prepare, stored, .. } = one;
    Interval {
        mean: cost(rate.mean, prepare.mean, stored.mean),
        low: cost(rate.high, prepare.low, stored.low),
        high: cost(rate.low, prepare.high, stored.high),
    }
}

/// Seconds of preparing and of so many epochs.
fn total(one: &Estimate, epochs: f64) -> Interval {
    over(one, |rate, prepare, _| prepare + epochs * one.population as f64 / rate)
}

/// Each figure is brought to 0 (the worst) to 1 (the best) over the strategies that keep something,
/// and weighed. Who keeps nothing has no storage and no preparing to be good at: these count 0
/// there, or keeping nothing would win for being empty.
fn weighted(all: &[Estimate], [prepare, storage, throughput]: [f64; 3]) -> Vec<Interval> {
    let keeps = |one: &&Estimate| one.measured.strategy.split != Split::None;
    let range = |figure: fn(&Estimate) -> f64, of: &mut dyn Iterator<Item = &Estimate>| {
        of.map(figure)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let prepared = range(|one| one.prepare.mean, &mut all.iter().filter(keeps));
    let stored = range(|one| one.stored.mean, &mut all.iter().filter(keeps));
    let fast = range(|one| one.throughput.mean, &mut all.iter());
    let place = |value: f64, (low, high): (f64, f64)| {
        // Where all are the same, none is worse than the best.
        if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 }
    };
    let less = |value: f64, (low, high): (f64, f64)| {
        if high > low { 1.0 - place(value, (low, high)) } else { 1.0 }
    };
    all.iter()
        .map(|one| {
            let kept = if keeps(&one) {
                prepare * less(one.prepare.mean, prepared) + storage * less(one.stored.mean, stored)
            } else {
                0.0
            };
            let missing =
                |rate: f64| prepare + storage + throughput - kept - throughput * place(rate, fast);
            let rate = one.throughput;
            Interval { mean: missing(rate.mean), low: missing(rate.high), high: missing(rate.low) }
        })
        .collect()
}

impl Limits {
    /// What of it an estimate breaks, in words; `None` if it keeps to all.
    pub fn broken(&self, one: &Estimate) -> Option<String> {
        let mut words = Vec::new();
        if self.storage.is_some_and(|most| one.stored.mean > most as f64) {
            words.push(format!("it stores {}", bytes(one.stored_bytes())));
        }
        if self.prepare.is_some_and(|most| one.prepare.mean > most) {
            words.push(format!("it takes {} to prepare", duration(one.prepare.mean)));
        }
        if self.throughput.is_some_and(|least| one.throughput.mean < least) {
            words.push(format!("it gives {}", rate(one.throughput.mean)));
        }
        (!words.is_empty()).then(|| words.join(" and "))
    }

    /// Whether it is sure that it breaks them.
    pub fn surely_broken(&self, one: &Estimate) -> bool {
        self.storage.is_some_and(|most| one.stored.low > most as f64)
            || self.prepare.is_some_and(|most| one.prepare.low > most)
            || self.throughput.is_some_and(|least| one.throughput.high < least)
    }

    /// By which factor it breaks them at the most; up to 1 is none.
    pub fn excess(&self, one: &Estimate) -> f64 {
        let storage = self.storage.map_or(0.0, |most| one.stored.mean / (most as f64).max(1.0));
        let prepare = self.prepare.map_or(0.0, |most| one.prepare.mean / most.max(1e-9));
        let rate = self.throughput.map_or(0.0, |least| least / one.throughput.mean.max(1e-9));
        storage.max(prepare).max(rate).max(1.0)
    }
}
