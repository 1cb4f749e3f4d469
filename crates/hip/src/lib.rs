//! Safe HIP for Rust: devices, streams, buffers and checked kernel launches on AMD and virtual GPUs.
#![warn(missing_docs)]
