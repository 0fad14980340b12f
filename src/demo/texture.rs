//! Fields of natural texture, on a square that wraps around.
//!
//! It knows nothing of pictures, colours or files. All arithmetic is `f32` additions,
//! multiplications and square roots in a fixed order, which IEEE 754 rounds the same everywhere.

use super::noise;

/// The edge of the square. A power of two, so that wrapping is a mask.
pub(super) const EDGE: usize = 512;

/// A field of mean about 0 and variance 1.
pub(super) struct Field(Vec<f32>);

impl Field {
    /// Noise of all scales from an eighth of the square down to `finest` pixels, each octave
    /// `gain` times as strong as the one before: 0.8 to 0.9 has the spectrum of photos.
    pub(super) fn octaves(seed: u64, gain: f32, finest: usize) -> Field {
        let mut field = vec![0.0; 64];
        let (mut edge, mut strength) = (8, 1.0);
        loop {
            if EDGE / edge >= finest {
                add_noise(&mut field, noise::bits(seed, edge as u64), strength);
                strength *= gain;
            }
            if edge == EDGE {
                return Field(normalised(field));
            }
            field = doubled(&field, edge);
            edge *= 2;
        }
    }

    /// Fine fibres, as of fur or grass, that run down the square and `slope` pixels aside per row;
    /// `across`: along the rows instead. `length` in `(0, 1)` is how much of a row the next keeps.
    pub(super) fn fibres(seed: u64, slope: f32, across: bool, length: f32) -> Field {
        let mut field = vec![0.0; EDGE * EDGE];
        let mut row = vec![0.0_f32; EDGE];
        let fresh = 1.0 - length;
        // The rows before the first are only there so that it starts like any other.
        for step in 0..EDGE + 32 {
            let y = step % EDGE;
            let shift = (y as f32 * slope) as i32;
            for (quad, four) in row.chunks_exact_mut(4).enumerate() {
                let noise = noise::even(seed, (y * EDGE / 4 + quad) as u64);
                for (value, new) in four.iter_mut().zip(noise) {
                    *value = *value * length + new * fresh;
                }
            }
            for (x, value) in row.iter().enumerate() {
                let x = wrapped(x as i32 + shift);
                field[if across { x * EDGE + y } else { y * EDGE + x }] = *value;
            }
        }
        Field(normalised(field))
    }

    /// One row of the field, to be indexed by [`wrapped`].
    pub(super) fn row(&self, y: i32) -> &[f32; EDGE] {
        let start = wrapped(y) * EDGE;
        let Some(row) = self.0[start..].first_chunk() else { return &[0.0; EDGE] };
        row
    }
}

/// Where a coordinate is in the square.
pub(super) fn wrapped(at: i32) -> usize {
    (at & (EDGE as i32 - 1)) as usize
}

fn add_noise(field: &mut [f32], seed: u64, strength: f32) {
    for (counter, four) in field.chunks_exact_mut(4).enumerate() {
        for (value, noise) in four.iter_mut().zip(noise::even(seed, counter as u64)) {
            *value += noise * strength;
        }
    }
}

/// Twice the size in both directions, each new value between its nearest old ones (3 to 1).
fn doubled(field: &[f32], edge: usize) -> Vec<f32> {
    let mut doubled = Vec::with_capacity(edge * edge * 4);
    let mut between = vec![0.0_f32; edge];
    for y in 0..edge * 2 {
        let near = y / 2;
        let far = (near + edge + (y % 2) * 2 - 1) % edge;
        let rows = field[near * edge..][..edge].iter().zip(&field[far * edge..][..edge]);
        for (between, (near, far)) in between.iter_mut().zip(rows) {
            *between = near * 0.75 + far * 0.25;
        }
        let mut before = between[edge - 1];
        for x in 0..edge {
            let (here, after) = (between[x], between[(x + 1) % edge]);
            doubled.push(here * 0.75 + before * 0.25);
            doubled.push(here * 0.75 + after * 0.25);
            before = here;
        }
    }
    doubled
}

fn normalised(mut field: Vec<f32>) -> Vec<f32> {
    let count = field.len() as f64;
    let mean = (field.iter().map(|x| f64::from(*x)).sum::<f64>() / count) as f32;
    let square = field.iter().map(|x| f64::from(x - mean) * f64::from(x - mean)).sum::<f64>();
    let scale = 1.0 / ((square / count).sqrt() as f32).max(1e-6);
    for value in &mut field {
        *value = (*value - mean) * scale;
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> [Field; 3] {
        [Field::octaves(1, 0.9, 1), Field::octaves(2, 0.7, 4), Field::fibres(3, 0.7, true, 0.8)]
    }

    #[test]
    fn fields_have_mean_0_and_variance_1() {
        for Field(field) in fields() {
            let count = field.len() as f32;
            let mean = field.iter().sum::<f32>() / count;
            let square = field.iter().map(|x| x * x).sum::<f32>() / count;
            assert!(mean.abs() < 0.01 && (0.98..1.02).contains(&square), "{mean} {square}");
        }
    }

    #[test]
    fn octaves_wrap_around_without_a_seam() {
        let step = |field: &Field, above: i32| {
            let rows = field.row(above).iter().zip(field.row(above + 1));
            rows.map(|(a, b)| (a - b).abs()).sum::<f32>()
        };
        let [rough, smooth, _] = fields();
        for field in [rough, smooth] {
            assert!(step(&field, -1) < step(&field, 254) * 1.5);
        }
    }

    #[test]
    fn each_octave_adds_as_much_as_told() {
        // White noise is as rough as can be; the fewer fine octaves, the smoother.
        let roughness = |Field(field): &Field| {
            field.windows(2).map(|two| (two[0] - two[1]).abs()).sum::<f32>() / field.len() as f32
        };
        let by = [(0.5, 1), (0.9, 1), (2.0, 1)]
            .map(|(gain, finest)| roughness(&Field::octaves(5, gain, finest)));
        assert!(by[0] < by[1] && by[1] < by[2], "{by:?}");
        assert!(roughness(&Field::octaves(5, 0.9, 8)) < by[1]);
    }
}
