//! Products of matrices and vectors.

use std::ffi::c_int;

use super::super::result::{self, CublasError};
use super::super::sys;
use super::CudaBlas;
use crate::driver::{DevicePtr, DevicePtrMut};

/// A product: `y = alpha * op(a) * x + beta * y`.
#[derive(Debug, Copy, Clone)]
pub struct GemvConfig<T> {
    /// Whether the matrix is transposed.
    pub trans: sys::cublasOperation_t,
    /// Rows of the matrix.
    pub m: c_int,
    /// Columns of the matrix.
    pub n: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// The distance from one column of the matrix to the next.
    pub lda: c_int,
    /// The distance from one element of `x` to the next.
    pub incx: c_int,
    /// The factor of the old `y`.
    pub beta: T,
    /// The distance from one element of `y` to the next.
    pub incy: c_int,
}

/// Products of matrices and vectors.
pub trait Gemv<T> {
    /// Multiplies.
    ///
    /// # Safety
    /// The memory must have this many elements.
    unsafe fn gemv<A: DevicePtr<T>, X: DevicePtr<T>, Y: DevicePtrMut<T>>(
        &self,
        cfg: GemvConfig<T>,
        a: &A,
        x: &X,
        y: &mut Y,
    ) -> Result<(), CublasError>;
}

macro_rules! gemv {
    ($($type:ty: $function:ident;)+) => {
        $(
            impl Gemv<$type> for CudaBlas {
                unsafe fn gemv<A: DevicePtr<$type>, X: DevicePtr<$type>, Y: DevicePtrMut<$type>>(
                    &self,
                    cfg: GemvConfig<$type>,
                    a: &A,
                    x: &X,
                    y: &mut Y,
                ) -> Result<(), CublasError> {
                    let ((a, _read_a), (x, _read_x)) = (a.device_ptr(self.stream()), x.device_ptr(self.stream()));
                    let (y, _written) = y.device_ptr_mut(self.stream());
                    // SAFETY: the handle lives, the stream waits for other uses of the memory, and the caller
                    // vouches for its size.
                    unsafe {
                        result::$function(
                            *self.handle(), cfg.trans, cfg.m, cfg.n, &cfg.alpha, a as *const $type, cfg.lda,
                            x as *const $type, cfg.incx, &cfg.beta, y as *mut $type, cfg.incy,
                        )
                    }
                }
            }
        )+
    };
}

gemv! {
    f32: sgemv;
    f64: dgemv;
}
