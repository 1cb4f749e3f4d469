use std::path::PathBuf;
use std::time::Duration;

use code_object::{CodeObject, TargetId};

use crate::toolchain::Toolchain;
use crate::{Diagnostic, Severity, report};

/// What a [`Builder`](crate::Builder) built.
#[derive(Clone, Debug)]
pub struct Build {
    /// One per source, sorted by path.
    pub modules: Vec<BuiltModule>,
    /// The targets, in the order in which they were named; those of single sources come last.
    pub targets: Vec<TargetId>,
    /// The sources' folder, absolute.
    pub folder: PathBuf,
    /// The folders of headers, absolute.
    pub includes: Vec<PathBuf>,
    /// Further files and folders that the build depends on.
    pub watched: Vec<PathBuf>,
    /// What it was compiled with.
    pub toolchain: Toolchain,
}

/// A compiled source.
#[derive(Clone, Debug)]
pub struct BuiltModule {
    /// Position in [`Build::modules`].
    pub id: usize,
    /// Path below the folder with `/` between parts, without extension.
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
    /// What is in it: kernels with registers, LDS, wave size and arguments.
    pub code_object: CodeObject,
    /// Warnings, those of a cached compilation included.
    pub diagnostics: Vec<Diagnostic>,
    /// It was in the cache.
    pub cached: bool,
    /// How long it took to compile, or to get from the cache.
    pub duration: Duration,
}

/// What one kernel uses on one target.
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
    /// Machine code, bytes; 0 if the code object does not say.
    pub code_bytes: u64,
    /// Waves that a SIMD unit holds at once, as registers, static LDS and the size of workgroups allow; `None` where the target's
    /// registers are not known. Dynamic LDS may leave room for fewer.
    pub occupancy: Option<u32>,
}

impl Build {
    /// Whether everything came from the cache.
    #[must_use]
    pub fn all_cached(&self) -> bool {
        self.objects().all(|(_, object)| object.cached)
    }

    /// All objects with their modules.
    pub fn objects(&self) -> impl Iterator<Item = (&BuiltModule, &BuiltObject)> {
        self.modules.iter().flat_map(|module| module.objects.iter().map(move |object| (module, object)))
    }

    /// What each kernel uses on each target: by module, target, and in the code object's order.
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
                occupancy: report::occupancy(&object.target, kernel),
            })
        })
    }

    /// The warnings of all objects, each text once.
    #[must_use]
    pub fn warnings(&self) -> Vec<&Diagnostic> {
        let mut told: Vec<&Diagnostic> = Vec::new();
        for diagnostic in self.objects().flat_map(|(_, object)| &object.diagnostics) {
            if diagnostic.severity >= Severity::Warning && !told.contains(&diagnostic) {
                told.push(diagnostic);
            }
        }
        told
    }
}
