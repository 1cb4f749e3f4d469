//! The address spaces: how lane addresses become checked host pointers.

use gpu_report::{AccessKind, Space};

use super::address;
use super::lanes::{Bits, Registers, Survey, register, row, uniform};
use super::moves::Move;
use super::table::{Global, Lds, Scratch};
use crate::WaveFault;
use crate::level::scalar_handler;
use crate::{Code, Flow, Src, Wave};

/// Ends the wave's slice with a fault.
#[cold]
pub(super) fn fail(wave: &mut Wave, fault: Box<WaveFault>) -> Flow {
    wave.fault = Some(fault);
    Flow::Fault
}

/// GLOBAL instructions: a 64-bit vector address, or a scalar base and a 32-bit vector offset.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn global<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    if mask == 0 {
        return Flow::Next;
    }
    let registers = Registers::of::<L>(code);
    // SAFETY: operands were lowered for this wave's file.
    unsafe {
        let address::Global { mut base, low, high } = address::Global::of(wave, code, L);
        let low = row::<L>(wave, low);
        if let Some(first) = high {
            let high = register::<L>(wave, first);
            match uniform(&high, mask) {
                Some(high) => base = address::wide(base, 0, high),
                None => {
                    let addresses = Addresses { base, low: &low, high: Some(&high) };
                    return scattered::<M, L>(wave, registers, addresses, mask);
                }
            }
        }
        linear::<M, L>(wave, registers, base, &low, mask)
    }
}

/// `global_load_addtid_b32`, `global_store_addtid_b32`: consecutive lanes access consecutive dwords, starting
/// at a scalar base.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn global_by_lane<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    if mask == 0 {
        return Flow::Next;
    }
    let row = crate::rows::from_fn(address::by_lane);
    let base = address::Global::of(wave, code, L).base;
    // SAFETY: operands were lowered for this wave's file.
    unsafe { linear::<M, L>(wave, Registers::of::<L>(code), base, &row, mask) }
}

/// FLAT instructions: the address selects the memory. If it is the same memory for all lanes, the handler for
/// that memory executes the instruction.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn flat<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    if mask == 0 {
        return Flow::Next;
    }
    // SAFETY: operands were lowered for this wave's file, and instructions for one memory have them in the
    // same places as FLAT.
    unsafe {
        let high = register::<L>(wave, first + L as u32);
        match uniform(&high, mask).map(address::space) {
            Some(Space::Lds) => scalar_handler::<Lds<M>>(L)(wave, code),
            Some(Space::Scratch) => scalar_handler::<Scratch<M>>(L)(wave, code),
            Some(Space::Global) => scalar_handler::<Global<M>>(L)(wave, code),
            None => {
                let low = register::<L>(wave, first);
                let (mut shared, mut private) = (0u64, 0u64);
                for lane in Bits(mask) {
                    shared |= u64::from(address::space(high[lane]) == Space::Lds) << lane;
                    private |= u64::from(address::space(high[lane]) == Space::Scratch) << lane;
                }
                mixed::<M, L>(wave, code, &low, &high, [shared, private, mask & !shared & !private])
            }
        }
    }
}

/// A FLAT instruction whose lanes access several memories. The masks are the lanes in LDS, in scratch and in
/// global memory.
///
/// # Safety
/// As for handlers.
#[cold]
#[inline(never)]
unsafe fn mixed<M: Move, const L: usize>(
    wave: &mut Wave,
    code: &Code,
    low: &[u32; L],
    high: &[u32; L],
    [shared, private, rest]: [u64; 3],
) -> Flow {
    let (registers, shift) = (Registers::of::<L>(code), address::shift(code));
    let row = crate::rows::map(*low, |low| address::shifted(low, shift));
    let addresses = Addresses { base: address::Global::of(wave, code, L).base, low, high: Some(high) };
    // SAFETY: the caller's promise.
    unsafe {
        if lds_lanes::<M, L>(wave, registers, &row, shared) == Flow::Fault
            || scratch_lanes::<M, L>(wave, registers, low, shift, private) == Flow::Fault
        {
            return Flow::Fault;
        }
        if rest == 0 {
            return Flow::Next;
        }
        scattered::<M, L>(wave, registers, addresses, rest)
    }
}

/// Global memory at `base + row[lane]`.
///
/// # Safety
/// `registers` must be in the wave's file, and `mask` must not be zero.
#[inline(always)]
pub(super) unsafe fn linear<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    base: u64,
    row: &[u32; L],
    mask: u64,
) -> Flow {
    let survey = Survey::new(row, mask, M::BYTES);
    let start = base.wrapping_add(u64::from(survey.min));
    let size = u64::from(survey.max - survey.min) + M::BYTES as u64;
    let aligned = M::ALIGN == 1
        || Bits(mask).all(|lane| base.wrapping_add(u64::from(row[lane])).is_multiple_of(M::ALIGN));
    if aligned && wave.access.permits(M::ACCESS, start, size) {
        wave.stored |= M::ACCESS == AccessKind::Write;
        // SAFETY: everything from the lowest to the highest lane's data lies in one live allocation.
        unsafe { M::many::<L>(wave, registers, base as *mut u8, row, &survey, true) };
        return Flow::Next;
    }
    // SAFETY: the caller's promise.
    unsafe { scattered::<M, L>(wave, registers, Addresses { base, low: row, high: None }, mask) }
}

/// The addresses of lanes: a base plus 32 or 64 bits for each lane.
#[derive(Clone, Copy)]
pub(super) struct Addresses<'a, const L: usize> {
    pub base: u64,
    pub low: &'a [u32; L],
    pub high: Option<&'a [u32; L]>,
}

impl<const L: usize> Addresses<'_, L> {
    pub(super) fn of(&self, lane: usize) -> u64 {
        address::wide(self.base, self.low[lane], self.high.map_or(0, |high| high[lane]))
    }
}

/// Global memory, lane by lane.
///
/// # Safety
/// `registers` must be in the wave's file.
#[cold]
#[inline(never)]
pub(super) unsafe fn scattered<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    addresses: Addresses<'_, L>,
    mask: u64,
) -> Flow {
    wave.stored |= M::ACCESS == AccessKind::Write;
    for lane in Bits(mask) {
        let address = addresses.of(lane);
        if !address.is_multiple_of(M::ALIGN) {
            let fault = wave.access.misaligned(Space::Global, M::ACCESS, address, M::ALIGN, lane);
            return fail(wave, fault);
        }
        if !wave.access.permits(M::ACCESS, address, M::BYTES as u64) {
            let fault = wave.access.refused(M::ACCESS, address, M::BYTES as u64, Some(lane));
            return fail(wave, fault);
        }
        // SAFETY: the lane's bytes lie in a live allocation.
        unsafe { M::one::<L>(wave, registers, address as *mut u8, lane, true) };
    }
    Flow::Next
}

/// LDS at each lane's [`shifted`](address::shifted) `row`.
///
/// # Safety
/// `registers` must be in the wave's file, and `mask` must not be zero.
#[inline(always)]
pub(super) unsafe fn lds<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    row: &[u32; L],
    shift: u32,
    mask: u64,
) -> Flow {
    let row = crate::rows::map(*row, |row| address::shifted(row, shift));
    let survey = Survey::new(&row, mask, M::BYTES);
    let good = u64::from(survey.max) + M::BYTES as u64 <= u64::from(wave.access.lds_size);
    let aligned = M::ALIGN == 1 || Bits(mask).all(|lane| u64::from(row[lane]).is_multiple_of(M::ALIGN));
    if good && aligned {
        let memory = wave.access.lds;
        // SAFETY: every enabled lane's bytes have been checked to be in the workgroup's LDS.
        unsafe { M::many::<L>(wave, registers, memory, &row, &survey, false) };
        return Flow::Next;
    }
    // SAFETY: the caller's promise.
    unsafe { lds_lanes::<M, L>(wave, registers, &row, mask) }
}

/// LDS, lane by lane. Beyond its end, reads return zero and writes do nothing.
#[cold]
#[inline(never)]
unsafe fn lds_lanes<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    row: &[u32; L],
    mask: u64,
) -> Flow {
    for lane in Bits(mask) {
        let address = u64::from(row[lane]);
        let memory = match wave.access.lds_place(M::ACCESS, address, M::BYTES as u64, Some(lane)) {
            Ok(memory) => memory,
            Err(fault) => return fail(wave, fault),
        };
        if !address.is_multiple_of(M::ALIGN) {
            let fault = wave.access.misaligned(Space::Lds, M::ACCESS, address, M::ALIGN, lane);
            return fail(wave, fault);
        }
        // SAFETY: the lane's bytes are in the workgroup's LDS, or in the place of dropped accesses.
        unsafe { M::one::<L>(wave, registers, memory, lane, false) };
    }
    Flow::Next
}

/// SCRATCH instructions: a vector and a scalar offset, both optional.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn scratch_inst<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    if mask == 0 {
        return Flow::Next;
    }
    let shift = address::scratch_shift(wave, code);
    let row = match code.src[0] {
        // SAFETY: operands were lowered for this wave's file.
        Src::Vector(first) => unsafe { register::<L>(wave, first) },
        _ => [0; L],
    };
    // SAFETY: as above.
    unsafe { scratch::<M, L>(wave, Registers::of::<L>(code), &row, shift, mask) }
}

/// Scratch memory at each lane's [`shifted`](address::shifted) `row`.
///
/// # Safety
/// `registers` must be in the wave's file, and `mask` must not be zero.
#[inline(always)]
pub(super) unsafe fn scratch<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    row: &[u32; L],
    shift: u32,
    mask: u64,
) -> Flow {
    if M::DWORDS != 0
        && let Some(start) = uniform(row, mask)
    {
        let start = u64::from(address::shifted(start, shift));
        if start.is_multiple_of(4) && start + M::BYTES as u64 <= u64::from(wave.access.scratch_size) {
            // SAFETY: the dwords lie in this wave's scratch memory.
            unsafe {
                let memory = wave.access.scratch.cast::<u32>().add(start as usize / 4 * L);
                M::rows::<L>(wave, registers, memory, mask);
            }
            return Flow::Next;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { scratch_lanes::<M, L>(wave, registers, row, shift, mask) }
}

#[inline(never)]
unsafe fn scratch_lanes<M: Move, const L: usize>(
    wave: &mut Wave,
    registers: Registers,
    row: &[u32; L],
    shift: u32,
    mask: u64,
) -> Flow {
    for lane in Bits(mask) {
        let start = address::shifted(row[lane], shift);
        if u64::from(start) + M::BYTES as u64 > u64::from(wave.access.scratch_size) {
            let fault =
                wave.access.beyond(Space::Scratch, M::ACCESS, u64::from(start), M::BYTES as u64, Some(lane));
            return fail(wave, fault);
        }
        if !u64::from(start).is_multiple_of(M::ALIGN) {
            let fault = wave.access.misaligned(Space::Scratch, M::ACCESS, u64::from(start), M::ALIGN, lane);
            return fail(wave, fault);
        }
        let memory = wave.access.scratch;
        let place = |i: usize| {
            let byte = start as usize + i;
            memory.wrapping_add((byte / 4 * L + lane) * 4 + byte % 4)
        };
        let mut local = [0u64; 2];
        let bytes = local.as_mut_ptr().cast::<u8>();
        // SAFETY: `place` stays in this wave's scratch memory, which was checked for this lane; `local` holds
        // 16 bytes.
        unsafe {
            if start.is_multiple_of(4) && M::BYTES.is_multiple_of(4) {
                for i in (0..M::BYTES).step_by(4) {
                    bytes.add(i).cast::<u32>().write(place(i).cast::<u32>().read());
                }
            } else {
                for i in 0..M::BYTES {
                    bytes.add(i).write(place(i).read());
                }
            }
            M::one::<L>(wave, registers, bytes, lane, true);
            if M::ACCESS != AccessKind::Read {
                for i in 0..M::BYTES {
                    place(i).write(bytes.add(i).read());
                }
            }
        }
    }
    Flow::Next
}
