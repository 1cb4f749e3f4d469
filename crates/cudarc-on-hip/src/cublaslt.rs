//! Matrix products with a bias and an activation, over rocBLAS and a kernel for the epilogue.
//!
//! The product is rounded to the type of the result before bias and activation, whereas cuBLASLt rounds once.
//! GELU is the tanh approximation, as in cuBLASLt. Matrices are stored by columns and have 16-bit or 32-bit
//! floats; [`sys`] lists the supported attributes.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
