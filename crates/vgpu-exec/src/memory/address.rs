//! The addresses of memory instructions, one rule for each kind. The handlers access memory at these
//! addresses, and [`Accesses`](super::accesses::Accesses) reports them to observers.
//!
//! Instructions with addresses in a descriptor have theirs in [`View`](super::buffer::View), scalar ones in
//! [`Location`](super::scalar::Location).

use gpu_report::Space;
use vgpu_isa::scalar;

use super::lanes::{EXTRA_SHIFT, offset};
use crate::{Code, Src, Wave};
use crate::{PRIVATE_APERTURE, SHARED_APERTURE};

/// The parts of the lanes' addresses in a GLOBAL instruction: a 64-bit vector address, or a scalar base and a
/// 32-bit vector offset.
#[derive(Clone, Copy)]
pub(super) struct Global {
    /// The part that all lanes share: the scalar base, if there is one, and the instruction's offset.
    pub base: u64,
    /// The register with the low halves, if there is one.
    pub low: Option<u32>,
    /// The register with the high halves; none beside a scalar base.
    pub high: Option<u32>,
}

impl Global {
    #[inline(always)]
    pub(super) fn of(wave: &Wave, code: &Code, lanes: usize) -> Global {
        let low = if let Src::Vector(first) = code.src[0] { Some(first) } else { None };
        let offset = offset(code) as u64;
        // Nothing follows the match, so that the compiler can join what a caller does with `high` to it.
        match (code.src[2], low) {
            (Src::Scalar(slot), _) => {
                Global { base: wave.scalar64(slot).wrapping_add(offset), low, high: None }
            }
            (_, Some(first)) => Global { base: offset, low, high: Some(first + lanes as u32) },
            _ => Global { base: offset, low, high: None },
        }
    }
}

/// A base plus 64 bits of a lane.
#[inline(always)]
pub(super) fn wide(base: u64, low: u32, high: u32) -> u64 {
    base.wrapping_add(u64::from(high) << 32 | u64::from(low))
}

/// The offset of a lane's dword among those of consecutive lanes.
#[inline(always)]
pub(super) fn by_lane(lane: usize) -> u32 {
    4 * lane as u32
}

/// The memory that a FLAT address with this high half is in.
#[inline(always)]
pub(super) fn space(high: u32) -> Space {
    const SHARED: u32 = (SHARED_APERTURE >> 32) as u32;
    const PRIVATE: u32 = (PRIVATE_APERTURE >> 32) as u32;
    match high {
        SHARED => Space::Lds,
        PRIVATE => Space::Scratch,
        _ => Space::Global,
    }
}

/// A lane's address in LDS or scratch memory. The sum has 32 bits, so an address "below zero" plus a shift
/// may be in memory.
#[inline(always)]
pub(super) fn shifted(row: u32, shift: u32) -> u32 {
    row.wrapping_add(shift)
}

/// What is added to the lanes' addresses in a DS instruction with one access, and to those of a FLAT
/// instruction in LDS or scratch memory.
#[inline(always)]
pub(super) fn shift(code: &Code) -> u32 {
    offset(code) as u32
}

/// What is added for each access of a DS instruction with two of `bytes` bytes. The offsets count elements,
/// or 64 elements.
#[inline(always)]
pub(super) fn shifts(code: &Code, bytes: usize) -> [u32; 2] {
    let unit = (bytes as u32) << if code.imm >> EXTRA_SHIFT & 1 != 0 { 6 } else { 0 };
    let offsets = shift(code);
    [(offsets & 0xff) * unit, (offsets >> 8 & 0xff) * unit]
}

/// What is added to [`by_lane`] in `ds_load_addtid_b32` and `ds_store_addtid_b32`.
#[inline(always)]
pub(super) fn shift_by_lane(wave: &Wave, code: &Code) -> u32 {
    shift(code).wrapping_add(m0(wave) & 0xffff)
}

/// The counter in LDS of `ds_append` and `ds_consume`.
#[inline(always)]
pub(super) fn counter(wave: &Wave, code: &Code) -> u64 {
    u64::from(m0(wave)) + u64::from(shift(code) & 0xffff)
}

/// The address in LDS of `ds_condxchg32_rtn_b64`: it has 16 bits and is a multiple of 8.
#[inline(always)]
pub(super) fn exchanged(row: u32, code: &Code) -> u32 {
    shifted(row, shift(code)) & 0xfff8
}

/// The element of LDS that M0 selects for a direct access: its address, its size, and whether it is signed.
/// The lower half of M0 is the address, and the type is above it; none if the type is reserved.
#[inline(always)]
pub(super) fn direct(wave: &Wave) -> Option<(u64, u64, bool)> {
    let m0 = m0(wave);
    let ty = m0 >> 16 & 7;
    let bytes = match ty {
        0 | 4 => 1,
        1 | 5 => 2,
        2 => 4,
        _ => return None,
    };
    Some((u64::from(m0 & 0xffff), bytes, ty >= 4))
}

/// What is added to the lanes' offsets in a SCRATCH instruction: the scalar offset, if there is one, and the
/// instruction's.
#[inline(always)]
pub(super) fn scratch_shift(wave: &Wave, code: &Code) -> u32 {
    let base = match code.src[2] {
        Src::Scalar(slot) => wave.sgpr[usize::from(slot)],
        _ => 0,
    };
    base.wrapping_add(shift(code))
}

/// Lane 0's position in LDS in an instruction that moves data between memory and LDS: the bits of M0 that
/// form an offset, as many as the generation's largest LDS needs, plus the instruction's offset. Negative if
/// the first lanes are disabled.
#[inline(always)]
pub(super) fn moved(wave: &Wave, code: &Code) -> i64 {
    let bits = if wave.access.lds_size > 0x1_0000 { 0x3_ffff } else { 0xffff };
    i64::from(m0(wave) & bits) + offset(code)
}

/// The bytes of LDS of each lane in such an instruction, if it moves this many: at least a dword.
#[inline(always)]
pub(super) const fn moved_bytes(bytes: usize) -> u32 {
    if bytes < 4 { 4 } else { bytes as u32 }
}

/// A lane's position in LDS in such an instruction.
#[inline(always)]
pub(super) fn moved_to(start: i64, width: u32, lane: usize) -> u64 {
    (start + i64::from(width) * lane as i64) as u64
}

/// The offset of register `i` of a block of registers.
#[inline(always)]
pub(super) fn in_block(i: u32) -> u32 {
    4 * i
}

/// The registers of a block that M0 selects, as bits.
#[inline(always)]
pub(super) fn selected(wave: &Wave) -> u64 {
    u64::from(m0(wave))
}

#[inline(always)]
fn m0(wave: &Wave) -> u32 {
    wave.sgpr[usize::from(scalar::M0)]
}
