//! HIP over any HSA, as a drop-in `libamdhip64.so.7` for unmodified HIP C++ programs.
//!
//! It exports the symbols of AMD's library in ROCm 7.2, with the same names and versions. Inside it is
//! `hip-on-hsa`, over AMD's HSA runtime if that is installed and has a GPU, else over a virtual GPU in the
//! process. `cargo xtask dropin` builds it.
//!
//! | variable | meaning |
//! |---|---|
//! | `FERROCM_HIP_DEVICE`, else `FERROCM_DEVICE` | `auto` (the default), `amdgpu…` or `vgpu…`: the device URI to run on |
//! | `HIP_VISIBLE_DEVICES`, `ROCR_VISIBLE_DEVICES` | which devices the program sees, in what order |
//! | `FERROCM_LOG` | what is logged to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! C++ programs get only a code when a kernel faults. The report, which names kernel, instruction, lane and
//! address, is logged as an error (see `FERROCM_LOG`). Programs that use `hip` get the report as their own
//! error. They also get exact bounds of buffers, and virtual GPUs by name: `hip-sys` finds the function
//! `ferrocm_hip_extensions_1`.
//!
//! Marks and ranges of NVTX are shown on the timeline (`FERROCM_TRACE`): the library is also NVTX's injection.
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
mod extensions;
mod host_code;
mod nvtx;
#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "generated: each function passes its arguments on, and its caller keeps the contract of the headers"
)]
mod other_names;
mod output;
mod start;

pub(crate) use start::table;
