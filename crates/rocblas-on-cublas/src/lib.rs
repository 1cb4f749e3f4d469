//! The rocBLAS function table over NVIDIA's cuBLAS, for NVIDIA GPUs.
//!
//! [`table`] takes cuBLAS and gives rocBLAS on top of it. [`functions`] lists what is there; every other
//! function of the table returns `rocblas_status_not_implemented`, and `Table::has` tells the two apart.
//!
//! ```no_run
//! let cublas = cuda_sys::cublas::Table::load()?;
//! let blas = rocblas_on_cublas::table(cublas)?;
//! let mut handle = std::ptr::null_mut();
//! // SAFETY: the pointer is valid.
//! let status = unsafe { (blas.rocblas_create_handle)(&mut handle) };
//! println!("{status:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! | rocBLAS | cuBLAS |
//! |---|---|
//! | handle | cuBLAS's own, under rocBLAS's name, for the primary context of the current device |
//! | stream | the driver's own, which is what `hip-on-cuda` calls a stream |
//! | enums, types of elements | translated, each by one table |
//! | statuses | translated by one table |
//! | single operations, and batches of products, `gemv` and `trsm` | the function of the same name, with the same arguments |
//! | `gemm_ex` | `cublasGemmEx`, which writes where it reads: `C` and `D` have to be one matrix, unless `beta` is a zero on the host |
//! | 16-bit products, sums and updates | the functions that take types as arguments |
//! | `trsm` in strided batches | one call for each matrix |
//! | complex factors and results of `f64` on the host | copied if their address is not divisible by 16, as cuBLAS's type requires |
//!
//! # What is not there
//! Other batches, `trtri`, `gemmt`, `trsm_ex`, `geam_ex`, 8-bit floats, solutions (`gemm_ex_get_solutions`),
//! memory of handles, logging.
//!
//! There is one cuBLAS in a process.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "functions and arguments have their C names")]

mod convert;
mod forward;
mod general;
mod library;
mod products;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use rocblas_sys::{Builder, Table};

pub use library::OtherLibrary;

/// The rocBLAS table over cuBLAS. Later calls with the same cuBLAS return the same result. No device is
/// needed.
///
/// # Errors
/// [`OtherLibrary`].
pub fn table(cublas: &'static cuda_sys::cublas::Table) -> Result<&'static Table, OtherLibrary> {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    library::start(cublas)?;
    Ok(TABLE.get_or_init(|| {
        let version = cublas.version().map_or_else(|| "?".to_owned(), |version| version.to_string());
        let mut builder = Builder::new(env!("CARGO_PKG_NAME"), &version);
        forward::provide(&mut builder);
        general::provide(&mut builder);
        products::provide(&mut builder);
        // SAFETY: the functions pass on what they get to cuBLAS's, whose contract is rocBLAS's, and live as
        // long as the process.
        unsafe { builder.finish() }
    }))
}

/// The names of the functions that the table has.
pub fn functions() -> impl Iterator<Item = &'static str> {
    let [narrow, wide] = products::FUNCTIONS;
    [forward::FUNCTIONS, general::FUNCTIONS, narrow, wide].into_iter().flatten().copied()
}
