//! What the fast kernels need of the processor. They are chosen when the program runs, so that no
//! build is without them; where they can't run, portable code makes the same pixels.

/// What this processor hasn't got of what the fast kernels use, if anything.
pub fn missing_instructions() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let all = [
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("FMA", is_x86_feature_detected!("fma")),
            ("BMI1", is_x86_feature_detected!("bmi1")),
            ("BMI2", is_x86_feature_detected!("bmi2")),
            ("LZCNT", is_x86_feature_detected!("lzcnt")),
        ];
        all.into_iter().find(|(_, there)| !there).map(|(name, _)| name)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Some("AVX2")
}
