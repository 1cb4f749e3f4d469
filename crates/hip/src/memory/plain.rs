//! What may lie in device memory.

/// Plain data that can be copied to a device and back, byte by byte.
///
/// Implemented for everything that is [`bytemuck::Pod`]: integers, floats, [`half::f16`], [`half::bf16`], arrays of
/// them, and structs with `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)] #[repr(C)]`. Not for `bool`, `char`,
/// enums and references: a device can write bytes that are none of their values.
///
/// # Safety
/// Every sequence of `size_of::<Self>()` bytes is a valid value, the type has no padding, and it holds no pointer that
/// safe code follows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lie in device memory or be passed to a kernel",
    label = "not plain data",
    note = "structs: `#[repr(C)]` with `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {}

// SAFETY: `Pod` promises exactly this: any bit pattern is valid, no padding, no pointers.
unsafe impl<T: bytemuck::Pod + Send + Sync> DeviceCopy for T {}
