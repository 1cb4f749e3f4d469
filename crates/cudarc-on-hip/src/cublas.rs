//! Linear algebra, over rocBLAS: AMD's where it is installed, else this project's own kernels, which serve virtual GPUs, too.
//!
//! [`CudaBlas`] has [`Gemm`], [`Gemv`], [`Asum`] and [`GroupedGemm`] for matrices as BLAS lays them out, column by column.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
