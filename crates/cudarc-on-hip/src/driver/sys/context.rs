//! Contexts, errors, and the library itself.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::sync::{Mutex, PoisonError};

use hip_sys::{hipFuncCache_t, hipLimit_t};

use super::{
    CUcontext, CUctxCreateParams, CUdevice, CUexecAffinityParam, CUfunc_cache, CUlimit, CUresult, functions,
};
use crate::backend::{self, Outcome, backend, current, give, hip_call, table};

/// The version of CUDA whose functions these are: 12.9, for builds and for programs.
pub const CUDA_VERSION: u32 = 12090;
const DRIVER_VERSION: c_int = CUDA_VERSION as c_int;

functions! {
    fn cuInit(Flags: c_uint) {
        if Flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        backend().map(|_| ())
    }

    fn cuDriverGetVersion(driverVersion: *mut c_int) {
        give(driverVersion, DRIVER_VERSION)
    }

    fn cuGetErrorName(error: CUresult, pStr: *mut *const c_char) {
        give(pStr, error.c_name().as_ptr())
    }

    fn cuGetErrorString(error: CUresult, pStr: *mut *const c_char) {
        give(pStr, describe(error).as_ptr())
    }

    fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice) {
        give(pctx, backend()?.primary(dev)?)
    }

    /// Primary contexts live as long as the process.
    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) {
        backend()?.device(dev).map(|_| ())
    }

    fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int) {
        let device = backend()?.device(dev)?;
        let ordinal = device.ordinal() as c_int;
        hip_call!(backend()?.table, hipDevicePrimaryCtxGetState(ordinal, flags, active))
    }

    fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice) {
        create(pctx, flags, dev)
    }

    fn cuCtxCreate_v3(
        pctx: *mut CUcontext,
        paramsArray: *mut CUexecAffinityParam,
        numParams: c_int,
        flags: c_uint,
        dev: CUdevice,
    ) {
        if !paramsArray.is_null() || numParams != 0 {
            return Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        }
        create(pctx, flags, dev)
    }

    fn cuCtxCreate_v4(
        pctx: *mut CUcontext,
        ctxCreateParams: *mut CUctxCreateParams,
        flags: c_uint,
        dev: CUdevice,
    ) {
        if let Some(params) = ctxCreateParams.as_ref() {
            if !params.execAffinityParams.is_null() || params.numExecAffinityParams != 0 {
                return Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
            }
            // Sharing with a graphics API.
            if !params.cigParams.is_null() {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
        }
        create(pctx, flags, dev)
    }

    fn cuCtxDestroy_v2(ctx: CUcontext) {
        backend::destroy_context(ctx)
    }

    fn cuCtxSetCurrent(ctx: CUcontext) {
        backend::set_current(ctx)
    }

    fn cuCtxGetCurrent(pctx: *mut CUcontext) {
        give(pctx, backend::current_handle())
    }

    fn cuCtxGetDevice(device: *mut CUdevice) {
        let context = backend()?.context(backend::current_handle())?;
        give(device, context.ordinal as CUdevice)
    }

    fn cuCtxSetFlags(flags: c_uint) {
        hip_call!(table()?, hipSetDeviceFlags(flags))
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        hip_call!(table()?, hipGetDeviceFlags(flags))
    }

    fn cuCtxSynchronize() {
        hip_call!(table()?, hipDeviceSynchronize())
    }

    fn cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit) {
        match limit {
            // Kernels cannot launch kernels.
            CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH | CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => {
                give(pvalue, 0)
            }
            _ => hip_call!(table()?, hipDeviceGetLimit(pvalue, limit_of(limit)?)),
        }
    }

    fn cuCtxSetLimit(limit: CUlimit, value: usize) {
        hip_call!(table()?, hipDeviceSetLimit(limit_of(limit)?, value))
    }

    fn cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache) {
        let mut config = hipFuncCache_t(0);
        hip_call!(table()?, hipDeviceGetCacheConfig(&raw mut config))?;
        let config = CUfunc_cache::from_code(i64::from(config.0));
        give(pconfig, config.ok_or(CUresult::CUDA_ERROR_UNKNOWN)?)
    }

    fn cuCtxSetCacheConfig(config: CUfunc_cache) {
        hip_call!(table()?, hipDeviceSetCacheConfig(hipFuncCache_t(config as c_uint)))
    }

    fn cuCtxGetStreamPriorityRange(leastPriority: *mut c_int, greatestPriority: *mut c_int) {
        hip_call!(table()?, hipDeviceGetStreamPriorityRange(leastPriority, greatestPriority))
    }

    fn cuCtxEnablePeerAccess(peerContext: CUcontext, Flags: c_uint) {
        let peer = backend()?.context(peerContext)?.ordinal;
        let ordinal = backend()?.devices[peer].ordinal() as c_int;
        hip_call!(table()?, hipDeviceEnablePeerAccess(ordinal, Flags))
    }

    fn cuCtxDisablePeerAccess(peerContext: CUcontext) {
        let peer = backend()?.context(peerContext)?.ordinal;
        let ordinal = backend()?.devices[peer].ordinal() as c_int;
        hip_call!(table()?, hipDeviceDisablePeerAccess(ordinal))
    }

    /// Profilers for AMD's GPUs do not support control by the program.
    fn cuProfilerStart() {
        current().map(|_| ())
    }

    fn cuProfilerStop() {
        current().map(|_| ())
    }
}

/// Creates a context and makes it current.
///
/// # Safety
/// The pointer must be null or writable.
unsafe fn create(place: *mut CUcontext, flags: c_uint, device: CUdevice) -> Outcome {
    if place.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let before = backend::current_handle();
    let context = backend::create_context(device)?;
    if flags != 0 {
        // SAFETY: the call takes a number.
        let outcome = unsafe { cuCtxSetFlags(flags) }.result();
        if let Err(error) = outcome {
            backend::destroy_context(context)?;
            backend::set_current(before)?;
            return Err(error.0);
        }
    }
    // SAFETY: the caller vouches for it.
    unsafe { give(place, context) }
}

fn limit_of(limit: CUlimit) -> Outcome<hipLimit_t> {
    match limit {
        CUlimit::CU_LIMIT_STACK_SIZE => Ok(hipLimit_t::hipLimitStackSize),
        CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => Ok(hipLimit_t::hipLimitPrintfFifoSize),
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => Ok(hipLimit_t::hipLimitMallocHeapSize),
        _ => Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT),
    }
}

/// The meaning of a status. Texts are created once and kept.
fn describe(error: CUresult) -> &'static CStr {
    static TEXTS: Mutex<Option<HashMap<CUresult, &'static CStr>>> = Mutex::new(None);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.get_or_insert_default().entry(error).or_insert_with(|| {
        let mut text = match error {
            CUresult::CUDA_SUCCESS => "no error".to_owned(),
            error => backend::lowercase_words(&error.c_name().to_string_lossy()),
        };
        if let (CUresult::CUDA_ERROR_NO_DEVICE, Some(reason)) = (error, backend::no_device_because()) {
            text = format!("{text}: {reason}");
        }
        CString::new(text.replace('\0', " "))
            .map_or(error.c_name(), |text| Box::leak(text.into_boxed_c_str()))
    })
}
