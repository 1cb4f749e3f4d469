//! Matrices to which products of vectors are added.

use crate::args::Args;
use crate::call::{Call, Factor, INVALID_VALUE, Result};
use crate::checks::{addressable, are_there, sizes, upper};
use crate::gemm::Structure;
use crate::level2::{Storage, Stored};
use crate::modules;
use crate::vector::{THREADS, Vector, batches, grid, kernel};

/// `Updated` of `kernels/blas/level2.cu`.
#[repr(C)]
struct Updated {
    m: i64,
    n: i64,
    a: Stored,
    x: Vector,
    y: Vector,
    alpha: Factor,
    conjugate: u32,
    both: u32,
    batches: u32,
}

/// Rows and columns of a workgroup's part of the matrix.
const TILE: [i64; 2] = [64, 4];

/// The vectors of an update.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vectors {
    /// alpha * x * yᵀ
    Two,
    /// alpha * x * xᵀ
    One,
    /// alpha * x * yᵀ + alpha * y * xᵀ
    Both,
}

fn enqueue(
    call: &mut Call<'_>,
    args: &Args,
    [m, n]: [i64; 2],
    vectors: Vectors,
    conjugate: bool,
    a: impl FnOnce() -> Result<Stored>,
) -> Result {
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    let alpha = call.factor(args.alpha)?;
    if alpha.is(0.0) {
        return Ok(());
    }
    let y = if vectors == Vectors::One { args.x } else { args.y };
    let all = !args.a.at.is_null() && !args.x.at.is_null() && !y.at.is_null();
    call.operands([alpha, Factor::of(1.0)], |factors| are_there(factors, all, all))?;
    let updated = Updated {
        m,
        n,
        a: a()?,
        x: Vector::new(&args.x, args.form, m)?,
        y: Vector::new(&y, args.form, n)?,
        alpha,
        conjugate: conjugate.into(),
        both: (vectors == Vectors::Both).into(),
        batches: batches(args)?,
    };
    let workgroups = ((m - 1) / TILE[0] + 1).saturating_mul((n - 1) / TILE[1] + 1);
    let kernel = kernel!("update", args.kind.ok_or(INVALID_VALUE)?)?;
    call.launch(&modules::BLAS_LEVEL2, kernel, grid(workgroups, updated.batches), THREADS, &updated)
}

fn general(call: &mut Call<'_>, args: &Args, conjugate: bool) -> Result {
    let &Args { m, n, .. } = args;
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && args.x.step != 0 && args.y.step != 0)?;
    sizes(args.a.step >= m.max(1))?;
    enqueue(call, args, [m, n], Vectors::Two, conjugate, || {
        Stored::new(args, Storage::Dense, Structure::General)
    })
}

pub(crate) fn ger(call: &mut Call<'_>, args: &Args) -> Result {
    general(call, args, false)
}

pub(crate) fn gerc(call: &mut Call<'_>, args: &Args) -> Result {
    general(call, args, true)
}

fn half(
    call: &mut Call<'_>,
    args: &Args,
    storage: Storage,
    structure: Structure,
    vectors: Vectors,
) -> Result {
    let n = args.n;
    upper(args.uplo)?;
    sizes(
        addressable(n)
            && args.batch >= 0
            && args.x.step != 0
            && (vectors == Vectors::One || args.y.step != 0),
    )?;
    sizes(storage == Storage::Packed || args.a.step >= n.max(1))?;
    let conjugate = structure == Structure::Hermitian;
    enqueue(call, args, [n, n], vectors, conjugate, || Stored::half(args, storage, structure))
}

macro_rules! updates {
    ($($name:ident: $storage:ident $structure:ident $vectors:ident;)+) => {$(
        pub(crate) fn $name(call: &mut Call<'_>, args: &Args) -> Result {
            half(call, args, Storage::$storage, Structure::$structure, Vectors::$vectors)
        }
    )+};
}
updates! {
    syr: Dense Symmetric One;
    her: Dense Hermitian One;
    syr2: Dense Symmetric Both;
    her2: Dense Hermitian Both;
    spr: Packed Symmetric One;
    hpr: Packed Hermitian One;
    spr2: Packed Symmetric Both;
    hpr2: Packed Hermitian Both;
}
