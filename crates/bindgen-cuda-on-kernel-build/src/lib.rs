//! bindgen_cuda's API over that of its successor [`cudaforge`]: build scripts that compile CUDA kernels with
//! nvcc compile them for AMD GPUs, unchanged.
//!
//! ```toml
//! [patch.crates-io]
//! bindgen_cuda = { git = "https://github.com/ferrocm/ferrocm" }
//! ```
//!
//! See [`cudaforge`] for the output and the differences. Where bindgen_cuda panics, this crate ends the build
//! script and prints the same text as a Cargo error.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::path::{Path, PathBuf};

use cudaforge::{KernelBuilder, PtxOutput, SourceSelector};

/// An error that cannot happen.
#[derive(Debug)]
pub enum Error {}

/// Compiles CUDA sources for AMD GPUs.
#[derive(Debug)]
pub struct Builder {
    builder: KernelBuilder,
    kernels: Vec<PathBuf>,
    headers: Vec<PathBuf>,
}

impl Default for Builder {
    /// Compiles all files that match `src/**/*.cu`, with the headers that match `src/**/*.cuh`.
    fn default() -> Self {
        let kernels = SourceSelector::new().resolve().unwrap_or_else(|error| exit(&error));
        Self { builder: KernelBuilder::new(), kernels, headers: cudaforge::collect_headers(&["src"]) }
    }
}

impl Builder {
    /// Compiles only these files.
    #[must_use]
    pub fn kernel_paths<P: Into<PathBuf>>(mut self, paths: Vec<P>) -> Self {
        self.kernels = there(paths);
        self
    }

    /// Compiles only the `.cu` files that match a pattern.
    #[must_use]
    pub fn kernel_paths_glob(mut self, glob: &str) -> Self {
        let found = SourceSelector::new().add_glob(glob).resolve();
        self.kernels = found.unwrap_or_else(|error| exit(&error));
        self
    }

    /// Makes Cargo watch these files and folders, too.
    #[must_use]
    pub fn watch<T, P>(mut self, paths: T) -> Self
    where
        T: IntoIterator<Item = P>,
        P: Into<PathBuf>,
    {
        self.builder = self.builder.watch(there(paths));
        self
    }

    /// Looks for headers only in the folders of these headers, or in these folders.
    #[must_use]
    pub fn include_paths<P: Into<PathBuf>>(mut self, paths: Vec<P>) -> Self {
        self.headers = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Looks for headers only in the folders below this one. The end of the pattern says which files are
    /// headers: `src/**/*.cuh`.
    #[must_use]
    pub fn include_paths_glob(mut self, glob: &str) -> Self {
        let folder: PathBuf = Path::new(glob)
            .components()
            .take_while(|part| !part.as_os_str().to_string_lossy().contains('*'))
            .collect();
        self.headers = cudaforge::collect_headers(&[folder]);
        self
    }

    /// Writes into this folder instead of `OUT_DIR`.
    #[must_use]
    pub fn out_dir<P: Into<PathBuf>>(mut self, out_dir: P) -> Self {
        self.builder = self.builder.out_dir(out_dir);
        self
    }

    /// Adds an nvcc option.
    #[must_use]
    pub fn arg(mut self, arg: &'static str) -> Self {
        self.builder = self.builder.arg(arg);
        self
    }

    /// Changes nothing: CUDA is not needed.
    pub fn cuda_root<P: Into<PathBuf>>(&mut self, _path: P) {}

    /// Changes nothing: the code does not depend on compute capabilities.
    #[must_use]
    pub fn compute_cap(self, _compute_cap: usize) -> Self {
        self
    }

    /// Writes host code and kernels into a static library. The script tells Cargo to link it, as with
    /// bindgen_cuda.
    pub fn build_lib<P: Into<PathBuf>>(self, out_file: P) {
        self.ready().build_lib(out_file).unwrap_or_else(|error| exit(&error));
    }

    /// Compiles each source and writes its code as text to a file with the extension `ptx`.
    ///
    /// # Errors
    /// None.
    pub fn build_ptx(self) -> Result<Bindings, Error> {
        Ok(Bindings(self.ready().build_ptx().unwrap_or_else(|error| exit(&error))))
    }

    fn ready(self) -> KernelBuilder {
        let mut folders = Vec::new();
        for path in self.headers {
            let folder =
                if path.is_dir() { path } else { path.parent().map(Path::to_owned).unwrap_or_default() };
            // A name without a folder.
            let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        let builder = self.builder.source_files(self.kernels);
        folders.into_iter().fold(builder, KernelBuilder::include_path)
    }
}

/// What [`Builder::build_ptx`] wrote.
#[derive(Debug)]
pub struct Bindings(PtxOutput);

impl Bindings {
    /// Writes a Rust file with a constant for each source: `pub const SOFTMAX: &str`, from `softmax.cu`.
    ///
    /// # Errors
    /// None.
    pub fn write<P: AsRef<Path>>(&self, out: P) -> Result<(), Error> {
        self.0.write(out).unwrap_or_else(|error| exit(&error));
        Ok(())
    }
}

/// The paths, if all of them exist.
fn there<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        exit(&cudaforge::Error::SourcePathNotFound(missing.clone()));
    }
    paths
}

/// Ends a build script with an error.
fn exit(error: &impl Display) -> ! {
    for line in error.to_string().lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}
