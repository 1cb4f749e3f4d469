//! Both engines do the same: loads and stores whose lanes access memory in different patterns.

use super::file::Place;
use super::state::{Bench, PC, State};
use super::{blocks, compilable, files, instruction, mode, on};
use vgpu::exec::{Fetched, Program};
use vgpu::isa::{Footprint, Inst, Isa};
use vgpu::machine::Engine;

/// Instructions of the files that access as many bytes in each lane, once or twice.
fn instructions() -> Vec<(Isa, u8, Inst, String)> {
    let mut all = Vec::new();
    for block in files().iter().flat_map(|path| blocks(path)) {
        for variant in &block.variants {
            let name = variant.text.split(' ').next().unwrap_or_default();
            let kinds = ["global_load_", "global_store_", "ds_read", "ds_load", "ds_write", "ds_store"];
            let is_access = kinds.iter().any(|kind| name.starts_with(kind)) && !name.contains("_lds_");
            // Addresses are in the same registers in nearly all of them.
            let has_address = ["v8, ", "v8 ", "v[8:9]"].iter().any(|address| variant.text.contains(address))
                || variant.text.ends_with("v8");
            if !is_access || !has_address {
                continue;
            }
            for &lanes in variant.sizes {
                let Ok(inst) = instruction(variant, lanes) else { continue };
                if let Footprint::One(_, 1 | 2 | 4 | 8 | 16) | Footprint::Two(..) = inst.op.footprint() {
                    all.push((variant.isa, lanes, inst, variant.text.clone()));
                }
            }
        }
    }
    all
}

/// Where lane `i` of `lanes` accesses something of `bytes` bytes, from the first byte on.
type Pattern = fn(i: u64, lanes: u64, bytes: u64) -> u64;

/// Names of patterns, the patterns, and whether they begin at the end of the address space.
const PATTERNS: [(&str, Pattern, bool); 10] = [
    ("consecutive", |i, _, bytes| i * bytes, false),
    ("consecutive, beyond the end", |i, _, bytes| 960 + i * bytes, false),
    ("the same", |_, _, _| 48, false),
    ("the same, beyond the end", |_, _, _| 8000, false),
    ("rows of sixteen", |i, _, bytes| i / 16 * 128 + i % 16 * bytes, false),
    ("rows of eight", |i, _, bytes| i / 8 * 80 + i % 8 * bytes, false),
    ("the same in sixteen", |i, _, _| i / 16 * 64, false),
    ("any", |i, _, _| (i * 0x9e37 >> 3 & 0x7c) * 4, false),
    ("backward", |i, lanes, bytes| (lanes - 1 - i) * bytes, false),
    ("around the end of the address space", |i, lanes, bytes| (i * bytes).wrapping_sub(lanes * bytes), true),
];

#[test]
fn accesses_do_the_same_on_both_engines() {
    for level in compilable() {
        let mut count = 0;
        let mut benches = [Bench::new(32), Bench::new(64)];
        for (isa, lanes, inst, text) in instructions() {
            let bench = &mut benches[usize::from(lanes == 64)];
            let program = |engine| {
                let size = u64::from(inst.size);
                // Three times in a row, so that the ranges are known.
                let fetch = move |pc: u64| match (pc - PC) / size {
                    0..3 => Fetched::Inst(inst),
                    _ => Fetched::Outside,
                };
                on(engine, level, Program::new(isa, level, Box::new(fetch)))
            };
            let programs = [program(Engine::Reference), program(Engine::Compiled)];
            for (name, pattern, is_absolute) in PATTERNS {
                for bytes in [1, 2, 4, 8, 16] {
                    for exec in [u64::MAX, 0xff00_00ff_ffff_0000, 0x5a5a_0ff0_1234_8001, 0] {
                        let place = |lane| pattern(lane, lanes.into(), bytes);
                        let case = Case { isa, lanes, text: &text, place: &place, is_absolute, exec };
                        if let Err(differences) = case.check(bench, &programs) {
                            panic!("{level:?}: {text}: {name}, {bytes}, {exec:x}: {differences}");
                        }
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 10_000, "{count}");
    }
}

/// An access with one pattern.
struct Case<'a> {
    isa: Isa,
    lanes: u8,
    text: &'a str,
    /// Where each lane accesses something.
    place: &'a dyn Fn(u64) -> u64,
    /// Whether places are addresses, or else offsets.
    is_absolute: bool,
    exec: u64,
}

impl Case<'_> {
    /// Runs a program of accesses on both engines.
    fn check(&self, bench: &mut Bench, [reference, compiled]: &[Program; 2]) -> Result<(), String> {
        let Case { lanes, place, .. } = *self;
        let base = if self.is_absolute { 0 } else { bench.base() };
        let mut before = State::background(lanes.into(), 0);
        before.set_mode(mode(self.isa));
        before.set_exec(self.exec);
        let in_lds = self.text.starts_with("ds_");
        let scalar = self.text.contains("s[20:21]");
        for lane in 0..u64::from(lanes) {
            let (low, high) = match (in_lds, scalar) {
                (true, _) => (place(lane) as u32, 0),
                // All lanes' parts are positive, so the base is that of the first one.
                (false, true) => (place(lane).wrapping_sub(place(0)) as u32, 0),
                (false, false) => {
                    let address = base.wrapping_add(place(lane));
                    (address as u32, (address >> 32) as u32)
                }
            };
            before.write(Place::Vector(8, 1), lane as usize, &low.to_le_bytes());
            if !in_lds && !scalar {
                before.write(Place::Vector(9, 1), lane as usize, &high.to_le_bytes());
            }
        }
        if scalar {
            before.write(Place::Scalar(20, 2), 0, &base.wrapping_add(place(0)).to_le_bytes());
        }
        let (expected, end) = bench.run(reference, &before);
        let (found, other_end) = bench.run(compiled, &before);
        let differences = found.differences(&expected);
        let differences = &differences[..differences.len().min(12)];
        if !differences.is_empty() || end != other_end {
            return Err(format!("wave{lanes}: {other_end:x?}, not {end:x?}\n{}", differences.join("\n")));
        }
        if compiled.native_bytes() == 0 {
            return Err("no native code".to_owned());
        }
        Ok(())
    }
}
