//! Everything that an instruction can read or change, and how to run one on it.

use std::sync::Arc;

use super::file::{Content, End, Place, Value};
use vgpu::exec::{Barrier, Fetched, Flow, Level, Program, Unwatched, Wave, enter, run};
use vgpu::isa::{Inst, Isa, scalar};
use vgpu::machine::{Access, FaultKind, Memory, MemoryKind, Reader};

/// The address of the instruction.
pub(super) const PC: u64 = 0x10000;
const VECTORS: usize = 512;
/// Tuples that start at the last register extend this far.
const SLACK: usize = 32;
const LDS: usize = 4096;
const MEMORY: usize = 1024;
/// Bytes of scratch memory per lane.
const SCRATCH: usize = 64;

/// Registers and memory of a wave.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct State {
    pub(super) lanes: usize,
    scalars: [u32; scalar::COUNT],
    scc: u32,
    mode: u32,
    vectors: Vec<u32>,
    lds: Vec<u8>,
    memory: Vec<u8>,
    scratch: Vec<u32>,
}

impl State {
    /// An arbitrary initial state, different in each register and lane and for each seed. EXEC is zero.
    pub(super) fn background(lanes: usize, seed: u32) -> State {
        let number = |kind: u32, index: usize| {
            let mut x = (index as u32 ^ kind << 24 ^ seed << 28).wrapping_mul(0x9e37_79b1);
            x ^= x >> 15;
            x = x.wrapping_mul(0x85eb_ca77);
            x ^ x >> 13
        };
        let words = |kind, count| (0..count).map(|index| number(kind, index)).collect::<Vec<u32>>();
        let bytes = |kind, count| (0..count).map(|index| number(kind, index) as u8).collect::<Vec<u8>>();
        let mut scalars = std::array::from_fn(|index| number(1, index));
        for slot in [scalar::NULL, scalar::EXEC, scalar::EXEC + 1] {
            scalars[usize::from(slot)] = 0;
        }
        State {
            lanes,
            scalars,
            scc: seed & 1,
            mode: 0,
            vectors: words(2, VECTORS * lanes),
            lds: bytes(3, LDS),
            memory: bytes(4, MEMORY),
            scratch: words(5, SCRATCH / 4 * lanes),
        }
    }

    pub(super) fn set_mode(&mut self, mode: u32) {
        self.mode = mode;
    }

    /// Makes the contents of all vector registers numbers of moderate size.
    pub(super) fn numbers(&mut self) {
        for (i, value) in self.vectors.iter_mut().enumerate() {
            let size = (*value % 4000) as f32 / 16.0 - 120.0;
            *value = if i % 3 == 0 { *value % 5000 } else { size.to_bits() };
        }
    }

    /// Makes the contents of all vector registers numbers of moderate size in all formats of floats, down to
    /// those of a byte.
    pub(super) fn moderate_bytes(&mut self) {
        for value in &mut self.vectors {
            *value = u32::from_le_bytes(value.to_le_bytes().map(|byte| 0x28 + byte % 0x20 | byte & 0x80));
        }
    }

    /// Enables the lanes of a mask that exist in the wave.
    pub(super) fn set_exec(&mut self, mask: u64) {
        let mask = mask & (u64::MAX >> (64 - self.lanes));
        self.scalars[usize::from(scalar::EXEC)] = mask as u32;
        self.scalars[usize::from(scalar::EXEC) + 1] = (mask >> 32) as u32;
    }

    fn exec(&self) -> u64 {
        let exec = usize::from(scalar::EXEC);
        u64::from(self.scalars[exec]) | u64::from(self.scalars[exec + 1]) << 32
    }

    /// One element; `index` is the lane, or the element of memory.
    fn read(&self, place: Place, index: usize) -> Vec<u8> {
        let words = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes).collect();
        match place {
            Place::Vector(first, count) => {
                words((first..first + count).map(|r| self.vectors[r * self.lanes + index]).collect())
            }
            Place::Scalar(first, count) => words(self.scalars[first..first + count].to_vec()),
            Place::Scc => words(vec![self.scc]),
            Place::Mode => words(vec![self.mode]),
            Place::Lds(first, size) => self.lds[first + index * size..][..size].to_vec(),
            Place::Memory(first, size) => self.memory[first + index * size..][..size].to_vec(),
            Place::Scratch(offset) => words(vec![self.scratch[offset / 4 * self.lanes + index]]),
        }
    }

    pub(super) fn write(&mut self, place: Place, index: usize, bytes: &[u8]) {
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        match place {
            Place::Vector(first, count) => {
                for (register, word) in (first..first + count).zip(words) {
                    self.vectors[register * self.lanes + index] = word;
                }
            }
            Place::Scalar(first, count) => self.scalars[first..first + count].copy_from_slice(&words),
            Place::Scc => self.scc = words[0],
            Place::Mode => self.mode = words[0],
            Place::Lds(first, size) => self.lds[first + index * size..][..size].copy_from_slice(bytes),
            Place::Memory(first, size) => self.memory[first + index * size..][..size].copy_from_slice(bytes),
            Place::Scratch(offset) => self.scratch[offset / 4 * self.lanes + index] = words[0],
        }
    }

    /// Where a single value goes: to the lanes in `mask`, or to the only element.
    fn spread(&self, place: Place, content: &Content, mask: u64) -> Vec<(usize, Value)> {
        match content {
            Content::List(values) => values.clone(),
            Content::One(value) if place.has_lanes() => (0..self.lanes)
                .filter(|lane| mask >> lane & 1 != 0)
                .map(|lane| (lane, value.clone()))
                .collect(),
            Content::One(value) => vec![(0, value.clone())],
        }
    }

    /// Sets the inputs of a case. If EXEC is not among them, it enables the lanes that appear in lists.
    pub(super) fn prepare(&mut self, inputs: &[(Place, Content)], base: u64) {
        let lists = inputs.iter().filter_map(|(place, content)| match content {
            Content::List(values) if place.has_lanes() => {
                Some(values.iter().fold(0u64, |mask, (lane, _)| mask | 1 << lane))
            }
            _ => None,
        });
        self.set_exec(lists.reduce(|a, b| a | b).unwrap_or(u64::MAX));
        for (place, content) in inputs {
            for (index, value) in self.spread(*place, content, u64::MAX) {
                let bytes = value.bytes(place.size(), base, &[]);
                self.write(*place, index, &bytes);
            }
        }
    }

    /// Applies the changes that a case expects. Where several results are correct, `actual` decides.
    pub(super) fn change(&mut self, outputs: &[(Place, Content)], base: u64, actual: &State) {
        let mask = self.exec();
        for (place, content) in outputs {
            for (index, value) in self.spread(*place, content, mask) {
                let bytes = value.bytes(place.size(), base, &actual.read(*place, index));
                self.write(*place, index, &bytes);
            }
        }
    }

    /// The differences, one line each.
    pub(super) fn differences(&self, expected: &State) -> Vec<String> {
        let mut list = Vec::new();
        if self == expected {
            return list;
        }
        let mut compare = |name: String, got: u32, expected: u32| {
            if got != expected {
                list.push(format!("{name}: {got:08x}, not {expected:08x}"));
            }
        };
        for (index, (got, expected)) in self.vectors.iter().zip(&expected.vectors).enumerate() {
            if got != expected {
                let (register, lane) = (index / self.lanes, index % self.lanes);
                let (kind, register) = if register < 256 { ('v', register) } else { ('a', register - 256) };
                compare(format!("{kind}{register} lane {lane}"), *got, *expected);
            }
        }
        for (slot, (got, expected)) in self.scalars.iter().zip(&expected.scalars).enumerate() {
            let name = match u8::try_from(slot).unwrap_or_default() {
                scalar::VCC => "vcc_lo".to_owned(),
                107 => "vcc_hi".to_owned(),
                scalar::M0 => "m0".to_owned(),
                scalar::NULL => "null".to_owned(),
                scalar::EXEC => "exec_lo".to_owned(),
                127 => "exec_hi".to_owned(),
                slot @ scalar::TTMP0..124 => format!("ttmp{}", slot - scalar::TTMP0),
                slot => format!("s{slot}"),
            };
            compare(name, *got, *expected);
        }
        compare("scc".to_owned(), self.scc, expected.scc);
        compare("mode".to_owned(), self.mode, expected.mode);
        for (name, got, expected) in
            [("lds", &self.lds, &expected.lds), ("mem", &self.memory, &expected.memory)]
        {
            for (offset, (got, expected)) in got.chunks(4).zip(expected.chunks(4)).enumerate() {
                let word =
                    |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                compare(format!("{name}+{:x}", 4 * offset), word(got), word(expected));
            }
        }
        for (index, (got, expected)) in self.scratch.iter().zip(&expected.scratch).enumerate() {
            let (offset, lane) = (index / self.lanes * 4, index % self.lanes);
            compare(format!("scratch+{offset:x} lane {lane}"), *got, *expected);
        }
        list
    }
}

impl Value {
    /// The bytes of a value. If several are correct, `actual` is used if it is one of them.
    fn bytes(&self, size: usize, base: u64, actual: &[u8]) -> Vec<u8> {
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let cut = |number: u64| number.to_le_bytes()[..size.min(8)].to_vec();
        match self {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Address(offset) => {
                let mut bytes = cut(base.wrapping_add(*offset));
                bytes.resize(size, 0);
                bytes
            }
            Value::Nan => {
                // The exponent and the highest bit of the fraction.
                let quiet = match size {
                    2 => 0x7e00,
                    4 => 0x7fc0_0000,
                    _ => 0x7ff8_0000_0000_0000,
                };
                if number(actual) & quiet == quiet { actual.to_vec() } else { cut(quiet) }
            }
            Value::Near(near) => {
                if number(actual).abs_diff(*near) <= 1 {
                    actual.to_vec()
                } else {
                    cut(*near)
                }
            }
            Value::Halves(halves) => {
                let actual = if actual.len() == 4 { actual } else { &[0; 4] };
                [halves[0].bytes(2, base, &actual[..2]), halves[1].bytes(2, base, &actual[2..])].concat()
            }
        }
    }
}

/// A wave with memory to run on.
pub(super) struct Bench {
    wave: Wave,
    lanes: usize,
    memory: Arc<Memory>,
    reader: Arc<Reader>,
    base: u64,
    vectors: Vec<u32>,
    offset: usize,
    lds: Vec<u64>,
    scratch: Vec<u32>,
    scratch_offset: usize,
    barrier: Box<Barrier>,
}

impl Bench {
    pub(super) fn new(lanes: usize) -> Bench {
        let memory = Arc::new(Memory::new());
        let base = memory.allocate(MEMORY as u64, 1, MemoryKind::Coarse, None).expect("a page");
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::clone(&memory))) };
        let mut vectors = vec![0u32; (VECTORS + SLACK) * lanes + 16];
        let offset = vectors.as_ptr().align_offset(64);
        wave.vgpr = vectors[offset..].as_mut_ptr();
        wave.lanes = lanes as u8;
        let mut lds = vec![0u64; LDS / 8];
        let mut scratch = vec![0u32; SCRATCH / 4 * lanes + 16];
        let scratch_offset = scratch.as_ptr().align_offset(64);
        wave.access.lds = lds.as_mut_ptr().cast();
        wave.access.lds_size = LDS as u32;
        wave.access.scratch = scratch[scratch_offset..].as_mut_ptr().cast();
        wave.access.scratch_size = SCRATCH as u32;
        let (reader, barrier) = (memory.reader(), Box::default());
        Bench { wave, lanes, memory, reader, base, vectors, offset, lds, scratch, scratch_offset, barrier }
    }

    /// The address of global memory.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// A program of one instruction.
    pub(super) fn program(inst: Inst, isa: Isa, level: Level) -> Program {
        let fetch = move |pc| if pc == PC { Fetched::Inst(inst) } else { Fetched::Outside };
        Program::new(isa, level, Box::new(fetch))
    }

    /// Runs a program of one instruction. Returns the state afterwards, and how the program ended.
    pub(super) fn run(&mut self, program: &Program, before: &State) -> (State, End) {
        self.run_slices(program, before, u32::MAX)
    }

    /// Runs a program for at most so many time slices.
    pub(super) fn run_slices(&mut self, program: &Program, before: &State, slices: u32) -> (State, End) {
        assert_eq!(before.lanes, self.lanes);
        self.wave.sgpr = before.scalars;
        self.wave.scc = before.scc != 0;
        self.wave.mode = before.mode;
        // SAFETY: all of these were allocated as large in `new`, and only the wave, which does not run now,
        // uses them.
        unsafe {
            before.vectors.as_ptr().copy_to(self.wave.vgpr, before.vectors.len());
            before.lds.as_ptr().copy_to(self.wave.access.lds, LDS);
            before.scratch.as_ptr().copy_to(self.wave.access.scratch.cast(), before.scratch.len());
            before.memory.as_ptr().copy_to(self.base as *mut u8, MEMORY);
        }
        // There is another wave, which does not arrive.
        *self.barrier = Barrier::new(2);
        self.wave.barrier = &raw mut *self.barrier;
        self.wave.access.begin_slice(self.memory.enter(&self.reader));
        self.wave.fault = None;
        assert!(enter(&mut self.wave, program, PC), "no code to run");
        let mut left = slices;
        let flow = loop {
            // SAFETY: the wave is at the program's start and has all registers.
            let flow = unsafe { run(&mut self.wave, program, &mut Unwatched) };
            left -= 1;
            if flow != Flow::Yield || left == 0 {
                break flow;
            }
        };
        let end = match flow {
            Flow::End => End::Program,
            Flow::Barrier => End::Barrier,
            _ => match self.wave.fault.take().map(|fault| fault.kind) {
                // An address without code.
                Some(FaultKind::BadJump { target }) => End::Jump(target),
                Some(kind) => End::Fault(kind.to_string()),
                None => End::Fault(format!("{flow:?}")),
            },
        };
        let mut after = before.clone();
        after.scalars = self.wave.sgpr;
        after.scc = u32::from(self.wave.scc);
        after.mode = self.wave.mode;
        after.vectors.copy_from_slice(&self.vectors[self.offset..][..before.vectors.len()]);
        after.scratch.copy_from_slice(&self.scratch[self.scratch_offset..][..before.scratch.len()]);
        // SAFETY: as above.
        unsafe {
            after.lds.as_mut_ptr().copy_from(self.lds.as_ptr().cast(), LDS);
            after.memory.as_mut_ptr().copy_from(self.base as *const u8, MEMORY);
        }
        (after, end)
    }
}
