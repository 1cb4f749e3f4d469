//! Factors of zero, with which rocBLAS reads no matrix, and cuBLAS does.

use cuda_sys::cublas::{Table, cublasGemmAlgo_t, cublasHandle_t, cublasOperation_t, cublasStatus_t};
use rocblas_sys::{rocblas_datatype, rocblas_double_complex, rocblas_float_complex, rocblas_status};

use crate::convert::To;
use crate::library::Scalar;

/// A type of elements.
pub(crate) trait Element {
    const DATATYPE: rocblas_datatype;
}

macro_rules! elements {
    ($($type:ty: $datatype:ident;)*) => {
        $(impl Element for $type {
            const DATATYPE: rocblas_datatype = rocblas_datatype::$datatype;
        })*
    };
}

elements! {
    f32: rocblas_datatype_f32_r;
    f64: rocblas_datatype_f64_r;
    rocblas_float_complex: rocblas_datatype_f32_c;
    rocblas_double_complex: rocblas_datatype_f64_c;
}

/// Computes `C = beta C` if `alpha` is a zero on the host, as a product without depth.
///
/// # Safety
/// The scalars are where the pointer mode says, and `c` has `m` rows and `n` columns.
pub(crate) unsafe fn without_product<T: Element, I: Into<i64>>(
    cublas: &Table,
    handle: cublasHandle_t,
    alpha: *const T,
    (m, n): (I, I),
    beta: *const T,
    c: *mut T,
    ldc: I,
) -> Result<Option<cublasStatus_t>, rocblas_status> {
    // SAFETY: the caller's promise. Matrices without depth are not read.
    unsafe {
        let alpha = Scalar::new(cublas, handle, alpha.cast(), T::DATATYPE);
        if !alpha.is_zero(cublas, handle) {
            return Ok(None);
        }
        let beta = Scalar::new(cublas, handle, beta.cast(), T::DATATYPE);
        Ok(Some((cublas.cublasGemmEx_64)(
            handle,
            cublasOperation_t::CUBLAS_OP_T,
            cublasOperation_t::CUBLAS_OP_N,
            m.into(),
            n.into(),
            0,
            alpha.address(),
            c.cast_const().cast(),
            T::DATATYPE.to()?,
            1,
            c.cast_const().cast(),
            T::DATATYPE.to()?,
            1,
            beta.address(),
            c.cast(),
            T::DATATYPE.to()?,
            ldc.into(),
            T::DATATYPE.to()?,
            cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
        )))
    }
}
