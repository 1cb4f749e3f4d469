//! Both engines do the same: every matrix instruction of the files, with all lanes enabled and with some.

use super::state::{Bench, PC, State};
use super::{blocks, compilable, files, instruction, mode, on};
use vgpu::exec::{Fetched, Program};
use vgpu::machine::Engine;

/// Bytes of a product in native form, which calls of handlers do not reach.
const NATIVE: usize = 1500;

#[test]
fn products_do_the_same_on_both_engines() {
    for level in compilable() {
        let (mut count, mut native) = (0, 0);
        for block in files().iter().flat_map(|path| blocks(path)) {
            for variant in &block.variants {
                let families = ["v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"];
                if !families.iter().any(|family| variant.text.starts_with(family)) {
                    continue;
                }
                for &lanes in variant.sizes {
                    let Ok(inst) = instruction(variant, lanes) else { continue };
                    let program = |engine| {
                        let size = u64::from(inst.size);
                        // Twice, because the second one's sum may be the first one's result.
                        let fetch = move |pc: u64| match (pc - PC) / size {
                            0..2 => Fetched::Inst(inst),
                            _ => Fetched::Outside,
                        };
                        on(engine, level, Program::new(variant.isa, level, Box::new(fetch)))
                    };
                    let (reference, compiled) = (program(Engine::Reference), program(Engine::Compiled));
                    let mut bench = Bench::new(lanes.into());
                    let all = u64::MAX;
                    for (seed, exec) in (0..).zip([all, all, all, all, 0x5a5a_0ff0_1234_8001, 0]) {
                        let mut before = State::background(lanes.into(), seed);
                        match seed {
                            0 => {}
                            1 => before.numbers(),
                            _ => before.moderate_bytes(),
                        }
                        before.set_mode(mode(variant.isa));
                        before.set_exec(exec);
                        let (expected, end) = bench.run(&reference, &before);
                        let (found, other_end) = bench.run(&compiled, &before);
                        let differences = found.differences(&expected);
                        let differences = &differences[..differences.len().min(12)];
                        assert!(
                            differences.is_empty() && end == other_end,
                            "{} wave{lanes} {level:?} {exec:x}: {}: {other_end:x?}, not {end:x?}\n{}",
                            variant.isa.name(),
                            variant.text,
                            differences.join("\n")
                        );
                        count += 1;
                    }
                    native += usize::from(compiled.native_bytes() > NATIVE);
                }
            }
        }
        assert!(count > 500, "{count}");
        assert!(native >= 45, "only {native} have a native form");
    }
}
