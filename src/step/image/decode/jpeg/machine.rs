//! The two ways of doing the same: with AVX2 where there is AVX2, and with what any machine has.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::block::Block;
use super::{idct, rows};

/// What the machine has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Machine {
    /// Nothing that this decoder knows of.
    Any,
    /// AVX2, and instructions for single bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(Detected),
}

/// The proof that `Machine::this` found the instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Detected(());

/// Either function with the same arguments.
macro_rules! either {
    ($machine:expr, $name:ident($($argument:expr),*), $any:path) => {
        match $machine {
            Machine::Any => $any($($argument),*),
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "code for AVX2 may be called only where there is AVX2")]
            // SAFETY: AVX2 was detected, or there would be no `Detected`.
            Machine::Avx2(Detected(())) => unsafe { avx2::$name($($argument),*) },
        }
    };
}

impl Machine {
    pub(super) fn this() -> Machine {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
        {
            return Machine::Avx2(Detected(()));
        }
        Machine::Any
    }

    #[inline(always)]
    pub(super) fn block(self, of: &Block, steps: &[i16; 64], out: &mut [u8], stride: usize) {
        either!(self, block(of, steps, out, stride), idct::block);
    }

    pub(super) fn double_both(self, near: &[u8], far: &[u8], width: usize, out: &mut [u8]) {
        either!(self, double_both(near, far, width, out), rows::double_both);
    }

    pub(super) fn double_across(self, row: &[u8], width: usize, out: &mut [u8]) {
        either!(self, double_across(row, width, out), rows::double_across);
    }

    pub(super) fn double_down(
        self,
        near: &[u8],
        far: &[u8],
        bias: u16,
        width: usize,
        out: &mut [u8],
    ) {
        either!(self, double_down(near, far, bias, width, out), rows::double_down);
    }

    pub(super) fn rgb(self, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
        either!(self, rgb(y, cb, cr, out), rows::rgb);
    }
}
