//! Tests of the kernels on the device that `FERROCM_DEVICE` names, one file for each subject.

mod casts;
mod common;
mod conv;
mod elementwise;
mod indexing;
mod launch;
mod matrix;
mod refusals;
mod rows;
mod sort;
mod views;
