//! Kernels: their attributes, and their launch.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{
    CUfunc_cache, CUfunction, CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchConfig, CUresult, Table,
};
use hip_sys::{
    hipError_t, hipFuncAttribute, hipFuncCache_t, hipFunction_attribute, hipFunction_t, hipStream_t,
};

use super::stub::function_of;
use crate::call::{call, failed, steps};
use crate::runtime::check;

/// Lets a kernel have so much dynamic LDS. NVIDIA's devices give more than 48 KiB, a kernel's own included,
/// only with permission; AMD's need none, so launches ask for it.
///
/// # Safety
/// The function is loaded.
#[inline]
pub(crate) unsafe fn allow_dynamic_lds(
    cuda: &Table,
    function: CUfunction,
    bytes: usize,
) -> Result<(), CUresult> {
    if bytes == 0 {
        return Ok(());
    }
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let mut allowed = 0;
    // SAFETY: the function is loaded, and the result is a place to write to.
    unsafe {
        check((cuda.cuFuncGetAttribute)(&raw mut allowed, attribute, function))?;
        if usize::try_from(allowed).is_ok_and(|allowed| bytes <= allowed) {
            return Ok(());
        }
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        check((cuda.cuFuncSetAttribute)(function, attribute, bytes))
    }
}

/// `hipModuleLaunchKernel`.
pub(crate) unsafe extern "C" fn hipModuleLaunchKernel(
    function: hipFunction_t,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    lds: c_uint,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> hipError_t {
    let function = function.cast();
    // SAFETY: the caller passes null or a list that ends as HIP says.
    let mut buffer = unsafe { buffer_of(extra) };
    let extra = buffer.as_mut().map_or(null_mut(), |list| list.as_mut_ptr());
    // SAFETY: the caller keeps HIP's contract, which is CUDA's.
    call(|cuda| unsafe {
        if lds != 0
            && let Err(status) = allow_dynamic_lds(cuda, function, lds as usize)
        {
            return status;
        }
        (cuda.cuLaunchKernel)(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            lds,
            stream.cast(),
            arguments,
            extra,
        )
    })
}

/// A launch of a kernel that waits itself until the one in front of it in the stream has ended: it may begin
/// before. A graph that captures it gets a programmatic edge.
pub(crate) unsafe extern "C" fn launch_overlapping(
    function: hipFunction_t,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    lds: c_uint,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
) -> hipError_t {
    let function = function.cast();
    let mut attribute = CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: lds,
        hStream: stream.cast(),
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    // SAFETY: the caller keeps HIP's contract, which is CUDA's; the configuration names one attribute.
    call(|cuda| unsafe {
        if lds != 0
            && let Err(status) = allow_dynamic_lds(cuda, function, lds as usize)
        {
            return status;
        }
        (cuda.cuLaunchKernelEx)(&raw const config, function, arguments, null_mut())
    })
}

/// The list of HIP's that names a buffer of arguments, with CUDA's numbers: HIP ends it with 3, CUDA with 0.
///
/// # Safety
/// Null, or a list that ends as HIP says.
#[inline]
unsafe fn buffer_of(extra: *mut *mut c_void) -> Option<[*mut c_void; 5]> {
    if extra.is_null() {
        return None;
    }
    let mut list = [null_mut(); 5];
    for pair in 0..2 {
        // SAFETY: the list goes on until its end.
        unsafe {
            let key = *extra.add(2 * pair);
            if !matches!(key.addr(), 1 | 2) {
                break;
            }
            list[2 * pair] = key;
            list[2 * pair + 1] = *extra.add(2 * pair + 1);
        }
    }
    Some(list)
}

/// `hipModuleLaunchCooperativeKernel`.
pub(crate) unsafe extern "C" fn hipModuleLaunchCooperativeKernel(
    function: hipFunction_t,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    lds: c_uint,
    stream: hipStream_t,
    arguments: *mut *mut c_void,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract, which is CUDA's.
    steps(|cuda| unsafe {
        allow_dynamic_lds(cuda, function.cast(), lds as usize)?;
        check((cuda.cuLaunchCooperativeKernel)(
            function.cast(),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            lds,
            stream.cast(),
            arguments,
        ))
    })
}

/// `hipFuncGetAttribute`: both vendors number them alike.
pub(crate) unsafe extern "C" fn hipFuncGetAttribute(
    value: *mut c_int,
    attribute: hipFunction_attribute,
    function: hipFunction_t,
) -> hipError_t {
    let number @ 0..=9 = attribute.0 else {
        return failed(hipError_t::hipErrorInvalidValue);
    };
    // SAFETY: the function is loaded, and the caller passes a place.
    call(|cuda| unsafe {
        (cuda.cuFuncGetAttribute)(value, CUfunction_attribute(number as _), function.cast())
    })
}

/// `hipFuncSetAttribute`: of a kernel of a module, or of host code.
pub(crate) unsafe extern "C" fn hipFuncSetAttribute(
    function: *const c_void,
    attribute: hipFuncAttribute,
    value: c_int,
) -> hipError_t {
    let number @ 8..=9 = attribute.0 else {
        return failed(hipError_t::hipErrorInvalidValue);
    };
    steps(|cuda| {
        let function = function_of(cuda, function)?;
        // SAFETY: the function is loaded.
        check(unsafe { (cuda.cuFuncSetAttribute)(function, CUfunction_attribute(number as _), value) })
    })
}

/// `hipFuncSetCacheConfig`: both vendors number them alike.
pub(crate) unsafe extern "C" fn hipFuncSetCacheConfig(
    function: *const c_void,
    config: hipFuncCache_t,
) -> hipError_t {
    steps(|cuda| {
        let function = function_of(cuda, function)?;
        // SAFETY: the function is loaded.
        check(unsafe { (cuda.cuFuncSetCacheConfig)(function, CUfunc_cache(config.0 as _)) })
    })
}
