//! The engine's parts are public for its own tests: a wave follows any pointer that it is given.
#![forbid(unsafe_code)]

use std::sync::Arc;

use vgpu::exec::{Flow, Program, Unwatched, Wave};
use vgpu::isa::{Inst, Isa};
use vgpu::machine::check::{depend, twin::Twin};
use vgpu::machine::observe::accesses::Accesses;
use vgpu::machine::{Access, Generation, Memory};

fn wave() -> Wave {
    Wave::new(Access::new(Arc::new(Memory::new())))
}

fn run(wave: &mut Wave, program: &Program) -> Flow {
    vgpu::exec::run(wave, program, &mut Unwatched)
}

fn program() -> Program {
    Program::in_memory(Isa::Gfx1100, vec![0..64])
}

fn instruction(inst: &Inst, wave: &Wave) {
    depend::learn(inst, 0, &mut Twin::new(Isa::Gfx1100));
    Accesses::default().find(inst, wave, Generation::Gfx11);
    wave.vector(0);
}

fn main() {}
