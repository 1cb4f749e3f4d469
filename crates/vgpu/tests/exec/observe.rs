//! What observers are told about instructions, compared with what the handlers do.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

mod accesses;
mod depend;
mod model;

use vgpu::exec::{Fetched, Flow, Form, Level, Program, Unwatched, Wave, is_memory, run};
use vgpu::isa::{Format, Inst, Isa, Op, Register, decode, scalar};
use vgpu::machine::{Access, Memory};

const ENTRY: u64 = 0x1000;

/// Each instruction set with lines of its machine code.
fn files() -> impl Iterator<Item = (Isa, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vgpu-isa/tests/filetests");
    Isa::ALL.iter().map(move |isa| {
        let file = folder.join(format!("{}.txt", isa.name()));
        (*isa, std::fs::read_to_string(file).expect("the lines of an instruction set"))
    })
}

/// Some instructions of a file: a few of each operation in each form.
fn instructions(isa: Isa, text: &str) -> Vec<(String, Inst)> {
    let mut seen: HashMap<(Op, Format, bool, bool), usize> = HashMap::new();
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((bytes, text)) = line.split_once(" ; ") else { continue };
        let bytes: Vec<u8> =
            bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal bytes")).collect();
        let Ok(inst) = decode(isa, &bytes) else { continue };
        let count = seen.entry((inst.op, inst.format, inst.dpp.is_some(), inst.sdwa.is_some())).or_default();
        *count += 1;
        if *count <= 3 {
            found.push((text.to_owned(), inst));
        }
    }
    found
}

fn random(seed: &mut u64) -> u32 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) as u32 ^ (*seed >> 13) as u32
}

/// A wave's registers.
#[derive(Clone)]
struct State {
    vector: Vec<u32>,
    scalar: [u32; scalar::COUNT],
    scc: bool,
}

/// Runs single instructions on a wave.
struct Bench {
    wave: Wave,
    file: Vec<u32>,
    offset: usize,
    lanes: usize,
}

impl Bench {
    fn new(lanes: usize) -> Bench {
        let file = vec![0u32; (512 + 32) * lanes + 16];
        let offset = file.as_ptr().align_offset(64);
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
        wave.lanes = lanes as u8;
        wave.access.strict_lds = true;
        Bench { wave, file, offset, lanes }
    }

    fn load(&mut self, state: &State) {
        let file = &mut self.file[self.offset..];
        file[..state.vector.len()].copy_from_slice(&state.vector);
        self.wave.vgpr = file.as_mut_ptr();
        self.wave.sgpr = state.scalar;
        self.wave.scc = state.scc;
        self.wave.mode = 0x3f0;
        self.wave.saved_exec = 0;
    }

    /// The registers after the program's instructions; none if the wave did not reach its end.
    fn run(&mut self, program: &Program, before: &State) -> Option<State> {
        let count = before.vector.len();
        self.load(before);
        let form = Form::new(self.lanes as u8, false);
        let (unit, next) = program.place(ENTRY, form);
        (self.wave.unit, self.wave.next) = (Some(unit), next);
        // SAFETY: the wave is at the program's start, with a file of 512 registers and slack.
        let flow = unsafe { run(&mut self.wave, program, &mut Unwatched) };
        let vector = self.file[self.offset..][..count].to_vec();
        (flow == Flow::End).then_some(State { vector, scalar: self.wave.sgpr, scc: self.wave.scc })
    }
}

/// A program of the instruction and the end.
fn program(isa: Isa, inst: Inst) -> Program {
    let end = Inst { op: Op::SEndpgm, format: Format::Sopp, size: 4, ..vgpu::exec::no_inst() };
    let after = ENTRY + u64::from(inst.size);
    let fetch = move |pc: u64| match pc {
        ENTRY => Fetched::Inst(inst),
        _ if pc == after => Fetched::Inst(end),
        _ => Fetched::Outside,
    };
    Program::new(isa, Level::detect(), Box::new(fetch))
}

fn set(spans: &[vgpu::isa::Span]) -> BTreeSet<Register> {
    spans.iter().flat_map(|span| span.registers()).collect()
}

/// Whether the instruction's effect on registers depends on registers only.
fn is_plain(inst: &Inst) -> bool {
    !is_memory(inst.format)
        && !matches!(inst.format, Format::LdsDir | Format::Mimg | Format::Export | Format::Interp)
        && !matches!(
            inst.op.class(),
            vgpu::isa::Class::Branch | vgpu::isa::Class::Barrier | vgpu::isa::Class::Message
        )
        && !inst.op.name().starts_with("s_set")
        && !inst.op.name().starts_with("s_getreg")
        && !matches!(inst.op, Op::SGetpcB64 | Op::SRoundMode | Op::SDenormMode)
}

/// Whether a lane mask is in an odd register, which no assembler accepts for waves of 64.
fn has_odd_mask(inst: &Inst) -> bool {
    let signature = inst.op.signature();
    let sources = inst.src.iter().zip(signature.src);
    sources.chain([(&inst.dst, signature.dst), (&inst.sdst, signature.sdst)]).any(|(operand, ty)| {
        ty.elem == vgpu::isa::Elem::Mask
            && matches!(operand, vgpu::isa::Operand::Sgpr(slot) if slot % 2 != 0 && *slot != scalar::NULL)
    })
}

/// Executes instructions of LLVM's test encodings on random registers. Only registers reported as written
/// change, and their new values do not depend on registers that are not reported as read.
#[test]
fn registers_are_those_that_handlers_read_and_write() {
    let mut failures = Vec::new();
    let mut executed = 0;
    for (isa, text) in files() {
        let sizes: &[usize] = if isa.is_gfx9() { &[64] } else { &[32, 64] };
        let registers = if isa.is_gfx9() { 512 } else { 256 };
        let all = instructions(isa, &text);
        for &lanes in sizes {
            let mut bench = Bench::new(lanes);
            let mut seed = 7;
            let vector = (0..registers * lanes).map(|_| random(&mut seed)).collect();
            let mut before = State { vector, scalar: [0; scalar::COUNT], scc: false };
            // Changed values in all registers that the instruction does not use.
            let mut other = before.clone();
            other.vector.iter_mut().for_each(|value| *value ^= 0x5a5a_5a5a);
            for (text, inst) in all.iter().filter(|(_, inst)| is_plain(inst)) {
                let found = inst.registers(lanes as u8);
                if found.indirect || lanes == 64 && has_odd_mask(inst) {
                    continue;
                }
                before.scalar = std::array::from_fn(|_| random(&mut seed));
                before.scalar[usize::from(scalar::NULL)] = 0;
                before.scc = random(&mut seed) & 1 != 0;
                let program = program(isa, *inst);
                let Some(after) = bench.run(&program, &before) else { continue };
                executed += 1;
                let (read, written) = (set(&found.read), set(&found.written));
                let what = format!("{} in waves of {lanes}: {text}", isa.name());
                if let Some(register) = before.differences(&after, lanes).difference(&written).next() {
                    failures.push(format!("{what} writes {register:?}"));
                    continue;
                }
                other.scalar = before.scalar.map(|value| value ^ 0xa5a5_a5a5);
                other.scalar[usize::from(scalar::NULL)] = 0;
                other.scc = !before.scc;
                let named: Vec<Register> = read.union(&written).copied().collect();
                named.iter().for_each(|&register| other.copy(&before, register, lanes));
                let differently = bench.run(&program, &other);
                match differently {
                    None => failures.push(format!("{what} ends otherwise")),
                    Some(differently) => {
                        if let Some(register) =
                            after.differences(&differently, lanes).intersection(&written).next()
                        {
                            failures.push(format!("{what} computes {register:?} from other registers"));
                        }
                    }
                }
                for register in named {
                    if let Register::Vector(register) = register {
                        let lane = usize::from(register) * lanes;
                        other.vector[lane..lane + lanes].iter_mut().for_each(|value| *value ^= 0x5a5a_5a5a);
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {executed}:\n{}", failures.len(), failures.join("\n"));
    assert!(executed > 5_000, "only {executed} were executed");
}

impl State {
    /// The registers that differ.
    fn differences(&self, other: &State, lanes: usize) -> BTreeSet<Register> {
        let vectors = self.vector.chunks(lanes).zip(other.vector.chunks(lanes)).enumerate();
        let vectors = vectors.filter(|(_, (a, b))| a != b).map(|(i, _)| Register::Vector(i as u16));
        let scalars = self.scalar.iter().zip(&other.scalar).enumerate();
        let scalars = scalars.filter(|(_, (a, b))| a != b).map(|(i, _)| Register::Scalar(i as u8));
        vectors.chain(scalars).chain((self.scc != other.scc).then_some(Register::Scc)).collect()
    }

    fn copy(&mut self, from: &State, register: Register, lanes: usize) {
        match register {
            Register::Vector(register) => {
                let lane = usize::from(register) * lanes;
                self.vector[lane..lane + lanes].copy_from_slice(&from.vector[lane..lane + lanes]);
            }
            Register::Scalar(slot) => self.scalar[usize::from(slot)] = from.scalar[usize::from(slot)],
            Register::Scc => self.scc = from.scc,
        }
    }
}
