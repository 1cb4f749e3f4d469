//! Finds the device compiler: clang, lld, the HIP headers and the device libraries.
//!
//! [`find`] searches, in this order:
//! 1. `FERROCM_CLANG` (a clang) and `FERROCM_HIP_PATH` (a folder with `include/hip`), which are binding when
//!    set,
//! 2. an installed ROCm: `ROCM_PATH`, `HIP_PATH`, `/opt/rocm`, `/opt/rocm-*`,
//! 3. clang 22 or later on `PATH`, with headers and device libraries from any place,
//! 4. the prefix in the user's cache that `ferrocm setup` creates.
//!
//! The error lists every place that was tried and why it was rejected; [`survey`] reports each part
//! separately.

mod answers;
mod parts;
mod probe;
mod search;
mod survey;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::error::{Attempt, NotFound};
pub use search::Search;
pub use survey::{Finding, Need};

/// The variable that names the command for installing a toolchain, for messages in checkouts with their own
/// command.
pub const SETUP_VARIABLE: &str = variables::SETUP.name;

/// Finds a toolchain according to the environment.
///
/// # Errors
/// [`NotFound`] with every place that was tried.
pub fn find() -> Result<Toolchain, NotFound> {
    Search::from_env().find()
}

/// Lists each tool and library: its place, its version, what is wrong and what to do.
#[must_use]
pub fn survey() -> Vec<Finding> {
    Search::from_env().survey()
}

/// Folder of everything that is kept between builds: `FERROCM_CACHE`, else `ferrocm` in the user's cache
/// folder.
///
/// `None` if the environment names no such folder (neither `XDG_CACHE_HOME` nor `HOME` is set).
#[must_use]
pub fn cache_root() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(root) = variables::CACHE.path() {
        return std::path::absolute(root).ok();
    }
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("ferrocm"))
}

/// Major, minor and patch number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads the number that starts a text; missing parts are 0.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut parts = text[..end].split('.').map(str::parse);
        let major = parts.next()?.ok()?;
        let mut rest = || parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { major, minor: rest(), patch: rest() })
    }
}

/// Where a toolchain's compiler comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Named by `FERROCM_CLANG`.
    Explicit,
    /// An installed ROCm at this folder.
    Rocm(PathBuf),
    /// Found on `PATH`.
    System,
    /// The prefix that `ferrocm setup` created.
    Prefix(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("FERROCM_CLANG"),
            Self::Rocm(root) => write!(f, "ROCm in {}", root.display()),
            Self::System => f.write_str("this machine"),
            Self::Prefix(root) => write!(f, "private prefix {}", root.display()),
        }
    }
}

/// A complete device toolchain.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Where the compiler comes from.
    pub origin: Origin,
    /// The compiler.
    pub clang: PathBuf,
    /// Its version.
    pub version: Version,
    /// First line of `clang --version`.
    pub version_text: String,
    /// The linker that clang will call.
    pub linker: PathBuf,
    /// Folder whose `include/hip` has the HIP headers.
    pub hip_path: PathBuf,
    /// Their version.
    pub hip_version: Version,
    /// Folder of the device libraries (`ocml.bc` …).
    pub device_libs: PathBuf,
    /// Folder of the C++ standard library's headers.
    pub cxx_headers: PathBuf,
    /// hipify-perl, if present; the crate `hipify` is compared with it.
    pub hipify: Option<PathBuf>,
    /// Folders of the compiler's shared libraries that the system's loader would not find.
    pub library_path: Vec<PathBuf>,
    /// Options for every call, such as the place of the C++ headers if clang does not find any.
    pub args: Vec<OsString>,
}

impl Toolchain {
    /// A call of clang that compiles HIP with this toolchain's headers and libraries, independent of the
    /// environment.
    ///
    /// The caller adds target, input and output.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = self.plain_command();
        command.args(["-x", "hip"]);
        for (option, path) in [
            ("--hip-path=", &self.hip_path),
            ("--rocm-path=", &self.hip_path),
            ("--rocm-device-lib-path=", &self.device_libs),
        ] {
            let mut argument = OsString::from(option);
            argument.push(path);
            command.arg(argument);
        }
        // Without a version, clang assumes an old HIP and silently drops its mathematics wrapper.
        if !self.hip_path.join("share/hip/version").is_file() {
            command.arg(format!("--hip-version={}", self.hip_version));
        }
        // Lines of headers name them, and the folder is another one for each user.
        for root in self.folders() {
            let mut argument = OsString::from("-ffile-prefix-map=");
            argument.push(root);
            argument.push("=toolchain");
            command.arg(argument);
        }
        command
    }

    /// The folder that [`ferrocm setup`](Origin::Prefix) installed it in, by its name and where links lead.
    /// None for any other toolchain.
    pub fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let named = if let Origin::Prefix(root) = &self.origin { Some(root.clone()) } else { None };
        let real = named.as_ref().and_then(|root| std::fs::canonicalize(root).ok());
        named.into_iter().chain(real)
    }

    /// A call of clang that reads LLVM's IR or bitcode for an AMD GPU, and none of the device libraries.
    #[must_use]
    pub fn ir_command(&self) -> Command {
        let mut command = self.plain_command();
        command.args(["-x", "ir", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-fno-color-diagnostics"]);
        command
    }

    /// A call of lld as a linker of ELF files.
    #[must_use]
    pub fn linker_command(&self) -> Command {
        let mut command = probe::clang(&self.linker, &self.library_path);
        command.args(["-flavor", "gnu"]);
        command
    }

    /// A call of clang with the caller's arguments only.
    #[must_use]
    pub fn plain_command(&self) -> Command {
        let mut command = probe::clang(&self.clang, &self.library_path);
        command.args(&self.args).arg("--no-default-config");
        command
    }

    /// A hash of everything that determines the compiler's output, independent of its place: its version text
    /// and the contents of the device libraries. Headers are not included.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the device libraries cannot be read.
    pub fn identity(&self) -> Result<blake3::Hash, crate::Error> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.version_text.as_bytes()).update(b"\0");
        hasher.update(self.hip_version.to_string().as_bytes()).update(b"\0");
        for path in files_with_extension(&self.device_libs, "bc") {
            let bytes = std::fs::read(&path).map_err(|e| crate::Error::io("read", &path, e))?;
            hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes()).update(b"\0");
            hasher.update(blake3::hash(&bytes).as_bytes());
        }
        Ok(hasher.finalize())
    }
}

fn files_with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = entries(folder);
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files
}

/// The paths in a folder, sorted; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map(|dir| dir.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}
