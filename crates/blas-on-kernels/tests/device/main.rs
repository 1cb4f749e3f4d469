//! The table on a device, against models in f64. `FERROCM_DEVICE` says on which.
//!
//! A test tries the plain, the strided and the batched form of an operation in turn, with numbers of the caller on the host and on the
//! device; what is between columns, elements and matrices must be neither read nor written.

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
