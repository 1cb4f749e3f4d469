//! DPP and SDWA: forms of other operations that take sources from other lanes or from parts of registers.
//! They are lowered to codes that prepare rows, the plain operation on these rows, and codes that finish.

use vgpu_isa::{Dpp, Generation, Sdwa, scalar};

use super::cross::{read, write};
use crate::level::{SimdBody, simd_handler};
use crate::lower::Context;
use crate::simd::{LANES, Simd, U};
use crate::{Body, Code, Flow, Handler, Src, TEMPS, Wave, handler};

/// `Code::imm` of [`Shuffle`]: the DPP control in bits 0..=8, or the eight selectors in bits 0..=23, followed
/// by these flags.
const EIGHT: i64 = 1 << 40;
const FETCH_INACTIVE: i64 = 1 << 41;
const BOUND_CONTROL: i64 = 1 << 42;
const ROW_MASK: u32 = 44;
const BANK_MASK: u32 = 48;

/// Encodes a DPP control for [`Shuffle`].
pub(super) fn encode(dpp: Dpp) -> i64 {
    let flag = |set: bool, bit: i64| if set { bit } else { 0 };
    match dpp {
        Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive } => {
            i64::from(ctrl)
                | i64::from(row_mask) << ROW_MASK
                | i64::from(bank_mask) << BANK_MASK
                | flag(bound_ctrl, BOUND_CONTROL)
                | flag(fetch_inactive, FETCH_INACTIVE)
        }
        Dpp::Eight { selectors, fetch_inactive } => {
            EIGHT | i64::from(selectors) | flag(fetch_inactive, FETCH_INACTIVE)
        }
    }
}

/// Whether a generation supports a DPP control. gfx90a's "row new broadcast" has the numbers of row_share.
/// From gfx10 on, no control crosses a row.
pub(super) fn supported(dpp: Dpp, generation: Generation) -> bool {
    match dpp {
        Dpp::Row { ctrl, .. } => match ctrl {
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x15f => true,
            0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => generation.is_cdna(),
            0x160..=0x16f => !generation.is_cdna(),
            _ => false,
        },
        Dpp::Eight { .. } => true,
    }
}

/// The lane that `lane` reads, if there is one.
#[inline(always)]
fn source_lane(ctrl: u32, lane: usize, lanes: usize) -> Option<usize> {
    let (row, at) = (lane & !15, lane & 15);
    let n = (ctrl & 15) as usize;
    match ctrl {
        0..=0xff => Some(lane & !3 | (ctrl >> (2 * (lane & 3)) & 3) as usize),
        0x101..=0x10f => (at + n < 16).then_some(lane + n),
        0x111..=0x11f => (at >= n).then(|| lane - n),
        0x121..=0x12f => Some(row | (at + 16 - n) & 15),
        0x130 => (lane + 1 < lanes).then_some(lane + 1),
        0x134 => Some((lane + 1) % lanes),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + lanes - 1) % lanes),
        0x140 => Some(row | 15 - at),
        0x141 => Some(lane & !7 | 7 - (lane & 7)),
        0x142 => (lane >= 16).then(|| row - 1),
        0x143 => (lane >= 32).then_some(31),
        0x150..=0x15f => Some(row | n),
        0x160..=0x16f => Some(row | at ^ n),
        _ => None,
    }
}

/// Puts source 0, permuted by a lane pattern, into rows 0 and 1, and disables the lanes that must not be
/// written.
struct Shuffle<const WORDS: usize>;

impl<const WORDS: usize> Body for Shuffle<WORDS> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let imm = code.imm;
        let enabled = wave.exec::<W>();
        wave.saved_exec = enabled;
        let fetch_inactive = imm & FETCH_INACTIVE != 0;
        let mut index = [0u8; W];
        let (mut valid, mut written) = (0u64, 0u64);
        for (lane, index) in index.iter_mut().enumerate() {
            let (from, masked) = if imm & EIGHT != 0 {
                (Some(lane & !7 | (imm >> (3 * (lane & 7)) & 7) as usize), true)
            } else {
                let row = imm >> (ROW_MASK + (lane as u32 / 16 & 3)) & 1 != 0;
                let bank = imm >> (BANK_MASK + (lane as u32 / 4 & 3)) & 1 != 0;
                (source_lane((imm & 0x1ff) as u32, lane, W), row && bank)
            };
            if let Some(from) = from {
                *index = from as u8;
                valid |= u64::from(enabled >> from & 1 != 0 || fetch_inactive) << lane;
            }
            written |= u64::from(masked) << lane;
        }
        // A source that is out of range or disabled either disables the write or reads zero.
        let zero = imm & (BOUND_CONTROL | EIGHT) != 0;
        for word in 0..WORDS {
            let src = match code.src[0] {
                Src::Vector(first) => Src::Vector(first + (word * W) as u32),
                src => src,
            };
            // SAFETY: operands were lowered for this wave.
            let data = unsafe { read::<W>(wave, src) };
            for lane in 0..W {
                let value = data[usize::from(index[lane]) % W];
                wave.temp[word][lane] = if valid >> lane & 1 != 0 { value } else { 0 };
            }
        }
        let mask = enabled & written & if zero { u64::MAX } else { valid };
        wave.set_mask::<W>(scalar::EXEC, mask);
        Flow::Next
    }
}

/// Restores EXEC after [`Shuffle`].
struct Restore;

impl Body for Restore {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, _: &Code) -> Flow {
        let saved = wave.saved_exec;
        wave.set_mask::<W>(scalar::EXEC, saved);
        Flow::Next
    }
}

/// `v_mov_b32` with a pattern that stays within rows of 16 lanes: one permutation per row.
struct MoveRow;

impl SimdBody for MoveRow {
    #[inline(always)]
    unsafe fn run<S: Simd>(wave: &mut Wave, code: &Code) -> Flow {
        let Src::Vector(first) = code.src[0] else { return Flow::Next };
        let imm = code.imm;
        let enabled = wave.active();
        let mut index = [0; LANES];
        let mut inside = 0u16;
        for (lane, index) in index.iter_mut().enumerate() {
            if let Some(from) = source_lane((imm & 0x1ff) as u32, lane, 64).filter(|from| *from < LANES) {
                *index = from as u32;
                inside |= 1 << lane;
            }
        }
        let banks = {
            let bank = imm >> BANK_MASK & 15;
            (0..4).fold(0u16, |all, i| all | if bank >> i & 1 != 0 { 0xf << (4 * i) } else { 0 })
        };
        let zero = imm & BOUND_CONTROL != 0;
        let index = U::<S>::from_array(index);
        for k in 0..usize::from(wave.lanes) / LANES {
            let bits = (enabled >> (LANES * k)) as u16;
            let row = imm >> (ROW_MASK + (k as u32 & 3)) & 1 != 0;
            // SAFETY: operands were lowered for this wave.
            unsafe {
                let from = U::<S>(S::load(wave.vgpr.add(first as usize + LANES * k)));
                let from_enabled = if imm & FETCH_INACTIVE != 0 {
                    U::splat(1)
                } else {
                    crate::simd::Mask::<S>::from_bits(bits).select(U::splat(1), U::splat(0))
                };
                let valid =
                    !from_enabled.permute(index).equal(U::splat(0)) & crate::simd::Mask::from_bits(inside);
                let value = valid.select(from.permute(index), U::splat(0));
                let written = bits & banks & if zero { u16::MAX } else { valid.bits() };
                if row {
                    S::store_masked(wave.vgpr.add(code.dst as usize + LANES * k), written, value.0);
                }
            }
        }
        Flow::Next
    }
}

/// The handler of `v_mov_b32` with DPP, if [`MoveRow`] can execute the pattern.
pub(super) fn move_row(dpp: Dpp, context: &Context) -> Option<Handler> {
    match dpp {
        Dpp::Row { ctrl: 0..=0x12f | 0x140 | 0x141 | 0x150..=0x16f, .. } => {
            Some(simd_handler::<MoveRow, MoveRow>(context.level))
        }
        _ => None,
    }
}

/// Extracts a part of a 32-bit source into a row. `imm`: the part, with bit 8 for sign-extension. `dst`: the
/// row.
struct Extract;

impl Body for Extract {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: operands were lowered for this wave.
        let data = unsafe { read::<W>(wave, code.src[0]) };
        let (shift, bits) = part(code.imm as u8);
        let signed = code.imm >> 8 & 1 != 0;
        let row = &mut wave.temp[code.dst as usize % TEMPS];
        for lane in 0..W {
            let top = data[lane] << (32 - bits - shift);
            row[lane] = if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) };
        }
        Flow::Next
    }
}

/// The shift and the width of a selected part.
fn part(select: u8) -> (u32, u32) {
    match select {
        0..=3 => (8 * u32::from(select), 8),
        4 => (0, 16),
        5 => (16, 16),
        _ => (0, 32),
    }
}

/// The row that holds the old value of the destination.
const KEPT: usize = TEMPS - 1;

/// Saves the destination's old value in a row.
struct Keep;

impl Body for Keep {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: operands were lowered for this wave.
        let old = unsafe { read::<W>(wave, Src::Vector(code.dst)) };
        wave.temp[KEPT][..W].copy_from_slice(&old);
        Flow::Next
    }
}

/// Moves the result from the destination register into its part. `imm`: the part; bits 8 and up say what
/// happens to the rest.
struct Insert;

impl Body for Insert {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let (shift, bits) = part(code.imm as u8);
        let field = u32::MAX >> (32 - bits) << shift;
        let above = u32::MAX.checked_shl(shift + bits).unwrap_or(0);
        // SAFETY: operands were lowered for this wave.
        unsafe {
            let value = read::<W>(wave, Src::Vector(code.dst));
            let mut merged = [0; W];
            for lane in 0..W {
                let placed = value[lane] << shift & field;
                let sign = (value[lane] << (32 - bits)) as i32 >> 31;
                merged[lane] = match code.imm >> 8 & 3 {
                    0 => placed,
                    1 => placed | sign as u32 & above,
                    _ => placed | wave.temp[KEPT][lane] & !field,
                };
            }
            let mask = wave.exec::<W>();
            write(wave, code.dst, &merged, mask);
        }
        Flow::Next
    }
}

/// The codes before and after an operation with DPP.
pub(super) fn around_dpp(dpp: Dpp, words: usize, code: &Code, context: &Context) -> [Code; 2] {
    let (lanes, level) = (context.lanes, context.level);
    let run =
        if words == 2 { handler::<Shuffle<2>>(lanes, level) } else { handler::<Shuffle<1>>(lanes, level) };
    [Code { run, imm: encode(dpp), ..*code }, Code { run: handler::<Restore>(lanes, level), ..*code }]
}

/// The code that extracts the part of source `i`.
pub(super) fn extract(sdwa: Sdwa, i: usize, code: &Code, context: &Context) -> Code {
    let imm = i64::from(sdwa.src_sel[i]) | i64::from(sdwa.src_sext[i]) << 8;
    let mut src = code.src;
    src[0] = code.src[i];
    Code { run: handler::<Extract>(context.lanes, context.level), imm, dst: 2 * i as u32, src, ..*code }
}

/// The codes before and after an operation with SDWA whose result goes to a part of its destination.
pub(super) fn around_sdwa(sdwa: Sdwa, code: &Code, context: &Context) -> [Code; 2] {
    let (lanes, level) = (context.lanes, context.level);
    let imm = i64::from(sdwa.dst_sel) | i64::from(sdwa.dst_unused) << 8;
    [
        Code { run: handler::<Keep>(lanes, level), ..*code },
        Code { run: handler::<Insert>(lanes, level), imm, ..*code },
    ]
}
