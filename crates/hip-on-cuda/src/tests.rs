//! HIP's functions over a driver that takes down what it is asked.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sys::{
    Builder, CUDA_MEMCPY3D, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphNode, CUjit_option, CUjitInputType, CUlaunchAttributeID,
    CUlaunchConfig, CUlinkState, CUresult, CUstream, CUstreamCallback, CUtensorMap, CUtensorMapDataType,
    CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion, CUtensorMapSwizzle, CUuuid,
};
use hip_sys::{
    hipDeviceAttribute_t, hipError_t, hipExtent, hipJitInputType, hipJitOption, hipMemcpy3DParms,
    hipMemcpyKind, hipPitchedPtr, hipPos, hipStream_t,
};

use crate::error::{TABLE, cuda_error, hip_error};

mod host_code;
mod layers;

const OK: CUresult = CUresult::CUDA_SUCCESS;

static INITIALISED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static CONTEXT: std::cell::Cell<CUcontext> = const { std::cell::Cell::new(null_mut()) };
    /// The LDS that the kernel may have.
    static ALLOWED: std::cell::Cell<c_int> = const { std::cell::Cell::new(48 << 10) };
    static COPIED: std::cell::Cell<Option<CUDA_MEMCPY3D>> = const { std::cell::Cell::new(None) };
    /// The words of the list that names a buffer of arguments.
    static EXTRA: std::cell::Cell<[usize; 5]> = const { std::cell::Cell::new([9; 5]) };
    static VERSION: std::cell::Cell<c_int> = const { std::cell::Cell::new(0) };
    /// Whether the last launch let the kernel overlap with the one in front of it.
    static OVERLAPPED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

unsafe extern "C" fn init(_: c_uint) -> CUresult {
    INITIALISED.fetch_add(1, Ordering::SeqCst);
    OK
}

unsafe extern "C" fn count(count: *mut c_int) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *count = 2 };
    OK
}

unsafe extern "C" fn device(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    if !(0..2).contains(&ordinal) {
        return CUresult::CUDA_ERROR_INVALID_DEVICE;
    }
    // SAFETY: the caller gives a place.
    unsafe { *device = ordinal };
    OK
}

unsafe extern "C" fn retain(context: *mut CUcontext, device: CUdevice) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *context = std::ptr::without_provenance_mut(0x1000 + device as usize) };
    OK
}

unsafe extern "C" fn set_current(context: CUcontext) -> CUresult {
    CONTEXT.set(context);
    OK
}

unsafe extern "C" fn get_current(context: *mut CUcontext) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *context = CONTEXT.get() };
    OK
}

unsafe extern "C" fn allocate(pointer: *mut CUdeviceptr, bytes: usize) -> CUresult {
    if CONTEXT.get().is_null() {
        return CUresult::CUDA_ERROR_INVALID_CONTEXT;
    }
    if bytes > 1 << 30 {
        return CUresult::CUDA_ERROR_OUT_OF_MEMORY;
    }
    // SAFETY: the caller gives a place.
    unsafe { *pointer = 0xabc0 };
    OK
}

unsafe extern "C" fn attribute(value: *mut c_int, which: CUdevice_attribute, _: CUdevice) -> CUresult {
    use CUdevice_attribute as A;
    let told = match which {
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        A::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED => 1,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 48 << 10,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 227 << 10,
        A::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS => 1,
        _ => return CUresult::CUDA_ERROR_INVALID_VALUE,
    };
    // SAFETY: the caller gives a place.
    unsafe { *value = told };
    OK
}

unsafe extern "C" fn name(name: *mut std::ffi::c_char, _: c_int, _: CUdevice) -> CUresult {
    // SAFETY: the caller gives a place of more bytes.
    unsafe { name.cast::<u8>().copy_from(c"Fake".as_ptr().cast(), 5) };
    OK
}

unsafe extern "C" fn total(bytes: *mut usize, _: CUdevice) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *bytes = 80 << 30 };
    OK
}

unsafe extern "C" fn uuid(uuid: *mut CUuuid, _: CUdevice) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { (*uuid).bytes = [0x4f; 16] };
    OK
}

unsafe extern "C" fn function_attribute(
    value: *mut c_int,
    _: CUfunction_attribute,
    _: CUfunction,
) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *value = ALLOWED.get() };
    OK
}

unsafe extern "C" fn set_function_attribute(
    _: CUfunction,
    _: CUfunction_attribute,
    value: c_int,
) -> CUresult {
    if value > 227 << 10 {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    ALLOWED.set(value);
    OK
}

unsafe extern "C" fn launch(
    function: CUfunction,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    lds: c_uint,
    _: CUstream,
    _: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    let mut words = [0; 5];
    if !extra.is_null() {
        // SAFETY: the list has as many words.
        words = std::array::from_fn(|at| unsafe { (*extra.add(at)).addr() });
    }
    EXTRA.set(words);
    host_code::LAUNCHED.set(function.addr());
    if lds as c_int > ALLOWED.get() { CUresult::CUDA_ERROR_INVALID_VALUE } else { OK }
}

unsafe extern "C" fn launch_with(
    config: *const CUlaunchConfig,
    _: CUfunction,
    _: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    // SAFETY: the caller gives a configuration with as many attributes as it says.
    unsafe {
        let config = &*config;
        assert_eq!(config.numAttrs, 1);
        let attribute = &*config.attrs;
        let overlaps = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        OVERLAPPED
            .set(attribute.id == overlaps && attribute.value.programmaticStreamSerializationAllowed == 1);
        if config.sharedMemBytes as c_int > ALLOWED.get() { CUresult::CUDA_ERROR_INVALID_VALUE } else { OK }
    }
}

unsafe extern "C" fn driver_version(version: *mut c_int) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *version = VERSION.get() };
    OK
}

unsafe extern "C" fn call_back(
    stream: CUstream,
    function: CUstreamCallback,
    data: *mut c_void,
    flags: c_uint,
) -> CUresult {
    if flags != 0 {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the caller vouches for the function.
    unsafe { function.unwrap()(stream, CUresult::CUDA_ERROR_MISALIGNED_ADDRESS, data) };
    OK
}

unsafe extern "C" fn copy_node(
    _: *mut CUgraphNode,
    _: CUgraph,
    _: *const CUgraphNode,
    _: usize,
    copy: *const CUDA_MEMCPY3D,
    context: CUcontext,
) -> CUresult {
    assert_eq!(context.addr(), 0x1000);
    // SAFETY: the caller gives a description.
    COPIED.set(Some(unsafe { *copy }));
    OK
}

unsafe extern "C" fn link_create(
    count: c_uint,
    options: *mut CUjit_option,
    _: *mut *mut c_void,
    state: *mut CUlinkState,
) -> CUresult {
    if count > 0 {
        // SAFETY: the caller gives as many options.
        assert_eq!(unsafe { *options }, CUjit_option::CU_JIT_OPTIMIZATION_LEVEL);
    }
    // SAFETY: the caller gives a place.
    unsafe { *state = Box::into_raw(Box::new(Vec::<u8>::new())).cast() };
    OK
}

unsafe extern "C" fn link_add(
    state: CUlinkState,
    kind: CUjitInputType,
    data: *mut c_void,
    size: usize,
    _: *const std::ffi::c_char,
    _: c_uint,
    _: *mut CUjit_option,
    _: *mut *mut c_void,
) -> CUresult {
    assert_eq!(kind, CUjitInputType::CU_JIT_INPUT_PTX);
    // SAFETY: the state is of `link_create`, and the caller gives as many bytes.
    let (state, text) =
        unsafe { (&mut *state.cast::<Vec<u8>>(), std::slice::from_raw_parts(data.cast::<u8>(), size)) };
    if text == b"bad" {
        return CUresult::CUDA_ERROR_INVALID_PTX;
    }
    state.extend(text.iter().rev());
    OK
}

unsafe extern "C" fn link_complete(state: CUlinkState, code: *mut *mut c_void, size: *mut usize) -> CUresult {
    // SAFETY: the state is of `link_create`, and the caller gives places.
    unsafe {
        let state = &mut *state.cast::<Vec<u8>>();
        (*code, *size) = (state.as_mut_ptr().cast(), state.len());
    }
    OK
}

unsafe extern "C" fn link_destroy(state: CUlinkState) -> CUresult {
    // SAFETY: the state is of `link_create`.
    drop(unsafe { Box::from_raw(state.cast::<Vec<u8>>()) });
    OK
}

unsafe extern "C" fn encode_tiled(
    map: *mut CUtensorMap,
    data_type: CUtensorMapDataType,
    rank: u32,
    address: *mut c_void,
    _: *const u64,
    _: *const u64,
    _: *const u32,
    _: *const u32,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    promotion: CUtensorMapL2promotion,
    fill: CUtensorMapFloatOOBfill,
) -> CUresult {
    let numbers = [data_type.0, rank, interleave.0, swizzle.0, promotion.0, fill.0].map(u64::from);
    // SAFETY: the caller gives a map.
    let map = unsafe { &mut *map };
    map.opaque[..6].copy_from_slice(&numbers);
    map.opaque[6] = address.addr() as u64;
    OK
}

unsafe extern "C" fn encode_im2col(
    _: *mut CUtensorMap,
    _: CUtensorMapDataType,
    rank: u32,
    _: *mut c_void,
    _: *const u64,
    _: *const u64,
    _: *const c_int,
    _: *const c_int,
    _: u32,
    _: u32,
    _: *const u32,
    _: CUtensorMapInterleave,
    _: CUtensorMapSwizzle,
    _: CUtensorMapL2promotion,
    _: CUtensorMapFloatOOBfill,
) -> CUresult {
    if rank < 3 { CUresult::CUDA_ERROR_INVALID_VALUE } else { OK }
}

fn hip() -> &'static hip_sys::Table {
    static CUDA: OnceLock<&'static cuda_sys::Table> = OnceLock::new();
    let cuda = CUDA.get_or_init(|| {
        let mut builder = Builder::new("fake", "0");
        builder.cuInit(init).cuDeviceGetCount(count).cuDeviceGet(device).cuDevicePrimaryCtxRetain(retain);
        builder.cuCtxSetCurrent(set_current).cuCtxGetCurrent(get_current).cuMemAlloc_v2(allocate);
        builder.cuDeviceGetAttribute(attribute).cuDeviceGetName(name).cuDeviceTotalMem_v2(total);
        builder.cuDeviceGetUuid_v2(uuid).cuFuncGetAttribute(function_attribute);
        builder.cuFuncSetAttribute(set_function_attribute).cuLaunchKernel(launch);
        builder.cuLaunchKernelEx(launch_with).cuDriverGetVersion(driver_version);
        builder.cuLinkCreate_v2(link_create).cuLinkAddData_v2(link_add);
        builder.cuLinkComplete(link_complete).cuLinkDestroy(link_destroy);
        builder.cuTensorMapEncodeTiled(encode_tiled).cuTensorMapEncodeIm2col(encode_im2col);
        builder.cuStreamAddCallback(call_back).cuGraphAddMemcpyNode(copy_node);
        host_code::provide(&mut builder);
        // SAFETY: the functions do what the headers say, as far as these tests need.
        unsafe { builder.finish() }
    });
    crate::table(cuda).unwrap()
}

#[test]
fn every_error_of_the_driver_has_one_of_hips() {
    for (at, (cuda, hip)) in TABLE.iter().enumerate() {
        assert!(TABLE[at + 1..].iter().all(|(other, _)| other != cuda), "{cuda:?} twice");
        assert_eq!(hip_error(*cuda), *hip);
        assert!(cuda_error(*hip).is_some());
        // What both have under one number is the same error, but for textures, which have numbers of their
        // own in HIP.
        let name = hipError_t(cuda.0 as _).name();
        let differs = ["hipErrorInvalidChannelDescriptor", "hipErrorInvalidTexture"];
        if let Some(name) = name.filter(|name| !differs.contains(name)) {
            assert_eq!(hip.0, cuda.0 as _, "{cuda:?} is {hip:?}, and HIP has {name}");
        }
    }
    // Every error that the headers know.
    for code in 0..1000 {
        if CUresult(code).name().is_some() {
            assert!(TABLE.iter().any(|(cuda, _)| cuda.0 == code), "{:?} is in no row", CUresult(code));
        }
    }
    assert_eq!(hip_error(CUresult(12345)), hipError_t::hipErrorUnknown);
    assert_eq!(cuda_error(hipError_t::hipErrorLaunchFailure), Some(CUresult::CUDA_ERROR_LAUNCH_FAILED));
}

#[test]
fn functions_are_had_and_the_others_say_so() {
    let hip = hip();
    for name in crate::FUNCTIONS {
        assert!(hip.has(name), "{name}");
    }
    assert!(!hip.has("hipMallocArray"));
    // SAFETY: a stub reads none of its arguments.
    assert_eq!(unsafe { (hip.hipDeviceReset)() }, hipError_t::hipErrorNotSupported);
    // SAFETY: the driver's stub reads none of its arguments either.
    assert_eq!(unsafe { (hip.hipEventQuery)(null_mut()) }, hipError_t::hipErrorNotSupported);
    // SAFETY: the call takes nothing.
    assert_eq!(unsafe { (hip.hipGetLastError)() }, hipError_t::hipErrorNotSupported);
    // SAFETY: as above.
    assert_eq!(unsafe { (hip.hipGetLastError)() }, hipError_t::hipSuccess);
    // SAFETY: names live as long as the process.
    let text = unsafe { std::ffi::CStr::from_ptr((hip.hipGetErrorName)(hipError_t::hipErrorInvalidImage)) };
    assert_eq!(text.to_str(), Ok("hipErrorInvalidImage"));
    assert_eq!(crate::table(cuda_sys::Table::unsupported()).err(), Some(crate::OtherDriver));
}

#[test]
fn a_thread_without_a_context_gets_that_of_its_device() {
    let hip = hip();
    std::thread::spawn(move || {
        let (mut pointer, mut found) = (null_mut(), -1);
        // SAFETY: all results are places to write to.
        unsafe {
            assert_eq!((hip.hipMalloc)(&raw mut pointer, 16), hipError_t::hipSuccess);
            assert_eq!((pointer.addr(), CONTEXT.get().addr()), (0xabc0, 0x1000));
            assert_eq!((hip.hipSetDevice)(1), hipError_t::hipSuccess);
            assert_eq!(CONTEXT.get().addr(), 0x1001);
            assert_eq!((hip.hipGetDevice)(&raw mut found), hipError_t::hipSuccess);
            assert_eq!(found, 1);
            assert_eq!((hip.hipSetDevice)(2), hipError_t::hipErrorInvalidDevice);
            assert_eq!((hip.hipMalloc)(&raw mut pointer, 2 << 30), hipError_t::hipErrorOutOfMemory);
            assert_eq!((hip.hipMalloc)(&raw mut pointer, 0), hipError_t::hipSuccess);
            assert!(pointer.is_null());
            assert_eq!((hip.hipMalloc)(null_mut(), 0), hipError_t::hipErrorInvalidValue);
            assert_eq!((hip.hipGetDeviceCount)(&raw mut found), hipError_t::hipSuccess);
            assert_eq!(found, 2);
        }
    })
    .join()
    .unwrap();
    assert!(INITIALISED.load(Ordering::SeqCst) > 0);
}

#[test]
fn properties_are_hips() {
    let hip = hip();
    // SAFETY: the structure is made of numbers and pointers; the results are places to write to.
    unsafe {
        let mut p: hip_sys::hipDeviceProp_tR0600 = std::mem::zeroed();
        assert_eq!((hip.hipGetDevicePropertiesR0600)(&raw mut p, 0), hipError_t::hipSuccess);
        let text = |chars: &[std::ffi::c_char]| {
            std::ffi::CStr::from_ptr(chars.as_ptr()).to_str().unwrap().to_owned()
        };
        assert_eq!((text(&p.name), text(&p.gcnArchName)), ("Fake".to_owned(), "sm_90".to_owned()));
        assert_eq!((p.warpSize, p.sharedMemPerBlock, p.totalGlobalMem), (32, 227 << 10, 80 << 30));
        assert_eq!(p.clockRate, 0, "what the driver does not know is 0");
        let mut value = 0;
        let waits = hipDeviceAttribute_t::hipDeviceAttributeCanUseStreamWaitValue;
        assert_eq!((hip.hipDeviceGetAttribute)(&raw mut value, waits, 1), hipError_t::hipSuccess);
        assert_eq!(value, 1);
        let only_amd = hipDeviceAttribute_t::hipDeviceAttributeNumberOfXccs;
        assert_eq!(
            (hip.hipDeviceGetAttribute)(&raw mut value, only_amd, 0),
            hipError_t::hipErrorInvalidValue
        );
        assert_eq!((hip.hipGetDevicePropertiesR0600)(&raw mut p, 5), hipError_t::hipErrorInvalidDevice);
    }
}

#[test]
fn a_launch_asks_for_the_lds_that_it_needs() {
    let hip = hip();
    let launch = |lds, extra: *mut *mut c_void| {
        // SAFETY: the driver's function reads none of the handles.
        unsafe {
            (hip.hipModuleLaunchKernel)(null_mut(), 1, 1, 1, 1, 1, 1, lds, null_mut(), null_mut(), extra)
        }
    };
    assert_eq!(launch(0, null_mut()), hipError_t::hipSuccess);
    assert_eq!(ALLOWED.get(), 48 << 10);
    assert_eq!(launch(100 << 10, null_mut()), hipError_t::hipSuccess);
    assert_eq!(ALLOWED.get(), 100 << 10);
    assert_eq!(launch(4 << 10, null_mut()), hipError_t::hipSuccess);
    assert_eq!(ALLOWED.get(), 100 << 10, "a permission is not taken back");
    assert_eq!(launch(228 << 10, null_mut()), hipError_t::hipErrorInvalidValue);
    // HIP ends its list with 3.
    let mut extra: [*mut c_void; 5] = [1, 0x10, 2, 0x20, 3].map(std::ptr::without_provenance_mut);
    assert_eq!(launch(0, extra.as_mut_ptr()), hipError_t::hipSuccess);
    assert_eq!(EXTRA.get(), [1, 0x10, 2, 0x20, 0]);
}

#[test]
fn a_kernel_overlaps_if_its_module_says_so() {
    let hip = hip();
    let code = hip.ext.driver_code.unwrap();
    // SAFETY: the names end in a NUL, and the driver's function reads no module.
    let overlaps = |name: &std::ffi::CStr| unsafe { (code.overlaps)(null_mut(), name.as_ptr()) };
    VERSION.set(12_030);
    assert!(overlaps(c"early") && !overlaps(c"other"));
    VERSION.set(12_020);
    assert!(!overlaps(c"early"), "a driver that cannot capture it");
    let launch = |lds| {
        // SAFETY: the driver's function reads none of the handles.
        unsafe { (code.launch_overlapping)(null_mut(), 1, 1, 1, 1, 1, 1, lds, null_mut(), null_mut()) }
    };
    assert_eq!(launch(100 << 10), hipError_t::hipSuccess);
    assert!(OVERLAPPED.get());
    assert_eq!(launch(228 << 10), hipError_t::hipErrorInvalidValue);
}

#[test]
fn tensor_maps_and_attributes_that_hip_lacks_are_the_drivers() {
    let calls = hip().ext.driver_calls.unwrap();
    let mut value = 7;
    let tensor_maps = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED.0;
    // SAFETY: the result is a place to write to.
    let mut ask = |which, device| unsafe { ((calls.attribute)(&raw mut value, which, device), value) };
    assert_eq!(ask(tensor_maps, 1), (hipError_t::hipSuccess, 1));
    assert_eq!(ask(tensor_maps, 2).0, hipError_t::hipErrorInvalidDevice);
    assert_eq!(ask(9999, 0).0, hipError_t::hipErrorInvalidValue);
    let mut map = CUtensorMap::default();
    let place = (&raw mut map).cast::<c_void>();
    let (long, word, corner, address) = (null(), null(), null(), std::ptr::without_provenance_mut(0xabc0));
    // SAFETY: the driver's function writes the map, and reads none of the arrays.
    let tiled = unsafe { (calls.encode_tiled)(place, 6, 3, address, long, long, word, word, 1, 2, 3, 4) };
    assert_eq!((tiled, &map.opaque[..7]), (hipError_t::hipSuccess, &[6, 3, 1, 2, 3, 4, 0xabc0][..]));
    let im2col = |rank| {
        // SAFETY: the driver's function reads and writes nothing.
        unsafe {
            let encode = calls.encode_im2col;
            encode(place, 6, rank, address, long, long, corner, corner, 8, 8, word, 0, 0, 0, 0)
        }
    };
    assert_eq!(im2col(2), hipError_t::hipErrorInvalidValue);
    assert_eq!(im2col(3), hipError_t::hipSuccess);
    // SAFETY: this driver lacks the functions.
    unsafe {
        let wide =
            (calls.encode_im2col_wide)(place, 6, 3, address, long, long, 0, 0, 8, 8, word, 0, 0, 0, 0, 0);
        assert_ne!(wide, hipError_t::hipSuccess);
        assert_ne!((calls.replace_address)(place, address), hipError_t::hipSuccess);
    }
}

#[test]
fn a_callback_gets_hips_status() {
    static GOT: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn callback(_: hipStream_t, status: hipError_t, data: *mut c_void) {
        assert_eq!(data.addr(), 7);
        GOT.store(status.0, Ordering::SeqCst);
    }
    let hip = hip();
    let data = std::ptr::without_provenance_mut(7);
    // SAFETY: the function takes any status.
    let added = unsafe { (hip.hipStreamAddCallback)(null_mut(), Some(callback), data, 0) };
    assert_eq!(added, hipError_t::hipSuccess);
    assert_eq!(GOT.load(Ordering::SeqCst), hipError_t::hipErrorLaunchFailure.0);
    // SAFETY: as above.
    let refused = unsafe { (hip.hipStreamAddCallback)(null_mut(), Some(callback), data, 1) };
    assert_eq!(refused, hipError_t::hipErrorInvalidValue);
    // SAFETY: there is no function.
    let none = unsafe { (hip.hipStreamAddCallback)(null_mut(), None, data, 0) };
    assert_eq!(none, hipError_t::hipErrorInvalidValue);
}

#[test]
fn the_drivers_linker_compiles_ptx() {
    let hip = hip();
    let mut state = null_mut();
    let add = |state, kind, text: &[u8]| {
        let data = text.as_ptr().cast_mut().cast();
        // SAFETY: the state is one of the driver's, and the text has as many bytes.
        unsafe {
            (hip.hipLinkAddData)(state, kind, data, text.len(), c"a".as_ptr(), 0, null_mut(), null_mut())
        }
    };
    let (mut code, mut size) = (null_mut(), 0);
    let mut options = [hipJitOption::hipJitOptionOptimizationLevel];
    let mut values = [std::ptr::without_provenance_mut(3)];
    // SAFETY: the arrays have as many elements as is said, and the results are places to write to.
    unsafe {
        let create = hip.hipLinkCreate;
        let status = create(1, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state);
        assert_eq!(status, hipError_t::hipSuccess);
        let bitcode = hipJitInputType::hipJitInputLLVMBitcode;
        assert_eq!(add(state, bitcode, b"text"), hipError_t::hipErrorInvalidValue);
        let ptx = hipJitInputType::hipJitInputPtx;
        assert_eq!(add(state, ptx, b"bad"), hip_error(CUresult::CUDA_ERROR_INVALID_PTX));
        assert_eq!(add(state, ptx, b"text"), hipError_t::hipSuccess);
        let status = (hip.hipLinkComplete)(state, &raw mut code, &raw mut size);
        assert_eq!(status, hipError_t::hipSuccess);
        assert_eq!(std::slice::from_raw_parts(code.cast::<u8>(), size), b"txet");
        assert_eq!((hip.hipLinkDestroy)(state), hipError_t::hipSuccess);
        // An option of AMD's compiler.
        options = [hipJitOption(10_000)];
        let status = create(1, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state);
        assert_eq!(status, hipError_t::hipErrorInvalidValue);
        assert_eq!(create(0, null_mut(), null_mut(), &raw mut state), hipError_t::hipSuccess);
        assert_eq!((hip.hipLinkDestroy)(state), hipError_t::hipSuccess);
    }
}

#[test]
fn boxes_are_described_as_cuda_has_them() {
    let hip = hip();
    let place = |address: usize, pitch, ysize| hipPitchedPtr {
        ptr: std::ptr::without_provenance_mut(address),
        pitch,
        xsize: pitch,
        ysize,
    };
    let mut copy = hipMemcpy3DParms {
        srcArray: null_mut(),
        srcPos: hipPos { x: 4, y: 1, z: 2 },
        srcPtr: place(0x100, 64, 8),
        dstArray: null_mut(),
        dstPos: hipPos { x: 0, y: 0, z: 0 },
        dstPtr: place(0x200, 32, 4),
        extent: hipExtent { width: 16, height: 3, depth: 2 },
        kind: hipMemcpyKind::hipMemcpyDeviceToDevice,
    };
    // SAFETY: the driver's function reads none of the handles.
    unsafe {
        let add = hip.hipGraphAddMemcpyNode;
        assert_eq!(add(null_mut(), null_mut(), std::ptr::null(), 0, &raw const copy), hipError_t::hipSuccess);
        let told = COPIED.take().unwrap();
        assert_eq!((told.srcXInBytes, told.srcY, told.srcZ, told.srcPitch, told.srcHeight), (4, 1, 2, 64, 8));
        assert_eq!((told.dstDevice, told.dstPitch, told.dstHeight), (0x200, 32, 4));
        assert_eq!((told.WidthInBytes, told.Height, told.Depth), (16, 3, 2));
        copy.srcArray = std::ptr::without_provenance_mut(8);
        let refused = add(null_mut(), null_mut(), std::ptr::null(), 0, &raw const copy);
        assert_eq!(refused, hipError_t::hipErrorNotSupported);
        let line = (hip.hipGraphAddMemcpyNode1D)(
            null_mut(),
            null_mut(),
            std::ptr::null(),
            0,
            std::ptr::without_provenance_mut(0x300),
            std::ptr::without_provenance(0x400),
            77,
            hipMemcpyKind::hipMemcpyDefault,
        );
        assert_eq!(line, hipError_t::hipSuccess);
        let told = COPIED.take().unwrap();
        assert_eq!((told.dstDevice, told.srcDevice, told.WidthInBytes, told.Height), (0x300, 0x400, 77, 1));
    }
}
