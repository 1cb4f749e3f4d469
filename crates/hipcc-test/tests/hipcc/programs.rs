//! `ferrocm hipcc`, called by hand and by CMake. The compiled programs run on virtual GPUs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{CMAKE_VARIABLE, DEVICES, FERROCM, command, folder_with, succeeds};

/// The standard error of a command that must fail.
fn fails(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(!output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn hipcc(folder: &Path, line: &str) -> Command {
    let mut hipcc = command(FERROCM, folder);
    hipcc.arg("hipcc").args(line.split(' '));
    hipcc
}

/// Runs a program linked by these tests on devices. It must find its library itself.
fn runs_on(devices: &[&str], program: &Path) {
    for device in devices {
        let mut program = command(program, Path::new("/"));
        assert_eq!(
            succeeds(program.env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", device)).trim(),
            "PASSED"
        );
    }
}

const TARGETS: &str = "--offload-arch=gfx1100 --offload-arch=gfx90a";
/// A program of a kernel in a `.cu` file, its caller in C++, and a number in C.
const SOURCES: [(&str, &str); 5] = [
    ("scale.h", "#pragma once\nvoid scale(int* numbers, int count, int by);\n"),
    (
        "scale.cu",
        "#include <hip/hip_runtime.h>\n#include \"scale.h\"\n\
         __global__ void kernel(int* numbers, int count, int by) {\n\
         const int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
         if (i < count) numbers[i] *= by;\n}\n\
         void scale(int* numbers, int count, int by) { kernel<<<(count + 63) / 64, 64>>>(numbers, count, by); }\n",
    ),
    ("factor.c", "#include <hip/hip_runtime_api.h>\nint factor(void) { return (int)hipSuccess + FACTOR; }\n"),
    (
        "main.cpp",
        "#include <hip/hip_runtime.h>\n#include <cstdio>\n#include <vector>\n#include \"scale.h\"\n\
         extern \"C\" int factor(void);\n\
         int main() {\n  std::vector<int> numbers(1000);\n  for (int i = 0; i < 1000; i++) numbers[i] = i;\n\
         int* device;\n  if (hipMalloc(&device, 4000) != hipSuccess) return 1;\n\
         if (hipMemcpy(device, numbers.data(), 4000, hipMemcpyHostToDevice) != hipSuccess) return 2;\n\
         scale(device, 1000, factor());\n\
         if (hipMemcpy(numbers.data(), device, 4000, hipMemcpyDeviceToHost) != hipSuccess) return 3;\n\
         for (int i = 0; i < 1000; i++) if (numbers[i] != 7 * i) return 4;\n  std::puts(\"PASSED\");\n}\n",
    ),
    (
        "program.hip",
        "#include <hip/hip_runtime.h>\n#include <cstdio>\n\
         __global__ void set(int* out) { *out = 42; }\n\
         int main() {\n  int* device;\n  int out = 0;\n  if (hipMalloc(&device, 4) != hipSuccess) return 1;\n\
         set<<<1, 1>>>(device);\n\
         if (hipMemcpy(&out, device, 4, hipMemcpyDeviceToHost) != hipSuccess) return 2;\n\
         if (out == 42) std::puts(\"PASSED\");\n}\n",
    ),
];

fn sources() -> TempDir {
    folder_with(&SOURCES)
}

#[test]
fn a_program_of_several_languages_is_compiled_linked_and_runs_by_itself() {
    let folder = sources();
    let here = folder.path();
    succeeds(&mut hipcc(here, &format!("-c {TARGETS} scale.cu -o scale.o -Wall -Werror")));
    succeeds(&mut hipcc(here, "-c -DFACTOR=7 factor.c -Wall -Werror"));
    succeeds(&mut hipcc(here, &format!("-c {TARGETS} -Wall -Werror main.cpp")));
    succeeds(&mut hipcc(here, "main.o scale.o factor.o -o program -Wall -Werror"));
    runs_on(&DEVICES, &here.join("program"));
    // The same with a library of the kernels, from a response file.
    fs::write(here.join("list"), format!("-shared -fPIC {TARGETS} \"scale.cu\"\n-o 'libscale.so'"))
        .expect("write");
    succeeds(&mut hipcc(here, "@list"));
    let rpath = format!("-Wl,-rpath,{}", here.display());
    succeeds(&mut hipcc(here, &format!("main.o factor.o -L. -lscale -o with-library {rpath}")));
    runs_on(&DEVICES[..1], &here.join("with-library"));
}

#[test]
fn without_a_target_a_program_is_for_the_default_device() {
    let folder = sources();
    for (device, line) in
        [(DEVICES[0], "program.hip -o program"), (DEVICES[1], "--offload-arch=native program.hip -o program")]
    {
        let mut hipcc = hipcc(folder.path(), line);
        let told = succeeds(hipcc.env("FERROCM_DEVICE", device).env("HIPCC_VERBOSE", "5"));
        assert!(told.contains("hipcc-cmd: ") && told.contains(&format!("hipcc-args: {line}\n")), "{told}");
        let mut program = command(folder.path().join("program"), folder.path());
        assert_eq!(succeeds(program.env("FERROCM_DEVICE", device)).trim(), "PASSED", "{device}");
    }
    let error = fails(hipcc(folder.path(), "program.hip").env("FERROCM_DEVICE", "vgpu:gfx0"));
    assert!(error.contains("gfx0"), "{error}");
}

#[test]
fn each_kind_of_output_is_what_hipcc_makes() {
    let folder = sources();
    let here = folder.path();
    let read = |name: &str| fs::read(here.join(name)).expect("the output");
    succeeds(&mut hipcc(here, &format!("--genco {TARGETS} scale.cu -o scale.co")));
    let bundle = read("scale.co");
    let entries = code_object::bundle::entries(&bundle).expect("a bundle");
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(
        ids,
        [
            "host-x86_64-unknown-linux-gnu-",
            "hipv4-amdgcn-amd-amdhsa--gfx1100",
            "hipv4-amdgcn-amd-amdhsa--gfx90a"
        ]
    );
    assert!(entries[1].bytes.starts_with(b"\x7fELF") && entries[2].bytes.starts_with(b"\x7fELF"));
    succeeds(&mut hipcc(here, "--genco --offload-arch=gfx1100 --offload-compress scale.cu -o scale.cco"));
    assert!(read("scale.cco").starts_with(b"CCOB"));
    for (line, name, markers) in [
        ("-S scale.cu -o scale.s", "scale.s", ["s_endpgm", "hip-amdgcn-amd-amdhsa--gfx1100"]),
        ("-S -emit-llvm scale.cu -o scale.ll", "scale.ll", ["amdgpu_kernel", "host-x86_64"]),
        ("-E scale.cu -o scale.ii", "scale.ii", ["numbers[i] *= by", "hip-amdgcn-amd-amdhsa--gfx1100"]),
    ] {
        succeeds(&mut hipcc(here, &format!("--offload-arch=gfx1100 {line}")));
        let text = String::from_utf8(read(name)).expect("text");
        assert!(markers.iter().all(|marker| text.contains(marker)), "{line}");
    }
    succeeds(&mut hipcc(here, "-c --offload-arch=gfx1100 scale.cu -MD -MF scale.d -o scale.o"));
    assert!(String::from_utf8(read("scale.d")).expect("text").contains("scale.h"));
}

#[test]
fn questions_and_errors_are_plain() {
    let folder = sources();
    let here = folder.path();
    let version = succeeds(&mut hipcc(here, "--version"));
    assert!(version.starts_with("HIP version: ") && version.contains("clang version"), "{version}");
    let short = succeeds(&mut hipcc(here, "--short-version"));
    assert!(version.contains(&format!("HIP version: {short}")), "{short}");
    let error = fails(&mut hipcc(here, "-fgpu-rdc -c scale.cu"));
    assert!(error.starts_with("error: -fgpu-rdc takes"), "{error}");
    let error = fails(hipcc(here, "program.hip -o program").env("FERROCM_LIBRARIES", "/no/such"));
    assert!(error.contains("there is no libamdhip64.so.7 in /no/such"), "{error}");
    fs::write(here.join("wrong.hip"), "__global__ void k(int* p) { p = 1.5; }\n").expect("write");
    let error = fails(&mut hipcc(here, "-c --offload-arch=gfx1100 wrong.hip"));
    assert!(error.contains("wrong.hip:1:"), "{error}");
    let config =
        |option: &str| succeeds(command(FERROCM, here).args(["hipconfig", option])).trim().to_owned();
    assert_eq!(config("--version"), short.trim());
    assert_eq!((config("--platform").as_str(), config("--targets").as_str()), ("amd", "gfx1100"));
    let root = PathBuf::from(config("--path"));
    assert!(root.join("include/hip/hip_runtime.h").is_file() && root.join("lib/libamdhip64.so").exists());
    let by_its_name = succeeds(command(root.join("bin/hipcc"), here).arg("--short-version"));
    assert_eq!(by_its_name, short);
    let error = fails(command(FERROCM, here).args(["hipconfig", "--what"]));
    assert!(error.contains("no option --what"), "{error}");
}

/// The commands in a page's code blocks that contain a word, as typed by a user.
fn commands(page: &str, word: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2).filter(|block| block.contains(word));
    let lines = blocks.flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("$ ")));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_commands_of_the_documentation_work_as_printed() {
    let page = include_str!("../../../../docs/use/hip-programs.md");
    let all = commands(page, "saxpy.hip -o saxpy");
    assert!(all.len() >= 2 && all.iter().any(|line| line.contains("./saxpy")), "{all:?}");
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("saxpy.hip"), SOURCES[4].1).expect("write");
    for line in all {
        // This program is what `cargo xtask` builds and calls.
        let line = line.replace("cargo xtask", FERROCM);
        let mut shell = command("sh", folder.path());
        shell.env_remove("FERROCM_DEVICE").args(["-e", "-c", &line]);
        let told = succeeds(&mut shell);
        assert!(!line.contains("./saxpy") || told.contains("PASSED"), "{line}: {told}");
    }
}

#[test]
fn doctor_compiles_a_program_and_runs_it() {
    let output = command(FERROCM, Path::new("/")).arg("doctor").output().expect("starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let start = text.find("\nhost programs (hipcc)").expect("a row");
    let row = text[start + 1..].split("\nvector units").next().expect("a row");
    assert!(row.contains("  ok") && row.contains("compiles, links and runs a program"), "{text}");
}

/// A project whose C++ target takes its kernels from the package `hip`, and one in CMake's language HIP.
const PROJECTS: [(&str, &str); 3] = [
    (
        "device",
        "cmake_minimum_required(VERSION 3.21)\nproject(device C CXX)\nfind_package(hip 7 REQUIRED)\n\
         add_executable(program main.cpp scale.cu factor.c)\n\
         set_source_files_properties(scale.cu PROPERTIES LANGUAGE CXX)\n\
         target_compile_definitions(program PRIVATE FACTOR=7)\ntarget_link_libraries(program PRIVATE hip::device)\n",
    ),
    (
        "language",
        "cmake_minimum_required(VERSION 3.21)\nproject(language C CXX HIP)\nfind_package(hip REQUIRED CONFIG)\n\
         add_library(scale SHARED scale.cu)\nset_source_files_properties(scale.cu PROPERTIES LANGUAGE HIP)\n\
         add_executable(program main.cpp factor.c)\ntarget_compile_definitions(program PRIVATE FACTOR=7)\n\
         target_link_libraries(program PRIVATE scale hip::host)\n",
    ),
    (
        "unknown",
        "cmake_minimum_required(VERSION 3.21)\nproject(unknown CXX)\nfind_package(hip 8)\n\
         if(hip_FOUND)\n  message(FATAL_ERROR \"another version was found\")\nendif()\nadd_executable(program empty.cpp)\n",
    ),
];

#[test]
#[ignore = "takes CMake and Ninja, which `cargo xtask test` fetches"]
fn small_cmake_projects_find_hip_build_and_run() {
    let tools =
        std::env::var_os(CMAKE_VARIABLE).expect("FERROCM_TEST_CMAKE names a folder with cmake and ninja");
    let tools = PathBuf::from(tools);
    for (name, text) in PROJECTS {
        let folder = sources();
        let here = folder.path();
        fs::write(here.join("CMakeLists.txt"), text).expect("write");
        fs::write(here.join("empty.cpp"), "int main() {}\n").expect("write");
        let config =
            |option: &str| succeeds(command(FERROCM, here).args(["hipconfig", option])).trim().to_owned();
        let (root, clang) = (config("--path"), config("--hipclangpath"));
        let mut cmake = command(tools.join("cmake"), here);
        cmake.args([
            "-G",
            "Ninja",
            "-B",
            "build",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DGPU_TARGETS=gfx1100;gfx90a",
        ]);
        cmake.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tools.join("ninja").display()));
        cmake.arg(format!("-DCMAKE_PREFIX_PATH={root}"));
        match name {
            "device" => cmake.arg(format!("-DCMAKE_CXX_COMPILER={root}/bin/hipcc")),
            "language" => cmake.args([
                &format!("-DCMAKE_HIP_COMPILER={clang}/clang++"),
                "-DCMAKE_HIP_ARCHITECTURES=gfx1100",
            ]),
            _ => &mut cmake,
        };
        succeeds(&mut cmake);
        succeeds(command(tools.join("cmake"), here).args(["--build", "build"]));
        if name != "unknown" {
            runs_on(&DEVICES[..1], &here.join("build/program"));
        }
    }
}
