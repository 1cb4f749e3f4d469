//! Barriers that not all waves of a workgroup come to: some had ended without, or are at another one.
//!
//! Hardware does not wait for waves that have ended, and knows one barrier only, wherever its instructions stand. Languages ask that all
//! work-items come to the same barrier, as often as the others; what a kernel does otherwise works by accident.

use crate::isa::{Op, Operand};
use crate::machine::observe::{Step, Verdict};
use gpu_report::FaultKind;
use vgpu_exec::{Elsewhere, WaveFault};

/// How far a wave has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// How many barriers it has come to.
    barriers: u32,
    /// The address of the instruction by which it came to the last one.
    at: u64,
    /// That of the instruction that ended it.
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

    /// A wave comes to an instruction.
    pub(super) fn step(&mut self, step: &Step<'_>) -> Verdict {
        let index = step.wave as usize;
        if index >= self.waves.len() {
            return Ok(());
        }
        match step.resolved.op {
            Op::SBarrier => self.arrives(index, step.address),
            // Other barriers are not the workgroup's.
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
            return self.fault(round, other, "a wave has ended without coming to it", ended);
        }
        let elsewhere = |wave: &Progress| wave.barriers == round && wave.at != address;
        match self.waves.iter().position(elsewhere) {
            Some(other) => self.fault(round, other, "a wave came to another barrier", self.waves[other].at),
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
