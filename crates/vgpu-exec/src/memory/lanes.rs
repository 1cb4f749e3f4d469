//! Inspects the addresses of all lanes of a wave at once.

use super::atomic::{Rmw, Subnormals};
use crate::{Code, Src, Wave, all};

/// The lanes of a mask in ascending order.
pub(crate) struct Bits(pub u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}

/// A copy of one vector register. Addresses are copied first, because loads may overwrite the register that
/// holds them.
///
/// # Safety
/// `first` must be the first lane of a register of the wave's file.
#[inline(always)]
pub(super) unsafe fn register<const L: usize>(wave: &Wave, first: u32) -> [u32; L] {
    // SAFETY: the caller's promise; the file is aligned for dwords.
    unsafe { wave.vgpr.add(first as usize).cast::<[u32; L]>().read() }
}

/// A copy of a vector register, or zeros if there is none.
///
/// # Safety
/// See [`register`].
#[inline(always)]
pub(super) unsafe fn row<const L: usize>(wave: &Wave, first: Option<u32>) -> [u32; L] {
    match first {
        // SAFETY: the caller's promise.
        Some(first) => unsafe { register::<L>(wave, first) },
        None => [0; L],
    }
}

/// A 32-bit scalar or constant operand.
#[inline(always)]
pub(super) fn scalar32(wave: &Wave, src: Src) -> u32 {
    match src {
        Src::Scalar(slot) => wave.sgpr[usize::from(slot)],
        Src::Const(value) => value as u32,
        Src::Vector(_) | Src::Temp(_) => 0,
    }
}

/// The positions of an instruction's data in the vector register file, as indices of their first lanes.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    /// The register that is loaded or receives the returned value.
    pub dst: u32,
    /// The register that is stored.
    pub data: u32,
    /// The second operand of compare-and-swap and two-address stores.
    pub data2: u32,
    /// The operation of a read-modify-write.
    pub rmw: Rmw,
    /// The subnormal floats that it treats as zero.
    pub subnormals: Subnormals,
    /// Whether a read-modify-write returns the old value.
    pub returns: bool,
}

/// The layout of [`Code::imm`] in handlers of this module: the byte offset in the low half, and these fields
/// above it.
pub(super) const RMW_SHIFT: u32 = 32;
/// See [`RMW_SHIFT`]: the old value is returned.
pub(super) const RETURNS: i64 = 1 << 40;
/// See [`RMW_SHIFT`]: the second operand follows the first, one or two registers after it.
pub(super) const PAIR_SHIFT: u32 = 41;
// `Subnormals` start at bit 43.
/// See [`RMW_SHIFT`]: available to individual handlers.
pub(super) const EXTRA_SHIFT: u32 = 48;

/// The byte offset of an instruction.
#[inline(always)]
pub(super) fn offset(code: &Code) -> i64 {
    i64::from(code.imm as i32)
}

impl Registers {
    #[inline(always)]
    pub(super) fn of<const L: usize>(code: &Code) -> Self {
        let vector = |src| if let Src::Vector(first) = src { first } else { 0 };
        let data = vector(code.src[1]);
        let pair = (code.imm >> PAIR_SHIFT) as u32 & 3;
        let data2 = if pair != 0 { data + pair * L as u32 } else { vector(code.src[3]) };
        let rmw = Rmw::from_number((code.imm >> RMW_SHIFT) as u8);
        let subnormals = Subnormals::from_bits(code.imm);
        Registers { dst: code.dst, data, data2, rmw, subnormals, returns: code.imm & RETURNS != 0 }
    }
}

/// The pattern of the enabled lanes' 32-bit offsets.
#[derive(Clone, Copy)]
pub(super) struct Survey {
    /// The enabled lanes; never zero.
    pub mask: u64,
    pub first: usize,
    pub min: u32,
    pub max: u32,
    /// All offsets are the same.
    pub uniform: bool,
    /// The offsets of consecutive lanes differ by a constant stride.
    pub contiguous: bool,
}

impl Survey {
    /// Analyses the offsets of the lanes in `mask`, which must not be zero.
    #[inline(always)]
    pub(super) fn new<const L: usize>(row: &[u32; L], mask: u64, stride: usize) -> Survey {
        let stride = stride as u32;
        let first = (mask.trailing_zeros() as usize).min(L - 1);
        let origin = row[first].wrapping_sub(stride.wrapping_mul(first as u32));
        let start = row[first];
        let (mut differs, mut strays) = (0u32, 0u32);
        let (mut min, mut max) = (u32::MAX, 0u32);
        if mask == all::<L>() {
            for (lane, &offset) in row.iter().enumerate() {
                differs |= offset ^ start;
                strays |= offset ^ origin.wrapping_add(stride.wrapping_mul(lane as u32));
                min = min.min(offset);
                max = max.max(offset);
            }
        } else {
            let halves = [mask as u32, (mask >> 32) as u32];
            for (lane, &offset) in row.iter().enumerate() {
                let on = (halves[lane / 32] >> (lane % 32) & 1).wrapping_neg();
                differs |= (offset ^ start) & on;
                strays |= (offset ^ origin.wrapping_add(stride.wrapping_mul(lane as u32))) & on;
                min = min.min(offset | !on);
                max = max.max(offset & on);
            }
        }
        // Offsets that wrap around at 2^32 are not contiguous.
        let contiguous = strays == 0 && max.wrapping_sub(min) >> 31 == 0;
        Survey { mask, first, min, max, uniform: differs == 0, contiguous }
    }
}

/// The value that all lanes in `mask` share, if they do.
#[inline(always)]
pub(super) fn uniform<const L: usize>(row: &[u32; L], mask: u64) -> Option<u32> {
    let value = row[(mask.trailing_zeros() as usize).min(L - 1)];
    let mut differs = 0;
    if mask == all::<L>() {
        for &other in row {
            differs |= other ^ value;
        }
    } else {
        let halves = [mask as u32, (mask >> 32) as u32];
        for (lane, &other) in row.iter().enumerate() {
            differs |= (other ^ value) & (halves[lane / 32] >> (lane % 32) & 1).wrapping_neg();
        }
    }
    (differs == 0).then_some(value)
}
