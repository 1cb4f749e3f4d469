//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod activation;
mod casts;
mod common;
mod conv;
mod elementwise;
mod embedding;
mod entry_points;
mod gemm;
mod indexing;
mod kv_cache;
mod launch;
mod mmvq;
mod norm;
mod quant;
mod quant_matmul;
mod reduce;
mod refusals;
mod rope;
mod rows;
mod sort;
mod views;
