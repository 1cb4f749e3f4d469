//! The targets of sources.

use std::fmt;

use code_object::TargetId;

use crate::cuda_arch::CudaArch;

/// What a source is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// AMD GPUs.
    Amd(TargetId),
    /// NVIDIA GPUs.
    Nvidia(CudaArch),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amd(target) => target.fmt(f),
            Self::Nvidia(arch) => arch.fmt(f),
        }
    }
}
