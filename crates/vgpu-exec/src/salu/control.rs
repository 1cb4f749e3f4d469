//! Scalar control flow: branches, calls, barriers, the end of a wave.

use gpu_report::FaultKind;
use vgpu_isa::{Inst, Op, Operand, scalar};

use super::{read32, read64};
use crate::lower::Context;
use crate::{Barrier, Body, Code, Flow, Handler, Src, Wave, scalar_handler};

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

/// The destination gets the address after this instruction; the source holds the distance to the target in
/// words.
unsafe fn call(wave: &mut Wave, code: &Code) -> Flow {
    let offset = read64(wave, code.src[0]) as i64;
    wave.target = (code.imm as u64).wrapping_add_signed(offset.wrapping_mul(4));
    wave.set_scalar64(code.dst as u8, code.imm as u64);
    Flow::Leave
}

/// The position of bits 29..=31 of MODE, the depth of the stack of forks.
const DEPTH: u32 = 29;

/// Splits the wave. It continues with the smaller part and pushes the address at which the larger part
/// continues. `imm` is the address after the instruction, `target` the one for the lanes in `mask`.
fn fork(wave: &mut Wave, mask: u64, target: u64, next: u64) -> Flow {
    let exec = wave.scalar64(scalar::EXEC);
    let (pass, fail) = (exec & mask, exec & !mask);
    if pass == exec {
        wave.target = target;
        return Flow::Leave;
    }
    if fail == exec {
        return Flow::Next;
    }
    let fail_first = fail.count_ones() < pass.count_ones();
    let (now, later, address) = if fail_first { (fail, pass, target) } else { (pass, fail, next) };
    let slot = (wave.mode >> DEPTH) as u8 * 4;
    wave.set_scalar64(slot, later);
    wave.set_scalar64(slot + 2, address);
    wave.mode = wave.mode.wrapping_add(1 << DEPTH);
    wave.set_scalar64(scalar::EXEC, now);
    if fail_first {
        return Flow::Next;
    }
    wave.target = target;
    Flow::Leave
}

unsafe fn fork_to_register(wave: &mut Wave, code: &Code) -> Flow {
    let (mask, target) = (read64(wave, code.src[0]), read64(wave, code.src[1]));
    fork(wave, mask, target & !3, code.imm as u64)
}

unsafe fn fork_to_offset(wave: &mut Wave, code: &Code) -> Flow {
    let (mask, words) = (read64(wave, code.src[0]), read64(wave, code.src[1]) as i64);
    let target = (code.imm as u64).wrapping_add_signed(words.wrapping_mul(4));
    fork(wave, mask, target, code.imm as u64)
}

/// Continues with the forked part, unless the source shows that all parts have reached this point.
unsafe fn join(wave: &mut Wave, code: &Code) -> Flow {
    if wave.mode >> DEPTH == read32(wave, code.src[0]) {
        return Flow::Next;
    }
    wave.mode = wave.mode.wrapping_sub(1 << DEPTH);
    let slot = (wave.mode >> DEPTH) as u8 * 4;
    wave.target = wave.scalar64(slot + 2);
    let mask = wave.scalar64(slot);
    wave.set_scalar64(scalar::EXEC, mask);
    Flow::Leave
}

/// Begins a loop with one round for each half of a wave of 64 that has enabled lanes. `imm`: the end of the
/// loop.
unsafe fn halves_begin(wave: &mut Wave, code: &Code) -> Flow {
    let (low, high) = (usize::from(scalar::EXEC), usize::from(scalar::EXEC) + 1);
    if wave.lanes == 32 {
        return Flow::Next;
    }
    match (wave.sgpr[low], wave.sgpr[high]) {
        (0, 0) => {
            wave.next = code.imm as u32;
            return Flow::Jump;
        }
        (0, _) => wave.set_scalar(code.dst as u8, 0),
        (_, later) => {
            wave.set_scalar(code.dst as u8, later);
            wave.sgpr[high] = 0;
        }
    }
    Flow::Next
}

/// Ends a round of the loop. `imm`: the start of the next round.
unsafe fn halves_end(wave: &mut Wave, code: &Code) -> Flow {
    let (low, high) = (usize::from(scalar::EXEC), usize::from(scalar::EXEC) + 1);
    let saved = wave.sgpr[code.dst as usize & 127];
    if wave.lanes == 32 {
        return Flow::Next;
    }
    if wave.sgpr[high] != 0 {
        wave.sgpr[low] = saved;
        return Flow::Next;
    }
    if saved == 0 {
        return Flow::Next;
    }
    wave.sgpr[high] = saved;
    let low_half = wave.sgpr[low];
    wave.set_scalar(code.dst as u8, low_half);
    wave.sgpr[low] = 0;
    wave.next = code.imm as u32;
    Flow::Jump
}

unsafe fn end(_: &mut Wave, _: &Code) -> Flow {
    Flow::End
}

/// The number of the workgroup's barrier.
const WORKGROUP: i32 = -1;
/// The barrier of trap handlers, which kernels cannot signal.
const TRAP: i32 = -2;

unsafe fn barrier(wave: &mut Wave, _: &Code) -> Flow {
    let Some(barrier) = wave.barrier_mut() else { return Flow::Next };
    barrier.signal();
    Flow::Barrier
}

/// The number of the barrier in an instruction: a constant, or a named barrier in M0.
fn barrier_number(wave: &Wave, src: Src) -> i32 {
    match src {
        Src::Scalar(scalar::M0) => (wave.sgpr[usize::from(scalar::M0)] & 31) as i32,
        src => read32(wave, src) as i32,
    }
}

/// `s_barrier_signal` and, if `FIRST`, `s_barrier_signal_isfirst`: the wave arrives at the barrier and
/// continues.
unsafe fn barrier_signal<const FIRST: bool>(wave: &mut Wave, code: &Code) -> Flow {
    let first = match barrier_number(wave, code.src[0]) {
        WORKGROUP => wave.barrier_mut().is_some_and(Barrier::signal),
        TRAP | 0 => false,
        number => {
            let what = format!("signal to barrier {number}: the target has no named barriers");
            return wave.fail(FaultKind::Unsupported { what });
        }
    };
    if FIRST {
        wave.scc = first;
    }
    Flow::Next
}

/// The wave waits until all waves have arrived since it last passed.
unsafe fn barrier_wait(wave: &mut Wave, _: &Code) -> Flow {
    if wave.barrier.is_null() { Flow::Next } else { Flow::Barrier }
}

/// A barrier that the target does not have is invalid: zero.
unsafe fn barrier_state(wave: &mut Wave, code: &Code) -> Flow {
    let state = match barrier_number(wave, code.src[0]) {
        WORKGROUP => wave.barrier_mut().map_or(0, |barrier| barrier.state()),
        _ => 0,
    };
    wave.set_scalar(code.dst as u8, state);
    Flow::Next
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

/// The handler of a control flow instruction, and its `imm`. Direct jumps get theirs when the whole unit is
/// lowered.
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
        // A debugger is never attached.
        Op::SCbranchCdbgsys
        | Op::SCbranchCdbguser
        | Op::SCbranchCdbgsysOrUser
        | Op::SCbranchCdbgsysAndUser => (scalar_handler::<Never>(lanes), 0),
        Op::SGetpcB64 => (getpc as Handler, next as i64),
        Op::SSetpcB64 => (setpc as Handler, 0),
        Op::SSwappcB64 => (swappc as Handler, next as i64),
        Op::SCallB64 => (call as Handler, next as i64),
        Op::SCbranchGFork => (fork_to_register as Handler, next as i64),
        Op::SCbranchIFork => (fork_to_offset as Handler, next as i64),
        Op::SCbranchJoin => (join as Handler, 0),
        Op::SSubvectorLoopBegin => (halves_begin as Handler, 0),
        Op::SSubvectorLoopEnd => (halves_end as Handler, 0),
        Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => (end as Handler, 0),
        Op::SBarrier => (barrier as Handler, 0),
        // The only barriers are the workgroup's own, that of trap handlers, and none.
        Op::SBarrierSignal | Op::SBarrierSignalIsfirst => match (inst.src[0], inst.op) {
            (Operand::Int(..=-3 | 1..) | Operand::Float(_), _) => return None,
            (_, Op::SBarrierSignal) => (barrier_signal::<false> as Handler, 0),
            _ => (barrier_signal::<true> as Handler, 0),
        },
        Op::SBarrierWait => match inst.src[0] {
            Operand::Imm(-1 | 0xffff) => (barrier_wait as Handler, 0),
            _ => return None,
        },
        Op::SGetBarrierState => (barrier_state as Handler, 0),
        Op::SSleep | Op::SSleepVar => (sleep as Handler, 0),
        Op::STrap => match inst.src[0] {
            Operand::Imm(id) => (trap as Handler, i64::from(id)),
            _ => return None,
        },
        Op::SCodeEnd => (code_end as Handler, 0),
        _ => return None,
    })
}
