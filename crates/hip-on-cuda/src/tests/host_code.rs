//! Kernels and variables of compiled host code.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use code_object::bundle::{self, Entry, cuda_id};
use code_object::embedded::CudaKind;
use cuda_sys::{Builder, CUdeviceptr, CUfunction, CUmodule, CUresult};
use hip_sys::{dim3, hipError_t, hipFuncAttribute};

use super::{ALLOWED, CONTEXT, OK, hip};

const NOT_FOUND: CUresult = CUresult::CUDA_ERROR_NOT_FOUND;
/// The fake driver's functions: of a `static` kernel, of one in a namespace without a name, and of no use.
const FUNCTIONS: [&CStr; 3] = [c"_Z4statPfm", c"_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go4anonEPf", c"_Z5otherv"];

static LOADED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The function that was launched last.
    pub(super) static LAUNCHED: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn load(module: *mut CUmodule, image: *const c_void) -> CUresult {
    if CONTEXT.get().is_null() {
        return CUresult::CUDA_ERROR_INVALID_CONTEXT;
    }
    // SAFETY: the caller gives text that ends in a NUL, and a place.
    unsafe {
        assert_eq!(CStr::from_ptr(image.cast()), c"cubin of sm_90a");
        *module = std::ptr::without_provenance_mut(LOADED.fetch_add(1, Ordering::SeqCst) + 1);
    }
    OK
}

unsafe extern "C" fn unload(_: CUmodule) -> CUresult {
    LOADED.fetch_sub(1, Ordering::SeqCst);
    OK
}

unsafe extern "C" fn function(function: *mut CUfunction, _: CUmodule, name: *const c_char) -> CUresult {
    // SAFETY: the caller gives text that ends in a NUL, and a place.
    unsafe {
        let Some(at) = FUNCTIONS.iter().position(|known| *known == CStr::from_ptr(name)) else {
            return NOT_FOUND;
        };
        *function = std::ptr::without_provenance_mut(at + 1);
    }
    OK
}

unsafe extern "C" fn count(count: *mut u32, _: CUmodule) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *count = FUNCTIONS.len() as u32 };
    OK
}

unsafe extern "C" fn enumerate(functions: *mut CUfunction, count: u32, _: CUmodule) -> CUresult {
    for at in 0..count as usize {
        // SAFETY: the caller gives as many places.
        unsafe { functions.add(at).write(std::ptr::without_provenance_mut(at + 1)) };
    }
    OK
}

unsafe extern "C" fn name(name: *mut *const c_char, function: CUfunction) -> CUresult {
    // SAFETY: the caller gives a place.
    unsafe { *name = FUNCTIONS[function.addr() - 1].as_ptr() };
    OK
}

unsafe extern "C" fn global(
    place: *mut CUdeviceptr,
    size: *mut usize,
    _: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller gives text that ends in a NUL, and places.
    unsafe {
        let globals = [(c"table", 64), (c"overlaps_early", 1)];
        let Some((_, bytes)) = globals.iter().find(|(known, _)| *known == CStr::from_ptr(name)) else {
            return NOT_FOUND;
        };
        (*place, *size) = (0x5000, *bytes);
    }
    OK
}

pub(super) fn provide(builder: &mut Builder) {
    builder.cuModuleLoadData(load).cuModuleUnload(unload).cuModuleGetFunction(function);
    builder.cuModuleGetFunctionCount(count).cuModuleEnumerateFunctions(enumerate).cuFuncGetName(name);
    builder.cuModuleGetGlobal_v2(global);
}

/// As clang writes it.
#[repr(C)]
struct Header {
    magic: u32,
    version: u32,
    image: *const u8,
    unused: *const c_void,
}

#[test]
fn host_code_launches_what_nvcc_compiled() {
    let hip = hip();
    let code = hip.ext.host_code.unwrap();
    let ids = [cuda_id("sm_80", CudaKind::Ptx), cuda_id("sm_90a", CudaKind::Cubin)];
    let image = bundle::bundle(&[
        Entry { id: "host-x86_64-unknown-linux--", bytes: b"" },
        Entry { id: "hipv4-amdgcn-amd-amdhsa--gfx1100", bytes: b"AMD's" },
        Entry { id: &ids[0], bytes: b"PTX" },
        Entry { id: &ids[1], bytes: b"cubin of sm_90a" },
    ]);
    let header = Header { magic: 0x4849_5046, version: 1, image: image.as_ptr(), unused: null() };
    let stubs = [b'a', b'b', b'c', b'd'];
    let stub = |at: usize| std::ptr::from_ref(&stubs[at]).cast::<c_void>();
    let one = dim3 { x: 1, y: 1, z: 1 };
    // SAFETY: the header and the image live until the end, and all names end in NUL.
    unsafe {
        let handle = (code.register_fat_binary)((&raw const header).cast());
        for (at, name) in [c"_ZL4statPfm", c"_ZN12_GLOBAL__N_14anonEPf", c"_Z4lostv"].iter().enumerate() {
            let (none, name) = (null_mut(), name.as_ptr());
            let device = name.cast_mut();
            let threads: *mut c_int = null_mut();
            (code.register_function)(handle, stub(at), device, name, 0, none, none, none, none, threads);
        }
        let name = c"_ZL5table.static.0011".as_ptr().cast_mut();
        (code.register_variable)(handle, stub(3).cast_mut(), name, name, 0, 64, 1, 0);
        assert_eq!(LOADED.load(Ordering::SeqCst), 0, "nothing is loaded before it is used");

        // The calls that clang makes of `stat<<<1, 1, 16, stream>>>(...)`, on a thread without a context.
        CONTEXT.set(null_mut());
        let stream = std::ptr::without_provenance_mut(0x77);
        assert_eq!((hip.__hipPushCallConfiguration)(one, one, 16, stream), hipError_t::hipSuccess);
        let (mut grid, mut block, mut lds, mut on) = (one, one, 0, null_mut());
        let pop = hip.__hipPopCallConfiguration;
        assert_eq!(pop(&raw mut grid, &raw mut block, &raw mut lds, &raw mut on), hipError_t::hipSuccess);
        assert_eq!((lds, on), (16, stream));
        assert_eq!(
            pop(&raw mut grid, &raw mut block, &raw mut lds, &raw mut on),
            hipError_t::hipErrorMissingConfiguration
        );
        let launch = |at| (hip.hipLaunchKernel)(stub(at), one, one, null_mut(), 16, stream);
        for at in [0, 1, 0] {
            assert_eq!(launch(at), hipError_t::hipSuccess);
            assert_eq!(LAUNCHED.get(), at + 1);
        }
        assert_eq!(LOADED.load(Ordering::SeqCst), 1);
        assert_eq!(launch(2), hipError_t::hipErrorNotFound);
        let unknown = std::ptr::without_provenance(8);
        let status = (hip.hipLaunchKernel)(unknown, one, one, null_mut(), 0, stream);
        assert_eq!(status, crate::error::hip_error(CUresult::CUDA_ERROR_INVALID_HANDLE));

        // A stub also means its kernel where HIP takes functions.
        let attribute = hipFuncAttribute::hipFuncAttributeMaxDynamicSharedMemorySize;
        assert_eq!((hip.hipFuncSetAttribute)(stub(0), attribute, 100 << 10), hipError_t::hipSuccess);
        assert_eq!(ALLOWED.get(), 100 << 10);

        let (mut address, mut size) = (null_mut(), 0);
        assert_eq!((hip.hipGetSymbolAddress)(&raw mut address, stub(3)), hipError_t::hipSuccess);
        assert_eq!((hip.hipGetSymbolSize)(&raw mut size, stub(3)), hipError_t::hipSuccess);
        assert_eq!((address.addr(), size), (0x5000, 64));
        let host = hip_sys::hipMemcpyKind::hipMemcpyHostToDevice;
        let status = (hip.hipMemcpyToSymbol)(stub(3), null(), 60, 8, host);
        assert_eq!(status, hipError_t::hipErrorInvalidValue, "it is longer than the variable");

        (code.unregister_fat_binary)(handle);
        assert_eq!(LOADED.load(Ordering::SeqCst), 0);
        assert_eq!(launch(0), crate::error::hip_error(CUresult::CUDA_ERROR_INVALID_HANDLE));
    }
}
