//! Products with triangular matrices, triangular systems with many right sides, and inverses.

use crate::args::{Args, Form, Scalar, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_VALUE, Result};
use crate::checks::{are_there, left, operation, sizes, unit, upper};
use crate::combine::{Combination, Combined, Grid};
use crate::gemm::{Matrix, Product, Structure};
use crate::level3::matrix;
use crate::modules;
use crate::vector::{THREADS, batches, grid, kernel};

/// A triangular matrix and the matrix on its right; if the caller has them the other way round, the transpose
/// of both.
struct Sides {
    a: Matrix,
    left: bool,
    /// Rows and columns of the matrix on the right.
    size: [i64; 2],
}

/// The checks common to all operations. `None` if there is nothing to do.
fn sides(args: &Args) -> Result<Option<Sides>> {
    let &Args { m, n, a, b, .. } = args;
    let is_left = left(args.side)?;
    let is_upper = upper(args.uplo)?;
    operation(args.trans_a)?;
    let is_unit = unit(args.diag)?;
    let order = if is_left { m } else { n };
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && a.step >= order && b.step >= m)?;
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(None);
    }
    let structure = Structure::Triangular;
    let a = Matrix { structure, upper: is_upper.into(), unit: is_unit.into(), ..matrix(&a, args)? };
    let a = a.op(args.trans_a);
    Ok(Some(if is_left {
        Sides { a, left: true, size: [m, n] }
    } else {
        Sides { a: a.transposed(), left: false, size: [n, m] }
    }))
}

fn turned(matrix: Matrix, left: bool) -> Matrix {
    if left { matrix } else { matrix.transposed() }
}

/// Memory of the handle for one matrix per product, stored by columns.
fn temporary(call: &mut Call<'_>, [m, n]: [i64; 2], kind: Type, batches: u32) -> Result<Matrix> {
    let elements = (m as usize).saturating_mul(n as usize);
    let [at] = call.workspace([elements.saturating_mul(kind.size()).saturating_mul(batches as usize)])?;
    Ok(Matrix::stored(DeviceOperand::dense(at, m * n, kind), m))
}

pub(crate) fn trmm(call: &mut Call<'_>, args: &Args) -> Result {
    let Some(Sides { a, left, size }) = sides(args)? else {
        return sizes(args.c.step >= args.m);
    };
    sizes(args.c.step >= args.m)?;
    let kind = args.kind.ok_or(INVALID_VALUE)?;
    let alpha = call.factor(args.alpha)?;
    let (reads, writes) = (!args.a.at.is_null() && !args.b.at.is_null(), !args.c.at.is_null());
    let [alpha, _] = call.operands([alpha, Factor::of(0.0)], |factors| are_there(factors, reads, writes))?;
    let in_place = args.b.at == args.c.at;
    if in_place && args.b.step != args.c.step {
        return Err(INVALID_VALUE);
    }
    let batches = batches(args)?;
    let mut b = matrix(&args.b, args)?;
    // Two arrays of pointers may lead to the same matrices.
    if !alpha.is(0.0) && (in_place || args.form == Form::Batched) {
        let size = [args.m, args.n];
        let copy = temporary(call, size, kind, batches)?;
        // With alpha = 0, B need not exist, and is not copied.
        Combined::copy(size, b, copy, batches).factor(Factor::of(1.0)).enqueue(call, kind)?;
        b = copy;
    }
    let [m, n] = size;
    let c = turned(matrix(&args.c, args)?, left);
    let operands = [a, turned(b, left)];
    call.product(kind, &Product::new([m, n, m], alpha, operands, Factor::of(0.0), c, batches))
}

/// `Block` of `kernels/blas/level3.cu`.
#[repr(C)]
struct Block {
    m: i64,
    n: i64,
    a: Grid,
    b: Grid,
    lower: u32,
    unit: u32,
    batches: u32,
}

/// Rows of a block that is solved at once: `SIDE` in that file.
const SIDE: i64 = 32;
/// Columns of a workgroup: `COLUMNS` in that file.
const COLUMNS: i64 = 64;

/// A * X = alpha * B, where X replaces B: for each block of rows, the known part of X is first subtracted.
fn solve(
    call: &mut Call<'_>,
    kind: Type,
    a: Matrix,
    b: Matrix,
    alpha: Factor,
    [m, n]: [i64; 2],
    batches: u32,
) -> Result {
    let lower = a.upper == 0;
    let general = Matrix { structure: Structure::General, unit: 0, ..a };
    let blocks = (m - 1) / SIDE + 1;
    for index in 0..blocks {
        let first = if lower { index } else { blocks - 1 - index } * SIDE;
        let rows = SIDE.min(m - first);
        // The part already solved is above the block, or below it.
        let (known, depth) = if lower { (0, first) } else { (first + rows, m - first - rows) };
        let here = b.from(first, 0);
        if depth > 0 || !alpha.is(1.0) {
            let operands = [general.from(first, known), b.from(known, 0)];
            // Without a depth, the operands are not read.
            let minus = if depth > 0 { Factor::of(-1.0) } else { Factor::of(0.0) };
            call.product(kind, &Product::new([rows, n, depth], minus, operands, alpha, here, batches))?;
        }
        let block = Block {
            m: rows,
            n,
            a: general.from(first, first).into(),
            b: here.into(),
            lower: lower.into(),
            unit: a.unit,
            batches,
        };
        let grid = grid((n - 1) / COLUMNS + 1, batches);
        call.launch(&modules::BLAS_LEVEL3, kernel!("block", kind)?, grid, THREADS, &block)?;
    }
    Ok(())
}

pub(crate) fn trsm(call: &mut Call<'_>, args: &Args) -> Result {
    let Some(Sides { a, left, size }) = sides(args)? else { return Ok(()) };
    let kind = args.kind.ok_or(INVALID_VALUE)?;
    let alpha = call.factor(args.alpha)?;
    let (reads, writes) = (!args.a.at.is_null(), !args.b.at.is_null());
    let [alpha, _] = call.operands([alpha, Factor::of(0.0)], |factors| are_there(factors, reads, writes))?;
    let batches = batches(args)?;
    let b = turned(matrix(&args.b, args)?, left);
    if !alpha.is(0.0) {
        solve(call, kind, a, b, alpha, size, batches)?;
    }
    // Then the contents of A must not matter.
    if alpha.known().is_none() || alpha.is(0.0) {
        Combined::new(size, Combination::Clear, b, batches).factor(alpha).enqueue(call, kind)?;
    }
    Ok(())
}

/// All types are the compute type. The caller's inverses of A's blocks are not needed.
pub(crate) fn trsm_ex(call: &mut Call<'_>, args: &Args) -> Result {
    let kind = args.compute;
    // Other types only have products, and solving begins with one.
    kernel!("block", kind.ok_or(INVALID_VALUE)?)?;
    let mut args = Args { kind, alpha: Scalar::new(args.alpha.at, kind), ..*args };
    (args.a.kind, args.b.kind) = (kind, kind);
    trsm(call, &args)
}

/// C = A⁻¹.
pub(crate) fn trtri(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { n, a, c, .. } = args;
    let is_upper = upper(args.uplo)?;
    let is_unit = unit(args.diag)?;
    sizes(n >= 0 && args.batch >= 0 && a.step >= n && c.step >= n)?;
    if n == 0 || args.batch == 0 {
        return Ok(());
    }
    if a.at.is_null() || c.at.is_null() {
        return Err(INVALID_POINTER);
    }
    let kind = args.kind.ok_or(INVALID_VALUE)?;
    let batches = batches(args)?;
    let size = [n, n];
    let inverse = temporary(call, size, kind, batches)?;
    Combined::new(size, Combination::Identity, inverse, batches).enqueue(call, kind)?;
    let structure = Structure::Triangular;
    let triangle = Matrix { structure, upper: is_upper.into(), unit: is_unit.into(), ..matrix(&a, args)? };
    solve(call, kind, triangle, inverse, Factor::of(1.0), size, batches)?;
    // In place, the other triangle does not belong to A.
    let in_place = a.at == c.at || args.form == Form::Batched;
    Combined::copy(size, inverse, matrix(&c, args)?, batches)
        .triangle(is_upper, !in_place)
        .enqueue(call, kind)
}
