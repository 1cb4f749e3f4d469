//! Additional code for NVIDIA GPUs: PTX or cubins, compiled by nvcc.

mod archs;
mod compile;
mod kernels;

use std::ffi::OsString;
use std::path::PathBuf;

use code_object::embedded::CudaKind;
use device_compiler::nvcc as search;

use crate::cuda_arch::CudaArch;
use crate::{Error, nvcc};

pub use archs::DEFAULT_CUDA_ARCHS;
pub(crate) use archs::parse;
pub(crate) use compile::Compiler;

/// Variables that affect builds for NVIDIA GPUs: those of the search, of the architectures, and nvcc's own.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    std::iter::once(search::NVCC)
        .chain(search::ROOTS.iter().copied())
        .chain(archs::VARIABLES.iter().copied())
        .chain(compile::VARIABLES.iter().copied())
}

/// Whether `FERROCM_CUDA_ARCHS` has a value, be it a bad one.
pub(crate) fn is_named() -> bool {
    !matches!(variables::CUDA_ARCHS.text(), Ok(None))
}

/// The architectures that the variables name.
pub(crate) fn named() -> Result<Vec<CudaArch>, Error> {
    archs::from_env(&[])
}

/// The variables that name architectures, in words.
pub(crate) fn naming_variables() -> String {
    archs::VARIABLES.join(" or ")
}

/// How a [`Builder`](crate::Builder) compiles its sources [for NVIDIA GPUs](crate::Builder::nvidia): the kind
/// of code, the architectures, and the nvcc.
#[derive(Debug)]
#[must_use = "`Builder::nvidia` takes it"]
pub struct Nvidia {
    /// PTX first.
    pub(crate) kinds: &'static [CudaKind],
    archs: Option<Result<Vec<CudaArch>, Error>>,
    default_archs: Vec<String>,
    pub(crate) is_optional: bool,
    pub(crate) compress: bool,
    pub(crate) options: Vec<OsString>,
    pub(crate) nvcc: Option<PathBuf>,
}

impl Nvidia {
    /// PTX, which NVIDIA's driver compiles on loading, for its architecture and all later ones. So one
    /// architecture is enough.
    pub fn ptx() -> Self {
        Self {
            kinds: &[CudaKind::Ptx],
            archs: None,
            default_archs: DEFAULT_CUDA_ARCHS.iter().map(|&name| name.to_owned()).collect(),
            is_optional: false,
            compress: false,
            options: Vec::new(),
            nvcc: None,
        }
    }

    /// Cubins: machine code for each architecture, which loads faster and runs only on GPUs of the same major
    /// version.
    pub fn cubin() -> Self {
        Self { kinds: &[CudaKind::Cubin], ..Self::ptx() }
    }

    /// Both for each architecture. The cubin is made from the PTX. GPUs of the same major version load it,
    /// and the driver compiles the PTX for later ones. There are none for an architecture whose features are
    /// its own (`sm_90a`) or its family's (`sm_100f`), so that its PTX is left out
    /// ([`ptx_reaches_further`](code_object::cuda_arch::ptx_reaches_further)).
    pub fn ptx_and_cubin() -> Self {
        Self { kinds: &[CudaKind::Ptx, CudaKind::Cubin], ..Self::ptx() }
    }

    /// Compiles for these architectures, such as `sm_80`, `sm_90a`, `80` or `8.0`.
    ///
    /// Without this call, the architectures are those in the builder's flags (`-arch=sm_80`,
    /// `-gencode=arch=compute_80,code=sm_80`), else those of `FERROCM_CUDA_ARCHS`, else of
    /// `CUDA_COMPUTE_CAP`, each separated by commas, else [`DEFAULT_CUDA_ARCHS`]. The machine's own GPUs do
    /// not matter, so that a build is the same everywhere. The build fails for a bad name.
    pub fn archs<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.archs = Some(archs::parse("the caller's architectures", names));
        self
    }

    /// Compiles for these architectures, instead of for [`DEFAULT_CUDA_ARCHS`], if nobody names any: neither
    /// [`archs`](Self::archs) nor a flag nor a variable.
    pub fn default_archs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.default_archs = names.into_iter().map(Into::into).collect();
        self
    }

    /// Builds nothing for NVIDIA GPUs on a machine without nvcc, instead of failing. A build script warns
    /// once and says what to do; [`Build::without_nvcc`](crate::Build::without_nvcc) has the places that were
    /// tried. It still fails if `NVCC` or [`nvcc`](Self::nvcc) names one that does not work.
    pub fn if_nvcc_is_found(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Whether a source's code for all architectures goes into one compressed bundle, apart from that of its
    /// [code for AMD GPUs](crate::Builder::offload_compress). Off by default. A module is unpacked when it is
    /// loaded. The generated file then has no PTX as text.
    pub fn compress(mut self, compress: bool) -> Self {
        self.compress = compress;
        self
    }

    /// Adds an option for nvcc only, after those of the builder.
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
        archs::from_env(&self.default_archs)
    }
}
