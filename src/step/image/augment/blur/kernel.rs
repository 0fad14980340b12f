//! A Gaussian's weights as torchvision computes them, in single precision.
//!
//! It knows no picture.

/// `size` weights of a Gaussian of deviation `sigma`, the middle one at its top; their sum is 1.
pub(super) fn gaussian(size: usize, sigma: f64) -> Vec<f32> {
    let middle = (size - 1) as f32 * 0.5;
    let weights: Vec<f32> = (0..size)
        .map(|at| {
            let x = (at as f32 - middle) / sigma as f32;
            f64::from(-0.5 * (x * x)).exp() as f32
        })
        .collect();
    let sum = sum(&weights);
    weights.iter().map(|weight| weight / sum).collect()
}

/// torch's sum of fewer than 512 numbers: in eight lanes, or one if they are fewer, each in four
/// parts; what is left over is added to the first part, or first of all.
fn sum(numbers: &[f32]) -> f32 {
    let (lanes, rest) = numbers.as_chunks::<8>();
    if lanes.is_empty() {
        let single: Vec<[f32; 1]> = rest.iter().map(|n| [*n]).collect();
        return in_parts(&single)[0];
    }
    let rest = rest.iter().fold(0.0, |sum, n| sum + n);
    in_parts(lanes).iter().fold(rest, |sum, n| sum + n)
}

fn in_parts<const LANES: usize>(rows: &[[f32; LANES]]) -> [f32; LANES] {
    let (fours, rest) = rows.as_chunks::<4>();
    let add = |a: [f32; LANES], b: &[f32; LANES]| std::array::from_fn(|lane| a[lane] + b[lane]);
    let mut parts = [[0.0; LANES]; 4];
    for four in fours {
        for (part, row) in parts.iter_mut().zip(four) {
            *part = add(*part, row);
        }
    }
    let [first, others @ ..] = parts;
    others.iter().fold(rest.iter().fold(first, add), add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_symmetric_and_sum_to_one() {
        for size in [1, 3, 9, 23, 99] {
            let weights = gaussian(size, 1.7);
            assert!(weights.iter().eq(weights.iter().rev()));
            let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            assert!((total - 1.0).abs() < 1e-6, "{size}: {total}");
        }
    }
}
