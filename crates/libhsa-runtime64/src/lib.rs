//! The virtual GPU as a drop-in `libhsa-runtime64.so.1`, on which AMD's own HIP, and what stands on that, runs unmodified.
//!
//! It exports what AMD's library of ROCm 5.2 to 7.2 exports, under the same names and symbol version, and is
//! [`vgpu::hsa`] inside. `cargo xtask dropin` builds it. A function that the virtual GPU does not have returns
//! `HSA_STATUS_ERROR_NOT_SUPPORTED`, and the log names it.
//!
//! | variable | says |
//! |---|---|
//! | `FERROCM_HSA_DEVICE` | `vgpu…`: a device URI, of the virtual GPUs that there are |
//! | `FERROCM_DEVICE` | the same, where the variable above is not set and this one names virtual GPUs |
//! | `FERROCM_LOG` | what goes to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! Two variables, because a program that uses `hip` names with `FERROCM_DEVICE` what *it* runs on: AMD's HIP, `amdgpu`.
#![warn(missing_docs)]

#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::unit_arg,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "generated: each function passes its arguments on, and its caller keeps the contract of the headers"
)]
mod exports;
mod missing;
mod start;

pub(crate) use missing::observe;
pub(crate) use start::table;
