//! Products whose functions differ in more than types, and the function for each type.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use rocblas_sys::{rocblas_datatype, rocblas_operation};

use super::extensions::{Product, gemm_ex};
use super::{Address, Call, Gemm, Gemv, Operand};
use crate::element::Compute;
use crate::error::Result;

/// `D = alpha op(A) op(B) + beta C`, for some type of `D`.
pub trait GemmInto<D>: Sized {
    /// `usual` if the product does not need the function with types as arguments.
    ///
    /// # Safety
    /// As the function requires.
    unsafe fn gemm_into(
        call: &Call<'_>,
        product: &Product,
        compute: (Compute, rocblas_datatype),
        usual: bool,
    ) -> Result<()>;
}

/// Types with their own function, for the type that it computes in.
macro_rules! gemm_into {
    ($type:ident, $compute:ident) => {
        impl GemmInto<$type> for $type {
            unsafe fn gemm_into(
                call: &Call<'_>,
                product: &Product,
                (compute, datatype): (Compute, rocblas_datatype),
                usual: bool,
            ) -> Result<()> {
                if compute != Compute::$compute || !usual {
                    // SAFETY: the caller vouches for all of it.
                    return unsafe { gemm_ex(call, product, datatype) };
                }
                let &Product { trans_a, trans_b, m, n, k, alpha, beta, a, b, d, .. } = product;
                // SAFETY: as above.
                unsafe { <$type as Gemm>::gemm(call, trans_a, trans_b, m, n, k, alpha, &a, &b, beta, &d) }
            }
        }
    };
}
gemm_into!(f32, F32);
gemm_into!(f64, F64);
gemm_into!(Complex32, F32);
gemm_into!(Complex64, F64);
gemm_into!(f16, F16);

/// Types that only the function with types as arguments supports.
macro_rules! gemm_ex_into {
    ($type:ident, $output:ident) => {
        impl GemmInto<$output> for $type {
            unsafe fn gemm_into(
                call: &Call<'_>,
                product: &Product,
                (_, datatype): (Compute, rocblas_datatype),
                _: bool,
            ) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe { gemm_ex(call, product, datatype) }
            }
        }
    };
}
gemm_ex_into!(f16, f32);
gemm_ex_into!(bf16, bf16);
gemm_ex_into!(bf16, f32);
gemm_ex_into!(i8, i32);

/// `y = alpha op(A) x + beta y`, for some type of `y`.
pub trait GemvInto<Y>: Sized {
    /// # Safety
    /// As the function requires.
    unsafe fn gemv_into(
        call: &Call<'_>,
        trans: rocblas_operation,
        size: (i64, i64),
        scalars: (Address, Address),
        operands: (&Operand, &Operand, &Operand),
    ) -> Result<()>;
}

macro_rules! gemv_into {
    ($type:ident) => {
        impl GemvInto<$type> for $type {
            unsafe fn gemv_into(
                call: &Call<'_>,
                trans: rocblas_operation,
                (m, n): (i64, i64),
                (alpha, beta): (Address, Address),
                (a, x, y): (&Operand, &Operand, &Operand),
            ) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe { <$type as Gemv>::gemv(call, trans, m, n, alpha, a, x, beta, y) }
            }
        }
    };
}
gemv_into!(f32);
gemv_into!(f64);
gemv_into!(Complex32);
gemv_into!(Complex64);

/// 16-bit types, which only have functions for batches.
macro_rules! gemv_half {
    ($type:ident, $y:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl GemvInto<$y> for $type {
            unsafe fn gemv_into(
                call: &Call<'_>,
                trans: rocblas_operation,
                (m, n): (i64, i64),
                (alpha, beta): (Address, Address),
                (a, x, y): (&Operand, &Operand, &Operand),
            ) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    four!(call: $many $many_64 $strided $strided_64;
                        val trans, int m, int n, ptr alpha, at a, at x, ptr beta, at y, batch)
                }
            }
        }
    };
}
gemv_half! { f16, f16, rocblas_hshgemv_batched, rocblas_hshgemv_batched_64, rocblas_hshgemv_strided_batched,
rocblas_hshgemv_strided_batched_64 }
gemv_half! { f16, f32, rocblas_hssgemv_batched, rocblas_hssgemv_batched_64, rocblas_hssgemv_strided_batched,
rocblas_hssgemv_strided_batched_64 }
gemv_half! { bf16, bf16, rocblas_tstgemv_batched, rocblas_tstgemv_batched_64, rocblas_tstgemv_strided_batched,
rocblas_tstgemv_strided_batched_64 }
gemv_half! { bf16, f32, rocblas_tssgemv_batched, rocblas_tssgemv_batched_64, rocblas_tssgemv_strided_batched,
rocblas_tssgemv_strided_batched_64 }
