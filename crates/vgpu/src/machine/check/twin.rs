//! Runs single instructions outside the wave that executes them: on masks of unknown bits, or on values that
//! reveal what a result depends on. So the effect of an instruction is written in its handler only.

use std::sync::Arc;

use crate::exec::{FORM_MODES, Fetched, Flow, Form, Level, Place, Program, Wave, no_inst, run_unwatched};
use crate::isa::{Format, Inst, Isa, Op, scalar};
use crate::machine::memory::Memory;
use vgpu_exec::Access;

/// Registers of a file, including ACC registers, plus slack for tuples.
const REGISTERS: usize = 512 + 32;
/// The address of the one instruction.
const ENTRY: u64 = 0x1000;

/// A separate wave without memory.
pub struct Twin {
    wave: Wave,
    file: Vec<u32>,
    /// The offset at which the file is aligned as a wave requires.
    start: usize,
    isa: Isa,
}

/// An instruction that is ready to run.
pub struct Ready {
    program: Program,
    place: Place,
}

impl Twin {
    pub fn new(isa: Isa) -> Twin {
        let file = vec![0u32; REGISTERS * 64 + 16];
        let start = file.as_ptr().align_offset(64);
        // SAFETY: the only pointer that is set is that to the file, which lives as long.
        let wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
        Twin { wave, file, start, isa }
    }

    /// Lowers an instruction for waves of 32 or 64 lanes.
    pub(crate) fn ready(&self, inst: &Inst, lanes: usize) -> Ready {
        let inst = *inst;
        let end = Inst { op: Op::SEndpgm, format: Format::Sopp, size: 4, ..no_inst() };
        let after = ENTRY + u64::from(inst.size.max(4));
        let fetch = move |pc: u64| match pc {
            ENTRY => Fetched::Inst(inst),
            _ if pc == after => Fetched::Inst(end),
            _ => Fetched::Outside,
        };
        let program = Program::new(self.isa, Level::detect(), Box::new(fetch));
        let place = program.place(ENTRY, Form::new(lanes as u8, false));
        Ready { program, place }
    }

    /// Copies another wave's scalar registers and modes, except the modes that lowering has already resolved.
    pub(crate) fn copy(&mut self, real: &Wave) {
        self.wave.lanes = real.lanes;
        self.wave.sgpr = real.sgpr;
        self.wave.scc = real.scc;
        self.wave.mode = real.mode & !FORM_MODES;
    }

    /// Starts as a wave of 64 lanes, all of them enabled.
    pub(crate) fn begin(&mut self, mode: u32) {
        self.wave.lanes = 64;
        self.wave.sgpr = [0; scalar::COUNT];
        self.wave.set_scalar64(scalar::EXEC, u64::MAX);
        self.wave.scc = false;
        self.wave.mode = mode & !FORM_MODES;
    }

    /// The lanes of a vector register.
    pub(crate) fn row(&mut self, register: usize) -> &mut [u32] {
        let lanes = usize::from(self.wave.lanes);
        &mut self.file[self.start + register * lanes..][..lanes]
    }

    /// The lanes of a vector register, with zeros beyond the last lane.
    pub(crate) fn lanes(&mut self, register: usize) -> [u32; 64] {
        let mut lanes = [0; 64];
        let row = self.row(register);
        lanes[..row.len()].copy_from_slice(row);
        lanes
    }

    pub(crate) fn set_scalar64(&mut self, slot: u8, value: u64) {
        self.wave.set_scalar64(slot, value);
    }

    pub(crate) fn scalar64(&self, slot: u8) -> u64 {
        self.wave.scalar64(slot)
    }

    /// Runs the instruction; false if it faulted.
    pub(crate) fn run(&mut self, ready: &Ready) -> bool {
        self.wave.vgpr = self.file[self.start..].as_mut_ptr();
        self.wave.saved_exec = 0;
        self.wave.slice = 16;
        self.wave.fault = None;
        (self.wave.unit, self.wave.next) = (Some(Arc::clone(&ready.place.0)), ready.place.1);
        // SAFETY: the wave is at the program's start, with a file of 512 registers and slack; the unit was
        // lowered for its size.
        let flow = unsafe { run_unwatched(&mut self.wave, &ready.program) };
        flow == Flow::End
    }
}
