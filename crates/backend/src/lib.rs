//! Tensors and the operations of transformers on AMD, NVIDIA and virtual GPUs, and on the CPU.
//!
//! A program [selects](select_backend) a backend, and models use it through the trait [`KernelBackend`].
//!
//! ```
//! use backend::{DType, Gate, QuantType, select_backend};
//!
//! # fn main() -> backend::Result<()> {
//! let b = select_backend("cpu")?.backend;
//! let x = b.tensor(DType::F32, &[1, 32], &[0.5; 32])?;
//! let blocks = QuantType::Q8_0.quantize(&[0.25; 16 * 32])?;
//! let w = b.tensor_of_bytes(DType::Quant(QuantType::Q8_0), &[16, 32], &blocks)?;
//! // The gate and the other factor of a feed-forward layer: `x wᵀ`, twice here.
//! let (gate, up) = (b.empty(DType::F32, &[1, 16])?, b.empty(DType::F32, &[1, 16])?);
//! b.matmul_many(&x, &[(&w, &gate), (&w, &up)])?;
//! b.gated(Gate::Silu, &gate, &up, &gate)?;
//! assert!((b.to_f32(&gate)?[0] - 4.0 * 4.0 / (1.0 + (-4.0_f32).exp())).abs() < 0.02);
//! # Ok(())
//! # }
//! ```
//!
//! # Writing models
//! - **Results are parameters.** Allocate tensors once, and pass them again for each step.
//! - **Contents change, graphs stay.** [`KernelBackend::capture`] makes one graph of a step. Token ids,
//!   positions, [slots](KvLayout::slot) and lengths are tensors: upload new ones and launch it again.
//! - **Caches** ([`KvCache`]) are contiguous or paged, which makes no difference to
//!   [`attention`](KernelBackend::attention).
//! - **Errors, not detours.** If a backend has no kernel for types or layouts, the operation is
//!   [`Error::Unsupported`].
//! - **Several GPUs** share a model: see [`parallel`].
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `rccl` | on | models on several GPUs: `GpuBackend::with_communicator` |
//! | `virtual` | on | the virtual GPU, as the feature of `hip` |
#![warn(missing_docs)]

mod backend;
mod check;
mod convert;
mod cpu;
mod discover;
mod dtype;
mod error;
mod estimate;
mod gpu;
mod kv;
mod ops;
pub mod parallel;
mod tensor;

pub use backend::{BackendInfo, BackendKind, KernelBackend, Memory, Readback, StepGraph, StepGraphs, Steps};
pub use cpu::CpuBackend;
pub use discover::{
    DEFAULT_ORDER, Discovered, Selected, discover_backends, select_backend, select_backend_in, select_ranks,
};
pub use dtype::DType;
pub use error::{Error, Result};
pub use estimate::{
    FittedContext, ModelMemory, ModelShape, estimate_kv_memory, estimate_model_memory, fit_context,
};
pub use gpu::GpuBackend;
pub use kernels::QuantType;
pub use kv::{KvCache, KvLayer, KvLayout, KvShape, PAGE_STEP, PagePool};
pub use ops::{
    Activation, Attention, ExpertGroups, Factor, Gate, GateScores, GatedDelta, GroupScore, Keys, MoeGate,
    Penalties, Rope, RopeAppend, RopeFrequencies, RopeScaling, RopeStyle, Sampling, penalty_words,
    rope_frequencies, sampling_words,
};
pub use parallel::Shard;
#[cfg(feature = "rccl")]
pub use rccl;
pub use tensor::{Dims, Storage, Tensor};
