//! Products that the kernels of the crate `kernels` compute, with matrix instructions where a device has them.

use std::ffi::c_void;

use half::{bf16, f16};
use kernels::{Gemm, GemmLaunch, GemmShape};

use super::{Matrix, Product, Structure};
use crate::args::Type;
use crate::call::{Call, Result};

/// A product by rows: the transpose of what the caller has by columns, so that A and B change places.
pub(super) struct Fast {
    how: GemmLaunch,
    operands: [*const c_void; 2],
    c: *const c_void,
    factors: [f64; 2],
    whole: bool,
}

/// Sizes that the kernels count in 32 bits.
const MOST: i64 = 1 << 31;

impl Fast {
    /// Nothing if those kernels do not have it: they know factors by value, plain matrices of one type, and batches at equal distances.
    pub(super) fn of(product: &Product, compute_units: usize) -> Option<Self> {
        let Product { m, n, k, a, b, c, d, .. } = *product;
        let ((alpha, 0.0), (beta, 0.0)) = (product.alpha.known()?, product.beta.known()?) else {
            return None;
        };
        // With alpha = 0, these kernels read A and B.
        let same = c.operand.at == d.operand.at && c.operand.first == d.operand.first;
        if alpha == 0.0 || product.triangle != 0 || product.hermitian != 0 || !same && beta != 0.0 {
            return None;
        }
        if [m, n, k, product.batches.into()].iter().any(|size| !(1..MOST).contains(size)) {
            return None;
        }
        let plain = |matrix: &Matrix| {
            matrix.structure == Structure::General
                && matrix.operand.indirect == 0
                && matrix.operand.stride >= 0
        };
        if ![&a, &b, &d].into_iter().all(plain) || d.steps[0] != 1 {
            return None;
        }
        let (a_steps, b_steps) = (leading(a.steps[0], a.steps[1])?, leading(b.steps[0], b.steps[1])?);
        let size = |stride: i64| usize::try_from(stride).ok();
        let gemm = Gemm {
            alpha: alpha as f32,
            beta: beta as f32,
            lda: size(b_steps.1)?,
            ldb: size(a_steps.1)?,
            ldc: size(d.steps[1])?,
            transposed_a: b_steps.0,
            transposed_b: a_steps.0,
            batch: product.batches as usize,
            stride_a: size(b.operand.stride)?,
            stride_b: size(a.operand.stride)?,
            stride_c: size(d.operand.stride)?,
            ..Gemm::new(size(n)?, size(m)?, size(k)?)
        };
        let kinds = [a.operand.kind, b.operand.kind, d.operand.kind];
        let all = |kind: Type| kinds == [kind as u32; 3];
        let (how, kind) = if all(Type::F32) {
            (gemm.launch::<f32>(compute_units)?, Type::F32)
        } else if all(Type::F16) {
            (gemm.launch::<f16>(compute_units)?, Type::F16)
        } else if all(Type::BF16) {
            (gemm.launch::<bf16>(compute_units)?, Type::BF16)
        } else if kinds == [Type::I8 as u32, Type::I8 as u32, Type::I32 as u32] {
            (gemm.launch::<i8>(compute_units)?, Type::I8)
        } else {
            return None;
        };
        let whole = kind == Type::I8;
        let at = |matrix: &Matrix, kind: Type| {
            matrix.operand.at.wrapping_byte_offset(matrix.operand.first as isize * kind.size() as isize)
        };
        let operands = if how.swapped { [at(&a, kind), at(&b, kind)] } else { [at(&b, kind), at(&a, kind)] };
        let c = at(&d, if whole { Type::I32 } else { kind });
        Some(Self { how, operands, c, factors: [alpha, beta], whole })
    }

    pub(super) fn enqueue(mut self, call: &mut Call<'_>) -> Result {
        let floats = self.factors.map(|factor| factor as f32);
        let integers = self.factors.map(|factor| factor as i32);
        let number = |index: usize| -> *mut c_void {
            if self.whole {
                (&raw const integers[index]).cast_mut().cast()
            } else {
                (&raw const floats[index]).cast_mut().cast()
            }
        };
        let numbers = [number(0), number(1)];
        let shape: *mut c_void = match &mut self.how.shape {
            GemmShape::Blocks(shape) => std::ptr::from_mut(shape).cast(),
            GemmShape::Vectors(shape) => std::ptr::from_mut(shape).cast(),
        };
        let [first, second] = self.operands.each_mut().map(|at| std::ptr::from_mut(at).cast());
        let c = (&raw mut self.c).cast();
        let mut parameters = [shape, numbers[0], first, second, numbers[1], c];
        let GemmLaunch { module, kernel, grid, block, .. } = self.how;
        call.launch_with(module, kernel, grid, block, &mut parameters)
    }
}

/// Whether a matrix with such steps from one row and column to the next lies by rows, and how far apart those are. By columns, it is the
/// transpose that lies by rows.
fn leading(row: i64, column: i64) -> Option<(bool, i64)> {
    match (row, column) {
        (1, leading) => Some((false, leading)),
        (leading, 1) => Some((true, leading)),
        _ => None,
    }
}
