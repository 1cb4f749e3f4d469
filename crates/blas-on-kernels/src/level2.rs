//! Products of matrices and vectors, and triangular systems with one right side.

use rocblas_sys::rocblas_operation;

use crate::args::{Args, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_POINTER, INVALID_VALUE, Result};
use crate::checks::{addressable, are_there, is_none, operation, sizes, unit, upper};
use crate::gemm::Structure;
use crate::modules;
use crate::vector::{THREADS, Vector, batches, grid, kernel};

/// `Storage` of `kernels/blas/level2.cu`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Dense,
    Band,
    Packed,
}

/// `Stored` in that file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    operand: DeviceOperand,
    leading: i64,
    order: i64,
    diagonal: i64,
    storage: Storage,
    structure: Structure,
    upper: u32,
    unit: u32,
    transposed: u32,
    conjugate: u32,
}

impl Stored {
    pub(crate) fn new(args: &Args, storage: Storage, structure: Structure) -> Result<Self> {
        Ok(Self {
            operand: DeviceOperand::new(&args.a, args.form)?,
            leading: if storage == Storage::Packed { 0 } else { args.a.step },
            order: args.n,
            diagonal: 0,
            storage,
            structure,
            upper: 0,
            unit: 0,
            transposed: 0,
            conjugate: 0,
        })
    }

    /// With only a triangle in memory.
    pub(crate) fn half(args: &Args, storage: Storage, structure: Structure) -> Result<Self> {
        let upper = upper(args.uplo)?;
        let diagonal = if storage == Storage::Band && upper { args.k } else { 0 };
        Ok(Self { diagonal, upper: upper.into(), ..Self::new(args, storage, structure)? })
    }

    fn op(self, operation: rocblas_operation) -> Self {
        let conjugate = operation == rocblas_operation::rocblas_operation_conjugate_transpose;
        Self { transposed: (!is_none(operation)).into(), conjugate: conjugate.into(), ..self }
    }
}

/// `Multiplied` in that file.
#[repr(C)]
struct Multiplied {
    m: i64,
    n: i64,
    below: i64,
    above: i64,
    a: Stored,
    x: Vector,
    y: Vector,
    alpha: Factor,
    beta: Factor,
    rows: u32,
    batches: u32,
}

/// Rows of a workgroup if neighbouring rows are neighbours in memory, and if they are not or there are few.
const ROWS: [u32; 2] = [64, 4];

impl Multiplied {
    fn enqueue(mut self, call: &mut Call<'_>, compute: Type) -> Result {
        let few = self.m < 64 * i64::from(call.gpu.compute_units) && self.n > 4 * self.m;
        self.rows = ROWS[usize::from(self.a.transposed != 0 || few)];
        let grid = grid((self.m - 1) / i64::from(self.rows) + 1, self.batches);
        call.launch(&modules::BLAS_LEVEL2, kernel!("multiply", compute)?, grid, THREADS, &self)
    }
}

/// y = alpha * A * x + beta * y, where A is `m` by `n` and has this many diagonals below and above the main
/// one.
fn multiply(
    call: &mut Call<'_>,
    args: &Args,
    [m, n]: [i64; 2],
    [below, above]: [i64; 2],
    a: impl FnOnce() -> Result<Stored>,
) -> Result {
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    let (alpha, beta) = (call.factor(args.alpha)?, call.factor(args.beta)?);
    if alpha.is(0.0) && beta.is(1.0) {
        return Ok(());
    }
    let (reads, writes) = (!args.a.at.is_null() && !args.x.at.is_null(), !args.y.at.is_null());
    call.operands([alpha, beta], |factors| are_there(factors, reads, writes))?;
    let multiplied = Multiplied {
        m,
        n,
        below,
        above,
        a: a()?,
        x: Vector::new(&args.x, args.form, n)?,
        y: Vector::new(&args.y, args.form, m)?,
        alpha,
        beta,
        rows: 0,
        batches: batches(args)?,
    };
    multiplied.enqueue(call, args.kind.ok_or(INVALID_VALUE)?.compute())
}

fn increments(args: &Args) -> bool {
    args.x.step != 0 && args.y.step != 0
}

pub(crate) fn gemv(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, .. } = args;
    operation(args.trans_a)?;
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && args.a.step >= m.max(1) && increments(args))?;
    let [rows, columns] = if is_none(args.trans_a) { [m, n] } else { [n, m] };
    multiply(call, args, [rows, columns], [rows, columns], || {
        Ok(Stored::new(args, Storage::Dense, Structure::General)?.op(args.trans_a))
    })
}

pub(crate) fn gbmv(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, kl, ku, .. } = args;
    operation(args.trans_a)?;
    // AMD's library does not accept larger ones either.
    sizes([m, n, kl, ku].into_iter().all(addressable) && args.batch >= 0 && increments(args))?;
    sizes(args.a.step > kl.saturating_add(ku))?;
    let (size, reach) = if is_none(args.trans_a) { ([m, n], [kl, ku]) } else { ([n, m], [ku, kl]) };
    multiply(call, args, size, reach, || {
        let a = Stored::new(args, Storage::Band, Structure::General)?.op(args.trans_a);
        Ok(Stored { diagonal: ku, ..a })
    })
}

/// How far the elements of a matrix with one stored triangle extend from its diagonal.
fn reach(args: &Args, storage: Storage) -> Result<i64> {
    let &Args { n, k, .. } = args;
    match storage {
        Storage::Dense => sizes(addressable(n) && args.a.step >= n.max(1)).map(|()| n),
        Storage::Band => sizes(addressable(k) && args.a.step > k).map(|()| k),
        Storage::Packed => sizes(addressable(n)).map(|()| n),
    }
}

/// With a symmetric or Hermitian matrix, stored as one triangle.
fn half(call: &mut Call<'_>, args: &Args, storage: Storage, structure: Structure) -> Result {
    let n = args.n;
    upper(args.uplo)?;
    // AMD's library does not accept larger bands either.
    sizes(addressable(n) && args.batch >= 0 && increments(args))?;
    let reach = reach(args, storage)?;
    multiply(call, args, [n, n], [reach, reach], || Stored::half(args, storage, structure))
}

pub(crate) fn symv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Dense, Structure::Symmetric)
}

pub(crate) fn hemv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Dense, Structure::Hermitian)
}

pub(crate) fn sbmv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Band, Structure::Symmetric)
}

pub(crate) fn hbmv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Band, Structure::Hermitian)
}

pub(crate) fn spmv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Packed, Structure::Symmetric)
}

pub(crate) fn hpmv(call: &mut Call<'_>, args: &Args) -> Result {
    half(call, args, Storage::Packed, Structure::Hermitian)
}

/// A triangular matrix, as it is used: its storage, how far its elements extend from its diagonal, and
/// whether it is lower.
struct Triangle {
    a: Stored,
    reach: i64,
    lower: bool,
    kind: Type,
}

/// `None` if there is nothing to do.
fn triangle(args: &Args, storage: Storage) -> Result<Option<Triangle>> {
    let n = args.n;
    let is_upper = upper(args.uplo)?;
    operation(args.trans_a)?;
    let is_unit = unit(args.diag)?;
    sizes(n >= 0 && args.batch >= 0 && args.x.step != 0)?;
    let reach = reach(args, storage)?;
    if n == 0 || args.batch == 0 {
        return Ok(None);
    }
    if args.a.at.is_null() || args.x.at.is_null() {
        return Err(INVALID_POINTER);
    }
    let a = Stored::half(args, storage, Structure::Triangular)?.op(args.trans_a);
    Ok(Some(Triangle {
        a: Stored { unit: is_unit.into(), ..a },
        reach,
        lower: is_upper != is_none(args.trans_a),
        kind: args.kind.ok_or(INVALID_VALUE)?,
    }))
}

/// x = A * x, from a copy of x.
fn multiply_triangle(call: &mut Call<'_>, args: &Args, storage: Storage) -> Result {
    let Some(Triangle { a, reach, lower, kind }) = triangle(args, storage)? else { return Ok(()) };
    let n = args.n;
    let batches = batches(args)?;
    let bytes = kind.size().saturating_mul(n as usize).saturating_mul(batches as usize);
    let [copy] = call.workspace([bytes])?;
    let x = Vector::new(&args.x, args.form, n)?;
    let copy = Vector::dense(copy, n, kind);
    crate::level1::copy_to(call, [x, copy], n, batches, kind)?;
    let [below, above] = if lower { [reach, 0] } else { [0, reach] };
    let (alpha, beta) = (Factor::of(1.0), Factor::of(0.0));
    Multiplied { m: n, n, below, above, a, x: copy, y: x, alpha, beta, rows: 0, batches }.enqueue(call, kind)
}

pub(crate) fn trmv(call: &mut Call<'_>, args: &Args) -> Result {
    multiply_triangle(call, args, Storage::Dense)
}

pub(crate) fn tbmv(call: &mut Call<'_>, args: &Args) -> Result {
    multiply_triangle(call, args, Storage::Band)
}

pub(crate) fn tpmv(call: &mut Call<'_>, args: &Args) -> Result {
    multiply_triangle(call, args, Storage::Packed)
}

/// `Solved` of `kernels/blas/level2.cu`.
#[repr(C)]
struct Solved {
    n: i64,
    reach: i64,
    a: Stored,
    x: Vector,
    lower: u32,
    batches: u32,
}

fn solve(call: &mut Call<'_>, args: &Args, storage: Storage) -> Result {
    let Some(Triangle { a, reach, lower, kind }) = triangle(args, storage)? else { return Ok(()) };
    let n = args.n;
    let batches = batches(args)?;
    let solved = Solved { n, reach, a, x: Vector::new(&args.x, args.form, n)?, lower: lower.into(), batches };
    let grid = grid(batches.into(), 1);
    call.launch(&modules::BLAS_LEVEL2, kernel!("solve", kind)?, grid, THREADS, &solved)
}

pub(crate) fn trsv(call: &mut Call<'_>, args: &Args) -> Result {
    solve(call, args, Storage::Dense)
}

pub(crate) fn tbsv(call: &mut Call<'_>, args: &Args) -> Result {
    solve(call, args, Storage::Band)
}

pub(crate) fn tpsv(call: &mut Call<'_>, args: &Args) -> Result {
    solve(call, args, Storage::Packed)
}
