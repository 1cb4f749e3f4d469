//! Scalar instructions: SOP1, SOP2, SOPC, SOPK and SOPP.

mod arithmetic;
mod control;
mod hardware;
mod registers;

pub use hardware::Hardware;
pub(super) use registers::{cycles, realtime};

use std::sync::atomic::{Ordering, fence};

use vgpu_isa::{Generation, Inst, Op, Operand, Special};

use super::lower::{Context, operands};
use super::{Code, Flow, Src, Wave};

// NEW-OP: scalar operations, in the file of their kind.
/// Lowers a scalar instruction.
pub(super) fn lower(
    inst: &Inst,
    pc: u64,
    number: u32,
    context: &Context,
    codes: &mut Vec<Code>,
) -> Option<()> {
    if waits_for_stores(inst, context.generation) {
        codes.push(super::lower::bare(wait_for_stores, 0, number));
        return Some(());
    }
    if vanishes(inst.op) {
        return Some(());
    }
    let code = operands(inst, number, context, codes)?;
    if let Some(run) = arithmetic::handler(inst.op) {
        codes.push(Code { run, ..code });
        return Some(());
    }
    let next = pc.wrapping_add(u64::from(inst.size));
    let (run, imm) = control::handler(inst, next, context)
        .or_else(|| hardware::handler(inst))
        .or_else(|| registers::handler(inst))?;
    codes.push(Code { run, imm, ..code });
    Some(())
}

/// Whether the wave must wait until others see everything that it stored: it waits until no store is
/// outstanding. gfx9 counts loads and stores together.
fn waits_for_stores(inst: &Inst, generation: Generation) -> bool {
    let count = match (inst.op, inst.src) {
        (Op::SWaitcntVscnt, [_, Operand::Imm(count), ..]) => count,
        (Op::SWaitStorecnt, [Operand::Imm(count), ..]) => count,
        (Op::SWaitStorecntDscnt, [Operand::Imm(counts), ..]) => counts >> 8 & 0x3f,
        (Op::SWaitcnt, [Operand::Imm(counts), ..]) if generation.is_cdna() => {
            counts & 0xf | counts >> 10 & 0x30
        }
        _ => return false,
    };
    count == 0
}

/// Makes the wave's stores visible to other host threads before its next load. The host could otherwise
/// reorder the loads before the stores.
unsafe fn wait_for_stores(wave: &mut Wave, _: &Code) -> Flow {
    if wave.stored {
        wave.stored = false;
        fence(Ordering::SeqCst);
    }
    Flow::Next
}

/// Whether an instruction does nothing here: hints, other waits, and cache control. Memory is coherent, and
/// every instruction completes before the next.
fn vanishes(op: Op) -> bool {
    matches!(
        op,
        Op::SNop
            | Op::SClause
            | Op::SDelayAlu
            | Op::SSetprio
            | Op::SSetInstPrefetchDistance
            | Op::SWaitcnt
            | Op::SWaitcntDepctr
            | Op::SWaitcntExpcnt
            | Op::SWaitcntLgkmcnt
            | Op::SWaitcntVmcnt
            | Op::SWaitcntVscnt
            | Op::SWaitAlu
            | Op::SWaitBvhcnt
            | Op::SWaitDscnt
            | Op::SWaitEvent
            | Op::SWaitExpcnt
            | Op::SWaitIdle
            | Op::SWaitKmcnt
            | Op::SWaitLoadcnt
            | Op::SWaitLoadcntDscnt
            | Op::SWaitSamplecnt
            | Op::SWaitStorecnt
            | Op::SWaitStorecntDscnt
            | Op::SWakeup
            | Op::SIcacheInv
            | Op::SIncperflevel
            | Op::SDecperflevel
            | Op::STtracedata
            | Op::STtracedataImm
            | Op::SSetkill
            | Op::SVersion
    )
}

/// A 32-bit scalar source.
#[inline(always)]
fn read32(wave: &Wave, src: Src) -> u32 {
    match src {
        Src::Scalar(slot) => wave.sgpr[usize::from(slot & 127)],
        Src::Const(value) => value as u32,
        Src::Temp(row) => wave.temp[usize::from(row & 7)][0],
        Src::Vector(_) => 0,
    }
}

/// A 64-bit scalar source.
#[inline(always)]
fn read64(wave: &Wave, src: Src) -> u64 {
    match src {
        Src::Scalar(slot) => wave.scalar64(slot),
        Src::Const(value) => value,
        Src::Temp(row) => u64::from(wave.temp[usize::from(row & 7)][0]),
        Src::Vector(_) => 0,
    }
}

/// The code that reads a status bit into a temporary row, before the instruction that uses it as a source.
pub(super) fn read_special(special: Special, place: usize, inst: u32, lanes: usize) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        let zero = |slot: u8| u32::from(wave.lane_mask(slot) == 0);
        let value = match code.imm {
            0 => u32::from(wave.scc),
            1 => zero(vgpu_isa::scalar::VCC),
            _ => zero(vgpu_isa::scalar::EXEC),
        };
        let row = usize::from(code.sdst & 7);
        wave.temp[row] = [value; 64];
        wave.temp[(row + 1) & 7] = [0; 64];
        Flow::Next
    }
    debug_assert!(lanes == 32 || lanes == 64);
    let imm = match special {
        Special::Scc => 0,
        Special::VccZ => 1,
        _ => 2,
    };
    Code { sdst: 2 * place as u8, ..super::lower::bare(run, imm, inst) }
}
