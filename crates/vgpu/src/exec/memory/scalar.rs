//! SMEM instructions: loads into scalar registers, cache control.

use std::sync::atomic::{Ordering, fence};

use super::lanes::{offset, scalar32};
use super::spaces::fail;
use crate::exec::salu::{cycles, realtime};
use crate::exec::{Code, Flow, Src, Wave};
use crate::isa::scalar;
use crate::machine::AccessKind;

/// `s_load_b32` and wider: `N` dwords.
///
/// # Safety
/// As for handlers; the destination's `N` slots exist.
pub(super) unsafe fn load<const N: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(base) = code.src[2] else { return Flow::Next };
    let extra = i64::from(scalar32(wave, code.src[3]));
    let address = wave.scalar64(base).wrapping_add_signed(offset(code) + extra) & !3;
    let bytes = 4 * N as u64;
    if !wave.access.permits(AccessKind::Read, address, bytes) {
        let fault = wave.access.refused(AccessKind::Read, address, bytes, None);
        return fail(wave, fault);
    }
    // SAFETY: the bytes lie in a live allocation.
    let value = unsafe { (address as *const [u32; N]).read() };
    put(wave, code.dst as usize, &value);
    Flow::Next
}

/// `s_load_u8` and its kind: one element, extended to a register.
///
/// # Safety
/// As for [`load`].
pub(super) unsafe fn load_part<T: Part>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(base) = code.src[2] else { return Flow::Next };
    let extra = i64::from(scalar32(wave, code.src[3]));
    let bytes = size_of::<T>() as u64;
    let address = wave.scalar64(base).wrapping_add_signed(offset(code) + extra) & !(bytes - 1);
    if !wave.access.permits(AccessKind::Read, address, bytes) {
        let fault = wave.access.refused(AccessKind::Read, address, bytes, None);
        return fail(wave, fault);
    }
    // SAFETY: the element lies in a live allocation, and its address is a multiple of its size.
    let value = unsafe { (address as *const T).read() };
    wave.set_scalar(code.dst as u8, value.extend());
    Flow::Next
}

/// `s_buffer_load_u8` and its kind: what lies beyond the buffer's end reads zero.
///
/// # Safety
/// As for [`load`].
pub(super) unsafe fn buffer_load_part<T: Part>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(base) = code.src[2] else { return Flow::Next };
    let (address, size) = buffer(wave, base);
    let bytes = size_of::<T>() as u64;
    let at = (offset(code) + i64::from(scalar32(wave, code.src[3]))) as u64;
    let mut value = 0;
    if at.checked_add(bytes).is_some_and(|end| end <= size) {
        let address = address.wrapping_add(at) & !(bytes - 1);
        if !wave.access.permits(AccessKind::Read, address, bytes) {
            let fault = wave.access.refused(AccessKind::Read, address, bytes, None);
            return fail(wave, fault);
        }
        // SAFETY: as in `load_part`.
        value = unsafe { (address as *const T).read() }.extend();
    }
    wave.set_scalar(code.dst as u8, value);
    Flow::Next
}

/// An element that is less than a register.
pub(super) trait Part: Copy {
    /// As a register holds it.
    fn extend(self) -> u32;
}

macro_rules! parts {
    ($($type:ty),*) => {$(
        impl Part for $type {
            fn extend(self) -> u32 {
                i32::from(self) as u32
            }
        }
    )*};
}

parts!(u8, i8, u16, i16);

/// Where a buffer begins, and its size in bytes.
#[inline(always)]
fn buffer(wave: &Wave, base: u8) -> (u64, u64) {
    let word = |i: usize| wave.sgpr[usize::from(base) + i];
    let stride = u64::from(word(1) >> 16 & 0x3fff);
    (u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32, u64::from(word(2)) * stride.max(1))
}

/// `s_buffer_load_b32` and wider: dwords beyond the buffer's end read zero.
///
/// # Safety
/// As for [`load`].
pub(super) unsafe fn buffer_load<const N: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(base) = code.src[2] else { return Flow::Next };
    let (address, size) = buffer(wave, base);
    let first = (offset(code) + i64::from(scalar32(wave, code.src[3]))) as u64 & !3;
    let mut value = [0u32; N];
    for (i, value) in value.iter_mut().enumerate() {
        let at = first.wrapping_add(4 * i as u64);
        if at.checked_add(4).is_none_or(|end| end > size) {
            continue;
        }
        let address = address.wrapping_add(at) & !3;
        if !wave.access.permits(AccessKind::Read, address, 4) {
            let fault = wave.access.refused(AccessKind::Read, address, 4, None);
            return fail(wave, fault);
        }
        // SAFETY: the dword lies in a live allocation.
        *value = unsafe { (address as *const u32).read() };
    }
    put(wave, code.dst as usize, &value);
    Flow::Next
}

/// Writes scalar registers; a destination of NULL takes nothing.
#[inline(always)]
fn put<const N: usize>(wave: &mut Wave, first: usize, value: &[u32; N]) {
    if first != usize::from(scalar::NULL) {
        wave.sgpr[first..first + N].copy_from_slice(value);
    }
}

/// `s_memtime`, `s_memrealtime`: a clock.
///
/// # Safety
/// As for [`load`].
pub(super) unsafe fn time<const REAL: bool>(wave: &mut Wave, code: &Code) -> Flow {
    let now = if REAL { realtime() } else { cycles() };
    wave.set_scalar64(code.dst as u8, now);
    Flow::Next
}

/// Cache control: memory is coherent here, but the order of accesses must hold on any host.
///
/// # Safety
/// None of its own.
pub(super) unsafe fn order(_: &mut Wave, _: &Code) -> Flow {
    fence(Ordering::SeqCst);
    Flow::Next
}

/// Instructions that have nothing to do here.
///
/// # Safety
/// None of its own.
pub(super) unsafe fn nothing(_: &mut Wave, _: &Code) -> Flow {
    Flow::Next
}
