//! SMEM instructions of gfx9 that write: stores and read-modify-writes from scalar registers.

use gpu_report::{AccessKind, Space};
use vgpu_isa::scalar;

use super::atomic::{Flush, Rmw, Word};
use super::lanes::{RETURNS, RMW_SHIFT};
use super::scalar::{BUFFER, locate};
use super::single;
use super::spaces::fail;
use crate::{Code, Flow, Src, Wave};

/// Register `i` of the data; NULL reads as zero for any number of registers.
#[inline(always)]
fn data(wave: &Wave, first: u8, i: usize) -> u32 {
    if first == scalar::NULL { 0 } else { wave.sgpr[usize::from(first) + i] }
}

/// `s_store_b32` and wider: `N` dwords. `KIND` is that of [`locate`]. Dwords beyond a buffer's end are
/// not written.
///
/// # Safety
/// As for handlers; the `N` slots exist.
pub(super) unsafe fn store<const KIND: u8, const N: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(first) = code.src[1] else { return Flow::Next };
    let Some(location) = locate::<KIND>(wave, code, 4) else { return Flow::Next };
    wave.stored = true;
    let size = 4 * N as u64;
    if KIND != BUFFER {
        match location.check(wave, AccessKind::Write, 0, size) {
            Ok(address) => {
                let value = crate::rows::from_fn(|i| data(wave, first, i));
                // SAFETY: the bytes lie in a live allocation, or in the wave's scratch memory.
                address.into_iter().for_each(|to| unsafe { single::store::<N, false>(to as *mut u8, value) });
                return Flow::Next;
            }
            Err(fault) => return fail(wave, fault),
        }
    }
    for i in 0..N {
        match location.check(wave, AccessKind::Write, 4 * i as u64, 4) {
            Ok(Some(address)) => {
                let value = data(wave, first, i);
                // SAFETY: the dword lies in a live allocation, or in the wave's scratch memory.
                unsafe { (address as *mut u32).write(value) };
            }
            Ok(None) => {}
            Err(fault) => return fail(wave, fault),
        }
    }
    Flow::Next
}

/// `s_atomic_add_u32` and similar: on one word of memory. Beyond the end of a buffer, it reads zero and does
/// not write.
///
/// # Safety
/// As for [`store`].
pub(super) unsafe fn atomic<const KIND: u8, W: Word>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Scalar(first) = code.src[1] else { return Flow::Next };
    let Some(location) = locate::<KIND>(wave, code, 4) else { return Flow::Next };
    let size = W::BYTES as u64;
    let address = match location.check(wave, AccessKind::Atomic, 0, size) {
        Ok(address) => address,
        Err(fault) => return fail(wave, fault),
    };
    let rmw = Rmw::from_number((code.imm >> RMW_SHIFT) as u8);
    let dwords = W::BYTES / 4;
    let mut operands = [0u32; 4];
    // Only comparisons have a second operand, which follows the first.
    let count = if rmw == Rmw::CmpSwap { 2 * dwords } else { dwords };
    for (i, operand) in operands.iter_mut().take(count).enumerate() {
        *operand = data(wave, first, i);
    }
    // SAFETY: operands have up to four registers, enough for two words of any kind; the word is aligned and
    // in a live allocation.
    unsafe {
        let value = W::get::<1>(operands.as_ptr());
        let second = if rmw == Rmw::CmpSwap { W::get::<1>(operands.as_ptr().add(dwords)) } else { value };
        let mut old = [0u32; 2];
        if let Some(address) = address {
            if !address.is_multiple_of(size) {
                let mut fault = wave.access.misaligned(Space::Global, AccessKind::Atomic, address, size, 0);
                fault.lane = None;
                return fail(wave, fault);
            }
            W::put::<1>(
                old.as_mut_ptr(),
                W::shared(address as *mut u8, rmw, value, second, Flush::default()),
            );
        }
        if code.imm & RETURNS != 0 && first != scalar::NULL {
            for (i, value) in old.into_iter().take(dwords).enumerate() {
                wave.set_scalar(first + i as u8, value);
            }
        }
    }
    Flow::Next
}
