//! Operations across lanes, and the forms of other operations that take their sources from other lanes or parts of
//! registers: DPP and SDWA.

use super::super::{Body, Code, Flow, Handler, Src, TEMPS, Wave};
use super::Engine;
use super::lane::Lane;
use crate::isa::{Dpp, Inst, Op, Sdwa, scalar};

pub(super) fn handler(op: Op, e: Engine) -> Option<Handler> {
    Some(match op {
        Op::VReadfirstlaneB32 => e.handler::<ReadFirstLane>(),
        Op::VReadlaneB32 => e.handler::<ReadLane>(),
        Op::VWritelaneB32 => e.handler::<WriteLane>(),
        Op::VMbcntLoU32B32 => e.handler::<Mbcnt<0>>(),
        Op::VMbcntHiU32B32 => e.handler::<Mbcnt<32>>(),
        Op::VSwapB32 => e.handler::<Swap>(),
        Op::VPermlane16B32 => e.handler::<Permlane<false>>(),
        Op::VPermlanex16B32 => e.handler::<Permlane<true>>(),
        Op::VNop => e.handler::<Nothing>(),
        _ => return None,
    })
}

struct Nothing;

impl Body for Nothing {
    unsafe fn run<const W: usize>(_: &mut Wave, _: &Code) -> Flow {
        Flow::Next
    }
}

struct ReadFirstLane;

impl Body for ReadFirstLane {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // without an enabled lane, lane 0 is read
        let mask = wave.exec::<W>();
        let lane = if mask == 0 { 0 } else { mask.trailing_zeros() as usize };
        // SAFETY: the caller's promise.
        let value = unsafe { u32::read::<W>(wave, code.src[0], false) }[lane % W];
        wave.set_scalar(code.dst as u8, value);
        Flow::Next
    }
}

struct ReadLane;

impl Body for ReadLane {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let (value, lane) = unsafe {
            (u32::read::<W>(wave, code.src[0], false), u32::read::<W>(wave, code.src[1], false)[0])
        };
        wave.set_scalar(code.dst as u8, value[lane as usize % W]);
        Flow::Next
    }
}

struct WriteLane;

impl Body for WriteLane {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise. The lane is written whether it is enabled or not.
        unsafe {
            let value = u32::read::<W>(wave, code.src[0], false);
            let lane = u32::read::<W>(wave, code.src[1], false)[0] as usize % W;
            *wave.vgpr.add(code.dst as usize + lane) = value[0];
        }
        Flow::Next
    }
}

/// Counts the bits of a mask below each lane; `FROM` is the lane of the mask's bit 0.
struct Mbcnt<const FROM: usize>;

impl<const FROM: usize> Body for Mbcnt<FROM> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let (mask, add) =
                (u32::read::<W>(wave, code.src[0], false), u32::read::<W>(wave, code.src[1], false));
            let mut value = [0; W];
            for l in 0..W {
                let below = ((1u64 << l) - 1) >> FROM;
                value[l] = (mask[l] & below as u32).count_ones().wrapping_add(add[l]);
            }
            let mask = wave.exec::<W>();
            u32::write::<W>(wave, code.dst, &value, mask, code);
        }
        Flow::Next
    }
}

struct Swap;

impl Body for Swap {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let a = u32::read::<W>(wave, code.src[0], false);
            let b = u32::read::<W>(wave, Src::Vector(code.dst), false);
            let mask = wave.exec::<W>();
            u32::write::<W>(wave, code.dst, &a, mask, code);
            if let Src::Vector(other) = code.src[0] {
                u32::write::<W>(wave, other, &b, mask, code);
            }
        }
        Flow::Next
    }
}

/// Any lane of its row of 16, or of the other row of its pair.
struct Permlane<const OTHER: bool>;

impl<const OTHER: bool> Body for Permlane<OTHER> {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let data = u32::read::<W>(wave, code.src[0], false);
            let low = u32::read::<W>(wave, code.src[1], false)[0];
            let high = u32::read::<W>(wave, code.src[2], false)[0];
            let selectors = u64::from(low) | u64::from(high) << 32;
            let enabled = wave.exec::<W>();
            let (fetch_inactive, bound_ctrl) = (code.mods.op_sel & 1 != 0, code.mods.op_sel & 2 != 0);
            let mut value = u32::read::<W>(wave, Src::Vector(code.dst), false);
            for l in 0..W {
                let row = if OTHER { (l ^ 16) & !15 } else { l & !15 };
                let from = row + (selectors >> (4 * (l % 16)) & 15) as usize;
                if enabled >> from & 1 != 0 || fetch_inactive {
                    value[l] = data[from];
                } else if bound_ctrl {
                    value[l] = 0;
                }
            }
            u32::write::<W>(wave, code.dst, &value, enabled, code);
        }
        Flow::Next
    }
}

/// Lowers an instruction with DPP or SDWA: codes that prepare rows, the plain operation on them, codes that finish.
pub(super) fn modified(inst: &Inst, code: Code, e: Engine, codes: &mut Vec<Code>) -> Option<()> {
    let signature = inst.op.signature();
    let mut plain = code;
    plain.run = super::plain(inst, e)?;
    if let Some(dpp) = inst.dpp {
        // v_cmpx writes EXEC, which the last code restores
        if inst.dst == crate::isa::Operand::Sgpr(scalar::EXEC) || signature.src[0].dwords() > 1 {
            return None;
        }
        codes.push(Code { run: e.handler::<DppBegin>(), imm: encode(dpp), ..code });
        plain.src[0] = Src::Temp(0);
        super::modify::wrap(inst, plain, e, codes)?;
        codes.push(Code { run: e.handler::<DppEnd>(), ..code });
        return Some(());
    }
    let sdwa = inst.sdwa?;
    for i in 0..2 {
        if signature.src[i].exists() {
            let select = i64::from(sdwa.src_sel[i]) | i64::from(sdwa.src_sext[i]) << 8;
            codes.push(Code {
                run: e.handler::<Extract>(),
                imm: select,
                dst: 2 * i as u32,
                src: [code.src[i], Src::Const(0), Src::Const(0), Src::Const(0)],
                ..code
            });
            plain.src[i] = Src::Temp(2 * i as u8);
        }
    }
    plain.mods.op_sel = 0;
    let whole = sdwa.dst_sel == 6 || signature.dst.elem == crate::isa::Elem::Mask;
    if !whole {
        codes.push(Code { run: e.handler::<Stash>(), ..code });
    }
    super::modify::wrap(inst, plain, e, codes)?;
    if whole {
        return Some(());
    }
    codes.push(Code { run: e.handler::<Insert>(), imm: encode_sdwa(sdwa), ..code });
    Some(())
}

fn encode(dpp: Dpp) -> i64 {
    match dpp {
        Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive } => {
            i64::from(ctrl)
                | i64::from(row_mask) << 16
                | i64::from(bank_mask) << 20
                | i64::from(bound_ctrl) << 24
                | i64::from(fetch_inactive) << 25
        }
        Dpp::Eight { selectors, fetch_inactive } => {
            1 << 62 | i64::from(selectors) | i64::from(fetch_inactive) << 25
        }
    }
}

/// The lane that `lane` reads, if there is one.
#[inline(always)]
fn dpp_source(ctrl: u32, lane: usize, lanes: usize) -> Option<usize> {
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

/// Puts source 0 as seen through the lane pattern into row 0, and disables the lanes that must not be written.
struct DppBegin;

impl Body for DppBegin {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let data = unsafe { u32::read::<W>(wave, code.src[0], false) };
        let enabled = wave.exec::<W>();
        wave.saved_exec = enabled;
        let imm = code.imm;
        let fetch_inactive = imm >> 25 & 1 != 0;
        let eight = imm >> 62 & 1 != 0;
        let bound_ctrl = imm >> 24 & 1 != 0;
        let mut row = [0; W];
        let mut written = 0u64;
        for l in 0..W {
            let (from, masked) = if eight {
                (Some(l & !7 | (imm >> (3 * (l & 7)) & 7) as usize), true)
            } else {
                let rows = imm >> 16 & 15;
                let banks = imm >> 20 & 15;
                let written = rows >> (l / 16 % 4) & 1 != 0 && banks >> (l / 4 % 4) & 1 != 0;
                (dpp_source((imm & 0x1ff) as u32, l, W), written)
            };
            let valid = from.filter(|&from| enabled >> from & 1 != 0 || fetch_inactive);
            if let Some(from) = valid {
                row[l] = data[from];
            }
            // a source that is out of range disables the write, unless it then reads zero; a disabled lane reads zero
            let has_source = if eight { true } else { valid.is_some() || bound_ctrl };
            written |= u64::from(masked && has_source) << l;
        }
        wave.temp[0][..W].copy_from_slice(&row);
        wave.set_mask::<W>(scalar::EXEC, enabled & written);
        Flow::Next
    }
}

struct DppEnd;

impl Body for DppEnd {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, _: &Code) -> Flow {
        let saved = wave.saved_exec;
        wave.set_mask::<W>(scalar::EXEC, saved);
        Flow::Next
    }
}

/// Extracts a part of a source into a row.
struct Extract;

impl Body for Extract {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let data = unsafe { u32::read::<W>(wave, code.src[0], false) };
        let (shift, bits) = part(code.imm as u8);
        let signed = code.imm >> 8 & 1 != 0;
        let mut row = [0; W];
        for l in 0..W {
            let top = data[l] << (32 - bits - shift);
            row[l] = if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) };
        }
        wave.temp[code.dst as usize % TEMPS][..W].copy_from_slice(&row);
        Flow::Next
    }
}

/// Shift and width of a selected part.
#[inline(always)]
fn part(select: u8) -> (u32, u32) {
    match select {
        0..=3 => (8 * u32::from(select), 8),
        4 => (0, 16),
        5 => (16, 16),
        _ => (0, 32),
    }
}

/// Keeps the destination's old value in a row.
struct Stash;

impl Body for Stash {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        let old = unsafe { u32::read::<W>(wave, Src::Vector(code.dst), false) };
        wave.temp[7][..W].copy_from_slice(&old);
        Flow::Next
    }
}

fn encode_sdwa(sdwa: Sdwa) -> i64 {
    i64::from(sdwa.dst_sel) | i64::from(sdwa.dst_unused) << 8
}

/// Puts the result into its part of the destination.
struct Insert;

impl Body for Insert {
    #[inline(always)]
    unsafe fn run<const W: usize>(wave: &mut Wave, code: &Code) -> Flow {
        let (shift, bits) = part(code.imm as u8);
        let field = u32::MAX >> (32 - bits) << shift;
        // SAFETY: the caller's promise.
        unsafe {
            let value = u32::read::<W>(wave, Src::Vector(code.dst), false);
            let mut merged = [0; W];
            for l in 0..W {
                let placed = value[l] << shift & field;
                let sign = (value[l] << (32 - bits)) as i32 >> 31;
                merged[l] = match code.imm >> 8 & 3 {
                    0 => placed,
                    1 => placed | sign as u32 & (u32::MAX.checked_shl(shift + bits).unwrap_or(0)),
                    _ => placed | wave.temp[7][l] & !field,
                };
            }
            let mask = wave.exec::<W>();
            u32::write::<W>(wave, code.dst, &merged, mask, code);
        }
        Flow::Next
    }
}
