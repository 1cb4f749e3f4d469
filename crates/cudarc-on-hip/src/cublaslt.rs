//! Products of matrices with a bias and an activation, over rocBLAS and a kernel for what follows it.
//!
//! The product is rounded to the type of the result before bias and activation, where cuBLASLt rounds once. GELU is the approximation by tanh, as
//! there. Matrices are by columns, of 16-bit and 32-bit floats; [`sys`] says which attributes there are.

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
