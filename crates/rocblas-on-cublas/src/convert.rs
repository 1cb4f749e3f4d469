//! What rocBLAS's values are called in cuBLAS, and the other way round for statuses.

use cuda_sys::cublas::{
    cublasAtomicsMode_t, cublasComputeType_t, cublasDiagType_t, cublasFillMode_t, cublasMath_t,
    cublasOperation_t, cublasPointerMode_t, cublasSideMode_t, cublasStatus_t, cudaDataType,
};
use rocblas_sys::{
    rocblas_atomics_mode, rocblas_datatype, rocblas_diagonal, rocblas_fill, rocblas_math_mode,
    rocblas_operation, rocblas_pointer_mode, rocblas_side, rocblas_status,
};

/// A value that the other library has, too. An unknown one is a status.
pub(crate) trait To<U> {
    fn to(self) -> Result<U, rocblas_status>;
}

/// Sizes and pointers are the same. Only the types of their targets are not.
macro_rules! same {
    ($($type:ty),*) => {
        $(
            impl To<$type> for $type {
                fn to(self) -> Result<$type, rocblas_status> {
                    Ok(self)
                }
            }
        )*
    };
}

same!(i32, i64);

impl<T, U> To<*const U> for *const T {
    fn to(self) -> Result<*const U, rocblas_status> {
        Ok(self.cast())
    }
}

impl<T, U> To<*mut U> for *mut T {
    fn to(self) -> Result<*mut U, rocblas_status> {
        Ok(self.cast())
    }
}

impl<T, U> To<*mut U> for *const T {
    fn to(self) -> Result<*mut U, rocblas_status> {
        Ok(self.cast_mut().cast())
    }
}

impl<T, U> To<*const U> for *mut T {
    fn to(self) -> Result<*const U, rocblas_status> {
        Ok(self.cast_const().cast())
    }
}

/// Makes the table of an enum.
macro_rules! values {
    ($from:ident => $to:ident: $($value:ident $other:ident),*; else $unknown:expr) => {
        impl To<$to> for $from {
            fn to(self) -> Result<$to, rocblas_status> {
                match self {
                    $($from::$value => Ok($to::$other),)*
                    _ => Err($unknown),
                }
            }
        }
    };
}

values! {
    rocblas_operation => cublasOperation_t:
    rocblas_operation_none CUBLAS_OP_N,
    rocblas_operation_transpose CUBLAS_OP_T,
    rocblas_operation_conjugate_transpose CUBLAS_OP_C;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    rocblas_fill => cublasFillMode_t:
    rocblas_fill_upper CUBLAS_FILL_MODE_UPPER,
    rocblas_fill_lower CUBLAS_FILL_MODE_LOWER,
    rocblas_fill_full CUBLAS_FILL_MODE_FULL;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    rocblas_diagonal => cublasDiagType_t:
    rocblas_diagonal_non_unit CUBLAS_DIAG_NON_UNIT,
    rocblas_diagonal_unit CUBLAS_DIAG_UNIT;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    rocblas_side => cublasSideMode_t:
    rocblas_side_left CUBLAS_SIDE_LEFT,
    rocblas_side_right CUBLAS_SIDE_RIGHT;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    rocblas_datatype => cudaDataType:
    rocblas_datatype_f16_r CUDA_R_16F,
    rocblas_datatype_f32_r CUDA_R_32F,
    rocblas_datatype_f64_r CUDA_R_64F,
    rocblas_datatype_f16_c CUDA_C_16F,
    rocblas_datatype_f32_c CUDA_C_32F,
    rocblas_datatype_f64_c CUDA_C_64F,
    rocblas_datatype_i8_r CUDA_R_8I,
    rocblas_datatype_u8_r CUDA_R_8U,
    rocblas_datatype_i32_r CUDA_R_32I,
    rocblas_datatype_u32_r CUDA_R_32U,
    rocblas_datatype_i8_c CUDA_C_8I,
    rocblas_datatype_u8_c CUDA_C_8U,
    rocblas_datatype_i32_c CUDA_C_32I,
    rocblas_datatype_u32_c CUDA_C_32U,
    rocblas_datatype_bf16_r CUDA_R_16BF,
    rocblas_datatype_bf16_c CUDA_C_16BF;
    else rocblas_status::rocblas_status_not_implemented
}

values! {
    rocblas_pointer_mode => cublasPointerMode_t:
    rocblas_pointer_mode_host CUBLAS_POINTER_MODE_HOST,
    rocblas_pointer_mode_device CUBLAS_POINTER_MODE_DEVICE;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    cublasPointerMode_t => rocblas_pointer_mode:
    CUBLAS_POINTER_MODE_HOST rocblas_pointer_mode_host,
    CUBLAS_POINTER_MODE_DEVICE rocblas_pointer_mode_device;
    else rocblas_status::rocblas_status_internal_error
}

values! {
    rocblas_atomics_mode => cublasAtomicsMode_t:
    rocblas_atomics_not_allowed CUBLAS_ATOMICS_NOT_ALLOWED,
    rocblas_atomics_allowed CUBLAS_ATOMICS_ALLOWED;
    else rocblas_status::rocblas_status_invalid_value
}

values! {
    cublasAtomicsMode_t => rocblas_atomics_mode:
    CUBLAS_ATOMICS_NOT_ALLOWED rocblas_atomics_not_allowed,
    CUBLAS_ATOMICS_ALLOWED rocblas_atomics_allowed;
    else rocblas_status::rocblas_status_internal_error
}

// The 19 bits of xf32 are those of TF32.
values! {
    rocblas_math_mode => cublasMath_t:
    rocblas_default_math CUBLAS_DEFAULT_MATH,
    rocblas_xf32_xdl_math_op CUBLAS_TF32_TENSOR_OP_MATH;
    else rocblas_status::rocblas_status_invalid_value
}

// The type in which a product is computed, which that of its scalars is, too.
values! {
    rocblas_datatype => cublasComputeType_t:
    rocblas_datatype_f16_r CUBLAS_COMPUTE_16F,
    rocblas_datatype_f32_r CUBLAS_COMPUTE_32F,
    rocblas_datatype_f32_c CUBLAS_COMPUTE_32F,
    rocblas_datatype_f64_r CUBLAS_COMPUTE_64F,
    rocblas_datatype_f64_c CUBLAS_COMPUTE_64F,
    rocblas_datatype_i32_r CUBLAS_COMPUTE_32I;
    else rocblas_status::rocblas_status_not_implemented
}

// One that rocBLAS has no name for is an internal error.
values! {
    cublasStatus_t => rocblas_status:
    CUBLAS_STATUS_SUCCESS rocblas_status_success,
    CUBLAS_STATUS_NOT_INITIALIZED rocblas_status_invalid_handle,
    CUBLAS_STATUS_ALLOC_FAILED rocblas_status_memory_error,
    CUBLAS_STATUS_INVALID_VALUE rocblas_status_invalid_value,
    CUBLAS_STATUS_ARCH_MISMATCH rocblas_status_arch_mismatch,
    CUBLAS_STATUS_NOT_SUPPORTED rocblas_status_not_implemented;
    else rocblas_status::rocblas_status_internal_error
}
