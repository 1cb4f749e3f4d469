//! Functions whose arguments differ from those of cuBLAS's.

use std::ffi::c_void;

use cuda_sys::cublas::{
    Table, cublasComputeType_t, cublasGemmAlgo_t, cublasHandle_t, cublasOperation_t, cublasPointerMode_t,
    cudaDataType,
};
use rocblas_sys::*;

use crate::convert::To;
use crate::library::{Scalar, call, pointer_mode};

const NOT_IMPLEMENTED: rocblas_status = rocblas_status::rocblas_status_not_implemented;
const ALGORITHM: cublasGemmAlgo_t = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;

/// Whether a scalar of a type of products is a zero on the host.
///
/// # Safety
/// The handle is valid, and the scalar is where its pointer mode says.
unsafe fn is_zero(
    cublas: &Table,
    handle: cublasHandle_t,
    scalar: *const c_void,
    datatype: rocblas_datatype,
) -> bool {
    if pointer_mode(cublas, handle) != Some(cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST) || scalar.is_null()
    {
        return false;
    }
    // SAFETY: the scalar is on the host, and has that type.
    unsafe {
        match datatype {
            rocblas_datatype::rocblas_datatype_f16_r => scalar.cast::<u16>().read_unaligned() & 0x7fff == 0,
            rocblas_datatype::rocblas_datatype_f32_r => scalar.cast::<f32>().read_unaligned() == 0.0,
            rocblas_datatype::rocblas_datatype_f64_r => scalar.cast::<f64>().read_unaligned() == 0.0,
            rocblas_datatype::rocblas_datatype_f32_c => {
                scalar.cast::<[f32; 2]>().read_unaligned() == [0.0; 2]
            }
            rocblas_datatype::rocblas_datatype_f64_c => {
                scalar.cast::<[f64; 2]>().read_unaligned() == [0.0; 2]
            }
            rocblas_datatype::rocblas_datatype_i32_r => scalar.cast::<i32>().read_unaligned() == 0,
            _ => false,
        }
    }
}

/// A result: its place, the type of its elements, its leading dimension and its stride.
type Output<I> = (*const c_void, rocblas_datatype, I, rocblas_stride);

/// The one matrix that cuBLAS reads and writes where rocBLAS reads `c` and writes `d`: they are the same, or
/// nothing of `c` counts.
///
/// # Safety
/// As [`is_zero`], for `beta`.
unsafe fn in_place<I: PartialEq>(
    (cublas, handle): (&Table, cublasHandle_t),
    (beta, datatype): (*const c_void, rocblas_datatype),
    c: Output<I>,
    d: Output<I>,
) -> Result<(), rocblas_status> {
    // SAFETY: the caller's promise.
    if c == d || unsafe { is_zero(cublas, handle, beta, datatype) } { Ok(()) } else { Err(NOT_IMPLEMENTED) }
}

/// The functions for one type of sizes.
macro_rules! functions {
    (
        $module:ident $int:ident:
        $gemm_ex:ident $cublas_gemm_ex:ident,
        $gemm_batched_ex:ident $cublas_gemm_batched_ex:ident,
        $gemm_strided_batched_ex:ident $cublas_gemm_strided_batched_ex:ident,
        $hgemm:ident $hgemm_batched:ident $hgemm_strided_batched:ident,
        dot $cublas_dot:ident: $($dot:ident $dot_type:ident $dot_element:ident),*;
        axpy $cublas_axpy:ident: $haxpy:ident,
        gemv: $($gemv_batched:ident $gemv_strided_batched:ident $input:ident $in_type:ident $output:ident $out_type:ident),*;
        trsm: $($trsm_strided_batched:ident $trsm:ident $element:ty, $double_complex:literal,)*
    ) => {
        mod $module {
            use super::*;

            pub(super) unsafe extern "C" fn $gemm_ex(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const c_void,
                a_type: rocblas_datatype,
                lda: $int,
                b: *const c_void,
                b_type: rocblas_datatype,
                ldb: $int,
                beta: *const c_void,
                c: *const c_void,
                c_type: rocblas_datatype,
                ldc: $int,
                d: *mut c_void,
                d_type: rocblas_datatype,
                ldd: $int,
                compute: rocblas_datatype,
                _algorithm: rocblas_gemm_algo,
                _solution: i32,
                _flags: u32,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: the caller keeps the contract of rocBLAS's function, which is that of cuBLAS's.
                    unsafe {
                        let (c, output) = ((c, c_type, ldc, 0), (d.cast_const(), d_type, ldd, 0));
                        in_place((cublas, handle), (beta, compute), c, output)?;
                        let wide = compute == rocblas_datatype::rocblas_datatype_f64_c;
                        let alpha = Scalar::new(cublas, handle, alpha, wide);
                        let beta = Scalar::new(cublas, handle, beta, wide);
                        Ok((cublas.$cublas_gemm_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.address(), a, a_type.to()?, lda, b,
                            b_type.to()?, ldb, beta.address(), d, d_type.to()?, ldd, compute.to()?, ALGORITHM,
                        ))
                    }
                })
            }

            pub(super) unsafe extern "C" fn $gemm_batched_ex(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const c_void,
                a_type: rocblas_datatype,
                lda: $int,
                b: *const c_void,
                b_type: rocblas_datatype,
                ldb: $int,
                beta: *const c_void,
                c: *const c_void,
                c_type: rocblas_datatype,
                ldc: $int,
                d: *mut c_void,
                d_type: rocblas_datatype,
                ldd: $int,
                batch: $int,
                compute: rocblas_datatype,
                _algorithm: rocblas_gemm_algo,
                _solution: i32,
                _flags: u32,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    unsafe {
                        let (c, output) = ((c, c_type, ldc, 0), (d.cast_const(), d_type, ldd, 0));
                        in_place((cublas, handle), (beta, compute), c, output)?;
                        let wide = compute == rocblas_datatype::rocblas_datatype_f64_c;
                        let alpha = Scalar::new(cublas, handle, alpha, wide);
                        let beta = Scalar::new(cublas, handle, beta, wide);
                        Ok((cublas.$cublas_gemm_batched_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.address(), a.cast(), a_type.to()?, lda,
                            b.cast(), b_type.to()?, ldb, beta.address(), d.cast(), d_type.to()?, ldd, batch, compute.to()?,
                            ALGORITHM,
                        ))
                    }
                })
            }

            pub(super) unsafe extern "C" fn $gemm_strided_batched_ex(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const c_void,
                a: *const c_void,
                a_type: rocblas_datatype,
                lda: $int,
                stride_a: rocblas_stride,
                b: *const c_void,
                b_type: rocblas_datatype,
                ldb: $int,
                stride_b: rocblas_stride,
                beta: *const c_void,
                c: *const c_void,
                c_type: rocblas_datatype,
                ldc: $int,
                stride_c: rocblas_stride,
                d: *mut c_void,
                d_type: rocblas_datatype,
                ldd: $int,
                stride_d: rocblas_stride,
                batch: $int,
                compute: rocblas_datatype,
                _algorithm: rocblas_gemm_algo,
                _solution: i32,
                _flags: u32,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    unsafe {
                        let (c, output) = ((c, c_type, ldc, stride_c), (d.cast_const(), d_type, ldd, stride_d));
                        in_place((cublas, handle), (beta, compute), c, output)?;
                        let wide = compute == rocblas_datatype::rocblas_datatype_f64_c;
                        let alpha = Scalar::new(cublas, handle, alpha, wide);
                        let beta = Scalar::new(cublas, handle, beta, wide);
                        Ok((cublas.$cublas_gemm_strided_batched_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.address(), a, a_type.to()?, lda, stride_a,
                            b, b_type.to()?, ldb, stride_b, beta.address(), d, d_type.to()?, ldd, stride_d, batch,
                            compute.to()?, ALGORITHM,
                        ))
                    }
                })
            }

            pub(super) unsafe extern "C" fn $hgemm(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const rocblas_half,
                a: *const rocblas_half,
                lda: $int,
                b: *const rocblas_half,
                ldb: $int,
                beta: *const rocblas_half,
                c: *mut rocblas_half,
                ldc: $int,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    Ok(unsafe {
                        (cublas.$cublas_gemm_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.cast(), a.cast(), HALF, lda,
                            b.cast(), HALF, ldb, beta.cast(), c.cast(), HALF, ldc, IN_HALF, ALGORITHM,
                        )
                    })
                })
            }

            pub(super) unsafe extern "C" fn $hgemm_batched(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const rocblas_half,
                a: *const *const rocblas_half,
                lda: $int,
                b: *const *const rocblas_half,
                ldb: $int,
                beta: *const rocblas_half,
                c: *const *mut rocblas_half,
                ldc: $int,
                batch: $int,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    Ok(unsafe {
                        (cublas.$cublas_gemm_batched_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.cast(), a.cast(), HALF, lda,
                            b.cast(), HALF, ldb, beta.cast(), c.cast(), HALF, ldc, batch, IN_HALF, ALGORITHM,
                        )
                    })
                })
            }

            pub(super) unsafe extern "C" fn $hgemm_strided_batched(
                handle: rocblas_handle,
                trans_a: rocblas_operation,
                trans_b: rocblas_operation,
                m: $int,
                n: $int,
                k: $int,
                alpha: *const rocblas_half,
                a: *const rocblas_half,
                lda: $int,
                stride_a: rocblas_stride,
                b: *const rocblas_half,
                ldb: $int,
                stride_b: rocblas_stride,
                beta: *const rocblas_half,
                c: *mut rocblas_half,
                ldc: $int,
                stride_c: rocblas_stride,
                batch: $int,
            ) -> rocblas_status {
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    Ok(unsafe {
                        (cublas.$cublas_gemm_strided_batched_ex)(
                            handle, trans_a.to()?, trans_b.to()?, m, n, k, alpha.cast(), a.cast(), HALF, lda,
                            stride_a, b.cast(), HALF, ldb, stride_b, beta.cast(), c.cast(), HALF, ldc, stride_c,
                            batch, IN_HALF, ALGORITHM,
                        )
                    })
                })
            }

            $(
                pub(super) unsafe extern "C" fn $dot(
                    handle: rocblas_handle,
                    n: $int,
                    x: *const $dot_element,
                    incx: $int,
                    y: *const $dot_element,
                    incy: $int,
                    result: *mut $dot_element,
                ) -> rocblas_status {
                    let (kind, single) = (cudaDataType::$dot_type, cudaDataType::CUDA_R_32F);
                    call(handle, |cublas, handle| {
                        // SAFETY: as above.
                        Ok(unsafe {
                            (cublas.$cublas_dot)(
                                handle, n, x.cast(), kind, incx, y.cast(), kind, incy, result.cast(), kind, single,
                            )
                        })
                    })
                }
            )*

            pub(super) unsafe extern "C" fn $haxpy(
                handle: rocblas_handle,
                n: $int,
                alpha: *const rocblas_half,
                x: *const rocblas_half,
                incx: $int,
                y: *mut rocblas_half,
                incy: $int,
            ) -> rocblas_status {
                let single = cudaDataType::CUDA_R_32F;
                call(handle, |cublas, handle| {
                    // SAFETY: as above.
                    Ok(unsafe {
                        (cublas.$cublas_axpy)(
                            handle, n, alpha.cast(), HALF, x.cast(), HALF, incx, y.cast(), HALF, incy, single,
                        )
                    })
                })
            }

            /// What a product of rows needs to be `y = op(A) x`, where a vector is one row of a matrix whose
            /// leading dimension is the increment: the operation on `A`, and the lengths of `y` and `x`.
            fn row(
                trans: rocblas_operation,
                (m, n): ($int, $int),
                (incx, incy): ($int, $int),
            ) -> Result<(cublasOperation_t, $int, $int), rocblas_status> {
                // A matrix has no negative leading dimension.
                if incx < 1 || incy < 1 {
                    return Err(NOT_IMPLEMENTED);
                }
                Ok(match trans {
                    rocblas_operation::rocblas_operation_none => (cublasOperation_t::CUBLAS_OP_T, m, n),
                    _ => (cublasOperation_t::CUBLAS_OP_N, n, m),
                })
            }

            $(
                pub(super) unsafe extern "C" fn $gemv_batched(
                    handle: rocblas_handle,
                    trans: rocblas_operation,
                    m: $int,
                    n: $int,
                    alpha: *const f32,
                    a: *const *const $input,
                    lda: $int,
                    x: *const *const $input,
                    incx: $int,
                    beta: *const f32,
                    y: *const *mut $output,
                    incy: $int,
                    batch: $int,
                ) -> rocblas_status {
                    call(handle, |cublas, handle| {
                        let (operation, to, from) = row(trans, (m, n), (incx, incy))?;
                        let (input, output) = (cudaDataType::$in_type, cudaDataType::$out_type);
                        // SAFETY: as above.
                        Ok(unsafe {
                            (cublas.$cublas_gemm_batched_ex)(
                                handle, cublasOperation_t::CUBLAS_OP_N, operation, 1, to, from, alpha.cast(),
                                x.cast(), input, incx, a.cast(), input, lda, beta.cast(), y.cast(), output, incy,
                                batch, IN_SINGLE, ALGORITHM,
                            )
                        })
                    })
                }

                pub(super) unsafe extern "C" fn $gemv_strided_batched(
                    handle: rocblas_handle,
                    trans: rocblas_operation,
                    m: $int,
                    n: $int,
                    alpha: *const f32,
                    a: *const $input,
                    lda: $int,
                    stride_a: rocblas_stride,
                    x: *const $input,
                    incx: $int,
                    stride_x: rocblas_stride,
                    beta: *const f32,
                    y: *mut $output,
                    incy: $int,
                    stride_y: rocblas_stride,
                    batch: $int,
                ) -> rocblas_status {
                    call(handle, |cublas, handle| {
                        let (operation, to, from) = row(trans, (m, n), (incx, incy))?;
                        let (input, output) = (cudaDataType::$in_type, cudaDataType::$out_type);
                        // SAFETY: as above.
                        Ok(unsafe {
                            (cublas.$cublas_gemm_strided_batched_ex)(
                                handle, cublasOperation_t::CUBLAS_OP_N, operation, 1, to, from, alpha.cast(),
                                x.cast(), input, incx, stride_x, a.cast(), input, lda, stride_a, beta.cast(),
                                y.cast(), output, incy, stride_y, batch, IN_SINGLE, ALGORITHM,
                            )
                        })
                    })
                }
            )*

            $(
                pub(super) unsafe extern "C" fn $trsm_strided_batched(
                    handle: rocblas_handle,
                    side: rocblas_side,
                    uplo: rocblas_fill,
                    trans: rocblas_operation,
                    diag: rocblas_diagonal,
                    m: $int,
                    n: $int,
                    alpha: *const $element,
                    a: *const $element,
                    lda: $int,
                    stride_a: rocblas_stride,
                    b: *mut $element,
                    ldb: $int,
                    stride_b: rocblas_stride,
                    batch: $int,
                ) -> rocblas_status {
                    if batch < 0 {
                        return rocblas_status::rocblas_status_invalid_size;
                    }
                    for index in 0..batch as usize {
                        let one = call(handle, |cublas, handle| {
                            let (side, uplo, trans, diag) = (side.to()?, uplo.to()?, trans.to()?, diag.to()?);
                            let at = |stride: rocblas_stride| (stride as isize).wrapping_mul(index as isize);
                            let (a, b) = (a.wrapping_offset(at(stride_a)), b.wrapping_offset(at(stride_b)));
                            // SAFETY: the caller has as many matrices at these strides.
                            unsafe {
                                let alpha = Scalar::new(cublas, handle, alpha.cast(), $double_complex);
                                Ok((cublas.$trsm)(
                                    handle, side, uplo, trans, diag, m, n, alpha.address(), a.cast(), lda, b.cast(), ldb,
                                ))
                            }
                        });
                        if one != rocblas_status::rocblas_status_success {
                            return one;
                        }
                    }
                    rocblas_status::rocblas_status_success
                }
            )*

            /// The names of the functions.
            pub(super) const FUNCTIONS: &[&str] = &[
                stringify!($gemm_ex), stringify!($gemm_batched_ex), stringify!($gemm_strided_batched_ex),
                stringify!($hgemm), stringify!($hgemm_batched), stringify!($hgemm_strided_batched),
                $(stringify!($dot),)* stringify!($haxpy),
                $(stringify!($gemv_batched), stringify!($gemv_strided_batched),)*
                $(stringify!($trsm_strided_batched),)*
            ];

            /// Puts the functions into a table.
            pub(super) fn provide(builder: &mut Builder) {
                builder
                    .$gemm_ex($gemm_ex)
                    .$gemm_batched_ex($gemm_batched_ex)
                    .$gemm_strided_batched_ex($gemm_strided_batched_ex)
                    .$hgemm($hgemm)
                    .$hgemm_batched($hgemm_batched)
                    .$hgemm_strided_batched($hgemm_strided_batched)
                    $(.$dot($dot))*
                    .$haxpy($haxpy)
                    $(.$gemv_batched($gemv_batched).$gemv_strided_batched($gemv_strided_batched))*
                    $(.$trsm_strided_batched($trsm_strided_batched))*;
            }
        }
    };
}

const HALF: cudaDataType = cudaDataType::CUDA_R_16F;
const IN_HALF: cublasComputeType_t = cublasComputeType_t::CUBLAS_COMPUTE_16F;
const IN_SINGLE: cublasComputeType_t = cublasComputeType_t::CUBLAS_COMPUTE_32F;

functions! {
    narrow i32:
    rocblas_gemm_ex cublasGemmEx,
    rocblas_gemm_batched_ex cublasGemmBatchedEx,
    rocblas_gemm_strided_batched_ex cublasGemmStridedBatchedEx,
    rocblas_hgemm rocblas_hgemm_batched rocblas_hgemm_strided_batched,
    dot cublasDotEx:
    rocblas_hdot CUDA_R_16F rocblas_half,
    rocblas_bfdot CUDA_R_16BF rocblas_bfloat16;
    axpy cublasAxpyEx: rocblas_haxpy,
    gemv:
    rocblas_hshgemv_batched rocblas_hshgemv_strided_batched rocblas_half CUDA_R_16F rocblas_half CUDA_R_16F,
    rocblas_hssgemv_batched rocblas_hssgemv_strided_batched rocblas_half CUDA_R_16F f32 CUDA_R_32F,
    rocblas_tstgemv_batched rocblas_tstgemv_strided_batched rocblas_bfloat16 CUDA_R_16BF rocblas_bfloat16 CUDA_R_16BF,
    rocblas_tssgemv_batched rocblas_tssgemv_strided_batched rocblas_bfloat16 CUDA_R_16BF f32 CUDA_R_32F;
    trsm:
    rocblas_strsm_strided_batched cublasStrsm_v2 f32, false,
    rocblas_dtrsm_strided_batched cublasDtrsm_v2 f64, false,
    rocblas_ctrsm_strided_batched cublasCtrsm_v2 rocblas_float_complex, false,
    rocblas_ztrsm_strided_batched cublasZtrsm_v2 rocblas_double_complex, true,
}

functions! {
    wide i64:
    rocblas_gemm_ex_64 cublasGemmEx_64,
    rocblas_gemm_batched_ex_64 cublasGemmBatchedEx_64,
    rocblas_gemm_strided_batched_ex_64 cublasGemmStridedBatchedEx_64,
    rocblas_hgemm_64 rocblas_hgemm_batched_64 rocblas_hgemm_strided_batched_64,
    dot cublasDotEx_64:
    rocblas_hdot_64 CUDA_R_16F rocblas_half,
    rocblas_bfdot_64 CUDA_R_16BF rocblas_bfloat16;
    axpy cublasAxpyEx_64: rocblas_haxpy_64,
    gemv:
    rocblas_hshgemv_batched_64 rocblas_hshgemv_strided_batched_64 rocblas_half CUDA_R_16F rocblas_half CUDA_R_16F,
    rocblas_hssgemv_batched_64 rocblas_hssgemv_strided_batched_64 rocblas_half CUDA_R_16F f32 CUDA_R_32F,
    rocblas_tstgemv_batched_64 rocblas_tstgemv_strided_batched_64 rocblas_bfloat16 CUDA_R_16BF rocblas_bfloat16 CUDA_R_16BF,
    rocblas_tssgemv_batched_64 rocblas_tssgemv_strided_batched_64 rocblas_bfloat16 CUDA_R_16BF f32 CUDA_R_32F;
    trsm:
    rocblas_strsm_strided_batched_64 cublasStrsm_v2_64 f32, false,
    rocblas_dtrsm_strided_batched_64 cublasDtrsm_v2_64 f64, false,
    rocblas_ctrsm_strided_batched_64 cublasCtrsm_v2_64 rocblas_float_complex, false,
    rocblas_ztrsm_strided_batched_64 cublasZtrsm_v2_64 rocblas_double_complex, true,
}

/// The names of the functions.
pub(crate) const FUNCTIONS: [&[&str]; 2] = [narrow::FUNCTIONS, wide::FUNCTIONS];

/// Puts the functions into a table.
pub(crate) fn provide(builder: &mut Builder) {
    narrow::provide(builder);
    wide::provide(builder);
}
