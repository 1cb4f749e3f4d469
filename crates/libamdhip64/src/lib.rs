//! HIP over any HSA as a drop-in `libamdhip64.so.7`, on which HIP C++ programs run unmodified.
//!
//! It exports what AMD's library of ROCm 7.2 exports, under the same names and symbol versions, and is `hip-on-hsa` inside: over
//! AMD's HSA runtime where there is one and a GPU, else over a virtual GPU in the process. `cargo xtask dropin` builds
//! it.
//!
//! | variable | says |
//! |---|---|
//! | `FERROCM_HIP_DEVICE`, else `FERROCM_DEVICE` | `auto` (the default), `amdgpu…` or `vgpu…`: a device URI, of what to run on |
//! | `HIP_VISIBLE_DEVICES`, `ROCR_VISIBLE_DEVICES` | which of its devices the program sees, and in what order |
//! | `FERROCM_LOG` | what goes to standard error: `off`, `error` (the default), `warn`, `info`, `debug` or `trace` |
//!
//! C++ programs get no more than a code when a kernel faults. The report, which names kernel, instruction, lane and address, is
//! an error in the sense of `FERROCM_LOG`. Programs that use `hip` get it as theirs, exact bounds of buffers, and virtual GPUs by name:
//! `hip-sys` finds the function `ferrocm_hip_extensions_1`.
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
