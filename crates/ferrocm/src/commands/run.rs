//! `ferrocm run`: runs a HIP program on the libraries installed with this program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::Args;
use hip::DeviceUri;
use setup::hipcc::LIBRARIES_VARIABLE;
use shared_commands::libraries::{FOR_PROGRAMS, HIP, HSA};

/// The loader's search path.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// Where packages put the libraries, relative to the program's folder.
const BESIDE: &str = "../lib/ferrocm";

/// The exit statuses of shells for a program that cannot be started, and for one that is not found.
const CANNOT_START: u8 = 126;
const NO_PROGRAM: u8 = 127;

const EXAMPLES: &str = "\
Examples:
  ferrocm run ./saxpy                               on this machine's GPU, or on a virtual one
  ferrocm run --device vgpu:gfx90a -- ./saxpy -n 8  on a virtual MI200
  ferrocm run --amd-hip ./saxpy                     on this machine's ROCm, over virtual GPUs

Through LD_LIBRARY_PATH, the program and its children find this project's libamdhip64.so.7, libhiprtc.so.7, librocblas.so.5 and
librccl.so.1 before any others. A program with an old-style RPATH still finds the libraries in that.

Exit status: the program's; 126 if it cannot be started, 127 if it is not found, 1 if the libraries are missing, 2 for a malformed command
line or device URI.";

/// Runs a HIP program on the libraries of this project, on the GPU of this machine or a virtual one
///
/// Programs need no rebuild: the libraries have the names, functions and symbol versions of ROCm 7's.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to run on, such as vgpu:gfx90a?count=2 [default: FERROCM_DEVICE, else an AMD GPU, else a virtual
    /// one]
    #[arg(long, value_name = "URI")]
    device: Option<DeviceUri>,
    /// Run on this machine's own AMD HIP, over virtual GPUs
    #[arg(long)]
    amd_hip: bool,
    /// Folder of the libraries [default: FERROCM_LIBRARIES, else ../lib/ferrocm beside this program]
    #[arg(long, value_name = "DIR")]
    libraries: Option<PathBuf>,
    /// The program, by its path or a name in PATH, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Becomes the program. Returns only on failure, with the status and the reason.
pub(crate) fn run(arguments: &Arguments) -> (u8, anyhow::Error) {
    let mut command = match command(arguments) {
        Ok(command) => command,
        Err(error) => return (1, error),
    };
    let error = command.exec();
    let status = match error.kind() {
        io::ErrorKind::NotFound => NO_PROGRAM,
        _ => CANNOT_START,
    };
    let name = command.get_program().to_string_lossy().into_owned();
    (status, anyhow::Error::new(error).context(format!("cannot start {name}")))
}

fn command(arguments: &Arguments) -> anyhow::Result<Command> {
    let libraries = libraries(arguments.libraries.clone())?;
    let path = library_path(&libraries, arguments.amd_hip, std::env::var_os(LIBRARY_PATH).as_deref())?;
    // clap requires one.
    let (name, rest) = arguments.program.split_first().context("no program is named")?;
    let mut command = Command::new(name);
    command.args(rest).env(LIBRARY_PATH, path);
    if let Some(device) = &arguments.device {
        // AMD's HIP asks the HSA library, which reads this variable.
        command.env(
            if arguments.amd_hip { HSA_DEVICE_VARIABLE } else { hip::uri::DEVICE_VARIABLE },
            device.to_string(),
        );
    }
    Ok(command)
}

/// Names the virtual GPUs of the HSA library.
const HSA_DEVICE_VARIABLE: &str = variables::HSA_DEVICE.name;

/// The folder of the libraries: the given one, else the one named in the environment, else that of the
/// packages.
pub(crate) fn libraries(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    libraries_of(given.or_else(named), &this_program()?)
}

/// The folder named in the environment.
fn named() -> Option<PathBuf> {
    variables::LIBRARIES.path()
}

/// Where this program is.
pub(crate) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find out where this program is")
}

/// The folder of the libraries, if there is one. Fails if the environment names an unusable one.
pub(crate) fn own_libraries() -> anyhow::Result<Option<PathBuf>> {
    match named() {
        Some(folder) => libraries_of(Some(folder), Path::new("/")).map(Some),
        None => Ok(libraries_of(None, &this_program()?).ok()),
    }
}

/// The folder of the libraries: the given one, else the one that packages install beside the program.
fn libraries_of(given: Option<PathBuf>, program: &Path) -> anyhow::Result<PathBuf> {
    let is_named = given.is_some();
    let folder = given.unwrap_or_else(|| program.parent().unwrap_or(Path::new("/")).join(BESIDE));
    // The loader would resolve a relative path against the program's current folder.
    match folder.canonicalize() {
        Ok(found) if HIP.file_in(&found).is_file() => Ok(found),
        _ if is_named => anyhow::bail!("there is no {} in {}", HIP.soname, folder.display()),
        _ => anyhow::bail!(
            "there is no {} in {}: `cargo install` installs this program without the libraries. The packages have \
            them; a folder that \
             `cargo xtask dropin` made can be named by --libraries or {LIBRARIES_VARIABLE}",
            HIP.soname,
            folder.display()
        ),
    }
}

/// The loader's search path: our folders, then the previous ones.
fn library_path(libraries: &Path, amd_hip: bool, before: Option<&OsStr>) -> anyhow::Result<OsString> {
    let mut folders: Vec<PathBuf> = match amd_hip {
        true => vec![HSA.folder_in(libraries)],
        false => FOR_PROGRAMS.iter().map(|library| library.folder_in(libraries)).collect(),
    };
    // An empty part would mean the current folder.
    folders.extend(
        before.into_iter().flat_map(std::env::split_paths).filter(|part| !part.as_os_str().is_empty()),
    );
    std::env::join_paths(folders).with_context(|| format!("{} cannot be part of a path", libraries.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_beside_the_program_or_where_one_says() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().canonicalize().expect("path");
        let program = root.join("bin/ferrocm");
        let installed = root.join("lib/ferrocm");
        std::fs::create_dir_all(&installed).expect("folder");
        std::fs::create_dir_all(root.join("bin")).expect("folder");
        let error = libraries_of(None, &program).expect_err("nothing is there").to_string();
        assert!(error.contains(HIP.soname) && error.contains("cargo install"), "{error}");
        std::fs::write(HIP.file_in(&installed), "").expect("file");
        assert_eq!(libraries_of(None, &program).expect("found"), installed);
        assert_eq!(libraries_of(Some(installed.clone()), Path::new("/x/y")).expect("found"), installed);
        let error = libraries_of(Some(root.clone()), &program).expect_err("not there").to_string();
        assert!(error.ends_with(&root.display().to_string()), "{error}");
    }

    #[test]
    fn our_libraries_come_first_and_the_current_folder_never() {
        let path = |amd_hip, before: &str| {
            library_path(Path::new("/l"), amd_hip, Some(OsStr::new(before))).expect("path")
        };
        assert_eq!(path(false, "/a:/b"), "/l:/l/hiprtc:/l/rocblas:/l/rccl:/a:/b");
        assert_eq!(path(true, "/a"), "/l/hsa:/a");
        assert_eq!(path(true, ":"), "/l/hsa");
        assert!(library_path(Path::new("/l:m"), false, None).is_err());
    }
}
