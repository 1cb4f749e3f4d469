//! The table on the device that `FERROCM_DEVICE` names, against models in f64.
//!
//! A test tries the plain, the strided and the batched form of an operation in turn, with the caller's
//! numbers on the host and on the device. Memory between columns, elements and matrices must be neither read
//! nor written.

mod arguments;
mod common;
mod distance;
mod extended;
mod float8;
mod fused;
mod gemm;
mod level1;
mod level2;
mod level3;
mod model;
mod state;
mod triangular;
