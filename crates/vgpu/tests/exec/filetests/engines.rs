//! Both engines do the same: programs of random instructions of the files, in loops.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::state::{Bench, PC, State};
use super::{Random, blocks, branch, compilable, files, instruction, mode, on};
use vgpu::exec::{Fetched, Level, Program};
use vgpu::isa::{Inst, Isa, Op};
use vgpu::machine::Engine;

/// Programs for each instruction set and wave size.
const PROGRAMS: u64 = 400;
/// Time slices of a program that does not end.
const SLICES: u32 = 3;

/// Instructions of the files by instruction set and wave size. Those that access global memory would end most
/// programs, and those whose result depends on the time differ in any case.
fn instructions() -> BTreeMap<(Isa, u8), Vec<(Inst, String)>> {
    let mut all: BTreeMap<(Isa, u8), Vec<(Inst, String)>> = BTreeMap::new();
    for block in files().iter().flat_map(|path| blocks(path)) {
        for variant in &block.variants {
            for &lanes in variant.sizes {
                let Ok(inst) = instruction(variant, lanes) else { continue };
                let starts = |part: &str| variant.text.starts_with(part);
                let excluded = [
                    "s_load",
                    "s_store",
                    "s_buffer",
                    "s_scratch",
                    "s_atomic",
                    "s_dcache",
                    "s_mem",
                    "s_sendmsg",
                ];
                let memory = ["global_", "flat_", "buffer_", "tbuffer_", "image_", "scratch_"];
                let control = [
                    "s_set",
                    "s_get",
                    "s_swappc",
                    "s_call",
                    "s_rfe",
                    "s_trap",
                    "s_endpgm",
                    "s_cbranch",
                    "s_branch",
                ];
                let waits = ["s_barrier", "s_sleep", "s_sendmsg", "s_monitor", "s_ttrace", "s_wait_event"];
                let groups = [&excluded[..], &memory, &control, &waits];
                if groups.iter().any(|group| group.iter().any(|part| starts(part))) || starts("ds_gws") {
                    continue;
                }
                all.entry((variant.isa, lanes)).or_default().push((inst, variant.text.clone()));
            }
        }
    }
    all
}

#[test]
fn programs_do_the_same_on_both_engines() {
    compilable().for_each(programs_do_the_same);
}

fn programs_do_the_same(level: Level) {
    let mut native = 0;
    let mut compared = 0;
    for ((isa, lanes), instructions) in instructions() {
        let mut bench = Bench::new(lanes.into());
        for seed in 0..PROGRAMS {
            let mut random = Random(seed.wrapping_mul(7919) ^ (isa as u64) << 32 ^ u64::from(lanes) << 40);
            let mut code = BTreeMap::new();
            let mut texts = String::new();
            let mut pc = PC;
            let count = 1 + random.below(24);
            for _ in 0..count {
                let (inst, text) = &instructions[random.below(instructions.len())];
                let _ = writeln!(texts, "    {text}");
                code.insert(pc, *inst);
                pc += u64::from(inst.size);
            }
            let op =
                [Op::SCbranchScc1, Op::SCbranchScc0, Op::SCbranchExecnz, Op::SCbranchVccz][random.below(4)];
            let back = -(((pc + 4 - PC) / 4) as i32);
            code.insert(pc, branch(isa, op, back));
            let program = |engine| {
                let code = code.clone();
                let fetch = move |pc| code.get(&pc).map_or(Fetched::Outside, |inst| Fetched::Inst(*inst));
                on(engine, level, Program::new(isa, level, Box::new(fetch)))
            };
            let mut before = State::background(lanes.into(), seed as u32 & 1);
            before.set_mode(mode(isa));
            let masks = [u64::MAX, u64::MAX, 0x5a5a_0ff0_1234_8001, 1 << random.below(32), 0];
            before.set_exec(masks[random.below(masks.len())]);
            if random.below(2) == 0 {
                before.numbers();
            }
            let (reference, compiled) = (program(Engine::Reference), program(Engine::Compiled));
            let (expected, end) = bench.run_slices(&reference, &before, SLICES);
            let (found, other_end) = bench.run_slices(&compiled, &before, SLICES);
            native += compiled.native_bytes();
            compared += 1;
            let differences = found.differences(&expected);
            let differences = &differences[..differences.len().min(12)];
            assert!(
                differences.is_empty() && end == other_end,
                "{} wave{lanes} {level:?} seed {seed}: {other_end:x?}, not {end:x?}\n{texts}    {op:?}\n{}",
                isa.name(),
                differences.join("\n")
            );
        }
    }
    assert!(compared > 1000, "{compared}");
    assert!(native > 0);
}

/// Waves run by handlers until the compiler's thread has native code, and all give the same.
#[test]
fn native_code_arrives_between_waves() {
    let block = files().iter().flat_map(|path| blocks(path)).find_map(|block| {
        let add = block.variants.iter().find(|variant| variant.text.starts_with("v_add_f32"))?;
        let lanes = *add.sizes.first()?;
        Some((add.isa, lanes, instruction(add, lanes).ok()?))
    });
    let (isa, lanes, inst) = block.expect("v_add_f32");
    for level in compilable() {
        let program = || {
            let fetch = move |pc| if pc == PC { Fetched::Inst(inst) } else { Fetched::Outside };
            Program::new(isa, level, Box::new(fetch))
        };
        let jit = vgpu_jit::Jit::of(level).expect("a compiler");
        let (reference, compiled) = (program(), program().compiled_by(jit, 3));
        let mut bench = Bench::new(lanes.into());
        let mut before = State::background(lanes.into(), 0);
        before.set_mode(mode(isa));
        before.set_exec(u64::MAX);
        before.numbers();
        let expected = bench.run(&reference, &before);
        let start = std::time::Instant::now();
        let mut waves = 0;
        while compiled.native_bytes() == 0 {
            assert!(bench.run(&compiled, &before) == expected, "wave {waves}");
            assert!(start.elapsed().as_secs() < 60, "no native code after {waves} waves");
            waves += 1;
        }
        assert!(waves > 3, "{waves}");
        assert!(bench.run(&compiled, &before) == expected, "native code");
    }
}
