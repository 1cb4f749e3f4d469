//! Products of 8-bit floats, with matrix instructions for rocBLAS' formats if the device has them, otherwise
//! as bf16.

use std::ffi::c_void;

use rocblas_sys::{rocblas_computetype, rocblas_gemm_flags_};

use super::matmul::{MOST_NEAR, Matmul};
use super::{Checked, Epilogue, Matrix, Product, checked};
use crate::args::{Args, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::gpu::Instructions;
use crate::modules;
use crate::vector::{THREADS, grid};

/// 8-bit floats.
const NARROW: [Type; 2] = [Type::F8, Type::BF8];
/// The types that are rounded to them.
const ROUNDED: [Type; 2] = [Type::F16, Type::F32];

/// The 8-bit floats that A and B are multiplied as: all that rocBLAS documents, with each type of C and D.
fn factors(args: &Args) -> Result<[Type; 2]> {
    let kinds = [args.a.kind, args.b.kind, args.c.kind, args.d.kind];
    let [Some(a), Some(b), Some(c), Some(d)] = kinds else { return Err(INVALID_VALUE) };
    let factors = match args.composite {
        rocblas_computetype::rocblas_compute_type_f32 => [a, b],
        rocblas_computetype::rocblas_compute_type_f8_f8_f32 => [Type::F8, Type::F8],
        rocblas_computetype::rocblas_compute_type_f8_bf8_f32 => [Type::F8, Type::BF8],
        rocblas_computetype::rocblas_compute_type_bf8_f8_f32 => [Type::BF8, Type::F8],
        rocblas_computetype::rocblas_compute_type_bf8_bf8_f32 => [Type::BF8, Type::BF8],
        _ => return Err(INVALID_VALUE),
    };
    // An operand already has the type that it is multiplied as, or is rounded to it.
    let becomes =
        |kind: Type, factor: Type| NARROW.contains(&factor) && (kind == factor || ROUNDED.contains(&kind));
    let operands = becomes(a, factors[0]) && becomes(b, factors[1]);
    let result = c == d && (NARROW.contains(&c) || ROUNDED.contains(&c));
    // Only rounding to nearest is supported.
    let at_random = args.flags & rocblas_gemm_flags_::rocblas_gemm_flags_stochastic_rounding.0 != 0;
    if operands && result && !at_random { Ok(factors) } else { Err(NOT_IMPLEMENTED) }
}

/// `Prepared` of `kernels/blas/float8.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Prepared {
    from: DeviceOperand,
    /// From one row to the next, and from one place in the depth to the next.
    steps: [i64; 2],
    rows: i64,
    depth: i64,
    to: *const c_void,
    pitch: i64,
    alpha: Factor,
    rounded: u32,
    kind: u32,
    batches: u32,
}

/// Neighbours along the depth of a work-item: `EACH` in that file.
const EACH: i64 = 4;

/// A matrix as products read it: A by its rows, B by its columns.
struct Side {
    matrix: Matrix,
    rows: i64,
    rounded: Type,
    is_b: bool,
}

impl Side {
    /// From one row to the next, and from one place in the depth to the next.
    fn steps(&self) -> [i64; 2] {
        let [row, column] = self.matrix.steps;
        if self.is_b { [column, row] } else { [row, column] }
    }

    /// The kernels read it unchanged.
    fn is_ready(&self, kind: Type) -> bool {
        let [row, deep] = self.steps();
        self.matrix.operand.kind == kind as u32 && deep == 1 && (0..MOST_NEAR).contains(&row)
    }

    /// The matrix at another place, with another type, and its rows along the depth.
    fn moved(&self, at: *const c_void, pitch: i64, kind: Type) -> Matrix {
        let stored = Matrix::stored(DeviceOperand::dense(at, pitch * self.rows, kind), pitch);
        if self.is_b { stored } else { stored.transposed() }
    }

    fn elements(&self, product: &Product) -> usize {
        (self.rows as usize).saturating_mul(pitch(product.k) as usize)
    }

    /// The memory needed to prepare it.
    fn bytes(&self, product: &Product, kind: Type) -> usize {
        if self.is_ready(kind) {
            return 0;
        }
        self.elements(product).saturating_mul(product.batches as usize).saturating_mul(kind.size())
    }

    /// Prepares it in that memory.
    fn prepare(
        &self,
        call: &mut Call<'_>,
        product: &Product,
        kind: Type,
        to: *const c_void,
    ) -> Result<Matrix> {
        if self.is_ready(kind) {
            return Ok(self.matrix);
        }
        let pitch = pitch(product.k);
        let prepared = Prepared {
            from: self.matrix.operand,
            steps: self.steps(),
            rows: self.rows,
            depth: product.k,
            to,
            pitch,
            alpha: product.alpha,
            rounded: self.rounded as u32,
            kind: kind as u32,
            batches: product.batches,
        };
        let workgroups = (self.elements(product) as i64 / EACH - 1) / i64::from(THREADS) + 1;
        call.launch(
            &modules::BLAS_FLOAT8,
            "blas_float8",
            grid(workgroups, product.batches),
            THREADS,
            &prepared,
        )?;
        Ok(self.moved(to, pitch, kind))
    }
}

/// Elements from one row of a prepared operand to the next.
fn pitch(depth: i64) -> i64 {
    (depth + EACH - 1) / EACH * EACH
}

pub(crate) fn gemm_ex3(call: &mut Call<'_>, args: &Args) -> Result {
    let args = &Args { compute: Some(Type::F32), ..*args };
    let known = |args: &Args| factors(args).map(|_| Type::F32);
    let Some(Checked { mut product, .. }) = checked(call, args, known, &Epilogue::NONE)? else {
        return Ok(());
    };
    let [rounded_a, rounded_b] = factors(args)?;
    if !product.alpha.is(0.0) {
        let a = Side { matrix: product.a, rows: product.m, rounded: rounded_a, is_b: false };
        let b = Side { matrix: product.b, rows: product.n, rounded: rounded_b, is_b: true };
        let [kind_a, kind_b] = multiplied_as(&product, [&a, &b], call.gpu.instructions);
        let bytes = [a.bytes(&product, kind_a), b.bytes(&product, kind_b)];
        let [to_a, to_b] = if bytes == [0; 2] { [std::ptr::null_mut(); 2] } else { call.workspace(bytes)? };
        product.a = a.prepare(call, &product, kind_a, to_a)?;
        product.b = b.prepare(call, &product, kind_b, to_b)?;
    }
    call.product(Type::F32, &product)
}

/// The types that both sides are multiplied as: 8-bit floats if the device has instructions for this product,
/// otherwise bf16.
fn multiplied_as(product: &Product, sides: [&Side; 2], instructions: Option<Instructions>) -> [Type; 2] {
    let nowhere = std::ptr::null();
    let [a, b] = sides.map(|side| side.moved(nowhere, pitch(product.k), side.rounded));
    match Matmul::of(&Product { a, b, ..*product }, &Epilogue::NONE, instructions) {
        Some(_) => sides.map(|side| side.rounded),
        None => [Type::BF16; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_for_8_bits_are_used_where_there_are_some() {
        let of = |kind: Type| Matrix::stored(DeviceOperand::dense(std::ptr::null(), 0, kind), 64);
        for [a, b] in [[Type::F8, Type::BF8], [Type::F16, Type::F32]] {
            let operands = [of(a).transposed(), of(b)];
            let product = |k| {
                let none = Factor::of(0.0);
                Product::new([64, 64, k], Factor::of(1.0), operands, none, of(Type::F32), 1)
            };
            let sides = [
                Side { matrix: operands[0], rows: 64, rounded: Type::F8, is_b: false },
                Side { matrix: operands[1], rows: 64, rounded: Type::BF8, is_b: true },
            ];
            let on = |processor, k| multiplied_as(&product(k), sides.each_ref(), Instructions::of(processor));
            assert_eq!(on("gfx942", 64), [Type::F8, Type::BF8]);
            for processor in ["gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1201", "unknown"] {
                assert_eq!(on(processor, 64), [Type::BF16; 2], "{processor}");
            }
            // Rows are too far apart.
            assert_eq!(on("gfx942", 1 << 22), [Type::BF16; 2]);
            assert_eq!(sides.each_ref().map(|side| side.is_ready(side.rounded)), [a == Type::F8; 2]);
        }
    }
}
