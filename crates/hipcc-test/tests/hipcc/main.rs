//! `ferrocm hipcc` and `ferrocm nvcc`. The compiled programs run on virtual GPUs.

mod addresses;
mod images;
mod libraries;
mod names;
mod nvcc;
mod programs;
mod ranges;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use test_support::program::{DropIn, Place};

/// The programs' HIP library. Its crate's static library is built with these tests.
const LIBRARY: DropIn = DropIn {
    place: Place {
        krate: concat!(env!("CARGO_MANIFEST_DIR"), "/../libamdhip64"),
        scratch: env!("CARGO_TARGET_TMPDIR"),
    },
    archive: "amdhip64",
    soname: "libamdhip64.so.7",
    script: "symbols.map",
};
const FERROCM: &str = env!("CARGO_BIN_EXE_hipcc-test");
/// One of each size of waves.
const DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];
/// The folder where `cargo xtask test` has installed CMake and Ninja.
const CMAKE_VARIABLE: &str = "FERROCM_TEST_CMAKE";

/// A new folder with files of these names and texts.
fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(path, text).expect("write");
    }
    folder
}

/// A command in an environment without the user's settings.
fn command(program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(folder).stdin(Stdio::null());
    for variable in [
        "CMAKE_PREFIX_PATH",
        "CUDAARCHS",
        "CUDACXX",
        "CUDAFLAGS",
        "CUDA_HOME",
        "CUDA_PATH",
        "FERROCM_DEVICE",
        "FERROCM_HSA_DEVICE",
        "FERROCM_HIPRTC_LIBRARY",
        "FERROCM_LOG",
        "FERROCM_RCCL_LIBRARY",
        "FERROCM_ROCBLAS_LIBRARY",
        "FERROCM_ROCTX_LIBRARY",
        "FERROCM_SETUP",
        "FERROCM_TARGETS",
        "FERROCM_TRACE",
        "HCC_AMDGPU_TARGET",
        "HIPCC_VERBOSE",
        "HIP_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "MAKEFLAGS",
        "NVCC_APPEND_FLAGS",
        "NVCC_CCBIN",
        "NVCC_PREPEND_FLAGS",
        "NVTX_INJECTION64_PATH",
        "ROCR_VISIBLE_DEVICES",
    ] {
        command.env_remove(variable);
    }
    let library = LIBRARY.library();
    command.env("FERROCM_LIBRARIES", library.parent().expect("a folder")).env("FERROCM_DEVICE", DEVICES[0]);
    command
}

/// The standard output of a command that must succeed.
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}
