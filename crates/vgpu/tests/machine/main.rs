//! The machine without the HSA layer: compiled kernels against the CPU, and kernels that do something wrong.

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
