//! cudarc's API over HIP: Rust programs that are written for CUDA run on AMD's GPUs, and on virtual ones.
//!
//! The crate takes cudarc's place in a program that asks for `cudarc = "0.19"`, whose source stays as it is:
//! ```toml
//! [patch.crates-io]
//! cudarc = { path = "ferrocm/crates/cudarc-on-hip" }
//! ```
//! The devices are those that `FERROCM_DEVICE` names, counted from zero: `amdgpu`, `vgpu:gfx1100`, `vgpu:gfx90a?count=2`, … Where it is
//! unset, they are the machine's GPUs, else one virtual GPU.
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
//! # What is promised
//! - **Paths and signatures** are those of cudarc 0.19.10; `docs/generated/cudarc.md` lists each public item and whether it is here.
//! - **What is not here** fails to compile, or is an error by its name, such as `CUDA_ERROR_NOT_SUPPORTED`.
//! - **Nothing panics** that does not in cudarc, and safe functions are sound as there.
//!
//! # What is otherwise
//! - Code is for AMD's GPUs. What NVRTC calls PTX is the code as text, and PTX itself cannot be loaded.
//! - A context is a device: several contexts of a device share its memory and its streams.
//! - CUDA's version is 12.9, whatever feature names one.
#![warn(missing_docs)]

/// Features of cudarc of which nothing is here.
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

// HIP's functions for host code in static libraries, which engines' build scripts make of CUDA sources.
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
