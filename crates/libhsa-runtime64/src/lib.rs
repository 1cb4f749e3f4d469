//! The virtual GPU as a drop-in `libhsa-runtime64.so.1`, for AMD's own HIP and the libraries above it,
//! unmodified.
//!
//! It exports the symbols of AMD's library in ROCm 5.2 to 7.2, with the same names and symbol version. Inside
//! it is [`vgpu::hsa`]. `cargo xtask dropin` builds it. Functions that the virtual GPU lacks return
//! `HSA_STATUS_ERROR_NOT_SUPPORTED`, and the log names them.
//!
//! | variable | meaning |
//! |---|---|
//! | `FERROCM_HSA_DEVICE` | `vgpu…`: the device URI of the virtual GPUs |
//! | `FERROCM_DEVICE` | the same, if the variable above is not set and this one names virtual GPUs |
//! | `FERROCM_LOG` | what is logged to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! There are two variables because a program that uses `hip` uses `FERROCM_DEVICE` for *its own* device:
//! AMD's HIP, `amdgpu`.
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
