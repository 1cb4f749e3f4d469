//! Types of elements, and reductions of them.
//!
//! A reduction goes through the ranks in order, so the result does not depend on timing. Floats of less than
//! 32 bits are summed as `f32` and rounded once. Integers wrap around.

use float8::Format;
use half::{bf16, f16};
use rccl_sys::{ncclDataType_t, ncclRedOp_t};

use crate::error::{Failure, Result};

/// The type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    Bf16,
    F8E4M3,
    F8E5M2,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
}

/// How the elements of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Product,
    Max,
    Min,
    Average,
    /// The sum, with each rank's elements multiplied by the rank's own factor.
    ScaledSum,
}

impl Type {
    /// The type on a device; `fnuz` says whether its 8-bit floats are those without a negative zero.
    pub(crate) fn of(raw: ncclDataType_t, fnuz: bool) -> Result<Self> {
        Ok(match raw {
            ncclDataType_t::ncclInt8 => Self::I8,
            ncclDataType_t::ncclUint8 => Self::U8,
            ncclDataType_t::ncclInt32 => Self::I32,
            ncclDataType_t::ncclUint32 => Self::U32,
            ncclDataType_t::ncclInt64 => Self::I64,
            ncclDataType_t::ncclUint64 => Self::U64,
            ncclDataType_t::ncclFloat16 => Self::F16,
            ncclDataType_t::ncclFloat32 => Self::F32,
            ncclDataType_t::ncclFloat64 => Self::F64,
            ncclDataType_t::ncclBfloat16 => Self::Bf16,
            ncclDataType_t::ncclFloat8e4m3 if fnuz => Self::F8E4M3Fnuz,
            ncclDataType_t::ncclFloat8e4m3 => Self::F8E4M3,
            ncclDataType_t::ncclFloat8e5m2 if fnuz => Self::F8E5M2Fnuz,
            ncclDataType_t::ncclFloat8e5m2 => Self::F8E5M2,
            other => return Err(Failure::argument(format!("there is no data type {}", other.0))),
        })
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E4M3Fnuz | Self::F8E5M2Fnuz => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl Reduction {
    /// A built-in operator.
    pub(crate) fn built_in(raw: ncclRedOp_t) -> Option<Self> {
        Some(match raw {
            ncclRedOp_t::ncclSum => Self::Sum,
            ncclRedOp_t::ncclProd => Self::Product,
            ncclRedOp_t::ncclMax => Self::Max,
            ncclRedOp_t::ncclMin => Self::Min,
            ncclRedOp_t::ncclAvg => Self::Average,
            _ => return None,
        })
    }

    /// The reduction that combines a result with one more element.
    pub(crate) fn combining(self) -> Self {
        match self {
            Self::Sum | Self::Average | Self::ScaledSum => Self::Sum,
            Self::Product | Self::Max | Self::Min => self,
        }
    }
}

/// An 8-bit float of one of [`Format::ALL`].
#[derive(Clone, Copy)]
#[repr(transparent)]
struct F8<const FORMAT: usize>(u8);

const E4M3: usize = 0;
const E5M2: usize = 1;
const E4M3_FNUZ: usize = 2;
const E5M2_FNUZ: usize = 3;

impl<const FORMAT: usize> F8<FORMAT> {
    fn to_f32(self) -> f32 {
        // Every value is exact in f32.
        Format::ALL[FORMAT].decode(self.0) as f32
    }

    fn from_f32(value: f32) -> Self {
        Self(Format::ALL[FORMAT].encode(value.into()))
    }
}

/// How elements of a type are reduced.
trait Number: Copy {
    /// The type of the sum.
    type Wide: Copy;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn add(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn multiply(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn min(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn max(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn divide(a: Self::Wide, ranks: usize) -> Self::Wide;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Number for $type {
            type Wide = Self;
            fn widen(self) -> Self {
                self
            }
            fn narrow(wide: Self) -> Self {
                wide
            }
            fn add(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
            fn multiply(a: Self, b: Self) -> Self {
                a.wrapping_mul(b)
            }
            fn min(a: Self, b: Self) -> Self {
                Ord::min(a, b)
            }
            fn max(a: Self, b: Self) -> Self {
                Ord::max(a, b)
            }
            fn divide(a: Self, ranks: usize) -> Self {
                // There are at most 64 ranks.
                a / ranks as Self
            }
        }
    )+};
}

integers!(i8 u8 i32 u32 i64 u64);

macro_rules! floats {
    ($($type:ty as $wide:ty: $widen:expr, $narrow:expr;)+) => {$(
        impl Number for $type {
            type Wide = $wide;
            fn widen(self) -> $wide {
                $widen(self)
            }
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }
            fn add(a: $wide, b: $wide) -> $wide {
                a + b
            }
            fn multiply(a: $wide, b: $wide) -> $wide {
                a * b
            }
            fn min(a: $wide, b: $wide) -> $wide {
                a.min(b)
            }
            fn max(a: $wide, b: $wide) -> $wide {
                a.max(b)
            }
            fn divide(a: $wide, ranks: usize) -> $wide {
                a / ranks as $wide
            }
        }
    )+};
}

floats! {
    f32 as f32: |value| value, |wide| wide;
    f64 as f64: |value| value, |wide| wide;
    f16 as f32: f16::to_f32, f16::from_f32;
    bf16 as f32: bf16::to_f32, bf16::from_f32;
    F8<E4M3> as f32: F8::to_f32, F8::from_f32;
    F8<E5M2> as f32: F8::to_f32, F8::from_f32;
    F8<E4M3_FNUZ> as f32: F8::to_f32, F8::from_f32;
    F8<E5M2_FNUZ> as f32: F8::to_f32, F8::from_f32;
}

/// Reduces `count` elements of each input into `out`. There is at least one input. `scales` has a factor of
/// the element type for each input, in the first bytes of a word; only [`Reduction::ScaledSum`] reads it.
///
/// # Safety
/// Each input holds this many elements for reading, and `out` for writing. `out` may be one of the inputs,
/// and must not overlap another one.
pub(crate) unsafe fn reduce(
    kind: Type,
    reduction: Reduction,
    inputs: &[*const u8],
    scales: &[u64],
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise, with the type that goes with it.
    unsafe {
        match kind {
            Type::I8 => typed::<i8>(reduction, inputs, scales, out, count),
            Type::U8 => typed::<u8>(reduction, inputs, scales, out, count),
            Type::I32 => typed::<i32>(reduction, inputs, scales, out, count),
            Type::U32 => typed::<u32>(reduction, inputs, scales, out, count),
            Type::I64 => typed::<i64>(reduction, inputs, scales, out, count),
            Type::U64 => typed::<u64>(reduction, inputs, scales, out, count),
            Type::F16 => typed::<f16>(reduction, inputs, scales, out, count),
            Type::F32 => typed::<f32>(reduction, inputs, scales, out, count),
            Type::F64 => typed::<f64>(reduction, inputs, scales, out, count),
            Type::Bf16 => typed::<bf16>(reduction, inputs, scales, out, count),
            Type::F8E4M3 => typed::<F8<E4M3>>(reduction, inputs, scales, out, count),
            Type::F8E5M2 => typed::<F8<E5M2>>(reduction, inputs, scales, out, count),
            Type::F8E4M3Fnuz => typed::<F8<E4M3_FNUZ>>(reduction, inputs, scales, out, count),
            Type::F8E5M2Fnuz => typed::<F8<E5M2_FNUZ>>(reduction, inputs, scales, out, count),
        }
    }
}

/// # Safety
/// As [`reduce`].
unsafe fn typed<N: Number>(
    reduction: Reduction,
    inputs: &[*const u8],
    scales: &[u64],
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match reduction {
            Reduction::Sum => fold::<N>(inputs, out, count, |value, _| value, N::add, |sum| sum),
            Reduction::Product => fold::<N>(inputs, out, count, |value, _| value, N::multiply, |all| all),
            Reduction::Max => fold::<N>(inputs, out, count, |value, _| value, N::max, |all| all),
            Reduction::Min => fold::<N>(inputs, out, count, |value, _| value, N::min, |all| all),
            Reduction::Average => {
                fold::<N>(inputs, out, count, |value, _| value, N::add, |sum| N::divide(sum, inputs.len()));
            }
            Reduction::ScaledSum => {
                let scale = |word: &u64| {
                    // SAFETY: no number is larger than a word, and any bytes are valid.
                    std::ptr::from_ref(word).cast::<N>().read_unaligned().widen()
                };
                let scales: Vec<N::Wide> = scales.iter().map(scale).collect();
                let scaled = |value, input: usize| N::multiply(value, scales[input]);
                fold::<N>(inputs, out, count, scaled, N::add, |sum| sum);
            }
        }
    }
}

/// # Safety
/// As [`reduce`].
unsafe fn fold<N: Number>(
    inputs: &[*const u8],
    out: *mut u8,
    count: usize,
    prepare: impl Fn(N::Wide, usize) -> N::Wide,
    combine: impl Fn(N::Wide, N::Wide) -> N::Wide,
    finish: impl Fn(N::Wide) -> N::Wide,
) {
    for index in 0..count {
        let load = |(rank, input): (usize, &*const u8)| {
            // SAFETY: the input has this many elements.
            prepare(unsafe { input.cast::<N>().add(index).read_unaligned() }.widen(), rank)
        };
        let mut values = inputs.iter().enumerate().map(load);
        if let Some(first) = values.next() {
            let all = values.fold(first, &combine);
            // SAFETY: `out` has this many elements; all inputs of this one have been read.
            unsafe { out.cast::<N>().add(index).write_unaligned(N::narrow(finish(all))) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<N: Copy + Default>(kind: Type, reduction: Reduction, inputs: &[&[N]], scales: &[N]) -> Vec<N> {
        assert_eq!(size_of::<N>(), kind.size());
        let mut out = vec![N::default(); inputs[0].len()];
        let pointers: Vec<_> = inputs.iter().map(|input| input.as_ptr().cast()).collect();
        let word = |scale: &N| {
            let mut word = 0;
            // SAFETY: a number fits into a word.
            unsafe { (&raw mut word).cast::<N>().write_unaligned(*scale) };
            word
        };
        let scales: Vec<u64> = scales.iter().map(word).collect();
        // SAFETY: all have this many elements.
        unsafe { reduce(kind, reduction, &pointers, &scales, out.as_mut_ptr().cast(), out.len()) };
        out
    }

    #[test]
    fn integers_wrap_and_their_average_is_cut() {
        let inputs: [&[i8]; 3] = [&[100, -7, 3], &[100, -7, 3], &[100, -6, 4]];
        assert_eq!(run(Type::I8, Reduction::Sum, &inputs, &[]), [44, -20, 10]);
        assert_eq!(run(Type::I8, Reduction::Average, &inputs, &[])[1..], [-6, 3]);
        assert_eq!(run(Type::I8, Reduction::Min, &inputs, &[]), [100, -7, 3]);
        assert_eq!(run(Type::I8, Reduction::Max, &inputs, &[]), [100, -6, 4]);
        assert_eq!(run(Type::I8, Reduction::ScaledSum, &inputs, &[1, 2, 3])[1..], [-39, 21]);
        let inputs: [&[u64]; 2] = [&[u64::MAX], &[3]];
        assert_eq!(run(Type::U64, Reduction::Product, &inputs, &[]), [u64::MAX - 2]);
    }

    #[test]
    fn eight_bit_floats_are_those_of_their_names() {
        for (index, format) in [
            (E4M3, Format::E4M3),
            (E5M2, Format::E5M2),
            (E4M3_FNUZ, Format::E4M3_FNUZ),
            (E5M2_FNUZ, Format::E5M2_FNUZ),
        ] {
            assert_eq!(Format::ALL[index], format);
        }
        // 448 + 448 - 448, rounded once: intermediate sums may exceed the largest number.
        let inputs: [&[u8]; 3] = [&[0x7e], &[0x7e], &[0xfe]];
        assert_eq!(run(Type::F8E4M3, Reduction::Sum, &inputs, &[]), [0x7e]);
        let inputs: [&[u8]; 2] = [&[0x40], &[0x40]];
        assert_eq!(run(Type::F8E4M3Fnuz, Reduction::Sum, &inputs, &[]), [0x48], "1 + 1 is 2");
    }

    #[test]
    fn halves_are_rounded_once() {
        // 2048 + 1 is 2048 in f16, so rounding each time would give 2048.
        let of = |value: f32| [f16::from_f32(value)];
        let inputs = [of(2048.0), of(1.0), of(1.0)];
        let inputs: Vec<&[f16]> = inputs.iter().map(|input| &input[..]).collect();
        assert_eq!(run(Type::F16, Reduction::Sum, &inputs, &[])[0].to_f32(), 2050.0);
        let of = |value: f32| [bf16::from_f32(value)];
        let inputs = [of(256.0), of(1.0), of(1.0)];
        let inputs: Vec<&[bf16]> = inputs.iter().map(|input| &input[..]).collect();
        assert_eq!(run(Type::Bf16, Reduction::Sum, &inputs, &[])[0].to_f32(), 258.0);
        assert_eq!(run(Type::Bf16, Reduction::Average, &inputs, &[])[0].to_f32(), 86.0);
    }
}
