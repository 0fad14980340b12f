//! Numbers that look random and follow from a seed and a counter alone.
//!
//! Integer arithmetic, and conversions to `f32` that are exact: the same on every machine. Not for
//! what is served (`draw` is): these only have to be cheap, a picture takes hundreds of thousands.

/// 64 bits for a place in a field of noise: the finaliser of SplitMix64 (Steele, Lea, Flood,
/// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
pub(super) fn bits(seed: u64, counter: u64) -> u64 {
    let mut z = seed.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Four numbers of mean 0 and variance 1, evenly spread in ±√3.
pub(super) fn even(seed: u64, counter: u64) -> [f32; 4] {
    let bits = bits(seed, counter);
    [0, 16, 32, 48].map(|shift| (piece(bits, shift) - 32_768) as f32 * (1.0 / 18_918.6))
}

/// A number of mean 0 and variance 1, spread about as a bell: the sum of four even ones.
pub(super) fn bell(seed: u64, counter: u64) -> f32 {
    let bits = bits(seed, counter);
    let sum = piece(bits, 0) + piece(bits, 16) + piece(bits, 32) + piece(bits, 48);
    (sum - 131_070) as f32 * (1.0 / 37_837.2)
}

fn piece(bits: u64, shift: u32) -> i32 {
    i32::from((bits >> shift) as u16)
}

/// The numbers that decide on one picture, one after the other.
pub(super) struct Stream {
    seed: u64,
    counter: u64,
}

impl Stream {
    pub(super) fn new(seed: u64) -> Stream {
        Stream { seed, counter: 0 }
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.counter += 1;
        bits(self.seed, self.counter)
    }

    /// A whole number in `0..n`. Some are a little likelier than others, which no picture shows.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number in `[0, 1)`.
    pub(super) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// A number in `[low, high)`.
    pub(super) fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    pub(super) fn chance(&mut self, p: f32) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_is_splitmix64() {
        // The first outputs of the reference implementation, seeded with 1234567.
        let first = [0, 1, 2].map(|counter| bits(1_234_567, counter));
        let reference =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, reference);
    }

    #[test]
    fn both_spreads_have_mean_0_and_variance_1() {
        let evens: Vec<f32> = (0..20_000).flat_map(|counter| even(1, counter)).collect();
        let bells: Vec<f32> = (0..80_000).map(|counter| bell(2, counter)).collect();
        for numbers in [evens, bells] {
            let mean = numbers.iter().sum::<f32>() / numbers.len() as f32;
            let square = numbers.iter().map(|x| x * x).sum::<f32>() / numbers.len() as f32;
            assert!(mean.abs() < 0.02 && (0.98..1.02).contains(&square), "{mean} {square}");
        }
    }

    #[test]
    fn a_stream_stays_in_its_intervals() {
        let mut stream = Stream::new(3);
        for _ in 0..1_000 {
            assert!(stream.below(7) < 7);
            assert!((2.0..=4.0).contains(&stream.within(2.0, 4.0)));
        }
    }
}
