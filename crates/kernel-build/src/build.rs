use std::path::PathBuf;
use std::time::Duration;

use code_object::embedded::CudaKind;
use code_object::{CodeObject, TargetId};
use device_compiler::toolchain::{NotFound, Toolchain};
use device_compiler::{Diagnostic, Severity};

use crate::{CudaArch, Nvcc, occupancy};

/// What a [`Builder`](crate::Builder) built.
#[derive(Clone, Debug)]
pub struct Build {
    /// One per source, sorted by path.
    pub modules: Vec<BuiltModule>,
    /// The targets, in the order given; those of single sources come last. Empty if nothing was built for AMD
    /// GPUs.
    pub targets: Vec<TargetId>,
    /// The architectures of NVIDIA GPUs, in the order given.
    pub cuda_archs: Vec<CudaArch>,
    /// The folder that source names are relative to, absolute.
    pub folder: PathBuf,
    /// The inputs, absolute: that folder, or the [files](crate::Builder::of_files) and the headers beside
    /// them.
    pub read: Vec<PathBuf>,
    /// The folders of headers, absolute.
    pub includes: Vec<PathBuf>,
    /// Folders of headers that do not exist. nvcc and clang ignore such folders, so the build only warns.
    pub missing_includes: Vec<PathBuf>,
    /// Further files and folders that the build depends on.
    pub watched: Vec<PathBuf>,
    /// The compiler for AMD GPUs.
    pub toolchain: Option<Toolchain>,
    /// The compiler for NVIDIA GPUs.
    pub nvcc: Option<Nvcc>,
    /// Why there is none, if nothing was built for NVIDIA GPUs
    /// [because of that](crate::Nvidia::if_nvcc_is_found).
    pub without_nvcc: Option<NotFound>,
}

/// A compiled source.
#[derive(Clone, Debug)]
pub struct BuiltModule {
    /// Position in [`Build::modules`].
    pub id: usize,
    /// Path below the folder, with `/` between parts, without extension.
    pub name: String,
    /// The name as a Rust identifier, lower case.
    pub ident: String,
    /// Path below the folder with `/` between parts.
    pub relative: String,
    /// Absolute path of the source.
    pub source: PathBuf,
    /// Names of the kernels of all targets, sorted.
    pub kernels: Vec<String>,
    /// One per target of the source, in the targets' order.
    pub objects: Vec<BuiltObject>,
    /// All of them in one file, if [requested](crate::Builder::offload_compress), with the code for NVIDIA
    /// GPUs if [that is](crate::Builder::bundle_nvidia).
    pub bundle: Option<BuiltBundle>,
    /// One per architecture of NVIDIA GPUs, in their order, or two: PTX and the cubin of it.
    pub images: Vec<BuiltImage>,
    /// All of them in one file, if [requested](crate::Nvidia::compress).
    pub cuda_bundle: Option<BuiltBundle>,
}

/// A source's code in a [compressed bundle](code_object::bundle).
#[derive(Clone, Debug)]
pub struct BuiltBundle {
    /// The file.
    pub bytes: Vec<u8>,
    /// blake3 hash of `bytes`, hexadecimal.
    pub hash: String,
}

/// A source's code for one target.
#[derive(Clone, Debug)]
pub struct BuiltObject {
    /// The target.
    pub target: TargetId,
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// blake3 hash of `bytes`, hexadecimal.
    pub hash: String,
    /// Its contents: kernels with registers, LDS, wave size and arguments.
    pub code_object: CodeObject,
    /// Warnings, those of a cached compilation included.
    pub diagnostics: Vec<Diagnostic>,
    /// It was in the cache.
    pub cached: bool,
    /// How long it took to compile, or to get from the cache.
    pub duration: Duration,
}

/// A source's code for one architecture of NVIDIA GPUs.
#[derive(Clone, Debug)]
pub struct BuiltImage {
    /// The architecture.
    pub arch: CudaArch,
    /// What it is.
    pub kind: CudaKind,
    /// The text or file.
    pub bytes: Vec<u8>,
    /// blake3 hash of `bytes`, hexadecimal.
    pub hash: String,
    /// Names of the kernels, sorted.
    pub kernels: Vec<String>,
    /// Warnings, those of a cached compilation included.
    pub diagnostics: Vec<Diagnostic>,
    /// It was in the cache.
    pub cached: bool,
    /// How long it took to compile, or to get from the cache.
    pub duration: Duration,
}

/// The resources that one kernel uses on one target.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KernelUse {
    /// Module name.
    pub module: String,
    /// Target id.
    pub target: String,
    /// Kernel name.
    pub kernel: String,
    /// Vector registers of a work-item.
    pub vgprs: u32,
    /// Accumulation registers of a work-item.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Static LDS of a workgroup, bytes.
    pub lds: u32,
    /// Scratch of a work-item, bytes.
    pub scratch: u32,
    /// Work-items of a wave.
    pub wave: u32,
    /// Vector registers that did not fit.
    pub vgpr_spills: u32,
    /// Scalar registers that did not fit.
    pub sgpr_spills: u32,
    /// Bytes of machine code; 0 if the code object does not say.
    pub code_bytes: u64,
    /// Waves that a SIMD unit holds at once, limited by registers, static LDS and workgroup size; `None` if
    /// the target's registers are unknown. Dynamic LDS may lower it.
    pub occupancy: Option<u32>,
}

impl Build {
    /// Whether everything came from the cache.
    #[must_use]
    pub fn all_cached(&self) -> bool {
        self.objects().all(|(_, object)| object.cached) && self.images().all(|(_, image)| image.cached)
    }

    /// All code objects with their modules.
    pub fn objects(&self) -> impl Iterator<Item = (&BuiltModule, &BuiltObject)> {
        self.modules.iter().flat_map(|module| module.objects.iter().map(move |object| (module, object)))
    }

    /// All code for NVIDIA GPUs with its modules.
    pub fn images(&self) -> impl Iterator<Item = (&BuiltModule, &BuiltImage)> {
        self.modules.iter().flat_map(|module| module.images.iter().map(move |image| (module, image)))
    }

    /// The same build as it would be without code for NVIDIA GPUs.
    #[must_use]
    pub fn for_amd_only(&self) -> Self {
        let mut build = self.clone();
        build.cuda_archs.clear();
        for module in &mut build.modules {
            module.images.clear();
            module.cuda_bundle = None;
        }
        build
    }

    /// The resources of each kernel on each AMD target: by module, by target, in the code object's order.
    pub fn kernel_uses(&self) -> impl Iterator<Item = KernelUse> {
        self.objects().flat_map(|(module, object)| {
            object.code_object.kernels().iter().map(|kernel| KernelUse {
                module: module.name.clone(),
                target: object.target.to_string(),
                kernel: kernel.name.clone(),
                vgprs: kernel.vgpr_count,
                agprs: kernel.agpr_count,
                sgprs: kernel.sgpr_count,
                lds: kernel.group_segment_size,
                scratch: kernel.private_segment_size,
                wave: kernel.wavefront_size,
                vgpr_spills: kernel.vgpr_spills,
                sgpr_spills: kernel.sgpr_spills,
                code_bytes: object.code_object.symbol(&kernel.name).map_or(0, |symbol| symbol.size),
                occupancy: occupancy::occupancy(&object.target, kernel),
            })
        })
    }

    /// The warnings of all compilations, each text once.
    #[must_use]
    pub fn warnings(&self) -> Vec<&Diagnostic> {
        let mut told: Vec<&Diagnostic> = Vec::new();
        let objects = self.objects().flat_map(|(_, object)| &object.diagnostics);
        for diagnostic in objects.chain(self.images().flat_map(|(_, image)| &image.diagnostics)) {
            if diagnostic.severity >= Severity::Warning && !told.contains(&diagnostic) {
                told.push(diagnostic);
            }
        }
        told
    }
}
