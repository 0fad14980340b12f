//! The blur compiled for processors that multiply and add at once: the same numbers, in a fraction of
//! the time, as elsewhere each fused multiplication is a call.
//!
//! It knows nothing of how a blur goes.

use super::Blur;

/// Makes all rows, if the processor can.
pub(super) fn run(blur: &mut Blur<'_>, target: &mut [u8]) -> bool {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        return false;
    }
    #[expect(unsafe_code, reason = "code for FMA may be called only where there is FMA")]
    // SAFETY: AVX2 and FMA were just detected.
    unsafe {
        fused(blur, target);
    }
    true
}

#[target_feature(enable = "avx2,fma")]
fn fused(blur: &mut Blur<'_>, target: &mut [u8]) {
    blur.run(target);
}
