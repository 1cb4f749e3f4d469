//! Level 1: vectors. A trait for each routine, a row for each type that it exists for.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::{Address, Call, Operand};
use crate::error::Result;

/// `y = alpha x + y`.
pub trait Axpy: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn axpy(call: &Call<'_>, n: i64, alpha: Address, x: &Operand, y: &Operand) -> Result<()>;
}

macro_rules! axpy {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Axpy for $type {
            unsafe fn axpy(call: &Call<'_>, n: i64, alpha: Address, x: &Operand, y: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, ptr alpha, at x, at y, batch)
                }
            }
        }
    };
}
axpy! { f32, rocblas_saxpy, rocblas_saxpy_64, rocblas_saxpy_batched, rocblas_saxpy_batched_64,
rocblas_saxpy_strided_batched, rocblas_saxpy_strided_batched_64 }
axpy! { f64, rocblas_daxpy, rocblas_daxpy_64, rocblas_daxpy_batched, rocblas_daxpy_batched_64,
rocblas_daxpy_strided_batched, rocblas_daxpy_strided_batched_64 }
axpy! { Complex32, rocblas_caxpy, rocblas_caxpy_64, rocblas_caxpy_batched, rocblas_caxpy_batched_64,
rocblas_caxpy_strided_batched, rocblas_caxpy_strided_batched_64 }
axpy! { Complex64, rocblas_zaxpy, rocblas_zaxpy_64, rocblas_zaxpy_batched, rocblas_zaxpy_batched_64,
rocblas_zaxpy_strided_batched, rocblas_zaxpy_strided_batched_64 }
axpy! { f16, rocblas_haxpy, rocblas_haxpy_64, rocblas_haxpy_batched, rocblas_haxpy_batched_64,
rocblas_haxpy_strided_batched, rocblas_haxpy_strided_batched_64 }

/// `x = alpha x`.
pub trait Scal: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn scal(call: &Call<'_>, n: i64, alpha: Address, x: &Operand) -> Result<()>;
}

macro_rules! scal {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Scal for $type {
            unsafe fn scal(call: &Call<'_>, n: i64, alpha: Address, x: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, ptr alpha, at x, batch)
                }
            }
        }
    };
}
scal! { f32, rocblas_sscal, rocblas_sscal_64, rocblas_sscal_batched, rocblas_sscal_batched_64,
rocblas_sscal_strided_batched, rocblas_sscal_strided_batched_64 }
scal! { f64, rocblas_dscal, rocblas_dscal_64, rocblas_dscal_batched, rocblas_dscal_batched_64,
rocblas_dscal_strided_batched, rocblas_dscal_strided_batched_64 }
scal! { Complex32, rocblas_cscal, rocblas_cscal_64, rocblas_cscal_batched, rocblas_cscal_batched_64,
rocblas_cscal_strided_batched, rocblas_cscal_strided_batched_64 }
scal! { Complex64, rocblas_zscal, rocblas_zscal_64, rocblas_zscal_batched, rocblas_zscal_batched_64,
rocblas_zscal_strided_batched, rocblas_zscal_strided_batched_64 }

/// `x = alpha x`, with a real factor.
pub trait ScalReal: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn scal_real(call: &Call<'_>, n: i64, alpha: Address, x: &Operand) -> Result<()>;
}

macro_rules! scal_real {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl ScalReal for $type {
            unsafe fn scal_real(call: &Call<'_>, n: i64, alpha: Address, x: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, ptr alpha, at x, batch)
                }
            }
        }
    };
}
scal_real! { Complex32, rocblas_csscal, rocblas_csscal_64, rocblas_csscal_batched,
rocblas_csscal_batched_64, rocblas_csscal_strided_batched, rocblas_csscal_strided_batched_64 }
scal_real! { Complex64, rocblas_zdscal, rocblas_zdscal_64, rocblas_zdscal_batched,
rocblas_zdscal_batched_64, rocblas_zdscal_strided_batched, rocblas_zdscal_strided_batched_64 }

/// `y = x`.
pub trait Copy: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn copy(call: &Call<'_>, n: i64, x: &Operand, y: &Operand) -> Result<()>;
}

macro_rules! copy {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Copy for $type {
            unsafe fn copy(call: &Call<'_>, n: i64, x: &Operand, y: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, batch)
                }
            }
        }
    };
}
copy! { f32, rocblas_scopy, rocblas_scopy_64, rocblas_scopy_batched, rocblas_scopy_batched_64,
rocblas_scopy_strided_batched, rocblas_scopy_strided_batched_64 }
copy! { f64, rocblas_dcopy, rocblas_dcopy_64, rocblas_dcopy_batched, rocblas_dcopy_batched_64,
rocblas_dcopy_strided_batched, rocblas_dcopy_strided_batched_64 }
copy! { Complex32, rocblas_ccopy, rocblas_ccopy_64, rocblas_ccopy_batched, rocblas_ccopy_batched_64,
rocblas_ccopy_strided_batched, rocblas_ccopy_strided_batched_64 }
copy! { Complex64, rocblas_zcopy, rocblas_zcopy_64, rocblas_zcopy_batched, rocblas_zcopy_batched_64,
rocblas_zcopy_strided_batched, rocblas_zcopy_strided_batched_64 }

/// Exchanges `x` and `y`.
pub trait Swap: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn swap(call: &Call<'_>, n: i64, x: &Operand, y: &Operand) -> Result<()>;
}

macro_rules! swap {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Swap for $type {
            unsafe fn swap(call: &Call<'_>, n: i64, x: &Operand, y: &Operand) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, batch)
                }
            }
        }
    };
}
swap! { f32, rocblas_sswap, rocblas_sswap_64, rocblas_sswap_batched, rocblas_sswap_batched_64,
rocblas_sswap_strided_batched, rocblas_sswap_strided_batched_64 }
swap! { f64, rocblas_dswap, rocblas_dswap_64, rocblas_dswap_batched, rocblas_dswap_batched_64,
rocblas_dswap_strided_batched, rocblas_dswap_strided_batched_64 }
swap! { Complex32, rocblas_cswap, rocblas_cswap_64, rocblas_cswap_batched, rocblas_cswap_batched_64,
rocblas_cswap_strided_batched, rocblas_cswap_strided_batched_64 }
swap! { Complex64, rocblas_zswap, rocblas_zswap_64, rocblas_zswap_batched, rocblas_zswap_batched_64,
rocblas_zswap_strided_batched, rocblas_zswap_strided_batched_64 }

/// The sum of `x[i] y[i]`.
pub trait Dot: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn dot(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, result: Address) -> Result<()>;
}

macro_rules! dot {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Dot for $type {
            unsafe fn dot(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, batch, ptr result)
                }
            }
        }
    };
}
dot! { f32, rocblas_sdot, rocblas_sdot_64, rocblas_sdot_batched, rocblas_sdot_batched_64,
rocblas_sdot_strided_batched, rocblas_sdot_strided_batched_64 }
dot! { f64, rocblas_ddot, rocblas_ddot_64, rocblas_ddot_batched, rocblas_ddot_batched_64,
rocblas_ddot_strided_batched, rocblas_ddot_strided_batched_64 }
dot! { f16, rocblas_hdot, rocblas_hdot_64, rocblas_hdot_batched, rocblas_hdot_batched_64,
rocblas_hdot_strided_batched, rocblas_hdot_strided_batched_64 }
dot! { bf16, rocblas_bfdot, rocblas_bfdot_64, rocblas_bfdot_batched, rocblas_bfdot_batched_64,
rocblas_bfdot_strided_batched, rocblas_bfdot_strided_batched_64 }
dot! { Complex32, rocblas_cdotu, rocblas_cdotu_64, rocblas_cdotu_batched, rocblas_cdotu_batched_64,
rocblas_cdotu_strided_batched, rocblas_cdotu_strided_batched_64 }
dot! { Complex64, rocblas_zdotu, rocblas_zdotu_64, rocblas_zdotu_batched, rocblas_zdotu_batched_64,
rocblas_zdotu_strided_batched, rocblas_zdotu_strided_batched_64 }

/// The sum of `conj(x[i]) y[i]`.
pub trait Dotc: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn dotc(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, result: Address) -> Result<()>;
}

macro_rules! dotc {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Dotc for $type {
            unsafe fn dotc(call: &Call<'_>, n: i64, x: &Operand, y: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, at y, batch, ptr result)
                }
            }
        }
    };
}
dotc! { Complex32, rocblas_cdotc, rocblas_cdotc_64, rocblas_cdotc_batched, rocblas_cdotc_batched_64,
rocblas_cdotc_strided_batched, rocblas_cdotc_strided_batched_64 }
dotc! { Complex64, rocblas_zdotc, rocblas_zdotc_64, rocblas_zdotc_batched, rocblas_zdotc_batched_64,
rocblas_zdotc_strided_batched, rocblas_zdotc_strided_batched_64 }

/// The Euclidean norm.
pub trait Nrm2: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn nrm2(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()>;
}

macro_rules! nrm2 {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Nrm2 for $type {
            unsafe fn nrm2(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, batch, ptr result)
                }
            }
        }
    };
}
nrm2! { f32, rocblas_snrm2, rocblas_snrm2_64, rocblas_snrm2_batched, rocblas_snrm2_batched_64,
rocblas_snrm2_strided_batched, rocblas_snrm2_strided_batched_64 }
nrm2! { f64, rocblas_dnrm2, rocblas_dnrm2_64, rocblas_dnrm2_batched, rocblas_dnrm2_batched_64,
rocblas_dnrm2_strided_batched, rocblas_dnrm2_strided_batched_64 }
nrm2! { Complex32, rocblas_scnrm2, rocblas_scnrm2_64, rocblas_scnrm2_batched, rocblas_scnrm2_batched_64,
rocblas_scnrm2_strided_batched, rocblas_scnrm2_strided_batched_64 }
nrm2! { Complex64, rocblas_dznrm2, rocblas_dznrm2_64, rocblas_dznrm2_batched, rocblas_dznrm2_batched_64,
rocblas_dznrm2_strided_batched, rocblas_dznrm2_strided_batched_64 }

/// The sum of the absolute values of all parts.
pub trait Asum: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn asum(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()>;
}

macro_rules! asum {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Asum for $type {
            unsafe fn asum(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, batch, ptr result)
                }
            }
        }
    };
}
asum! { f32, rocblas_sasum, rocblas_sasum_64, rocblas_sasum_batched, rocblas_sasum_batched_64,
rocblas_sasum_strided_batched, rocblas_sasum_strided_batched_64 }
asum! { f64, rocblas_dasum, rocblas_dasum_64, rocblas_dasum_batched, rocblas_dasum_batched_64,
rocblas_dasum_strided_batched, rocblas_dasum_strided_batched_64 }
asum! { Complex32, rocblas_scasum, rocblas_scasum_64, rocblas_scasum_batched, rocblas_scasum_batched_64,
rocblas_scasum_strided_batched, rocblas_scasum_strided_batched_64 }
asum! { Complex64, rocblas_dzasum, rocblas_dzasum_64, rocblas_dzasum_batched, rocblas_dzasum_batched_64,
rocblas_dzasum_strided_batched, rocblas_dzasum_strided_batched_64 }

/// Where the largest element is, counted from 1.
pub trait Iamax: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn iamax(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()>;
}

macro_rules! iamax {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Iamax for $type {
            unsafe fn iamax(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, batch, ptr result)
                }
            }
        }
    };
}
iamax! { f32, rocblas_isamax, rocblas_isamax_64, rocblas_isamax_batched, rocblas_isamax_batched_64,
rocblas_isamax_strided_batched, rocblas_isamax_strided_batched_64 }
iamax! { f64, rocblas_idamax, rocblas_idamax_64, rocblas_idamax_batched, rocblas_idamax_batched_64,
rocblas_idamax_strided_batched, rocblas_idamax_strided_batched_64 }
iamax! { Complex32, rocblas_icamax, rocblas_icamax_64, rocblas_icamax_batched, rocblas_icamax_batched_64,
rocblas_icamax_strided_batched, rocblas_icamax_strided_batched_64 }
iamax! { Complex64, rocblas_izamax, rocblas_izamax_64, rocblas_izamax_batched, rocblas_izamax_batched_64,
rocblas_izamax_strided_batched, rocblas_izamax_strided_batched_64 }

/// Where the smallest element is, counted from 1.
pub trait Iamin: Sized {
    /// # Safety
    /// As the function asks.
    unsafe fn iamin(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()>;
}

macro_rules! iamin {
    ($type:ident, $one:ident, $one_64:ident, $many:ident, $many_64:ident, $strided:ident, $strided_64:ident) => {
        impl Iamin for $type {
            unsafe fn iamin(call: &Call<'_>, n: i64, x: &Operand, result: Address) -> Result<()> {
                // SAFETY: the caller vouches for all of it.
                unsafe {
                    six!(call: $one $one_64 $many $many_64 $strided $strided_64; int n, at x, batch, ptr result)
                }
            }
        }
    };
}
iamin! { f32, rocblas_isamin, rocblas_isamin_64, rocblas_isamin_batched, rocblas_isamin_batched_64,
rocblas_isamin_strided_batched, rocblas_isamin_strided_batched_64 }
iamin! { f64, rocblas_idamin, rocblas_idamin_64, rocblas_idamin_batched, rocblas_idamin_batched_64,
rocblas_idamin_strided_batched, rocblas_idamin_strided_batched_64 }
iamin! { Complex32, rocblas_icamin, rocblas_icamin_64, rocblas_icamin_batched, rocblas_icamin_batched_64,
rocblas_icamin_strided_batched, rocblas_icamin_strided_batched_64 }
iamin! { Complex64, rocblas_izamin, rocblas_izamin_64, rocblas_izamin_batched, rocblas_izamin_batched_64,
rocblas_izamin_strided_batched, rocblas_izamin_strided_batched_64 }
