//! Loads from memory directly to LDS: consecutive lanes to consecutive dwords, from M0 and the instruction's offset on.

use std::marker::PhantomData;

use super::lanes::{Bits, Registers, offset};
use super::moves::{Data, Move};
use super::spaces::fail;
use crate::exec::{Code, Flow, Wave};
use crate::isa::scalar;
use crate::machine::{AccessKind, Space};

/// A load of `D` that goes to LDS, extended to a dword. [`Registers::dst`] is the byte offset there of lane 0.
pub(super) struct ToLds<D>(PhantomData<D>);

impl<D: Data> Move for ToLds<D> {
    const ACCESS: AccessKind = AccessKind::Read;
    const BYTES: usize = D::BYTES;
    const DWORDS: usize = 0;
    const ALIGN: u64 = 1;

    #[inline(always)]
    unsafe fn one<const L: usize>(
        wave: &mut Wave,
        registers: Registers,
        memory: *mut u8,
        lane: usize,
        _: bool,
    ) {
        // SAFETY: the caller's promise, and `through` checked the place in LDS.
        unsafe {
            let mut value = 0;
            D::load::<1>(memory, &mut value);
            place(wave, registers.dst, lane).cast::<u32>().write_unaligned(value);
        }
    }
}

/// Where the dword of a lane is.
///
/// # Safety
/// [`through`] must have checked `start`.
pub(super) unsafe fn place(wave: &Wave, start: u32, lane: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { wave.access.lds.add(start.wrapping_add(4 * lane as u32) as usize) }
}

/// Runs a load with the place in LDS as its destination, if all enabled lanes have theirs within the workgroup's LDS.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn through<const L: usize>(
    wave: &mut Wave,
    code: &Code,
    load: impl FnOnce(&mut Wave, &Code) -> Flow,
) -> Flow {
    let start = i64::from(wave.sgpr[usize::from(scalar::M0)] & 0xffff) + offset(code);
    for lane in Bits(wave.exec::<L>()) {
        let at = start + 4 * lane as i64;
        if at < 0 || at + 4 > i64::from(wave.access.lds_size) {
            let fault = wave.access.beyond(Space::Lds, AccessKind::Write, at as u64, 4, lane);
            return fail(wave, fault);
        }
    }
    // Negative where the first lanes are off.
    load(wave, &Code { dst: start as u32, ..*code })
}
