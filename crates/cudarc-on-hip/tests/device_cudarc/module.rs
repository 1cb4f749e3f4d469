use cudarc::driver::sys::CUresult;
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::{self, CompileError, CompileOptions, Ptx, compile_ptx, compile_ptx_with_opts};

use crate::{KERNELS, device};

#[test]
fn variables_of_modules_are_memory() {
    let (context, stream) = device();
    let module = context.load_module(compile_ptx(KERNELS).unwrap()).unwrap();
    let mut bytes = module.get_global("factors", &stream).unwrap();
    assert_eq!(bytes.len(), 16);
    // SAFETY: the variable is four of these.
    let mut factors = unsafe { bytes.transmute_mut::<f32>(4) }.unwrap();
    stream.memcpy_htod(&[1.0, 2.0, 3.0, 4.0], &mut factors).unwrap();
    let polynomial = module.load_function("polynomial").unwrap();
    let input = stream.clone_htod(&[0.0_f32, 1.0, 2.0, -1.0]).unwrap();
    let mut out = stream.alloc_zeros::<f32>(4).unwrap();
    let config = LaunchConfig::for_num_elems(4);
    // SAFETY: these are the kernel's arguments, and there are four numbers.
    unsafe { stream.launch_builder(&polynomial).arg(&mut out).arg(&input).arg(&4_i32).launch(config) }
        .unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [1.0, 10.0, 49.0, -2.0]);
}

#[test]
fn names_that_are_not_there_are_not_found() {
    let (context, stream) = device();
    let module = context.load_module(compile_ptx(KERNELS).unwrap()).unwrap();
    let not_found = DriverError(CUresult::CUDA_ERROR_NOT_FOUND);
    assert_eq!(module.load_function("none").unwrap_err(), not_found);
    assert_eq!(module.get_global("none", &stream).unwrap_err(), not_found);
    let invalid = DriverError(CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(module.load_function("a\0b").unwrap_err(), invalid);
}

#[test]
fn code_is_the_same_as_text_as_a_file_and_as_bytes() {
    let (context, _) = device();
    let compiled = compile_ptx(KERNELS).unwrap();
    let text = compiled.to_src();
    assert!(text.is_ascii() && text.starts_with("// AMDGPU code objects"));
    let bytes = compiled.as_bytes().unwrap();
    assert_eq!((bytes.len(), bytes.last()), (text.len() + 1, Some(&0)));
    let folder = std::env::temp_dir().join(format!("cudarc-on-hip-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("polynomial.ptx");
    std::fs::write(&file, &text).unwrap();
    let name = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
    for code in [Ptx::from_src(text.clone()), text.as_str().into(), Ptx::from_file(&file), compiled] {
        let module = context.load_module(code).unwrap();
        module.load_function("polynomial").unwrap();
    }
    let raw = result::module::load(name).unwrap();
    // SAFETY: the module was loaded just now, and is unloaded once.
    unsafe {
        result::module::get_function(raw, c"polynomial".to_owned()).unwrap();
        result::module::unload(raw).unwrap();
        let text = std::ffi::CString::new(text).unwrap();
        let raw = result::module::load_data(text.as_ptr().cast()).unwrap();
        result::module::unload(raw).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn code_objects_are_loaded_by_address_and_outlive_what_was_there() {
    let (context, _) = device();
    let mut program = std::ptr::null_mut();
    let source = std::ffi::CString::new(KERNELS).unwrap();
    let (none, mut size) = (std::ptr::null(), 0);
    // SAFETY: the texts end in NUL, the program lives until it is ended, and there is as much room as was
    // asked for.
    let code = unsafe {
        use nvrtc::sys;
        let created =
            sys::nvrtcCreateProgram(&raw mut program, source.as_ptr(), none, 0, none.cast(), none.cast());
        created.result().unwrap();
        sys::nvrtcCompileProgram(program, 0, none.cast()).result().unwrap();
        sys::nvrtcGetCUBINSize(program, &raw mut size).result().unwrap();
        let mut code = vec![0_u8; size];
        sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result().unwrap();
        sys::nvrtcDestroyProgram(&raw mut program).result().unwrap();
        code
    };
    assert!(code.starts_with(b"\x7fELF"));
    // SAFETY: the image is whole.
    let module = unsafe { result::module::load_data(code.as_ptr().cast()) }.unwrap();
    let ours = context.load_module(Ptx::from_binary(code.clone())).unwrap();
    drop(code);
    ours.load_function("polynomial").unwrap();
    // SAFETY: the module was loaded above, and is unloaded once.
    unsafe {
        result::module::get_function(module, c"polynomial".to_owned()).unwrap();
        result::module::unload(module).unwrap();
    }
}

#[test]
fn what_is_no_code_for_the_device_is_an_error_by_name() {
    let (context, _) = device();
    let uri = std::env::var("FERROCM_DEVICE").unwrap_or_default();
    let is_nvidia = uri.starts_with("cuda");
    let load = |code: Ptx| match context.load_module(code).unwrap_err().0 {
        // NVIDIA's driver takes text for PTX.
        CUresult::CUDA_ERROR_INVALID_PTX if is_nvidia => CUresult::CUDA_ERROR_INVALID_IMAGE,
        error => error,
    };
    let ptx = "//\n// Generated by NVIDIA NVVM Compiler\n//\n.version 7.0\n.target sm_80\n.address_size 64\n";
    match is_nvidia {
        true => drop(context.load_module(ptx.into()).unwrap()),
        false => assert_eq!(load(ptx.into()), CUresult::CUDA_ERROR_INVALID_PTX),
    }
    assert_eq!(load("".into()), CUresult::CUDA_ERROR_INVALID_IMAGE);
    assert_eq!(load(Ptx::from_binary(b"\x7fELF".to_vec())), CUresult::CUDA_ERROR_INVALID_IMAGE);
    assert_eq!(load(Ptx::from_binary(vec![0; 4096])), CUresult::CUDA_ERROR_INVALID_IMAGE);
    assert_eq!(load(Ptx::from_file("/no/such.ptx")), CUresult::CUDA_ERROR_FILE_NOT_FOUND);
    let text = compile_ptx(KERNELS).unwrap().to_src();
    assert_eq!(load(text[..text.len() / 2 + 1].into()), CUresult::CUDA_ERROR_INVALID_IMAGE);
    // Without a named device, it may be any.
    let other = match (is_nvidia, uri.contains("gfx1100")) {
        (true, _) => "sm_80",
        (false, true) => "gfx90a",
        (false, false) => "gfx1100",
    };
    let options = CompileOptions { arch: Some(other), ..CompileOptions::default() };
    let code = compile_ptx_with_opts(KERNELS, options).unwrap();
    let loaded = context.load_module(code).map(drop);
    assert!(
        !uri.starts_with("vgpu:") || loaded == Err(DriverError(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)),
        "{loaded:?}"
    );
}

#[test]
fn sources_that_do_not_compile_say_why() {
    device();
    let source = "extern \"C\" __global__ void k(int* x) { *x = undeclared_name; }";
    let options = CompileOptions { name: Some("named.cu".to_owned()), ..CompileOptions::default() };
    let error = compile_ptx_with_opts(source, options).unwrap_err();
    let CompileError::CompileError { nvrtc, log, options } = &error else { panic!("{error}") };
    assert_eq!(nvrtc.0, nvrtc::sys::nvrtcResult::NVRTC_ERROR_COMPILATION);
    assert!(log.to_str().unwrap().contains("undeclared_name") && options.is_empty());
    // As clang writes a place, and as NVRTC does.
    let text = error.to_string();
    assert!(text.contains("named.cu:1:") || text.contains("named.cu(1): error"), "{error}");
    let options =
        CompileOptions { options: vec!["--no-such-option".to_owned()], ..CompileOptions::default() };
    assert!(compile_ptx_with_opts(KERNELS, options).is_err());
}

#[test]
fn options_reach_the_compiler() {
    let (context, stream) = device();
    let options = CompileOptions {
        ftz: Some(false),
        fmad: Some(false),
        prec_div: Some(true),
        maxrregcount: Some(64),
        arch: Some("compute_80"),
        options: ["-DVALUE=7", "--std=c++17", "--restrict"].map(str::to_owned).to_vec(),
        ..CompileOptions::default()
    };
    let source = r#"extern "C" __global__ void value(int* out) { *out = VALUE + (__cplusplus >= 201703L); }"#;
    let value = context.load_module(compile_ptx_with_opts(source, options).unwrap()).unwrap();
    let value = value.load_function("value").unwrap();
    let mut out = stream.alloc_zeros::<i32>(1).unwrap();
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: this is the kernel's argument.
    unsafe { stream.launch_builder(&value).arg(&mut out).launch(config) }.unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [8]);
}

#[test]
fn expressions_of_names_are_lowered() {
    let (context, _) = device();
    let source = c"template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }";
    let expression = c"fill<float>";
    let (none, mut program) = (std::ptr::null(), std::ptr::null_mut());
    // SAFETY: the texts end in NUL, and the program lives until it is ended.
    unsafe {
        use nvrtc::sys::{self, nvrtcResult};
        let created =
            sys::nvrtcCreateProgram(&raw mut program, source.as_ptr(), none, 0, none.cast(), none.cast());
        created.result().unwrap();
        let mut name = std::ptr::null();
        let early = sys::nvrtcGetLoweredName(program, expression.as_ptr(), &raw mut name);
        assert_eq!(early, nvrtcResult::NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
        sys::nvrtcAddNameExpression(program, expression.as_ptr()).result().unwrap();
        sys::nvrtcCompileProgram(program, 0, none.cast()).result().unwrap();
        sys::nvrtcGetLoweredName(program, expression.as_ptr(), &raw mut name).result().unwrap();
        let name = std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned();
        let code = nvrtc::result::get_ptx(program).unwrap();
        let code =
            String::from_utf8(code[..code.len() - 1].iter().map(|byte| *byte as u8).collect()).unwrap();
        context.load_module(code.into()).unwrap().load_function(&name).unwrap();
        let late = sys::nvrtcAddNameExpression(program, c"fill<int>".as_ptr());
        assert_eq!(late, nvrtcResult::NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
        nvrtc::result::destroy_program(program).unwrap();
    }
}

#[test]
fn assertions_of_device_code_are_there_and_end_the_kernel() {
    let (context, _) = device();
    let check = context.load_module(compile_ptx(KERNELS).unwrap()).unwrap().load_function("check").unwrap();
    let stream = context.new_stream().unwrap();
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: this is the kernel's argument.
    unsafe { stream.launch_builder(&check).arg(&3_i32).launch(config) }.unwrap();
    stream.synchronize().unwrap();
    // SAFETY: this is the kernel's argument.
    let launched = unsafe { stream.launch_builder(&check).arg(&4_i32).launch(config) };
    let error = launched.map(drop).and_then(|()| stream.synchronize()).unwrap_err();
    assert!(matches!(error.0, CUresult::CUDA_ERROR_ASSERT | CUresult::CUDA_ERROR_LAUNCH_FAILED), "{error}");
}
