//! JPEG of four components with some at a lower resolution: brought to one size and, if they are
//! YCCK, to CMYK.
//!
//! From libjpeg-turbo's `jdsample.c` (smooth upsampling) and `jdcolor.c` (`ycck_cmyk_convert`). The
//! decoder's own code takes padding beyond the edges for pixels, which libjpeg doesn't. Such files
//! are rare: nothing here is fast.

use libjpeg_turbo_rs::{Decoder, JpegError};

use super::Dimensions;

/// A component at its own resolution.
struct Component<'a> {
    samples: &'a [u8],
    stride: usize,
    /// What of it belongs to the picture.
    height: usize,
    width: usize,
    /// How many pixels of the picture are one sample's.
    down: usize,
    across: usize,
}

/// Whether some component of four has fewer samples than another.
pub(super) fn is_subsampled(decoder: &Decoder) -> bool {
    let components = &decoder.header().components;
    let sampling =
        |n: usize| components.get(n).map(|part| (part.horizontal_sampling, part.vertical_sampling));
    components.len() == 4 && (1..4).any(|n| sampling(n) != sampling(0))
}

/// Writes CMYK, as the file has it, of a picture of this size.
pub(super) fn decode(
    decoder: Decoder,
    size: Dimensions,
    is_ycck: bool,
    out: &mut [u8],
) -> Result<(), JpegError> {
    let sampling: Vec<(usize, usize)> = decoder
        .header()
        .components
        .iter()
        .map(|part| (usize::from(part.vertical_sampling), usize::from(part.horizontal_sampling)))
        .collect();
    let most = |of: fn(&(usize, usize)) -> usize| sampling.iter().map(of).max().unwrap_or(1);
    let (most_down, most_across) = (most(|part| part.0), most(|part| part.1));
    let raw = decoder.decode_raw()?;
    let mut planes = Vec::new();
    for (n, (down, across)) in sampling.into_iter().enumerate() {
        if !most_down.is_multiple_of(down) || !most_across.is_multiple_of(across) {
            let what = "four components at resolutions that don't divide one another";
            return Err(JpegError::Unsupported(what.to_owned()));
        }
        planes.push(upsampled(
            &Component {
                samples: &raw.planes[n],
                stride: raw.plane_widths[n],
                height: (size.height * down).div_ceil(most_down),
                width: (size.width * across).div_ceil(most_across),
                down: most_down / down,
                across: most_across / across,
            },
            size,
        ));
    }
    for (n, pixel) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let stored = [0, 1, 2, 3].map(|channel: usize| planes[channel][n]);
        *pixel = if is_ycck { cmyk(stored) } else { stored };
    }
    Ok(())
}

/// A component at the picture's resolution.
fn upsampled(part: &Component, size: Dimensions) -> Vec<u8> {
    let row = |y: usize| &part.samples[y * part.stride..][..part.width];
    let mut out = Vec::with_capacity(size.height * size.width);
    for y in 0..size.height {
        let near = row((y / part.down).min(part.height - 1));
        // The other row that smooth upsampling takes a quarter of: above for even rows.
        let other = match (y % 2, y / 2) {
            (0, y) => row(y.saturating_sub(1).min(part.height - 1)),
            (_, y) => row((y + 1).min(part.height - 1)),
        };
        let line: Vec<u8> = match (part.down, part.across) {
            (1, 1) => near.to_vec(),
            (1, 2) if part.width > 2 => {
                let sums: Vec<u32> = near.iter().map(|sample| u32::from(*sample)).collect();
                doubled(&sums, 2, [1, 2])
            }
            (2, 1) => {
                let bias = if y % 2 == 0 { 1 } else { 2 };
                let sum = |(near, other): (&u8, &u8)| {
                    ((u32::from(*near) * 3 + u32::from(*other) + bias) >> 2) as u8
                };
                near.iter().zip(other).map(sum).collect()
            }
            (2, 2) if part.width > 2 => {
                let sum = |(near, other): (&u8, &u8)| u32::from(*near) * 3 + u32::from(*other);
                let sums: Vec<u32> = near.iter().zip(other).map(sum).collect();
                doubled(&sums, 4, [8, 7])
            }
            (_, across) => near.iter().flat_map(|v| std::iter::repeat_n(*v, across)).collect(),
        };
        out.extend_from_slice(&line[..size.width]);
    }
    out
}

/// Two of each: three quarters of it and one of the left or right neighbour, of itself at the ends;
/// rounded by `bias` and divided by 2 to the power of `bits`.
fn doubled(sums: &[u32], bits: u32, bias: [u32; 2]) -> Vec<u8> {
    let at = |n: usize| sums[n.min(sums.len() - 1)];
    let mut out = Vec::with_capacity(2 * sums.len());
    for (n, sum) in sums.iter().enumerate() {
        out.push(((sum * 3 + at(n.saturating_sub(1)) + bias[0]) >> bits) as u8);
        out.push(((sum * 3 + at(n + 1) + bias[1]) >> bits) as u8);
    }
    out
}

fn cmyk([y, cb, cr, k]: [u8; 4]) -> [u8; 4] {
    /// Numbers with 16 bits after the point, as libjpeg rounds them.
    const CR_TO_R: i32 = 91_881;
    const CB_TO_B: i32 = 116_130;
    const CR_TO_G: i32 = 46_802;
    const CB_TO_G: i32 = 22_554;
    const HALF: i32 = 1 << 15;
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((CR_TO_R * cr + HALF) >> 16);
    let green = y + ((HALF - CB_TO_G * cb - CR_TO_G * cr) >> 16);
    let blue = y + ((CB_TO_B * cb + HALF) >> 16);
    let [c, m, yellow] = [red, green, blue].map(|light| (255 - light).clamp(0, 255) as u8);
    [c, m, yellow, k]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_their_own_neighbours() {
        assert_eq!(doubled(&[0, 100, 200], 2, [1, 2]), [0, 25, 75, 125, 175, 200]);
        assert_eq!(doubled(&[4 * 9], 4, [8, 7]), [9, 9]);
        assert_eq!(cmyk([255, 128, 128, 7]), [0, 0, 0, 7]);
        assert_eq!(cmyk([76, 85, 255, 0]), [1, 255, 255, 0]);
    }
}
