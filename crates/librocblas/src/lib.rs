//! `blas-on-kernels` as a drop-in `librocblas.so.5`, on which programs that use rocBLAS run unmodified.
//!
//! It exports the C functions of AMD's library of ROCm 7.2, and computes with this project's kernels on the HIP library that the
//! process has loaded, AMD's or this project's own. Functions that `blas-on-kernels` lacks return `rocblas_status_not_implemented`.
//! `cargo xtask dropin` builds it.
//!
//! | variable | says |
//! |---|---|
//! | `FERROCM_HIP_LIBRARY` | the HIP library's path, where the process has not loaded one |
//! | `FERROCM_LOG` | what goes to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! A handle is the address of memory that nothing here uses, and which holds zeros: C++ code that was compiled with AMD's own internal headers,
//! such as AMD's `rocblas-test`, reads and sets fields of handles.
//!
//! Kernels are embedded for the targets that `FERROCM_TARGETS` named when the library was built. On others, calls that launch one
//! return `rocblas_status_arch_mismatch`.
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
mod handles;

use std::sync::OnceLock;

use rocblas_sys::Table;

/// The functions behind the exported ones. The first call looks for HIP.
///
/// Where there is none the reason goes to standard error, and everything returns `rocblas_status_not_implemented`.
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
