//! Models on the CPU, against llama.cpp, and the engine that runs them. `../references` has llama.cpp's
//! results and the programs that made them.

mod adapters;
mod architectures;
mod encoder;
mod engine;
mod finite;
mod ranks;
mod real;
mod speculation;
mod support;
mod templates;
mod tiny;

use std::path::Path;
use std::sync::Arc;

use backend::{CpuBackend, DType};

fn on_cpu(path: &Path, positions: usize) -> support::Running {
    support::Running::on(Arc::new(CpuBackend::new().expect("the CPU")), DType::F32, path, positions)
}
