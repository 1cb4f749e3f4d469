//! `ferrocm nvcc`, called by hand, by make, by CMake, by a build script and by Python. The programs run on
//! virtual GPUs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{CMAKE_VARIABLE, DEVICES, FERROCM, command, folder_with, succeeds};

/// The standard error of a command, which must succeed or fail.
pub(crate) fn told(command: &mut Command, is_fine: bool) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), is_fine, "{command:?}: {err}");
    err
}

pub(crate) fn nvcc(folder: &Path, line: &str) -> Command {
    let mut nvcc = command(FERROCM, folder);
    nvcc.arg("nvcc").args(line.split(' '));
    nvcc
}

/// The folder laid out like CUDA's toolkit.
fn toolkit(folder: &Path) -> PathBuf {
    PathBuf::from(succeeds(&mut nvcc(folder, "--toolkit")).trim())
}

/// A command that finds nvcc as if CUDA were installed.
fn with_toolkit(program: impl AsRef<Path>, folder: &Path) -> Command {
    let toolkit = toolkit(folder);
    let mut path = vec![toolkit.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = command(program, folder);
    command.env("PATH", std::env::join_paths(path).expect("paths")).env("CUDA_HOME", &toolkit);
    command.env("CUDACXX", toolkit.join("bin/nvcc"));
    command
}

/// Runs a program linked by these tests. It must find its library itself.
fn runs(program: &Path, device: &str) {
    let mut program = command(program, Path::new("/"));
    let said = succeeds(program.env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", device));
    assert_eq!(said.trim(), "PASSED");
}

/// Sources of a program whose kernels call functions and use variables of other sources.
const SOURCES: [(&str, &str); 8] = [
    (
        "parts.cuh",
        "#pragma once\nextern __device__ int twice(int x);\nextern __device__ int counter;\nint from_host();\n\
         extern \"C\" int from_c(void);\n",
    ),
    ("twice.cu", "#include \"parts.cuh\"\n__device__ int twice(int x) { return 2 * x; }\n"),
    (
        "counter.cu",
        "#include \"parts.cuh\"\n__device__ int counter;\nstatic __global__ void add(int by) { counter += by; }\n\
         void count(int by) { add<<<1, 1>>>(by); }\n",
    ),
    (
        "main.cu",
        "#include <cstdio>\n#include \"parts.cuh\"\nvoid count(int by);\n__managed__ int seen = 3;\n\
         static __global__ void add(int* out) { *out = twice(21); counter = 5; seen += 4; }\n\
         int main() {\n  int *device, out = 0, counted = 0;\n  if (cudaMalloc(&device, 4) != cudaSuccess) return 1;\n\
         add << <1, 1>> >(device);\n  count(2);\n\
         if (cudaMemcpy(&out, device, 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;\n\
         if (cudaMemcpyFromSymbol(&counted, counter, 4) != cudaSuccess) return 3;\n\
         if (out != 42 || counted != 7 || seen != 7) return 4;\n\
         if (from_host() < 1 || from_c() != 0) return 5;\n  std::puts(\"PASSED\");\n}\n",
    ),
    (
        "host.cpp",
        "#include <cuda_runtime.h>\n\
         int from_host() { int count = 0; cudaGetDeviceCount(&count); return count; }\n",
    ),
    ("c.c", "#include <cuda_runtime_api.h>\nint from_c(void) { return (int)cudaSuccess; }\n"),
    (
        "program.cu",
        "#include <cstdio>\n#ifndef BY\n#define BY 42\n#endif\n__global__ void set(int* out) { *out = BY; }\n\
         int main(int count, char**) {\n  int *device, out = 0;\n  if (cudaMalloc(&device, 4) != cudaSuccess) return 1;\n\
         set<<<1, 1>>>(device);\n  if (cudaMemcpy(&out, device, 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;\n\
         if (out == 42) std::puts(count > 1 ? \"PASSED with arguments\" : \"PASSED\");\n}\n",
    ),
    (
        "library.cu",
        "__global__ void scale(float* numbers, int count, float by) {\n\
         const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < count) numbers[i] *= by;\n}\n\
         extern \"C\" int scale_on_device(float* numbers, int count, float by) {\n  float* device;\n\
         if (cudaMalloc(&device, count * 4) != cudaSuccess) return 1;\n\
         cudaMemcpy(device, numbers, count * 4, cudaMemcpyHostToDevice);\n\
         scale<<<(count + 63) / 64, 64>>>(device, count, by);\n\
         cudaMemcpy(numbers, device, count * 4, cudaMemcpyDeviceToHost);\n  cudaFree(device);\n\
         return cudaGetLastError() != cudaSuccess;\n}\n",
    ),
];
const ALL: &str = "main.cu twice.cu counter.cu host.cpp c.c";
const TARGETS: &str = "-arch=gfx1100 -gencode arch=compute_80,code=gfx90a";

fn sources() -> TempDir {
    folder_with(&SOURCES)
}

#[test]
fn a_program_is_compiled_linked_and_runs_by_itself() {
    let folder = sources();
    let here = folder.path();
    succeeds(&mut nvcc(
        here,
        &format!("{TARGETS} -O2 -std=c++17 -Xcompiler -Wall,-Werror program.cu -o program"),
    ));
    DEVICES.iter().for_each(|device| runs(&here.join("program"), device));
    // Without a target, it is for the default device; NVIDIA's names are no targets.
    let mut line = nvcc(here, "-arch=sm_90 -cudart shared program.cu");
    succeeds(line.env("FERROCM_DEVICE", DEVICES[1]));
    runs(&here.join("a.out"), DEVICES[1]);
    let said = succeeds(&mut nvcc(here, "-run program.cu -run-args one,two"));
    assert_eq!(said, "PASSED with arguments\n");
    // The same from a file of options, with what variables add.
    fs::write(here.join("list"), "program.cu -o 'with list' -D BY=7,OTHER -UBY").expect("write");
    let mut line = nvcc(here, "--options-file list");
    succeeds(line.env("NVCC_APPEND_FLAGS", "-DBY=42").env("FERROCM_TARGETS", "gfx1100"));
    runs(&here.join("with list"), DEVICES[0]);
}

#[test]
fn sources_call_device_code_of_each_other() {
    let folder = sources();
    let here = folder.path();
    // By nvcc alone.
    succeeds(&mut nvcc(here, &format!("{TARGETS} -rdc=true {ALL} -o whole")));
    DEVICES.iter().for_each(|device| runs(&here.join("whole"), device));
    // Object files, some in a static library, and others joined by ld.
    succeeds(&mut nvcc(here, &format!("{TARGETS} -dc {ALL} -Xcompiler=-fPIC")));
    succeeds(&mut nvcc(here, "-lib twice.o counter.o -o libparts.a"));
    succeeds(&mut nvcc(here, "main.o host.o c.o -L. -lparts -o parts"));
    runs(&here.join("parts"), DEVICES[0]);
    succeeds(command("ld", here).args("-r twice.o counter.o -o joined.o".split(' ')));
    succeeds(&mut nvcc(here, "main.o host.o c.o joined.o -o joined"));
    runs(&here.join("joined"), DEVICES[1]);
    // The host's linker takes linked device code, and nvcc does not link it again.
    succeeds(&mut nvcc(here, "-dlink main.o libparts.a -o linked.o"));
    let library = format!("-L{}", toolkit(here).join("lib64").display());
    let line =
        "main.o host.o c.o libparts.a linked.o -o by-host -lcudart_static -lcudadevrt -lnvidia-ml -ldl";
    succeeds(command("g++", here).args(line.split(' ')).arg(library));
    runs(&here.join("by-host"), DEVICES[0]);
    succeeds(&mut nvcc(here, "main.o host.o c.o libparts.a linked.o -o again"));
    runs(&here.join("again"), DEVICES[0]);
    let error = told(&mut nvcc(here, "main.o host.o c.o counter.o -o lacking"), false);
    assert!(error.contains("nvlink error: undefined") && error.contains("twice(int)"), "{error}");
    succeeds(&mut nvcc(here, "-arch=gfx1030 -dc twice.cu -o other.o"));
    let error = told(&mut nvcc(here, "-dlink main.o counter.o other.o"), false);
    assert!(error.contains("other.o: it has device code for gfx1030, but not for gfx1100"), "{error}");
}

#[test]
fn each_kind_of_output_is_made() {
    let folder = sources();
    let here = folder.path();
    let read = |name: &str| fs::read(here.join(name)).expect("the output");
    succeeds(&mut nvcc(here, &format!("{TARGETS} -fatbin program.cu -DBY=1")));
    let bundle = read("program.fatbin");
    let ids: Vec<String> = code_object::bundle::entries(&bundle)
        .expect("a bundle")
        .iter()
        .map(|entry| entry.id.to_owned())
        .collect();
    assert!(ids[1].ends_with("gfx1100") && ids[2].ends_with("gfx90a"), "{ids:?}");
    succeeds(&mut nvcc(here, "-arch=gfx1100 -ptx program.cu -odir ."));
    let text = read("program.ptx");
    assert!(code_object::bundle::is_bundle(&code_object::text::decode(&text).expect("text")));
    succeeds(&mut nvcc(here, "-arch=gfx1100 -cubin program.cu -o code"));
    assert!(read("code").starts_with(b"\x7fELF"));
    let error = told(&mut nvcc(here, &format!("{TARGETS} -cubin program.cu")), false);
    assert!(error.contains("-cubin writes the code of one target, not of gfx1100, gfx90a"), "{error}");
    let preprocessed = succeeds(&mut nvcc(here, "-E program.cu"));
    assert!(preprocessed.contains("{ *out = 42; }"), "{}", preprocessed.len());
    let list = succeeds(&mut nvcc(here, "-MM main.cu"));
    assert!(
        list.starts_with("main.o: main.cu") && list.contains("parts.cuh") && !list.contains("stdio"),
        "{list}"
    );
    succeeds(&mut nvcc(here, "-M main.cu -MT target -o list.d"));
    let list = String::from_utf8(read("list.d")).expect("text");
    assert!(list.starts_with("target: ") && list.contains("stdio"), "{list}");
    fs::write(here.join("device.cuh"), "").expect("write");
    let text = "#ifdef __CUDA_ARCH__\n#include \"device.cuh\"\n#endif\n__global__ void k() {}\n";
    fs::write(here.join("device.cuh.cu"), text).expect("write");
    succeeds(&mut nvcc(here, "-MMD -c device.cuh.cu -o device.o"));
    let list = String::from_utf8(read("device.d")).expect("text");
    assert!(list.starts_with("device.o: device.cuh.cu") && list.contains("device.cuh\n"), "{list}");
    // A header is a source if `-x` says so, and by its name.
    fs::write(here.join("k.inc"), "__global__ void k() {}\n").expect("write");
    succeeds(&mut nvcc(here, "-x cu -c k.inc -keep -keep-dir kept -time times.csv"));
    assert!(here.join("kept/k-0.gfx1100.hsaco").is_file() && here.join("k.o").is_file());
    assert!(String::from_utf8(read("times.csv")).expect("text").contains("fatbinary, "));
    succeeds(&mut nvcc(here, "-x cu -c k.inc -clean"));
    assert!(!here.join("k.o").exists());
    succeeds(&mut nvcc(here, "-c parts.cuh"));
    assert!(here.join("parts.o").is_file());
}

#[test]
fn questions_and_errors_are_plain() {
    let folder = sources();
    let here = folder.path();
    let version = succeeds(&mut nvcc(here, "--version"));
    assert!(
        version.starts_with("nvcc: NVIDIA (R) Cuda compiler driver\nThis is ferrocm's nvcc"),
        "{version}"
    );
    assert!(version.contains("release 12.8, V12.8."), "{version}");
    assert_eq!(succeeds(command(toolkit(here).join("bin/nvcc"), here).arg("-V")), version);
    assert!(succeeds(&mut nvcc(here, "--list-gpu-code")).contains("sm_90\n"));
    assert!(succeeds(&mut nvcc(here, "--help")).contains("--gpu-architecture"));
    // A link with this name, for a folder in PATH.
    std::os::unix::fs::symlink(FERROCM, here.join("nvcc")).expect("link");
    assert_eq!(succeeds(command(here.join("nvcc"), here).arg("--version")), version);
    // As makefiles and CMake's scripts choose warnings for the host's compiler.
    let mut ask = nvcc(here, ".c -Xcompiler");
    assert!(succeeds(ask.arg("--version")).contains("clang version"));
    let number = succeeds(&mut nvcc(here, ".c -Xcompiler -dumpfullversion,-dumpversion"));
    assert!(number.trim().split('.').all(|part| part.parse::<u32>().is_ok()), "{number}");
    for (line, expected) in [
        ("-what program.cu", "nvcc fatal   : Unknown option '-what'"),
        ("a.zz", "nvcc fatal   : Don't know what to do with 'a.zz'"),
        ("-arch=sm_what program.cu", "nvcc fatal   : Unsupported gpu architecture 'sm_what'"),
        ("-optix-ir program.cu", "OptiX is for NVIDIA GPUs only"),
        ("x.ptx", "AMD GPUs do not execute PTX"),
        ("-c program.cu main.cu -o x", "A single input file is required"),
        ("-lm", "No input files specified"),
        ("-c missing.cu", "missing.cu"),
    ] {
        let error = told(&mut nvcc(here, line), false);
        assert!(error.contains(expected), "{line}: {error}");
    }
    let error = told(nvcc(here, "program.cu").env("FERROCM_LIBRARIES", "/no/such"), false);
    assert!(error.contains("there is no libamdhip64.so.7"), "{error}");
    let warned = told(&mut nvcc(here, "-I/no/such/folder -c program.cu"), true);
    assert_eq!(warned, "nvcc warning : the folder of headers /no/such/folder does not exist\n");
    // A message stands once, although two compilers read the source, and a verbose command does not bury it.
    fs::write(here.join("wrong.cu"), "__global__ void k(int* p) { int x; }\nint f() { int x; }\n")
        .expect("write");
    let warned = told(&mut nvcc(here, "-Xcompiler -Wall -c wrong.cu"), true);
    assert_eq!(warned.matches("non-void function does not return").count(), 1, "{warned}");
    // A cluster of several blocks is what AMD GPUs lack; one of one block is nothing special.
    let text = "template <int N> __global__ void __cluster_dims__(N, 1) k(int* p) { *p = N; }\n\
                void f(int* p) {\n  k<1><<<1, 1>>>(p);\n  k<2><<<2, 1>>>(p);\n}\n";
    fs::write(here.join("clusters.cu"), text).expect("write");
    let warned = told(&mut nvcc(here, "-c clusters.cu"), true);
    assert!(warned.contains("clusters.cu:4:3: warning: AMD GPUs have no clusters"), "{warned}");
    assert_eq!(warned.matches("warning: ").count(), 1, "{warned}");
    fs::write(here.join("wrong.cu"), "__global__ void k(int* p) {\n  p = 1.5; }\n").expect("write");
    let error = told(&mut nvcc(here, "--verbose -c wrong.cu"), false);
    assert!(error.contains("#$ TOP=") && error.contains("wrong.cu:2:7: error: "), "{error}");
    assert!(!error.contains("clang -cc1") && !error.contains("Selected GCC"), "{error}");
    // Nothing is made, and no program runs.
    let shown = told(&mut nvcc(here, "-dryrun program.cu -o dry"), true);
    assert!(shown.contains("-arch compute_52") && shown.contains("-o \"dry\"") && !here.join("dry").exists());
}

#[test]
fn a_tree_with_a_makefile_builds_as_with_cuda() {
    let folder = sources();
    let here = folder.path();
    // As many trees have it: the host's compiler links, and the runtime is shared.
    let makefile = "NVCC = nvcc\nCUDA_HOME ?= /usr/local/cuda\nARCH = -gencode arch=compute_70,code=sm_70 -gencode \
                    arch=compute_80,code=[sm_80,compute_80]\nOBJECTS = main.o twice.o counter.o host.o c.o\n\n\
                    program: $(OBJECTS) linked.o\n\tg++ -o $@ $^ -L$(CUDA_HOME)/lib64 -lcudart -Wl,-rpath,$(CUDA_HOME)/lib64\n\n\
                    linked.o: $(OBJECTS)\n\t$(NVCC) $(ARCH) -dlink $^ -o $@\n\n\
                    %.o: %.cu\n\t$(NVCC) $(ARCH) -O3 --use_fast_math -lineinfo -Xptxas -v -MMD -dc $< -o $@\n\n\
                    %.o: %.cpp\n\tg++ -O2 -I$(CUDA_HOME)/include -c $< -o $@\n\n%.o: %.c\n\tgcc -I$(CUDA_HOME)/include -c $< -o $@\n\n\
                    clean:\n\trm -f *.o program\n\n-include $(OBJECTS:.o=.d)\n";
    fs::write(here.join("Makefile"), makefile).expect("write");
    succeeds(with_toolkit("make", here).arg("-j2"));
    runs(&here.join("program"), DEVICES[0]);
    let again = succeeds(&mut with_toolkit("make", here));
    assert!(again.contains("up to date"), "{again}");
}

#[test]
fn a_python_extension_is_a_shared_library() {
    let folder = sources();
    let here = folder.path();
    succeeds(&mut nvcc(here, "-shared -Xcompiler -fPIC -o libscale.so library.cu"));
    let script = "import ctypes\nlibrary = ctypes.CDLL('./libscale.so')\nnumbers = (ctypes.c_float * 100)(*range(100))\n\
                  assert library.scale_on_device(numbers, 100, ctypes.c_float(2.5)) == 0\n\
                  assert list(numbers) == [2.5 * i for i in range(100)]\nprint('PASSED')\n";
    let mut python = command("python3", here);
    let said = succeeds(python.env_remove("FERROCM_LIBRARIES").args(["-c", script]));
    assert_eq!(said.trim(), "PASSED");
}

/// As build scripts of Rust crates have it: kernels in a static library by the crate `cc`, and the runtime in
/// another, both linked by rustc.
#[test]
fn a_build_script_with_the_crate_cc_builds_kernels() {
    let folder = sources();
    let here = folder.path();
    fs::write(here.join("more.cu"), "__device__ float half_of(float x) { return x / 2; }\n").expect("write");
    let text = SOURCES[7].1.replace("numbers[i] *= by", "numbers[i] = 2 * half_of(numbers[i] * by)");
    fs::write(here.join("library.cu"), format!("__device__ float half_of(float x);\n{text}")).expect("write");
    let program = std::env::current_exe().expect("this program");
    let mut script = with_toolkit(program, here);
    succeeds(script.args(["--exact", "nvcc::the_build_script", "--ignored"]));
    let program = "unsafe extern \"C\" { fn scale_on_device(numbers: *mut f32, count: i32, by: f32) -> i32; }\n\
                   fn main() {\n    let mut x = [1.0_f32, 2.0];\n    assert_eq!(unsafe { scale_on_device(x.as_mut_ptr(), 2, 3.0) }, 0);\n\
                   assert_eq!(x, [3.0, 6.0]);\n    println!(\"PASSED\");\n}\n";
    fs::write(here.join("main.rs"), program).expect("write");
    let mut rustc = command("rustc", here);
    rustc.args([
        "--edition",
        "2024",
        "main.rs",
        "-o",
        "rust",
        "-l",
        "static=kernels",
        "-l",
        "static=cudart_static",
    ]);
    rustc.args(["-l", "dylib=stdc++", "-L", "native=."]);
    succeeds(rustc.arg("-L").arg(format!("native={}", toolkit(here).join("lib64").display())));
    runs(&here.join("rust"), DEVICES[0]);
}

#[test]
#[ignore = "the build script of another test, which starts it in a folder with sources"]
fn the_build_script() {
    let here = std::env::current_dir().expect("a folder");
    if !here.join("more.cu").is_file() {
        return;
    }
    let mut build = cc::Build::new();
    build.cuda(true).files(["library.cu", "more.cu"]).out_dir(here).cargo_metadata(false).pic(true);
    build.flag("-gencode").flag("arch=compute_80,code=sm_80").opt_level(2).debug(false);
    build.target("x86_64-unknown-linux-gnu").host("x86_64-unknown-linux-gnu");
    build.compile("kernels");
}

/// What programs of CUDA's rely on: headers that others have, too, a macro behind a string without a space,
/// `register`, and names of errors that HIP does not have.
const HABITS: [(&str, &str); 2] = [
    (
        "habits.cu",
        "#include <cstdio>\n#include <cub/device/device_partition.cuh>\n#include <cuda.h>\n#include <cufft.h>\n#include <omp.h>\n#include <thrust/device_vector.h>\n#include <thrust/iterator/transform_iterator.h>\n\
         #include <thrust/sort.h>\n#include <cuda/std/functional>\n\
         #define WORD \"SED\"\nusing threads = decltype(omp_get_max_threads());\n\
         static const char* name(cudaError_t error) {\n  switch (error) {\n  case cudaErrorInvalidHostPointer:\n\
         case cudaErrorMisalignedAddress:\n  case cudaErrorApiFailureBase: return \"CUDA's\";\n\
         default: return \"PAS\"WORD;\n  }\n}\n\
         struct Below {\n  int limit;\n  __device__ bool operator()(int x) const { return x < limit; }\n};\n\
         // In three parts, which rocPRIM counts in pairs.\n\
         static bool divides() {\n  int *x, *found;\n  void* room = nullptr;\n  size_t bytes = 0;\n\
         cudaMallocManaged(&x, 120 * sizeof(int)), cudaMallocManaged(&found, 2 * sizeof(int));\n\
         for (int i = 0; i < 30; i++) x[i] = 7 * i % 30;\n\
         for (int i = 0; i < 2; i++) {\n\
         cub::DevicePartition::If(room, bytes, x, x + 30, x + 60, x + 90, found, 30, Below{10}, Below{25});\n\
         if (!room) cudaMalloc(&room, bytes);\n  }\n  cudaDeviceSynchronize();\n\
         return found[0] == 10 && found[1] == 15 && x[31] == 7 && x[60] == 14 && x[90] == 28;\n}\n\
         static_assert(CUFFT_MISSING_DEPENDENCY == 17 && CUFFT_NVSHMEM_FAILURE == 20);\n\
         int main() {\n  thrust::device_vector<threads> numbers(3);\n  numbers[0] = 3, numbers[1] = 1, numbers[2] = 2;\n\
         thrust::sort(numbers.begin(), numbers.end());\n\
         for (register int i = 0; i < 3; i++) if (numbers[i] != i + 1) return 1;\n  if (!divides()) return 4;\n  int compresses = 1, three = 3;\n\
         if (*thrust::make_transform_iterator(&three, cuda::std::identity()) != 3) return 3;\n\
         if (cuDeviceGetAttribute(&compresses, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0) != CUDA_SUCCESS ||\n\
             compresses) return 2;\n\
         std::puts(name(cudaGetLastError()));\n}\n",
    ),
    (
        "habits.cpp",
        "#include <cuda_runtime.h>\n#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n",
    ),
];

#[test]
fn headers_that_others_have_are_read_once_and_the_language_is_gccs() {
    let folder = folder_with(&HABITS);
    let here = folder.path();
    succeeds(&mut nvcc(here, "-arch=gfx1100 -std=c++17 habits.cu -o habits"));
    runs(&here.join("habits"), DEVICES[0]);
    // Host compilers find OpenMP's header behind the toolkit's folder.
    let include = format!("-I{}", toolkit(here).join("include").display());
    succeeds(command("g++", here).args(["-fopenmp", "-fsyntax-only", "habits.cpp"]).arg(include));
}

/// clang calls the files by `PWD`, which a shell sets to the path that the user went.
#[test]
fn a_tree_behind_a_link_has_its_headers_translated() {
    let lane = "asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));";
    let header = format!("__device__ inline int lane() {{\n  int lane;\n  {lane}\n  return lane;\n}}\n");
    let folder = folder_with(&[
        ("lane.cuh", &header),
        (
            "lane.cu",
            "#include \"lane.cuh\"\n__global__ void lanes(int* out) { out[threadIdx.x] = lane(); }\n",
        ),
    ]);
    let links = tempfile::tempdir().expect("folder");
    let link = links.path().join("tree");
    std::os::unix::fs::symlink(folder.path(), &link).expect("link");
    succeeds(nvcc(&link, "-arch=gfx1100 -c lane.cu -o lane.o").env("PWD", &link));
    succeeds(nvcc(&link, "-arch=gfx1100 -c lane.cu -o lane.o").env("PWD", links.path()));
}

/// As bindgen_cuda calls nvcc, and programs load the result through the driver's API.
#[test]
fn code_as_text_is_loaded_like_ptx() {
    let folder = sources();
    let here = folder.path();
    fs::create_dir(here.join("out")).expect("folder");
    fs::write(here.join("kernel.cu"), "extern \"C\" __global__ void set(int* out) { *out = 42; }\n")
        .expect("write");
    let line =
        "--gpu-architecture=sm_80 --ptx --default-stream per-thread --output-directory out -I. kernel.cu";
    succeeds(&mut nvcc(here, line));
    succeeds(&mut nvcc(here, "-fatbin kernel.cu -o out/kernel.fatbin"));
    let text = "#include <cuda.h>\n#include <cstdio>\n#include <fstream>\n#include <iterator>\n#include <string>\n\
         static bool works(CUmodule module) {\n  CUfunction set;\n  CUdeviceptr device;\n  int out = 0;\n\
         if (cuModuleGetFunction(&set, module, \"set\") != CUDA_SUCCESS) return false;\n\
         if (cuMemAlloc(&device, 4) != CUDA_SUCCESS) return false;\n  void* arguments[] = {&device};\n\
         if (cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0) != CUDA_SUCCESS) return false;\n\
         return cuMemcpyDtoH(&out, device, 4) == CUDA_SUCCESS && out == 42;\n}\n\
         int main() {\n  CUdevice device;\n  CUcontext context;\n  CUmodule module;\n\
         if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) return 1;\n\
         if (cuCtxCreate(&context, 0, device) != CUDA_SUCCESS) return 2;\n\
         if (cuModuleLoad(&module, \"out/kernel.ptx\") != CUDA_SUCCESS || !works(module)) return 3;\n\
         if (cuModuleLoad(&module, \"out/kernel.fatbin\") != CUDA_SUCCESS || !works(module)) return 4;\n\
         std::ifstream file(\"out/kernel.ptx\");\n\
         std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());\n\
         if (cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS || !works(module)) return 5;\n\
         std::puts(\"PASSED\");\n}\n";
    fs::write(here.join("driver.cpp"), text).expect("write");
    succeeds(&mut nvcc(here, "driver.cpp -o driver -lcuda"));
    assert_eq!(succeeds(&mut command("./driver", here)).trim(), "PASSED");
}

/// A project with separable device code in a static library, the toolkit's targets, and a shared library.
const PROJECT: &str = "cmake_minimum_required(VERSION 3.21)\nproject(tree LANGUAGES C CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\n\
     if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL \"NVIDIA\" OR CUDAToolkit_VERSION VERSION_LESS 12.8)\n\
     message(FATAL_ERROR \"${CMAKE_CUDA_COMPILER_ID} ${CUDAToolkit_VERSION}\")\nendif()\n\
     add_library(parts STATIC twice.cu counter.cu)\n\
     set_target_properties(parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON POSITION_INDEPENDENT_CODE ON)\n\
     target_compile_features(parts PUBLIC cuda_std_17)\nadd_executable(program main.cu host.cpp c.c)\n\
     set_target_properties(program PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_ARCHITECTURES \"75;80-virtual\")\n\
     target_link_libraries(program PRIVATE parts CUDA::cudart)\nadd_library(scale SHARED library.cu)\n\
     add_executable(second second.cpp)\ntarget_link_libraries(second PRIVATE scale)\n";

#[test]
#[ignore = "takes CMake and Ninja, which `cargo xtask test` fetches"]
fn small_cmake_projects_in_the_language_cuda_build_and_run() {
    let tools =
        std::env::var_os(CMAKE_VARIABLE).expect("FERROCM_TEST_CMAKE names a folder with cmake and ninja");
    let tools = PathBuf::from(tools);
    let folder = sources();
    let here = folder.path();
    fs::write(here.join("CMakeLists.txt"), PROJECT).expect("write");
    let second = "#include <cstdio>\nextern \"C\" int scale_on_device(float*, int, float);\n\
                  int main() { float x[2] = {1, 2}; if (!scale_on_device(x, 2, 3) && x[1] == 6) std::puts(\"PASSED\"); }\n";
    fs::write(here.join("second.cpp"), second).expect("write");
    for (generator, build) in [("Ninja", "ninja-build"), ("Unix Makefiles", "make-build")] {
        let mut cmake = with_toolkit(tools.join("cmake"), here);
        cmake.args(["-G", generator, "-B", build, "-DCMAKE_BUILD_TYPE=Release"]);
        if generator == "Ninja" {
            cmake.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tools.join("ninja").display()));
        }
        succeeds(&mut cmake);
        succeeds(with_toolkit(tools.join("cmake"), here).args(["--build", build]));
        runs(&here.join(build).join("program"), DEVICES[0]);
        runs(&here.join(build).join("second"), DEVICES[0]);
        // Nothing is left to do, and a header's change is noticed.
        let again = succeeds(with_toolkit(tools.join("cmake"), here).args(["--build", build]));
        assert!(!again.contains("Building CUDA"), "{again}");
    }
}
