//! Every instruction on small integers, which all types hold exactly, compared with a triple loop; then
//! special cases.

mod model;
mod products;
mod special;

use std::sync::Arc;

use model::Place;
use vgpu::exec::lower::{Context, no_inst};
use vgpu::exec::matrix::table::{Family, Format, INSTRUCTIONS, Instruction, Sum};
use vgpu::exec::matrix::{Rules, lower_with};
use vgpu::exec::{Flow, Level, Wave};
use vgpu::isa::{Fact, Inst, Modifiers, Op, Operand, scalar};
use vgpu::machine::{Access, Generation, Memory};

/// The rules of gfx90a, and those of all others.
const GFX90A: Rules = Rules { pairwise: true, negates: false };
const LATER: Rules = Rules { pairwise: false, negates: true };

/// The first registers of operands; accumulation registers are 256 higher.
const A: usize = 0;
const B: usize = 16;
const INDEX: usize = 40;
const C: usize = 64;
const OUT: usize = 128;

/// In MODE: f16 results that overflow become the largest number; subnormal f32 sources are kept.
const FP16_OVFL: u32 = 1 << 23;
const F32_SUBNORMALS: u32 = 1 << 4;

fn instruction(op: Op) -> &'static Instruction {
    INSTRUCTIONS.iter().find(|row| row.op == op).expect("a matrix instruction")
}

/// The formats of matrices, by the numbers that instructions select them with.
const CHOICES: [Format; 5] = [Format::Fp8, Format::Bf8, Format::Fp6, Format::Bf6, Format::Fp4];

/// A small pseudo-random number generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 17) as u32
    }

    fn below(&mut self, limit: i64) -> i64 {
        i64::from(self.next()) % limit
    }
}

/// The value of a code of 8 or fewer bits, following the formats' definitions.
fn eight_bits(format: Format, code: u8) -> f64 {
    let (digits, bias, fnuz) = match format {
        Format::Fp8Fnuz => (3, 8, true),
        Format::Bf8Fnuz => (2, 16, true),
        Format::Fp8 => (3, 7, false),
        Format::Bf8 => (2, 15, false),
        Format::Fp6 => (3, 1, false),
        Format::Bf6 => (2, 3, false),
        Format::Fp4 => (1, 1, false),
        _ => panic!("no 8-bit format"),
    };
    // With the sign at the position of the 8-bit sign.
    let top = 1 << (format.bits() - 1);
    let code = code & (top - 1) | if code & top != 0 { 0x80 } else { 0 };
    let sign = if code & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(code & 0x7f) >> digits;
    let fraction = f64::from(code & ((1 << digits) - 1)) / f64::from(1 << digits);
    match (fnuz, format) {
        (true, _) if code == 0x80 => f64::NAN,
        (false, Format::Bf8) if exponent == 31 => {
            if fraction == 0.0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            }
        }
        (false, Format::Fp8) if code & 0x7f == 0x7f => f64::NAN,
        _ if exponent == 0 => sign * fraction * 2f64.powi(1 - bias),
        _ => sign * (1.0 + fraction) * 2f64.powi(exponent - bias),
    }
}

/// The bits of a small integer in a format.
fn encode(format: Format, value: i64) -> u64 {
    let number = value as f64;
    match format {
        Format::F64 => number.to_bits(),
        Format::F32 | Format::Xf32 => u64::from((number as f32).to_bits()),
        Format::F16 => u64::from(half::f16::from_f64(number).to_bits()),
        Format::Bf16 => u64::from(half::bf16::from_f64(number).to_bits()),
        Format::I8 | Format::Iu8 => value as u64 & 0xff,
        Format::Iu4 => value as u64 & 0xf,
        _ => {
            let code = (0..=(1u16 << format.bits()) - 1)
                .map(|code| code as u8)
                .find(|code| eight_bits(format, *code) == number);
            u64::from(code.unwrap_or_else(|| panic!("{value} is not in {format:?}")))
        }
    }
}

fn encode_sum(sum: Sum, value: i64) -> u64 {
    match sum {
        Sum::F64 => encode(Format::F64, value),
        Sum::F32 => encode(Format::F32, value),
        Sum::F16 => encode(Format::F16, value),
        Sum::Bf16 => encode(Format::Bf16, value),
        Sum::I32 => u64::from(value as i32 as u32),
    }
}

/// An element of A or B as f32.
fn number(format: Format, bits: u64) -> f32 {
    match format {
        Format::F32 => f32::from_bits(bits as u32),
        Format::Xf32 => f32::from_bits(bits as u32 & 0xffff_e000),
        Format::F16 => half::f16::from_bits(bits as u16).to_f32(),
        Format::Bf16 => f32::from_bits((bits as u32) << 16),
        _ => eight_bits(format, bits as u8) as f32,
    }
}

/// An element of C or D as f32.
fn sum_number(sum: Sum, bits: u64) -> f32 {
    match sum {
        Sum::F16 => number(Format::F16, bits),
        Sum::Bf16 => number(Format::Bf16, bits),
        _ => f32::from_bits(bits as u32),
    }
}

fn sum_bits(sum: Sum) -> usize {
    match sum {
        Sum::F64 => 64,
        Sum::F32 | Sum::I32 => 32,
        Sum::F16 | Sum::Bf16 => 16,
    }
}

/// A wave whose registers initially hold garbage.
struct Bench {
    wave: Wave,
    lanes: usize,
    file: Vec<u32>,
}

impl Bench {
    fn new(lanes: usize, seed: u64) -> Bench {
        // SAFETY: what it is pointed at lives as long as it.
        let mut wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
        let mut random = Random(seed);
        let mut file: Vec<u32> = (0..513 * 64).map(|_| random.next()).collect();
        let offset = file.as_ptr().align_offset(64);
        wave.vgpr = file[offset..].as_mut_ptr();
        wave.lanes = lanes as u8;
        // EXEC has no effect, and of MODE only these bits do.
        wave.mode = random.next() & !FP16_OVFL | F32_SUBNORMALS;
        wave.set_scalar64(scalar::EXEC, u64::from(random.next()));
        Bench { wave, lanes, file }
    }

    fn at(&self, register: usize, lane: usize) -> *mut u32 {
        assert!(register < 512 && lane < self.lanes && !self.file.is_empty());
        // SAFETY: the file has that many registers of up to 64 lanes.
        unsafe { self.wave.vgpr.add(register * self.lanes + lane) }
    }

    fn word(&self, register: usize, lane: usize) -> u32 {
        // SAFETY: `at` stays in the file.
        unsafe { *self.at(register, lane) }
    }

    fn set_word(&mut self, register: usize, lane: usize, value: u32) {
        // SAFETY: `at` stays in the file.
        unsafe { *self.at(register, lane) = value };
    }

    /// Writes an element of a tuple that starts at `first`.
    fn put(&mut self, first: usize, (register, lane, bit): Place, bits: usize, value: u64) {
        if bits == 64 {
            self.set_word(first + 2 * register, lane, value as u32);
            self.set_word(first + 2 * register + 1, lane, (value >> 32) as u32);
            return;
        }
        if bit + bits > 32 {
            // The rest is in the next register.
            let low = 32 - bit;
            self.put(first, (register, lane, bit), low, value & ((1 << low) - 1));
            return self.put(first, (register + 1, lane, 0), bits - low, value >> low);
        }
        let mask = ((1u64 << bits) - 1) as u32;
        let old = self.word(first + register, lane) & !(mask << bit);
        self.set_word(first + register, lane, old | (value as u32 & mask) << bit);
    }

    /// Reads an element of a tuple.
    fn get(&self, first: usize, (register, lane, bit): Place, bits: usize) -> u64 {
        if bits == 64 {
            let high = u64::from(self.word(first + 2 * register + 1, lane));
            return u64::from(self.word(first + 2 * register, lane)) | high << 32;
        }
        let next = if bit + bits > 32 { self.word(first + register + 1, lane) } else { 0 };
        let both = u64::from(self.word(first + register, lane)) | u64::from(next) << 32;
        both >> bit & ((1 << bits) - 1)
    }

    /// All lanes of some registers.
    fn words(&self, first: usize, count: usize) -> Vec<u32> {
        let at = |i: usize| self.word(first + i / self.lanes, i % self.lanes);
        (0..count * self.lanes).map(at).collect()
    }

    fn run(&mut self, inst: &Inst, rules: Rules, level: Level) {
        let context = Context { generation: Generation::Gfx9, level, lanes: self.lanes };
        let mut codes = Vec::new();
        let code = lower_with(inst, 0, &context, rules, &mut codes)
            .unwrap_or_else(|| panic!("{:?} is not executed in waves of {}", inst.op, self.lanes));
        for code in codes.iter().chain([&code]) {
            // SAFETY: `level` is one the CPU has, and all operands lie in the file.
            assert_eq!(unsafe { (code.run)(&mut self.wave, code) }, Flow::Next);
        }
    }
}

/// The instruction on the bench's operand registers; C and D are accumulation registers if `acc`.
fn inst(row: &Instruction, mods: Modifiers, acc: bool) -> Inst {
    let register = |first: usize| {
        if acc && first >= C { Operand::Agpr(first as u8) } else { Operand::Vgpr(first as u8) }
    };
    let mut inst = Inst { op: row.op, mods, ..no_inst() };
    if row.op.has(Fact::FORMATS) {
        let number = |format: Format| CHOICES.iter().position(|choice| *choice == format);
        let numbers = [row.a, row.b].map(|format| number(format).expect("a format to choose") as u8);
        [inst.mods.cbsz, inst.mods.blgp] = numbers;
    }
    inst.src[0] = register(A);
    inst.src[1] = register(B);
    if row.sparse {
        inst.dst = register(C);
        inst.src[2] = register(INDEX);
        inst.src[3] = register(C);
    } else {
        inst.dst = register(OUT);
        inst.src[2] = register(C);
    }
    inst
}

/// The position of D in the bench.
fn out(row: &Instruction, acc: bool) -> usize {
    (if row.sparse { C } else { OUT }) + if acc { 256 } else { 0 }
}

/// The matrices of a product, block after block.
#[derive(Clone)]
struct Matrices {
    /// Dense, even if the instruction's A is sparse.
    a: Vec<i64>,
    b: Vec<i64>,
    c: Vec<i64>,
    /// The columns present in a sparse A: two of each four.
    columns: Vec<usize>,
}

impl Matrices {
    /// Random numbers whose sums are exact in all types.
    fn random(row: &Instruction, signed: [bool; 2], random: &mut Random) -> Matrices {
        let narrow = matches!(row.sum, Sum::F16 | Sum::Bf16);
        let mut draw = |format: Format, signed: bool| match format {
            Format::I8 => random.below(256) - 128,
            Format::Iu8 => random.below(256) - if signed { 128 } else { 0 },
            Format::Iu4 => random.below(16) - if signed { 8 } else { 0 },
            Format::Fp4 => random.below(9) - 4,
            Format::Fp6 | Format::Bf6 => random.below(15) - 7,
            _ if narrow => random.below(7) - 3,
            _ => random.below(17) - 8,
        };
        let inputs = row.blocks * row.n * row.k;
        let mut a: Vec<i64> = (0..inputs).map(|_| draw(row.a, signed[0])).collect();
        let b = (0..inputs).map(|_| draw(row.b, signed[1])).collect();
        let limit = if row.sum == Sum::I32 { 1 << 20 } else { 7 };
        let c = (0..row.blocks * row.n * row.n).map(|_| random.below(limit) - limit / 2).collect();
        let mut columns = Vec::new();
        if row.sparse {
            for i in 0..row.n {
                for four in 0..row.k / 4 {
                    let first = random.below(3) as usize;
                    let second = first + 1 + random.below(3 - first as i64) as usize;
                    columns.extend([first, second]);
                    for column in 0..4 {
                        if column != first && column != second {
                            a[i * row.k + 4 * four + column] = 0;
                        }
                    }
                }
            }
        }
        Matrices { a, b, c, columns }
    }

    /// `A * B + C`.
    fn product(&self, row: &Instruction) -> Vec<i64> {
        let (n, k) = (row.n, row.k);
        let mut d = self.c.clone();
        for block in 0..row.blocks {
            for i in 0..n {
                for j in 0..n {
                    for l in 0..k {
                        d[(block * n + i) * n + j] += self.a(row, block, i, l) * self.b(row, block, l, j);
                    }
                }
            }
        }
        d
    }

    fn a(&self, row: &Instruction, block: usize, i: usize, k: usize) -> i64 {
        self.a[(block * row.n + i) * row.k + k]
    }

    fn b(&self, row: &Instruction, block: usize, k: usize, j: usize) -> i64 {
        self.b[(block * row.n + j) * row.k + k]
    }

    /// Writes A, B and the index.
    fn load(&self, row: &Instruction, bench: &mut Bench, set: usize) {
        let lanes = bench.lanes;
        for block in 0..row.blocks {
            for i in 0..row.n {
                for k in 0..row.k {
                    let b = encode(row.b, self.b(row, block, k, i));
                    for &place in model::input(row, lanes, false, block, i, k) {
                        bench.put(B, place, row.b.bits(), b);
                    }
                    if row.sparse {
                        continue;
                    }
                    let a = encode(row.a, self.a(row, block, i, k));
                    for &place in model::input(row, lanes, true, block, i, k) {
                        bench.put(A, place, row.a.bits(), a);
                    }
                }
                if row.sparse {
                    self.load_sparse(row, bench, i, set);
                }
            }
        }
    }

    fn load_sparse(&self, row: &Instruction, bench: &mut Bench, i: usize, set: usize) {
        for four in 0..row.k / 4 {
            for which in 0..2 {
                let column = self.columns[(i * row.k / 4 + four) * 2 + which];
                let (place, index) = model::sparse_input(row, bench.lanes, i, four, which, set);
                let value = encode(row.a, self.a(row, 0, i, 4 * four + column));
                bench.put(A, place, row.a.bits(), value);
                bench.put(INDEX, index, 2, column as u64);
            }
        }
    }

    /// Writes C.
    fn load_sum(&self, row: &Instruction, bench: &mut Bench, acc: bool, half: usize) {
        let first = C + if acc { 256 } else { 0 };
        for (at, value) in self.c.iter().enumerate() {
            let (block, i, j) = (at / row.n / row.n, at / row.n % row.n, at % row.n);
            let place = model::output(row, bench.lanes, half, block, i, j);
            bench.put(first, place, sum_bits(row.sum), encode_sum(row.sum, *value));
        }
    }
}

/// Compares D with the expected values.
fn check(row: &Instruction, bench: &Bench, expected: &[i64], acc: bool, half: usize, what: &str) {
    for (at, value) in expected.iter().enumerate() {
        let (block, i, j) = (at / row.n / row.n, at / row.n % row.n, at % row.n);
        let place = model::output(row, bench.lanes, half, block, i, j);
        let mut found = bench.get(out(row, acc), place, sum_bits(row.sum));
        let expected = encode_sum(row.sum, *value);
        // Zeros of either sign.
        if expected == 0 && found == 1 << (sum_bits(row.sum) - 1) && row.sum != Sum::I32 {
            found = 0;
        }
        // gfx1100 is inexact if signs differ, and truncates bf16 after each of eight dot products; `special`
        // checks the bits.
        if row.op.has(Fact::WMMA) && row.family == Family::Gfx11 && row.a.bits() == 16 {
            let most = if row.sum == Sum::Bf16 { 8.0 } else { 0.01 };
            if (sum_number(row.sum, found) - *value as f32).abs() < most {
                found = expected;
            }
        }
        assert_eq!(
            found, expected,
            "{:?} in waves of {}, {what}: D[{i}][{j}] of block {block} in {place:?}: {found:#x}, not {value}",
            row.op, bench.lanes
        );
    }
}

/// The wave sizes of an instruction.
fn wave_sizes(row: &Instruction) -> &'static [usize] {
    if row.op.has(Fact::MFMA) { &[64] } else { &[32, 64] }
}
