//! `blas-on-kernels` as a drop-in `librocblas.so.5`, for unmodified programs that use rocBLAS.
//!
//! It exports the C functions of AMD's library in ROCm 7.2, and computes with this project's kernels on the
//! HIP library that the process has loaded, AMD's or this project's own. Functions that `blas-on-kernels`
//! lacks return `rocblas_status_not_implemented`. `cargo xtask dropin` builds it.
//!
//! | variable | meaning |
//! |---|---|
//! | `FERROCM_HIP_LIBRARY` | the path of the HIP library, if the process has not loaded one |
//! | `FERROCM_LOG` | what is logged to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! It also exports `ferrocm_fused_gemm`, with which cuBLASLt's functions for programs of `ferrocm nvcc`
//! compute products with a bias and an activation.
//!
//! A handle is the address of zeroed memory that this library does not use itself. C++ code compiled with
//! AMD's internal headers, such as AMD's `rocblas-test`, reads and writes fields of handles there.
//!
//! Kernels are embedded for the targets in `FERROCM_TARGETS` when the library is built. On other targets,
//! calls that launch a kernel return `rocblas_status_arch_mismatch`.
#![warn(missing_docs)]

#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "generated: each function passes its arguments on, and its caller keeps the contract of the headers"
)]
mod exports;
mod fused;
mod handles;

use std::sync::OnceLock;

use rocblas_sys::Table;

/// The table behind the exported functions. The first call looks for HIP.
///
/// If there is none, the reason goes to standard error, and every function returns
/// `rocblas_status_not_implemented`.
fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in::log::start("librocblas");
        handles::give_them_memory();
        let started = hip_sys::Table::load()
            .map_err(|error| error.to_string())
            .and_then(|hip| blas_on_kernels::table(hip).map_err(|error| error.to_string()));
        started.unwrap_or_else(|reason| {
            tracing::error!("rocBLAS cannot start: {reason}");
            Table::unsupported()
        })
    })
}
