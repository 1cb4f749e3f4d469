//! Tensors and the operations of transformers on AMD, NVIDIA and virtual GPUs, and on the CPU.
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

pub use backend::{BackendInfo, BackendKind, KernelBackend, Memory, Readback, StepGraph};
pub use cpu::CpuBackend;
pub use discover::{
    DEFAULT_ORDER, Discovered, Selected, discover_backends, select_backend, select_backend_in,
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
    Activation, Attention, ExpertGroups, Gate, GateScores, GroupScore, Keys, MoeGate, Penalties, Rope,
    RopeFrequencies, RopeScaling, RopeStyle, Sampling, penalty_words, rope_frequencies, sampling_words,
};
pub use parallel::Shard;
#[cfg(feature = "rccl")]
pub use rccl;
pub use tensor::{Dims, Storage, Tensor};
