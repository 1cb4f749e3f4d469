//! What may lie in device memory.

/// Plain data that can be copied to a device and back, byte by byte.
///
/// Implemented for integers, floats, [`half::f16`], [`half::bf16`], and arrays of them. Not for `bool`, `char`, enums
/// and references: a device can write bytes that are none of their values. A struct of such fields derives it, which
/// checks everything at compile time:
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
/// Every sequence of `size_of::<Self>()` bytes is a valid value, the type has no padding, and it holds no pointer that
/// safe code follows. Its layout is fixed (`#[repr(C)]` or `#[repr(transparent)]`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data that can lie in device memory",
    label = "not `DeviceCopy`",
    note = "a struct of plain data is, with `#[repr(C)]` and `#[derive(hip::DeviceCopy)]`",
    note = "integers, floats, `half::f16`, `half::bf16` and arrays of them are"
)]
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: a number without padding, of which every bit pattern is a value.
            unsafe impl DeviceCopy for $type {}
        )*
    };
}

plain!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, half::f16, half::bf16);

// SAFETY: an array has its elements' bytes and no others.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
