//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod activation;
mod attention;
mod by_name;
mod casts;
mod common;
mod conv;
mod copy;
mod elementwise;
mod embedding;
mod gemm;
mod indexing;
mod kv_cache;
mod launch;
mod mmvq;
mod moe;
mod norm;
mod quant;
mod quant_matmul;
mod reduce;
mod refusals;
mod rope;
mod rows;
mod sampling;
mod sort;
mod topk;
mod views;
