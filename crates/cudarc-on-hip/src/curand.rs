//! Random numbers.
//!
//! Every pseudo-random kind is Philox4x32-10 here: a seed gives the same numbers on every device, and others than NVIDIA's library does. Uniform
//! numbers are above 0 and up to 1, as there. Quasi-random kinds are `CURAND_STATUS_TYPE_ERROR`.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
