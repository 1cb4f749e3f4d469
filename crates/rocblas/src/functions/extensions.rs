//! Functions that take the types of their operands as arguments.

use rocblas_sys::{
    rocblas_computetype, rocblas_datatype, rocblas_diagonal, rocblas_fill, rocblas_geam_ex_operation,
    rocblas_gemm_algo, rocblas_operation, rocblas_side,
};

use super::{Address, Call, Operand};
use crate::error::{Error, Result};

/// The arguments of all matrix products.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub trans_a: rocblas_operation,
    pub trans_b: rocblas_operation,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub alpha: Address,
    pub beta: Address,
    pub a: Operand,
    pub b: Operand,
    pub c: Operand,
    pub d: Operand,
    pub algo: rocblas_gemm_algo,
    pub solution: i32,
    pub flags: u32,
}

/// `D = alpha op(A) op(B) + beta C`, computed in a given type.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn gemm_ex(call: &Call<'_>, product: &Product, compute: rocblas_datatype) -> Result<()> {
    let &Product { trans_a, trans_b, m, n, k, alpha, beta, a, b, c, d, algo, solution, flags } = product;
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_gemm_ex rocblas_gemm_ex_64 rocblas_gemm_batched_ex rocblas_gemm_batched_ex_64
            rocblas_gemm_strided_batched_ex rocblas_gemm_strided_batched_ex_64;
            val trans_a, val trans_b, int m, int n, int k, ptr alpha, typed a, typed b, ptr beta, typed c, typed d, batch,
            val compute, val algo, val solution, val flags)
    }
}

/// `D = alpha op(A) op(B) + beta C` for 8-bit floats.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn gemm_ex3(
    call: &Call<'_>,
    product: &Product,
    compute: rocblas_computetype,
) -> Result<()> {
    let &Product { trans_a, trans_b, m, n, k, alpha, beta, a, b, c, d, algo, solution, flags } = product;
    // SAFETY: the caller vouches for all of it.
    unsafe {
        three!(call: rocblas_gemm_ex3 rocblas_gemm_batched_ex3 rocblas_gemm_strided_batched_ex3;
            val trans_a, val trans_b, int m, int n, int k, ptr alpha, typed a, typed b, ptr beta, typed c, typed d, batch,
            val compute, val algo, val solution, val flags)
    }
}

/// The solutions for a [`gemm_ex`]: without a `list`, their number, else the first `size` ones.
///
/// # Safety
/// As the function requires; `list` has room for that many.
pub(crate) unsafe fn gemm_solutions(
    call: &Call<'_>,
    product: &Product,
    compute: rocblas_datatype,
    list: Address,
    size: Address,
) -> Result<()> {
    let &Product { trans_a, trans_b, m, n, k, alpha, beta, a, b, c, d, algo, flags, .. } = product;
    // SAFETY: the caller vouches for all of it.
    unsafe {
        three!(call: rocblas_gemm_ex_get_solutions rocblas_gemm_batched_ex_get_solutions
            rocblas_gemm_strided_batched_ex_get_solutions;
            val trans_a, val trans_b, int m, int n, int k, ptr alpha, typed a, typed b, ptr beta, typed c, typed d, batch,
            val compute, val algo, val flags, ptr list, ptr size)
    }
}

/// The solutions for all products of some types.
///
/// # Safety
/// As [`gemm_solutions`].
pub(crate) unsafe fn gemm_solutions_by_type(
    call: &Call<'_>,
    (input, output, compute): (rocblas_datatype, rocblas_datatype, rocblas_datatype),
    flags: u32,
    list: Address,
    size: Address,
) -> Result<()> {
    let batched = call.form == super::Form::Many;
    // SAFETY: the caller vouches for all of it.
    unsafe {
        if batched {
            invoke!(call rocblas_gemm_batched_ex_get_solutions_by_type one []
                val input, val output, val compute, val flags, ptr list, ptr size)
        } else {
            invoke!(call rocblas_gemm_ex_get_solutions_by_type one []
                val input, val output, val compute, val flags, ptr list, ptr size)
        }
    }
}

/// `y = alpha x + y`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn axpy_ex(
    call: &Call<'_>,
    n: i64,
    (alpha, alpha_type): (Address, rocblas_datatype),
    x: &Operand,
    y: &Operand,
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_axpy_ex rocblas_axpy_ex_64 rocblas_axpy_batched_ex rocblas_axpy_batched_ex_64
            rocblas_axpy_strided_batched_ex rocblas_axpy_strided_batched_ex_64;
            int n, ptr alpha, val alpha_type, typed x, typed y, batch, val execution)
    }
}

/// `x = alpha x`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn scal_ex(
    call: &Call<'_>,
    n: i64,
    (alpha, alpha_type): (Address, rocblas_datatype),
    x: &Operand,
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_scal_ex rocblas_scal_ex_64 rocblas_scal_batched_ex rocblas_scal_batched_ex_64
            rocblas_scal_strided_batched_ex rocblas_scal_strided_batched_ex_64;
            int n, ptr alpha, val alpha_type, typed x, batch, val execution)
    }
}

/// The sum of `x[i] y[i]`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn dot_ex(
    call: &Call<'_>,
    n: i64,
    x: &Operand,
    y: &Operand,
    (result, result_type): (Address, rocblas_datatype),
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_dot_ex rocblas_dot_ex_64 rocblas_dot_batched_ex rocblas_dot_batched_ex_64
            rocblas_dot_strided_batched_ex rocblas_dot_strided_batched_ex_64;
            int n, typed x, typed y, batch, ptr result, val result_type, val execution)
    }
}

/// The sum of `conj(x[i]) y[i]`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn dotc_ex(
    call: &Call<'_>,
    n: i64,
    x: &Operand,
    y: &Operand,
    (result, result_type): (Address, rocblas_datatype),
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_dotc_ex rocblas_dotc_ex_64 rocblas_dotc_batched_ex rocblas_dotc_batched_ex_64
            rocblas_dotc_strided_batched_ex rocblas_dotc_strided_batched_ex_64;
            int n, typed x, typed y, batch, ptr result, val result_type, val execution)
    }
}

/// The Euclidean norm.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn nrm2_ex(
    call: &Call<'_>,
    n: i64,
    x: &Operand,
    (result, result_type): (Address, rocblas_datatype),
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_nrm2_ex rocblas_nrm2_ex_64 rocblas_nrm2_batched_ex rocblas_nrm2_batched_ex_64
            rocblas_nrm2_strided_batched_ex rocblas_nrm2_strided_batched_ex_64;
            int n, typed x, batch, ptr result, val result_type, val execution)
    }
}

/// Applies a plane rotation.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn rot_ex(
    call: &Call<'_>,
    n: i64,
    x: &Operand,
    y: &Operand,
    (c, s, cs_type): (Address, Address, rocblas_datatype),
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        six!(call: rocblas_rot_ex rocblas_rot_ex_64 rocblas_rot_batched_ex rocblas_rot_batched_ex_64
            rocblas_rot_strided_batched_ex rocblas_rot_strided_batched_ex_64;
            int n, typed x, typed y, ptr c, ptr s, val cs_type, batch, val execution)
    }
}

/// Distances between matrices: `D[i, j]` is the least of all `alpha A[i, k] + beta B[k, j]` or a similar
/// expression, and `C[i, j]`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn geam_ex(
    call: &Call<'_>,
    product: &Product,
    compute: rocblas_datatype,
    operation: rocblas_geam_ex_operation,
) -> Result<()> {
    let &Product { trans_a, trans_b, m, n, k, alpha, beta, a, b, c, d, .. } = product;
    // SAFETY: the caller vouches for all of it.
    unsafe {
        single!(call: rocblas_geam_ex;
            val trans_a, val trans_b, int m, int n, int k, ptr alpha, typed a, typed b, ptr beta, typed c, typed d,
            val compute, val operation)
    }
}

/// `C = alpha op(A) op(A)ᵀ + beta C`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn syrk_ex(
    call: &Call<'_>,
    (uplo, trans): (rocblas_fill, rocblas_operation),
    (n, k): (i64, i64),
    alpha: Address,
    a: &Operand,
    beta: Address,
    c: &Operand,
    execution: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        single!(call: rocblas_syrk_ex;
            val uplo, val trans, int n, int k, ptr alpha, typed a, ptr beta, typed c, val execution)
    }
}

/// Solves `op(A) X = alpha B` or `X op(A) = alpha B` with the inverses of blocks of `A` of size `inverse.ld`.
///
/// # Safety
/// As the function requires.
pub(crate) unsafe fn trsm_ex(
    call: &Call<'_>,
    (side, uplo, trans, diag): (rocblas_side, rocblas_fill, rocblas_operation, rocblas_diagonal),
    (m, n): (i64, i64),
    alpha: Address,
    a: &Operand,
    b: &Operand,
    inverse: &Operand,
    compute: rocblas_datatype,
) -> Result<()> {
    // SAFETY: the caller vouches for all of it.
    unsafe {
        three!(call: rocblas_trsm_ex rocblas_trsm_batched_ex rocblas_trsm_strided_batched_ex;
            val side, val uplo, val trans, val diag, int m, int n, ptr alpha, at a, at b, batch, at inverse, val compute)
    }
}
