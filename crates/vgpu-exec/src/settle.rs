//! After a barrier, every wave of a workgroup reads LDS before one of them goes on.
//!
//! On hardware, the waves leave a barrier together and issue their reads of LDS within a few cycles; whatever depends on those waits for
//! much longer. Kernels rely on that by accident: rocPRIM's `adjacent_find` has a barrier, reads a value of LDS in all waves, and lets
//! one of them overwrite it after a load from memory, without another barrier between. If a wave ran on alone here, the others would read
//! the new value. So a wave stops once at its first wait after its first access to LDS after a barrier. The check for data races
//! reports such kernels all the same.

use vgpu_isa::{Format, Inst, Op};

use super::lower::bare;
use super::wave::{Code, Flow, Wave};

/// How far instructions in a row are on the way to the place where waves stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Settling {
    /// There was no barrier.
    #[default]
    Not,
    /// There was a barrier.
    Barrier,
    /// After the barrier, LDS was accessed.
    Lds,
}

impl Settling {
    /// Goes on behind an instruction. Says whether waves stop there.
    pub(super) fn pass(&mut self, inst: &Inst) -> bool {
        let stops = *self == Settling::Lds && waits_for_lds(inst.op);
        *self = match (inst.op, *self) {
            (Op::SBarrier | Op::SBarrierWait, _) => Settling::Barrier,
            _ if stops => Settling::Not,
            (_, Settling::Barrier) if inst.format == Format::Ds => Settling::Lds,
            (_, here) => here,
        };
        stops
    }
}

/// Waits that the results of LDS accesses need.
pub(super) fn waits_for_lds(op: Op) -> bool {
    matches!(
        op,
        Op::SWaitcnt
            | Op::SWaitcntLgkmcnt
            | Op::SWaitDscnt
            | Op::SWaitIdle
            | Op::SWaitLoadcntDscnt
            | Op::SWaitStorecntDscnt
    )
}

/// Where a wave that has passed a barrier stops once.
pub(super) fn code(inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, _: &Code) -> Flow {
        if std::mem::take(&mut wave.settles) { Flow::Settle } else { Flow::Next }
    }
    bare(run, 0, inst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::no_inst;

    #[test]
    fn waves_stop_at_the_first_wait_after_an_access_after_a_barrier() {
        let inst = |op: Op| {
            let format = if matches!(op, Op::DsLoadB32 | Op::DsStoreB32) { Format::Ds } else { Format::Sopp };
            Inst { op, format, ..no_inst() }
        };
        let stops = |ops: &[Op]| {
            let mut settling = Settling::default();
            let stops = ops.iter().enumerate().filter(|(_, op)| settling.pass(&inst(**op)));
            stops.map(|(at, _)| at).collect::<Vec<_>>()
        };
        use Op::*;
        assert_eq!(stops(&[DsLoadB32, SWaitcnt]), [0; 0]);
        assert_eq!(
            stops(&[SBarrier, SWaitcnt, DsLoadB32, DsLoadB32, SWaitcnt, SWaitcnt, DsLoadB32, SWaitcnt]),
            [4]
        );
        assert_eq!(
            stops(&[SBarrierSignal, DsLoadB32, SWaitDscnt, SBarrierWait, DsStoreB32, SWaitDscnt]),
            [5]
        );
        assert_eq!(stops(&[SBarrier, DsLoadB32, SBarrier, SWaitcnt, DsLoadB32, SWaitLoadcntDscnt]), [5]);
    }
}
