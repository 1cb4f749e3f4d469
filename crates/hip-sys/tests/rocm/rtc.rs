//! Tests on AMD's own run-time compiler of one release, in a sysroot; `cargo xtask test rocm` runs these.
//! Compiling needs no GPU.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use code_object::CodeObject;
use hip_sys::Source;
use hip_sys::rtc::{Table, hiprtcProgram, hiprtcResult};
use test_support::sysroot::{Sysroot, compare_symbols};

/// The expected facts about a release's compiler.
#[derive(Clone, Copy)]
struct Release {
    /// The version of the headers.
    version: &'static str,
    /// The start of the name of the file with the compiler.
    file: &'static str,
    /// Some of the targets that it knows.
    targets: &'static [&'static str],
    /// The code object version that it writes.
    code_object: u8,
}

const RELEASES: [(&str, Release); 4] = [
    (
        "5.2",
        Release {
            version: "5.2.3",
            file: "libamdhip64.so.5.2.",
            targets: &["gfx1030", "gfx90a"],
            code_object: 4,
        },
    ),
    (
        "5.7",
        Release {
            version: "5.7.1",
            file: "libamdhip64.so.5.7.",
            targets: &["gfx1030", "gfx90a", "gfx1100"],
            code_object: 4,
        },
    ),
    (
        "6.4",
        Release {
            version: "6.4.3",
            file: "libamdhip64.so.6.4.",
            targets: &["gfx1030", "gfx90a", "gfx1100", "gfx942"],
            code_object: 6,
        },
    ),
    (
        "7.2",
        Release {
            version: "7.2.4",
            file: "libhiprtc.so.7.2.",
            targets: &["gfx1030", "gfx90a", "gfx1100", "gfx942", "gfx1201"],
            code_object: 6,
        },
    ),
];

const SOURCE: &CStr = cr#"
extern "C" __global__ void scale(float* values, float factor, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = factor * sinf(values[i]);
}
"#;

fn find() -> Option<(Sysroot, Release)> {
    let sysroot = Sysroot::find()?;
    let release = sysroot.pick("hiprtc", &RELEASES)?;
    Some((sysroot, release))
}

/// Compiles a program. The error is the compiler's own, with its log.
fn compile(table: &Table, source: &CStr, target: &str) -> Result<Vec<u8>, (hiprtcResult, String)> {
    let option = CString::new(format!("--gpu-architecture={target}")).unwrap();
    let mut program: hiprtcProgram = null_mut();
    // SAFETY: the strings live through the call; there are no headers.
    let status = unsafe {
        (table.hiprtcCreateProgram)(&mut program, source.as_ptr(), c"scale.hip".as_ptr(), 0, null(), null())
    };
    assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
    // SAFETY: the program was made above; there is one option, which lives through the call.
    let compiled = unsafe { (table.hiprtcCompileProgram)(program, 1, [option.as_ptr()].as_ptr()) };
    let result = match compiled {
        hiprtcResult::HIPRTC_SUCCESS => {
            let mut size = 0;
            // SAFETY: the program was compiled; the function writes the one number.
            let status = unsafe { (table.hiprtcGetCodeSize)(program, &mut size) };
            assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
            let mut code = vec![0u8; size];
            // SAFETY: the buffer has the size that the compiler reported.
            let status = unsafe { (table.hiprtcGetCode)(program, code.as_mut_ptr().cast()) };
            assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
            Ok(code)
        }
        error => {
            let mut size = 0;
            // SAFETY: the program was made above; the function writes the one number.
            let status = unsafe { (table.hiprtcGetProgramLogSize)(program, &mut size) };
            assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
            let mut log = vec![0u8; size + 1];
            // SAFETY: the buffer has the size that the compiler reported, plus one.
            let status = unsafe { (table.hiprtcGetProgramLog)(program, log.as_mut_ptr().cast()) };
            assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
            Err((error, CStr::from_bytes_until_nul(&log).unwrap().to_string_lossy().into_owned()))
        }
    };
    // SAFETY: the program was made above and is not used again.
    let status = unsafe { (table.hiprtcDestroyProgram)(&mut program) };
    assert_eq!(status, hiprtcResult::HIPRTC_SUCCESS);
    result
}

#[test]
fn the_compiler_is_found_in_the_file_that_the_release_has_it_in() {
    let Some((sysroot, release)) = find() else { return };
    let table = Table::load().unwrap();
    let path = table.path().unwrap();
    assert!(sysroot.holds(path), "{}", path.display());
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(release.file), "{name}");
    assert_eq!(table.source(), Some(Source::Loader));
    let version = table.version().unwrap();
    assert!(name.ends_with(&version.to_string()), "{version} in {name}");
    // Up to HIP 6, the compiler is part of the runtime, and is found there if the process has loaded the
    // runtime.
    let runtime = hip_sys::Table::load().unwrap();
    assert_eq!(runtime.version(), Some(version));
    assert_eq!(runtime.path() == Some(path), version.major < 7);
}

#[test]
fn the_compiler_exports_what_the_bindings_say_and_no_more() {
    let Some((_, release)) = find() else { return };
    compare_symbols::<Table>(release.version).unwrap();
}

#[test]
fn a_kernel_becomes_a_code_object_for_each_target() {
    let Some((_, release)) = find() else { return };
    let table = Table::load().unwrap();
    for target in release.targets {
        let code = compile(table, SOURCE, target).unwrap_or_else(|error| panic!("{target}: {error:?}"));
        let object = CodeObject::parse(&code).unwrap_or_else(|error| panic!("{target}: {error}"));
        assert_eq!(object.target().processor.to_string(), *target);
        assert_eq!(object.version(), release.code_object, "{target}");
        let kernel = object.kernel("scale").unwrap_or_else(|| panic!("{target}: {:?}", object.kernels()));
        let sizes: Vec<_> = kernel.explicit_args().map(|argument| argument.size).collect();
        assert_eq!(sizes, [8, 4, 4], "{target}");
    }
}

#[test]
fn a_fault_in_the_source_comes_back_with_the_log() {
    if find().is_none() {
        return;
    }
    let table = Table::load().unwrap();
    let source = c"extern \"C\" __global__ void broken(float* x) { x[0] = nonsense; }";
    let (error, log) = compile(table, source, "gfx1030").unwrap_err();
    assert_eq!(error, hiprtcResult::HIPRTC_ERROR_COMPILATION);
    assert!(log.contains("error: use of undeclared identifier 'nonsense'"), "{log}");
    // SAFETY: the function takes any value and returns a string that lives as long as the library.
    let text = unsafe { CStr::from_ptr((table.hiprtcGetErrorString)(error)) };
    assert_eq!(text.to_str().unwrap(), "HIPRTC_ERROR_COMPILATION");
    assert_eq!(format!("{error:?}"), "HIPRTC_ERROR_COMPILATION");
}

#[test]
fn template_instances_are_found_by_expression() {
    if find().is_none() {
        return;
    }
    let table = Table::load().unwrap();
    let source = c"template <typename T> __global__ void fill(T* x) { x[threadIdx.x] = T(1); }";
    let mut program: hiprtcProgram = null_mut();
    let options = [c"--gpu-architecture=gfx1030".as_ptr()];
    let mut lowered = null();
    // SAFETY: the strings outlive the calls, and each call gets the program that the first one made.
    let name = unsafe {
        let calls = [
            (table.hiprtcCreateProgram)(&mut program, source.as_ptr(), null(), 0, null(), null()),
            (table.hiprtcAddNameExpression)(program, c"fill<float>".as_ptr()),
            (table.hiprtcCompileProgram)(program, 1, options.as_ptr()),
            (table.hiprtcGetLoweredName)(program, c"fill<float>".as_ptr(), &mut lowered),
        ];
        assert_eq!(calls, [hiprtcResult::HIPRTC_SUCCESS; 4]);
        CStr::from_ptr(lowered).to_str().unwrap().to_owned()
    };
    assert_eq!(name, "_Z4fillIfEvPT_");
    // SAFETY: the program was made above and is not used again.
    assert_eq!(unsafe { (table.hiprtcDestroyProgram)(&mut program) }, hiprtcResult::HIPRTC_SUCCESS);
}
