//! Products of matrices of bytes.
//!
//! A register of A or B holds four neighbours in K for each lane. Their products with another register's are
//! two sums of two, one of the even bytes and one of the odd ones, because the host multiplies words. So both
//! matrices become words first: B in registers of the host, A on the stack, from where each number goes to
//! all lanes. The code is a subroutine, shared by all instructions that differ only in their registers.

use iced_x86::Code::*;
use iced_x86::Register;
use vgpu_exec::matrix::layout::{Plan, plan};
use vgpu_exec::matrix::table::{Format, INSTRUCTIONS, Sum};
use vgpu_exec::native::{Source, Step};
use vgpu_isa::Op;

use crate::asm::{Arg, FILE, Label, at};
use crate::compile::{Compiler, Version};
use crate::host::V;

/// What the subroutine of an instruction depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Product {
    /// The number of its row in the table of matrix instructions.
    row: usize,
    /// Whether A and B are signed.
    signs: [bool; 2],
    /// What all elements of C are, if they are the same.
    constant: Option<u32>,
}

/// A subroutine.
#[derive(Debug)]
pub(crate) struct Subroutine {
    product: Product,
    label: Label,
}

/// Lanes of a chunk, as the table of layouts counts them.
const CHUNK: usize = 16;
/// The places of A, B, C and D in the register file.
const PLACES: [Register; 4] = [Register::RSI, Register::RDX, Register::RCX, Register::R8];

/// The number of an operation's row in the table of matrix instructions, if it has a native form.
fn find(op: Op) -> Option<usize> {
    INSTRUCTIONS.iter().position(|row| {
        row.op == op
            && row.sum == Sum::I32
            && matches!(row.a, Format::I8 | Format::Iu8)
            && !row.sparse
            && row.blocks == 1
    })
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op).is_some() && operands(step).is_some()
}

/// The registers of A, B and D, and C: its register or what all its elements are.
fn operands(step: &Step) -> Option<([u16; 3], Result<u16, u32>)> {
    let mods = &step.mods;
    // Sums that saturate, and permuted blocks.
    if mods.clamp || mods.cbsz != 0 || mods.abid != 0 || mods.blgp != 0 {
        return None;
    }
    let (Source::Vector(a), Source::Vector(b), Some(d)) = (step.src[0], step.src[1], step.dst) else {
        return None;
    };
    let c = match step.src[2] {
        Source::Vector(c) => Ok(c),
        Source::Constant(value) => Err(value as u32),
        _ => return None,
    };
    Some(([a, b, d], c))
}

/// Emits an operation; returns false if it has no native form here.
pub(crate) fn emit(compiler: &mut Compiler<'_>, op: Op, step: &Step) -> bool {
    let (Some(row), Some(([a, b, d], c))) = (find(op), operands(step)) else { return false };
    if compiler.version != Version::Full {
        return false;
    }
    let layout = plan(row, compiler.input.lanes);
    let [results, of_a, of_b] = [layout.d_count, layout.a_count, layout.b_count].map(u16::from);
    let apart = |first: u16, count: u16| first + count <= d || d + results <= first;
    // Results are written before everything is read.
    if !apart(a, of_a) || !apart(b, of_b) || c.is_ok_and(|c| c != d && !apart(c, results)) {
        return false;
    }
    let (groups, blocks) = (INSTRUCTIONS[row].k / 4, INSTRUCTIONS[row].n / CHUNK);
    let is_whole = |places: &[u16]| {
        (0..groups * blocks).all(|i| chunk(layout, places, i / blocks, i % blocks).is_some())
    };
    if !is_whole(&layout.a) || !is_whole(&layout.b) {
        return false;
    }
    let signs = [0, 1].map(|i| INSTRUCTIONS[row].a == Format::I8 || step.mods.neg >> i & 1 != 0);
    let product = Product { row, signs, constant: c.err() };
    let label = match compiler.products.iter().find(|known| known.product == product) {
        Some(known) => known.label,
        None => {
            let label = compiler.asm.label();
            compiler.products.push(Subroutine { product, label });
            label
        }
    };
    for (place, register) in PLACES.into_iter().zip([a, b, c.unwrap_or(d), d]) {
        let offset = compiler.register_place(register, 0);
        compiler.asm.lea(place, FILE, Register::None, offset);
    }
    compiler.asm.call(label);
    true
}

/// The register and the chunk with four neighbours in K of sixteen columns of A, or of B: four times the
/// register plus the chunk.
fn chunk(layout: &Plan, places: &[u16], group: usize, block: usize) -> Option<usize> {
    let wanted = 4 * group * layout.width + block * CHUNK;
    places.iter().position(|&place| usize::from(place) == wanted)
}

/// Emits the subroutines that were called.
pub(crate) fn subroutines(compiler: &mut Compiler<'_>) {
    for Subroutine { product, label } in std::mem::take(&mut compiler.products) {
        compiler.asm.place(label);
        let layout = plan(product.row, compiler.input.lanes);
        let mut body = Body {
            compiler,
            product,
            layout,
            n: INSTRUCTIONS[product.row].n,
            groups: INSTRUCTIONS[product.row].k / 4,
        };
        body.emit();
    }
}

/// Registers of the host: B as words, the sum, and products.
const SUM: u8 = 8;
const PRODUCTS: [u8; 2] = [9, 10];
/// How many groups of four in K are multiplied at a time: their words are in two registers each.
const AT_ONCE: usize = 4;

/// The code of a subroutine.
struct Body<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    product: Product,
    layout: &'static Plan,
    /// Rows and columns.
    n: usize,
    /// Groups of four neighbours in K.
    groups: usize,
}

impl Body<'_, '_> {
    /// The lanes of a register of the host.
    fn lanes(&self) -> usize {
        self.compiler.asm.host.lanes()
    }

    /// The place of a chunk of A or of B, relative to the matrix.
    fn place(&self, places: &[u16], group: usize, block: usize) -> i32 {
        // `emit` has seen that it is there.
        let index = chunk(self.layout, places, group, block).unwrap_or(0);
        4 * (index / 4 * self.compiler.input.lanes + index % 4 * CHUNK) as i32
    }

    /// Where A has the even or the odd words of sixteen rows on the stack.
    fn words(&self, group: usize, block: usize, odd: usize) -> i32 {
        64 * ((group * self.n / CHUNK + block) * 2 + odd) as i32
    }

    /// The even and the odd bytes of a register of the host, as words.
    fn split(&mut self, even: u8, odd: u8, signed: bool) {
        let asm = &mut self.compiler.asm;
        let host = asm.host;
        if signed {
            asm.vector2i(host.code(V::SarWords), odd, Arg::Register(even), 8);
            asm.vector2i(host.code(V::ShlWords), even, Arg::Register(even), 8);
            asm.vector2i(host.code(V::SarWords), even, Arg::Register(even), 8);
        } else {
            asm.vector2i(host.code(V::ShrWords), odd, Arg::Register(even), 8);
            let bytes = asm.literal(0x00ff_00ff);
            asm.vector3(host.code(V::And), even, even, bytes);
        }
    }

    fn emit(&mut self) {
        let [from_a, from_b, ..] = PLACES;
        let lanes = self.lanes();
        let size = self.words(self.groups, 0, 0);
        self.compiler.asm.imm(Sub_rm64_imm32, Register::RSP, size);
        for group in 0..self.groups {
            for block in 0..self.n / CHUNK {
                for piece in (0..CHUNK).step_by(lanes) {
                    let from = self.place(&self.layout.a, group, block) + 4 * piece as i32;
                    self.compiler.asm.fetch(0, at(from_a, from));
                    self.split(0, 1, self.product.signs[0]);
                    for odd in 0..2 {
                        let to = self.words(group, block, odd) + 4 * piece as i32;
                        self.compiler.asm.store(at(Register::RSP, to), odd as u8);
                    }
                }
            }
        }
        for column in (0..self.n).step_by(lanes) {
            for first in (0..self.groups).step_by(AT_ONCE) {
                let groups = first..self.groups.min(first + AT_ONCE);
                for (i, group) in (0..).zip(groups.clone()) {
                    let piece = 4 * (column % CHUNK) as i32;
                    let from = self.place(&self.layout.b, group, column / CHUNK) + piece;
                    self.compiler.asm.fetch(2 * i, at(from_b, from));
                    self.split(2 * i, 2 * i + 1, self.product.signs[1]);
                }
                for row in 0..self.n {
                    self.row(row, column, groups.clone());
                }
            }
        }
        self.compiler.asm.imm(Add_rm64_imm32, Register::RSP, size);
        self.compiler.asm.bare(Retnq);
    }

    /// Adds the products of some groups to the sums of a row.
    fn row(&mut self, row: usize, column: usize, groups: std::ops::Range<usize>) {
        let [.., from_c, to_d] = PLACES;
        let place = (row * self.layout.width + column) / CHUNK;
        let place = 4 * (usize::from(self.layout.lanes[place]) + column % CHUNK) as i32;
        let asm = &mut self.compiler.asm;
        match self.product.constant {
            _ if groups.start > 0 => asm.fetch(SUM, at(to_d, place)),
            Some(value) => {
                let value = asm.dword(value);
                asm.spread(SUM, value);
            }
            None => asm.fetch(SUM, at(from_c, place)),
        }
        for (i, group) in (0..).zip(groups) {
            for (odd, product) in PRODUCTS.into_iter().enumerate() {
                let words = self.words(group, row / CHUNK, odd) + 4 * (row % CHUNK) as i32;
                let asm = &mut self.compiler.asm;
                let host = asm.host;
                asm.spread(product, at(Register::RSP, words));
                asm.vector3(host.code(V::MulAddWords), product, product, Arg::Register(2 * i + odd as u8));
                asm.vector3(host.code(V::Add), SUM, SUM, Arg::Register(product));
            }
        }
        self.compiler.asm.store(at(to_d, place), SUM);
    }
}
