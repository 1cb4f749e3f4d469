//! Distances: products with other operations instead of multiplication and addition.

use rocblas_sys::rocblas_geam_ex_operation;

use super::{product, same_place, shapes};
use crate::args::{Args, Scalar, Type};
use crate::call::{Call, Factor, INVALID_VALUE, NOT_IMPLEMENTED, Result};

/// The supported compute types.
fn compute(args: &Args) -> Result<Type> {
    let wanted = args.compute.ok_or(INVALID_VALUE)?;
    let operands = [&args.a, &args.b, &args.c, &args.d];
    if operands.iter().any(|operand| operand.kind.is_none()) {
        return Err(INVALID_VALUE);
    }
    let same = operands.iter().all(|operand| operand.kind == Some(wanted));
    let known = matches!(wanted, Type::F16 | Type::F32 | Type::F64);
    if same && known { Ok(wanted.compute()) } else { Err(NOT_IMPLEMENTED) }
}

pub(crate) fn geam_ex(call: &mut Call<'_>, args: &Args) -> Result {
    let &Args { m, n, k, a, b, c, d, .. } = args;
    let wide = args.compute == Some(Type::F64);
    let kernels = match (args.distance, wide) {
        (rocblas_geam_ex_operation::rocblas_geam_ex_operation_min_plus, false) => {
            ["blas_min_plus_f32", "blas_min_plus_add_f32"]
        }
        (rocblas_geam_ex_operation::rocblas_geam_ex_operation_min_plus, true) => {
            ["blas_min_plus_f64", "blas_min_plus_add_f64"]
        }
        (rocblas_geam_ex_operation::rocblas_geam_ex_operation_plus_min, false) => {
            ["blas_plus_min_f32", "blas_plus_min_add_f32"]
        }
        (rocblas_geam_ex_operation::rocblas_geam_ex_operation_plus_min, true) => {
            ["blas_plus_min_f64", "blas_plus_min_add_f64"]
        }
        _ => return Err(INVALID_VALUE),
    };
    shapes(args)?;
    let compute = compute(args)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    // The factors have the compute type.
    let factor = |call: &Call<'_>, scalar: Scalar| call.factor(Scalar::new(scalar.at, args.compute));
    let beta = factor(call, args.beta)?;
    // Without a depth, there is nothing to multiply by a factor: only beta * C remains.
    let alpha = if k == 0 { Factor::of(1.0) } else { factor(call, args.alpha)? };
    same_place(&c, &d)?;
    call.operands([alpha, beta], |[alpha, beta]| {
        let reads = k == 0 || alpha.is(0.0) || !a.at.is_null() && !b.at.is_null();
        reads && !d.at.is_null() && (beta.is(0.0) || !c.at.is_null())
    })?;
    call.tiles(kernels, compute, &product(args, [alpha, beta])?)
}
