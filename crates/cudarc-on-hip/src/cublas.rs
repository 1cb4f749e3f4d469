//! Linear algebra, over rocBLAS: AMD's if it is installed, otherwise this project's own kernels, which also
//! run on virtual GPUs.
//!
//! [`CudaBlas`] has [`Gemm`], [`Gemv`], [`Asum`] and [`GroupedGemm`] for matrices in BLAS' layout, column by
//! column.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
