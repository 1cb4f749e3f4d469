//! One source for one architecture: through the cache or through nvcc.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use code_object::cuda_arch;
use code_object::embedded::CudaKind;
use device_compiler::cache::{Cache, Dependencies, Entry};
use device_compiler::nvcc::Nvcc;
use device_compiler::{Diagnostic, diagnostics};

use super::kernels;
use crate::compile::{Failed, Plan, failure};
use crate::inputs::{Inputs, headers_of, headers_of_all, part};

use crate::{BuiltImage, CudaArch, Error, Target, nvcc};

/// Changes when the same inputs would give different results.
const SCHEMA: &str = "ferrocm nvcc cache 2";

/// Variables that nvcc itself reads.
pub(super) const VARIABLES: &[&str] = &["NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// Shared by all jobs of a build.
pub(crate) struct Compiler<'a> {
    nvcc: &'a Nvcc,
    cache: &'a Cache,
    inputs: &'a Inputs<'a>,
    kinds: &'a [CudaKind],
    pub(crate) archs: Vec<CudaArch>,
    /// The options of the build, then those for nvcc only.
    options: [Vec<OsString>; 2],
    base: blake3::Hash,
}

/// The result of an nvcc run.
struct Compiled {
    bytes: Vec<u8>,
    /// The inputs; `None` if they changed in the meantime.
    inputs: Option<Dependencies>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        nvcc: &'a Nvcc,
        cache: &'a Cache,
        inputs: &'a Inputs<'a>,
        kinds: &'a [CudaKind],
        archs: Vec<CudaArch>,
        options: [&[OsString]; 2],
    ) -> Result<Self, Error> {
        let options = options.map(nvcc::for_nvcc);
        let mut base = blake3::Hasher::new();
        part(&mut base, SCHEMA.as_bytes());
        part(&mut base, nvcc.version_text.as_bytes());
        for name in VARIABLES {
            part(&mut base, std::env::var_os(name).unwrap_or_default().as_encoded_bytes());
        }
        for options in &options {
            for option in options {
                part(&mut base, option.as_encoded_bytes());
            }
            part(&mut base, b"");
        }
        // PTX may name the folders.
        headers_of_all(&mut base, inputs.includes, None)?;
        for dir in inputs.beside {
            headers_of(&mut base, dir, None)?;
        }
        Ok(Self { nvcc, cache, inputs, kinds, archs, options, base: base.finalize() })
    }

    /// Gets a source's code for an architecture, one image of each kind that serves a GPU.
    pub(crate) fn compile(&self, plan: &Plan<'_>, arch: &CudaArch) -> Result<Vec<BuiltImage>, Failed> {
        if let [kind] = self.kinds {
            return Ok(vec![self.compile_source(plan, arch, *kind)?]);
        }
        let ptx = self.compile_source(plan, arch, CudaKind::Ptx)?;
        let cubin = self.compile_ptx(plan, arch, &ptx)?;
        let is_needed = cuda_arch::ptx_reaches_further(&arch.to_string());
        Ok(is_needed.then_some(ptx).into_iter().chain([cubin]).collect())
    }

    fn compile_source(&self, plan: &Plan<'_>, arch: &CudaArch, kind: CudaKind) -> Result<BuiltImage, Failed> {
        let source = &plan.source.path;
        let hash = self.inputs.hash(source);
        let hash = hash.ok_or_else(|| Error::io("read", source, std::io::ErrorKind::NotFound.into()))?;
        let mut key = blake3::Hasher::new();
        part(&mut key, self.base.as_bytes());
        // nvcc derives names from the path.
        for known in [hash.as_bytes(), source.as_os_str().as_encoded_bytes()] {
            part(&mut key, known);
        }
        part(&mut key, format!("{arch} {kind:?}").as_bytes());
        self.through_cache(plan, arch, kind, key, |work| self.run(plan, arch, kind, source, work))
    }

    /// Gets the cubin of a source's PTX.
    fn compile_ptx(&self, plan: &Plan<'_>, arch: &CudaArch, ptx: &BuiltImage) -> Result<BuiltImage, Failed> {
        let kind = CudaKind::Cubin;
        let mut key = blake3::Hasher::new();
        part(&mut key, self.base.as_bytes());
        part(&mut key, ptx.hash.as_bytes());
        part(&mut key, format!("{arch} {kind:?} of PTX").as_bytes());
        self.through_cache(plan, arch, kind, key, |work| {
            let file = work.join("source.ptx");
            std::fs::write(&file, &ptx.bytes).map_err(|e| Error::io("write", &file, e))?;
            self.run(plan, arch, kind, &file, work)
        })
    }

    /// Gets an image from the cache, else compiles it in a folder.
    fn through_cache(
        &self,
        plan: &Plan<'_>,
        arch: &CudaArch,
        kind: CudaKind,
        mut key: blake3::Hasher,
        compile: impl FnOnce(&Path) -> Result<Compiled, Failed>,
    ) -> Result<BuiltImage, Failed> {
        let begin = Instant::now();
        for option in &plan.nvcc_options {
            part(&mut key, option.as_encoded_bytes());
        }
        let key = key.finalize().to_hex();

        let image = |bytes, hash, kernels, diagnostics, cached| BuiltImage {
            arch: arch.clone(),
            kind,
            bytes,
            hash,
            kernels,
            diagnostics,
            cached,
            duration: begin.elapsed(),
        };
        // An entry that is not such code is replaced by every build that finds it.
        let _turn = match self.cache.lookup_or_turn(&key, |path| self.inputs.hash(path)) {
            Err(turn) => Some(turn),
            Ok((entry, bytes)) => match Self::kernels(plan, arch, kind, &bytes) {
                Err(_) => None,
                Ok(kernels) => return Ok(image(bytes, entry.object, kernels, entry.diagnostics, true)),
            },
        };
        let work = self.cache.work_folder()?;
        let Compiled { bytes, inputs, diagnostics } = compile(work.path())?;
        let kernels = Self::kernels(plan, arch, kind, &bytes)?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        if let Some(inputs) = inputs {
            let diagnostics = diagnostics.clone();
            let entry = Entry { inputs, object: hash.clone(), diagnostics, ..Entry::default() };
            self.cache.store(&key, entry, &bytes)?;
        }
        Ok(image(bytes, hash, kernels, diagnostics, false))
    }

    /// Runs nvcc on the source, or on PTX of it.
    fn run(
        &self,
        plan: &Plan<'_>,
        arch: &CudaArch,
        kind: CudaKind,
        source: &Path,
        work: &Path,
    ) -> Result<Compiled, Failed> {
        let is_ptx = source != plan.source.path;
        let (output, deps) = (work.join("out"), work.join("out.d"));
        let mut command = Command::new(&self.nvcc.path);
        command.env("LC_ALL", "C").env("TMPDIR", work);
        command.arg(match kind {
            CudaKind::Ptx => "--ptx",
            CudaKind::Cubin => "--cubin",
        });
        command.arg(format!("-arch={arch}"));
        for include in self.inputs.includes {
            command.arg("-I").arg(include);
        }
        let [common, own] = &self.options;
        command.args(common).args(&plan.nvcc_options).args(own);
        if !is_ptx {
            command.args(["-MD", "-MT", "out", "-MF"]).arg(&deps);
        }
        command.arg("-o").arg(&output).arg(source);
        let program = || self.nvcc.path.clone();
        let ran = command.output().map_err(|e| Error::program(program(), e))?;
        let text = [ran.stdout, ran.stderr].concat();
        let text = diagnostics::without_counts(&String::from_utf8_lossy(&text));
        if !ran.status.success() {
            return Err(failure(
                plan.source,
                Target::Nvidia(arch.clone()),
                &ran.status,
                text,
                program(),
                work,
            ));
        }
        let bytes = std::fs::read(&output).map_err(|e| Error::io("read", &output, e))?;
        let inputs = match is_ptx {
            true => Some(Dependencies::default()),
            false => self.inputs.listed(&deps, |path| path == source)?,
        };
        Ok(Compiled { bytes, inputs, diagnostics: Diagnostic::read_all(&text) })
    }

    /// The kernels in nvcc's output; reading them also checks it.
    fn kernels(plan: &Plan<'_>, arch: &CudaArch, kind: CudaKind, bytes: &[u8]) -> Result<Vec<String>, Error> {
        let found = match kind {
            CudaKind::Ptx => kernels::of_ptx(bytes),
            CudaKind::Cubin => kernels::of_cubin(bytes),
        };
        found.map_err(|reason| Error::Output {
            source_file: plan.source.path.clone(),
            target: Target::Nvidia(arch.clone()),
            reason,
        })
    }
}
