//! Direct moves between memory and LDS. Consecutive lanes use consecutive dwords, or as many as each lane
//! loads (gfx950), starting at M0 plus the instruction's offset.

use std::marker::PhantomData;

use gpu_report::AccessKind;

use super::address::{moved, moved_bytes, moved_to};
use super::lanes::{Bits, Registers};
use super::moves::{Data, Move};
use super::single;
use super::spaces::fail;
use crate::{Code, Flow, Handler, Wave};

/// A load of `D` that goes to LDS, extended to a dword. [`Registers::dst`] is lane 0's byte offset in LDS.
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
        // SAFETY: the caller's promise.
        unsafe {
            let mut value = [0u32; 4];
            D::load::<1>(memory, value.as_mut_ptr());
            let width = moved_bytes(D::BYTES);
            let to = place(wave, registers.dst, lane, width);
            to.copy_from_nonoverlapping(value.as_ptr().cast(), width as usize);
        }
    }
}

/// A store of data in LDS. [`Registers::dst`] is as for [`ToLds`].
pub(super) struct FromLds;

impl Move for FromLds {
    const ACCESS: AccessKind = AccessKind::Write;
    const BYTES: usize = 4;
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
        // SAFETY: the caller's promise.
        unsafe { single::copy_out::<false>(place(wave, registers.dst, lane, 4), memory, 4) };
    }
}

/// The position in LDS of a lane's data, or the place of dropped accesses if it is beyond the workgroup's
/// LDS.
pub(super) fn place(wave: &mut Wave, start: u32, lane: usize, width: u32) -> *mut u8 {
    let at = moved_to(i64::from(start as i32), width, lane);
    // Invalid accesses are refused before anything is moved.
    wave.access
        .lds_place(AccessKind::Write, at, width.into(), Some(lane))
        .unwrap_or_else(|_| wave.access.nowhere())
}

/// Runs a move whose destination is a position in LDS, with the given kind of access to it.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn through<const BYTES: usize, const L: usize>(
    wave: &mut Wave,
    code: &Code,
    access: AccessKind,
    run: Handler,
) -> Flow {
    let (start, width) = (moved(wave, code), moved_bytes(BYTES));
    for lane in Bits(wave.exec::<L>()) {
        let at = moved_to(start, width, lane);
        if let Err(fault) = wave.access.lds_place(access, at, width.into(), Some(lane)) {
            return fail(wave, fault);
        }
    }
    // Negative if the first lanes are disabled. SAFETY: the caller's promise.
    unsafe { run(wave, &Code { dst: start as u32, ..*code }) }
}
