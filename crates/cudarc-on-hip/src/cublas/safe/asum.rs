//! Sums of absolute values.

use std::ffi::c_int;

use super::super::result::{self, CublasError};
use super::CudaBlas;
use crate::driver::DevicePtr;

/// A vector.
#[derive(Debug, Copy, Clone)]
pub struct AsumConfig {
    /// The number of elements.
    pub n: c_int,
    /// The distance from one element to the next.
    pub incx: c_int,
}

/// Sums of absolute values.
pub trait Asum<T> {
    /// Adds the absolute values of a vector, and waits for the result.
    ///
    /// # Safety
    /// The memory must have this many elements.
    unsafe fn asum<X: DevicePtr<T>>(&self, cfg: AsumConfig, x: &X, result: &mut T)
    -> Result<(), CublasError>;
}

macro_rules! asum {
    ($($type:ty: $function:ident;)+) => {
        $(
            impl Asum<$type> for CudaBlas {
                unsafe fn asum<X: DevicePtr<$type>>(
                    &self,
                    cfg: AsumConfig,
                    x: &X,
                    result: &mut $type,
                ) -> Result<(), CublasError> {
                    let (x, _read) = x.device_ptr(self.stream());
                    // SAFETY: the handle lives, the stream waits for writes to the memory, and the caller
                    // vouches for its size.
                    unsafe { result::$function(*self.handle(), cfg.n, x as *const $type, cfg.incx, result) }
                }
            }
        )+
    };
}

asum! {
    f32: sasum;
    f64: dasum;
}
