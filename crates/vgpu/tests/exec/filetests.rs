//! Tests of single instructions: `tests/filetests/exec` lists registers and memory before and after each.

mod accesses;
mod engines;
mod file;
mod matrices;
mod shapes;
mod spread;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use file::{Block, Case, End, Variant};
use state::{Bench, PC, State};

use vgpu::exec::{Level, Program};
use vgpu::isa::{Generation, Inst, Isa, Op, Operand, decode, decode_wave64};
use vgpu::machine::Engine;

/// The maximum number of failures reported per file.
const TOLD: usize = 200;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn files() -> Vec<PathBuf> {
    let folder = folder().join("exec");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {}", folder.display());
    files
}

fn blocks(path: &Path) -> Vec<Block> {
    file::parse(&read(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The MODE that kernels start with: rounding to nearest, subnormal numbers, DX10_CLAMP, and IEEE if it
/// exists.
fn mode(isa: Isa) -> u32 {
    if isa.generation() == Generation::Gfx12 { 0x1f0 } else { 0x3f0 }
}

/// The instruction, if its bytes match its text.
fn instruction(variant: &Variant, lanes: u8) -> Result<Inst, String> {
    // Some encodings exist only in waves of 64.
    let wave64 = |why| if lanes == 64 { decode_wave64(variant.isa, &variant.bytes) } else { Err(why) };
    let inst = decode(variant.isa, &variant.bytes).or_else(wave64).map_err(|e| e.to_string())?;
    let text = inst.text(variant.isa);
    let text = if lanes == 64 { text.wave64().to_string() } else { text.to_string() };
    if text != variant.text {
        return Err(format!("prints as {text}"));
    }
    if usize::from(inst.size) != variant.bytes.len() {
        return Err(format!("has {} bytes", inst.size));
    }
    Ok(inst)
}

/// The differences of a case on one level.
fn check(
    bench: &mut Bench,
    program: &Program,
    inst: &Inst,
    case: &Case,
    background: &State,
) -> Result<State, String> {
    let mut before = background.clone();
    before.prepare(&case.inputs, bench.base());
    let (after, end) = bench.run(program, &before);
    let mut expected = before;
    expected.change(&case.outputs, bench.base(), &after);
    let mut wrong = after.differences(&expected);
    let right = match (&end, &case.end) {
        (End::Jump(pc), End::Next) => *pc == PC + u64::from(inst.size),
        (End::Fault(text), End::Fault(part)) => text.contains(part),
        (end, expected) => end == expected,
    };
    if !right {
        wrong.push(format!("ended with {end:x?}, not {:x?}", case.end));
    }
    if wrong.is_empty() { Ok(after) } else { Err(wrong.join("\n    ")) }
}

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A branch over so many words, of any instruction set.
fn branch(isa: Isa, op: Op, words: i32) -> Inst {
    let end = if isa >= Isa::Gfx1100 { [0, 0, 0xb0, 0xbf] } else { [0, 0, 0x81, 0xbf] };
    let template = decode(isa, &end).expect("the end of a program");
    Inst { op, size: 4, src: [Operand::Imm(words), Operand::None, Operand::None, Operand::None], ..template }
}

/// A program on an engine; on the compiling one, the first wave already runs native code.
fn on(engine: Engine, level: Level, program: Program) -> Program {
    match (engine, vgpu_jit::Jit::of(level)) {
        (Engine::Compiled, Some(jit)) => program.compiled_by(jit, 0),
        _ => program,
    }
}

/// The levels for which there is a compiler.
fn compilable() -> impl Iterator<Item = Level> {
    Level::available().iter().copied().filter(|level| vgpu_jit::Jit::of(*level).is_some())
}

/// Waves of one size, and two initial states.
struct Stage {
    bench: Bench,
    backgrounds: [State; 2],
}

impl Stage {
    fn new(lanes: usize) -> Stage {
        Stage { bench: Bench::new(lanes), backgrounds: [0, 1].map(|seed| State::background(lanes, seed)) }
    }
}

/// Runs a block of a file on every target, wave size and level. Reports failures, and counts the runs in all
/// lanes.
fn run_block(block: &Block, stages: &mut [Stage; 2], failures: &mut Vec<String>) -> usize {
    let mut spread_cases = 0;
    for variant in &block.variants {
        for &lanes in variant.sizes {
            let name = format!("{} of {} (wave{lanes})", variant.text, variant.isa.name());
            let inst = match instruction(variant, lanes) {
                Ok(inst) => inst,
                Err(why) => {
                    failures.push(format!("{}: {name}: {why}", variant.line));
                    continue;
                }
            };
            let Stage { bench, backgrounds } = &mut stages[usize::from(lanes == 64)];
            let reference = Level::available().iter().map(|&level| (level, Engine::Reference));
            let compiled = compilable().map(|level| (level, Engine::Compiled));
            let programs: Vec<_> = reference
                .chain(compiled)
                .map(|(level, engine)| {
                    ((level, engine), on(engine, level, Bench::program(inst, variant.isa, level)))
                })
                .collect();
            let mut run = |case: &Case, background: &mut State, what: &str| {
                background.set_mode(mode(variant.isa));
                let mut first: Option<State> = None;
                for (level, program) in &programs {
                    match check(bench, program, &inst, case, background) {
                        Ok(after) if first.as_ref().is_some_and(|first| *first != after) => {
                            failures
                                .push(format!("{}: {name}{what}: {level:?} has different bits", case.line));
                        }
                        Ok(after) => first = first.or(Some(after)),
                        Err(wrong) => {
                            failures.push(format!("{}: {name}{what}, {level:?}:\n    {wrong}", case.line));
                            // A failure usually repeats everywhere.
                            break;
                        }
                    }
                }
            };
            for case in &block.cases {
                for background in backgrounds.iter_mut() {
                    run(case, background, "");
                }
                let wide = spread::spread(case, &inst, usize::from(lanes));
                spread_cases += wide.len();
                for (case, background) in wide.iter().zip(backgrounds.iter_mut()) {
                    run(case, background, " in all lanes");
                }
            }
        }
    }
    spread_cases
}

#[test]
fn instructions_do_what_the_files_say() {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let report = std::sync::Mutex::new(String::new());
    let spread_cases = std::sync::atomic::AtomicUsize::new(0);
    let files = files();
    let work = || {
        let mut stages = [Stage::new(32), Stage::new(64)];
        while let Some(path) = files.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let mut failures = Vec::new();
            for block in blocks(path) {
                let spread = run_block(&block, &mut stages, &mut failures);
                spread_cases.fetch_add(spread, std::sync::atomic::Ordering::Relaxed);
            }
            if !failures.is_empty() {
                let mut report = report.lock().expect("no thread panicked");
                let _ = writeln!(report, "{} failures in {}:", failures.len(), path.display());
                for failure in failures.iter().take(TOLD) {
                    let _ = writeln!(report, "{failure}");
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let report = report.into_inner().expect("no thread panicked");
    assert!(report.is_empty(), "\n{report}");
    let spread_cases = spread_cases.into_inner();
    assert!(spread_cases > 10_000, "only {spread_cases} runs in all lanes");
}

/// The mnemonics of an instruction, without encodings; a VOPD pair has two.
fn mnemonics(text: &str) -> impl Iterator<Item = &str> {
    let bare = |word| {
        ["_e32", "_e64", "_dpp", "_sdwa"]
            .iter()
            .fold(word, |word: &str, end| word.strip_suffix(end).unwrap_or(word))
    };
    text.split(" :: ").filter_map(|part| part.split(' ').next()).map(move |word| bare(bare(word)))
}

#[test]
fn every_mnemonic_has_a_case_or_a_reason_to_have_none() {
    let mut tested: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for block in files().iter().flat_map(|path| blocks(path)) {
        for variant in &block.variants {
            let names = tested.entry(variant.isa.name()).or_default();
            names.extend(mnemonics(&variant.text).map(str::to_owned));
        }
    }
    let reasons = read(&folder().join("exec/untested.list"));
    let reasons: Vec<&str> = reasons
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(" ; ").unwrap_or_else(|| panic!("{line}: no reason")).0)
        .collect();
    let mut used = BTreeSet::new();
    let mut wrong = String::new();
    for isa in Isa::ALL {
        let name = isa.name();
        let known = read(&folder().join(format!("../../../vgpu-isa/tests/filetests/{name}.txt")));
        let texts =
            known.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" ; "));
        let all: BTreeSet<&str> =
            texts.flat_map(|(_, text)| mnemonics(text)).filter(|name| *name != "illegal").collect();
        for mnemonic in all {
            if tested.get(name).is_some_and(|tested| tested.contains(mnemonic)) {
                continue;
            }
            let covers = |reason: &&&str| match reason.strip_suffix('*') {
                Some(start) => mnemonic.starts_with(start),
                None => mnemonic == **reason,
            };
            match reasons.iter().find(covers) {
                Some(reason) => {
                    used.insert(*reason);
                }
                None => {
                    let _ = writeln!(wrong, "{name}: {mnemonic} has no case");
                }
            }
        }
    }
    for reason in reasons.iter().filter(|reason| !used.contains(*reason)) {
        let _ = writeln!(wrong, "{reason} in untested.list matches no mnemonic");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
