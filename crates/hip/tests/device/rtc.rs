//! Kernels that are compiled at run time, on the device under test.

use hip::rtc::{Diagnostic, Program, Severity};
use hip::{Backend, DeviceBuffer, Error, LaunchConfig};
use test_skip::{Lack, skip};

use crate::common::{self, SAXPY, compiler_for};

hip::kernels! {
    struct Blas {
        unsafe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
    }
}

#[test]
fn a_program_is_compiled_once_and_runs() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (_folder, compiler) = compiler_for(&device);
    let program = Program::new(SAXPY);
    for cached in [false, true] {
        let compiled = compiler.compile(&program, device.target()).unwrap();
        assert_eq!(compiled.cached, cached && compiler.is_caching());
        let blas = Blas::load(&compiled.load(&device).unwrap()).unwrap();
        let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0]).unwrap();
        let mut y = DeviceBuffer::from_slice(&stream, &[10.0_f32; 3]).unwrap();
        // SAFETY: both have three elements.
        unsafe { blas.saxpy(&stream, LaunchConfig::new(1, 64), 3, 2.0, &x, &mut y).unwrap() };
        assert_eq!(y.to_vec(&stream).unwrap(), [12.0, 14.0, 16.0]);
    }
    // A text of any type, without opening a compiler.
    let text = SAXPY.to_owned();
    for module in [device.compile(&text), device.compile(text.clone()), device.compile(&program)] {
        Blas::load(&module.unwrap()).unwrap();
    }
}

#[test]
fn errors_carry_file_line_and_column() {
    let device = common::device();
    let (_folder, compiler) = compiler_for(&device);
    let program = Program::new("#include \"part.h\"\n__global__ void k(int* x) {\n    x[0] = nonsense;\n}\n")
        .name("folder/broken.hip")
        .header("part.h", "inline int unused;\n#warning careful\n");
    let error = match compiler.compile(&program, device.target()).unwrap_err() {
        Error::Compile(error) => *error,
        other => panic!("{other}"),
    };
    assert!(error.log.contains("nonsense") && error.target == device.target().to_string(), "{error}");
    // A compiler may give more messages, for example about its language version.
    let found = |severity, message| {
        let says = |found: &&Diagnostic| found.severity == severity && found.message.contains(message);
        error.diagnostics.iter().find(says).unwrap_or_else(|| panic!("no `{message}` in {error}"))
    };
    // NVRTC's messages have no columns, which is the first one.
    let (says, column) = match device.backend() {
        Backend::Cuda => ("identifier \"nonsense\" is undefined", 1),
        _ => ("use of undeclared identifier 'nonsense'", 12),
    };
    let fault = found(Severity::Error, says);
    let warning = found(Severity::Warning, "careful");
    let place = fault.place.as_ref().unwrap();
    assert!(place.file.ends_with("broken.hip"), "{place:?}");
    assert_eq!((place.line, place.column), (3, column));
    let place = warning.place.as_ref().unwrap();
    assert!(place.file.ends_with("part.h") && place.line == 2, "{place:?}");
}

#[test]
fn name_expressions_instantiate_templates() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (_folder, compiler) = compiler_for(&device);
    let program = Program::new(
        "namespace a { __device__ int table[4]; }\n\
         template <typename T, int N> __global__ void fill(T* x) { x[threadIdx.x] = T(N); }\n",
    )
    .expression("fill<float, 3>")
    .expression("&a::table");
    for cached in [false, true] {
        let compiled = compiler.compile(&program, device.target()).unwrap();
        assert_eq!(compiled.cached, cached && compiler.is_caching());
        let name = compiled.lowered_name("fill<float, 3>").unwrap();
        // Their names in the Itanium C++ ABI.
        assert_eq!(name, "_Z4fillIfLi3EEvPT_");
        assert_eq!(compiled.lowered_name("&a::table"), Some("_ZN1a5tableE"));
        assert_eq!(compiled.lowered_name("fill<int, 3>"), None);
        let fill = compiled.load(&device).unwrap().function(name).unwrap();
        let mut x = DeviceBuffer::<f32>::zeroed(&stream, 8).unwrap();
        // SAFETY: eight work-items write eight elements.
        unsafe { fill.launch(&stream).grid(1).block(8).arg(&mut x).enqueue().unwrap() };
        assert_eq!(x.to_vec(&stream).unwrap(), [3.0; 8]);
    }
    let wrong = Program::new("__global__ void k() {}").expression("no_such_kernel<int>");
    let error = compiler.compile(&wrong, device.target()).unwrap_err();
    assert!(matches!(&error, Error::Compile(error) if error.log.contains("no_such_kernel")), "{error}");
}

#[test]
fn what_cannot_be_compiled_is_an_error() {
    let device = common::device();
    let (_folder, compiler) = compiler_for(&device);
    let unknown = "gfx9999".parse().unwrap();
    let error = compiler.compile(&Program::new(SAXPY), &unknown).unwrap_err();
    assert!(
        matches!(error, Error::Compile(_) | Error::Unsupported { .. })
            && error.to_string().contains("gfx9999")
    );
    let nul = compiler.compile(&Program::new("a\0b"), device.target()).unwrap_err();
    assert!(matches!(nul, Error::Rtc { operation: "hiprtcCreateProgram", .. }), "{nul}");
    let (major, _) = compiler.version().unwrap();
    assert!(major >= 5);
}

#[test]
fn a_device_compiles_by_itself() {
    let device = common::device();
    let module = device.compile(SAXPY).unwrap();
    assert_eq!(module.device(), &device);
    Blas::load(&module).unwrap();
}

#[test]
fn a_program_without_an_end_is_an_error_that_names_the_limit() {
    let device = common::device();
    let (_folder, compiler) = compiler_for(&device);
    let compiler = compiler.time_limit(Some(std::time::Duration::from_millis(300)));
    let endless = Program::new(
        "template <int D, long P> struct T { T<D - 1, 2 * P> a; T<D - 1, 2 * P + 1> b; };\n\
         template <long P> struct T<0, P> { char c; };\n\
         extern \"C\" __global__ void k(int* p) { *p = sizeof(T<40, 1>); }",
    );
    if !compiler.is_caching() {
        return skip(Lack::Device, "this compiler runs inside of the process, and has no limits");
    }
    let error = compiler.compile(&endless, device.target()).unwrap_err();
    assert!(matches!(&error, Error::Compile(error) if error.log.contains("time limit")), "{error}");
}
