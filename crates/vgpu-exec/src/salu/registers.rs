//! MODE, messages, and registers selected at run time.

use std::sync::LazyLock;
use std::time::Instant;

use gpu_report::FaultKind;
use vgpu_isa::{Inst, Op, Operand, scalar};

use super::{read32, read64};
use crate::program::{INDEXED, SKIP};
use crate::{Code, Flow, Handler, Wave};

/// Ticks of the 100 MHz clock that `s_memrealtime` and its successors read.
pub(crate) fn realtime() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    (START.elapsed().as_nanos() / 10) as u64
}

/// Cycles of the clock that waves count, at 2 GHz.
pub(crate) fn cycles() -> u64 {
    realtime() * 20
}

/// Writes MODE. If that changes what vector instructions do, the wave continues in a different form of code.
pub(super) fn set_mode(wave: &mut Wave, code: &Code, mode: u32) -> Flow {
    let changed = mode ^ wave.mode;
    wave.mode = mode;
    if !code.generation.is_cdna() || changed & (INDEXED | SKIP) == 0 {
        return Flow::Next;
    }
    let place = wave.unit.as_ref().and_then(|unit| {
        let inst = code.inst as usize;
        Some(unit.pcs.get(inst)? + u64::from(unit.insts.get(inst)?.size))
    });
    match place {
        Some(next) => {
            wave.target = next;
            Flow::Leave
        }
        None => wave.fail(FaultKind::Internal { what: "an instruction outside the code".to_owned() }),
    }
}

/// gfx9: from now on, the numbers of vector registers are relative to M0; see [`Form`](crate::Form). `imm`:
/// which registers.
unsafe fn index_on(wave: &mut Wave, code: &Code) -> Flow {
    let m0 = wave.sgpr[usize::from(scalar::M0)];
    let index = read32(wave, code.src[0]) & 0xff;
    wave.set_scalar(scalar::M0, m0 & !0xf0ff | index | (code.imm as u32 & 15) << 12);
    set_mode(wave, code, wave.mode | INDEXED)
}

unsafe fn index_off(wave: &mut Wave, code: &Code) -> Flow {
    set_mode(wave, code, wave.mode & !INDEXED)
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

/// gfx9: sets whether the wave skips vector instructions from now on.
unsafe fn skip(wave: &mut Wave, code: &Code) -> Flow {
    let bit = read32(wave, code.src[1]) & 31;
    let skips = read32(wave, code.src[0]) >> bit & 1 != 0;
    let mode = if skips { wave.mode | SKIP } else { wave.mode & !SKIP };
    set_mode(wave, code, mode)
}

unsafe fn round_mode(wave: &mut Wave, code: &Code) -> Flow {
    wave.mode = wave.mode & !0xf | code.imm as u32 & 0xf;
    Flow::Next
}

unsafe fn denorm_mode(wave: &mut Wave, code: &Code) -> Flow {
    wave.mode = wave.mode & !0xf0 | (code.imm as u32 & 0xf) << 4;
    Flow::Next
}

/// Messages without a result: an interrupt wakes the host, and all others are for graphics and debuggers.
unsafe fn sendmsg(wave: &mut Wave, code: &Code) -> Flow {
    if code.imm & 0xf == 1 {
        crate::interrupt(wave.sgpr[usize::from(scalar::M0)]);
    }
    Flow::Next
}

/// Messages with a result; only the clock returns a value.
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

/// The general register `offset` after `slot`, if `count` registers exist there.
fn relative(wave: &mut Wave, slot: u32, offset: u32, count: u32) -> Result<u8, Flow> {
    let first = slot.checked_add(offset);
    let end = first.and_then(|first| first.checked_add(count));
    match first.zip(end) {
        Some((first, end)) if end <= u32::from(scalar::VCC) => Ok(first as u8),
        _ => {
            let what = format!("scalar register at offset {offset} from {slot}, which does not exist");
            Err(wave.fail(FaultKind::Unsupported { what }))
        }
    }
}

/// Scalar moves between registers relative to M0. `imm` holds the number of registers, 1 or 2.
unsafe fn movrels(wave: &mut Wave, code: &Code) -> Flow {
    let crate::Src::Scalar(slot) = code.src[0] else { return Flow::Next };
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
    let crate::Src::Scalar(slot) = code.src[0] else { return Flow::Next };
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

/// The handler of one of these instructions and its `imm`.
pub(super) fn handler(inst: &Inst) -> Option<(Handler, i64)> {
    let immediate = inst.src.iter().find_map(|src| match src {
        Operand::Imm(value) => Some(i64::from(*value)),
        Operand::Int(value) => Some(i64::from(*value)),
        Operand::Literal(value) => Some(i64::from(*value)),
        _ => None,
    });
    Some(match inst.op {
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
