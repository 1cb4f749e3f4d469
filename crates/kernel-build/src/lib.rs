//! Compiles CUDA-dialect kernels for many AMD targets and embeds the code objects.
#![warn(missing_docs)]
