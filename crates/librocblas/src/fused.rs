//! Products with a bias and an activation, for which rocBLAS has no function.

use std::ffi::{c_int, c_void};

use blas_on_kernels::{Activation, FusedGemm, FusedMatrix};
use rocblas_sys::{rocblas_datatype, rocblas_handle, rocblas_operation, rocblas_status};

/// `operand` of `crates/setup/src/nvcc/libraries/cublaslt.c`.
#[repr(C)]
struct Operand {
    at: *const c_void,
    kind: rocblas_datatype,
    leading: i64,
    stride: i64,
}

/// `fused` of the same file: [`FusedGemm`] in C.
#[repr(C)]
struct Fused {
    trans_a: rocblas_operation,
    trans_b: rocblas_operation,
    m: i64,
    n: i64,
    k: i64,
    alpha: *const f32,
    a: Operand,
    b: Operand,
    beta: *const f32,
    c: Operand,
    d: Operand,
    bias: *const c_void,
    bias_kind: rocblas_datatype,
    activation: c_int,
    batch: i64,
}

/// Enqueues the product that `gemm` describes.
///
/// # Safety
/// As for `FusedGemm::enqueue`; `gemm` must be null or point to a description.
#[unsafe(no_mangle)]
unsafe extern "C" fn ferrocm_fused_gemm(handle: rocblas_handle, gemm: *const Fused) -> rocblas_status {
    // The kernels belong to the table.
    let _ = crate::table();
    // SAFETY: the caller passes null or a description.
    let Some(gemm) = (unsafe { gemm.as_ref() }) else {
        return rocblas_status::rocblas_status_invalid_pointer;
    };
    let activation = match gemm.activation {
        0 => Activation::None,
        1 => Activation::Relu,
        2 => Activation::Gelu,
        _ => return rocblas_status::rocblas_status_invalid_value,
    };
    let matrix =
        |of: &Operand| FusedMatrix { at: of.at, kind: of.kind, leading: of.leading, stride: of.stride };
    let fused = FusedGemm {
        trans_a: gemm.trans_a,
        trans_b: gemm.trans_b,
        m: gemm.m,
        n: gemm.n,
        k: gemm.k,
        alpha: gemm.alpha,
        a: matrix(&gemm.a),
        b: matrix(&gemm.b),
        beta: gemm.beta,
        c: matrix(&gemm.c),
        d: matrix(&gemm.d),
        bias: gemm.bias,
        bias_kind: gemm.bias_kind,
        activation,
        batch: gemm.batch,
    };
    // SAFETY: the caller's promise.
    unsafe { fused.enqueue(handle) }
}
