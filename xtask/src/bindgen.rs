//! `cargo xtask bindgen`: runs the generator with the headers of all releases and this machine's libclang.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use setup::{run, toolchain};

use crate::rocm::headers::{self, Headers};
use crate::tools;

/// The generator's program.
const GENERATOR: &str = "xtask-bindgen";

/// The generator's inputs.
#[derive(Debug)]
pub(crate) struct Inputs {
    headers: Headers,
    libclang: Libclang,
}

/// Where libclang comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Libclang {
    /// The machine's own, which the loader finds.
    Machine(PathBuf),
    /// The private prefix, whose libraries need a search path.
    Prefix(PathBuf),
}

impl Libclang {
    /// The library's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        match self {
            Self::Machine(folder) => folder.clone(),
            Self::Prefix(prefix) => prefix.join("usr/lib/llvm-22/lib"),
        }
    }
}

/// There is no libclang.
#[derive(Debug, thiserror::Error)]
#[error("libclang was not found (cargo xtask setup, install libclang1-22, or set LIBCLANG_PATH)")]
pub(crate) struct NoLibclang;

impl Inputs {
    /// Looks for libclang.
    pub(crate) fn new(headers: Headers) -> Result<Self, NoLibclang> {
        Ok(Self { headers, libclang: find_libclang().ok_or(NoLibclang)? })
    }

    /// Builds the generator and returns its command.
    fn command(&self) -> Result<Command> {
        run::run(&mut tools::build("--bin", GENERATOR))?;
        let mut command = tools::built(GENERATOR);
        command.arg("--headers").arg(&self.headers.folder);
        if let Some(folder) = variables::CUDA_HEADERS.path() {
            command.arg("--cuda-headers").arg(folder);
        }
        command.env("LIBCLANG_PATH", self.libclang.folder());
        if let Libclang::Prefix(prefix) = &self.libclang {
            let mut folders = vec![prefix.join(setup::LIBRARY_FOLDER)];
            folders.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
            if let Ok(joined) = std::env::join_paths(folders) {
                command.env("LD_LIBRARY_PATH", joined);
            }
            // There, libclang does not find its own headers (stddef.h …) itself.
            if let Some(resources) = resource_folder(prefix) {
                let given = std::env::var("BINDGEN_EXTRA_CLANG_ARGS").unwrap_or_default();
                let argument = format!("'-resource-dir={}' {given}", resources.display());
                command.env("BINDGEN_EXTRA_CLANG_ARGS", argument);
            }
        }
        command.current_dir(tools::workspace()).stdin(Stdio::null());
        Ok(command)
    }

    /// The command that compares the checked-in files with the headers.
    pub(crate) fn check_command(&self) -> Result<Command> {
        let mut command = self.command()?;
        command.arg("--check");
        Ok(command)
    }
}

/// Searches in `LIBCLANG_PATH`, then in the prefix, then in the machine's LLVM installations, newest first.
///
/// The prefix precedes the machine because it has the version that generated the checked-in files. Older
/// ones, which other packages install, lose comments on macro-generated declarations.
pub(crate) fn find_libclang() -> Option<Libclang> {
    if let Some(given) = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from) {
        return holds_libclang(&given).then_some(Libclang::Machine(given));
    }
    let prefix = toolchain::prefix().map(Libclang::Prefix);
    if let Some(libclang) = prefix.filter(|libclang| holds_libclang(&libclang.folder())) {
        return Some(libclang);
    }
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix("llvm-")?.parse().ok()?;
            Some((version, entry.path().join("lib")))
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions
        .into_iter()
        .map(|(_, folder)| folder)
        .chain(["/usr/lib64", "/usr/lib"].map(PathBuf::from))
        .find(|folder| holds_libclang(folder))
        .map(Libclang::Machine)
}

fn resource_folder(prefix: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(prefix.join("usr/lib/llvm-22/lib/clang")).ok()?;
    versions.flatten().map(|entry| entry.path()).find(|folder| folder.join("include/stddef.h").is_file())
}

fn holds_libclang(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().exists())
        .any(|entry| is_libclang(&entry.file_name().to_string_lossy()))
}

fn is_libclang(name: &str) -> bool {
    // libclang-cpp is another library.
    let versioned = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(".so");
    name == "libclang.so"
        || name.starts_with("libclang.so.")
        || name.strip_prefix("libclang-").is_some_and(versioned)
}

/// Runs the generator.
pub(crate) fn bindgen(arguments: &[String]) -> Result<()> {
    let headers = headers::headers()?;
    headers.tell_differences();
    let inputs = Inputs::new(headers)?;
    run::run(inputs.command()?.args(arguments))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_libclang;

    #[test]
    fn libclang_is_told_from_its_cousins() {
        for name in ["libclang.so", "libclang.so.1", "libclang-22.so.1", "libclang-14.so.14.0.6"] {
            assert!(is_libclang(name), "{name}");
        }
        for name in ["libclang-cpp.so.22.1", "libclangBasic.a", "libclang-22", "clang"] {
            assert!(!is_libclang(name), "{name}");
        }
    }
}
