//! The CPU's vector extensions, and how one body becomes a handler for each of them.

use super::{Code, Flow, Handler, Wave};

/// Which vector extensions handlers are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Level {
    /// What every CPU of the architecture has.
    Baseline,
    /// x86 with AVX2, FMA and F16C.
    Avx2,
    /// x86 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// The best level of this CPU.
    pub(crate) fn detect() -> Level {
        *Level::available().last().unwrap_or(&Level::Baseline)
    }

    /// The levels of this CPU, the best last.
    pub(crate) fn available() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! has {
                ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
            }
            if has!("avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
                return if has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
                    &[Level::Baseline, Level::Avx2, Level::Avx512]
                } else {
                    &[Level::Baseline, Level::Avx2]
                };
            }
        }
        &[Level::Baseline]
    }
}

/// What an instruction does to a wave of `W` lanes.
pub(crate) trait Body {
    /// Executes it.
    ///
    /// # Safety
    /// As for [`Handler`]; the caller's CPU features are those of `S`.
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
}

/// # Safety
/// As for [`Handler`].
unsafe fn baseline<B: Body, const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { B::run::<W>(wave, code) }
}

/// # Safety
/// As for [`Handler`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<B: Body, const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { B::run::<W>(wave, code) }
}

/// # Safety
/// As for [`Handler`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx512<B: Body, const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { B::run::<W>(wave, code) }
}

/// The body compiled for a wave size and level.
pub(crate) fn handler<B: Body>(lanes: usize, level: Level) -> Handler {
    match (level, lanes) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, 64) => avx512::<B, 64>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, _) => avx512::<B, 32>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 64) => avx2::<B, 64>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, _) => avx2::<B, 32>,
        _ => scalar_handler::<B>(lanes),
    }
}

/// The body compiled for a wave size only: what does nothing to lanes needs no vector extensions.
pub(crate) fn scalar_handler<B: Body>(lanes: usize) -> Handler {
    if lanes == 64 { baseline::<B, 64> } else { baseline::<B, 32> }
}
