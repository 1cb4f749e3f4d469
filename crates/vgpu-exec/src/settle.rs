//! After a barrier, the waves of a workgroup come about equally far.
//!
//! On hardware, the waves leave a barrier together and go on at about the same rate. Kernels rely on that by accident: they read LDS in
//! all waves, and let one of them overwrite what was read without another barrier between. rocPRIM's `adjacent_find` does it after a
//! load from memory; rocSOLVER's small factorisations do it at the head of a loop whose last round ended in a barrier, and after sums
//! over a row of LDS. If a wave ran on alone here, the others would read the new value. So a wave that has read LDS since it was last
//! together with the others stops before it writes LDS, until they have come to a write, a barrier or the end of their time slice. The
//! check for data races reports such kernels all the same.
//!
//! What a wave has read is known when it runs, however it came there: reads are noted, and writes ask. Code in which neither can
//! change anything, because there was the same just before, does without.

use vgpu_isa::{Fact, Footprint, Format, Inst, Op, Operand};

use gpu_report::AccessKind;

use super::lower::bare;
use super::wave::{Code, Flow, Wave};

/// What a wave has done since it was last together with the others of its workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Since(u8);

impl Since {
    /// It has been through a barrier that others were at; before, nobody knows how far they are.
    const TOGETHER: u8 = 1;
    /// It has read LDS.
    const READ: u8 = 2;
    /// An atomic operation has told it what LDS held.
    const EXCHANGED: u8 = 4;

    /// The wave goes through a barrier, with others or alone.
    pub(super) fn barrier(&mut self, others: bool) {
        self.0 = if others { Since::TOGETHER } else { 0 };
    }

    /// Whether the wave stops before it overwrites what it has read; then it starts anew.
    fn stops(&mut self, spoils: u8) -> bool {
        let stops = self.0 & Since::TOGETHER != 0 && self.0 & spoils != 0;
        if stops {
            self.0 = Since::TOGETHER;
        }
        stops
    }
}

/// What an instruction does to LDS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Effect {
    /// What it leaves behind, in bits of [`Since`].
    notes: u8,
    /// What must not have been before, in such bits, if other waves may not have come as far.
    spoils: u8,
}

impl Effect {
    const NONE: Effect = Effect { notes: 0, spoils: 0 };

    fn of(inst: &Inst) -> Effect {
        if inst.op.has(Fact::TO_LDS) || inst.mem.lds {
            return Effect { notes: 0, spoils: Since::READ | Since::EXCHANGED };
        }
        // FLAT instructions reach LDS, too.
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
            // The order of atomic operations is nobody's to rely on, but who has read the value before them may.
            AccessKind::Atomic => {
                let returns = inst.dst != Operand::None;
                Effect { notes: if returns { Since::EXCHANGED } else { 0 }, spoils: Since::READ }
            }
        }
    }
}

/// What is known of [`Since`] at an instruction, before any wave comes there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Settling {
    /// Bits that are set.
    set: u8,
    /// Bits that are not.
    unset: u8,
}

/// What stands around an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Around {
    /// Before it, waves stop that have done one of these.
    pub(super) stop: u8,
    /// After it, waves have done these.
    pub(super) note: u8,
}

impl Settling {
    /// Goes on behind an instruction, and says what has to stand around it. `joins`: waves come there from elsewhere, too.
    pub(super) fn pass(&mut self, inst: &Inst, joins: bool) -> Around {
        if joins {
            *self = Settling::default();
        }
        let effect = Effect::of(inst);
        let stop = effect.spoils & !self.unset;
        if stop != 0 {
            // Waves that do not stop have done none of it; who stops starts anew.
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
            // Who knows what the functions do that are called.
            Op::SSwappcB64 | Op::SCallB64 => *self = Settling::default(),
            _ => {}
        }
        around
    }
}

/// Where a wave stops that has done one of `spoils`. It belongs to no instruction: observers do not hear of it.
pub(super) fn stop(spoils: u8, inst: u32) -> Code {
    unsafe fn run(wave: &mut Wave, code: &Code) -> Flow {
        if wave.since.stops(code.imm as u8) { Flow::Settle } else { Flow::Next }
    }
    Code { sdst: Code::ASIDE, ..bare(run, spoils.into(), inst) }
}

/// Where it is noted what a wave has done.
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

    /// After which of some instructions a wave stops that has the others with it, if all of them are looked at in a row, but for those
    /// that `joins` says waves come to from elsewhere.
    fn stops(ops: &[Op], joins: &[usize]) -> Vec<usize> {
        let mut settling = Settling::default();
        let (mut wave, mut stops) = (Since::default(), Vec::new());
        let (mut plain, mut expected) = (Since::default(), Vec::new());
        for (at, &op) in ops.iter().enumerate() {
            let (around, effect) = (settling.pass(&inst(op), joins.contains(&at)), Effect::of(&inst(op)));
            // With the codes that stand there, and as if they stood everywhere.
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
        assert_eq!(stops(&[DsLoadB32, DsStoreB32], &[]), none, "nobody knows where the others are");
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
        assert_ne!(settling.pass(&inst(DsStoreB32), true).stop, 0, "a loop's end may have read");
        assert_ne!(settling.pass(&inst(DsLoadB32), false).note, 0);
        assert_eq!(settling.pass(&inst(DsLoadB32), false).note, 0, "it is known");
        assert_ne!(settling.pass(&inst(DsLoadB32), true).note, 0, "a loop's end may have stopped");
        settling.pass(&inst(SSwappcB64), false);
        assert_ne!(settling.pass(&inst(DsLoadB32), false).note, 0, "a function may have stopped");
    }

    /// Random instructions, some of which waves come to from elsewhere: what is left out changes nothing.
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
