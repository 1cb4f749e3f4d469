//! Ready-made GPU kernels for AMD targets: compiled from `kernels/*.cu`, embedded, launched through typed and
//! safe functions.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hip::{Device, DeviceBuffer};
//! use kernels::{Gemm, Kernels};
//!
//! let device = Device::open("auto")?;
//! let stream = device.stream()?;
//! let kernels = Kernels::new(&device);
//!
//! let a = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0])?;
//! let b = DeviceBuffer::from_slice(&stream, &[5.0_f32, 6.0, 7.0, 8.0])?;
//! let mut c = DeviceBuffer::zeroed(&stream, 4)?;
//! kernels.gemm(&stream, &Gemm::new(2, 2, 2), &a, &b, &mut c)?;
//! assert_eq!(c.to_vec(&stream)?, [19.0, 22.0, 43.0, 50.0]);
//! # Ok(())
//! # }
//! ```
//!
//! | function | kernels | types |
//! |---|---|---|
//! | [`Kernels::fill`], [`Kernels::copy`] | `fill.cu`, `unary.cu` | every [`Element`] |
//! | [`Kernels::affine`] | `affine.cu` | every [`Element`] |
//! | [`Kernels::axpy`] | `affine.cu` | every [`Real`] |
//! | [`Kernels::unary`] | `unary.cu` | every [`Real`] |
//! | [`Kernels::binary`], [`Kernels::compare`] | `binary.cu` | every [`Number`] |
//! | [`Kernels::cast`] | `cast.cu` | every [`Element`] to every other |
//! | [`Kernels::select`] | `ternary.cu` | every [`Element`]; conditions of every [`Index`] |
//! | [`Kernels::index_select`], [`Kernels::gather`], [`Kernels::scatter`] | `indexing.cu` | every [`Element`]; indices of every [`Index`] |
//! | [`Kernels::index_add`], [`Kernels::scatter_add`] | `indexing.cu` | every [`Number`]; indices of every [`Index`] |
//! | [`Kernels::argsort`] | `sort.cu` | every [`Number`] |
//! | [`Kernels::copy_strided`], [`Kernels::copy2d`], [`Kernels::concat`] | `copy.cu`, `fill.cu` | every [`Element`] |
//! | [`Kernels::reduce`], [`Kernels::softmax`] | `reduce.cu` | f32, f16, bf16 |
//! | [`Kernels::argmax`], [`Kernels::argmin`] | `reduce.cu` | every [`ReduceElement`] |
//! | [`Kernels::rms_norm`], [`Kernels::layer_norm`] | `reduce.cu` | f32, f16, bf16 |
//! | [`Kernels::add_rms_norm`], [`Kernels::add_rms_norm_quantized`], [`Kernels::l2_norm`], [`Kernels::group_norm`] | `norm.cu` | f32, f16, bf16 |
//! | [`Kernels::gated`], [`Kernels::gated_packed`], [`Kernels::gated_rows`], [`Kernels::gated_quantized`], [`Kernels::swiglu_oai`], [`Kernels::activate`] | `activation.cu` | f32, f16, bf16 |
//! | [`Kernels::softcap`], [`Kernels::add_rows`], [`Kernels::mul_rows`] | `activation.cu` | f32, f16, bf16 |
//! | [`Kernels::rope_table`], [`Kernels::rope`], [`Kernels::rope_in_place`] | `rope.cu` | f32, f16, bf16; positions u32, i64 |
//! | [`Kernels::embedding`] | `embedding.cu` | f32, f16, bf16; ids u32, i64 |
//! | [`Kernels::kv_append`], [`Kernels::kv_append_f8`], [`Kernels::kv_append_i8`], [`Kernels::rope_append`] | `kv_cache.cu` | f32, f16, bf16 |
//! | [`Kernels::conv`] of a [`Conv1d`] or [`Conv2d`], transposed or not | `conv.cu` | every [`ConvElement`] |
//! | [`Kernels::im2col`], [`Kernels::col2im1d`] | `conv.cu` | every [`ConvElement`] |
//! | [`Kernels::avg_pool2d`], [`Kernels::max_pool2d`] | `conv.cu` | every [`ConvElement`] |
//! | [`Kernels::upsample_nearest2d`], [`Kernels::upsample_bilinear2d`] | `conv.cu` | every [`ConvElement`] |
//! | [`Kernels::top_k`] | `topk.cu` | f32, f16, bf16 |
//! | [`Kernels::count_tokens`], [`Kernels::penalize`], [`Kernels::sample`] | `sampling.cu` | f32, f16, bf16 |
//! | [`Kernels::moe_gate`], [`Kernels::moe_gather`], [`Kernels::moe_combine`] | `moe.cu` | f32, f16, bf16 |
//! | [`Kernels::moe_sort`], [`Kernels::moe_sort_with_inverse`] | `moe.cu` | u32 |
//! | [`Kernels::causal_conv`], [`Kernels::gated_delta`] | `delta.cu` | f32, f16, bf16, with states in f32 |
//! | [`Kernels::attention`] | `attention.cu` | f32, f16, bf16; cached keys and values also f8, i8 |
//! | [`Kernels::gemm_int4`] | `gemm.cu`, `gemv.cu` | f16, bf16, with a matrix of 4-bit numbers |
//! | [`Kernels::gemm`] | `gemm.cu`, `gemv.cu` | f32, f16, bf16, f8, i8 |
//! | [`Kernels::gemm_experts`] | `gemm_experts.cu` | f32, f16, bf16, f8, i8 |
//! | [`Kernels::rms_norm_backward`], [`Kernels::rms_norm_weight_backward`], [`Kernels::silu_gated_backward`] | `training.cu` | f32, f16, bf16 |
//! | [`Kernels::causal_softmax`], [`Kernels::softmax_backward`] | `training.cu` | f32, f16, bf16 |
//! | [`Kernels::cross_entropy`], [`Kernels::embedding_backward`] | `training.cu` | f32, f16, bf16; ids u32, i64 |
//! | [`Kernels::adamw`] | `training.cu` | f32, f16, bf16, with moments in f32 |
//! | [`Kernels::dequantize`], [`Kernels::quant_rows`], [`Kernels::quantize`], [`Kernels::quant_matmul`], [`Kernels::quant_experts`] | `quant.cu`, `mmvq_gguf.cu` | matrices of each [`QuantType`]; f32, f16, bf16 |
//!
//! The crate's build script compiles the kernels with the device compiler that `kernel-build` finds, for the
//! targets in `FERROCM_TARGETS`, or else for
//! [the default processors](https://github.com/ferrocm/ferrocm/blob/main/docs/generated/processors.md).
//!
//! With the feature `nvidia`, the crate also contains PTX and cubins, compressed, for sm_80, sm_90a and
//! sm_100. Every NVIDIA GPU since Ampere runs some of them. The published package has no sources: it takes
//! the compiled code from the package `ferrocm-kernels-nvidia`. If `FERROCM_CUDA_ARCHS` names an architecture
//! that this does not serve, the build fails and says what there is; so it does without the feature.
//!
//! In a checkout, the code is compiled by the nvcc that `kernel-build` finds, such as that of
//! `ferrocm setup --cuda`, with the feature or if the variable names architectures, and for those. Without an
//! nvcc, the build warns, and has code for AMD GPUs only.
//!
//! The feature `virtual`, on by default, enables the same feature of `hip`: without it, the program does not
//! contain the virtual GPU.
#![warn(missing_docs)]

mod activation;
mod attention;
mod conv;
mod copy;
mod delta;
mod element;
mod elementwise;
mod embedding;
mod error;
mod gemm;
mod gemm_experts;
mod gemm_int4;
mod im2col;
mod indexing;
mod kv_cache;
mod launch;
mod library;
mod moe;
mod norm;
mod nvidia;
mod quant;
mod reduce;
pub mod reference;
mod rope;
mod rope_append;
mod sampling;
mod sort;
mod tilings;
mod topk;
mod training;
pub mod tune;
mod view;

pub use activation::{Activation, GateFunction, GateRows};
pub use attention::{Attention, AttentionInputs, HeadStrides};
pub use conv::{Conv, Conv1d, Conv2d, ConvElement, PixelGrid, Pool2d, Resize2d};
pub use delta::{CausalConv, GatedDelta, MOST_CONV_WIDTH};
pub use element::{Element, F8E4M3, Float, Index, Number, Real};
pub use elementwise::{BinaryOp, CompareOp, UnaryOp};
pub use embedding::TokenId;
pub use error::{Error, Result};
pub use gemm::{BlocksShape, Gemm, GemmElement, GemmLaunch, GemmShape, VectorsShape};
pub use gemm_experts::{ExpertGemm, SortedPairs};
pub use gemm_int4::{Int4Element, Int4Gemm, Int4Weights};
pub use kv_cache::CacheLayout;
pub use launch::{KernelHandle, MAX_BLOCK, MAX_GRID, block_size, launch_1d, launch_2d};
pub use library::Kernels;
pub use moe::{
    ExpertGroups, GateScores, GroupScore, MOST_CHOICES, MOST_EXPERT_GROUPS, MOST_EXPERTS, MoeGate,
};
pub use norm::GroupNorm;
pub use quant::{ExpertRoutes, Q8_1, QuantMatrix, QuantType, QuantVectors};
pub use reduce::{ReduceElement, ReduceOp};
pub use rope::{Heads, Rope, RopeFrequencies, RopeScaling, RopeStyle};
pub use rope_append::{Caches, RopeAppend, RopeAppendInputs};
pub use sampling::{Penalties, Sampling};
pub use sort::Order;
pub use topk::MOST_TOP_K;
pub use training::{AdamW, AdamWState};
pub use view::{Layout, LayoutError, MAX_RANK, View, ViewMut};

/// The compiled kernels: one module per `.cu` file.
pub mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The README's program is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
