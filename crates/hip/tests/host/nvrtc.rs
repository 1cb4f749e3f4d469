//! Programs for NVIDIA GPUs, compiled by NVIDIA's NVRTC. Neither a GPU nor a driver is needed.

use hip::rtc::{Compiler, Dialect, Program, Severity};
use hip::{Error, TargetId};
use test_skip::{Lack, skip};

/// The compiler, or none, with the reason printed.
fn compiler() -> Option<Compiler> {
    match Compiler::nvrtc() {
        Ok(compiler) => Some(compiler),
        Err(error) => {
            assert!(matches!(error, Error::CompilerUnavailable(_)), "{error}");
            skip(Lack::Machine, format_args!("no NVRTC (PyPI has it: nvidia-cuda-nvrtc): {error}"));
            None
        }
    }
}

fn target() -> TargetId {
    TargetId::nvidia("sm_80").unwrap()
}

#[test]
fn cuda_is_compiled_as_nvidia_defines_it() {
    let Some(compiler) = compiler() else { return };
    assert!(compiler.version().unwrap().0 >= 12 && !compiler.is_caching());
    // Inline PTX, which is not translated, and templates.
    let source = "#include <cuda_runtime.h>
#include \"scale.h\"
template <typename T> __global__ void fill(T* x, T v) {
    unsigned lane;
    asm(\"mov.u32 %0, %laneid;\" : \"=r\"(lane));
    x[lane] = v * SCALE;
}";
    let program =
        Program::new(source).header("scale.h", "#define SCALE 2\n").expression("fill<float>").option("-O3");
    let compiled = compiler.compile(&program, &target()).unwrap();
    assert!(compiled.code.starts_with(b"\x7fELF"));
    assert_eq!(compiled.lowered_name("fill<float>"), Some("_Z4fillIfEvPT_S0_"));
    assert!(compiled.diagnostics.is_empty(), "{}", compiled.log());
    // Whatever the dialect is: HIP's names for the same things are there.
    let hip =
        "#include <hip/hip_runtime.h>\nextern \"C\" __global__ void k(int* x) { x[hipThreadIdx_x] = 3; }";
    compiler.compile(&Program::new(hip).dialect(Dialect::Hip), &target()).unwrap();
}

#[test]
fn the_architecture_says_whether_code_is_a_cubin_or_ptx() {
    let Some(compiler) = compiler() else { return };
    // Instructions that only `sm_90a` has.
    let source = "extern \"C\" __global__ void k() { asm volatile(\"wgmma.fence.sync.aligned;\"); }";
    let compile = |name: &str| compiler.compile(&Program::new(source), &TargetId::nvidia(name).unwrap());
    assert!(compile("sm_90a").unwrap().code.starts_with(b"\x7fELF"));
    let ptx = String::from_utf8(compile("compute_90a").unwrap().code).unwrap();
    assert!(ptx.contains(".target sm_90a") && ptx.contains("wgmma.fence"), "{ptx}");
    assert!(matches!(compile("sm_90"), Err(Error::Compile(_))));
}

#[test]
fn messages_of_nvrtc_have_places() {
    let Some(compiler) = compiler() else { return };
    let program =
        Program::new("// one\nextern \"C\" __global__ void k(int* x) { x[0] = unknown; }").name("k.cu");
    let error = compiler.compile(&program, &target()).unwrap_err();
    let Error::Compile(error) = error else { panic!("{error}") };
    let [first, ..] = &error.diagnostics[..] else { panic!("{error}") };
    let place = first.place.as_ref().unwrap();
    assert_eq!((first.severity, place.file.to_str(), place.line), (Severity::Error, Some("k.cu"), 2));
    assert!(first.message.contains("unknown"), "{}", first.message);
}
