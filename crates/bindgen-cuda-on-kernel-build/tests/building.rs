//! Output of build scripts: constants with code for AMD GPUs, or errors for Cargo.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use bindgen_cuda::Builder;
use code_object::text;
use device_compiler::toolchain;
use test_skip::{Lack, skip};

/// Set for a process that runs a script: the folder of its sources.
const SOURCES: &str = "SOURCES_OF_A_SCRIPT";

const KERNEL: &str =
    "#include \"factor.cuh\"\nextern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= FACTOR; }\n";

fn script(folder: &Path) {
    let src = folder.join("src");
    let builder = Builder::default().kernel_paths_glob(&format!("{}/**/*.cu", src.display()));
    let builder = builder.include_paths_glob(&format!("{}/**/*.cuh", src.display()));
    let bindings =
        builder.watch([&src]).arg("-std=c++17").compute_cap(80).out_dir(folder).build_ptx().unwrap();
    bindings.write(folder.join("lib.rs")).unwrap();
    Builder::default().kernel_paths(vec![src.join("missing.cu")]).build_lib(folder.join("libmissing.a"));
}

/// Not a test by itself: the process that [`constants_are_written_and_errors_are_cargos`] starts.
#[test]
fn a_script() {
    if let Some(folder) = env::var_os(SOURCES) {
        script(Path::new(&folder));
    }
}

#[test]
fn constants_are_written_and_errors_are_cargos() {
    if let Err(error) = toolchain::find() {
        skip(Lack::Tool, error);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("src/headers")).unwrap();
    fs::write(folder.path().join("src/scale.cu"), KERNEL).unwrap();
    fs::write(folder.path().join("src/headers/factor.cuh"), "#define FACTOR 2.0f\n").unwrap();
    let mut script = Command::new(env::current_exe().unwrap());
    script
        .args(["--exact", "a_script", "--nocapture"])
        .env(SOURCES, folder.path())
        .env("FERROCM_TARGETS", "gfx1100");
    let output = script.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{lines}");
    let said: Vec<&str> = lines.lines().filter(|line| line.contains("cargo::error=")).collect();
    assert!(matches!(said[..], [line] if line.ends_with("src/missing.cu")), "{lines}");
    for watched in ["src/scale.cu", "src/headers", "src"] {
        let line = format!("cargo::rerun-if-changed={}", folder.path().join(watched).display());
        assert!(lines.lines().any(|said| said == line), "{line} is not in {lines}");
    }

    let rust = fs::read_to_string(folder.path().join("lib.rs")).unwrap();
    assert!(rust.starts_with("pub const SCALE: &str = include_str!("), "{rust}");
    let code = fs::read_to_string(folder.path().join("scale.ptx")).unwrap();
    assert!(!text::decode(&code).unwrap().is_empty());
}
