//! Asks a clang about itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Version;

/// Variables that affect what clang finds or prints.
const DISTURBING: &[&str] = &[
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "HIP_PATH",
    "HIP_CLANG_PATH",
    "HIP_DEVICE_LIB_PATH",
    "ROCM_PATH",
    "CCC_OVERRIDE_OPTIONS",
    "CLANG_CONFIG_PATH",
    "SOURCE_DATE_EPOCH",
];

/// A call of `clang` in a clean environment.
pub(super) fn clang(clang: &Path, library_path: &[PathBuf]) -> Command {
    let mut command = Command::new(clang);
    for name in DISTURBING {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C");
    if !library_path.is_empty() {
        // A build script inherits a library path with Rust's own libraries, which clang must not use.
        let joined = std::env::join_paths(library_path).unwrap_or_default();
        command.env("LD_LIBRARY_PATH", joined);
    }
    command
}

/// The answers of a clang about itself.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Clang {
    pub(super) version: Version,
    pub(super) version_text: String,
    pub(super) resource_dir: PathBuf,
    pub(super) linker: Option<PathBuf>,
    pub(super) include_dirs: Vec<PathBuf>,
}

/// `args` are the options of every later call.
pub(super) fn probe(path: &Path, library_path: &[PathBuf], args: &[OsString]) -> Result<Clang, String> {
    let run = |more: &[&str]| -> Result<Output, String> {
        let output = clang(path, library_path).args(args).args(more).output().map_err(|e| {
            if e.kind() == std::io::ErrorKind::NotFound { "no such file".into() } else { e.to_string() }
        })?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        Err(format!("it fails ({}): {said}", output.status))
    };
    let first_line = |output: Output| {
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
    };

    // Processes take longer to start than to answer, so all questions are asked in parallel.
    let questions: [&[&str]; 4] = [
        &["--no-default-config", "-x", "c++", "-E", "-v", "/dev/null"],
        &["-target", "amdgcn-amd-amdhsa", "-print-supported-cpus"],
        &["-print-resource-dir"],
        &["-target", "amdgcn-amd-amdhsa", "-print-prog-name=lld"],
    ];
    let [verbose, processors, resource_dir, linker] = std::thread::scope(|scope| {
        let run = &run;
        let asked = questions.map(|question| scope.spawn(move || run(question)));
        asked.map(|thread| thread.join().unwrap_or_else(|_| Err("it cannot be asked".into())))
    });
    let verbose = verbose?;
    let verbose = String::from_utf8_lossy(&verbose.stderr).into_owned();
    let version_text = verbose.lines().next().unwrap_or_default().trim().to_owned();
    let version = version_text
        .split_once("clang version ")
        .and_then(|(_, number)| Version::parse(number))
        .ok_or_else(|| format!("it is not clang: `{version_text}`"))?;
    let include_dirs = verbose
        .lines()
        .skip_while(|line| !line.starts_with("#include <...>"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(|line| PathBuf::from(line.trim()))
        .collect();
    processors.map_err(|_| "it has no support for AMD GPUs".to_owned())?;
    let resource_dir = PathBuf::from(first_line(resource_dir?));
    let linker = PathBuf::from(first_line(linker?));
    let linker = (linker.is_absolute() && linker.is_file()).then_some(linker);
    Ok(Clang { version, version_text, resource_dir, linker, include_dirs })
}
