//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod activation;
mod common;
mod conv;
mod elementwise;
mod embedding;
mod kv_cache;
mod launch;
mod matrix;
mod moe;
mod norm;
mod rope;
mod rows;
mod sampling;
mod topk;
