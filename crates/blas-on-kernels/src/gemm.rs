//! Products of matrices.

use rocblas_sys::{rocblas_fill, rocblas_operation};

use crate::args::{Args, Form, Operand, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_SIZE, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::modules;

/// `Matrix` of `kernels/blas/gemm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) operand: DeviceOperand,
    /// From one row to the next, and from one column to the next.
    pub(crate) steps: [i64; 2],
    pub(crate) conjugate: u32,
    pub(crate) structure: Structure,
    pub(crate) upper: u32,
    pub(crate) unit: u32,
}

/// `Structure` of `kernels/blas/gemm.cu`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    General,
    Symmetric,
    Hermitian,
    Triangular,
}

impl Matrix {
    pub(crate) const NONE: Self = Self::stored(DeviceOperand::NONE, 0);

    /// A matrix by columns.
    pub(crate) const fn stored(operand: DeviceOperand, leading: i64) -> Self {
        Self { operand, steps: [1, leading], conjugate: 0, structure: Structure::General, upper: 0, unit: 0 }
    }

    pub(crate) fn transposed(self) -> Self {
        let [row, column] = self.steps;
        Self { steps: [column, row], upper: 1 - self.upper, ..self }
    }

    pub(crate) fn conjugated(self) -> Self {
        Self { conjugate: 1 - self.conjugate, ..self }
    }

    pub(crate) fn op(self, operation: rocblas_operation) -> Self {
        match operation {
            rocblas_operation::rocblas_operation_none => self,
            rocblas_operation::rocblas_operation_transpose => self.transposed(),
            _ => self.transposed().conjugated(),
        }
    }
}

/// `Shape` of `kernels/blas/gemm.cu`: a product, before it is decided how it is computed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) d: Matrix,
    pub(crate) alpha: Factor,
    pub(crate) beta: Factor,
    partial: *const std::ffi::c_void,
    part: i64,
    parts: u32,
    pub(crate) batches: u32,
    /// What of D is meant: 0 all, 1 the upper triangle, 2 the lower one.
    pub(crate) triangle: u32,
    pub(crate) hermitian: u32,
}

impl Product {
    pub(crate) fn new([m, n, k]: [i64; 3], alpha: Factor, [a, b]: [Matrix; 2], beta: Factor, c: Matrix, batches: u32) -> Self {
        Self {
            m,
            n,
            k,
            a,
            b,
            c,
            d: c,
            alpha,
            beta,
            partial: std::ptr::null(),
            part: k,
            parts: 1,
            batches,
            triangle: 0,
            hermitian: 0,
        }
    }
}

/// Work-items of a workgroup: `THREADS` of `kernels/blas/gemm.cu`.
const THREADS: u32 = 256;
/// Rows and columns of a workgroup's part of D: `SIDE` there.
const SIDE: i64 = 64;
/// The most workgroups in a grid's first and in its second dimension, which go on by its size.
const MOST: [i64; 2] = [1 << 20, 4096];

const KERNELS: [[&str; 2]; 5] = [
    ["blas_gemm_f32", "blas_gemm_add_f32"],
    ["blas_gemm_f64", "blas_gemm_add_f64"],
    ["blas_gemm_c32", "blas_gemm_add_c32"],
    ["blas_gemm_c64", "blas_gemm_add_c64"],
    ["blas_gemm_i32", "blas_gemm_add_i32"],
];

fn kernels(compute: Type) -> Result<[&'static str; 2]> {
    Ok(KERNELS[match compute {
        Type::F32 => 0,
        Type::F64 => 1,
        Type::C32 => 2,
        Type::C64 => 3,
        Type::I32 => 4,
        _ => return Err(NOT_IMPLEMENTED),
    }])
}

impl Call<'_> {
    /// Enqueues a product that is computed in this type.
    pub(crate) fn product(&mut self, compute: Type, product: &Product) -> Result {
        let [kernel, _] = kernels(compute)?;
        let tiles = (product.m + SIDE - 1) / SIDE * ((product.n + SIDE - 1) / SIDE);
        let grid = [tiles.clamp(1, MOST[0]) as u32, i64::from(product.batches).clamp(1, MOST[1]) as u32, 1];
        self.launch(&modules::GEMM, kernel, grid, THREADS, product)
    }
}

pub(crate) fn is_operation(operation: rocblas_operation) -> bool {
    (rocblas_operation::rocblas_operation_none.0..=rocblas_operation::rocblas_operation_conjugate_transpose.0)
        .contains(&operation.0)
}

/// Rows and columns of a matrix in memory, of which its transpose may be meant.
pub(crate) fn stored(operation: rocblas_operation, rows: i64, columns: i64) -> [i64; 2] {
    if operation == rocblas_operation::rocblas_operation_none { [rows, columns] } else { [columns, rows] }
}

/// The number of products of a batch, as kernels count them.
pub(crate) fn batches(args: &Args) -> Result<u32> {
    u32::try_from(args.batch).map_err(|_| INVALID_SIZE)
}

pub(crate) fn gemm(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, k, trans_a, trans_b, a, b, c, form, .. } = args;
    if !is_operation(trans_a) || !is_operation(trans_b) {
        return Err(INVALID_VALUE);
    }
    if m < 0 || n < 0 || k < 0 || args.batch < 0 {
        return Err(INVALID_SIZE);
    }
    if a.step < stored(trans_a, m, k)[0].max(1) || b.step < stored(trans_b, k, n)[0].max(1) || c.step < m.max(1) {
        return Err(INVALID_SIZE);
    }
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    let beta = call.factor(args.beta)?;
    let alpha = if k == 0 { Factor::of(0.0) } else { call.factor(args.alpha)? };
    if beta.is(1.0) && alpha.is(0.0) {
        return Ok(());
    }
    if c.at.is_null() || !alpha.is(0.0) && (a.at.is_null() || b.at.is_null()) {
        return Err(INVALID_POINTER);
    }
    let matrix = |operand: &Operand, operation| {
        Ok(Matrix::stored(DeviceOperand::new(operand, form)?, operand.step).op(operation))
    };
    let operands = [matrix(&a, trans_a)?, matrix(&b, trans_b)?];
    let c = matrix(&c, rocblas_operation::rocblas_operation_none)?;
    let product = Product::new([m, n, k], alpha, operands, beta, c, batches(args)?);
    call.product(args.compute.ok_or(INVALID_VALUE)?.compute(), &product)
}
