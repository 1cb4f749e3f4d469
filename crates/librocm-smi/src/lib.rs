//! The virtual GPU as drop-ins for AMD's libraries of system management: `librocm_smi64.so.7`, which RCCL and `rocm-smi` ask, and
//! `libamd_smi.so.26`, which the tests of the HSA runtime ask.
//!
//! They tell of the same virtual GPUs as the [drop-in HSA library](../hsa_runtime64/index.html): those that `FERROCM_HSA_DEVICE`, or
//! else `FERROCM_DEVICE`, names, with the same places on the PCI bus. What a virtual GPU has none of, such as clocks, fans,
//! temperatures and power, is "not supported"; the log (`FERROCM_LOG=warn`) names each function that is asked for that. Memory in use
//! is among that: it is a process's own, and other processes cannot see it.
//!
//! A third one, `libferrocm-driver.so.1`, is preloaded by `cargo xtask rocm`: it stands for the traces of AMD's driver that `rocminfo`
//! and `rocm-smi` look for before they ask a library.
//!
//! `cargo xtask dropin` links the libraries from this crate's archive. The executor of the virtual GPU is not part of them: the linker
//! leaves out what nothing calls.
#![warn(missing_docs)]
#![allow(non_snake_case, reason = "the names are AMD's: `rsmi_is_P2P_accessible`")]

mod amd_smi;
mod devices;
mod driver;
mod missing;
mod rocm_smi;
