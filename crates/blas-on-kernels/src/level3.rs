//! Products with symmetric and Hermitian matrices, and products whose results are such.

use rocblas_sys::rocblas_operation;

use crate::args::{Args, Operand, Scalar, Type};
use crate::call::{Call, DeviceOperand, Factor, INVALID_VALUE, NOT_IMPLEMENTED, Result};
use crate::checks::{are_there, is_none, left, operation, sizes, stored, upper};
use crate::gemm::{Matrix, Product, Structure};
use crate::vector::batches;

const TRANSPOSE: rocblas_operation = rocblas_operation::rocblas_operation_transpose;
const CONJUGATE: rocblas_operation = rocblas_operation::rocblas_operation_conjugate_transpose;

pub(crate) fn matrix(operand: &Operand, args: &Args) -> Result<Matrix> {
    Ok(Matrix::stored(DeviceOperand::new(operand, args.form)?, operand.step))
}

fn kind(args: &Args) -> Result<Type> {
    Ok(args.kind.ok_or(INVALID_VALUE)?.compute())
}

/// alpha * A * B + beta * C or alpha * B * A + beta * C, where A is symmetric or Hermitian.
fn one_half(call: &mut Call<'_>, args: &Args, structure: Structure) -> Result {
    let &Args { m, n, a, b, c, .. } = args;
    let is_left = left(args.side)?;
    let is_upper = upper(args.uplo)?;
    let order = if is_left { m } else { n };
    sizes(m >= 0 && n >= 0 && args.batch >= 0 && a.step >= order && b.step >= m && c.step >= m)?;
    if m == 0 || n == 0 || args.batch == 0 {
        return Ok(());
    }
    let (alpha, beta) = (call.factor(args.alpha)?, call.factor(args.beta)?);
    if alpha.is(0.0) && beta.is(1.0) {
        return Ok(());
    }
    let (reads, writes) = (!a.at.is_null() && !b.at.is_null(), !c.at.is_null());
    call.operands([alpha, beta], |factors| are_there(factors, reads, writes))?;
    let a = Matrix { structure, upper: is_upper.into(), ..matrix(&a, args)? };
    let (b, c, batches) = (matrix(&b, args)?, matrix(&c, args)?, batches(args)?);
    let product = if is_left {
        Product::new([m, n, m], alpha, [a, b], beta, c, batches)
    } else {
        // Everything is transposed, so that the structured matrix is always on the left.
        let operands = [a.transposed(), b.transposed()];
        Product::new([n, m, n], alpha, operands, beta, c.transposed(), batches)
    };
    call.product(kind(args)?, &product)
}

pub(crate) fn symm(call: &mut Call<'_>, args: &Args) -> Result {
    one_half(call, args, Structure::Symmetric)
}

pub(crate) fn hemm(call: &mut Call<'_>, args: &Args) -> Result {
    one_half(call, args, Structure::Hermitian)
}

/// The triangle of a product: its factors, and whether the product is Hermitian.
struct Update {
    /// A * Aᵀ; A * Bᵀ; both A * Bᵀ and B * Aᵀ.
    of: Of,
    hermitian: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    One,
    Two,
    Both,
}

fn update(call: &mut Call<'_>, args: &Args, update: &Update) -> Result {
    let &Args { n, k, trans_a: trans, a, c, .. } = args;
    let Update { of, hermitian } = *update;
    let kind = kind(args)?;
    let b = if of == Of::One { a } else { args.b };
    let is_upper = upper(args.uplo)?;
    operation(trans)?;
    // Transposed, a Hermitian product is conjugated, and a symmetric one of complex numbers is not.
    if hermitian && trans == TRANSPOSE || !hermitian && kind.is_complex() && trans == CONJUGATE {
        return Err(INVALID_VALUE);
    }
    let rows = stored(trans, n, k)[0];
    sizes(n >= 0 && k >= 0 && args.batch >= 0 && a.step >= rows && b.step >= rows && c.step >= n)?;
    if n == 0 || args.batch == 0 {
        return Ok(());
    }
    let beta = call.factor(args.beta)?;
    let alpha = if k == 0 { Factor::of(0.0) } else { call.factor(args.alpha)? };
    if alpha.is(0.0) && beta.is(1.0) {
        return Ok(());
    }
    let (reads, writes) = (!a.at.is_null() && !b.at.is_null(), !c.at.is_null());
    call.operands([alpha, beta], |factors| are_there(factors, reads, writes))?;
    let (a, b) = (matrix(&a, args)?.op(trans), matrix(&b, args)?.op(trans));
    let across = |matrix: Matrix| {
        let matrix = matrix.transposed();
        if hermitian { matrix.conjugated() } else { matrix }
    };
    let mut product = Product::new([n, n, k], alpha, [a, across(b)], beta, matrix(&c, args)?, batches(args)?);
    product.triangle = if is_upper { 1 } else { 2 };
    product.hermitian = hermitian.into();
    call.product(kind, &product)?;
    if of == Of::Both {
        (product.a, product.b) = (b, across(a));
        product.beta = Factor::of(1.0);
        if hermitian {
            product.alpha = alpha.conjugate();
        }
        call.product(kind, &product)?;
    }
    Ok(())
}

macro_rules! updates {
    ($($name:ident: $of:ident $hermitian:literal;)+) => {$(
        pub(crate) fn $name(call: &mut Call<'_>, args: &Args) -> Result {
            update(call, args, &Update { of: Of::$of, hermitian: $hermitian })
        }
    )+};
}
updates! {
    syrk: One false;
    herk: One true;
    syr2k: Both false;
    her2k: Both true;
    syrkx: Two false;
    herkx: Two true;
}

/// A symmetric update whose types are arguments.
pub(crate) fn syrk_ex(call: &mut Call<'_>, args: &Args) -> Result {
    let compute = args.compute.ok_or(INVALID_VALUE)?;
    let (a, c) = (args.a.kind.ok_or(INVALID_VALUE)?, args.c.kind.ok_or(INVALID_VALUE)?);
    let known = match compute {
        Type::F32 => [a, c].iter().all(|kind| kind.compute() == Type::F32),
        // For f32, this is more exact.
        Type::F64 => [Type::F32, Type::F64].contains(&a) && (c == Type::F64 || c == a),
        Type::C32 | Type::C64 => [a, c].iter().all(|kind| *kind == compute),
        _ => false,
    };
    if !known {
        return Err(NOT_IMPLEMENTED);
    }
    let factor = |scalar: Scalar| Scalar::new(scalar.at, Some(compute));
    let args = Args { kind: Some(compute), alpha: factor(args.alpha), beta: factor(args.beta), ..*args };
    syrk(call, &args)
}

/// The triangle of a product of any two matrices.
pub(crate) fn gemmt(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { n, k, trans_a, trans_b, a, b, c, .. } = args;
    let is_upper = upper(args.uplo)?;
    operation(trans_a)?;
    operation(trans_b)?;
    sizes(n >= 0 && k >= 0 && args.batch >= 0 && c.step >= n)?;
    let b_rows = if is_none(trans_b) { k } else { n };
    sizes(a.step >= stored(trans_a, n, k)[0] && b.step >= b_rows)?;
    if n == 0 || args.batch == 0 {
        return Ok(());
    }
    let beta = call.factor(args.beta)?;
    let alpha = if k == 0 { Factor::of(0.0) } else { call.factor(args.alpha)? };
    if alpha.is(0.0) && beta.is(1.0) {
        return Ok(());
    }
    let (reads, writes) = (!a.at.is_null() && !b.at.is_null(), !c.at.is_null());
    call.operands([alpha, beta], |factors| are_there(factors, reads, writes))?;
    let operands = [matrix(&a, args)?.op(trans_a), matrix(&b, args)?.op(trans_b)];
    let mut product = Product::new([n, n, k], alpha, operands, beta, matrix(&c, args)?, batches(args)?);
    product.triangle = if is_upper { 1 } else { 2 };
    call.product(kind(args)?, &product)
}
