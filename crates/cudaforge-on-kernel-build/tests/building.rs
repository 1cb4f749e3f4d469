//! Output of build scripts: constants and libraries with code for AMD GPUs.

use std::fs;
use std::path::Path;

use code_object::{CodeObject, TargetId, bundle, text};
use cudaforge::{Error, KernelBuilder};
use kernel_build::{targets_from_env, toolchain};
use test_skip::{Lack, skip};

const KERNEL: &str = "#include \"factor.cuh\"\n\
    extern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= FACTOR; }\n\
    #if !defined(__CUDA_ARCH__) && !defined(__CUDACC__)\n#error not CUDA\n#endif\n";
const LAUNCHER: &str = "#include <cuda_runtime.h>\n\
    static __global__ void scale(float *x) { x[threadIdx.x] *= 2; }\n\
    extern \"C\" void launch(float *x, int n, cudaStream_t stream) { scale<<<1, n, 0, stream>>>(x); }\n";

/// A folder with sources; `None` without a compiler, which the test run installs.
fn folder() -> Option<tempfile::TempDir> {
    if let Err(error) = toolchain::find() {
        skip(Lack::Tool, error);
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("src/scale-it.cu", KERNEL),
        ("src/more/other.cu", &KERNEL.replace("factor.cuh", "../factor.cuh")),
        ("src/factor.cuh", "#define FACTOR 2.0f\n"),
        ("src/moe/launch.cu", LAUNCHER),
    ] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Some(folder)
}

fn builder(folder: &Path) -> KernelBuilder {
    let builder = KernelBuilder::new().source_dir(folder.join("src")).out_dir(folder.join("out"));
    builder.arg("-std=c++17").arg("--expt-relaxed-constexpr").arg("-O3")
}

#[test]
fn constants_have_the_code_of_every_target() {
    let Some(folder) = folder() else { return };
    let output = builder(folder.path()).exclude(&["launch.cu"]).build_ptx().unwrap();
    let file = folder.path().join("ptx.rs");
    output.write(&file).unwrap();
    let rust = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = rust.lines().collect();
    assert_eq!(lines.len(), 2, "{rust}");
    assert!(lines[0].starts_with("pub const OTHER: &str = include_str!(\"/"), "{rust}");
    assert!(
        lines[1].starts_with("pub const SCALE_IT: &str") && lines[1].ends_with("scale-it.ptx\");"),
        "{rust}"
    );

    let text = fs::read_to_string(folder.path().join("out/scale-it.ptx")).unwrap();
    let bytes = text::decode(&text).unwrap();
    let targets: Vec<TargetId> = targets_from_env().unwrap();
    assert!(!targets.is_empty());
    for target in targets {
        let code = bundle::code_for(&bytes, &target).unwrap();
        let object = CodeObject::parse(&code).unwrap();
        assert_eq!(object.kernels().iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), ["scale"]);
    }
}

#[test]
fn two_sources_of_one_name_are_refused() {
    let Some(folder) = folder() else { return };
    fs::rename(folder.path().join("src/more/other.cu"), folder.path().join("src/more/scale-it.cu")).unwrap();
    let result = builder(folder.path()).exclude(&["moe/*"]).build_ptx();
    assert!(matches!(result, Err(Error::InvalidConfig(text)) if text.contains("SCALE_IT")));
}

#[test]
fn a_library_has_host_code_and_kernels() {
    let Some(folder) = folder() else { return };
    let files = [folder.path().join("src/moe/launch.cu")];
    let builder = KernelBuilder::default().source_files(files).arg("-Xcompiler").arg("-fPIC");
    let path = folder.path().join("out/libmoe.a");
    builder.build_lib(&path).unwrap();
    let library = fs::read(&path).unwrap();
    let has = |what: &[u8]| library.windows(what.len()).any(|part| part == what);
    assert!(
        library.starts_with(b"!<arch>\n")
            && has(b"launch\0")
            && has(b"hipLaunchKernel\0")
            && has(bundle::MAGIC)
    );
    // The library that the linker takes as CUDA's runtime.
    assert_eq!(fs::read(path.with_file_name("libcudart.a")).unwrap(), b"!<arch>\n");
}

#[test]
fn what_does_not_compile_is_named_with_what_the_compiler_says() {
    let Some(folder) = folder() else { return };
    fs::write(folder.path().join("src/factor.cuh"), "").unwrap();
    let Err(Error::CompilationFailed { path, message }) =
        builder(folder.path()).exclude(&["moe/*"]).build_ptx()
    else {
        panic!("it compiles");
    };
    assert!(path.ends_with("src/more/other.cu"), "{}", path.display());
    assert!(message.contains("FACTOR"), "{message}");
    let missing = KernelBuilder::new().source_files(["no.cu"]).build_ptx();
    assert!(matches!(missing, Err(Error::SourcePathNotFound(path)) if path == Path::new("no.cu")));
}
