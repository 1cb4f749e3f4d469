//! Barriers that not all waves of a workgroup reach: some waves ended before it, or are at another barrier.
//!
//! Hardware does not wait for ended waves, and it has a single barrier, wherever the barrier instructions
//! are. Languages require that all work-items reach the same barrier, equally often. A kernel that breaks
//! this rule works only by accident.

use crate::isa::{Op, Operand};
use crate::machine::observe::{Step, Verdict};
use gpu_report::FaultKind;
use vgpu_exec::{Elsewhere, WaveFault};

/// The progress of a wave.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// How many barriers it has reached.
    barriers: u32,
    /// The address of the last barrier instruction.
    at: u64,
    /// The address of the instruction that ended it.
    ended: Option<u64>,
}

/// A workgroup.
pub(super) struct Barriers {
    waves: Vec<Progress>,
}

impl Barriers {
    pub(super) fn new(waves: usize) -> Barriers {
        Barriers { waves: vec![Progress::default(); waves] }
    }

    /// A wave reaches an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>) -> Verdict {
        let index = step.wave as usize;
        if index >= self.waves.len() {
            return Ok(());
        }
        match step.resolved.op {
            Op::SBarrier => self.arrives(index, step.address),
            // Other barriers do not belong to the workgroup.
            Op::SBarrierSignal | Op::SBarrierSignalIsfirst if step.inst.src[0] == Operand::Int(-1) => {
                self.arrives(index, step.address)
            }
            Op::SEndpgm | Op::SEndpgmSaved | Op::SEndpgmOrderedPsDone => self.ends(index, step.address),
            _ => Ok(()),
        }
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
