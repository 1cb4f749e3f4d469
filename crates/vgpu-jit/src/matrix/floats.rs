//! Products of matrices of floats: fused multiply-adds in the order of K, or sums of neighbours in K first.
//!
//! Both matrices become panels of f32 on the stack, with a row for each K, unless they are f32 already. A
//! tile of the result stays in registers of the host while K runs: each number of A goes to all lanes, and is
//! multiplied with neighbours in a row of B.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};
use vgpu_exec::matrix::layout::{NOWHERE, Plan};
use vgpu_exec::matrix::table::{Family, Format, INSTRUCTIONS, Instruction};

use super::{CHUNK, PLACES, Product};
use crate::asm::{Arg, When, at};
use crate::compile::Compiler;
use crate::host::{Host, SCRATCH_MASKS, V};
use crate::marks::Marks;

/// Whether instructions have a native form.
pub(super) fn has(row: &Instruction, pairwise: bool) -> bool {
    let format = |format: Format| match format {
        Format::F32 | Format::Xf32 => true,
        // RDNA adds these as its dot products do.
        Format::F16 | Format::Bf16 => row.family == Family::Mfma,
        Format::Fp8Fnuz | Format::Bf8Fnuz | Format::Fp8 | Format::Bf8 => true,
        _ => false,
    };
    // Sums of products of bf16 may be subnormal.
    format(row.a) && format(row.b) && !(pairwise && row.a == Format::Bf16)
}

/// The offset in the panels of the current row of K, in loops over K.
const K: Register = Register::R9;
/// The stack before the panels.
const STACK: Register = Register::R11;
/// Rows of K in one turn of the loop.
const UNROLLED: usize = 4;

/// Registers of the host after those of sums.
const FACTORS: u8 = 8;
/// Those for intermediate results; on AVX-512 others, because sums need more.
const TEMPS: [[u8; 4]; 2] = [[12, 13, 14, 15], [24, 25, 26, 27]];

struct Body<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    product: Product,
    layout: &'static Plan,
    row: &'static Instruction,
    /// How many products are added first, or one.
    group: usize,
    /// Where the panels of A and of B are on the stack; none if the matrix is f32 in registers.
    panels: [Option<i32>; 2],
}

pub(super) fn emit(compiler: &mut Compiler<'_>, product: Product, pairwise: bool, layout: &'static Plan) {
    let row = &INSTRUCTIONS[product.row];
    let bytes = 4 * (layout.depth * layout.width) as i32;
    let mut size = 0;
    let panels = [row.a, row.b].map(|format| {
        let place = size;
        (format != Format::F32).then(|| {
            size += bytes;
            place
        })
    });
    // As many products are added first as a lane has elements.
    let group = if pairwise { layout.per_lane } else { 1 };
    if size != 0 {
        // Panels begin at cache lines.
        compiler.asm.two(Mov_r64_rm64, STACK, Register::RSP);
        compiler.asm.imm(Sub_rm64_imm32, Register::RSP, size);
        compiler.asm.imm(And_rm64_imm8, Register::RSP, -64);
    }
    let mut body = Body { compiler, product, layout, row, group, panels };
    body.fill(0, row.a, &layout.a, layout.a_count);
    body.fill(1, row.b, &layout.b, layout.b_count);
    body.tiles();
    if size != 0 {
        compiler.asm.two(Mov_r64_rm64, Register::RSP, STACK);
    }
    compiler.asm.bare(Retnq);
}

impl Body<'_, '_> {
    fn host(&self) -> Host {
        self.compiler.asm.host
    }

    fn temps(&self) -> [u8; 4] {
        TEMPS[usize::from(self.host() == Host::Avx512)]
    }

    /// `to` becomes a constant where `a` equals another. Uses the last temporary register.
    fn replace(&mut self, to: u8, a: u8, equal: u32, with: u32) {
        let marks = self.marks();
        let asm = &mut self.compiler.asm;
        let equal = asm.literal(equal);
        asm.mark(V::Equal, marks, a, equal);
        let with = asm.literal(with);
        asm.select(to, marks, with, to);
    }

    /// Marks in the last temporary register.
    fn marks(&self) -> Marks {
        let [.., vector] = self.temps();
        Marks { vector, mask: SCRATCH_MASKS[0] }
    }

    /// Writes a matrix to its panel.
    fn fill(&mut self, side: usize, format: Format, places: &[u16], count: u8) {
        let Some(panel) = self.panels[side] else { return };
        let lanes = self.compiler.input.lanes;
        let parts = 32 / format.bits();
        for register in 0..usize::from(count) {
            for chunk in 0..lanes / CHUNK {
                let place = places[4 * register + chunk];
                if place == NOWHERE {
                    continue;
                }
                for piece in (0..CHUNK).step_by(self.host().lanes()) {
                    let from = 4 * (register * lanes + chunk * CHUNK + piece) as i32;
                    self.compiler.asm.fetch(0, at(PLACES[side], from));
                    for part in 0..parts {
                        let value = self.convert(format, part);
                        let place = usize::from(place) + part * self.layout.width + piece;
                        let to = at(Register::RSP, panel + 4 * place as i32);
                        self.compiler.asm.store(to, value);
                    }
                }
            }
        }
    }

    /// A part of register 0 as f32; returns its register.
    fn convert(&mut self, format: Format, part: usize) -> u8 {
        let (value, half) = (1, 2);
        let shift = (format.bits() * part) as u8;
        match format {
            Format::F16 => {
                if part == 0 {
                    self.compiler.asm.with(V::And, half, 0, 0xffff);
                } else {
                    self.compiler.asm.shift(V::ShrImm, half, 0, 16);
                }
                self.compiler.asm.widen_halves(value, half);
                if self.group > 1 {
                    // Subnormal numbers are zero.
                    self.compiler.asm.with(V::And, half, half, 0x7c00);
                    self.replace(value, half, 0, 0);
                }
            }
            Format::Bf16 if part == 0 => self.compiler.asm.shift(V::ShlImm, value, 0, 16),
            Format::Bf16 => self.compiler.asm.with(V::And, value, 0, 0xffff_0000),
            Format::Xf32 => self.compiler.asm.with(V::And, value, 0, 0xffff_e000),
            Format::Fp8Fnuz => self.float8(shift, 3, 8, [0xff, 0x80]),
            Format::Bf8Fnuz => self.float8(shift, 2, 16, [0xff, 0x80]),
            Format::Fp8 => self.float8(shift, 3, 7, [0x7f, 0x7f]),
            Format::Bf8 => {
                self.float8(shift, 2, 15, [0, 1]);
                let [byte, size, ..] = self.temps();
                self.compiler.asm.with(V::And, size, byte, 0x7f);
                // Infinity has the largest exponent and no digits; the others there are NaNs.
                self.compiler.asm.with(V::Sub, size, size, 0x7c);
                self.compiler.asm.with(V::And, byte, byte, 0x80);
                self.compiler.asm.shift(V::ShlImm, byte, byte, 24);
                self.compiler.asm.with(V::Or, byte, byte, 0x7f80_0000);
                self.special(value, size, byte);
            }
            // Handlers have the others; see `has`.
            _ => {}
        }
        value
    }

    /// bf8 with the largest exponent: `size` is zero for infinity, and above for NaNs.
    fn special(&mut self, value: u8, size: u8, infinity: u8) {
        let marks = self.marks();
        let asm = &mut self.compiler.asm;
        let (zero, nan) = (asm.literal(0), asm.literal(NAN));
        asm.mark(V::Equal, marks, size, zero);
        asm.select(value, marks, Arg::Register(infinity), value);
        asm.mark(V::GreaterSigned, marks, size, zero);
        asm.select(value, marks, nan, value);
    }

    /// A byte of register 0 with some digits after the point and a bias, as f32 in register 1. It is a NaN if
    /// it equals a number in the bits of a mask. The byte stays in the first temporary register.
    fn float8(&mut self, shift: u8, digits: u8, bias: u32, [bits, nan]: [u32; 2]) {
        let [byte, sign, ..] = self.temps();
        let value = 1;
        self.compiler.asm.shift(V::ShrImm, byte, 0, shift);
        self.compiler.asm.with(V::And, byte, byte, 0xff);
        self.compiler.asm.with(V::And, value, byte, 0x7f);
        self.compiler.asm.shift(V::ShlImm, value, value, 23 - digits);
        // Interpreted as f32, the exponent is too small. The product is exact, also for subnormal numbers.
        self.compiler.asm.with(V::MulF32, value, value, (127 + 127 - bias) << 23);
        self.compiler.asm.with(V::And, sign, byte, 0x80);
        self.compiler.asm.shift(V::ShlImm, sign, sign, 24);
        self.compiler.asm.op(V::Or, value, value, Arg::Register(sign));
        if bits != 0 {
            self.compiler.asm.with(V::And, sign, byte, bits);
            self.replace(value, sign, nan, NAN);
        }
    }

    /// The numbers in row `k` of A (side 0) or B from a column on.
    fn memory(&self, side: usize, k: usize, column: usize, in_loop: bool) -> MemoryOperand {
        match self.panels[side] {
            Some(panel) => {
                let place = panel + 4 * (k * self.layout.width + column) as i32;
                let index = if in_loop { K } else { Register::None };
                MemoryOperand::new(Register::RSP, index, 1, place.into(), 1, false, Register::None)
            }
            None => {
                let places = if side == 0 { &self.layout.a } else { &self.layout.b };
                let wanted = k * self.layout.width + column / CHUNK * CHUNK;
                // All numbers are somewhere.
                let index = places.iter().position(|place| usize::from(*place) == wanted).unwrap_or(0);
                let lane = index / 4 * self.compiler.input.lanes + index % 4 * CHUNK + column % CHUNK;
                at(PLACES[side], 4 * lane as i32)
            }
        }
    }

    /// All tiles of the result.
    fn tiles(&mut self) {
        let lanes = self.host().lanes();
        let columns = if self.group > 1 { 1 } else { 2.min(self.row.n / lanes) };
        let rows = match self.host() {
            Host::Avx2 => 4,
            Host::Avx512 => 8,
        };
        for column in (0..self.layout.width).step_by(columns * lanes) {
            for first in (0..self.row.n).step_by(rows) {
                self.tile(first, column, rows, columns);
            }
        }
    }

    fn tile(&mut self, first: usize, column: usize, rows: usize, columns: usize) {
        let lanes = self.host().lanes();
        for r in 0..rows {
            for c in 0..columns {
                self.begin(first + r, column + c * lanes, (r * columns + c) as u8);
            }
        }
        let depth = self.layout.depth;
        let step = self.group.max(UNROLLED.min(depth));
        let in_loop = depth > step && self.panels.iter().all(Option::is_some);
        let start = self.compiler.asm.label();
        if in_loop {
            self.compiler.asm.two(Xor_r32_rm32, Register::R9D, Register::R9D);
            self.compiler.asm.place(start);
        }
        for k in (0..if in_loop { step } else { depth }).step_by(self.group) {
            if self.group == 1 {
                self.multiply(k, first, column, [rows, columns], in_loop);
            } else {
                self.multiply_group(k, first, column, rows, in_loop);
            }
        }
        if in_loop {
            let row = 4 * self.layout.width as i32;
            self.compiler.asm.imm(Add_rm64_imm32, K, step as i32 * row);
            self.compiler.asm.imm(Cmp_rm64_imm32, K, depth as i32 * row);
            self.compiler.asm.jump_if(When::NotEqual, start);
        }
        for r in 0..rows {
            for c in 0..columns {
                self.end(first + r, column + c * lanes, (r * columns + c) as u8);
            }
        }
    }

    /// Adds the products of one row of K.
    fn multiply(
        &mut self,
        k: usize,
        first: usize,
        column: usize,
        [rows, columns]: [usize; 2],
        in_loop: bool,
    ) {
        let lanes = self.host().lanes();
        let block = column / self.row.n * self.row.n;
        let factors = if self.host() == Host::Avx512 { 16 } else { FACTORS };
        let [one, ..] = self.temps();
        for c in 0..columns {
            let from = self.memory(1, k, column + c * lanes, in_loop);
            self.compiler.asm.fetch(factors + c as u8, from);
        }
        for r in 0..rows {
            let from = self.memory(0, k, block + first + r, in_loop);
            self.compiler.asm.spread(one, from);
            for c in 0..columns {
                let sum = (r * columns + c) as u8;
                self.compiler.asm.op(V::Fma, sum, one, Arg::Register(factors + c as u8));
            }
        }
    }

    /// Adds the sums of a group of rows of K.
    fn multiply_group(&mut self, k: usize, first: usize, column: usize, rows: usize, in_loop: bool) {
        let block = column / self.row.n * self.row.n;
        let factors = if self.host() == Host::Avx512 { 16 } else { FACTORS };
        let [one, low, high, _] = self.temps();
        for i in 0..self.group {
            let from = self.memory(1, k + i, column, in_loop);
            self.compiler.asm.fetch(factors + i as u8, from);
        }
        for r in 0..rows {
            for (pair, to) in [low, high].into_iter().take(self.group / 2).enumerate() {
                for odd in 0..2 {
                    let i = 2 * pair + odd;
                    let from = self.memory(0, k + i, block + first + r, in_loop);
                    self.compiler.asm.spread(one, from);
                    // Products are exact, so the fused sum is the rounded sum.
                    let v = if odd == 0 { V::MulF32 } else { V::Fma };
                    self.compiler.asm.op(v, to, one, Arg::Register(factors + i as u8));
                }
            }
            if self.group == 4 {
                self.compiler.asm.op(V::AddF32, low, low, Arg::Register(high));
            }
            self.compiler.asm.op(V::AddF32, r as u8, r as u8, Arg::Register(low));
        }
    }

    /// Where a row of C or D is.
    fn place(&self, register: Register, row: usize, column: usize) -> MemoryOperand {
        let place = (row * self.layout.width + column) / CHUNK;
        at(register, 4 * (usize::from(self.layout.lanes[place]) + column % CHUNK) as i32)
    }

    /// Loads a part of C.
    fn begin(&mut self, row: usize, column: usize, to: u8) {
        let [.., from_c, _] = PLACES;
        let from = self.place(from_c, row, column);
        match self.product.constant {
            Some(value) => {
                let value = self.compiler.asm.dword(value);
                self.compiler.asm.spread(to, value);
            }
            None => self.compiler.asm.fetch(to, from),
        }
        if self.group > 1 {
            // Subnormal numbers are zero.
            let [size, ..] = self.temps();
            self.compiler.asm.with(V::And, size, to, 0x7f80_0000);
            self.replace(to, size, 0, 0);
        }
    }

    /// Writes a part of D: NaNs become the default NaN.
    fn end(&mut self, row: usize, column: usize, from: u8) {
        let [.., to_d] = PLACES;
        let to = self.place(to_d, row, column);
        let marks = self.marks();
        let asm = &mut self.compiler.asm;
        asm.mark_unordered(marks, from, Arg::Register(from));
        let nan = asm.literal(NAN);
        asm.select(from, marks, nan, from);
        self.compiler.asm.store(to, from);
    }
}

/// The default NaN.
const NAN: u32 = 0x7fc0_0000;
