//! Barriers that not all waves of a workgroup reach: some waves ended before it, or are at another barrier.
//! And barriers that only some lanes of a wave reach, while the others go on.
//!
//! Hardware does not wait for ended waves, and it has a single barrier, wherever the barrier instructions
//! are. Languages require that all work-items reach the same barrier, equally often. A kernel that breaks
//! this rule works only by accident.
//!
//! Hardware executes a barrier for the whole wave, whichever lanes are enabled. Lanes that are disabled there
//! may have returned, which is not reported, or they come to other code before or after. If a lane accesses
//! memory or reaches a barrier after one that it has missed, it has not returned. Scratch memory does not
//! count: compilers save registers there with all lanes enabled.

use crate::isa::{Op, Operand};
use crate::machine::observe::{Step, Verdict};
use gpu_report::{FaultKind, Space};
use vgpu_exec::{Elsewhere, Wave, WaveFault};

/// The progress of a wave.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// How many barriers it has reached.
    barriers: u32,
    /// The address of the last barrier instruction.
    at: u64,
    /// The address of the instruction that ended it.
    ended: Option<u64>,
    /// The lanes with work-items.
    lanes: u64,
    /// The lanes that were disabled at a barrier.
    missed: u64,
    /// The address of the first barrier that lanes missed, and how many lanes reached it.
    partial: Option<(u64, u32)>,
}

/// A workgroup.
pub(super) struct Barriers {
    waves: Vec<Progress>,
}

impl Barriers {
    /// A workgroup of some work-items, in waves of this many lanes.
    pub(super) fn new(items: usize, lanes: usize) -> Barriers {
        let wave = |first: usize| {
            let lanes = u64::MAX >> (64 - (items - first).min(lanes));
            Progress { lanes, ..Progress::default() }
        };
        Barriers { waves: (0..items).step_by(lanes).map(wave).collect() }
    }

    /// A wave reaches an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        let index = step.wave as usize;
        if index >= self.waves.len() {
            return Ok(());
        }
        if self.waves[index].missed != 0 {
            let lanes =
                step.accesses.iter().filter(|access| !access.scalar && access.space != Space::Scratch);
            // Some instructions access memory for disabled lanes, too.
            let lanes = lanes.fold(0, |lanes, access| lanes | access.mask) & wave.active();
            self.goes_on(index, lanes)?;
        }
        match step.resolved.op {
            Op::SBarrier => {
                self.reached_by(index, step.address, wave.active())?;
                self.arrives(index, step.address)
            }
            // Other barriers do not belong to the workgroup.
            Op::SBarrierSignal | Op::SBarrierSignalIsfirst if step.inst.src[0] == Operand::Int(-1) => {
                self.reached_by(index, step.address, wave.active())?;
                self.arrives(index, step.address)
            }
            Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => self.ends(index, step.address),
            _ => Ok(()),
        }
    }

    /// A wave is at a barrier with these lanes enabled.
    fn reached_by(&mut self, index: usize, address: u64, enabled: u64) -> Verdict {
        self.goes_on(index, enabled)?;
        let wave = &mut self.waves[index];
        let missing = wave.lanes & !enabled;
        if missing != 0 {
            let reached = (wave.lanes & enabled).count_ones();
            wave.partial.get_or_insert((address, reached));
            wave.missed |= missing;
        }
        Ok(())
    }

    /// These lanes of a wave do something.
    fn goes_on(&self, index: usize, lanes: u64) -> Verdict {
        let wave = &self.waves[index];
        let (Some((address, arrived)), going_on @ 1..) = (wave.partial, wave.missed & lanes) else {
            return Ok(());
        };
        let kind = FaultKind::DivergentLanes { arrived, lanes: wave.lanes.count_ones() };
        let lane = Some(going_on.trailing_zeros() as u8);
        let what = "other lanes reached this barrier without it";
        let other = Elsewhere { what, address, wave: index as u32, lane: None };
        Err(Box::new(WaveFault { kind, lane, other: Some(other) }))
    }

    fn arrives(&mut self, index: usize, address: u64) -> Verdict {
        let wave = &mut self.waves[index];
        wave.barriers += 1;
        wave.at = address;
        let round = wave.barriers;
        let without = |wave: &Progress| wave.barriers < round && wave.ended.is_some();
        if let Some(other) = self.waves.iter().position(without) {
            let ended = self.waves[other].ended.unwrap_or_default();
            return self.fault(round, other, "a wave ended without reaching it", ended);
        }
        let elsewhere = |wave: &Progress| wave.barriers == round && wave.at != address;
        match self.waves.iter().position(elsewhere) {
            Some(other) => self.fault(round, other, "a wave reached another barrier", self.waves[other].at),
            None => Ok(()),
        }
    }

    fn ends(&mut self, index: usize, address: u64) -> Verdict {
        self.waves[index].ended = Some(address);
        let round = self.waves[index].barriers + 1;
        match self.waves.iter().position(|wave| wave.barriers >= round) {
            Some(other) => self.fault(round, other, "a wave waits at the barrier", self.waves[other].at),
            None => Ok(()),
        }
    }

    #[cold]
    fn fault(&self, round: u32, other: usize, what: &'static str, address: u64) -> Verdict {
        let arrived = self.waves.iter().filter(|wave| wave.barriers >= round).count() as u32;
        let kind = FaultKind::DivergentBarrier { arrived, waves: self.waves.len() as u32 };
        let other = Elsewhere { what, address, wave: other as u32, lane: None };
        Err(Box::new(WaveFault { kind, lane: None, other: Some(other) }))
    }
}
