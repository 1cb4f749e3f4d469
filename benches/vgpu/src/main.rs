//! How fast the virtual GPU is: seven kernels, per target and number of threads, against PoCL where that is installed.
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
