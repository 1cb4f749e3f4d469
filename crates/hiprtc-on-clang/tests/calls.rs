//! The table, called as C programs call hiprtc.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use hip_sys::rtc::{Table, hiprtcProgram, hiprtcResult as R};

const SOURCE: &CStr = cr#"extern "C" __global__ void k(int* x) { x[0] = VALUE; }"#;

fn table() -> &'static Table {
    hiprtc_on_clang::table().unwrap_or_else(|error| panic!("{error}"))
}

fn create(source: &CStr, headers: &[(&CStr, &CStr)]) -> hiprtcProgram {
    let mut program = null_mut();
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
    let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
    // SAFETY: the texts live through the call, and their number is right.
    let status = unsafe {
        (table().hiprtcCreateProgram)(
            &mut program,
            source.as_ptr(),
            null(),
            headers.len() as i32,
            texts.as_ptr(),
            names.as_ptr(),
        )
    };
    assert_eq!(status, R::HIPRTC_SUCCESS);
    program
}

fn compile(program: hiprtcProgram, options: &[&str]) -> R {
    let options: Vec<CString> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
    let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: the options live through the call.
    unsafe { (table().hiprtcCompileProgram)(program, pointers.len() as i32, pointers.as_ptr()) }
}

fn log(program: hiprtcProgram) -> String {
    let mut size = 0;
    // SAFETY: the function writes one number, and then as many bytes.
    unsafe {
        assert_eq!((table().hiprtcGetProgramLogSize)(program, &mut size), R::HIPRTC_SUCCESS);
        let mut bytes = vec![0_u8; size];
        assert_eq!((table().hiprtcGetProgramLog)(program, bytes.as_mut_ptr().cast()), R::HIPRTC_SUCCESS);
        CString::from_vec_with_nul(bytes).expect("a NUL at the end").into_string().unwrap()
    }
}

fn destroy(mut program: hiprtcProgram) -> R {
    // SAFETY: the function takes any handle.
    unsafe { (table().hiprtcDestroyProgram)(&mut program) }
}

#[test]
fn options_reach_the_compiler_and_bitcode_is_made_on_request() {
    let program = create(SOURCE, &[]);
    assert_eq!(compile(program, &["--offload-arch=gfx1100"]), R::HIPRTC_ERROR_COMPILATION);
    assert!(log(program).contains("program.hip:1:") && log(program).contains("'VALUE'"), "{}", log(program));
    for (options, magic) in [
        (&["--gpu-architecture=gfx90a:xnack-", "-DVALUE=3"][..], b"\x7fELF"),
        (&["--offload-arch=gfx1100", "-DVALUE=3", "-fgpu-rdc"][..], b"BC\xc0\xde"),
    ] {
        assert_eq!(compile(program, options), R::HIPRTC_SUCCESS, "{}", log(program));
        let (mut code, mut bitcode) = (0, 0);
        // SAFETY: the functions write one number, and then as many bytes.
        let bytes = unsafe {
            let sizes = [
                (table().hiprtcGetCodeSize)(program, &mut code),
                (table().hiprtcGetBitcodeSize)(program, &mut bitcode),
            ];
            let is_bitcode = magic == b"BC\xc0\xde";
            let expected = [R::HIPRTC_SUCCESS, R::HIPRTC_ERROR_INVALID_PROGRAM];
            assert_eq!(sizes, if is_bitcode { [expected[1], expected[0]] } else { expected });
            let mut bytes = vec![0_u8; code.max(bitcode)];
            let get = if is_bitcode { table().hiprtcGetBitcode } else { table().hiprtcGetCode };
            assert_eq!(get(program, bytes.as_mut_ptr().cast()), R::HIPRTC_SUCCESS);
            bytes
        };
        assert!(bytes.starts_with(magic));
    }
    assert_eq!(destroy(program), R::HIPRTC_SUCCESS);
}

#[test]
fn headers_are_found_and_stay_where_they_belong() {
    let source = c"#include \"parts/value.h\"\nextern \"C\" __global__ void k(int* x) { x[0] = VALUE; }";
    let good = create(source, &[(c"parts/value.h", c"#define VALUE 3\n")]);
    assert_eq!(compile(good, &["--offload-arch=gfx1100"]), R::HIPRTC_SUCCESS, "{}", log(good));
    for name in [c"../value.h", c"/tmp/ferrocm-value.h", c""] {
        let bad = create(source, &[(name, c"#define VALUE 3\n")]);
        assert_eq!(compile(bad, &["--offload-arch=gfx1100"]), R::HIPRTC_ERROR_INVALID_INPUT);
        assert!(log(bad).contains("cannot be a file name"), "{}", log(bad));
        assert_eq!(destroy(bad), R::HIPRTC_SUCCESS);
    }
    assert_eq!(destroy(good), R::HIPRTC_SUCCESS);
}

#[test]
fn wrong_calls_are_errors() {
    let program = create(SOURCE, &[]);
    assert_eq!(compile(program, &["-DVALUE=3"]), R::HIPRTC_ERROR_INVALID_OPTION);
    assert!(log(program).contains("one target is needed"), "{}", log(program));
    assert_eq!(compile(program, &["-DVALUE=3", "--offload-arch=gfx9999"]), R::HIPRTC_ERROR_COMPILATION);
    assert!(log(program).contains("gfx9999"), "{}", log(program));
    let mut name = null();
    let mut size = 0;
    // SAFETY: null is refused, and everything else lives through the calls.
    let wrong = unsafe {
        [
            (table().hiprtcGetLoweredName)(program, c"k".as_ptr(), &mut name),
            (table().hiprtcGetCodeSize)(program, &mut size),
            (table().hiprtcAddNameExpression)(program, null()),
            (table().hiprtcAddNameExpression)(program, c"a\nb".as_ptr()),
            (table().hiprtcCreateProgram)(null_mut(), SOURCE.as_ptr(), null(), 0, null(), null()),
        ]
    };
    assert_eq!(
        wrong,
        [
            R::HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
            R::HIPRTC_ERROR_INVALID_PROGRAM,
            R::HIPRTC_ERROR_INVALID_INPUT,
            R::HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
            R::HIPRTC_ERROR_INVALID_PROGRAM,
        ]
    );
    assert_eq!(destroy(program), R::HIPRTC_SUCCESS);
    // The handle is stale here.
    assert_eq!(destroy(program), R::HIPRTC_ERROR_INVALID_PROGRAM);
    assert_eq!(compile(program, &[]), R::HIPRTC_ERROR_INVALID_PROGRAM);
    assert!(table().has("hiprtcLinkCreate") && table().has("hiprtcCompileProgram"));
    // SAFETY: the function takes any code and returns a text that lives as long as the process.
    let text = |code| unsafe { CStr::from_ptr((table().hiprtcGetErrorString)(code)) };
    assert_eq!(text(R::HIPRTC_ERROR_LINKING), c"HIPRTC_ERROR_LINKING");
    assert_eq!(text(R(12345)), c"Invalid HIPRTC error code");
}

/// The files of the machine that a program's last compilation depends on, from the extension.
fn dependencies(program: hiprtcProgram) -> String {
    let tell = table().ext.dependencies.expect("this table tells");
    // SAFETY: nothing is written to a buffer of size 0, and then only what fits.
    unsafe {
        let length = tell(program, null_mut(), 0);
        let mut text = vec![0_u8; length + 1];
        assert_eq!(tell(program, text.as_mut_ptr().cast(), text.len()), length);
        text.pop();
        String::from_utf8(text).expect("a text")
    }
}

#[test]
fn what_a_program_reads_and_asks_for_is_told_however_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (part, flag) = (folder.path().join("part.h"), folder.path().join("flag"));
    std::fs::write(&part, "#define VALUE 1\n").unwrap();
    let asking = folder.path().join("asking.h");
    std::fs::write(&asking, "#if __has_include(\"/no/other/file\")\n#endif\n").unwrap();
    std::fs::File::open(&part).and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH)).unwrap();
    let (part, flag) = (part.to_str().unwrap(), flag.to_str().unwrap());
    let told = |source: &str, options: &[&str]| {
        // Leave out the runtime's headers, which take most of the time.
        let kernel = "\nextern \"C\" __attribute__((global)) void k(int *p) { *p = 1; }\n";
        let source = CString::new(format!("{source}{kernel}")).unwrap();
        let program = create(&source, &[(c"own.h", c"")]);
        let options = [&["--offload-arch=gfx1100", "-nogpuinc", "-D__FERROCM_CUDA__=1"], options].concat();
        assert_eq!(compile(program, &options), R::HIPRTC_SUCCESS, "{source:?}: {}", log(program));
        let told = dependencies(program);
        assert_eq!(destroy(program), R::HIPRTC_SUCCESS);
        told
    };
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let quiet = "#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Weverything\"\n";
    for (source, options) in [
        (format!("#include \"{part}\""), &[][..]),
        (format!("/**/ #include \"{part}\""), &[]),
        (format!("# /**/ include \"{part}\""), &[]),
        (format!("%:include \"{part}\""), &[]),
        (format!("#inc\\\nlude \"{part}\""), &[]),
        (format!("#define NAME \"{part}\"\n#include NAME"), &[]),
        ("#include NAME".to_owned(), &[&*format!("-DNAME=\"{part}\"")][..]),
        (format!("#if __has_include(\"{part}\")\n#endif"), &[]),
        (format!("const unsigned char data[] = {{\n#embed \"{part}\"\n}};"), &[]),
        (String::new(), &["-include", part]),
        (String::new(), &[&*format!("-include{part}")]),
        ("#include <part.h>".to_owned(), &[&*format!("-I{}", folder.path().display())]),
    ] {
        let told = told(&source, options);
        assert!(told.contains(&format!("\"{part}\"")), "{source}");
        assert!(!told.contains(&format!("\"{flag}\"")) && !told.contains("own.h"), "{source}");
    }
    // Files that do not exist, but whose creation would change the result.
    for (source, options, missing) in [
        (format!("#if __has_include(\"{flag}\")\n#endif"), vec![], flag.to_owned()),
        (format!("#if defined(__has_embed) && __has_embed(\"{flag}\")\n#endif"), vec!["-w"], flag.to_owned()),
        // The compiler reports that the file asks which `#line` names.
        (
            format!("#line 1 \"{}\"\n#if __has_include(\"{flag}\")\n#endif", asking.display()),
            vec![],
            flag.to_owned(),
        ),
        (
            "#if __has_include(<flag>)\n#endif".to_owned(),
            vec!["-I", folder.path().to_str().unwrap()],
            flag.to_owned(),
        ),
        (
            "#include <part.h>".to_owned(),
            vec!["-I", "/no/such/folder", "-I", folder.path().to_str().unwrap()],
            "/no".to_owned(),
        ),
    ] {
        let told = told(&source, &options);
        assert!(told.contains(&format!("\"{missing}\"")), "{source}");
    }
    // Dependencies that cannot be known.
    for (source, options) in [
        (format!("#define NAME \"{flag}\"\n#if __has_include(NAME)\n#endif"), &[][..]),
        (format!("#define ASK __has_include\n#if ASK(\"{flag}\")\n#endif"), &[]),
        (format!("#define CAT(a, b) a##b\n#if CAT(__has, _include)(\"{flag}\")\n#endif"), &[]),
        (format!("{quiet}#if __has_include(\"{flag}\")\n#endif\n#pragma clang diagnostic pop"), &[]),
        ("#if __has_include(\"../../x\")\n#endif".to_owned(), &[]),
        (
            format!("__attribute__((global)) void r() {{ asm volatile(\".inc\" \"bin \\\"{part}\\\"\"); }}"),
            &[],
        ),
        (String::new(), &[&*format!("@{}", empty.display())][..]),
    ] {
        assert!(told(&source, options).is_empty(), "{source}");
    }
}

#[test]
fn a_compiler_at_its_limit_is_ended_and_the_log_says_how_to_raise_it() {
    let source = c"template <int D, long P> struct T { T<D - 1, 2 * P> a; T<D - 1, 2 * P + 1> b; };
        template <long P> struct T<0, P> { char c; };
        extern \"C\" __attribute__((global)) void k(int *p) { *p = sizeof(T<40, 1>); }";
    for (milliseconds, bytes, said) in [
        (500, 0, ["time limit", "FERROCM_RTC_TIMEOUT"]),
        (0, 512 << 20, ["memory limit", "FERROCM_RTC_MEMORY"]),
    ] {
        let program = create(source, &[]);
        let set_limits = table().ext.set_limits.expect("this table has limits");
        // SAFETY: the program was made.
        assert_eq!(unsafe { set_limits(program, milliseconds, bytes) }, R::HIPRTC_SUCCESS);
        const PLAIN: [&str; 3] = ["--offload-arch=gfx1100", "-nogpuinc", "-D__FERROCM_CUDA__=1"];
        for options in [PLAIN.to_vec(), [&PLAIN[..], &["-fgpu-rdc"]].concat()] {
            assert_eq!(compile(program, &options), R::HIPRTC_ERROR_COMPILATION);
            assert!(said.iter().all(|words| log(program).contains(words)), "{}", log(program));
        }
        assert_eq!(destroy(program), R::HIPRTC_SUCCESS);
    }
}
