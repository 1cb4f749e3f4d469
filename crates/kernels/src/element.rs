//! The element types that kernels exist for.

use half::{bf16, f16};
use hip::DeviceCopy;

mod sealed {
    pub trait Sealed {}
}

/// An element type that kernels here exist for. Arithmetic on 16-bit floats happens in f32 and is rounded once at the end.
pub trait Element:
    DeviceCopy + Copy + Default + std::fmt::Debug + Send + Sync + sealed::Sealed + 'static
{
    /// The name's suffix in kernel names: `f32`, `f16` or `bf16`.
    const NAME: &'static str;
    /// Position among the element types: f32, f16, bf16.
    #[doc(hidden)]
    const INDEX: usize;
    /// Half the distance between 1 and the next larger number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// Half the smallest subnormal number: the largest absolute error of rounding towards zero's neighbourhood.
    const UNDERFLOW: f64;

    /// Rounds to nearest, ties to even.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
}

macro_rules! element {
    ($index:literal, $type:ident, $digits:expr, $least:expr, $from:expr, $to:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const NAME: &'static str = stringify!($type);
            const INDEX: usize = $index;
            const UNIT_ROUNDOFF: f64 = power_of_two(-$digits);
            const UNDERFLOW: f64 = power_of_two($least - 1);

            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    };
}

/// 2^`exponent`, for exponents of normal f64 numbers.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

// significand digits; exponent of the smallest subnormal number
element!(0, f32, 24, -149, |value| value as f32, f64::from);
element!(1, f16, 11, -24, f16::from_f64, f16::to_f64);
element!(2, bf16, 8, -133, bf16::from_f64, bf16::to_f64);

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
    }
}
