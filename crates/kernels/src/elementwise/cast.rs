//! Conversions between element types.

use hip::Stream;

use super::Map;
use super::info::Info;
use crate::error::Result;
use crate::library::{Kernels, Names, names};
use crate::view::{View, ViewMut};
use crate::{Element, modules};

/// The kernels that convert from a type, by the type converted to.
fn casts(from: usize) -> &'static Names {
    const CASTS: [Names; 10] = [
        names!("cast_f32"),
        names!("cast_f16"),
        names!("cast_bf16"),
        names!("cast_f64"),
        names!("cast_f8_e4m3"),
        names!("cast_u8"),
        names!("cast_u32"),
        names!("cast_i64"),
        names!("cast_i16"),
        names!("cast_i32"),
    ];
    &CASTS[from]
}

impl Kernels {
    /// Converts every element, as Rust's `as` does. Conversions to floats round once to nearest, ties to
    /// even. Conversions from floats to integers round towards zero and saturate; NaN becomes zero.
    /// Conversions to smaller integers keep the low bits. In [`F8E4M3`](crate::F8E4M3), numbers too large
    /// become ±448.
    ///
    /// # Errors
    /// As [`unary`](Self::unary).
    pub fn cast<'a, From: Element, To: Element>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, From>>,
        y: impl Into<ViewMut<'a, To>>,
    ) -> Result<()> {
        let name = casts(From::INDEX)[To::INDEX];
        let map = Map { operation: "cast", module: &modules::CAST, name, items: Info::items };
        self.one_tensor(&map, stream, x.into(), y.into(), &[], &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::F8E4M3;
    use half::{bf16, f16};

    #[test]
    fn names_are_by_type() {
        fn named<From: Element>() {
            let expected = format!("cast_{}_{}", From::NAME, i32::NAME);
            assert_eq!(casts(From::INDEX)[i32::INDEX], expected);
            assert_eq!(casts(i64::INDEX)[From::INDEX], format!("cast_i64_{}", From::NAME));
        }
        named::<f32>();
        named::<f16>();
        named::<bf16>();
        named::<f64>();
        named::<F8E4M3>();
        named::<u8>();
        named::<u32>();
        named::<i64>();
        named::<i16>();
        named::<i32>();
    }
}
