//! The CPU's vector extensions, and how one body is compiled to a handler for each of them.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::simd::{Baseline, Simd};
use super::{Code, Flow, Handler, Wave};

/// The vector extensions that kernels are executed with. Native code uses all of them; of the handlers, only
/// those of matrix instructions use AVX-512, and the others AVX2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The baseline of the architecture.
    Baseline,
    /// x86 with AVX2, FMA and F16C.
    Avx2,
    /// x86 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// The environment variable that selects a level.
    pub const VARIABLE: &str = "FERROCM_VGPU_VECTORS";

    /// All levels: their names in [`Level::VARIABLE`], and their display names.
    const NAMES: [(Level, &str, &str); 3] = [
        (Level::Baseline, "baseline", "baseline"),
        (Level::Avx2, "avx2", "AVX2"),
        (Level::Avx512, "avx512", "AVX-512"),
    ];

    /// The level that [`Level::VARIABLE`] selects, or else the best one of this CPU. No device starts if the
    /// variable's value is invalid.
    pub fn detect() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let asked = std::env::var(Level::VARIABLE).ok().and_then(|name| Level::named(&name));
            asked.or_else(|| Level::available().last().copied()).unwrap_or(Level::Baseline)
        })
    }

    /// The level with this name in [`Level::VARIABLE`], if the CPU supports it.
    pub fn named(name: &str) -> Option<Level> {
        let named = Level::NAMES.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name.trim()));
        named.map(|(level, ..)| *level).filter(|level| Level::available().contains(level))
    }

    /// The names, as in [`Level::VARIABLE`], of the levels that the CPU supports.
    pub fn names() -> String {
        let has = |level: &Level| Level::available().contains(level);
        let names: Vec<_> = Level::NAMES.iter().filter(|row| has(&row.0)).map(|row| row.1).collect();
        names.join(", ")
    }

    /// Its display name.
    pub fn name(self) -> &'static str {
        Level::NAMES.iter().find(|(level, ..)| *level == self).map_or("", |(.., name)| *name)
    }

    /// The levels that this CPU supports, best last.
    pub fn available() -> &'static [Level] {
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

/// The effect of an instruction on a wave of `W` lanes.
pub(crate) trait Body {
    /// Executes it.
    ///
    /// # Safety
    /// As for [`Handler`].
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
}

/// A body compiled for a level.
///
/// These are methods of the body because the compiler places methods next to their type. So the handlers of
/// each file form their own unit of code generation, instead of one large unit for all.
trait Compiled: Body {
    /// # Safety
    /// As for [`Handler`].
    unsafe fn baseline<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
    /// # Safety
    /// As for [`Handler`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx2<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
    /// # Safety
    /// As for [`Handler`].
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx512<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
}

impl<B: Body> Compiled for B {
    // Calling a handler of the lowest level directly, instead of taking its address, must not inline a copy
    // of it.
    #[inline(never)]
    unsafe fn baseline<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { B::run::<W>(wave, code) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn avx2<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { B::run::<W>(wave, code) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
    )]
    unsafe fn avx512<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { B::run::<W>(wave, code) }
    }
}

/// The body compiled for a wave size and level.
pub(crate) fn handler<B: Body>(lanes: usize, level: Level) -> Handler {
    match (level, lanes) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2 | Level::Avx512, 64) => B::avx2::<64>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2 | Level::Avx512, _) => B::avx2::<32>,
        _ => scalar_handler::<B>(lanes),
    }
}

/// The body compiled for a wave size only: an instruction that does not touch lanes needs no vector
/// extensions.
pub(crate) fn scalar_handler<B: Body>(lanes: usize) -> Handler {
    if lanes == 64 { B::baseline::<64> } else { B::baseline::<32> }
}

/// The effect of an instruction on a wave of any size, in terms of a level's vectors.
pub(super) trait SimdBody {
    /// Executes it.
    ///
    /// # Safety
    /// As for [`Handler`]; the CPU must have the level of `S`.
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow;
}

/// A level, which can call other handlers of the same level.
pub(super) trait Call: Sized {
    /// Calls the handler of a body without inlining it, so that rare cases do not slow down frequent ones.
    ///
    /// # Safety
    /// As for [`Handler`]; the CPU must have the level.
    unsafe fn call<B: SimdBody>(wave: &mut Wave, code: &Code) -> Flow;
}

impl Call for Baseline {
    #[inline(always)]
    unsafe fn call<B: SimdBody>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { <(B, Self) as Compiled>::baseline::<0>(wave, code) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Call for Avx2 {
    #[inline(always)]
    unsafe fn call<B: SimdBody>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { <(B, Self) as Compiled>::avx2::<0>(wave, code) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Call for Avx512 {
    #[inline(always)]
    unsafe fn call<B: SimdBody>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { <(B, Self) as Compiled>::avx512::<0>(wave, code) }
    }
}

/// A [`SimdBody`] at a level. It processes sixteen lanes at a time, so the wave's size only determines the
/// number of steps. Code for each size would be twice as large for no gain.
impl<B: SimdBody, S: Simd> Body for (B, S) {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { B::run::<S>(wave, code) }
    }
}

/// The body compiled for a level. `general` does the same for more cases and replaces it at the lowest level,
/// where speed does not matter.
pub(super) fn simd_handler<B: SimdBody, General: SimdBody>(level: Level) -> Handler {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 | Level::Avx512 => <(B, Avx2) as Compiled>::avx2::<0>,
        _ => <(General, Baseline) as Compiled>::baseline::<0>,
    }
}

/// The body compiled for a level, also for AVX-512: for bodies that do so much that it is worth the time to
/// compile them once more.
pub(super) fn widest_handler<B: SimdBody>(level: Level) -> Handler {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => <(B, Avx512) as Compiled>::avx512::<0>,
        _ => simd_handler::<B, B>(level),
    }
}

/// Delegates an instruction to the lowest level, which can do what the others cannot.
///
/// # Safety
/// As for [`Handler`].
#[cold]
#[inline(never)]
pub(super) unsafe fn at_lowest_level<B: SimdBody>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { <(B, Baseline) as Compiled>::baseline::<0>(wave, code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_chosen_by_name_where_the_cpu_has_them() {
        for (level, name, _) in Level::NAMES {
            let expected = Level::available().contains(&level).then_some(level);
            assert_eq!(Level::named(&name.to_uppercase()), expected);
        }
        assert_eq!(Level::named("sse9"), None);
        assert_eq!(Level::Avx512.name(), "AVX-512");
    }
}
