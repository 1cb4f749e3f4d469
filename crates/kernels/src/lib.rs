//! Ready-made GPU kernels for AMD targets, embedded and launched through typed wrappers.
#![warn(missing_docs)]
