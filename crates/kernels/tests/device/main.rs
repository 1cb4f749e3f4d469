//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod attention;
mod common;
mod elementwise;
mod gemm;
mod reduce;
