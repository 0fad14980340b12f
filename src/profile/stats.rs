//! What a few figures say, and how surely: means with 95 % intervals. Knows no strategies.
//!
//! Formulas: Student's t for repeated passes; for the part of a set, one of each stratum, the
//! variance by successive differences (Wolter, "Introduction to Variance Estimation", section 8.2).

/// A figure and where the true one lies in 95 of 100 cases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The best guess.
    pub mean: f64,
    /// Hardly less than this.
    pub low: f64,
    /// Hardly more than this.
    pub high: f64,
}

impl Interval {
    /// A figure that is known.
    pub fn exact(value: f64) -> Interval {
        Interval { mean: value, low: value, high: value }
    }

    /// A figure that may be wrong by a share of itself in both directions, but not below zero.
    pub fn within(mean: f64, share: f64) -> Interval {
        Interval { mean, low: (mean * (1.0 - share)).max(0.0), high: mean * (1.0 + share) }
    }

    /// The half width as a share of the mean; 0 of nothing.
    pub fn share(&self) -> f64 {
        if self.mean > 0.0 { (self.high - self.low) / 2.0 / self.mean } else { 0.0 }
    }
}

/// How far off a single pass is taken to be: nothing is known of its noise yet.
const ONE_PASS: f64 = 0.3;

/// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

fn t(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        _ => T.get(freedom - 1).copied().unwrap_or(1.96 + 2.5 / freedom as f64),
    }
}

/// The mean of passes that were the same work, by Student's t. Two passes that happen to be alike
/// prove little, and one proves nothing: neither is taken to be off by less than a share known from
/// experience.
pub(super) fn of_passes(passes: &[f64]) -> Interval {
    let mean = mean(passes);
    let share = match passes.len() {
        0 => return Interval::default(),
        1 => ONE_PASS,
        n => (t(n - 1) * deviation(passes) / (n as f64).sqrt() / mean).min(if n == 2 {
            ONE_PASS
        } else {
            f64::INFINITY
        }),
    };
    Interval::within(mean, if share.is_finite() { share } else { 1.0 })
}

/// How many times as fast as `b` `a` is, from passes that took turns: what disturbed both of a
/// turn cancels out. From the intervals alone if there are no three turns.
pub(super) fn ratio(a: &[f64], b: &[f64]) -> Interval {
    let turns: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    if turns.len() < 3 {
        let both = turns.len();
        let (a, b) = (of_passes(&a[..both]), of_passes(&b[..both]));
        let (low, high) = (a.low / b.high, a.high / b.low.max(f64::MIN_POSITIVE));
        return Interval { mean: a.mean / b.mean, low, high };
    }
    let middle = mean(&turns);
    let half = t(turns.len() - 1) * deviation(&turns) / (turns.len() as f64).sqrt();
    Interval { mean: middle.exp(), low: (middle - half).exp(), high: (middle + half).exp() }
}

/// The half width, as a share, of the mean of values that are one each of strata, in the strata's
/// order. `left_out` is the share of the whole that wasn't looked at: none, and nothing is open.
pub(super) fn of_strata(values: &[f64], left_out: f64) -> f64 {
    let mean = mean(values);
    if mean <= 0.0 || left_out <= 0.0 {
        return 0.0;
    }
    let n = values.len();
    if n < 2 {
        return 1.0;
    }
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let variance = squares / (2 * (n - 1)) as f64 / n as f64 * left_out;
    (t(n - 1) * variance.sqrt() / mean).min(1.0)
}

/// The value in the middle; 0 of none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// How many of these rates are far below the others: by more than a fifth and by more than five
/// times what the others differ.
pub(super) fn disturbed(rates: &[f64]) -> usize {
    if rates.len() < 4 {
        return 0;
    }
    let middle = median(rates);
    let off: Vec<f64> = rates.iter().map(|rate| (rate - middle).abs()).collect();
    let far = (5.0 * median(&off)).max(middle / 5.0);
    rates.iter().filter(|rate| middle - **rate > far).count()
}

/// How many times as fast as at the beginning things were at the end: of several series of rates
/// that took turns, the median of (later half / earlier half). `None` if none is long enough.
pub(super) fn drift<'a>(series: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let ratios: Vec<f64> = series
        .filter(|rates| rates.len() >= 4)
        .map(|rates| {
            let (early, late) = rates.split_at(rates.len() / 2);
            median(late) / median(early)
        })
        .collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of what these are some of.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn passes_have_students_interval() {
        // Mean 10, deviation 1, 4.303 / sqrt(3).
        let of = of_passes(&[9.0, 10.0, 11.0]);
        assert!(near(of.mean, 10.0) && near(of.high - of.mean, 4.303 / 3f64.sqrt()), "{of:?}");
        assert!(near(of_passes(&[10.0]).low, 7.0));
        assert_eq!(of_passes(&[10.0, 10.0]).share(), 0.0);
        assert!(of_passes(&[9.0, 11.0]).share() <= ONE_PASS);
        assert_eq!(of_passes(&[]), Interval::default());
        assert_eq!(of_passes(&[0.0, 0.0]).mean, 0.0);
        let many: Vec<f64> = (0..100).map(|n| 10.0 + f64::from(n % 2)).collect();
        assert!(of_passes(&many).share() < 0.011);
    }

    #[test]
    fn what_disturbs_both_of_a_turn_cancels_out() {
        let (a, b) = ([100.0, 50.0, 80.0, 20.0], [90.0, 45.0, 72.0, 18.0]);
        let ratio = ratio(&a, &b);
        assert!(near(ratio.mean, 100.0 / 90.0) && ratio.low > 1.1 && ratio.high < 1.12);
        assert!(of_passes(&a).low < of_passes(&b).high, "not seen from the intervals");
        let few = super::ratio(&[100.0], &[90.0]);
        assert!(few.low < 1.0 && few.high > 1.0, "{few:?}");
    }

    #[test]
    fn a_part_says_less_of_more() {
        let smooth: Vec<f64> = (1..=100).map(f64::from).collect();
        let mut mixed = smooth.clone();
        mixed.sort_by_key(|value| (*value as u64 * 37) % 101);
        let (by_size, random) = (of_strata(&smooth, 0.9), of_strata(&mixed, 0.9));
        assert!(by_size < random / 10.0, "strata help: {by_size} {random}");
        assert!(of_strata(&mixed, 0.1) < random / 2.0);
        assert_eq!(of_strata(&mixed, 0.0), 0.0);
        assert_eq!(of_strata(&[3.0], 0.5), 1.0);
        assert_eq!(of_strata(&[], 0.5), 0.0);
    }

    #[test]
    fn disturbances_and_drift_are_seen() {
        assert_eq!(disturbed(&[100.0, 99.0, 101.0, 60.0, 100.0]), 1);
        assert_eq!(disturbed(&[100.0, 90.0, 110.0, 85.0, 105.0]), 0);
        let (steady, slower) = ([10.0, 10.1, 9.9, 10.0], [10.0, 10.0, 8.0, 8.0]);
        let drift = |series: &[&[f64]]| super::drift(series.iter().copied());
        assert_eq!(drift(&[&steady[..2]]), None);
        assert!(drift(&[&slower, &slower, &steady]).unwrap() < 0.81);
        assert!(drift(&[&slower, &steady, &steady]).unwrap() > 0.98);
    }
}
