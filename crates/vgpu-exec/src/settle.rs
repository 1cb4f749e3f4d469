//! Keeps the waves of a workgroup roughly in step after a barrier.
//!
//! On hardware, the waves leave a barrier together and continue at about the same rate. Some kernels
//! accidentally rely on that: all waves read LDS, and then one of them overwrites it without another barrier.
//! rocPRIM's `adjacent_find` does this after a load from memory. rocSOLVER's small factorisations do it at
//! the head of a loop whose last round ended in a barrier, and after sums over a row of LDS. If one wave ran
//! ahead here, the others would read the new value. So a wave that has read LDS since it was last together
//! with the others stops before it writes LDS, until they have reached a write, a barrier or the end of their
//! time slice. The check for data races still reports such kernels.
//!
//! Whether a wave has read LDS is tracked at run time, on any path: reads record it, and writes check it.
//! Both are omitted where they cannot change anything, because the same was done just before.

use vgpu_isa::{Fact, Footprint, Format, Inst, Op, Operand};

use gpu_report::AccessKind;

use super::lower::bare;
use super::wave::{Code, Flow, Wave};

/// What a wave has done since it was last together with the others of its workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Since(u8);

impl Since {
    /// It has passed a barrier together with others. Before that, their progress is unknown.
    pub(super) const TOGETHER: u8 = 1;
    /// It has read LDS.
    const READ: u8 = 2;
    /// It has learned the contents of LDS from an atomic operation.
    const EXCHANGED: u8 = 4;

    /// The wave passes a barrier, with others or alone.
    pub(super) fn barrier(&mut self, others: bool) {
        self.0 = if others { Since::TOGETHER } else { 0 };
    }

    /// Whether the wave stops before it overwrites what it has read; if so, its state is reset.
    fn stops(&mut self, spoils: u8) -> bool {
        let stops = self.0 & Since::TOGETHER != 0 && self.0 & spoils != 0;
        if stops {
            self.0 = Since::TOGETHER;
        }
        stops
    }
}

/// The effect of an instruction on LDS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Effect {
    /// The bits of [`Since`] that it sets.
    notes: u8,
    /// The bits of [`Since`] that must not be set before it, if other waves may be behind.
    spoils: u8,
}

impl Effect {
    const NONE: Effect = Effect { notes: 0, spoils: 0 };

    fn of(inst: &Inst) -> Effect {
        if inst.op.has(Fact::TO_LDS) || inst.mem.lds {
            return Effect { notes: 0, spoils: Since::READ | Since::EXCHANGED };
        }
        // FLAT instructions can access LDS, too.
        if !matches!(inst.format, Format::Ds | Format::LdsDir | Format::Flat) {
            return Effect::NONE;
        }
        let kind = match inst.op.footprint() {
            Footprint::One(kind, _) | Footprint::Two(kind, ..) | Footprint::ByLane(kind) => kind,
            Footprint::Block(kind) | Footprint::Typed(kind, _) => kind,
            Footprint::Counter => AccessKind::Atomic,
            Footprint::Direct | Footprint::Tile(_) => AccessKind::Read,
            Footprint::None | Footprint::Unknown => return Effect::NONE,
        };
        match kind {
            AccessKind::Read => Effect { notes: Since::READ, spoils: 0 },
            AccessKind::Write => Effect { notes: 0, spoils: Since::READ | Since::EXCHANGED },
            // Programs must not rely on the order of atomic operations, but a wave that has read the value
            // before them may.
            AccessKind::Atomic => {
                let returns = inst.dst != Operand::None;
                Effect { notes: if returns { Since::EXCHANGED } else { 0 }, spoils: Since::READ }
            }
        }
    }
}

/// What is known about [`Since`] at an instruction, before any wave reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Settling {
    /// Bits that are known to be set.
    set: u8,
    /// Bits that are known not to be set.
    unset: u8,
}

/// The checks around an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Around {
    /// Waves that have done any of these stop before it.
    pub(super) stop: u8,
    /// Waves are recorded to have done these after it.
    pub(super) note: u8,
}

impl Settling {
    /// Advances past an instruction and returns the checks needed around it. `joins`: waves can also reach it
    /// by a jump.
    pub(super) fn pass(&mut self, inst: &Inst, joins: bool) -> Around {
        if joins {
            *self = Settling::default();
        }
        let effect = Effect::of(inst);
        let stop = effect.spoils & !self.unset;
        if stop != 0 {
            // Waves that do not stop have done none of it; the state of those that stop is reset.
            self.set = 0;
            self.unset |= effect.spoils;
        }
        let around = Around { stop, note: effect.notes & !self.set };
        self.set |= effect.notes;
        self.unset &= !effect.notes;
        match inst.op {
            Op::SBarrier | Op::SBarrierWait => {
                *self = Settling { set: 0, unset: Since::READ | Since::EXCHANGED };
            }
            // The effects of called functions are unknown.
            Op::SSwappcB64 | Op::SCallB64 => *self = Settling::default(),
            _ => {}
        }
        around
    }
}

/// A code at which a wave stops if it has done any of `spoils`. It belongs to no instruction, so observers do
/// not see it.
pub(super) fn stop(spoils: u8, inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        if wave.since.stops(code.imm as u8) { Flow::Settle } else { Flow::Next }
    }
    Code { sdst: Code::ASIDE, ..bare(run, spoils.into(), inst) }
}

/// A code that records what a wave has done.
pub(super) fn note(notes: u8, inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        wave.since.0 |= code.imm as u8;
        Flow::Next
    }
    bare(run, notes.into(), inst)
}

#[cfg(test)]
mod tests {
    use vgpu_isa::Op::*;

    use super::*;
    use crate::lower::no_inst;

    fn inst(op: Op) -> Inst {
        let format = match op {
            SBarrier | SBarrierSignal | SBarrierWait | SSwappcB64 | SWaitcnt => Format::Sopp,
            GlobalStoreB32 => Format::Global,
            FlatLoadB32 | FlatStoreB32 => Format::Flat,
            _ => Format::Ds,
        };
        let dst = if matches!(op, DsAddRtnU32) { Operand::Vgpr(0) } else { Operand::None };
        Inst { op, format, dst, ..no_inst() }
    }

    /// The instructions after which a wave with other waves beside it stops, if all of them run in a row.
    /// `joins` marks those that waves can also reach by a jump.
    fn stops(ops: &[Op], joins: &[usize]) -> Vec<usize> {
        let mut settling = Settling::default();
        let (mut wave, mut stops) = (Since::default(), Vec::new());
        let (mut plain, mut expected) = (Since::default(), Vec::new());
        for (at, &op) in ops.iter().enumerate() {
            let (around, effect) = (settling.pass(&inst(op), joins.contains(&at)), Effect::of(&inst(op)));
            // With the checks as placed, and with all possible checks.
            for (since, before, after, found) in [
                (&mut wave, around.stop, around.note, &mut stops),
                (&mut plain, effect.spoils, effect.notes, &mut expected),
            ] {
                if before != 0 && since.stops(before) {
                    found.push(at);
                }
                since.0 |= after;
                if matches!(op, SBarrier | SBarrierWait) {
                    since.barrier(true);
                }
            }
        }
        assert_eq!(stops, expected, "{ops:?}");
        stops
    }

    #[test]
    fn waves_stop_before_they_overwrite_what_they_have_read_since_a_barrier() {
        let none: [usize; 0] = [];
        assert_eq!(stops(&[DsLoadB32, DsStoreB32], &[]), none, "the progress of the others is unknown");
        assert_eq!(stops(&[SBarrier, DsLoadB32, SWaitcnt, DsStoreB32], &[]), [3]);
        assert_eq!(stops(&[SBarrier, DsStoreB32, DsLoadB32, SWaitcnt, DsStoreB32, DsStoreB32], &[]), [4]);
        assert_eq!(stops(&[SBarrier, DsLoadB32, SBarrier, DsStoreB32], &[]), none);
        assert_eq!(stops(&[DsLoadB32, SBarrierSignal, DsLoadB32, SBarrierWait, DsStoreB32], &[]), none);
        assert_eq!(
            stops(&[SBarrier, DsLoadB32, GlobalStoreB32, DsStoreB32, DsLoadB32, DsStoreB32], &[]),
            [3, 5]
        );
        assert_eq!(stops(&[SBarrier, FlatLoadB32, FlatStoreB32], &[]), [2]);
        // Atomic operations do not race with each other.
        assert_eq!(stops(&[SBarrier, DsAddRtnU32, DsAddRtnU32, DsAddU32, DsStoreB32], &[]), [4]);
        assert_eq!(stops(&[SBarrier, DsAddU32, DsStoreB32, DsLoadB32, DsAddU32], &[]), [4]);
    }

    #[test]
    fn what_comes_from_elsewhere_is_known_when_it_runs() {
        let mut settling = Settling::default();
        settling.pass(&inst(SBarrier), false);
        assert_eq!(settling.pass(&inst(DsStoreB32), false).stop, 0, "nothing was read");
        assert_ne!(settling.pass(&inst(DsStoreB32), true).stop, 0, "the end of a loop may have read");
        assert_ne!(settling.pass(&inst(DsLoadB32), false).note, 0);
        assert_eq!(settling.pass(&inst(DsLoadB32), false).note, 0, "it is known");
        assert_ne!(settling.pass(&inst(DsLoadB32), true).note, 0, "the end of a loop may have stopped");
        settling.pass(&inst(SSwappcB64), false);
        assert_ne!(settling.pass(&inst(DsLoadB32), false).note, 0, "a function may have stopped");
    }

    /// Random instructions, some of which are jump targets: the omitted checks change nothing.
    #[test]
    fn codes_that_are_left_out_change_nothing() {
        let mut seed = 1u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        const OPS: [Op; 9] = [
            SBarrier,
            DsLoadB32,
            DsLoadB32,
            DsStoreB32,
            DsStoreB32,
            DsAddU32,
            DsAddRtnU32,
            GlobalStoreB32,
            SSwappcB64,
        ];
        for _ in 0..2000 {
            let ops: Vec<Op> = (0..30).map(|_| OPS[draw(OPS.len())]).collect();
            let joins: Vec<usize> = (0..4).map(|_| draw(30)).collect();
            stops(&ops, &joins);
        }
    }
}
