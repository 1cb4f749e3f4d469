//! Devices, and which of them a thread uses.

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::CUresult;
use hip_sys::{hipCtx_t, hipDevice_t, hipError_t, hipUUID};

use crate::call::{call, failed, same, steps};
use crate::runtime::{self, check, cuda};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// `hipInit`.
pub(crate) unsafe extern "C" fn hipInit(flags: c_uint) -> hipError_t {
    // SAFETY: the call takes a number.
    call(|cuda| unsafe { (cuda.cuInit)(flags) })
}

/// `hipGetDeviceCount`: initialises the driver. No device is `hipErrorNoDevice`, as with AMD's.
pub(crate) unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> hipError_t {
    if count.is_null() {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    let Some(cuda) = cuda() else { return failed(hipError_t::hipErrorNotInitialized) };
    // SAFETY: the first call takes a number; the place is the caller's.
    let counted = unsafe { check((cuda.cuInit)(0)).and_then(|()| check((cuda.cuDeviceGetCount)(count))) };
    // SAFETY: the place is the caller's.
    match (counted, unsafe { *count }) {
        (Ok(()), 1..) => hipError_t::hipSuccess,
        (Ok(()), _) => failed(hipError_t::hipErrorNoDevice),
        (Err(status), _) => failed(crate::error::hip_error(status)),
    }
}

/// `hipSetDevice`: makes its primary context current.
pub(crate) unsafe extern "C" fn hipSetDevice(device: c_int) -> hipError_t {
    steps(|cuda| runtime::set_device(cuda, device))
}

/// `hipGetDevice`.
pub(crate) unsafe extern "C" fn hipGetDevice(device: *mut c_int) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a place.
        *unsafe { device.as_mut() }.ok_or(INVALID)? = runtime::current(cuda);
        Ok(())
    })
}

/// `hipDeviceGet`: devices are ordinals.
pub(crate) unsafe extern "C" fn hipDeviceGet(device: *mut hipDevice_t, ordinal: c_int) -> hipError_t {
    steps(|cuda| {
        runtime::device(cuda, ordinal)?;
        // SAFETY: the caller passes null or a place.
        *unsafe { device.as_mut() }.ok_or(INVALID)? = ordinal;
        Ok(())
    })
}

/// `hipDevicePrimaryCtxRetain`.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxRetain(
    context: *mut hipCtx_t,
    device: hipDevice_t,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a place.
        *unsafe { context.as_mut() }.ok_or(INVALID)? = runtime::context(cuda, device)?.cast();
        Ok(())
    })
}

/// `hipDevicePrimaryCtxRelease`: the context stays, since devices keep it for the process.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxRelease(device: hipDevice_t) -> hipError_t {
    steps(|cuda| runtime::device(cuda, device).map(drop))
}

/// `hipDevicePrimaryCtxGetState`.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxGetState(
    device: hipDevice_t,
    flags: *mut c_uint,
    active: *mut c_int,
) -> hipError_t {
    steps(|cuda| {
        let device = runtime::device(cuda, device)?;
        // SAFETY: the caller passes places.
        check(unsafe { (cuda.cuDevicePrimaryCtxGetState)(device, flags, active) })
    })
}

/// `hipGetDeviceFlags`: of the current device.
pub(crate) unsafe extern "C" fn hipGetDeviceFlags(flags: *mut c_uint) -> hipError_t {
    steps(|cuda| {
        let device = runtime::device(cuda, runtime::current(cuda))?;
        let mut active = 0;
        // SAFETY: the caller passes a place.
        check(unsafe { (cuda.cuDevicePrimaryCtxGetState)(device, flags, &raw mut active) })
    })
}

/// `hipSetDeviceFlags`: both vendors number them alike.
pub(crate) unsafe extern "C" fn hipSetDeviceFlags(flags: c_uint) -> hipError_t {
    steps(|cuda| {
        let device = runtime::device(cuda, runtime::current(cuda))?;
        // SAFETY: the call takes numbers.
        check(unsafe { (cuda.cuDevicePrimaryCtxSetFlags_v2)(device, flags) })
    })
}

/// `hipDeviceGetUuid`.
pub(crate) unsafe extern "C" fn hipDeviceGetUuid(uuid: *mut hipUUID, device: hipDevice_t) -> hipError_t {
    steps(|cuda| {
        let device = runtime::device(cuda, device)?;
        // SAFETY: the caller passes a place of 16 bytes.
        check(unsafe { (cuda.cuDeviceGetUuid_v2)(uuid.cast(), device) })
    })
}

/// `hipDeviceComputeCapability`.
pub(crate) unsafe extern "C" fn hipDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    device: hipDevice_t,
) -> hipError_t {
    use cuda_sys::CUdevice_attribute as A;
    steps(|cuda| {
        let device = runtime::device(cuda, device)?;
        // SAFETY: the caller passes places.
        unsafe {
            check((cuda.cuDeviceGetAttribute)(
                major,
                A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                device,
            ))?;
            check((cuda.cuDeviceGetAttribute)(minor, A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
        }
    })
}

same! {
    hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) => cuDeviceGetName(name, len, device);
    hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) => cuDeviceTotalMem_v2(bytes, device);
    hipDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) => cuDeviceGetPCIBusId(id, len, device);
    hipDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) => cuDeviceGetByPCIBusId(device, id);
    hipDeviceSynchronize() => cuCtxSynchronize();
    hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) => cuCtxGetStreamPriorityRange(least, greatest);
    hipDriverGetVersion(version: *mut c_int) => cuDriverGetVersion(version);
    hipRuntimeGetVersion(version: *mut c_int) => cuDriverGetVersion(version);
    hipCtxGetCurrent(context: *mut hipCtx_t) => cuCtxGetCurrent(context.cast());
    hipCtxSetCurrent(context: hipCtx_t) => cuCtxSetCurrent(context.cast());
    hipMemGetInfo(free: *mut usize, total: *mut usize) => cuMemGetInfo_v2(free, total);
}
