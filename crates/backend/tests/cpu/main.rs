//! Every operation on the CPU against loops in f64.

#[path = "../cases/attention.rs"]
mod attention;
#[path = "../cases/common.rs"]
mod common;
#[path = "../cases/delta.rs"]
mod delta;
#[path = "../cases/elementwise.rs"]
mod elementwise;
#[path = "../cases/experts.rs"]
mod experts;
#[path = "../cases/fused.rs"]
mod fused;
#[path = "../cases/memory.rs"]
mod memory;
#[path = "../cases/products.rs"]
mod products;
#[path = "../cases/rows.rs"]
mod rows;
#[path = "../cases/sampling.rs"]
mod sampling;

use std::sync::Arc;

use backend::{CpuBackend, KernelBackend};

/// The backend under test.
fn backend() -> Arc<dyn KernelBackend> {
    Arc::new(CpuBackend::with_threads(2).unwrap())
}
