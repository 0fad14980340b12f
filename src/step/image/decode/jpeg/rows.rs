//! From rows of samples to rows of pixels: libjpeg's smooth upsampling and its colours.
//!
//! Each function does one row, or part of one, and knows nothing of where in a picture that is:
//! what stands beyond an edge has been written beside the samples. Rows of samples have room for
//! `SLACK` more at their ends, since the other version of this, in `avx2.rs`, does many at once.

/// Bytes that a row of samples has behind those that count.
pub(super) const SLACK: usize = 32;

/// Chroma that has half the columns and half the rows (`h2v2_fancy_upsample`): ¾ of the nearer
/// sample and ¼ of the farther, down and then across. `near` and `far` have a sample more on each
/// side than half the `width` needs.
pub(super) fn double_both(near: &[u8], far: &[u8], width: usize, out: &mut [u8]) {
    let sum = |i: usize| u16::from(near[i]) * 3 + u16::from(far[i]);
    for (i, pair) in out[..width].chunks_mut(2).enumerate() {
        let here = sum(i + 1) * 3;
        pair[0] = ((here + sum(i) + 8) >> 4) as u8;
        if let Some(second) = pair.get_mut(1) {
            *second = ((here + sum(i + 2) + 7) >> 4) as u8;
        }
    }
}

/// Chroma that has half the columns (`h2v1_fancy_upsample`). `row` has a sample more on each side
/// than half the `width` needs.
pub(super) fn double_across(row: &[u8], width: usize, out: &mut [u8]) {
    for (i, pair) in out[..width].chunks_mut(2).enumerate() {
        let here = u16::from(row[i + 1]) * 3;
        pair[0] = ((here + u16::from(row[i]) + 1) >> 2) as u8;
        if let Some(second) = pair.get_mut(1) {
            *second = ((here + u16::from(row[i + 2]) + 2) >> 2) as u8;
        }
    }
}

/// Chroma that has half the rows (`h1v2_fancy_upsample`). `bias` is 1 for the upper of the two
/// rows, 2 for the lower.
pub(super) fn double_down(near: &[u8], far: &[u8], bias: u16, width: usize, out: &mut [u8]) {
    for (out, (near, far)) in out[..width].iter_mut().zip(near.iter().zip(far)) {
        *out = ((u16::from(*near) * 3 + u16::from(*far) + bias) >> 2) as u8;
    }
}

/// Red, green and blue of Y, Cb and Cr (`ycc_rgb_convert`, in fixed point of 16 bits).
pub(super) fn rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    const HALF: i32 = 1 << 15;
    for (out, ((y, cb), cr)) in out.chunks_exact_mut(3).zip(y.iter().zip(cb).zip(cr)) {
        let (y, cb, cr) = (i32::from(*y), i32::from(*cb) - 128, i32::from(*cr) - 128);
        let red = y + ((91881 * cr + HALF) >> 16);
        let green = y + ((-22554 * cb - 46802 * cr + HALF) >> 16);
        let blue = y + ((116_130 * cb + HALF) >> 16);
        out[0] = red.clamp(0, 255) as u8;
        out[1] = green.clamp(0, 255) as u8;
        out[2] = blue.clamp(0, 255) as u8;
    }
}

/// The same gray three times.
pub(super) fn gray(y: &[u8], out: &mut [u8]) {
    for (out, y) in out.chunks_exact_mut(3).zip(y) {
        out.fill(*y);
    }
}
