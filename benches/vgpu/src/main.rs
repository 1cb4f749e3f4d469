//! Measures the speed of the virtual GPU: seven kernels, per target and number of threads, compared with PoCL
//! if that is installed.
//!
//! `cargo xtask bench vgpu` runs it; docs/contribute/benchmarks.md has figures.

mod arguments;
mod contender;
mod measure;
mod opencl;
mod report;
mod virtual_gpu;
mod workload;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    measure::run(&arguments::Arguments::parse())
}
