//! cudarc's API over HIP: Rust programs written for CUDA run on AMD GPUs, on virtual GPUs, and on NVIDIA
//! GPUs.
//!
//! This crate replaces cudarc in a program that depends on `cudarc = "0.19"`, without changes to its source:
//! ```toml
//! [patch.crates-io]
//! cudarc = { path = "ferrocm/crates/cudarc-on-hip" }
//! ```
//! The devices are those that `FERROCM_DEVICE` names, counted from zero: `amdgpu`, `cuda`, `vgpu:gfx1100`,
//! `vgpu:gfx90a?count=2`, … If the variable is not set, they are the machine's AMD GPUs, else its NVIDIA
//! GPUs, else one virtual GPU.
//!
//! # Modules
//! | module | over |
//! |---|---|
//! | [`driver`] | the table behind [`hip::Device`] |
//! | [`nvrtc`] | [`hip::rtc`] |
//! | [`cublas`], [`cublaslt`] | [`rocblas`] |
//! | [`curand`] | kernels of this crate |
//! | `nccl` | RCCL |
//!
//! # Guarantees
//! - **Paths and signatures** are those of cudarc 0.19.10; `docs/generated/cudarc.md` lists each public item
//!   and whether it exists here.
//! - **Missing items** fail to compile, or return a specific error such as `CUDA_ERROR_NOT_SUPPORTED`.
//! - **Panics** occur only where cudarc panics, and safe functions are as sound as in cudarc.
//!
//! # Differences
//! - What NVRTC calls PTX is machine code for the device in text form. AMD's and virtual GPUs take no real
//!   PTX; NVIDIA GPUs do, and cubins and fatbins.
//! - A context is a device: several contexts of a device share its memory and streams.
//! - CUDA's version is 12.9, whatever version a feature names.
#![warn(missing_docs)]

/// Features of cudarc without a counterpart here.
macro_rules! missing {
    ($($feature:literal: $what:literal,)+) => {
        $(
            #[cfg(feature = $feature)]
            compile_error!(concat!(
                "cudarc-on-hip has no `", $feature, "`: ", $what, " has no counterpart here. Leave the feature out."
            ));
        )+
    };
}

missing! {
    "cudnn": "cuDNN",
    "cudnn-08009": "cuDNN",
    "cudnn-09010": "cuDNN",
    "cudnn-09021": "cuDNN",
    "cufft": "cuFFT",
    "cufile": "GPUDirect Storage",
    "cupti": "CUPTI",
    "cusolver": "cuSOLVER",
    "cusolvermg": "cuSOLVERMg",
    "cusparse": "cuSPARSE",
    "cutensor": "cuTENSOR",
    "cutensor-02003": "cuTENSOR",
    "cutensor-02004": "cuTENSOR",
    "cutensor-02005": "cuTENSOR",
    "cutensor-02006": "cuTENSOR",
    "f4": "the crate `float4`",
    "no-std": "a program without Rust's standard library",
    "nvtx": "NVTX",
}

// HIP's functions for host code in static libraries, which the build scripts of engines compile from CUDA
// sources.
#[cfg(feature = "driver")]
use hip_host as _;

#[cfg(feature = "driver")]
mod backend;
#[cfg(feature = "driver")]
mod codes;
#[cfg(any(feature = "curand", feature = "cublaslt"))]
mod kernels;

#[cfg(feature = "cublas")]
pub mod cublas;
#[cfg(feature = "cublaslt")]
pub mod cublaslt;
#[cfg(feature = "curand")]
pub mod curand;
#[cfg(feature = "driver")]
pub mod driver;
#[cfg(any(
    feature = "nccl-02022",
    feature = "nccl-02024",
    feature = "nccl-02025",
    feature = "nccl-02026",
    feature = "nccl-02027",
    feature = "nccl-02028",
    feature = "nccl-02029",
    feature = "nccl-02030"
))]
pub mod nccl;
#[cfg(feature = "nvrtc")]
pub mod nvrtc;
pub mod types;
