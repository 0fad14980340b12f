//! From the coefficients of a block to its samples: libjpeg's slow integer transform.
//!
//! The formulas are those of `jidctint.c`. Numbers that no encoder makes overflow as they do in
//! libjpeg-turbo's code for AVX2, in 16 bits here and 32 there.

use super::block::Block;

/// Fixed-point bits of the constants.
const CONST_BITS: u32 = 13;
/// Fixed-point bits that the samples keep between the passes.
const PASS1_BITS: u32 = 2;

/// √2·cos and so on, times 2¹³: as libjpeg names them.
pub(super) const F_0_298: i16 = 2446;
pub(super) const F_0_390: i16 = 3196;
pub(super) const F_0_541: i16 = 4433;
pub(super) const F_0_765: i16 = 6270;
pub(super) const F_0_899: i16 = 7373;
pub(super) const F_1_175: i16 = 9633;
pub(super) const F_1_501: i16 = 12299;
pub(super) const F_1_847: i16 = 15137;
pub(super) const F_1_961: i16 = 16069;
pub(super) const F_2_053: i16 = 16819;
pub(super) const F_2_562: i16 = 20995;
pub(super) const F_3_072: i16 = 25172;

/// Writes the samples of a block as 8 rows, the first at the start of `out`.
pub(super) fn block(block: &Block, quantization: &[i16; 64], out: &mut [u8], stride: usize) {
    let mut work = [0; 64];
    for (i, work) in work.iter_mut().enumerate() {
        *work = block.0[i].wrapping_mul(quantization[i]);
    }
    for column in 0..8 {
        pass::<{ CONST_BITS - PASS1_BITS }>(&mut work, column, 8);
    }
    for row in 0..8 {
        pass::<{ CONST_BITS + PASS1_BITS + 3 }>(&mut work, row * 8, 1);
    }
    for (row, samples) in work.chunks_exact(8).enumerate() {
        for (to, sample) in out[row * stride..].iter_mut().zip(samples) {
            *to = (i32::from(*sample) + 128).clamp(0, 255) as u8;
        }
    }
}

/// Writes the samples of a block that has only its first coefficient.
pub(super) fn flat(dc: i16, quantization: i16, out: &mut [u8], stride: usize) {
    let sample = i32::from(dc.wrapping_mul(quantization).wrapping_shl(PASS1_BITS));
    let sample = (((sample + 16) >> 5) + 128).clamp(0, 255) as u8;
    for row in 0..8 {
        out[row * stride..][..8].fill(sample);
    }
}

/// Whether the coefficients of the first row are so large that libjpeg-turbo's code for AVX2,
/// which has a short cut for blocks that have no others, differs from its own without.
pub(super) fn is_wild(block: &Block, quantization: &[i16; 64]) -> bool {
    let mut row = block.0.iter().zip(quantization).take(8);
    row.any(|(coefficient, step)| {
        !(-4096..4096).contains(&(i32::from(*coefficient) * i32::from(*step)))
    })
}

/// Eight numbers, `step` apart, in place; the results lose `DESCALE` bits.
fn pass<const DESCALE: u32>(work: &mut [i16; 64], at: usize, step: usize) {
    let s: [i16; 8] = std::array::from_fn(|i| work[at + i * step]);
    let sum = |a: i16, m: i16, b: i16, n: i16| {
        (i32::from(a) * i32::from(m)).wrapping_add(i32::from(b) * i32::from(n))
    };

    let tmp3 = sum(s[2], F_0_541 + F_0_765, s[6], F_0_541);
    let tmp2 = sum(s[6], F_0_541 - F_1_847, s[2], F_0_541);
    let tmp0 = i32::from(s[0].wrapping_add(s[4])) << CONST_BITS;
    let tmp1 = i32::from(s[0].wrapping_sub(s[4])) << CONST_BITS;
    let even = [
        tmp0.wrapping_add(tmp3),
        tmp1.wrapping_add(tmp2),
        tmp1.wrapping_sub(tmp2),
        tmp0.wrapping_sub(tmp3),
    ];

    let z3 = s[7].wrapping_add(s[3]);
    let z4 = s[5].wrapping_add(s[1]);
    let z3_sum = sum(z3, F_1_175 - F_1_961, z4, F_1_175);
    let z4_sum = sum(z4, F_1_175 - F_0_390, z3, F_1_175);
    let odd = [
        sum(s[7], -F_0_899, s[1], F_1_501 - F_0_899).wrapping_add(z4_sum),
        sum(s[5], -F_2_562, s[3], F_3_072 - F_2_562).wrapping_add(z3_sum),
        sum(s[5], F_2_053 - F_2_562, s[3], -F_2_562).wrapping_add(z4_sum),
        sum(s[7], F_0_298 - F_0_899, s[1], -F_0_899).wrapping_add(z3_sum),
    ];

    for i in 0..4 {
        for (at_i, sum) in
            [(i, even[i].wrapping_add(odd[i])), (7 - i, even[i].wrapping_sub(odd[i]))]
        {
            let rounded = sum.wrapping_add(1 << (DESCALE - 1)) >> DESCALE;
            let saturated = rounded.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
            work[at + at_i * step] = saturated;
        }
    }
}
