//! Products of matrices of bytes.
//!
//! A register of A or B holds four neighbours in K for each lane. Their products with another register's are
//! two sums of two, one of the even bytes and one of the odd ones, because the host multiplies words. So both
//! matrices become words first: B in registers of the host, A on the stack, from where each number goes to
//! all lanes.

use iced_x86::Code::*;
use iced_x86::Register;
use vgpu_exec::matrix::layout::Plan;
use vgpu_exec::matrix::table::INSTRUCTIONS;

use super::{CHUNK, PLACES, Product};
use crate::asm::{Arg, at};
use crate::compile::Compiler;
use crate::host::V;

/// Whether registers hold four neighbours in K, for all of K.
pub(super) fn is_whole(row: usize, layout: &Plan) -> bool {
    let (groups, blocks) = (INSTRUCTIONS[row].k / 4, INSTRUCTIONS[row].n / CHUNK);
    [&layout.a, &layout.b]
        .into_iter()
        .all(|places| (0..groups * blocks).all(|i| chunk(layout, places, i / blocks, i % blocks).is_some()))
}

/// The register and the chunk with four neighbours in K of sixteen columns of A, or of B: four times the
/// register plus the chunk.
fn chunk(layout: &Plan, places: &[u16], group: usize, block: usize) -> Option<usize> {
    let wanted = 4 * group * layout.width + block * CHUNK;
    places.iter().position(|&place| usize::from(place) == wanted)
}

/// Emits a subroutine.
pub(super) fn emit(compiler: &mut Compiler<'_>, product: Product, signs: [bool; 2], layout: &'static Plan) {
    let row = &INSTRUCTIONS[product.row];
    Body { compiler, product, signs, layout, n: row.n, groups: row.k / 4 }.emit();
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
    /// Whether A and B are signed.
    signs: [bool; 2],
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
        if signed {
            asm.shift(V::SarWords, odd, even, 8);
            asm.shift(V::ShlWords, even, even, 8);
            asm.shift(V::SarWords, even, even, 8);
        } else {
            asm.shift(V::ShrWords, odd, even, 8);
            asm.with(V::And, even, even, 0x00ff_00ff);
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
                    self.split(0, 1, self.signs[0]);
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
                    self.split(2 * i, 2 * i + 1, self.signs[1]);
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
                asm.spread(product, at(Register::RSP, words));
                asm.op(V::MulAddWords, product, product, Arg::Register(2 * i + odd as u8));
                asm.op(V::Add, SUM, SUM, Arg::Register(product));
            }
        }
        self.compiler.asm.store(at(to_d, place), SUM);
    }
}
