//! The table on top of NVIDIA's own library, called as C programs call hiprtc. Neither a GPU nor a driver is
//! needed. Each test skips itself where there is no NVRTC.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use hip_sys::rtc::{Table, hiprtcProgram, hiprtcResult as R};
use test_skip::{Lack, skip};

const SOURCE: &CStr = cr#"extern "C" __global__ void k(int* x) { x[0] = VALUE; }"#;

/// The table, or none, with the reason printed.
fn table() -> Option<&'static Table> {
    match cuda_sys::nvrtc::Table::load() {
        Ok(nvrtc) => Some(hiprtc_on_nvrtc::table(nvrtc).expect("one NVRTC")),
        Err(error) => {
            skip(Lack::Machine, format_args!("no NVRTC (PyPI has it: nvidia-cuda-nvrtc): {error}"));
            None
        }
    }
}

/// A program of the test's.
struct Program {
    table: &'static Table,
    handle: hiprtcProgram,
}

impl Program {
    fn new(table: &'static Table, source: &CStr, headers: &[(&CStr, &CStr)]) -> Self {
        let mut handle = null_mut();
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        // SAFETY: the texts live through the call, and their number is right.
        let status = unsafe {
            (table.hiprtcCreateProgram)(
                &mut handle,
                source.as_ptr(),
                c"program.cu".as_ptr(),
                headers.len() as i32,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        assert_eq!(status, R::HIPRTC_SUCCESS);
        Self { table, handle }
    }

    fn expression(&self, text: &CStr) {
        // SAFETY: the text lives through the call.
        let status = unsafe { (self.table.hiprtcAddNameExpression)(self.handle, text.as_ptr()) };
        assert_eq!(status, R::HIPRTC_SUCCESS);
    }

    fn compile(&self, options: &[&str]) -> R {
        let options: Vec<CString> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the options live through the call.
        unsafe { (self.table.hiprtcCompileProgram)(self.handle, pointers.len() as i32, pointers.as_ptr()) }
    }

    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the function writes one number, and then as many bytes.
        unsafe {
            assert_eq!((self.table.hiprtcGetProgramLogSize)(self.handle, &mut size), R::HIPRTC_SUCCESS);
            let mut bytes = vec![0_u8; size];
            let status = (self.table.hiprtcGetProgramLog)(self.handle, bytes.as_mut_ptr().cast());
            assert_eq!(status, R::HIPRTC_SUCCESS);
            CString::from_vec_with_nul(bytes).expect("a NUL at the end").into_string().unwrap()
        }
    }

    /// The code, or the bitcode.
    fn output(&self, bitcode: bool) -> Result<Vec<u8>, R> {
        let (size_of, get) = if bitcode {
            (self.table.hiprtcGetBitcodeSize, self.table.hiprtcGetBitcode)
        } else {
            (self.table.hiprtcGetCodeSize, self.table.hiprtcGetCode)
        };
        let mut size = 0;
        // SAFETY: the functions write one number, and then as many bytes.
        unsafe {
            match size_of(self.handle, &mut size) {
                R::HIPRTC_SUCCESS => {}
                error => return Err(error),
            }
            let mut bytes = vec![0_u8; size];
            assert_eq!(get(self.handle, bytes.as_mut_ptr().cast()), R::HIPRTC_SUCCESS);
            Ok(bytes)
        }
    }

    fn lowered(&self, expression: &CStr) -> Result<String, R> {
        let mut name = null();
        // SAFETY: the expression lives through the call, and the name as long as the program.
        unsafe {
            match (self.table.hiprtcGetLoweredName)(self.handle, expression.as_ptr(), &mut name) {
                R::HIPRTC_SUCCESS => Ok(CStr::from_ptr(name).to_str().unwrap().to_owned()),
                error => Err(error),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was made and is destroyed once.
        let status = unsafe { (self.table.hiprtcDestroyProgram)(&mut self.handle) };
        assert_eq!(status, R::HIPRTC_SUCCESS);
        assert!(self.handle.is_null());
    }
}

#[test]
fn the_code_is_a_cubin_or_ptx_and_bitcode_is_made_on_request() {
    let Some(table) = table() else { return };
    for (options, magic, bitcode) in [
        (&["--offload-arch=sm_80", "-DVALUE=3", "-O3", "-Wall"][..], &b"\x7fELF"[..], false),
        (&["--gpu-architecture=compute_80", "-DVALUE=3"], b"//\n", false),
        // Newer than any NVRTC: PTX, for the driver to compile.
        (&["--offload-arch=sm_990", "-D", "VALUE=3", "-ffast-math"], b"//\n", false),
        (&["--offload-arch=sm_80", "-DVALUE=3", "-fgpu-rdc"], b"", true),
    ] {
        let program = Program::new(table, SOURCE, &[]);
        assert_eq!(program.compile(options), R::HIPRTC_SUCCESS, "{options:?}: {}", program.log());
        let bytes = program.output(bitcode).unwrap();
        assert!(bytes.len() > 100 && bytes.starts_with(magic), "{options:?}: {:?}", &bytes[..16]);
        assert_eq!(program.output(!bitcode), Err(R::HIPRTC_ERROR_INVALID_PROGRAM));
    }
}

#[test]
fn errors_name_the_place_and_the_option() {
    let Some(table) = table() else { return };
    let program = Program::new(table, SOURCE, &[]);
    assert_eq!(program.output(false), Err(R::HIPRTC_ERROR_INVALID_PROGRAM), "it was not compiled");
    assert_eq!(program.compile(&["--offload-arch=sm_80"]), R::HIPRTC_ERROR_COMPILATION);
    assert!(
        program.log().contains("program.cu(1): error") && program.log().contains("VALUE"),
        "{}",
        program.log()
    );
    assert_eq!(program.output(false), Err(R::HIPRTC_ERROR_INVALID_PROGRAM));
    let other = Program::new(table, SOURCE, &[]);
    assert_eq!(other.compile(&["-DVALUE=3", "-fno-such-option"]), R::HIPRTC_ERROR_INVALID_OPTION);
    assert!(other.log().contains("-fno-such-option"), "{}", other.log());
    let amd = Program::new(table, SOURCE, &[]);
    assert_eq!(amd.compile(&["-DVALUE=3", "--offload-arch=gfx90a"]), R::HIPRTC_ERROR_INVALID_OPTION);
}

#[test]
fn headers_are_found_and_a_programs_own_come_first() {
    let Some(table) = table() else { return };
    let source = c"#include <cuda_runtime.h>\n#include \"hip/hip_runtime.h\"\n#include <cstdint>\n#include <cstddef>\n\
        #include \"parts/value.h\"\n\
        extern \"C\" __global__ void k(std::uint32_t* x, int64_t n, std::size_t m) {\n\
        HIP_DYNAMIC_SHARED(float, lds)\nx[hipThreadIdx_x] = VALUE + n + m; }";
    let program = Program::new(table, source, &[(c"parts/value.h", c"#define VALUE 3\n")]);
    assert_eq!(program.compile(&["--offload-arch=sm_80"]), R::HIPRTC_SUCCESS, "{}", program.log());
    let source = c"#include <cstdint>\nextern \"C\" __global__ void k(own_type* x) {}";
    let own = Program::new(table, source, &[(c"cstdint", c"typedef int own_type;\n")]);
    assert_eq!(own.compile(&["--offload-arch=sm_80"]), R::HIPRTC_SUCCESS, "{}", own.log());
}

#[test]
fn names_are_lowered() {
    let Some(table) = table() else { return };
    let source = c"template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }";
    let program = Program::new(table, source, &[]);
    program.expression(c"fill<float>");
    assert_eq!(program.lowered(c"fill<float>"), Err(R::HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION));
    assert_eq!(program.compile(&["--offload-arch=sm_80"]), R::HIPRTC_SUCCESS, "{}", program.log());
    assert_eq!(program.lowered(c"fill<float>").as_deref(), Ok("_Z4fillIfEvPT_S0_"));
    assert_eq!(program.lowered(c"fill<int>"), Err(R::HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID));
}

#[test]
fn wrong_calls_are_errors_and_the_compiler_tells_what_it_is() {
    let Some(table) = table() else { return };
    let mut handle = null_mut();
    let mut size = 0;
    let program = Program::new(table, SOURCE, &[]);
    // SAFETY: null is refused, and everything else lives through the calls.
    let wrong = unsafe {
        [
            (table.hiprtcCreateProgram)(&mut handle, SOURCE.as_ptr(), null(), 1, null(), null()),
            (table.hiprtcCreateProgram)(&mut handle, null(), null(), 0, null(), null()),
            (table.hiprtcCompileProgram)(program.handle, 1, [null()].as_ptr()),
            (table.hiprtcCompileProgram)(program.handle, -1, null()),
            (table.hiprtcGetCodeSize)(program.handle, null_mut()),
            (table.hiprtcGetCodeSize)(null_mut(), &mut size),
        ]
    };
    assert_eq!(
        wrong,
        [
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_INVALID_PROGRAM
        ]
    );
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are places to write to.
    assert_eq!(unsafe { (table.hiprtcVersion)(&mut major, &mut minor) }, R::HIPRTC_SUCCESS);
    assert!(major >= 12);
    let identity = table.ext.compiler_identity.expect("this table tells");
    let mut text = [0_u8; 8];
    // SAFETY: the buffer has that many bytes.
    assert!(unsafe { identity(text.as_mut_ptr().cast(), text.len()) } > 8);
    assert_eq!(&text, b"nvrtc S\0", "NUL-terminated and cut");
    assert!(!table.has("hiprtcLinkCreate") && table.has("hiprtcCompileProgram"));
}
