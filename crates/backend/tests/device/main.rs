//! Every operation on the device that `FERROCM_DEVICE` names, against loops in f64, and a decoder's layers
//! against the CPU.

#[path = "../cases/attention.rs"]
mod attention;
#[path = "../cases/common.rs"]
mod common;
mod decoder;
#[path = "../cases/delta.rs"]
mod delta;
#[path = "../cases/elementwise.rs"]
mod elementwise;
#[path = "../cases/experts.rs"]
mod experts;
#[path = "../cases/fused.rs"]
mod fused;
mod kept;
#[path = "../cases/memory.rs"]
mod memory;
#[cfg(feature = "rccl")]
mod parallel;
#[path = "../cases/products.rs"]
mod products;
mod recorded;
#[path = "../cases/rows.rs"]
mod rows;
#[path = "../cases/sampling.rs"]
mod sampling;

use std::sync::Arc;

use backend::{GpuBackend, KernelBackend};

/// The backend under test: `FERROCM_DEVICE`, or a virtual gfx1100.
fn backend() -> Arc<dyn KernelBackend> {
    let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
    Arc::new(GpuBackend::open(&uri.parse().unwrap()).unwrap())
}
