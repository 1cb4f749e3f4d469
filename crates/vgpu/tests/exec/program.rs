//! The run loop.

use std::sync::Arc;

use vgpu::exec::{Code, Flow, Program, Unit, Unwatched, Watch, Wave, enter, run};
use vgpu::isa::{Isa, scalar};
use vgpu::machine::{Access, Memory, WaveFault};

/// A loop of three rounds, for gfx1100.
const LOOP: [u32; 8] = [
    0xbe80_0083, // s_mov_b32 s0, 3
    0xbf80_0000, // s_nop 0
    0x7e02_02fa, // v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
    0xff00_b100,
    0x8080_8100, // s_sub_u32 s0, s0, 1
    0xbf07_8000, // s_cmp_lg_u32 s0, 0
    0xbfa2_fffa, // s_cbranch_scc1 to s_nop
    0xbfb0_0000, // s_endpgm
];

/// The instructions that a wave reached and those that it executed, by number.
#[derive(Default)]
struct Steps(Vec<u32>, Vec<u32>);

impl Watch for Steps {
    const ON: bool = true;

    fn before(&mut self, _: &Wave, _: &Unit, code: &Code) -> Result<(), Box<WaveFault>> {
        self.0.push(code.inst);
        Ok(())
    }

    fn after(&mut self, _: &Wave, _: &Unit, code: &Code) -> Result<(), Box<WaveFault>> {
        self.1.push(code.inst);
        Ok(())
    }
}

#[test]
fn observers_see_every_instruction_once() {
    let base = LOOP.as_ptr() as u64;
    let text = base..base + size_of_val(&LOOP) as u64;
    // SAFETY: the array is a constant.
    let program = unsafe { Program::in_memory(Isa::Gfx1100, vec![text]) };
    // SAFETY: what it is pointed at lives as long as it.
    let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
    let mut registers = vec![0u32; (256 + 32) * 32 + 16];
    let offset = registers.as_ptr().align_offset(64);
    wave.vgpr = registers[offset..].as_mut_ptr();
    wave.mode = 0xf0;
    wave.set_scalar(scalar::EXEC, u32::MAX);
    for watched in [true, false] {
        wave.watched = watched;
        assert!(enter(&mut wave, &program, base));
        let mut steps = Steps::default();
        // SAFETY: the wave is at the program's start and has registers for 32 lanes.
        let flow = unsafe {
            if watched {
                run(&mut wave, &program, &mut steps)
            } else {
                run(&mut wave, &program, &mut Unwatched)
            }
        };
        assert_eq!(flow, Flow::End);
        let all = [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6];
        let expected: &[u32] = if watched { &all } else { &[] };
        assert_eq!((&*steps.0, &*steps.1), (expected, expected));
    }
}

#[test]
fn a_wave_runs_only_in_code_of_its_form() {
    let base = LOOP.as_ptr() as u64;
    let text = base..base + size_of_val(&LOOP) as u64;
    // SAFETY: the array is a constant.
    let program = unsafe { Program::in_memory(Isa::Gfx1100, vec![text]) };
    // SAFETY: what it is pointed at lives as long as it.
    let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
    assert!(enter(&mut wave, &program, base));
    // SAFETY: nothing is executed.
    let flow = unsafe { run(&mut wave, &program, &mut Steps::default()) };
    assert_eq!(flow, Flow::Fault);
}
