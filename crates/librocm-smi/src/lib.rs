//! The virtual GPU as drop-ins for AMD's libraries of system management: `librocm_smi64.so.7`, which RCCL and
//! `rocm-smi` use, and `libamd_smi.so.26`, which the tests of the HSA runtime use.
//!
//! They describe the same virtual GPUs as the [drop-in HSA library](../hsa_runtime64/index.html), with the
//! same PCI addresses: those that `FERROCM_HSA_DEVICE`, or else `FERROCM_DEVICE`, names. Properties that a
//! virtual GPU lacks, such as clocks, fans, temperatures and power, are "not supported"; the log
//! (`FERROCM_LOG=warn`) names each such function that is called. Memory in use is one of them: it belongs to
//! one process, and other processes cannot see it.
//!
//! A third library, `libferrocm-driver.so.1`, is preloaded by `cargo xtask rocm`. It imitates the traces of
//! AMD's driver that `rocminfo` and `rocm-smi` look for before they ask a library.
//!
//! `cargo xtask dropin` links the libraries from this crate's archive. They do not contain the executor of
//! the virtual GPU, because the linker drops unused code.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names are AMD's: `rsmi_is_P2P_accessible`")]

mod amd_smi;
mod devices;
mod driver;
mod missing;
mod rocm_smi;
