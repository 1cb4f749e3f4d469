//! Scalar control flow: branches, calls, barriers, the end.

use super::read64;
use crate::exec::lower::Context;
use crate::exec::{Body, Code, Flow, Handler, Wave, scalar_handler};
use crate::isa::{Inst, Op, Operand, scalar};
use crate::machine::FaultKind;

/// Conditional branches to the index in `code.imm`.
macro_rules! branches {
    ($($name:ident |$wave:ident| $condition:expr;)*) => {$(
        struct $name;

        impl Body for $name {
            #[inline(always)]
            unsafe fn run<const W: usize>($wave: &mut Wave, code: &Code) -> Flow {
                if $condition {
                    $wave.next = code.imm as u32;
                    return Flow::Jump;
                }
                Flow::Next
            }
        }
    )*};
}

branches! {
    Always |wave| true;
    IfScc0 |wave| !wave.scc;
    IfScc1 |wave| wave.scc;
    IfVccZero |wave| wave.mask::<W>(scalar::VCC) == 0;
    IfVccNonzero |wave| wave.mask::<W>(scalar::VCC) != 0;
    IfExecZero |wave| wave.exec::<W>() == 0;
    IfExecNonzero |wave| wave.exec::<W>() != 0;
    Never |wave| { let _ = &wave; false };
}

unsafe fn getpc(wave: &mut Wave, code: &Code) -> Flow {
    wave.set_scalar64(code.dst as u8, code.imm as u64);
    Flow::Next
}

unsafe fn setpc(wave: &mut Wave, code: &Code) -> Flow {
    wave.target = read64(wave, code.src[0]) & !3;
    Flow::Leave
}

unsafe fn swappc(wave: &mut Wave, code: &Code) -> Flow {
    wave.target = read64(wave, code.src[0]) & !3;
    wave.set_scalar64(code.dst as u8, code.imm as u64);
    Flow::Leave
}

/// The destination gets the address after this instruction; the source holds the target's distance in words.
unsafe fn call(wave: &mut Wave, code: &Code) -> Flow {
    let offset = read64(wave, code.src[0]) as i64;
    wave.target = (code.imm as u64).wrapping_add_signed(offset.wrapping_mul(4));
    wave.set_scalar64(code.dst as u8, code.imm as u64);
    Flow::Leave
}

unsafe fn end(_: &mut Wave, _: &Code) -> Flow {
    Flow::End
}

unsafe fn barrier(wave: &mut Wave, _: &Code) -> Flow {
    wave.signals += 1;
    wave.waits += 1;
    Flow::Barrier
}

/// The wave arrives at the barrier and goes on.
unsafe fn barrier_signal(wave: &mut Wave, _: &Code) -> Flow {
    wave.signals += 1;
    Flow::Next
}

/// The wave waits until all have arrived as often as it has waited.
unsafe fn barrier_wait(wave: &mut Wave, _: &Code) -> Flow {
    wave.waits += 1;
    Flow::Barrier
}

unsafe fn sleep(_: &mut Wave, _: &Code) -> Flow {
    Flow::Yield
}

unsafe fn trap(wave: &mut Wave, code: &Code) -> Flow {
    wave.fail(FaultKind::Trap { id: code.imm as u8 })
}

unsafe fn code_end(wave: &mut Wave, _: &Code) -> Flow {
    wave.fail(FaultKind::IllegalInstruction { bytes: vec![0, 0, 0x9f, 0xbf] })
}

/// The handler of a control flow instruction and its `imm`. Direct jumps get theirs when all of the unit is lowered.
pub(super) fn handler(inst: &Inst, next: u64, context: &Context) -> Option<(Handler, i64)> {
    let lanes = context.lanes;
    Some(match inst.op {
        Op::SBranch => (scalar_handler::<Always>(lanes), 0),
        Op::SCbranchScc0 => (scalar_handler::<IfScc0>(lanes), 0),
        Op::SCbranchScc1 => (scalar_handler::<IfScc1>(lanes), 0),
        Op::SCbranchVccz => (scalar_handler::<IfVccZero>(lanes), 0),
        Op::SCbranchVccnz => (scalar_handler::<IfVccNonzero>(lanes), 0),
        Op::SCbranchExecz => (scalar_handler::<IfExecZero>(lanes), 0),
        Op::SCbranchExecnz => (scalar_handler::<IfExecNonzero>(lanes), 0),
        // No debugger is ever attached.
        Op::SCbranchCdbgsys
        | Op::SCbranchCdbguser
        | Op::SCbranchCdbgsysOrUser
        | Op::SCbranchCdbgsysAndUser => (scalar_handler::<Never>(lanes), 0),
        Op::SGetpcB64 => (getpc as Handler, next as i64),
        Op::SSetpcB64 => (setpc as Handler, 0),
        Op::SSwappcB64 => (swappc as Handler, next as i64),
        Op::SCallB64 => (call as Handler, next as i64),
        Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => (end as Handler, 0),
        Op::SBarrier => (barrier as Handler, 0),
        // There are no barriers but the workgroup's own, number -1.
        Op::SBarrierSignal => match inst.src[0] {
            Operand::Int(-1) => (barrier_signal as Handler, 0),
            _ => return None,
        },
        Op::SBarrierWait => match inst.src[0] {
            Operand::Imm(-1 | 0xffff) => (barrier_wait as Handler, 0),
            _ => return None,
        },
        Op::SSleep | Op::SSleepVar => (sleep as Handler, 0),
        Op::STrap => match inst.src[0] {
            Operand::Imm(id) => (trap as Handler, i64::from(id)),
            _ => return None,
        },
        Op::SCodeEnd => (code_end as Handler, 0),
        _ => return None,
    })
}
