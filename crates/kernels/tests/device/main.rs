//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod activation;
mod common;
mod conv;
mod elementwise;
mod embedding;
mod gemm;
mod kv_cache;
mod launch;
mod mmvq;
mod norm;
mod quant;
mod quant_matmul;
mod reduce;
mod rope;
mod rows;
