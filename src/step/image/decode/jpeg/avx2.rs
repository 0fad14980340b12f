//! The transform, the upsampling and the colours with AVX2: the same numbers, several times faster.
//!
//! The transform is arranged as libjpeg-turbo's `jidctint-avx2.asm`: two rows in each register, the
//! sums of two products by one instruction. Rows of pixels are made 16 samples at a time, the last
//! of them once more where their number is no multiple.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi8, _mm_loadu_si128, _mm_packs_epi16, _mm_set1_epi8,
    _mm_storel_epi64, _mm_storeu_si128, _mm_unpackhi_epi64, _mm256_add_epi16, _mm256_add_epi32,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_cvtepu8_epi16,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_mulhi_epi16,
    _mm256_mullo_epi16, _mm256_or_si256, _mm256_packs_epi32, _mm256_packus_epi16,
    _mm256_permute2x128_si256, _mm256_permute4x64_epi64, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_setr_epi16, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_sign_epi16,
    _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srai_epi32, _mm256_srli_epi16,
    _mm256_storeu_si256, _mm256_sub_epi16, _mm256_sub_epi32, _mm256_unpackhi_epi8,
    _mm256_unpackhi_epi16, _mm256_unpackhi_epi64, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16,
    _mm256_unpacklo_epi64,
};

use super::block::Block;
use super::idct::{
    F_0_298, F_0_390, F_0_541, F_0_765, F_0_899, F_1_175, F_1_501, F_1_847, F_1_961, F_2_053,
    F_2_562, F_3_072,
};

/// As `idct::block`.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn block(block: &Block, quantization: &[i16; 64], out: &mut [u8], stride: usize) {
    let rows = |at: usize| _mm256_mullo_epi16(load(&block.0[at..]), load(&quantization[at..]));
    let (r01, r23, r45, r67) = (rows(0), rows(16), rows(32), rows(48));
    let (c01, c32, c45, c76) = pass::<11>(
        _mm256_permute2x128_si256::<0x20>(r01, r45),
        _mm256_permute2x128_si256::<0x31>(r23, r01),
        _mm256_permute2x128_si256::<0x20>(r23, r67),
        _mm256_permute2x128_si256::<0x31>(r67, r45),
    );
    let (t04, t15, t26, t37) = transpose(c01, c32, c45, c76);
    let (c01, c32, c45, c76) = pass::<18>(
        t04,
        _mm256_permute2x128_si256::<0x20>(t37, t15),
        t26,
        _mm256_permute2x128_si256::<0x31>(t37, t15),
    );
    let (t04, t15, t26, t37) = transpose(c01, c32, c45, c76);
    let middle = _mm_set1_epi8(-128);
    let out = &mut out[..7 * stride + 8];
    let mut store = |row: usize, a: __m128i, b: __m128i| {
        let both = _mm_add_epi8(_mm_packs_epi16(a, b), middle);
        store8(&mut out[row * stride..], both);
        store8(&mut out[(row + 1) * stride..], _mm_unpackhi_epi64(both, both));
    };
    store(0, _mm256_castsi256_si128(t04), _mm256_castsi256_si128(t15));
    store(2, _mm256_castsi256_si128(t26), _mm256_castsi256_si128(t37));
    store(4, _mm256_extracti128_si256::<1>(t04), _mm256_extracti128_si256::<1>(t15));
    store(6, _mm256_extracti128_si256::<1>(t26), _mm256_extracti128_si256::<1>(t37));
}

/// The transform of eight columns at once. Names say which rows are in the lower and the upper
/// half: 0 and 4, 3 and 1, 2 and 6, 7 and 5; and in the result 0 and 1, 3 and 2, 4 and 5, 7 and 6.
#[target_feature(enable = "avx2")]
#[inline]
fn pass<const DESCALE: i32>(
    r04: __m256i,
    r31: __m256i,
    r26: __m256i,
    r75: __m256i,
) -> (__m256i, __m256i, __m256i, __m256i) {
    let swap = |x: __m256i| _mm256_permute2x128_si256::<0x01>(x, x);

    // The even part.
    let r62 = swap(r26);
    let weights = pairs(F_0_541 + F_0_765, F_0_541, F_0_541 - F_1_847, F_0_541);
    let tmp32 = products(r26, r62, weights);
    let signs = _mm256_setr_epi16(1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1);
    let sums = _mm256_add_epi16(swap(r04), _mm256_sign_epi16(r04, signs));
    let zero = _mm256_setzero_si256();
    let tmp01 = (
        _mm256_srai_epi32::<3>(_mm256_unpacklo_epi16(zero, sums)),
        _mm256_srai_epi32::<3>(_mm256_unpackhi_epi16(zero, sums)),
    );
    let even_01 = add(tmp01, tmp32);
    let even_32 = sub(tmp01, tmp32);

    // The odd part.
    let z34 = _mm256_add_epi16(r75, r31);
    let weights = pairs(F_1_175 - F_1_961, F_1_175, F_1_175 - F_0_390, F_1_175);
    let z34 = products(z34, swap(z34), weights);
    let r13 = swap(r31);
    let weights = pairs(F_0_298 - F_0_899, -F_0_899, F_2_053 - F_2_562, -F_2_562);
    let odd_32 = add(products(r75, r13, weights), z34);
    let weights = pairs(-F_0_899, F_1_501 - F_0_899, -F_2_562, F_3_072 - F_2_562);
    let odd_01 = add(products(r75, r13, weights), (swap(z34.0), swap(z34.1)));

    let half = _mm256_set1_epi32(1 << (DESCALE - 1));
    let descale = |sums: (__m256i, __m256i)| {
        _mm256_packs_epi32(
            _mm256_srai_epi32::<DESCALE>(_mm256_add_epi32(sums.0, half)),
            _mm256_srai_epi32::<DESCALE>(_mm256_add_epi32(sums.1, half)),
        )
    };
    (
        descale(add(even_01, odd_01)),
        descale(add(even_32, odd_32)),
        descale(sub(even_32, odd_32)),
        descale(sub(even_01, odd_01)),
    )
}

/// Eight rows of eight, two in each register as `pass` leaves them, to columns: 0 and 4, 1 and 5,
/// 2 and 6, 3 and 7.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(
    r01: __m256i,
    r32: __m256i,
    r45: __m256i,
    r76: __m256i,
) -> (__m256i, __m256i, __m256i, __m256i) {
    let a = _mm256_permute4x64_epi64::<0xd8>(r01);
    let b = _mm256_permute4x64_epi64::<0x72>(r32);
    let c = _mm256_permute4x64_epi64::<0xd8>(r45);
    let d = _mm256_permute4x64_epi64::<0x72>(r76);
    let (ab_low, ab_high) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi16(c, d), _mm256_unpackhi_epi16(c, d));
    let e = _mm256_unpacklo_epi16(ab_low, ab_high);
    let f = _mm256_unpacklo_epi16(cd_low, cd_high);
    let g = _mm256_unpackhi_epi16(ab_low, ab_high);
    let h = _mm256_unpackhi_epi16(cd_low, cd_high);
    (
        _mm256_unpacklo_epi64(e, f),
        _mm256_unpackhi_epi64(e, f),
        _mm256_unpacklo_epi64(g, h),
        _mm256_unpackhi_epi64(g, h),
    )
}

/// Pairs of weights: `a` and `b` for the lower half, `c` and `d` for the upper.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs(a: i16, b: i16, c: i16, d: i16) -> __m256i {
    _mm256_setr_epi16(a, b, a, b, a, b, a, b, c, d, c, d, c, d, c, d)
}

/// The sums of `a` and `b` times weights, in the order that unpacking gives.
#[target_feature(enable = "avx2")]
#[inline]
fn products(a: __m256i, b: __m256i, weights: __m256i) -> (__m256i, __m256i) {
    (
        _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights),
        _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights),
    )
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(a: (__m256i, __m256i), b: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_add_epi32(a.0, b.0), _mm256_add_epi32(a.1, b.1))
}

#[target_feature(enable = "avx2")]
#[inline]
fn sub(a: (__m256i, __m256i), b: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_sub_epi32(a.0, b.0), _mm256_sub_epi32(a.1, b.1))
}

/// As `rows::double_both`.
#[target_feature(enable = "avx2")]
pub(super) fn double_both(near: &[u8], far: &[u8], width: usize, out: &mut [u8]) {
    let sums = |i: usize| {
        let near = widen(&near[i..]);
        let three = _mm256_add_epi16(near, _mm256_add_epi16(near, near));
        _mm256_add_epi16(three, widen(&far[i..]))
    };
    let (eight, seven) = (_mm256_set1_epi16(8), _mm256_set1_epi16(7));
    for (at, out) in out[..width.next_multiple_of(32)].chunks_exact_mut(32).enumerate() {
        let here = sums(16 * at + 1);
        let here = _mm256_add_epi16(here, _mm256_add_epi16(here, here));
        let first = _mm256_add_epi16(here, _mm256_add_epi16(sums(16 * at), eight));
        let second = _mm256_add_epi16(here, _mm256_add_epi16(sums(16 * at + 2), seven));
        alternate(_mm256_srli_epi16::<4>(first), _mm256_srli_epi16::<4>(second), out);
    }
}

/// As `rows::double_across`.
#[target_feature(enable = "avx2")]
pub(super) fn double_across(row: &[u8], width: usize, out: &mut [u8]) {
    let (one, two) = (_mm256_set1_epi16(1), _mm256_set1_epi16(2));
    for (at, out) in out[..width.next_multiple_of(32)].chunks_exact_mut(32).enumerate() {
        let here = widen(&row[16 * at + 1..]);
        let here = _mm256_add_epi16(here, _mm256_add_epi16(here, here));
        let first = _mm256_add_epi16(here, _mm256_add_epi16(widen(&row[16 * at..]), one));
        let second = _mm256_add_epi16(here, _mm256_add_epi16(widen(&row[16 * at + 2..]), two));
        alternate(_mm256_srli_epi16::<2>(first), _mm256_srli_epi16::<2>(second), out);
    }
}

/// As `rows::double_down`.
#[target_feature(enable = "avx2")]
pub(super) fn double_down(near: &[u8], far: &[u8], bias: u16, width: usize, out: &mut [u8]) {
    let bias = _mm256_set1_epi16(bias as i16);
    let sixteen = |at: usize| {
        let near = widen(&near[at..]);
        let three = _mm256_add_epi16(near, _mm256_add_epi16(near, near));
        _mm256_srli_epi16::<2>(_mm256_add_epi16(three, _mm256_add_epi16(widen(&far[at..]), bias)))
    };
    for (at, out) in out[..width.next_multiple_of(32)].chunks_exact_mut(32).enumerate() {
        let both = _mm256_packus_epi16(sixteen(32 * at), sixteen(32 * at + 16));
        store32(out, _mm256_permute4x64_epi64::<0xd8>(both));
    }
}

/// Writes 16 numbers below 256 and 16 others in turn.
#[target_feature(enable = "avx2")]
#[inline]
fn alternate(first: __m256i, second: __m256i, out: &mut [u8]) {
    store32(out, _mm256_or_si256(first, _mm256_slli_epi16::<8>(second)));
}

/// As `rows::rgb`.
#[target_feature(enable = "avx2")]
pub(super) fn rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let width = out.len() / 3;
    let mut x = 0;
    while x + 32 <= width {
        rgb_32(&y[x..], &cb[x..], &cr[x..], &mut out[3 * x..]);
        x += 32;
    }
    if x < width {
        let mut rest = [0; 96];
        rgb_32(&y[x..], &cb[x..], &cr[x..], &mut rest);
        out[3 * x..].copy_from_slice(&rest[..3 * (width - x)]);
    }
}

/// 32 pixels. Products of 16 bits keep the upper half of the sum's 32; so factors of 1 and more
/// are taken off the constants, and what is to be rounded is doubled and halved.
#[target_feature(enable = "avx2")]
#[inline]
fn rgb_32(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let zero = _mm256_setzero_si256();
    let (y, cb, cr) = (load32(y), load32(cb), load32(cr));
    let one = _mm256_set1_epi16(1);
    let middle = _mm256_set1_epi16(128);
    let sixteen = |y: __m256i, cb: __m256i, cr: __m256i| {
        let (cb, cr) = (_mm256_sub_epi16(cb, middle), _mm256_sub_epi16(cr, middle));
        let (cb_2, cr_2) = (_mm256_add_epi16(cb, cb), _mm256_add_epi16(cr, cr));
        let part = |twice: __m256i, factor: i16| {
            let product = _mm256_mulhi_epi16(twice, _mm256_set1_epi16(factor));
            _mm256_srai_epi16::<1>(_mm256_add_epi16(product, one))
        };
        // 1.402 - 1; 1.772 - 2; -0.34414, and 1 - 0.71414.
        let red = _mm256_add_epi16(_mm256_add_epi16(y, cr), part(cr_2, 26345));
        let blue = _mm256_add_epi16(_mm256_add_epi16(y, cb_2), part(cb_2, -14942));
        let half = _mm256_set1_epi32(1 << 15);
        let weights = pairs(-22554, 18734, -22554, 18734);
        let (low, high) = products(cb, cr, weights);
        let green = _mm256_packs_epi32(
            _mm256_srai_epi32::<16>(_mm256_add_epi32(low, half)),
            _mm256_srai_epi32::<16>(_mm256_add_epi32(high, half)),
        );
        (red, _mm256_add_epi16(_mm256_sub_epi16(y, cr), green), blue)
    };
    let low = |x: __m256i| _mm256_unpacklo_epi8(x, zero);
    let high = |x: __m256i| _mm256_unpackhi_epi8(x, zero);
    let (red_0, green_0, blue_0) = sixteen(low(y), low(cb), low(cr));
    let (red_1, green_1, blue_1) = sixteen(high(y), high(cb), high(cr));
    let red = _mm256_packus_epi16(red_0, red_1);
    let green = _mm256_packus_epi16(green_0, green_1);
    let blue = _mm256_packus_epi16(blue_0, blue_1);

    let out = &mut out[..96];
    for (third, [reds, greens, blues]) in PLACES.iter().enumerate() {
        let place = |x: __m256i, places: &[u8; 16]| {
            _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(load16(places)))
        };
        let mixed = _mm256_or_si256(
            _mm256_or_si256(place(red, reds), place(green, greens)),
            place(blue, blues),
        );
        store16(&mut out[16 * third..], _mm256_castsi256_si128(mixed));
        store16(&mut out[48 + 16 * third..], _mm256_extracti128_si256::<1>(mixed));
    }
}

/// For each third of the bytes of 16 pixels: where its bytes come from in each colour.
const PLACES: [[[u8; 16]; 3]; 3] = {
    let mut places = [[[0x80; 16]; 3]; 3];
    let mut byte = 0;
    while byte < 48 {
        places[byte / 16][byte % 3][byte % 16] = (byte / 3) as u8;
        byte += 1;
    }
    places
};

/// The first 16 bytes as 16-bit numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn widen(bytes: &[u8]) -> __m256i {
    _mm256_cvtepu8_epi16(load16(bytes))
}

#[target_feature(enable = "avx2")]
#[inline]
fn load16(bytes: &[u8]) -> __m128i {
    let bytes: *const [u8] = &raw const bytes[..16];
    #[expect(unsafe_code, reason = "a load has no safe form")]
    // SAFETY: there are 16 bytes, as was just checked, and the load needs no alignment.
    unsafe {
        _mm_loadu_si128(bytes.cast())
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load32(bytes: &[u8]) -> __m256i {
    let bytes: *const [u8] = &raw const bytes[..32];
    #[expect(unsafe_code, reason = "a load has no safe form")]
    // SAFETY: there are 32 bytes, as was just checked, and the load needs no alignment.
    unsafe {
        _mm256_loadu_si256(bytes.cast())
    }
}

/// The first 16 numbers.
#[target_feature(enable = "avx2")]
#[inline]
fn load(numbers: &[i16]) -> __m256i {
    let numbers: *const [i16] = &raw const numbers[..16];
    #[expect(unsafe_code, reason = "a load has no safe form")]
    // SAFETY: there are 16 numbers, as was just checked, and the load needs no alignment.
    unsafe {
        _mm256_loadu_si256(numbers.cast())
    }
}

/// The lower 8 bytes.
#[target_feature(enable = "avx2")]
#[inline]
fn store8(out: &mut [u8], x: __m128i) {
    let out: *mut [u8] = &raw mut out[..8];
    #[expect(unsafe_code, reason = "a store has no safe form")]
    // SAFETY: there are 8 bytes, as was just checked, and the store needs no alignment.
    unsafe {
        _mm_storel_epi64(out.cast(), x);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store16(out: &mut [u8], x: __m128i) {
    let out: *mut [u8] = &raw mut out[..16];
    #[expect(unsafe_code, reason = "a store has no safe form")]
    // SAFETY: there are 16 bytes, as was just checked, and the store needs no alignment.
    unsafe {
        _mm_storeu_si128(out.cast(), x);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store32(out: &mut [u8], x: __m256i) {
    let out: *mut [u8] = &raw mut out[..32];
    #[expect(unsafe_code, reason = "a store has no safe form")]
    // SAFETY: there are 32 bytes, as was just checked, and the store needs no alignment.
    unsafe {
        _mm256_storeu_si256(out.cast(), x);
    }
}
