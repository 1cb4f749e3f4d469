//! Matrices element by element.

use rocblas_sys::rocblas_operation;

use crate::args::{Args, Operand, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_VALUE, Result};
use crate::checks::{is_none, left, operation, sizes, stored};
use crate::gemm::Matrix;
use crate::modules;
use crate::vector::{THREADS, Vector, batches, grid, kernel};

/// `Grid` of `kernels/blas/level3.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    operand: DeviceOperand,
    steps: [i64; 2],
    conjugate: u32,
}

impl From<Matrix> for Grid {
    fn from(matrix: Matrix) -> Self {
        Self { operand: matrix.operand, steps: matrix.steps, conjugate: matrix.conjugate }
    }
}

/// `Combination` in that file.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combination {
    Sum,
    LeftDiagonal,
    RightDiagonal,
    Identity,
    /// C becomes zero if alpha is zero.
    Clear,
}

/// `Combined` in that file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combined {
    m: i64,
    n: i64,
    a: Grid,
    b: Grid,
    c: Grid,
    x: Vector,
    alpha: Factor,
    beta: Factor,
    combination: Combination,
    batches: u32,
    triangle: u32,
    cleared: u32,
}

/// Rows and columns of a workgroup's part.
const TILE: [i64; 2] = [64, 4];

impl Combined {
    /// C of `m` rows and `n` columns.
    pub(crate) fn new([m, n]: [i64; 2], combination: Combination, c: Matrix, batches: u32) -> Self {
        let none = Grid::from(Matrix::NONE);
        let (alpha, beta) = (Factor::of(0.0), Factor::of(0.0));
        let (x, c) = (Vector::NONE, c.into());
        Self { m, n, a: none, b: none, c, x, alpha, beta, combination, batches, triangle: 0, cleared: 0 }
    }

    /// C = A.
    pub(crate) fn copy(size: [i64; 2], a: Matrix, c: Matrix, batches: u32) -> Self {
        Self { a: a.into(), alpha: Factor::of(1.0), ..Self::new(size, Combination::Sum, c, batches) }
    }

    pub(crate) fn factor(self, alpha: Factor) -> Self {
        Self { alpha, ..self }
    }

    /// Only the upper or the lower triangle of C is written; the rest becomes zero, or is unchanged.
    pub(crate) fn triangle(self, upper: bool, cleared: bool) -> Self {
        Self { triangle: if upper { 1 } else { 2 }, cleared: cleared.into(), ..self }
    }

    pub(crate) fn enqueue(&self, call: &mut Call<'_>, compute: Type) -> Result {
        let workgroups = ((self.m - 1) / TILE[0] + 1).saturating_mul((self.n - 1) / TILE[1] + 1);
        let grid = grid(workgroups, self.batches);
        call.launch(&modules::BLAS_LEVEL3, kernel!("combine", compute)?, grid, THREADS, self)
    }
}

pub(crate) fn geam(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, trans_a, trans_b, a, b, c, form, .. } = args;
    operation(trans_a)?;
    operation(trans_b)?;
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && c.step >= m)?;
    sizes(a.step >= stored(trans_a, m, n)[0] && b.step >= stored(trans_b, m, n)[0])?;
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    let (alpha, beta) = (call.factor(args.alpha)?, call.factor(args.beta)?);
    let [alpha, beta] = call.operands([alpha, beta], |[alpha, beta]| {
        let is_there = |factor: Factor, operand: &Operand| factor.is(0.0) || !operand.at.is_null();
        !c.at.is_null() && is_there(alpha, &a) && is_there(beta, &b)
    })?;
    // In place is only possible element by element.
    let clashes =
        |operand: &Operand, trans| c.at == operand.at && (!is_none(trans) || operand.step != c.step);
    sizes(!clashes(&a, trans_a) && !clashes(&b, trans_b))?;
    let matrix = |operand: &Operand, operation: rocblas_operation| {
        Ok(Matrix::stored(DeviceOperand::new(operand, form)?, operand.step).op(operation))
    };
    let none = rocblas_operation::rocblas_operation_none;
    let combined = Combined::new([m, n], Combination::Sum, matrix(&c, none)?, batches(args)?);
    let (a, b) = (matrix(&a, trans_a)?.into(), matrix(&b, trans_b)?.into());
    Combined { a, b, alpha, beta, ..combined }.enqueue(call, args.kind.ok_or(INVALID_VALUE)?)
}

pub(crate) fn dgmm(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, a, c, form, .. } = args;
    let is_left = left(args.side)?;
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && a.step >= m && c.step >= m)?;
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    if a.at.is_null() || args.x.at.is_null() || c.at.is_null() {
        return Err(INVALID_POINTER);
    }
    let matrix = |operand: &Operand| Ok(Matrix::stored(DeviceOperand::new(operand, form)?, operand.step));
    let combination = if is_left { Combination::LeftDiagonal } else { Combination::RightDiagonal };
    let combined = Combined::new([m, n], combination, matrix(&c)?, batches(args)?);
    let x = Vector::new(&args.x, form, if is_left { m } else { n })?;
    Combined { a: matrix(&a)?.into(), x, ..combined }.enqueue(call, args.kind.ok_or(INVALID_VALUE)?)
}
