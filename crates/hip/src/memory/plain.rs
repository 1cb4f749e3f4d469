//! The types that device memory can hold.

/// Plain data that can be copied to a device and back, byte by byte.
///
/// Implemented for integers, floats, [`half::f16`], [`half::bf16`], and arrays of them; with the feature
/// `num-complex` for its complex numbers. Not for `bool`, `char`, enums and references, because a device
/// could write bytes that are not valid values. A struct of such plain fields can derive it, which checks
/// everything at compile time:
///
/// ```
/// #[repr(C)]
/// #[derive(Clone, Copy, hip::DeviceCopy)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
///
/// #[repr(transparent)]
/// #[derive(Clone, Copy, hip::DeviceCopy)]
/// struct Meters<T>(T);
///
/// fn on_device(_: hip::DeviceBuffer<Particle>, _: hip::DeviceBuffer<Meters<f64>>) {}
/// ```
///
/// # Safety
/// Every sequence of `size_of::<Self>()` bytes is a valid value, the type has no padding, and it holds no
/// pointer that safe code dereferences. Its layout is fixed (`#[repr(C)]` or `#[repr(transparent)]`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data that can lie in device memory",
    label = "not `DeviceCopy`",
    note = "for a struct of plain data, add `#[repr(C)]` and `#[derive(hip::DeviceCopy)]`",
    note = "integers, floats, `half::f16`, `half::bf16` and arrays of them are plain data"
)]
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {
    /// The kind of the value's numbers, if all are of one kind. A launch compares it with the type of the
    /// kernel's parameter. The default `None` matches every type.
    const NUMBER: Option<Number> = None;
}

/// A kind of number in memory. Signed and unsigned integers are the same kind, because C++ also allows
/// reading the same memory as either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum Number {
    I8,
    I16,
    I32,
    I64,
    I128,
    F16,
    BF16,
    F32,
    F64,
}

impl Number {
    /// The common kind of all of these, if there is one.
    #[must_use]
    pub const fn of_all(parts: &[Option<Self>]) -> Option<Self> {
        let Some((&Some(first), mut rest)) = parts.split_first() else { return None };
        while let Some((next, after)) = rest.split_first() {
            match next {
                // `==` cannot be used in a constant.
                Some(next) if *next as u8 == first as u8 => rest = after,
                _ => return None,
            }
        }
        Some(first)
    }
}

macro_rules! plain {
    ($($number:ident: $($type:ty),*;)*) => {
        $($(
            // SAFETY: a number without padding; every bit pattern is a value.
            unsafe impl DeviceCopy for $type {
                const NUMBER: Option<Number> = Some(Number::$number);
            }
        )*)*
    };
}

plain! {
    I8: u8, i8;
    I16: u16, i16;
    I32: u32, i32;
    I64: u64, i64, usize, isize;
    I128: u128, i128;
    F16: half::f16;
    BF16: half::bf16;
    F32: f32;
    F64: f64;
}

// SAFETY: an array has its elements' bytes and no others.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {
    const NUMBER: Option<Number> = T::NUMBER;
}

#[cfg(feature = "num-complex")]
// SAFETY: the type is `repr(C)`, and consists of the real and the imaginary part, which have one type.
unsafe impl<T: DeviceCopy> DeviceCopy for num_complex::Complex<T> {
    const NUMBER: Option<Number> = T::NUMBER;
}

#[cfg(all(test, feature = "num-complex"))]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::fake;
    use crate::memory::DeviceBuffer;

    #[test]
    fn complex_numbers_are_their_two_parts() {
        let stream = fake::device(0).stream().unwrap();
        let values = [Complex::new(1.0_f32, -2.0), Complex::new(3.5, 0.0)];
        let buffer = DeviceBuffer::from_slice(&stream, &values).unwrap();
        assert_eq!(buffer.cast::<f32>().unwrap().to_vec(&stream).unwrap(), [1.0, -2.0, 3.5, 0.0]);
        assert_eq!(buffer.to_vec(&stream).unwrap(), values);
        assert_eq!(Complex::<f64>::NUMBER, Some(Number::F64));
    }
}
