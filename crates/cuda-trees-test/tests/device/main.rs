//! The trees on the device in `FERROCM_DEVICE`, else on a virtual gfx1100, against models on the CPU: f64
//! arithmetic, and CUDA's documentation of each function.

mod common;

mod cub;
mod groups;
mod memory;
mod mma;
mod narrow;
mod ops;
mod ptx;
mod random;
mod simd;
mod standard;
mod trainer;
