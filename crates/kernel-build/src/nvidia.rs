//! Code for NVIDIA GPUs beside that for AMD's: PTX or cubins, by nvcc.

mod archs;
mod compile;
mod kernels;
mod search;

use std::ffi::OsString;
use std::path::PathBuf;

use code_object::embedded::CudaKind;

use crate::cuda_arch::CudaArch;
use crate::{Error, nvcc};

pub use archs::DEFAULT_CUDA_ARCHS;
pub(crate) use compile::Compiler;
pub use search::Nvcc;
pub(crate) use search::Search;

/// Variables that change what is built for NVIDIA GPUs: those of the search, of the architectures, and nvcc's own.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    std::iter::once(search::NVCC)
        .chain(search::ROOTS.iter().copied())
        .chain(archs::VARIABLES.iter().copied())
        .chain(compile::VARIABLES.iter().copied())
}

/// How a [`Builder`](crate::Builder) compiles its sources [for NVIDIA GPUs](crate::Builder::nvidia): to what, for which architectures,
/// by which nvcc.
#[derive(Debug)]
#[must_use = "`Builder::nvidia` takes it"]
pub struct Nvidia {
    pub(crate) kind: CudaKind,
    archs: Option<Result<Vec<CudaArch>, Error>>,
    pub(crate) options: Vec<OsString>,
    pub(crate) nvcc: Option<PathBuf>,
}

impl Nvidia {
    /// PTX, which NVIDIA's driver compiles for an architecture and all later ones when it loads it. One architecture is enough, then.
    pub fn ptx() -> Self {
        Self { kind: CudaKind::Ptx, archs: None, options: Vec::new(), nvcc: None }
    }

    /// Cubins: machine code for each architecture, which loads sooner and runs on GPUs of the same major version only.
    pub fn cubin() -> Self {
        Self { kind: CudaKind::Cubin, ..Self::ptx() }
    }

    /// Compiles for these architectures, such as `sm_80`, `sm_90a`, `80` or `8.0`.
    ///
    /// Where this is not called, they are those in the builder's flags (`-arch=sm_80`, `-gencode=arch=compute_80,code=sm_80`), else those
    /// of `FERROCM_CUDA_ARCHS`, else of `CUDA_COMPUTE_CAP`, each separated by commas, else [`DEFAULT_CUDA_ARCHS`]. The machine's own
    /// GPUs have no say, so that a build is the same everywhere. A bad name is an error of the build.
    pub fn archs<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.archs = Some(archs::parse("the caller's architectures", names));
        self
    }

    /// Adds an option for nvcc alone, after those of the builder.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.options.push(flag.into());
        self
    }

    /// Compiles with this nvcc instead of the one that is [found](crate::Builder::nvidia).
    pub fn nvcc(mut self, path: impl Into<PathBuf>) -> Self {
        self.nvcc = Some(path.into());
        self
    }

    /// What to compile for, given the options of the build.
    pub(crate) fn chosen_archs(&mut self, options: &[OsString]) -> Result<Vec<CudaArch>, Error> {
        if let Some(named) = self.archs.take() {
            return named;
        }
        let options: Vec<OsString> = options.iter().chain(&self.options).cloned().collect();
        let named = nvcc::archs(&options);
        if !named.is_empty() {
            return archs::parse("the flags", named);
        }
        archs::from_env()
    }
}
