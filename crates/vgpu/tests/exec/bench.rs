//! A wave with its own registers and memories, on which tests run single instructions.

use std::sync::Arc;

use vgpu::exec::lower::{Context, lower};
use vgpu::exec::program::Pool;
use vgpu::exec::{Flow, Level, Wave};
use vgpu::isa::{Inst, scalar};
use vgpu::machine::{Access, Generation, Memory, Reader};

/// Vector registers of the wave.
const REGISTERS: usize = 64;
/// Bytes of LDS.
pub(super) const LDS: usize = 4096;
/// Bytes of scratch memory per lane.
pub(super) const SCRATCH: usize = 256;

/// A wave with its memories.
pub(super) struct Bench {
    pub(super) wave: Wave,
    pub(super) lanes: usize,
    pub(super) memory: Arc<Memory>,
    pub(super) reader: Arc<Reader>,
    registers: Vec<u32>,
    pub(super) lds: Vec<u64>,
    pub(super) scratch: Vec<u32>,
}

impl Bench {
    /// A wave of 32 or 64 lanes. Everything is zero, and MODE keeps subnormal numbers.
    pub(super) fn new(lanes: usize) -> Bench {
        let memory = Arc::new(Memory::new());
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::clone(&memory))) };
        let mut registers = vec![0u32; (REGISTERS + 1) * 64];
        let offset = registers.as_ptr().align_offset(64);
        wave.vgpr = registers[offset..].as_mut_ptr();
        wave.lanes = lanes as u8;
        wave.mode = 0xf0;
        let mut lds = vec![0u64; LDS / 8];
        let mut scratch = vec![0u32; SCRATCH / 4 * lanes];
        wave.access.lds = lds.as_mut_ptr().cast();
        wave.access.lds_size = LDS as u32;
        wave.access.strict_lds = true;
        wave.access.scratch = scratch.as_mut_ptr().cast();
        wave.access.scratch_size = SCRATCH as u32;
        Bench { reader: memory.reader(), memory, lanes, wave, registers, lds, scratch }
    }

    fn at(&self, register: usize, lane: usize) -> *mut u32 {
        assert!(register < REGISTERS && lane < self.lanes && !self.registers.is_empty());
        // SAFETY: there are that many registers of that many lanes.
        unsafe { self.wave.vgpr.add(register * self.lanes + lane) }
    }

    pub(super) fn set(&mut self, register: usize, lane: usize, value: u32) {
        // SAFETY: `at` stays among the registers.
        unsafe { self.at(register, lane).write(value) };
    }

    pub(super) fn get(&self, register: usize, lane: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.at(register, lane).read() }
    }

    /// Enables lanes.
    pub(super) fn exec(&mut self, mask: u64) {
        self.wave.set_scalar64(scalar::EXEC, mask);
    }

    /// Lowers and runs an instruction of gfx1100, like kernel code.
    pub(super) fn run(&mut self, inst: &Inst, level: Level) -> Flow {
        self.run_on(Generation::Gfx11, inst, level)
    }

    /// The same for any generation.
    pub(super) fn run_on(&mut self, generation: Generation, inst: &Inst, level: Level) -> Flow {
        let context = Context { generation, level, lanes: self.lanes };
        let (mut pool, mut codes) = (Pool::new(), Vec::new());
        lower(inst, 0, 0, &context, &mut pool, &mut codes);
        self.wave.set_bases(&pool);
        for code in &codes {
            // SAFETY: `level` is one the CPU has, and all operands lie among the registers.
            let flow = unsafe { (code.run)(&mut self.wave, code) };
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }
}
