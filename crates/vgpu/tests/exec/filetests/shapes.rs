//! Both engines do the same: loops of loads and stores whose addresses are computed in between, in steps that
//! keep their shape and in steps that do not, with all lanes enabled and with some.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::file::Place;
use super::state::{Bench, PC, State};
use super::{Random, blocks, branch, compilable, files, instruction, mode, on};
use vgpu::exec::{Fetched, Level, Program};
use vgpu::isa::{Inst, Isa, Op, Operand, scalar};
use vgpu::machine::Engine;

/// Programs for each instruction set and wave size.
const PROGRAMS: u64 = 150;
/// The registers with addresses, which are also loaded and computed with.
const ADDRESSES: u8 = 6;

/// What programs consist of.
const OPERATIONS: [Op; 15] = [
    Op::VAddNcU32,
    Op::VSubNcU32,
    Op::VMovB32,
    Op::VLshlrevB32,
    Op::VAndB32,
    Op::SMovB32,
    Op::SMovB64,
    Op::DsLoadB32,
    Op::DsLoadU16,
    Op::DsLoadB64,
    Op::DsLoadB128,
    Op::DsLoad2addrB32,
    Op::DsStoreB32,
    Op::DsStoreB64,
    Op::DsStoreB8,
];

/// An instruction of each of these operations, by instruction set and wave size.
fn templates() -> BTreeMap<(Isa, u8), BTreeMap<Op, Inst>> {
    let mut all: BTreeMap<(Isa, u8), BTreeMap<Op, Inst>> = BTreeMap::new();
    for block in files().iter().flat_map(|path| blocks(path)) {
        for variant in &block.variants {
            for &lanes in variant.sizes {
                let Ok(inst) = instruction(variant, lanes) else { continue };
                let plain = inst.dpp.is_none() && inst.sdwa.is_none() && inst.dual.is_none();
                if plain && inst.mods == Default::default() && OPERATIONS.contains(&inst.op) {
                    all.entry((variant.isa, lanes)).or_default().entry(inst.op).or_insert(inst);
                }
            }
        }
    }
    all
}

/// A random instruction made of a template.
fn random_instruction(random: &mut Random, template: &Inst) -> Inst {
    let mut inst = *template;
    let register = |random: &mut Random| Operand::Vgpr(random.below(ADDRESSES.into()) as u8);
    let number = |random: &mut Random| match random.below(3) {
        0 => Operand::Sgpr(20 + random.below(2) as u8),
        1 => Operand::Int(4 * random.below(8) as i8),
        _ => Operand::Int(-4),
    };
    match inst.op {
        Op::SMovB32 | Op::SMovB64 => {
            let masks = [Operand::Int(-1), Operand::Int(-1), Operand::Literal(0x5a5a_0ff0), Operand::Int(1)];
            inst.dst = Operand::Sgpr(scalar::EXEC);
            inst.src[0] = masks[random.below(masks.len())];
        }
        Op::VMovB32 => {
            inst.dst = register(random);
            inst.src[0] = register(random);
        }
        Op::VAddNcU32 | Op::VSubNcU32 => {
            inst.dst = register(random);
            inst.src = [number(random), register(random), Operand::None, Operand::None];
            if inst.op == Op::VSubNcU32 {
                inst.src.swap(0, 1);
            }
        }
        Op::VLshlrevB32 => {
            inst.dst = register(random);
            inst.src = [Operand::Int(random.below(2) as i8), register(random), Operand::None, Operand::None];
        }
        Op::VAndB32 => {
            inst.dst = register(random);
            inst.src = [Operand::Literal(0xfc), register(random), Operand::None, Operand::None];
        }
        op => {
            inst.src[0] = register(random);
            let stores = matches!(op, Op::DsStoreB32 | Op::DsStoreB64 | Op::DsStoreB8);
            // Loads of numbers seldom give addresses.
            let data = if random.below(4) == 0 { 0 } else { 16 + 4 * random.below(4) as u8 };
            if stores {
                inst.src[1] = Operand::Vgpr(data);
            } else {
                inst.dst = Operand::Vgpr(data);
            }
            inst.mem.offset = 16 * random.below(3) as i32;
        }
    }
    inst
}

#[test]
fn shapes_of_addresses_are_right_on_both_engines() {
    compilable().for_each(programs_do_the_same);
}

fn programs_do_the_same(level: Level) {
    let mut compared = 0;
    for ((isa, lanes), templates) in templates() {
        let templates: Vec<Inst> = templates.into_values().collect();
        let mut bench = Bench::new(lanes.into());
        for seed in 0..PROGRAMS {
            let mut random = Random(seed.wrapping_mul(104_729) ^ (isa as u64) << 32 ^ u64::from(lanes) << 40);
            let mut code = BTreeMap::new();
            let mut texts = String::new();
            let mut pc = PC;
            for _ in 0..4 + random.below(20) {
                let template = &templates[random.below(templates.len())];
                let wide = if lanes == 64 { Op::SMovB32 } else { Op::SMovB64 };
                if template.op == wide {
                    continue;
                }
                let inst = random_instruction(&mut random, template);
                let _ = writeln!(texts, "    {inst:?}");
                code.insert(pc, inst);
                pc += u64::from(inst.size);
            }
            let back = -(((pc + 4 - PC) / 4) as i32);
            code.insert(pc, branch(isa, Op::SCbranchExecnz, back));
            let program = |engine| {
                let code = code.clone();
                let fetch = move |pc| code.get(&pc).map_or(Fetched::Outside, |inst| Fetched::Inst(*inst));
                on(engine, level, Program::new(isa, level, Box::new(fetch)))
            };
            let mut before = State::background(lanes.into(), 0);
            before.set_mode(mode(isa));
            before.set_exec(if random.below(4) == 0 { 0x00ff_ff00_0ff0_1234 } else { u64::MAX });
            for register in 0..usize::from(ADDRESSES) {
                let (step, row, start) = (4 << random.below(3), 1 << random.below(7), 4 * random.below(64));
                let pattern = random.below(4);
                for lane in 0..usize::from(lanes) {
                    let place =
                        [lane * step, lane % row * step, lane / row * step, lane * lane % 31 * 4][pattern];
                    before.write(Place::Vector(register, 1), lane, &((start + place) as u32).to_le_bytes());
                }
            }
            for slot in [20, 21] {
                let number = 8 * random.below(4) as u32;
                before.write(Place::Scalar(slot, 1), 0, &number.to_le_bytes());
            }
            let (reference, compiled) = (program(Engine::Reference), program(Engine::Compiled));
            let (expected, end) = bench.run_slices(&reference, &before, 1);
            let (found, other_end) = bench.run_slices(&compiled, &before, 1);
            compared += usize::from(compiled.native_bytes() > 0);
            let differences = found.differences(&expected);
            let differences = &differences[..differences.len().min(12)];
            assert!(
                differences.is_empty() && end == other_end,
                "{} wave{lanes} {level:?} seed {seed}: {other_end:x?}, not {end:x?}\n{texts}\n{}",
                isa.name(),
                differences.join("\n")
            );
        }
    }
    assert!(compared > 500, "{compared}");
}
