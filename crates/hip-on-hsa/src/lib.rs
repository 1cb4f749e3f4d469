//! The HIP function table implemented over any HSA function table.
#![warn(missing_docs)]
