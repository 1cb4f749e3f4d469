//! The machine without the HSA layer: compiled kernels against the CPU, and kernels that do something wrong.

mod common;
mod differential;
mod faults;
mod kernels;
mod lines;
mod matrix;
<<<<<<< HEAD
mod reports;
=======
mod random;
mod random_program;
#[path = "../../../code-object/tests/support/mod.rs"]
mod synthetic;
>>>>>>> 0c1ce7c (vgpu: random programs end or fault; fuzz targets for programs, loading and metadata)
