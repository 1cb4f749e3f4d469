//! Tests of the routines on the device that `FERROCM_DEVICE` names, against models in f64: one file for each
//! kind of routine.

#[cfg(feature = "ndarray")]
mod arrays;
mod common;
mod extended;
mod gemm;
mod general;
mod level3;
mod rotations;
mod streams;
mod symmetric;
mod triangular;
mod vectors;
