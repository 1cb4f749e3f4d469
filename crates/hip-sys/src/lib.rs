//! Raw bindings to AMD's HIP runtime: generated types and a function table loaded at run time.
#![warn(missing_docs)]
