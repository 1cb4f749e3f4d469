//! The element types that kernels exist for.

mod float8;

use std::fmt::Debug;

use half::{bf16, f16};
use hip::DeviceCopy;

pub use float8::F8E4M3;

mod sealed {
    pub trait Sealed {}
}

/// An element type that kernels here exist for. Arithmetic on floats of 16 and 8 bits happens in f32 and is
/// rounded once at the end; arithmetic on integers wraps around.
///
/// | trait | types |
/// |---|---|
/// | [`Element`] | f64, f32, f16, bf16, [`F8E4M3`], u8, u32, i16, i32, i64 |
/// | [`Number`] | the same without i16 and i32 |
/// | [`Real`] | f64, f32, f16, bf16, [`F8E4M3`] |
/// | [`Float`] | f64, f32, f16, bf16; with `Compute = f32`, f64 is not one of them |
/// | [`Index`] | u8, u32, i64 |
pub trait Element:
    DeviceCopy + Copy + Default + PartialEq + PartialOrd + Debug + Send + Sync + sealed::Sealed + 'static
{
    /// The name's suffix in kernel names, such as `f32`.
    const NAME: &'static str;
    /// Position in `Names`.
    #[doc(hidden)]
    const INDEX: usize;
    /// Half the distance between 1 and the next larger number: the largest relative error of one rounding.
    /// Zero for integers.
    const UNIT_ROUNDOFF: f64;
    /// Half the smallest subnormal number: the largest absolute error of rounding near zero. Zero for
    /// integers.
    const UNDERFLOW: f64;
    /// The type of the same size whose kernels copy this one's elements.
    #[doc(hidden)]
    type Carrier: Element;

    /// Rounds to nearest, ties to even. Integers round towards zero and saturate.
    fn from_f64(value: f64) -> Self;
    /// Exact, except for i64 of more than 53 binary digits.
    fn to_f64(self) -> f64;
}

/// A type with arithmetic and comparisons.
pub trait Number: Element {}

/// A floating-point type, for which functions such as the exponential exist.
pub trait Real: Number {
    /// The type in which arithmetic happens: f64 for f64, otherwise f32.
    type Compute: Element;
}

/// A floating-point type with infinities: all except [`F8E4M3`].
pub trait Float: Real {}

/// A type of indices. The largest number of the type means "no index". Any other index out of range,
/// including a negative one, ends the kernel with a trap, which the stream reports as a fault.
pub trait Index: Element {}

macro_rules! element {
    ($index:literal, $type:ident, $name:literal, $carrier:ident, $roundoff:expr, $underflow:expr, $from:expr, $to:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const NAME: &'static str = $name;
            const INDEX: usize = $index;
            const UNIT_ROUNDOFF: f64 = $roundoff;
            const UNDERFLOW: f64 = $underflow;
            type Carrier = $carrier;

            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    };
}
macro_rules! real {
    ($index:literal, $type:ident, $name:literal, $digits:expr, $least:expr, $compute:ident, $from:expr, $to:expr) => {
        element!(
            $index,
            $type,
            $name,
            $type,
            power_of_two(-$digits),
            half_of_power_of_two($least),
            $from,
            $to
        );
        impl Number for $type {}
        impl Real for $type {
            type Compute = $compute;
        }
    };
}
macro_rules! integer {
    ($index:literal, $type:ident, $name:literal, $carrier:ident) => {
        element!($index, $type, $name, $carrier, 0.0, 0.0, |value| value as $type, |value| value as f64);
    };
}
macro_rules! are {
    ($trait:ident: $($type:ident),*) => { $(impl $trait for $type {})* };
}

/// 2^`exponent`, for exponents of normal f64 numbers.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Half of 2^`exponent`, also for subnormal numbers; the smallest one has no half.
const fn half_of_power_of_two(exponent: i32) -> f64 {
    if exponent > -1022 { power_of_two(exponent - 1) } else { 0.0 }
}

/// The f32 that rounds to a narrower type as `value` does: `value` itself, or else the neighbour whose last
/// digit is odd. `half` drops the low digits of an f64.
fn for_rounding(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || value.is_nan() {
        return nearest;
    }
    let away = f64::from(nearest).abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(away)) | 1)
}

// significand digits; exponent of the smallest subnormal number
real!(0, f32, "f32", 24, -149, f32, |value| value as f32, f64::from);
real!(1, f16, "f16", 11, -24, f32, |value| f16::from_f32(for_rounding(value)), f16::to_f64);
real!(2, bf16, "bf16", 8, -133, f32, |value| bf16::from_f32(for_rounding(value)), bf16::to_f64);
real!(3, f64, "f64", 53, -1074, f64, |value| value, |value| value);
real!(4, F8E4M3, "f8_e4m3", 4, -9, f32, F8E4M3::from_f64, F8E4M3::to_f64);
integer!(5, u8, "u8", u8);
integer!(6, u32, "u32", u32);
integer!(7, i64, "i64", i64);
integer!(8, i16, "i16", f16);
integer!(9, i32, "i32", u32);
are!(Number: u8, u32, i64);
are!(Float: f64, f32, f16, bf16);
are!(Index: u8, u32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn constants_hold<T: Element>() {
        let one_and_half_a_step = 1.0 + T::UNIT_ROUNDOFF;
        assert_eq!(T::from_f64(one_and_half_a_step).to_f64(), 1.0, "ties to even");
        assert!(T::from_f64(one_and_half_a_step + T::UNIT_ROUNDOFF / 100.0).to_f64() > 1.0);
        assert_eq!(T::from_f64(T::UNDERFLOW).to_f64(), 0.0);
        assert_eq!(T::from_f64(T::UNDERFLOW * 1.5).to_f64(), T::UNDERFLOW * 2.0);
    }

    #[test]
    fn rounding_constants_match_the_types() {
        constants_hold::<f32>();
        constants_hold::<f16>();
        constants_hold::<bf16>();
        constants_hold::<F8E4M3>();
    }

    #[test]
    fn doubles_are_rounded_once() {
        fn all<T: Element>(from_bits: impl Fn(u16) -> T, largest: u16) {
            for bits in (0..largest).step_by(7) {
                let (low, high) = (from_bits(bits).to_f64(), from_bits(bits + 1).to_f64());
                let middle = (low + high) / 2.0;
                let even = if bits % 2 == 0 { low } else { high };
                for (value, expected) in [(middle.next_down(), low), (middle, even), (middle.next_up(), high)]
                {
                    assert_eq!(T::from_f64(value).to_f64(), expected, "{value:e}");
                    assert_eq!(T::from_f64(-value).to_f64(), -expected, "-{value:e}");
                }
            }
            assert!(
                T::from_f64(f64::INFINITY).to_f64().is_infinite() && T::from_f64(f64::NAN).to_f64().is_nan()
            );
            assert!(T::from_f64(1e300).to_f64().is_infinite());
        }
        all(f16::from_bits, f16::MAX.to_bits());
        all(bf16::from_bits, bf16::MAX.to_bits());
    }
}
