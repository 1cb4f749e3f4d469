//! SMEM instructions: loads into scalar registers, clocks, cache control.

use std::sync::atomic::{Ordering, fence};

use gpu_report::AccessKind;
use vgpu_isa::scalar;

use super::lanes::{offset, scalar32};
use super::single;
use super::spaces::fail;
use crate::WaveFault;
use crate::salu::{cycles, realtime};
use crate::{Code, Flow, Src, Wave};

/// Addresses are in memory.
pub(super) const MEMORY: u8 = 0;
/// A buffer descriptor specifies the range of memory.
pub(super) const BUFFER: u8 = 1;
/// Addresses are in the wave's scratch memory.
pub(super) const SCRATCH: u8 = 2;

/// The location of a scalar access.
pub(super) struct Location {
    base: u64,
    /// The first byte, relative to the base.
    offset: u64,
    /// The size of the buffer in bytes.
    size: u64,
    in_scratch: bool,
}

/// Locates the memory of an instruction with addresses of the given `KIND`. Each part of the address is
/// rounded down to a multiple of `align`, because the hardware ignores the lower bits. None if there is no
/// base.
#[inline(always)]
pub(super) fn locate<const KIND: u8>(wave: &Wave, code: &Code, align: u64) -> Option<Location> {
    let Src::Scalar(base) = code.src[2] else { return None };
    let extra = scalar32(wave, code.src[3]);
    let ignored = !(align as i64 - 1);
    Some(match KIND {
        MEMORY => Location {
            base: base64(wave, base) & ignored as u64,
            offset: ((offset(code) & ignored) + (i64::from(extra) & ignored)) as u64,
            size: u64::MAX,
            in_scratch: false,
        },
        SCRATCH => Location {
            base: base64(wave, base) & ignored as u64,
            // The register counts bytes of all lanes of a wave.
            offset: ((offset(code) & ignored) + (i64::from(extra) & ignored) * i64::from(wave.lanes)) as u64,
            size: u64::MAX,
            in_scratch: true,
        },
        _ => {
            // NULL is a descriptor of zeros.
            let word = |i: usize| if base == scalar::NULL { 0 } else { wave.sgpr[usize::from(base) + i] };
            let stride = u64::from(word(1) >> 16 & 0x3fff);
            Location {
                base: (u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32) & ignored as u64,
                offset: ((offset(code) & ignored) + (i64::from(extra) & ignored)) as u64,
                size: u64::from(word(2)) * stride.max(1),
                in_scratch: false,
            }
        }
    })
}

/// A base in scalar registers; NULL is zero.
#[inline(always)]
fn base64(wave: &Wave, slot: u8) -> u64 {
    if slot == scalar::NULL { 0 } else { wave.scalar64(slot) }
}

impl Location {
    /// The address of `bytes` bytes, `further` bytes after the first one; none if they are beyond the end of
    /// the buffer.
    #[inline(always)]
    pub(super) fn address(&self, further: u64, bytes: u64) -> Option<u64> {
        let at = self.offset.wrapping_add(further);
        if self.size != u64::MAX && at.checked_add(bytes).is_none_or(|end| end > self.size) {
            return None;
        }
        Some(self.base.wrapping_add(at))
    }

    /// [`Location::address`] of bytes that may be accessed.
    #[inline(always)]
    pub(super) fn check(
        &self,
        wave: &mut Wave,
        access: AccessKind,
        further: u64,
        bytes: u64,
    ) -> Result<Option<u64>, Box<WaveFault>> {
        let Some(address) = self.address(further, bytes) else { return Ok(None) };
        if wave.access.permits(access, address, bytes) || self.in_scratch && in_scratch(wave, address, bytes)
        {
            return Ok(Some(address));
        }
        Err(wave.access.refused(access, address, bytes, None))
    }
}

/// Whether the bytes are in the wave's scratch memory.
fn in_scratch(wave: &Wave, address: u64, bytes: u64) -> bool {
    let size = u64::from(wave.access.scratch_size) * u64::from(wave.lanes);
    let at = address.wrapping_sub(wave.access.scratch as u64);
    at.checked_add(bytes).is_some_and(|end| end <= size)
}

/// `s_load_b32` and wider: `N` dwords.
///
/// # Safety
/// As for handlers; the destination's `N` slots exist.
pub(super) unsafe fn load<const KIND: u8, const N: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Some(location) = locate::<KIND>(wave, code, 4) else { return Flow::Next };
    let mut value = [0u32; N];
    if KIND != BUFFER {
        match location.check(wave, AccessKind::Read, 0, 4 * N as u64) {
            // SAFETY: the bytes lie in a live allocation, or in the wave's scratch memory.
            Ok(Some(address)) => value = unsafe { single::load::<N, false>(address as *const u8) },
            Ok(None) => {}
            Err(fault) => return fail(wave, fault),
        }
    } else {
        for (i, value) in value.iter_mut().enumerate() {
            match location.check(wave, AccessKind::Read, 4 * i as u64, 4) {
                // SAFETY: the dword lies in a live allocation.
                Ok(Some(address)) => *value = unsafe { (address as *const u32).read() },
                Ok(None) => {}
                Err(fault) => return fail(wave, fault),
            }
        }
    }
    put(wave, code.dst as usize, &value);
    Flow::Next
}

/// `s_load_u8` and similar: one element, extended to a register.
///
/// # Safety
/// As for [`load`].
pub(super) unsafe fn load_part<const KIND: u8, T: Part>(wave: &mut Wave, code: &Code) -> Flow {
    let bytes = size_of::<T>() as u64;
    let Some(location) = locate::<KIND>(wave, code, bytes) else { return Flow::Next };
    let value = match location.check(wave, AccessKind::Read, 0, bytes) {
        // SAFETY: the element lies in a live allocation, and its address is a multiple of its size.
        Ok(Some(address)) => unsafe { (address as *const T).read() }.extend(),
        Ok(None) => 0,
        Err(fault) => return fail(wave, fault),
    };
    wave.set_scalar(code.dst as u8, value);
    Flow::Next
}

/// An element smaller than a register.
pub(super) trait Part: Copy {
    /// The value as a register holds it.
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

/// Writes scalar registers; a destination of NULL is not written.
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

/// Cache control. Memory is coherent here, but the order of accesses must be kept on every host.
///
/// # Safety
/// No requirements.
pub(super) unsafe fn order(_: &mut Wave, _: &Code) -> Flow {
    fence(Ordering::SeqCst);
    Flow::Next
}

/// Instructions that do nothing here.
///
/// # Safety
/// No requirements.
pub(super) unsafe fn nothing(_: &mut Wave, _: &Code) -> Flow {
    Flow::Next
}
