//! The CPU's vector extensions, and how one body becomes a handler for each of them.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::simd::{Baseline, Simd};
use super::{Code, Flow, Handler, Wave};

/// Which vector extensions handlers are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// What every CPU of the architecture has.
    Baseline,
    /// x86 with AVX2, FMA and F16C.
    Avx2,
    /// x86 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// The environment variable that chooses a level.
    pub const VARIABLE: &str = "FERROCM_VGPU_VECTORS";

    /// All levels: the name in [`Level::VARIABLE`], and the name for people.
    const NAMES: [(Level, &str, &str); 3] = [
        (Level::Baseline, "baseline", "baseline"),
        (Level::Avx2, "avx2", "AVX2"),
        (Level::Avx512, "avx512", "AVX-512"),
    ];

    /// The level that [`Level::VARIABLE`] names, else the best one of this CPU. No device starts where the variable names none.
    pub fn detect() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let asked = std::env::var(Level::VARIABLE).ok().and_then(|name| Level::named(&name));
            asked.or_else(|| Level::available().last().copied()).unwrap_or(Level::Baseline)
        })
    }

    /// The level with a name in [`Level::VARIABLE`], if the CPU has it.
    pub fn named(name: &str) -> Option<Level> {
        let named = Level::NAMES.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name.trim()));
        named.map(|(level, ..)| *level).filter(|level| Level::available().contains(level))
    }

    /// The names in [`Level::VARIABLE`] of the CPU's levels.
    pub fn names() -> String {
        let has = |level: &Level| Level::available().contains(level);
        let names: Vec<_> = Level::NAMES.iter().filter(|row| has(&row.0)).map(|row| row.1).collect();
        names.join(", ")
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        Level::NAMES.iter().find(|(level, ..)| *level == self).map_or("", |(.., name)| *name)
    }

    /// The levels of this CPU, the best last.
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

/// What an instruction does to a wave of `W` lanes.
pub(crate) trait Body {
    /// Executes it.
    ///
    /// # Safety
    /// As for [`Handler`].
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow;
}

/// A body compiled for each level.
///
/// These are methods of the body, because the compiler puts methods beside their type: so the handlers of each file are a unit
/// of their own for code generation, and not all of them one.
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
    // Whoever calls one of the lowest level, rather than taking its address, must not get a copy of it.
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
        (Level::Avx512, 64) => B::avx512::<64>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, _) => B::avx512::<32>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 64) => B::avx2::<64>,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, _) => B::avx2::<32>,
        _ => scalar_handler::<B>(lanes),
    }
}

/// The body compiled for a wave size only: what does nothing to lanes needs no vector extensions.
pub(crate) fn scalar_handler<B: Body>(lanes: usize) -> Handler {
    if lanes == 64 { B::baseline::<64> } else { B::baseline::<32> }
}

/// What an instruction does to a wave of any size, in terms of a level's vectors.
pub(super) trait SimdBody {
    /// Executes it.
    ///
    /// # Safety
    /// As for [`Handler`]; the CPU must have the level of `S`.
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow;
}

/// A level, which calls other handlers of its own.
pub(super) trait Call: Sized {
    /// Calls the handler of a body, which is not inlined: what is rare then costs what is frequent nothing.
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

/// A [`SimdBody`] at a level. Sixteen lanes at a time, nothing depends on the wave's size but how often; code for each size
/// would be twice as much for no gain.
impl<B: SimdBody, S: Simd> Body for (B, S) {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { B::run::<S>(wave, code) }
    }
}

/// The body compiled for a level; `general` is one that does the same for more cases, and stands for it at the lowest level,
/// where speed is not the point.
pub(super) fn simd_handler<B: SimdBody, General: SimdBody>(level: Level) -> Handler {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => <(B, Avx512) as Compiled>::avx512::<0>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => <(B, Avx2) as Compiled>::avx2::<0>,
        _ => <(General, Baseline) as Compiled>::baseline::<0>,
    }
}

/// Leaves an instruction to the lowest level, which can do what others cannot.
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
