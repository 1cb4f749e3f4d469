//! Products of matrices. The code is a subroutine, shared by all instructions that differ only in their
//! registers.

mod bytes;
mod floats;

use iced_x86::Register;
use vgpu_exec::matrix::layout::plan;
use vgpu_exec::matrix::row_of;
use vgpu_exec::matrix::table::{Format, INSTRUCTIONS, Sum};
use vgpu_exec::native::{Source, Step};
use vgpu_isa::{Fact, Op};

use crate::asm::{FILE, Label};
use crate::compile::{Compiler, Version};

/// What the subroutine of an instruction depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Product {
    /// The number of its row in the table of matrix instructions.
    row: usize,
    how: How,
    /// What all elements of C are, if they are the same.
    constant: Option<u32>,
}

/// How products are added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// Bytes: whether A and B are signed.
    Bytes([bool; 2]),
    /// Floats: whether four (or two) neighbours in K are added first.
    Floats { pairwise: bool },
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

/// The number of a step's row in the table of matrix instructions, and how products are added, if it has a
/// native form.
fn find(op: Op, step: &Step) -> Option<(usize, How)> {
    if !(op.has(Fact::MFMA) || op.has(Fact::WMMA)) {
        return None;
    }
    let lowered = row_of(i64::from(step.offset));
    let row = INSTRUCTIONS.get(lowered.row)?;
    if row.sparse || row.n < CHUNK || lowered.scaled {
        return None;
    }
    let how = match (row.a, row.sum) {
        (Format::I8 | Format::Iu8, Sum::I32) if row.blocks == 1 => {
            How::Bytes([0, 1].map(|i| row.a == Format::I8 || step.mods.neg >> i & 1 != 0))
        }
        (_, Sum::F32) if floats::has(row, lowered.pairwise) && step.mods.neg == 0 => {
            How::Floats { pairwise: lowered.pairwise }
        }
        _ => return None,
    };
    Some((lowered.row, how))
}

/// Whether an operation has a native form with these operands.
pub(crate) fn is_native(op: Op, step: &Step) -> bool {
    find(op, step).is_some() && operands(step).is_some()
}

/// The registers of A, B and D, and C: its register or what all its elements are.
fn operands(step: &Step) -> Option<([u16; 3], Result<u16, u32>)> {
    let mods = &step.mods;
    // Sums that saturate, absolute values of C, and permuted blocks.
    if mods.clamp || mods.neg_hi != 0 || mods.abid != 0 || mods.cbsz != 0 || mods.blgp != 0 {
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
    let (Some((row, how)), Some(([a, b, d], c))) = (find(op, step), operands(step)) else { return false };
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
    if matches!(how, How::Bytes(_)) && !bytes::is_whole(row, layout) {
        return false;
    }
    let product = Product { row, how, constant: c.err() };
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

/// Emits the subroutines that were called.
pub(crate) fn subroutines(compiler: &mut Compiler<'_>) {
    for Subroutine { product, label } in std::mem::take(&mut compiler.products) {
        compiler.asm.place(label);
        let layout = plan(product.row, compiler.input.lanes);
        match product.how {
            How::Bytes(signs) => bytes::emit(compiler, product, signs, layout),
            How::Floats { pairwise } => floats::emit(compiler, product, pairwise, layout),
        }
    }
}
