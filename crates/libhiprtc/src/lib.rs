//! `hiprtc-on-clang` as a drop-in `libhiprtc.so.7`, for programs that compile kernels at run time.
//!
//! It exports the C functions of AMD's library in ROCm 7.2, and compiles with the device compiler that
//! `ferrocm setup`, ROCm or the distribution has installed. If there is none, the reason goes to standard
//! error, and functions return `HIPRTC_ERROR_INTERNAL_ERROR`. `cargo xtask dropin` builds it.
//!
//! If a program's options name no target, it is compiled for the current device of the HIP library that the
//! process has loaded, as with AMD's library.
//!
//! It also has NVRTC's functions, which the `libnvrtc` of `ferrocm nvcc` jumps to.
//!
//! | variable | meaning |
//! |---|---|
//! | `FERROCM_CLANG`, `FERROCM_HIP_PATH`, `ROCM_PATH`, `FERROCM_CACHE` | where to find the compiler, as for `device-compiler` |
//! | `FERROCM_RTC_TIMEOUT` | the compiler's time limit in seconds, or `none`; 300 by default |
//! | `FERROCM_RTC_MEMORY` | the compiler's memory limit, such as `4GiB`, or `none`; `2GiB` by default |
//! | `FERROCM_HIP_LIBRARY` | the path of the HIP library, if the process has not loaded one |
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
#[allow(non_snake_case, reason = "the functions have NVRTC's names")]
mod nvrtc;

use std::ffi::CStr;
use std::sync::OnceLock;

use code_object::TargetId;
use hip_sys::rtc::Table;

/// The table behind the exported functions. The first call looks for the compiler.
fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in::log::start("libhiprtc");
        hiprtc_on_clang::ask_for_target(current_target);
        hiprtc_on_clang::table().unwrap_or_else(|reason| {
            tracing::error!("cannot compile at run time: {reason}");
            Table::unsupported()
        })
    })
}

/// The target of the current device, if the process has HIP and a device.
fn current_target() -> Option<TargetId> {
    let hip = hip_sys::Table::load().map_err(|error| tracing::warn!("no current device: {error}")).ok()?;
    let mut device = 0;
    // SAFETY: the result is valid for writes.
    let status = unsafe { (hip.hipGetDevice)(&raw mut device) };
    if status != hip_sys::hipError_t::hipSuccess {
        tracing::warn!("no current device: hipGetDevice returned {status:?}");
        return None;
    }
    // SAFETY: the structure holds numbers and texts, for which zeros are values.
    let mut properties: hip_sys::hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    // SAFETY: the result is valid for writes.
    let status = unsafe { (hip.hipGetDevicePropertiesR0600)(&raw mut properties, device) };
    if status != hip_sys::hipError_t::hipSuccess {
        tracing::warn!("no current device: hipGetDevicePropertiesR0600 returned {status:?}");
        return None;
    }
    // SAFETY: HIP has written a text that ends in NUL, or left the zeros.
    let name = unsafe { CStr::from_ptr(properties.gcnArchName.as_ptr()) };
    name.to_str().ok()?.parse().ok()
}
