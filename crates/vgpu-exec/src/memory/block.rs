//! Loads and stores of whole tiles: blocks of registers (gfx12), and matrices transposed by the load (from
//! memory on gfx12, from LDS on gfx950).

use gpu_report::{AccessKind, Space};

use super::address;
use super::lanes::{Bits, Registers, register, row};
use super::moves::Move;
use super::spaces::{Addresses, fail, scattered, scratch};
use crate::{Code, Flow, Src, Wave};

/// The parts of the lanes' 64-bit addresses in a GLOBAL instruction: a base, and the low and high halves of
/// each lane's offset.
///
/// # Safety
/// Operands must have been lowered for this wave's file.
unsafe fn addresses<const L: usize>(wave: &Wave, code: &Code) -> (u64, [u32; L], [u32; L]) {
    let address::Global { base, low, high } = address::Global::of(wave, code, L);
    // SAFETY: the caller's promise.
    unsafe { (base, row::<L>(wave, low), row::<L>(wave, high)) }
}

/// The registers of a block that M0 selects: their numbers, and their positions if the first one is at
/// `registers`.
fn selected<const L: usize>(
    wave: &Wave,
    registers: Registers,
) -> impl Iterator<Item = (u32, Registers)> + use<L> {
    Bits(address::selected(wave)).map(move |i| {
        let further = (i * L) as u32;
        (i as u32, Registers { dst: registers.dst + further, data: registers.data + further, ..registers })
    })
}

/// `global_load_block`, `global_store_block`: up to 32 registers, consecutive in memory. Registers that the
/// mask in M0 excludes leave holes.
///
/// # Safety
/// As for handlers; `M` moves one dword.
#[inline(always)]
pub(super) unsafe fn global<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: operands were lowered for this wave's file. Addresses were copied before the first register is
    // written.
    unsafe {
        let (base, low, high) = addresses::<L>(wave, code);
        let mask = wave.exec::<L>();
        for (i, registers) in selected::<L>(wave, Registers::of::<L>(code)) {
            let addresses = Addresses {
                base: address::wide(base, address::in_block(i), 0),
                low: &low,
                high: Some(&high),
            };
            if scattered::<M, L>(wave, registers, addresses, mask) == Flow::Fault {
                return Flow::Fault;
            }
        }
    }
    Flow::Next
}

/// `scratch_load_block`, `scratch_store_block`.
///
/// # Safety
/// As for [`global`].
#[inline(always)]
pub(super) unsafe fn private<M: Move, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let mask = wave.exec::<L>();
    let shift = address::scratch_shift(wave, code);
    // SAFETY: as for `global`.
    unsafe {
        let row = match code.src[0] {
            Src::Vector(first) => register::<L>(wave, first),
            _ => [0; L],
        };
        if mask == 0 {
            return Flow::Next;
        }
        for (i, registers) in selected::<L>(wave, Registers::of::<L>(code)) {
            let shift = address::shifted(address::in_block(i), shift);
            if scratch::<M, L>(wave, registers, &row, shift, mask) == Flow::Fault {
                return Flow::Fault;
            }
        }
    }
    Flow::Next
}

/// The number of lanes whose addresses a transposing load uses, also in waves of 64.
pub const TILE_LANES: usize = 32;
/// The number of elements that each of them reads.
pub const TILE_ELEMENTS: usize = 8;

/// The source of element `i` that a lane of a transposing load receives: the lane that reads it, and its
/// index among that lane's elements. Elements have one or two bytes; waves have 32 or 64 lanes. Devices move
/// squares of 8 by 8 elements. With 16-bit elements, each eight lanes exchange theirs; with 8-bit elements,
/// two times four lanes, eight lanes apart. In a wave of 64, lanes 32 to 63 receive the second half of what
/// lanes 0 to 31 receive in a wave of 32.
pub fn transposed(element_bytes: usize, lane: usize, i: usize) -> (usize, usize) {
    let i = i + lane / TILE_LANES * (TILE_ELEMENTS / 2);
    let lane = lane % TILE_LANES;
    let from = match element_bytes {
        1 => lane & 16 | (i & 4) << 1 | (lane & 8) >> 1 | i & 3,
        _ => lane & !7 | i,
    };
    (from, lane & 7)
}

/// `global_load_tr_b64` (`ELEMENT` 1) and `global_load_tr_b128` (`ELEMENT` 2): a matrix of 16 by 16 elements.
/// Each of the first 32 lanes reads eight of them, and all lanes receive the elements given by
/// [`transposed`]. If EXEC is zero, nothing happens; otherwise all lanes take part.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn transpose<const ELEMENT: usize, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    if wave.exec::<L>() == 0 {
        return Flow::Next;
    }
    let bytes = TILE_ELEMENTS * ELEMENT;
    // SAFETY: operands were lowered for this wave's file.
    let (base, low, high) = unsafe { addresses::<L>(wave, code) };
    let addresses = Addresses { base, low: &low, high: Some(&high) };
    let mut tile = [[0u16; TILE_ELEMENTS]; TILE_LANES];
    for (lane, row) in tile.iter_mut().enumerate() {
        let address = addresses.of(lane);
        if !wave.access.permits(AccessKind::Read, address, bytes as u64) {
            let fault = wave.access.refused(AccessKind::Read, address, bytes as u64, Some(lane));
            return fail(wave, fault);
        }
        let from = address as *const u8;
        for (i, value) in row.iter_mut().enumerate() {
            // SAFETY: the bytes lie in a live allocation.
            *value = unsafe {
                match ELEMENT {
                    1 => u16::from(from.add(i).read()),
                    _ => from.cast::<u16>().add(i).read_unaligned(),
                }
            };
        }
    }
    // Elements per lane.
    let count = TILE_LANES * TILE_ELEMENTS / L;
    for lane in 0..L {
        let mut received = 0u128;
        for i in 0..count {
            let (from, element) = transposed(ELEMENT, lane, i);
            received |= u128::from(tile[from][element]) << (8 * ELEMENT * i);
        }
        for i in 0..count * ELEMENT / 4 {
            // SAFETY: the destination is in the wave's file.
            unsafe { wave.vgpr.add(code.dst as usize + i * L + lane).write((received >> (32 * i)) as u32) };
        }
    }
    Flow::Next
}

/// The source of element `i` that a lane receives from a transposing load of LDS: the lane that reads it, and
/// its index among that lane's `count` elements. Each sixteen lanes read `count` consecutive rows of sixteen
/// elements, and each lane receives a column.
pub fn transposed_from_lds(count: usize, lane: usize, i: usize) -> (usize, usize) {
    let element = i * 16 + lane % 16;
    (lane / 16 * 16 + element / count, element % count)
}

/// `ds_read_b64_tr_b4`, `_b8`, `_b16` and `ds_read_b96_tr_b6`: every lane reads elements of `BITS` bits and
/// receives those given by [`transposed_from_lds`]. If EXEC is zero, nothing happens; otherwise all lanes
/// take part.
///
/// # Safety
/// As for handlers.
#[inline(always)]
pub(super) unsafe fn transpose_lds<const BITS: usize, const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
    let Src::Vector(first) = code.src[0] else { return Flow::Next };
    if wave.exec::<L>() == 0 {
        return Flow::Next;
    }
    let bytes = if BITS == 6 { 12 } else { 8 };
    let count = 8 * bytes / BITS;
    // SAFETY: operands were lowered for this wave's file.
    let row = unsafe { register::<L>(wave, first) };
    let mut read = [0u128; L];
    for (lane, value) in read.iter_mut().enumerate() {
        let address = u64::from(address::shifted(row[lane], address::shift(code)));
        if !address.is_multiple_of(8) {
            let fault = wave.access.misaligned(Space::Lds, AccessKind::Read, address, bytes as u64, lane);
            return fail(wave, fault);
        }
        let at = match wave.access.lds_place(AccessKind::Read, address, bytes as u64, Some(lane)) {
            Ok(at) => at,
            Err(fault) => return fail(wave, fault),
        };
        for i in 0..bytes {
            // SAFETY: the bytes are in the workgroup's LDS, or in the place of dropped accesses.
            *value |= u128::from(unsafe { at.add(i).read() }) << (8 * i);
        }
    }
    for lane in 0..L {
        let mut received = 0u128;
        for i in 0..count {
            let (from, element) = transposed_from_lds(count, lane, i);
            received |= (read[from] >> (BITS * element) & ((1 << BITS) - 1)) << (BITS * i);
        }
        for i in 0..bytes / 4 {
            // SAFETY: the destination is in the wave's file.
            unsafe { wave.vgpr.add(code.dst as usize + i * L + lane).write((received >> (32 * i)) as u32) };
        }
    }
    Flow::Next
}
