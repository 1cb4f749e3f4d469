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
//! | other strided batches | one call for each member |
//! | products, updates and solutions with an `alpha` of zero | products without depth: rocBLAS reads no matrix then, and cuBLAS does (`symm`, `syrk`, `trmm`, `trsm` …) |
//! | `gemm_ex` | `cublasGemmEx`, which writes where it reads; `cublasLtMatmul` if `C` and `D` are two matrices and `beta` is not a zero; without a product, a copy of `C` |
//! | 16-bit products, sums and updates | the functions that take types as arguments |
//! | `gemmt` | products of the parts of the triangle, whose blocks on the diagonal take one for each column |
//! | `trsm_ex` | `trsm`, without the inverses |
//! | complex factors and results of `f64` on the host | copied if their address is not divisible by 16, as cuBLAS's type requires |
//!
//! # What is not there
//! | functions | why |
//! |---|---|
//! | batches by pointers of anything but products, `gemv` and `trsm` | the pointers are in device memory, where only kernels read them |
//! | `trtri`, `geam_ex` | cuBLAS has nothing like them |
//! | `gemm_ex3`, `gemm_batched_ex3`, `gemm_strided_batched_ex3` | their 8-bit floats are AMD's (FNUZ), NVIDIA's are OCP's |
//! | `gemm_batched_ex` into a third matrix | neither cuBLAS nor cuBLASLt has it |
//! | `gemm_ex` of `i8` whose addresses and leading dimensions are not divisible by 4 | cuBLAS refuses them |
//! | `gemv` of 16-bit floats with negative increments | a vector is a row of a matrix here |
//! | `cspr`, `zspr`; `haxpy` with a factor in device memory | cuBLAS has neither |
//! | batches with types as arguments (`axpy_strided_batched_ex` …) | nothing here calls them |
//! | solutions (`gemm_ex_get_solutions`), memory of handles, logging | cuBLAS has its own |
//!
//! Factors of products in device memory are read before the call, because cuBLAS multiplies by a zero where
//! rocBLAS reads no matrix: such a call waits for the stream, as AMD's rocBLAS does in `gemm`. While a stream
//! is captured, nothing can wait for it. A NaN in a matrix then spoils the result in spite of a zero.
//!
//! There is one cuBLAS in a process.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "functions and arguments have their C names")]

mod calls;
mod convert;
mod device;
mod factors;
mod forward;
mod general;
mod library;
mod made;
mod products;
mod separate;
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
        made::provide(&mut builder);
        products::provide(&mut builder);
        // SAFETY: the functions pass on what they get to cuBLAS's, whose contract is rocBLAS's, and live as
        // long as the process.
        unsafe { builder.finish() }
    }))
}

/// The names of the functions that the table has.
pub fn functions() -> impl Iterator<Item = &'static str> {
    [forward::FUNCTIONS, general::FUNCTIONS, made::FUNCTIONS, products::FUNCTIONS]
        .into_iter()
        .flatten()
        .copied()
}
