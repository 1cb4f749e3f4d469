//! Hardware registers, and MODE bits that affect all vector instructions of gfx9: whole programs, assembled
//! by LLVM.

use std::sync::Arc;

use vgpu::exec::{Barrier, Code, Flow, Hardware, Program, Unit, Unwatched, Watch, Wave, enter, run};
use vgpu::isa::{Op, scalar};
use vgpu::machine::{Access, Generation, Memory, PRIVATE_APERTURE, SHARED_APERTURE, WaveFault};

const REGISTERS: usize = 512 + 32;

/// A wave with its own registers, before the first instruction of a program.
struct Bench {
    wave: Wave,
    program: Program,
    _file: Vec<u32>,
}

impl Bench {
    fn new(generation: Generation, words: &'static [u32], lanes: u8) -> Bench {
        let base = words.as_ptr() as u64;
        let text = base..base + size_of_val(words) as u64;
        // SAFETY: the words are a constant.
        let program = unsafe { Program::in_memory(generation.isa(), vec![text]) };
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
        let mut file = vec![0u32; REGISTERS * usize::from(lanes) + 16];
        let offset = file.as_ptr().align_offset(64);
        wave.vgpr = file[offset..].as_mut_ptr();
        wave.lanes = lanes;
        wave.mode = 0xf0;
        wave.set_scalar64(scalar::EXEC, u64::MAX >> (64 - lanes));
        Bench { wave, program, _file: file }
    }

    fn start(&mut self, words: &'static [u32]) {
        assert!(enter(&mut self.wave, &self.program, words.as_ptr() as u64));
    }

    fn vector(&self, register: u16) -> u32 {
        // SAFETY: the file has all registers.
        let lanes = unsafe { self.wave.vector(register) };
        lanes[1]
    }

    fn set_vector(&mut self, register: usize, value: u32) {
        let lanes = usize::from(self.wave.lanes);
        for lane in 0..lanes {
            // SAFETY: the file has all registers.
            unsafe { self.wave.vgpr.add(register * lanes + lane).write(value) };
        }
    }
}

/// Every instruction that an observer sees.
#[derive(Default)]
struct Heard(Vec<Op>);

impl Watch for Heard {
    const ON: bool = true;

    fn before(&mut self, _: &Wave, unit: &Unit, code: &Code) -> Result<(), Box<WaveFault>> {
        self.0.push(unit.insts[code.inst as usize].op);
        Ok(())
    }

    fn after(&mut self, _: &Wave, _: &Unit, _: &Code) -> Result<(), Box<WaveFault>> {
        Ok(())
    }
}

/// gfx90a. The skipped instructions would fault, or overwrite values that the test checks.
const SKIPS: &[u32] = &[
    0xbf10_8100, // s_setvskip s0, 1
    0x7e02_0287, // v_mov_b32 v1, 7
    0x7e06_0500, // v_readfirstlane_b32 s3, v0
    0x7d94_0080, // v_cmp_eq_u32 vcc, 0, v0
    0xdc70_8000,
    0x007f_0004, // global_store_dword v[4:5], v0, off
    0xd81a_0000,
    0x0000_0004, // ds_write_b32 v4, v0
    0xd3c2_0000,
    0x0402_0100, // v_mfma_f32_4x4x1f32 v[0:3], v0, v0, v[0:3]
    0xbe81_0085, // s_mov_b32 s1, 5
    0xb882_0701, // s_getreg_b32 s2, hwreg(HW_REG_MODE, 28, 1)
    0xbf88_0001, // s_cbranch_execz 1
    0xbf80_0000, // s_nop 0
    0xbf10_8080, // s_setvskip 0, 0
    0x7e04_0289, // v_mov_b32 v2, 9
    0xba00_0701,
    0x0000_0001, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1
    0x7e04_0283, // v_mov_b32 v2, 3
    0xba00_0701,
    0x0000_0000, // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0
    0x7e06_0284, // v_mov_b32 v3, 4
    0xbf81_0000, // s_endpgm
];

#[test]
fn skipped_vector_instructions_do_nothing() {
    for generation in [Generation::Gfx9, Generation::Gfx940] {
        for skips in [false, true] {
            let mut bench = Bench::new(generation, &SKIPS[if skips { 0 } else { 10 }..], 64);
            bench.wave.set_scalar(0, 2);
            bench.wave.set_scalar(3, 0xaa);
            bench.wave.set_scalar64(scalar::VCC, 0xbb);
            bench.set_vector(0, 0x4000_0000);
            bench.set_vector(1, 1);
            bench.start(&SKIPS[if skips { 0 } else { 10 }..]);
            // SAFETY: the wave is at the program's start and has all registers.
            let flow = unsafe { run(&mut bench.wave, &bench.program, &mut Unwatched) };
            assert_eq!(flow, Flow::End, "{:?}", bench.wave.fault);
            let scalars = [1, 2, 3].map(|slot| bench.wave.sgpr[slot]);
            assert_eq!(scalars, [5, u32::from(skips), 0xaa]);
            assert_eq!(bench.wave.scalar64(scalar::VCC), 0xbb);
            let vectors = [0, 1, 2, 3].map(|register| bench.vector(register));
            assert_eq!(vectors, [0x4000_0000, 1, 9, 4]);
        }
    }
}

#[test]
fn observers_hear_of_what_is_skipped_as_of_a_nop() {
    let mut bench = Bench::new(Generation::Gfx9, SKIPS, 64);
    bench.wave.set_scalar(0, 2);
    bench.wave.watched = true;
    bench.start(SKIPS);
    let mut heard = Heard::default();
    // SAFETY: the wave is at the program's start and has all registers.
    let flow = unsafe { run(&mut bench.wave, &bench.program, &mut heard) };
    assert_eq!(flow, Flow::End);
    let nops = heard.0.iter().filter(|op| **op == Op::SNop).count();
    assert_eq!((heard.0.len(), nops), (18, 6 + 1 + 1));
    assert_eq!(heard.0.iter().filter(|op| **op == Op::VMovB32).count(), 2);
}

/// gfx90a: adds `v1`, `v2` and `v3` to `v9`, in a loop between the instructions that switch indexing on and
/// off.
const INDEXED: &[u32] = &[
    0xbe80_0080, // s_mov_b32 s0, 0
    0xbf11_0100, // s_set_gpr_idx_on s0, gpr_idx(SRC0)
    0x6812_1301, // v_add_u32_e32 v9, v1, v9
    0x8000_8100, // s_add_u32 s0, s0, 1
    0xbe80_3200, // s_set_gpr_idx_idx s0
    0xbf07_8300, // s_cmp_lg_u32 s0, 3
    0xbf85_fffb, // s_cbranch_scc1 to v_add_u32
    0xbf9c_0000, // s_set_gpr_idx_off
    0x7e14_0301, // v_mov_b32 v10, v1
    0xbf81_0000, // s_endpgm
];

#[test]
fn indexed_registers_may_be_used_in_loops() {
    let mut bench = Bench::new(Generation::Gfx9, INDEXED, 64);
    for register in 0..16 {
        bench.set_vector(register, 1 << register);
    }
    bench.start(INDEXED);
    // SAFETY: the wave is at the program's start and has all registers.
    let flow = unsafe { run(&mut bench.wave, &bench.program, &mut Unwatched) };
    assert_eq!(flow, Flow::End, "{:?}", bench.wave.fault);
    assert_eq!([9, 10].map(|register| bench.vector(register)), [1 << 9 | 0b1110, 1 << 1]);
    assert_eq!(bench.wave.mode & 1 << 27, 0);
}

/// `s_getreg_b32 s1, hwreg(id, offset, width)` of each generation.
fn get(generation: Generation, id: u32, offset: u32, width: u32) -> &'static [u32] {
    let opcode = if generation == Generation::Gfx10 { 0xb901_0000 } else { 0xb881_0000 };
    let end = match generation {
        Generation::Gfx11 | Generation::Gfx12 => 0xbfb0_0000,
        _ => 0xbf81_0000,
    };
    Vec::leak(vec![opcode | (width - 1) << 11 | offset << 6 | id, end])
}

/// `s_setreg_b32 hwreg(id, offset, width), s0`, then `s_endpgm`.
fn set(generation: Generation, id: u32, offset: u32, width: u32) -> &'static [u32] {
    let opcode = match generation {
        Generation::Gfx9 | Generation::Gfx940 | Generation::Gfx11 | Generation::Gfx12 => 0xb900_0000,
        Generation::Gfx10 => 0xb980_0000,
    };
    let words = get(generation, id, offset, width);
    Vec::leak(vec![opcode | words[0] & 0xffff, words[1]])
}

/// The high 16 bits of the shared and of the private aperture.
const BASES: u32 = (SHARED_APERTURE >> 48 << 16 | PRIVATE_APERTURE >> 48) as u32;

/// The second wave of a group of three, with 72 vector and 48 scalar registers and 3000 bytes of LDS.
fn second(bench: &mut Bench) {
    bench.wave.hardware = Hardware {
        vgprs: 72,
        sgprs: 48,
        lds: 3000,
        index: 1,
        waves: 3,
        scratch: 0x7fff_1234_5678,
        ..Hardware::default()
    };
    bench.wave.scc = true;
    bench.wave.set_scalar64(scalar::VCC, 1);
}

fn read(generation: Generation, lanes: u8, id: u32, offset: u32, width: u32) -> Result<u32, String> {
    let words = get(generation, id, offset, width);
    let mut bench = Bench::new(generation, words, lanes);
    second(&mut bench);
    bench.start(words);
    // SAFETY: the wave is at the program's start and has all registers.
    match unsafe { run(&mut bench.wave, &bench.program, &mut Unwatched) } {
        Flow::End => Ok(bench.wave.sgpr[1]),
        _ => Err(bench.wave.fault.map_or_else(String::new, |fault| fault.kind.to_string())),
    }
}

/// Numbers and fields are those of Linux's trap handlers and LLVM.
#[test]
fn registers_say_what_the_wave_was_allotted() {
    use Generation::{Gfx9, Gfx10, Gfx11, Gfx12, Gfx940};
    let wide = 64;
    for (generation, lanes, (id, offset, width), expected) in [
        // STATUS: SCC (on gfx12 in STATE_PRIV), VCCZ, EXECZ, in a group, valid.
        (Gfx9, wide, (2, 0, 32), 1 | 1 << 11 | 1 << 16),
        (Gfx11, 32, (2, 0, 32), 1 | 1 << 11 | 1 << 16),
        (Gfx12, 32, (2, 0, 32), 1 << 11 | 1 << 16),
        (Gfx12, wide, (2, 0, 32), 1 << 11 | 1 << 16 | 1 << 29),
        (Gfx12, 32, (4, 9, 1), 1),
        // Waves of 64, in IB_STS2.
        (Gfx10, wide, (28, 11, 1), 1),
        (Gfx10, 32, (28, 11, 1), 0),
        (Gfx11, wide, (28, 11, 1), 1),
        // Vector registers in units of eight or four, scalar ones in units of sixteen, minus one.
        (Gfx9, wide, (5, 8, 6), 8),
        (Gfx940, wide, (5, 24, 4), 2),
        (Gfx10, 32, (5, 8, 6), 17),
        (Gfx11, 32, (5, 12, 8), 17),
        (Gfx12, 32, (5, 12, 8), 17),
        // LDS in units of 64 dwords, since gfx12 of 128.
        (Gfx9, wide, (6, 12, 9), 12),
        (Gfx11, 32, (6, 12, 9), 12),
        (Gfx12, 32, (6, 12, 9), 6),
        // Scratch.
        (Gfx11, 32, (20, 0, 32), 0x1234_5678),
        (Gfx12, 32, (21, 0, 32), 0x7fff),
        // The microengine is one of those for compute.
        (Gfx9, wide, (4, 30, 2), 1),
        (Gfx10, 32, (24, 8, 2), 1),
        (Gfx12, 32, (24, 8, 2), 1),
        // The high halves of the apertures.
        (Gfx9, wide, (15, 0, 32), BASES),
        (Gfx11, 32, (15, 0, 32), BASES),
        (Gfx940, wide, (20, 0, 32), 0),
    ] {
        let found = read(generation, lanes, id, offset, width);
        assert_eq!(found, Ok(expected), "{generation:?} register {id}, {width} bits from {offset}");
    }
}

/// The registers that LLVM names for each generation, and IB_STS2, which Linux reads.
#[test]
fn every_generation_has_its_registers_and_no_others() {
    for generation in Generation::ALL {
        let known: &[u32] = match generation {
            Generation::Gfx9 => &[1, 2, 3, 4, 5, 6, 7, 15, 16, 17, 18, 19],
            Generation::Gfx940 => &[1, 2, 3, 4, 5, 6, 7, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
            Generation::Gfx10 => &[1, 2, 3, 5, 6, 7, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 28, 29],
            Generation::Gfx11 => &[1, 2, 3, 5, 6, 7, 15, 18, 19, 20, 21, 23, 24, 27, 28, 29],
            Generation::Gfx12 => {
                &[1, 2, 4, 5, 6, 7, 10, 11, 12, 15, 16, 17, 18, 19, 20, 21, 23, 24, 26, 29, 30, 31, 32]
            }
        };
        for id in 0..64 {
            match read(generation, if generation.is_cdna() { 64 } else { 32 }, id, 0, 32) {
                Ok(_) => assert!(known.contains(&id), "{generation:?} has no register {id}"),
                Err(error) => {
                    assert!(!known.contains(&id), "{generation:?} register {id}: {error}");
                    assert!(error.contains(&format!("hardware register {id}")), "{error}");
                }
            }
        }
    }
}

#[test]
fn what_is_written_is_read_back_where_kernels_may_write() {
    use Generation::{Gfx9, Gfx10, Gfx11, Gfx12};
    // Bits 8 to 23 are written with ones.
    for (generation, id, before, after) in [
        (Gfx9, 3, 0, 0x00ff_ff00),
        (Gfx12, 18, 0, 0x00ff_ff00),
        (Gfx12, 19, 0, 0x00ff_ff00),
        (Gfx10, 20, 0x1234_5678, 0x12ff_ff78),
        (Gfx10, 21, 0x7fff, 0x00ff_ffff),
        // Writable only by trap handlers, or not at all.
        (Gfx11, 20, 0x1234_5678, 0x1234_5678),
        (Gfx12, 21, 0x7fff, 0x7fff),
        (Gfx12, 17, 0, 0),
        (Gfx9, 2, 0x1_0801, 0x1_0801),
        (Gfx11, 28, 0, 0),
    ] {
        let lanes = if generation.is_cdna() { 64 } else { 32 };
        let [put, look] = [set(generation, id, 8, 16), get(generation, id, 0, 32)];
        let words: &'static [u32] =
            Vec::leak([&look[..1], &put[..1], &[look[0] + (1 << 16)], &look[1..]].concat());
        let mut bench = Bench::new(generation, words, lanes);
        second(&mut bench);
        bench.wave.set_scalar(0, u32::MAX);
        bench.start(words);
        // SAFETY: the wave is at the program's start and has all registers.
        let flow = unsafe { run(&mut bench.wave, &bench.program, &mut Unwatched) };
        assert_eq!(flow, Flow::End, "{:?}", bench.wave.fault);
        let found = [bench.wave.sgpr[1], bench.wave.sgpr[2]];
        assert_eq!(found, [before, after], "{generation:?} register {id}: {found:#x?}");
    }
}

#[test]
fn the_state_tells_of_a_complete_barrier() {
    let words = get(Generation::Gfx12, 4, 2, 1);
    for signals in 0..=2 {
        let mut barrier = Barrier::new(2);
        (0..signals).for_each(|_| {
            barrier.signal();
        });
        let mut bench = Bench::new(Generation::Gfx12, words, 32);
        bench.wave.barrier = &raw mut barrier;
        bench.start(words);
        // SAFETY: the wave is at the program's start and has all registers.
        let flow = unsafe { run(&mut bench.wave, &bench.program, &mut Unwatched) };
        assert_eq!((flow, bench.wave.sgpr[1]), (Flow::End, u32::from(signals == 2)));
    }
}
