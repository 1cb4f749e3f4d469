//! 64-bit additions whose halves are executed together, with every possible overlap of registers.

use std::sync::Arc;

use super::{Random, inst};
use vgpu::exec::{Fetched, Flow, Form, Level, Program, Unwatched, Wave, enter, run};
use vgpu::isa::{Format, Inst, Isa, Op, Operand, scalar};
use vgpu::machine::{Access, Memory};

const ENTRY: u64 = 0x1000;
/// The registers that are compared.
const VECTORS: usize = 6;
const SCALARS: [u8; 4] = [10, 11, scalar::VCC, scalar::VCC + 1];

/// The two halves, and the end of the program.
fn program(halves: [Inst; 2], level: Level) -> Program {
    let end = Inst { op: Op::SEndpgm, format: Format::Sopp, size: 4, ..vgpu::exec::no_inst() };
    let insts = [halves[0], halves[1], end];
    let fetch = move |pc: u64| match insts.get((pc - ENTRY) as usize / 8) {
        Some(inst) => Fetched::Inst(*inst),
        None => Fetched::Outside,
    };
    Program::new(Isa::Gfx1100, level, Box::new(fetch))
}

/// Both halves in turn, lane by lane.
fn model(
    halves: &[Inst; 2],
    lanes: usize,
    exec: u64,
    vectors: &mut [Vec<u32>],
    scalars: &mut [u32; scalar::COUNT],
) {
    for (half, inst) in halves.iter().enumerate() {
        let pair = |scalars: &[u32], slot: u8| {
            let slot = usize::from(slot);
            u64::from(scalars[slot]) | u64::from(scalars[slot + 1]) << 32
        };
        let carries = match inst.src[2] {
            Operand::Sgpr(slot) if half == 1 => pair(scalars, slot),
            _ => 0,
        };
        let before = vectors.to_vec();
        let mut out = 0u64;
        for lane in (0..lanes).filter(|lane| exec >> lane & 1 != 0) {
            let value = |operand| match operand {
                Operand::Vgpr(register) => before[usize::from(register)][lane],
                Operand::Sgpr(slot) => scalars[usize::from(slot)],
                Operand::Imm(value) => value as u32,
                other => panic!("{other:?}"),
            };
            let sum = u64::from(value(inst.src[0])) + u64::from(value(inst.src[1])) + (carries >> lane & 1);
            let Operand::Vgpr(dst) = inst.dst else { panic!("{:?}", inst.dst) };
            vectors[usize::from(dst)][lane] = sum as u32;
            out |= (sum >> 32) << lane;
        }
        let Operand::Sgpr(slot) = inst.sdst else { panic!("{:?}", inst.sdst) };
        scalars[usize::from(slot)] = out as u32;
        if lanes == 64 {
            scalars[usize::from(slot) + 1] = (out >> 32) as u32;
        }
    }
}

#[test]
fn halves_of_64_bit_additions_are_executed_as_if_one_by_one() {
    let mut random = Random(7);
    let mut together = 0;
    for case in 0..4000usize {
        let (lanes, levels) = (if case.is_multiple_of(2) { 32 } else { 64 }, Level::available());
        let level = levels[case / 2 % levels.len()];
        let exec = match random.next() % 4 {
            0 => u64::from(random.next()) << 32 | u64::from(random.next()),
            _ => u64::MAX,
        } & (u64::MAX >> (64 - lanes));
        let mut source = |wide: bool| match random.next() % 8 {
            0 => Operand::Imm(i64::from(random.next() % 65) as _),
            1 => Operand::Sgpr(SCALARS[random.next() as usize % SCALARS.len()]),
            2 if wide => Operand::Sgpr(scalar::VCC),
            _ => Operand::Vgpr((random.next() as usize % VECTORS) as u8),
        };
        let sources = [[source(false), source(false)], [source(true), source(true)]];
        let mut register = || Operand::Vgpr((random.next() as usize % VECTORS) as u8);
        let destinations = [register(), register()];
        let mut carries = || Operand::Sgpr(if random.next().is_multiple_of(4) { 10 } else { scalar::VCC });
        let masks = [carries(), carries(), carries()];
        let [[a, b], [c, d]] = sources;
        let low = Inst { sdst: masks[0], ..inst(Op::VAddCoU32, Format::Vop3, destinations[0], &[a, b]) };
        let high = Inst {
            sdst: masks[2],
            ..inst(Op::VAddCoCiU32, Format::Vop3, destinations[1], &[c, d, masks[1]])
        };
        let halves = [low, high];

        let program = program(halves, level);
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
        let mut file = vec![0u32; (256 + 32) * lanes + 16];
        let offset = file.as_ptr().align_offset(64);
        for value in &mut file[offset..][..VECTORS * lanes] {
            *value = random.next();
        }
        (wave.vgpr, wave.lanes, wave.mode) = (file[offset..].as_mut_ptr(), lanes as u8, 0xf0);
        for slot in SCALARS {
            wave.sgpr[usize::from(slot)] = random.next();
        }
        wave.set_scalar64(scalar::EXEC, exec);
        let mut vectors: Vec<Vec<u32>> =
            file[offset..].chunks(lanes).take(VECTORS).map(<[u32]>::to_vec).collect();
        let mut scalars = wave.sgpr;
        model(&halves, lanes, exec, &mut vectors, &mut scalars);

        assert!(enter(&mut wave, &program, ENTRY));
        // SAFETY: the wave is at the program's start, with a file of 256 registers and slack.
        let flow = unsafe { run(&mut wave, &program, &mut Unwatched) };
        assert_eq!(flow, Flow::End);
        let after: Vec<Vec<u32>> = file[offset..].chunks(lanes).take(VECTORS).map(<[u32]>::to_vec).collect();
        assert_eq!(after, vectors, "case {case}: {halves:?}, EXEC {exec:#x}, {lanes} lanes, {level:?}");
        assert_eq!(wave.sgpr, scalars, "case {case}: {halves:?}, EXEC {exec:#x}, {lanes} lanes, {level:?}");
        let (unit, first) = program.place(ENTRY, Form::new(lanes as u8, false));
        together += usize::from(unit.codes[first as usize].more == 1);
    }
    assert!(together > 1000, "{together} were executed together");
}
