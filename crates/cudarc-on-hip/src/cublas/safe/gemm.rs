//! Products of matrices.

use std::ffi::{c_int, c_longlong, c_void};

use super::super::result::{self, CublasError};
use super::super::sys::{self, cublasComputeType_t, cudaDataType};
use super::CudaBlas;
use crate::driver::{DevicePtr, DevicePtrMut};

/// A product: `c = alpha * op(a) * op(b) + beta * c`, column by column.
#[derive(Debug, Copy, Clone)]
pub struct GemmConfig<T> {
    /// Whether `a` is transposed.
    pub transa: sys::cublasOperation_t,
    /// Whether `b` is transposed.
    pub transb: sys::cublasOperation_t,
    /// Rows of `op(a)` and of `c`.
    pub m: c_int,
    /// Columns of `op(b)` and of `c`.
    pub n: c_int,
    /// Columns of `op(a)` and rows of `op(b)`.
    pub k: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// The distance from one column of `a` to the next.
    pub lda: c_int,
    /// The distance from one column of `b` to the next.
    pub ldb: c_int,
    /// The factor of the old `c`.
    pub beta: T,
    /// The distance from one column of `c` to the next.
    pub ldc: c_int,
}

/// Many products of one shape.
#[derive(Debug, Copy, Clone)]
pub struct StridedBatchedConfig<T> {
    /// The shape.
    pub gemm: GemmConfig<T>,
    /// The number of products.
    pub batch_size: c_int,
    /// The distance from one `a` to the next.
    pub stride_a: c_longlong,
    /// The distance from one `b` to the next.
    pub stride_b: c_longlong,
    /// The distance from one `c` to the next.
    pub stride_c: c_longlong,
}

/// Products of matrices.
pub trait Gemm<T> {
    /// Multiplies.
    ///
    /// # Safety
    /// The memory must have this many elements.
    unsafe fn gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: GemmConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), CublasError>;

    /// Multiplies many matrices.
    ///
    /// # Safety
    /// The memory must have this many elements.
    unsafe fn gemm_strided_batched<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: StridedBatchedConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), CublasError>;
}

/// The compute type, and the type of factors.
macro_rules! gemm {
    ($($(#[$attribute:meta])* $type:ty as $factor:ty: $data:ident, $compute:ident, $convert:expr;)+) => {
        $(
            $(#[$attribute])*
            impl Gemm<$type> for CudaBlas {
                unsafe fn gemm<A: DevicePtr<$type>, B: DevicePtr<$type>, C: DevicePtrMut<$type>>(
                    &self,
                    cfg: GemmConfig<$type>,
                    a: &A,
                    b: &B,
                    c: &mut C,
                ) -> Result<(), CublasError> {
                    let one = StridedBatchedConfig { gemm: cfg, batch_size: 1, stride_a: 0, stride_b: 0, stride_c: 0 };
                    // SAFETY: the caller vouches for the memory; a batch of one uses the same.
                    unsafe { self.multiply::<$type, $factor>(one, $convert, Types {
                        data: cudaDataType::$data, compute: cublasComputeType_t::$compute, batched: false,
                    }, a, b, c) }
                }

                unsafe fn gemm_strided_batched<A: DevicePtr<$type>, B: DevicePtr<$type>, C: DevicePtrMut<$type>>(
                    &self,
                    cfg: StridedBatchedConfig<$type>,
                    a: &A,
                    b: &B,
                    c: &mut C,
                ) -> Result<(), CublasError> {
                    // SAFETY: the caller vouches for the memory.
                    unsafe { self.multiply::<$type, $factor>(cfg, $convert, Types {
                        data: cudaDataType::$data, compute: cublasComputeType_t::$compute, batched: true,
                    }, a, b, c) }
                }
            }
        )+
    };
}

gemm! {
    f32 as f32: CUDA_R_32F, CUBLAS_COMPUTE_32F, |factor| factor;
    f64 as f64: CUDA_R_64F, CUBLAS_COMPUTE_64F, |factor| factor;
    #[cfg(feature = "f16")]
    half::f16 as f32: CUDA_R_16F, CUBLAS_COMPUTE_32F, half::f16::to_f32;
    #[cfg(feature = "f16")]
    half::bf16 as f32: CUDA_R_16BF, CUBLAS_COMPUTE_32F, half::bf16::to_f32;
}

struct Types {
    data: cudaDataType,
    compute: cublasComputeType_t,
    batched: bool,
}

impl CudaBlas {
    /// # Safety
    /// The memory must have this many elements, of these types.
    unsafe fn multiply<T: Copy, F>(
        &self,
        cfg: StridedBatchedConfig<T>,
        factor: impl Fn(T) -> F,
        types: Types,
        a: &impl DevicePtr<T>,
        b: &impl DevicePtr<T>,
        c: &mut impl DevicePtrMut<T>,
    ) -> Result<(), CublasError> {
        let gemm = cfg.gemm;
        let (alpha, beta) = (factor(gemm.alpha), factor(gemm.beta));
        let (alpha, beta) = ((&raw const alpha).cast::<c_void>(), (&raw const beta).cast::<c_void>());
        let ((a, _read_a), (b, _read_b)) = (a.device_ptr(self.stream()), b.device_ptr(self.stream()));
        let (c, _written) = c.device_ptr_mut(self.stream());
        let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
        let algorithm = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        // SAFETY: the handle lives, the stream waits for other uses of the memory, and the caller vouches for
        // its size.
        unsafe {
            if types.batched {
                result::gemm_strided_batched_ex(
                    *self.handle(),
                    gemm.transa,
                    gemm.transb,
                    gemm.m,
                    gemm.n,
                    gemm.k,
                    alpha,
                    a,
                    types.data,
                    gemm.lda,
                    cfg.stride_a,
                    b,
                    types.data,
                    gemm.ldb,
                    cfg.stride_b,
                    beta,
                    c,
                    types.data,
                    gemm.ldc,
                    cfg.stride_c,
                    cfg.batch_size,
                    types.compute,
                    algorithm,
                )
            } else {
                result::gemm_ex(
                    *self.handle(),
                    gemm.transa,
                    gemm.transb,
                    gemm.m,
                    gemm.n,
                    gemm.k,
                    alpha,
                    a,
                    types.data,
                    gemm.lda,
                    b,
                    types.data,
                    gemm.ldb,
                    beta,
                    c,
                    types.data,
                    gemm.ldc,
                    types.compute,
                    algorithm,
                )
            }
        }
    }
}
