//! What libraries are part of, and where such software is installed.

/// The software that a library is part of. It says where the library may be besides the places that the
/// system's loader searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stack {
    /// None: a driver's library, which is where the system's loader finds it.
    Alone,
    /// AMD's ROCm.
    Rocm,
    /// NVIDIA's CUDA toolkit and the libraries over it.
    Cuda,
}

/// Where a stack is installed.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Its libraries without their versions. Those of one release are in the same folder.
    pub(crate) libraries: &'static [&'static str],
    /// The variables that name the root of an installation.
    pub(crate) variables: &'static [&'static str],
    /// The folder with installations, and the one that is the machine's choice if there are several.
    pub(crate) usual: Folder,
    pub(crate) chosen: &'static str,
    /// Folders with further installations, and what the names of these start with.
    pub(crate) versions: &'static [(&'static str, &'static str)],
    /// Whether its folders have the libraries of several systems below `targets`.
    pub(crate) has_targets: bool,
    /// The folders of its Python packages, in the order to try.
    pub(crate) packages: &'static [Package],
}

/// A folder below the root, as errors name it.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
}

/// Folders of Python packages.
#[derive(Debug)]
pub(crate) enum Package {
    /// One with this name, or several whose names go on after an underscore. The variable chooses the one
    /// that goes first.
    Variants { name: &'static str, chosen_by: Option<&'static str> },
    /// Each folder in the one with this name.
    Within(&'static str),
    /// The one with this name.
    Named(&'static str),
}

static ROCM: Layout = Layout {
    libraries: &["libamdhip64", "libhsa-runtime64", "libhiprtc", "librocblas", "librccl", "libamd_comgr"],
    variables: &["ROCM_PATH", "HIP_PATH"],
    usual: Folder { name: "/opt", path: "opt" },
    chosen: "rocm",
    // Since 7.14 the versions are in one folder: /opt/rocm/core-7.14.
    versions: &[("", "rocm-"), ("rocm", "core-")],
    has_targets: false,
    packages: &[
        Package::Variants { name: "_rocm_sdk_core", chosen_by: None },
        Package::Variants { name: "_rocm_sdk_libraries", chosen_by: Some("ROCM_SDK_TARGET_FAMILY") },
        Package::Named("torch"),
    ],
};

static CUDA: Layout = Layout {
    libraries: &["libcudart", "libnvrtc", "libcublas", "libcublasLt", "libnccl"],
    variables: &["CUDA_PATH", "CUDA_HOME"],
    usual: Folder { name: "/usr/local", path: "usr/local" },
    chosen: "cuda",
    versions: &[("", "cuda-")],
    has_targets: true,
    // nvidia/cublas, nvidia/nccl, and since CUDA 13 nvidia/cu13 for the toolkit.
    packages: &[Package::Within("nvidia"), Package::Named("torch")],
};

impl Stack {
    /// Where it is installed; `None` if the system's loader knows.
    pub(crate) fn layout(self) -> Option<&'static Layout> {
        match self {
            Stack::Alone => None,
            Stack::Rocm => Some(&ROCM),
            Stack::Cuda => Some(&CUDA),
        }
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stack::Alone => "",
            Stack::Rocm => "ROCm",
            Stack::Cuda => "CUDA",
        }
    }
}
