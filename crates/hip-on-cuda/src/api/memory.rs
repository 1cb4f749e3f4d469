//! Memory of devices and of the host.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUmem_advise, CUmemorytype, CUpointer_attribute, CUresult, Table};
use hip_sys::{hipError_t, hipMemoryAdvise, hipStream_t};

use super::convert::{address, location_of_device, place};
use crate::call::{call, failed, same, steps};
use crate::runtime::{self, check};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// Flags of pinned memory that CUDA has, too: portable, mapped, write-combined. Others are about coherence,
/// which all of CUDA's has.
const HOST_FLAGS: c_uint = 0b111;
/// Kernels reach it, as they do all of AMD's.
const DEVICE_MAP: c_uint = cuda_sys::CU_MEMHOSTALLOC_DEVICEMAP;

/// Whether the caller's place is one, and what nothing is: null.
///
/// # Safety
/// The pointer is null or a place.
unsafe fn nothing(pointer: *mut *mut c_void) -> hipError_t {
    // SAFETY: the caller's promise.
    match unsafe { pointer.as_mut() } {
        Some(pointer) => {
            *pointer = null_mut();
            hipError_t::hipSuccess
        }
        None => failed(hipError_t::hipErrorInvalidValue),
    }
}

/// `hipMalloc`: of no bytes, null.
pub(crate) unsafe extern "C" fn hipMalloc(pointer: *mut *mut c_void, bytes: usize) -> hipError_t {
    if bytes == 0 {
        // SAFETY: the caller passes null or a place.
        return unsafe { nothing(pointer) };
    }
    // SAFETY: the caller passes a place.
    call(|cuda| unsafe { (cuda.cuMemAlloc_v2)(place(pointer), bytes) })
}

/// `hipExtMallocWithFlags`: memory of the device, or, for signals, memory that the host reaches as well.
pub(crate) unsafe extern "C" fn hipExtMallocWithFlags(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> hipError_t {
    match flags {
        // SAFETY: as there.
        hip_sys::hipDeviceMallocDefault => unsafe { hipMalloc(pointer, bytes) },
        // SAFETY: as there.
        hip_sys::hipMallocSignalMemory => unsafe { hipHostMalloc(pointer, bytes, 0) },
        _ => failed(hipError_t::hipErrorNotSupported),
    }
}

/// `hipFree`: of memory of a device, or of pinned memory of the host.
pub(crate) unsafe extern "C" fn hipFree(pointer: *mut c_void) -> hipError_t {
    if pointer.is_null() {
        return hipError_t::hipSuccess;
    }
    steps(|cuda| {
        // SAFETY: the caller vouches that nothing uses the memory any more.
        match unsafe { (cuda.cuMemFree_v2)(address(pointer)) } {
            // SAFETY: as above.
            INVALID if is_of_host(cuda, pointer) => check(unsafe { (cuda.cuMemFreeHost)(pointer) }),
            status => check(status),
        }
    })
}

/// Whether the driver has pinned memory of the host there.
fn is_of_host(cuda: &Table, pointer: *mut c_void) -> bool {
    let mut kind: c_uint = 0;
    // SAFETY: the attribute is a number of 32 bits; any address may be asked for.
    let asked = unsafe {
        (cuda.cuPointerGetAttribute)(
            (&raw mut kind).cast(),
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            address(pointer),
        )
    };
    asked == CUresult::CUDA_SUCCESS && kind == CUmemorytype::CU_MEMORYTYPE_HOST.0
}

/// `hipHostMalloc`: of no bytes, null.
pub(crate) unsafe extern "C" fn hipHostMalloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> hipError_t {
    if bytes == 0 {
        // SAFETY: the caller passes null or a place.
        return unsafe { nothing(pointer) };
    }
    // SAFETY: the caller passes a place.
    call(|cuda| unsafe { (cuda.cuMemHostAlloc)(pointer, bytes, flags & HOST_FLAGS | DEVICE_MAP) })
}

/// `hipHostAlloc`.
pub(crate) unsafe extern "C" fn hipHostAlloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipHostMalloc(pointer, bytes, flags) }
}

/// `hipMallocHost`.
pub(crate) unsafe extern "C" fn hipMallocHost(pointer: *mut *mut c_void, bytes: usize) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipHostMalloc(pointer, bytes, 0) }
}

/// `hipHostFree`.
pub(crate) unsafe extern "C" fn hipHostFree(pointer: *mut c_void) -> hipError_t {
    if pointer.is_null() {
        return hipError_t::hipSuccess;
    }
    // SAFETY: the caller vouches that nothing uses the memory any more.
    call(|cuda| unsafe { (cuda.cuMemFreeHost)(pointer) })
}

/// `hipFreeHost`.
pub(crate) unsafe extern "C" fn hipFreeHost(pointer: *mut c_void) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipHostFree(pointer) }
}

/// `hipHostRegister`. Flags of coherence mean nothing.
pub(crate) unsafe extern "C" fn hipHostRegister(
    pointer: *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> hipError_t {
    let flags = flags & 0b1111 | cuda_sys::CU_MEMHOSTREGISTER_DEVICEMAP;
    // SAFETY: the caller vouches for the memory.
    call(|cuda| unsafe { (cuda.cuMemHostRegister_v2)(pointer, bytes, flags) })
}

/// `hipMallocManaged`: of no bytes, null.
pub(crate) unsafe extern "C" fn hipMallocManaged(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> hipError_t {
    if bytes == 0 {
        // SAFETY: the caller passes null or a place.
        return unsafe { nothing(pointer) };
    }
    // SAFETY: the caller passes a place.
    call(|cuda| unsafe { (cuda.cuMemAllocManaged)(place(pointer), bytes, flags) })
}

/// `hipMallocPitch`: rows for accesses of up to 16 bytes.
pub(crate) unsafe extern "C" fn hipMallocPitch(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> hipError_t {
    // SAFETY: the caller passes places.
    call(|cuda| unsafe { (cuda.cuMemAllocPitch_v2)(place(pointer), pitch, width, height, 16) })
}

/// `hipMemAdvise`: what is about caches of AMD's devices is not supported.
pub(crate) unsafe extern "C" fn hipMemAdvise(
    pointer: *const c_void,
    bytes: usize,
    advice: hipMemoryAdvise,
    device: c_int,
) -> hipError_t {
    // The first six are the same for both vendors.
    if !(1..=6).contains(&advice.0) {
        return failed(hipError_t::hipErrorNotSupported);
    }
    let advice = CUmem_advise(advice.0 as _);
    steps(|cuda| {
        let location = location_of_device(device);
        // SAFETY: the caller vouches for the memory.
        check(unsafe {
            if cuda.has("cuMemAdvise_v2") {
                (cuda.cuMemAdvise_v2)(address(pointer), bytes, advice, location)
            } else {
                let device = if device < 0 { device } else { runtime::device(cuda, device)? };
                (cuda.cuMemAdvise)(address(pointer), bytes, advice, device)
            }
        })
    })
}

/// `hipMemPrefetchAsync`.
pub(crate) unsafe extern "C" fn hipMemPrefetchAsync(
    pointer: *const c_void,
    bytes: usize,
    device: c_int,
    stream: hipStream_t,
) -> hipError_t {
    steps(|cuda| {
        let location = location_of_device(device);
        // SAFETY: the caller vouches for the memory and the stream.
        check(unsafe {
            if cuda.has("cuMemPrefetchAsync_v2") {
                (cuda.cuMemPrefetchAsync_v2)(address(pointer), bytes, location, 0, stream.cast())
            } else {
                let device = if device < 0 { device } else { runtime::device(cuda, device)? };
                (cuda.cuMemPrefetchAsync)(address(pointer), bytes, device, stream.cast())
            }
        })
    })
}

same! {
    hipHostUnregister(pointer: *mut c_void) => cuMemHostUnregister(pointer);
    hipHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: c_uint)
        => cuMemHostGetDevicePointer_v2(place(device), host, flags);
    hipHostGetFlags(flags: *mut c_uint, host: *mut c_void) => cuMemHostGetFlags(flags, host);
    hipMemGetAddressRange(base: *mut *mut c_void, bytes: *mut usize, pointer: *mut c_void)
        => cuMemGetAddressRange_v2(place(base), bytes, address(pointer));
}
