//! Hardware registers, messages, and registers that are named at run time.

use std::sync::LazyLock;
use std::time::Instant;

use super::{read32, read64};
use crate::exec::lower::Context;
use crate::exec::{Code, Flow, Handler, Wave};
use crate::isa::{Inst, Op, Operand, scalar};
use crate::machine::{FaultKind, Generation, SH_MEM_BASES};

/// Ticks of the 100 MHz clock that `s_memrealtime` and its successors read.
pub(in crate::exec) fn realtime() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    (START.elapsed().as_nanos() / 10) as u64
}

const MODE: u32 = 1;
const STATUS: u32 = 2;
const SH_MEM: u32 = 15;
const SHADER_CYCLES: u32 = 29;
/// gfx12: the high half of `SHADER_CYCLES`.
const SHADER_CYCLES_HIGH: u32 = 30;
/// gfx12: what the wave's state is besides `STATUS`.
const STATE_PRIVATE: u32 = 4;
/// Bits of MODE that say DX10_CLAMP and IEEE, which gfx12 does not have.
const CLAMP_AND_IEEE: u32 = 0x300;

/// In `Code::imm`: the registers are those of gfx12.
const GFX12: i64 = 1 << 32;
/// They are those of gfx9.
const GFX9: i64 = 1 << 33;

/// Bits of MODE in gfx9: vector registers are relative to M0; vector instructions are skipped.
const INDEXED: u32 = 1 << 27;
const SKIP: u32 = 1 << 28;

/// Cycles of the clock that waves count, at 2 GHz.
pub(in crate::exec) fn cycles() -> u64 {
    realtime() * 20
}

/// The value of a hardware register; those that say where a wave runs read as zero.
fn read_register(wave: &Wave, id: u32, gfx12: bool) -> u32 {
    match id {
        MODE if gfx12 => wave.mode & !CLAMP_AND_IEEE,
        MODE => wave.mode,
        STATE_PRIVATE if gfx12 => u32::from(wave.scc) << 9,
        SHADER_CYCLES if gfx12 => cycles() as u32,
        SHADER_CYCLES_HIGH if gfx12 => (cycles() >> 32) as u32,
        STATUS => {
            let zero = |slot| {
                let slot: u8 = slot;
                if wave.lanes == 64 { wave.scalar64(slot) == 0 } else { wave.sgpr[usize::from(slot)] == 0 }
            };
            u32::from(wave.scc && !gfx12)
                | u32::from(zero(scalar::EXEC)) << 9
                | u32::from(zero(scalar::VCC)) << 10
                | 1 << 16
        }
        SH_MEM if !gfx12 => SH_MEM_BASES,
        // A 20-bit counter that runs through.
        SHADER_CYCLES => cycles() as u32 & 0xf_ffff,
        _ => 0,
    }
}

/// Number, first bit and width of a register field.
fn register_field(code: &Code) -> (u32, u32, u32) {
    let field = code.imm as u32;
    let offset = field >> 6 & 31;
    let width = ((field >> 11 & 31) + 1).min(32 - offset);
    (field & 63, offset, width)
}

unsafe fn getreg(wave: &mut Wave, code: &Code) -> Flow {
    let (id, offset, width) = register_field(code);
    let value = read_register(wave, id, code.imm & GFX12 != 0) >> offset & (u32::MAX >> (32 - width));
    wave.set_scalar(code.dst as u8, value);
    Flow::Next
}

unsafe fn setreg(wave: &mut Wave, code: &Code) -> Flow {
    let (id, offset, width) = register_field(code);
    // Others that kernels write (scratch addresses, trap status) have no effect here.
    if id == MODE {
        let kept = if code.imm & GFX12 != 0 { CLAMP_AND_IEEE } else { 0 };
        let mask = (u32::MAX >> (32 - width)) << offset & !kept;
        let mode = wave.mode & !mask | read32(wave, code.src[0]) << offset & mask;
        if code.imm & GFX9 != 0 && (mode ^ wave.mode) & (INDEXED | SKIP) != 0 {
            let what = "indexed registers and skipped instructions by s_setreg".to_owned();
            return wave.fail(FaultKind::Unsupported { what });
        }
        wave.mode = mode;
    }
    Flow::Next
}

/// gfx9: from here on the numbers of vector registers are relative to M0, see [`lower_indexed`](crate::exec::lower). `imm`: which.
unsafe fn index_on(wave: &mut Wave, code: &Code) -> Flow {
    wave.mode |= INDEXED;
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let index = read32(wave, code.src[0]) & 0xff;
    wave.set_scalar(scalar::M0, m0 & !0xf0ff | index | (code.imm as u32 & 15) << 12);
    Flow::Next
}

unsafe fn index_off(wave: &mut Wave, _: &Code) -> Flow {
    wave.mode &= !INDEXED;
    Flow::Next
}

unsafe fn index_set(wave: &mut Wave, code: &Code) -> Flow {
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let index = read32(wave, code.src[0]) & 0xff;
    wave.set_scalar(scalar::M0, m0 & !0xff | index);
    Flow::Next
}

unsafe fn index_mode(wave: &mut Wave, code: &Code) -> Flow {
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    wave.set_scalar(scalar::M0, m0 & !0xf000 | (code.imm as u32 & 15) << 12);
    Flow::Next
}

/// gfx9: has the wave skip vector instructions, which is executed only where it does not.
unsafe fn skip(wave: &mut Wave, code: &Code) -> Flow {
    let bit = read32(wave, code.src[1]) & 31;
    if read32(wave, code.src[0]) >> bit & 1 != 0 {
        return wave.fail(FaultKind::Unsupported { what: "s_setvskip that skips".to_owned() });
    }
    Flow::Next
}

unsafe fn round_mode(wave: &mut Wave, code: &Code) -> Flow {
    wave.mode = wave.mode & !0xf | code.imm as u32 & 0xf;
    Flow::Next
}

unsafe fn denorm_mode(wave: &mut Wave, code: &Code) -> Flow {
    wave.mode = wave.mode & !0xf0 | (code.imm as u32 & 0xf) << 4;
    Flow::Next
}

/// Messages that return nothing: an interrupt wakes the host, all others are for graphics and debuggers.
unsafe fn sendmsg(wave: &mut Wave, code: &Code) -> Flow {
    if code.imm & 0xf == 1 {
        crate::machine::interrupt(wave.sgpr[usize::from(scalar::M0)]);
    }
    Flow::Next
}

/// Messages that return something; only the clock has anything to say.
unsafe fn sendmsg_rtn32(wave: &mut Wave, code: &Code) -> Flow {
    let value = if code.imm & 0xff == 131 { realtime() as u32 } else { 0 };
    wave.set_scalar(code.dst as u8, value);
    Flow::Next
}

unsafe fn sendmsg_rtn64(wave: &mut Wave, code: &Code) -> Flow {
    let value = if code.imm & 0xff == 131 { realtime() } else { 0 };
    wave.set_scalar64(code.dst as u8, value);
    Flow::Next
}

/// The general register `offset` after `slot`, if there are `count` of them.
fn relative(wave: &mut Wave, slot: u32, offset: u32, count: u32) -> Result<u8, Flow> {
    match slot.checked_add(offset).filter(|slot| slot + count <= u32::from(scalar::VCC)) {
        Some(slot) => Ok(slot as u8),
        None => {
            let what = format!("scalar register {slot} relative to {offset} is none");
            Err(wave.fail(FaultKind::Unsupported { what }))
        }
    }
}

/// Scalar moves between registers relative to M0. `imm` holds the number of registers, 1 or 2.
unsafe fn movrels(wave: &mut Wave, code: &Code) -> Flow {
    let crate::exec::Src::Scalar(slot) = code.src[0] else { return Flow::Next };
    let offset = wave.sgpr[usize::from(scalar::M0)];
    match relative(wave, u32::from(slot), offset, code.imm as u32) {
        Ok(slot) if code.imm == 2 => {
            let value = wave.scalar64(slot);
            wave.set_scalar64(code.dst as u8, value);
            Flow::Next
        }
        Ok(slot) => {
            let value = wave.sgpr[usize::from(slot)];
            wave.set_scalar(code.dst as u8, value);
            Flow::Next
        }
        Err(flow) => flow,
    }
}

/// See [`movrels`].
unsafe fn movreld(wave: &mut Wave, code: &Code) -> Flow {
    let offset = wave.sgpr[usize::from(scalar::M0)];
    match relative(wave, code.dst, offset, code.imm as u32) {
        Ok(slot) if code.imm == 2 => {
            let value = read64(wave, code.src[0]);
            wave.set_scalar64(slot, value);
            Flow::Next
        }
        Ok(slot) => {
            let value = read32(wave, code.src[0]);
            wave.set_scalar(slot, value);
            Flow::Next
        }
        Err(flow) => flow,
    }
}

unsafe fn movrelsd2(wave: &mut Wave, code: &Code) -> Flow {
    let crate::exec::Src::Scalar(slot) = code.src[0] else { return Flow::Next };
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let from = relative(wave, u32::from(slot), m0 & 0x3ff, 1);
    let to = relative(wave, code.dst, m0 >> 16 & 0x3ff, 1);
    match (from, to) {
        (Ok(from), Ok(to)) => {
            let value = wave.sgpr[usize::from(from)];
            wave.set_scalar(to, value);
            Flow::Next
        }
        (Err(flow), _) | (_, Err(flow)) => flow,
    }
}

/// The handler of an instruction on hardware registers and its `imm`.
pub(super) fn handler(inst: &Inst, context: &Context) -> Option<(Handler, i64)> {
    let immediate = inst.src.iter().find_map(|src| match src {
        Operand::Imm(value) => Some(i64::from(*value)),
        Operand::Int(value) => Some(i64::from(*value)),
        Operand::Literal(value) => Some(i64::from(*value)),
        _ => None,
    });
    let generation = match context.generation {
        Generation::Gfx12 => GFX12,
        generation if generation.is_cdna() => GFX9,
        _ => 0,
    };
    let hwreg = || match inst.src[if inst.op == Op::SGetregB32 { 0 } else { 1 }] {
        Operand::Imm(value) => Some(i64::from(value as u16) | generation),
        _ => None,
    };
    Some(match inst.op {
        Op::SGetregB32 => (getreg as Handler, hwreg()?),
        Op::SSetregB32 | Op::SSetregImm32B32 => (setreg as Handler, hwreg()?),
        Op::SSetGprIdxOn => match inst.src[1] {
            Operand::Imm(value) => (index_on as Handler, i64::from(value)),
            _ => return None,
        },
        Op::SSetGprIdxOff => (index_off as Handler, 0),
        Op::SSetGprIdxIdx => (index_set as Handler, 0),
        Op::SSetGprIdxMode => (index_mode as Handler, immediate?),
        Op::SSetvskip => (skip as Handler, 0),
        Op::SRoundMode => (round_mode as Handler, immediate?),
        Op::SDenormMode => (denorm_mode as Handler, immediate?),
        Op::SSendmsg => (sendmsg as Handler, immediate?),
        Op::SSendmsgRtnB32 => (sendmsg_rtn32 as Handler, immediate?),
        Op::SSendmsgRtnB64 => (sendmsg_rtn64 as Handler, immediate?),
        Op::SMovrelsB32 => (movrels as Handler, 1),
        Op::SMovrelsB64 => (movrels as Handler, 2),
        Op::SMovreldB32 => (movreld as Handler, 1),
        Op::SMovreldB64 => (movreld as Handler, 2),
        Op::SMovrelsd2B32 => (movrelsd2 as Handler, 0),
        _ => return None,
    })
}
