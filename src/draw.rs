//! Randomness as a pure function: the numbers of one draw follow from what the draw is for.
//!
//! A draw is named by (seed, epoch, group, step). The same name gives the same numbers for ever,
//! on any machine, whatever else was drawn before: that is what lets a pinned epoch be read again
//! and two workers never share numbers. There is no other source of random numbers in parbake.
//!
//! The generator is BLAKE3's extendable output over the name, each field with its length.

/// The random numbers of one step, for one sample in one epoch.
pub struct Draw {
    output: blake3::OutputReader,
}

impl Draw {
    /// The draw named by these. `group` is what shares a draw: samples of one group (a picture and
    /// its mask) get the same numbers. `step` counts from 1, as people do.
    pub fn new(seed: u64, epoch: u64, group: &[u8], step: u32) -> Draw {
        let mut hasher = blake3::Hasher::new_derive_key("parbake 2026 draw v1");
        hasher.update(&seed.to_le_bytes());
        hasher.update(&epoch.to_le_bytes());
        hasher.update(&step.to_le_bytes());
        hasher.update(&(group.len() as u64).to_le_bytes());
        hasher.update(group);
        Draw { output: hasher.finalize_xof() }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.output.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A whole number in `0..n`, each exactly as likely.
    ///
    /// Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019): multiply,
    /// and draw again in the rare case that would favour some numbers.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a number below 0 was asked for");
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number in `[low, high)`; `low` if they are equal.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number of the normal distribution with mean 0 and deviation 1, from two numbers of `unit`.
    ///
    /// Box and Muller, "A Note on the Generation of Random Normal Deviates" (Ann. Math. Statist. 29,
    /// 1958); the second deviate of each pair is not used.
    pub fn normal(&mut self) -> f64 {
        // In (0, 1]: its logarithm is finite.
        let distance = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        distance * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_the_same_for_ever() {
        // These numbers are a promise: pinned epochs of every later version must serve the same.
        let mut draw = Draw::new(0, 0, b"train/n01/cat", 4);
        let got = [draw.bits(), draw.below(33), draw.below(1000)];
        assert_eq!(got, [17_174_762_358_004_172_128, 0, 373]);
    }

    #[test]
    fn every_part_of_the_name_counts() {
        let first = |seed, epoch, group: &[u8], step| Draw::new(seed, epoch, group, step).bits();
        let base = first(1, 2, b"a", 3);
        assert_eq!(base, first(1, 2, b"a", 3));
        for other in
            [first(2, 2, b"a", 3), first(1, 3, b"a", 3), first(1, 2, b"b", 3), first(1, 2, b"a", 4)]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn numbers_below_are_even() {
        let mut draw = Draw::new(7, 0, b"", 1);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[draw.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut draw = Draw::new(7, 2, b"", 1);
        let numbers: Vec<f64> = (0..20_000).map(|_| draw.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 2e4;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / 2e4;
        let beyond = numbers.iter().filter(|x| x.abs() > 2.0).count();
        assert!(mean.abs() < 0.03 && (0.97..1.03).contains(&variance), "{mean} {variance}");
        assert!((800..1020).contains(&beyond), "{beyond}");
    }

    #[test]
    fn units_stay_in_their_interval() {
        let mut draw = Draw::new(7, 1, b"", 1);
        let mean = (0..10_000)
            .map(|_| draw.uniform(2.0, 4.0))
            .inspect(|x| assert!((2.0..4.0).contains(x)))
            .sum::<f64>()
            / 1e4;
        assert!((2.97..3.03).contains(&mean), "{mean}");
    }
}
