//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod common;
mod conv;
mod elementwise;
mod launch;
mod matrix;
mod rows;
