//! CUDA's libraries for programs of `ferrocm nvcc`. The programs run on virtual GPUs.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::program::DropIn;

use crate::nvcc::nvcc;
use crate::{DEVICES, LIBRARY, command, folder_with, succeeds};

/// The program `name` of the tests' folder.
macro_rules! program {
    ($name:literal) => {
        ($name, include_str!(concat!("../programs/", $name)))
    };
}

const fn drop_in(krate: &'static str, archive: &'static str, soname: &'static str) -> DropIn {
    let place = test_support::program::Place { krate, scratch: env!("CARGO_TARGET_TMPDIR") };
    DropIn { place, archive, soname, script: "symbols.map" }
}

/// The libraries below CUDA's, by their folders.
const BELOW: [(&str, DropIn); 3] = [
    (
        "hiprtc",
        drop_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../libhiprtc"), "hiprtc_drop_in", "libhiprtc.so.7"),
    ),
    (
        "rocblas",
        drop_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../librocblas"), "rocblas_drop_in", "librocblas.so.5"),
    ),
    ("rccl", drop_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../librccl"), "rccl_drop_in", "librccl.so.1")),
];

/// A folder with this project's libraries in the layout of packages.
fn libraries() -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries");
    // Other tests may do the same at this time.
    let link = |folder: &Path, library: DropIn| {
        std::fs::create_dir_all(folder).expect("folder");
        let place = folder.join(library.soname);
        match symlink(library.library(), &place) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                panic!("{}: {error}", place.display())
            }
            _ => {}
        }
    };
    link(&all, LIBRARY);
    BELOW.into_iter().for_each(|(name, library)| link(&all.join(name), library));
    all
}

fn with_libraries(mut command: Command) -> Command {
    command.env("FERROCM_LIBRARIES", libraries());
    command
}

fn toolkit(folder: &Path) -> PathBuf {
    PathBuf::from(succeeds(&mut with_libraries(nvcc(folder, "--toolkit"))).trim())
}

/// Compiles the only source in a folder, and runs the program.
fn passes(folder: &Path, line: &str, device: &str) {
    succeeds(&mut with_libraries(nvcc(folder, line)));
    let said = succeeds(
        command(folder.join("a.out"), folder).env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", device),
    );
    assert_eq!(said, "PASSED\n");
}

#[test]
fn blas_of_all_levels_is_right() {
    let folder = folder_with(&[program!("blas.cu")]);
    passes(folder.path(), "-arch=gfx1100 -std=c++17 blas.cu -lcublas", DEVICES[0]);
}

#[test]
fn products_with_bias_and_activation_are_right() {
    let folder = folder_with(&[program!("products.cu")]);
    // The static libraries are the same.
    passes(
        folder.path(),
        "-arch=gfx90a -std=c++17 products.cu -lcublasLt_static -lcublas_static -lculibos",
        DEVICES[1],
    );
}

#[test]
fn random_numbers_are_known_ones_and_have_their_distributions() {
    let folder = folder_with(&[program!("random.cu")]);
    passes(folder.path(), "-arch=gfx1100 -std=c++17 random.cu -lcurand", DEVICES[0]);
}

#[test]
fn without_hipfft_no_plan_is_made() {
    let source = "#include <cufft.h>\n#include <cstdio>\nint main() {\n  cufftHandle plan;\n\
                  if (cufftPlan1d(&plan, 8, CUFFT_C2C, 1) == CUFFT_SETUP_FAILED) std::puts(\"PASSED\");\n}\n";
    let folder = folder_with(&[("none.cu", source)]);
    // A machine with hipFFT makes the plan or lacks a device for it.
    if Command::new("ldconfig")
        .arg("-p")
        .output()
        .is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("libhipfft.so.0"))
    {
        return;
    }
    passes(folder.path(), "-arch=gfx1100 none.cu -lcufft", DEVICES[0]);
}

#[test]
fn ranks_add_their_numbers() {
    let folder = folder_with(&[program!("ranks.cu")]);
    passes(folder.path(), "-arch=gfx1100 ranks.cu -lnccl", "vgpu:gfx1100?cus=1&memory=64MiB&count=2");
}

#[test]
fn programs_compile_kernels_at_run_time() {
    let folder = folder_with(&[
        program!("at_run_time.cpp"),
        // Found beside the source, and in a folder that an option names.
        ("beside.h", "#define BESIDE 40\n"),
        ("include/of_option.h", "#define OF_OPTION 2\n"),
    ]);
    passes(folder.path(), "-std=c++17 at_run_time.cpp -lnvrtc -lcuda", DEVICES[0]);
    // The other size of waves.
    let said = succeeds(
        command(folder.path().join("a.out"), folder.path())
            .env_remove("FERROCM_LIBRARIES")
            .env("FERROCM_DEVICE", DEVICES[1]),
    );
    assert_eq!(said, "PASSED\n");
}

#[test]
fn a_library_without_its_functions_is_told() {
    let source = "#include <nvrtc.h>\n#include <cstdio>\nint main() {\n  nvrtcProgram made;\n\
                  if (nvrtcCreateProgram(&made, \"\", nullptr, 0, nullptr, nullptr) == NVRTC_ERROR_INTERNAL_ERROR) std::puts(\"PASSED\");\n}\n";
    let folder = folder_with(&[("none.cpp", source), ("other.c", "int other(void) { return 0; }\n")]);
    let here = folder.path();
    succeeds(&mut with_libraries(nvcc(here, "none.cpp -lnvrtc")));
    succeeds(&mut with_libraries(nvcc(here, "-shared -Xcompiler -fPIC other.c -o libother.so")));
    let mut program = command(here.join("a.out"), here);
    program.env("FERROCM_HIPRTC_LIBRARY", here.join("libother.so")).env_remove("FERROCM_LIBRARIES");
    let output = program.output().expect("run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "PASSED\n");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("has no functions for libnvrtc"), "{text}");
}

#[test]
fn the_hosts_compilers_build_programs_that_use_libraries() {
    let folder = folder_with(&[program!("blas.c")]);
    let here = folder.path();
    let toolkit = toolkit(here);
    let (include, lib) = (toolkit.join("include"), toolkit.join("lib64"));
    for compiler in ["gcc", "g++"] {
        let mut link = command(compiler, here);
        link.arg("-I")
            .arg(&include)
            .args(["blas.c", "-o", "a.out"])
            .arg("-L")
            .arg(&lib)
            .args(["-lcublas", "-lcudart"]);
        succeeds(&mut link);
        let paths = format!("{}:{}", lib.display(), libraries().display());
        let said = succeeds(command(here.join("a.out"), here).env("LD_LIBRARY_PATH", paths));
        assert_eq!(said, "PASSED\n");
    }
}

#[test]
fn without_rocblas_no_handle_is_made() {
    let folder = folder_with(&[(
        "none.cu",
        "#include <cublas_v2.h>\n#include <cstdio>\nint main() {\n  cublasHandle_t handle;\n\
         if (cublasCreate(&handle) == CUBLAS_STATUS_NOT_INITIALIZED) std::puts(\"PASSED\");\n}\n",
    )]);
    let here = folder.path();
    succeeds(&mut with_libraries(nvcc(here, "-arch=gfx1100 none.cu -lcublas")));
    let mut program = command(here.join("a.out"), here);
    let output = program.env("FERROCM_ROCBLAS_LIBRARY", "/nowhere/librocblas.so.5").output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "PASSED\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("/nowhere/librocblas.so.5") && said.contains("cuBLAS cannot load librocblas.so.5"),
        "{said}"
    );
}
