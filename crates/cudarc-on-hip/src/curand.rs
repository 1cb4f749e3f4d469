//! Random numbers.
//!
//! Every pseudo-random kind is Philox4x32-10: a seed gives the same numbers on every device, but not those of
//! NVIDIA's library. Uniform numbers are above 0 and up to 1, as in NVIDIA's library. Quasi-random kinds give
//! `CURAND_STATUS_TYPE_ERROR`.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
