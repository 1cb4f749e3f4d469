//! Level 1: rotations. A trait for each routine, a row for each type that it exists for.

use num_complex::{Complex32, Complex64};

use super::{Address, Call, Operand};
use crate::error::Result;

/// Applies a plane rotation.
pub trait Rot: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn rot(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, c: Address, s: Address) -> Result<()>;
}

macro_rules! rot {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Rot for $type {
            unsafe fn rot(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, c: Address, s: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, ptr c, ptr s, batch)
                }
            }
        }
    };
}
rot! { f32, rocblas_srot, rocblas_srot_64, rocblas_srot_batched, rocblas_srot_batched_64,
rocblas_srot_strided_batched, rocblas_srot_strided_batched_64 }
rot! { f64, rocblas_drot, rocblas_drot_64, rocblas_drot_batched, rocblas_drot_batched_64,
rocblas_drot_strided_batched, rocblas_drot_strided_batched_64 }
rot! { Complex32, rocblas_crot, rocblas_crot_64, rocblas_crot_batched, rocblas_crot_batched_64,
rocblas_crot_strided_batched, rocblas_crot_strided_batched_64 }
rot! { Complex64, rocblas_zrot, rocblas_zrot_64, rocblas_zrot_batched, rocblas_zrot_batched_64,
rocblas_zrot_strided_batched, rocblas_zrot_strided_batched_64 }

/// Applies a plane rotation with a real sine.
pub trait RotReal: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn rot_real(
        call: &Call<'_>,
        n: i64,
        x: &Operand,
        y: &Operand,
        c: Address,
        s: Address,
    ) -> Result<()>;
}

macro_rules! rot_real {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl RotReal for $type {
            unsafe fn rot_real(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, c: Address, s: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, ptr c, ptr s, batch)
                }
            }
        }
    };
}
rot_real! { Complex32, rocblas_csrot, rocblas_csrot_64, rocblas_csrot_batched, rocblas_csrot_batched_64,
rocblas_csrot_strided_batched, rocblas_csrot_strided_batched_64 }
rot_real! { Complex64, rocblas_zdrot, rocblas_zdrot_64, rocblas_zdrot_batched, rocblas_zdrot_batched_64,
rocblas_zdrot_strided_batched, rocblas_zdrot_strided_batched_64 }

/// Makes a plane rotation.
pub trait Rotg: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn rotg(call: &Call<'_>, a: &Operand, b: &Operand, c: &Operand, s: &Operand) -> Result<()>;
}

macro_rules! rotg {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Rotg for $type {
            unsafe fn rotg(call: &Call<'_>, a: &Operand, b: &Operand, c: &Operand, s: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; packed a, packed b, packed c, packed s, batch)
                }
            }
        }
    };
}
rotg! { f32, rocblas_srotg, rocblas_srotg_64, rocblas_srotg_batched, rocblas_srotg_batched_64,
rocblas_srotg_strided_batched, rocblas_srotg_strided_batched_64 }
rotg! { f64, rocblas_drotg, rocblas_drotg_64, rocblas_drotg_batched, rocblas_drotg_batched_64,
rocblas_drotg_strided_batched, rocblas_drotg_strided_batched_64 }
rotg! { Complex32, rocblas_crotg, rocblas_crotg_64, rocblas_crotg_batched, rocblas_crotg_batched_64,
rocblas_crotg_strided_batched, rocblas_crotg_strided_batched_64 }
rotg! { Complex64, rocblas_zrotg, rocblas_zrotg_64, rocblas_zrotg_batched, rocblas_zrotg_batched_64,
rocblas_zrotg_strided_batched, rocblas_zrotg_strided_batched_64 }

/// Applies a modified rotation.
pub trait Rotm: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn rotm(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, param: &Operand) -> Result<()>;
}

macro_rules! rotm {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Rotm for $type {
            unsafe fn rotm(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, param: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, packed param, batch)
                }
            }
        }
    };
}
rotm! { f32, rocblas_srotm, rocblas_srotm_64, rocblas_srotm_batched, rocblas_srotm_batched_64,
rocblas_srotm_strided_batched, rocblas_srotm_strided_batched_64 }
rotm! { f64, rocblas_drotm, rocblas_drotm_64, rocblas_drotm_batched, rocblas_drotm_batched_64,
rocblas_drotm_strided_batched, rocblas_drotm_strided_batched_64 }

/// Makes a modified rotation.
pub trait Rotmg: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn rotmg(
        call: &Call<'_>,
        d1: &Operand,
        d2: &Operand,
        x1: &Operand,
        y1: &Operand,
        param: &Operand,
    ) -> Result<()>;
}

macro_rules! rotmg {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Rotmg for $type {
            unsafe fn rotmg(call: &Call<'_>, d1: &Operand, d2: &Operand, x1: &Operand, y1: &Operand, param: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; packed d1, packed d2, packed x1, packed y1, packed param, batch)
                }
            }
        }
    };
}
rotmg! { f32, rocblas_srotmg, rocblas_srotmg_64, rocblas_srotmg_batched, rocblas_srotmg_batched_64,
rocblas_srotmg_strided_batched, rocblas_srotmg_strided_batched_64 }
rotmg! { f64, rocblas_drotmg, rocblas_drotmg_64, rocblas_drotmg_batched, rocblas_drotmg_batched_64,
rocblas_drotmg_strided_batched, rocblas_drotmg_strided_batched_64 }
