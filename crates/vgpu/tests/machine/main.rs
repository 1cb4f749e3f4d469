//! The machine without the HSA layer: compiled kernels compared with the CPU, and faulty kernels.

mod checks;
mod common;
mod corrupt_object;
mod differential;
mod execution;
mod faults;
mod hostile;
mod kernels;
mod layers;
mod lines;
mod litmus;
mod matrix;
mod preload;
mod processors;
mod profile;
mod random;
mod random_program;
mod reports;
#[path = "../../../code-object/tests/support/mod.rs"]
mod synthetic;
