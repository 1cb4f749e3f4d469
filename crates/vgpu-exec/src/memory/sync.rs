//! Global wave sync. Semaphores, which no compiler uses, are not supported.

use vgpu_isa::{Op, scalar};

use crate::{Code, Flow, Handler, Src, Wave};

/// The handler of an instruction, if it is one of these. `imm` is its offset.
pub(super) fn handler(op: Op) -> Option<Handler> {
    match op {
        Op::DsGwsInit => Some(initialise as Handler),
        Op::DsGwsBarrier => Some(barrier as Handler),
        _ => None,
    }
}

/// The resource that an instruction uses.
fn resource(wave: &Wave, code: &Code) -> u32 {
    (wave.sgpr[usize::from(scalar::M0)] >> 16 & 0x3f).wrapping_add(code.imm as u32) & 0x3f
}

/// The value of the first enabled lane.
///
/// # Safety
/// As for handlers.
unsafe fn value(wave: &Wave, code: &Code) -> u32 {
    let lane = match wave.active() {
        0 => 0,
        mask => mask.trailing_zeros() as usize,
    };
    let Src::Vector(first) = code.src[1] else { return 0 };
    // SAFETY: the operand was lowered for this wave's file, and the lane belongs to the wave.
    unsafe { wave.vgpr.add(first as usize + lane).read() }
}

unsafe fn initialise(wave: &mut Wave, code: &Code) -> Flow {
    // SAFETY: the caller's promise.
    let others = unsafe { value(wave, code) };
    // SAFETY: the group makes the wave point to its launch, which outlives its waves.
    if let Some(sync) = unsafe { wave.access.sync.as_ref() } {
        sync.initialise(resource(wave, code), others);
    }
    Flow::Next
}

unsafe fn barrier(wave: &mut Wave, code: &Code) -> Flow {
    let number = resource(wave, code);
    // SAFETY: the caller's promise.
    let others = unsafe { value(wave, code) };
    // SAFETY: as above.
    let Some(sync) = (unsafe { wave.access.sync.as_ref() }) else { return Flow::Next };
    let round = match wave.round {
        0 => match sync.arrive(number, others) {
            Some(round) => round,
            None => return Flow::Next,
        },
        round => round,
    };
    if sync.has_reached(number, round) {
        wave.round = 0;
        return Flow::Next;
    }
    wave.round = round;
    Flow::Retry
}
