//! `rccl-on-hip` as a drop-in `librccl.so.1`, for unmodified programs that use RCCL between the GPUs of one
//! host.
//!
//! It exports the C functions of AMD's library in ROCm 7.2, and works on the HIP library that the process has
//! loaded, AMD's or this project's own. Functions that `rccl-on-hip` lacks return `ncclInternalError`. `cargo
//! xtask dropin` builds it.
//!
//! | variable | meaning |
//! |---|---|
//! | `FERROCM_HIP_LIBRARY` | the path of the HIP library, if the process has not loaded one |
//! | `FERROCM_RCCL_TIMEOUT` | how long ranks wait for missing ones, such as `30`, `1.5s` or `500ms`; 60 s by default |
//! | `FERROCM_LOG` | what is logged to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
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
mod internal;

use std::sync::OnceLock;

use rccl_sys::Table;

/// The table behind the exported functions. The first call looks for HIP.
///
/// If there is none, the reason goes to standard error, and every function returns `ncclInternalError`.
fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in::log::start("librccl");
        let started = hip_sys::Table::load()
            .map_err(|error| error.to_string())
            .and_then(|hip| rccl_on_hip::table(hip).map_err(|error| error.to_string()));
        started.unwrap_or_else(|reason| {
            tracing::error!("RCCL cannot start: {reason}");
            Table::unsupported()
        })
    })
}
