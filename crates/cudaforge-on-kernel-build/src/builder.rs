use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use code_object::text;
use kernel_build::{Build, Builder, BuiltModule, Nvidia};

use crate::error::io;
use crate::{ComputeCapability, DependencyManager, Error, ParallelConfig, Result, SourceSelector};

/// Cargo's variable for the output folder of a script.
const OUT_DIR: &str = "OUT_DIR";
/// An empty archive and its name: scripts link CUDA's runtime, which host code for AMD GPUs does not call.
const RUNTIME: (&str, &[u8]) = ("libcudart.a", b"!<arch>\n");

/// Compiles CUDA sources for AMD GPUs, and for NVIDIA GPUs if `FERROCM_CUDA_ARCHS` names architectures, as
/// text for constants or as a static library.
#[derive(Clone, Debug)]
pub struct KernelBuilder {
    sources: SourceSelector,
    caps: ComputeCapability,
    dependencies: DependencyManager,
    parallel: ParallelConfig,
    out_dir: PathBuf,
    args: Vec<String>,
}

impl Default for KernelBuilder {
    fn default() -> Self {
        Self {
            sources: SourceSelector::new(),
            caps: ComputeCapability::new(),
            dependencies: DependencyManager::new(),
            parallel: ParallelConfig::new(),
            out_dir: std::env::var_os(OUT_DIR).map_or_else(|| PathBuf::from("target/debug"), PathBuf::from),
            args: Vec::new(),
        }
    }
}

impl KernelBuilder {
    /// Compiles all files that match `src/**/*.cu`, unless sources are named, and writes to `OUT_DIR`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the `.cu` files in a folder and below.
    #[must_use]
    pub fn source_dir<P: AsRef<Path>>(mut self, dir: P) -> Self {
        self.sources = self.sources.add_directory(dir);
        self
    }

    /// Adds files.
    #[must_use]
    pub fn source_files<I, P>(mut self, files: I) -> Self
    where
        I: IntoIterator<Item = P>,
        P: AsRef<Path>,
    {
        self.sources = self.sources.add_files(files);
        self
    }

    /// Adds the `.cu` files that match a pattern.
    #[must_use]
    pub fn source_glob(mut self, pattern: &str) -> Self {
        self.sources = self.sources.add_glob(pattern);
        self
    }

    /// Leaves files out: [`SourceSelector::exclude`].
    #[must_use]
    pub fn exclude(mut self, patterns: &[&str]) -> Self {
        self.sources = self.sources.exclude(patterns);
        self
    }

    /// Makes Cargo watch these files and folders, too.
    #[must_use]
    pub fn watch<I, P>(mut self, paths: I) -> Self
    where
        I: IntoIterator<Item = P>,
        P: AsRef<Path>,
    {
        self.sources = self.sources.watch(paths);
        self
    }

    /// Sets what [`get_compute_cap`](Self::get_compute_cap) returns. The code does not depend on it.
    #[must_use]
    pub fn compute_cap(mut self, cap: usize) -> Self {
        self.caps = self.caps.with_default(cap);
        self
    }

    /// As [`compute_cap`](Self::compute_cap), [from text](crate::GpuArch::parse).
    #[must_use]
    pub fn compute_cap_arch(mut self, arch: &str) -> Self {
        self.caps = self.caps.with_default_arch(arch);
        self
    }

    /// Changes nothing: the code does not depend on compute capabilities.
    #[must_use]
    pub fn with_compute_override(mut self, pattern: &str, cap: usize) -> Self {
        self.caps = self.caps.with_override(pattern, cap);
        self
    }

    /// Changes nothing: the code does not depend on compute capabilities.
    #[must_use]
    pub fn with_compute_override_arch(mut self, pattern: &str, arch: &str) -> Self {
        self.caps = self.caps.with_override_arch(pattern, arch);
        self
    }

    /// The compute capability times ten, or `None` if `CUDA_COMPUTE_CAP` is invalid.
    #[must_use]
    pub fn get_compute_cap(&self) -> Option<usize> {
        self.caps.get_default().ok().map(|arch| arch.base)
    }

    /// As [`compute_cap`](Self::compute_cap); overrides for single files are removed.
    pub fn set_compute_cap(&mut self, cap: usize) {
        self.caps = ComputeCapability::new().with_default(cap);
    }

    /// Fails if there is no compute capability: here, only if `CUDA_COMPUTE_CAP` is invalid.
    ///
    /// # Errors
    /// [`Error::ComputeCapDetectionFailed`]
    pub fn require_explicit_compute_cap(self) -> Result<Self> {
        self.caps.get_default()?;
        Ok(self)
    }

    /// Adds [CUTLASS's](crate::ExternalDependency::cutlass) headers, and defines `USE_CUTLASS`.
    #[must_use]
    pub fn with_cutlass(mut self, commit: Option<&str>) -> Self {
        self.dependencies = self.dependencies.with_cutlass(commit);
        self
    }

    /// Adds the headers of a git repository.
    #[must_use]
    pub fn with_git_dependency(
        mut self,
        name: &str,
        repo: &str,
        commit: &str,
        include_paths: Vec<&str>,
        extra_paths: Vec<&str>,
        recurse_submodules: bool,
    ) -> Self {
        self.dependencies = self.dependencies.with_git_dependency(
            name,
            repo,
            commit,
            include_paths,
            extra_paths,
            recurse_submodules,
        );
        self
    }

    /// Fetches one of the git repositories, and returns its folder.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if there is no repository of this name, [`Error::GitOperationFailed`] and
    /// [`Error::Io`].
    pub fn fetch_git_dependency(&self, name: &str) -> Result<PathBuf> {
        self.dependencies.fetch_dependency(name, &self.out_dir)
    }

    /// Adds a folder of headers.
    #[must_use]
    pub fn include_path<P: Into<PathBuf>>(mut self, path: P) -> Self {
        self.dependencies = self.dependencies.with_local_include(path);
        self
    }

    /// Runs compilers on this fraction of the processors' threads, from 0 to 1.
    #[must_use]
    pub fn thread_percentage(mut self, percentage: f32) -> Self {
        self.parallel = self.parallel.with_percentage(percentage);
        self
    }

    /// Runs at most this many compilers at once.
    #[must_use]
    pub fn max_threads(mut self, max: usize) -> Self {
        self.parallel = self.parallel.with_max_threads(max);
        self
    }

    /// Changes nothing: a compiler has one thread.
    #[must_use]
    pub fn nvcc_thread_patterns<S: AsRef<str>>(mut self, patterns: &[S], num_nvcc_threads: usize) -> Self {
        self.parallel = self.parallel.with_nvcc_thread_patterns(patterns, num_nvcc_threads);
        self
    }

    /// Writes to this folder instead of `OUT_DIR`.
    #[must_use]
    pub fn out_dir<P: Into<PathBuf>>(mut self, dir: P) -> Self {
        self.out_dir = dir.into();
        self
    }

    /// Adds an nvcc option: [`kernel_build::Builder::flag`] says how it is translated.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Adds options.
    #[must_use]
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Changes nothing: cached code always has the same files and options.
    #[must_use]
    pub fn no_incremental(self) -> Self {
        self
    }

    /// Changes nothing: CUDA is not needed.
    #[must_use]
    pub fn cuda_root<P: AsRef<Path>>(self, _path: P) -> Self {
        self
    }

    /// Writes host code and kernels to a static library. The script tells Cargo to link it, as with
    /// cudaforge.
    ///
    /// With code for NVIDIA GPUs, the code in it is compressed.
    ///
    /// It also writes an empty `libcudart.a` next to it, for `cargo:rustc-link-lib=dylib=cudart`.
    ///
    /// # Errors
    /// [`Error`]
    pub fn build_lib<P: Into<PathBuf>>(&self, out_file: P) -> Result<()> {
        let path = out_file.into();
        // PTX is long.
        let has_ptx = !matches!(variables::CUDA_ARCHS.text(), Ok(None));
        self.builder()?.link(false).offload_compress(has_ptx).build_lib(&path)?;
        let runtime = path.with_file_name(RUNTIME.0);
        std::fs::write(&runtime, RUNTIME.1).map_err(|error| io("write", &runtime, &error))
    }

    /// Compiles each source and writes its code as text to a file with the extension `ptx`.
    ///
    /// # Errors
    /// [`Error`]; it is [`Error::InvalidConfig`] if two sources have the same name.
    pub fn build_ptx(&self) -> Result<PtxOutput> {
        let build = self.builder()?.offload_compress(true).bundle_nvidia(true).build_and_tell()?;
        std::fs::create_dir_all(&self.out_dir)
            .map_err(|error| io("make the folder", &self.out_dir, &error))?;
        let names = self.write_texts(&build)?;
        Ok(PtxOutput { names, out_dir: self.out_dir.clone() })
    }

    fn write_texts(&self, build: &Build) -> Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        let mut taken = HashSet::new();
        for module in &build.modules {
            let name = name(module);
            if !taken.insert(constant(&name)) {
                return Err(Error::InvalidConfig(format!(
                    "two sources would give the constant {}",
                    constant(&name)
                )));
            }
            let bundle = module.bundle.as_ref().map(|bundle| &bundle.bytes[..]).unwrap_or_default();
            let path = self.out_dir.join(format!("{name}.ptx"));
            std::fs::write(&path, text::encode(bundle)).map_err(|error| io("write", &path, &error))?;
            names.push(name);
        }
        Ok(names)
    }

    fn builder(&self) -> Result<Builder> {
        // No feature of the engine's crate can ask for NVIDIA's code, so only the variable does.
        let nvidia = Nvidia::ptx_and_cubin().if_nvcc_is_found();
        let mut builder = Builder::of_files(self.sources.resolve()?).jobs(self.parallel.thread_count());
        builder = builder.nvidia_if_named(nvidia);
        for folder in self.dependencies.fetch_folders(&self.out_dir)? {
            builder = builder.include(folder);
        }
        if self.dependencies.has_cutlass() {
            builder = builder.flag("-DUSE_CUTLASS");
        }
        for path in self.sources.watch_paths() {
            builder = builder.watch(path);
        }
        for arg in &self.args {
            builder = builder.flag(arg);
        }
        Ok(builder)
    }
}

/// A source's name without folder and extension.
fn name(module: &BuiltModule) -> String {
    module.source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The constant for a source.
fn constant(name: &str) -> String {
    name.to_uppercase().replace(['.', '-'], "_")
}

/// What [`KernelBuilder::build_ptx`] wrote.
#[derive(Clone, Debug)]
pub struct PtxOutput {
    names: Vec<String>,
    out_dir: PathBuf,
}

impl PtxOutput {
    /// Writes a Rust file with a constant for each source: `pub const SOFTMAX: &str`, from `softmax.cu`.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write<P: AsRef<Path>>(&self, out: P) -> Result<()> {
        let out = out.as_ref();
        std::fs::write(out, self.rust()).map_err(|error| io("write", out, &error))
    }

    fn rust(&self) -> String {
        let is_out = std::env::var_os(OUT_DIR).is_some_and(|folder| Path::new(&folder) == self.out_dir);
        let mut text = String::new();
        for name in &self.names {
            let file = format!("{name}.ptx");
            // With this, the compiler still finds the folder if the build is moved.
            let path = match is_out {
                true => format!("concat!(env!(\"{OUT_DIR}\"), {:?})", format!("/{file}")),
                false => format!("{:?}", self.out_dir.join(file)),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "pub const {}: &str = include_str!({path});", constant(name));
        }
        text
    }
}
