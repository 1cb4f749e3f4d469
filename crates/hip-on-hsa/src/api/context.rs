//! Contexts and settings of devices. A device has one context, its primary one, and every function that
//! creates a context returns that. Settings have no effect on AMD's devices and are only stored.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use hip_sys::{hipCtx_t, hipDevice_t, hipError_t, hipFuncCache_t, hipSharedMemConfig};

use crate::api::memory::free_all_of;
use crate::api::stream::hipDeviceSynchronize;
use crate::caller;
use crate::devices;
use crate::devices::device::{Device, VERSION, by_ordinal, current_device, set_current};
use crate::error::{Result, entry};
use crate::graph;
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_CONTEXT: hipError_t = hipError_t::hipErrorInvalidContext;

/// Tag bits that mark a context handle, above the ordinal.
const CONTEXT: usize = 0x62 << 56;

/// Flags that `hipSetDeviceFlags` accepts.
const FLAGS: u32 =
    hip_sys::hipDeviceScheduleMask | hip_sys::hipDeviceMapHost | hip_sys::hipDeviceLmemResizeToMax;

thread_local! {
    /// The devices of the contexts that the thread has pushed, the current one last.
    static PUSHED: RefCell<Vec<&'static Device>> = const { RefCell::new(Vec::new()) };
}

fn pushed<T>(use_it: impl FnOnce(&mut Vec<&'static Device>) -> T) -> Result<T> {
    let used = PUSHED.try_with(|pushed| use_it(&mut pushed.borrow_mut()));
    used.map_err(|_| hipError_t::hipErrorContextIsDestroyed)
}

fn handle(device: &Device) -> hipCtx_t {
    (CONTEXT | device.ordinal as usize) as hipCtx_t
}

fn device_of(runtime: &Runtime, context: hipCtx_t) -> Result<&'static Device> {
    let ordinal = (context as usize).wrapping_sub(CONTEXT);
    let ordinal = i32::try_from(ordinal).map_err(|_| INVALID_CONTEXT)?;
    devices::get(runtime, ordinal).map_err(|_| INVALID_CONTEXT)
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn set<T>(out: *mut T, value: T) -> Result {
    // SAFETY: as this function's contract.
    *unsafe { caller::place(out) }? = value;
    Ok(())
}

fn check_flags(flags: u32) -> Result {
    // Only one way of waiting can be requested.
    let ways = (flags & hip_sys::hipDeviceScheduleMask).count_ones();
    if flags & !FLAGS != 0 || ways > 1 { Err(INVALID_VALUE) } else { Ok(()) }
}

/// `hipSetDeviceFlags`: stored for the current device; they do not change how calls wait.
pub(crate) unsafe extern "C" fn hipSetDeviceFlags(flags: c_uint) -> hipError_t {
    entry(|| {
        check_flags(flags)?;
        current_device(active()?)?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    })
}

fn flags_of(device: &Device) -> u32 {
    device.flags.load(Ordering::Relaxed)
}

/// `hipGetDeviceFlags`: of the current device.
pub(crate) unsafe extern "C" fn hipGetDeviceFlags(flags: *mut c_uint) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(flags, flags_of(current_device(active()?)?)) })
}

macro_rules! cache_and_banks {
    ($get_cache:ident $set_cache:ident $get_banks:ident $set_banks:ident) => {
        #[doc = concat!("`", stringify!($get_cache), "`: no preference, as caches have a fixed size.")]
        pub(crate) unsafe extern "C" fn $get_cache(config: *mut hipFuncCache_t) -> hipError_t {
            entry(|| {
                active()?;
                // SAFETY: the caller passes null or a valid place.
                unsafe { set(config, hipFuncCache_t::hipFuncCachePreferNone) }
            })
        }

        #[doc = concat!("`", stringify!($set_cache), "`: advice that AMD's devices have no use for.")]
        pub(crate) unsafe extern "C" fn $set_cache(config: hipFuncCache_t) -> hipError_t {
            entry(|| {
                active()?;
                if config.0 > hipFuncCache_t::hipFuncCachePreferEqual.0 { Err(INVALID_VALUE) } else { Ok(()) }
            })
        }

        #[doc = concat!("`", stringify!($get_banks), "`: the banks of LDS are four bytes wide.")]
        pub(crate) unsafe extern "C" fn $get_banks(config: *mut hipSharedMemConfig) -> hipError_t {
            entry(|| {
                active()?;
                // SAFETY: the caller passes null or a valid place.
                unsafe { set(config, hipSharedMemConfig::hipSharedMemBankSizeFourByte) }
            })
        }

        #[doc = concat!("`", stringify!($set_banks), "`: advice that AMD's devices have no use for.")]
        pub(crate) unsafe extern "C" fn $set_banks(config: hipSharedMemConfig) -> hipError_t {
            entry(|| {
                active()?;
                let last = hipSharedMemConfig::hipSharedMemBankSizeEightByte;
                if config.0 > last.0 { Err(INVALID_VALUE) } else { Ok(()) }
            })
        }
    };
}

cache_and_banks! {
    hipDeviceGetCacheConfig hipDeviceSetCacheConfig hipDeviceGetSharedMemConfig hipDeviceSetSharedMemConfig
}
cache_and_banks! {
    hipCtxGetCacheConfig hipCtxSetCacheConfig hipCtxGetSharedMemConfig hipCtxSetSharedMemConfig
}

/// `hipCtxCreate`: the device's context, which becomes the thread's current one.
pub(crate) unsafe extern "C" fn hipCtxCreate(
    out: *mut hipCtx_t,
    _flags: c_uint,
    device: hipDevice_t,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(device).map_err(|_| INVALID_VALUE)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(out, handle(device)) }?;
        pushed(|all| all.push(device))?;
        set_current(device);
        Ok(())
    })
}

/// `hipCtxDestroy`: removes the context from the thread if it is the current one. The device's objects stay.
pub(crate) unsafe extern "C" fn hipCtxDestroy(context: hipCtx_t) -> hipError_t {
    entry(|| {
        if context.is_null() {
            return Err(INVALID_VALUE);
        }
        let device = device_of(active()?, context)?;
        pushed(|all| {
            if all.pop_if(|last| std::ptr::eq(*last, device)).is_some()
                && let Some(previous) = all.last()
            {
                set_current(previous);
            }
        })
    })
}

/// `hipCtxPushCurrent`.
pub(crate) unsafe extern "C" fn hipCtxPushCurrent(context: hipCtx_t) -> hipError_t {
    entry(|| {
        let device = device_of(active()?, context)?;
        pushed(|all| all.push(device))?;
        set_current(device);
        Ok(())
    })
}

/// `hipCtxPopCurrent`: the one before becomes current again; `hipErrorInvalidContext` if there is none to
/// pop.
pub(crate) unsafe extern "C" fn hipCtxPopCurrent(out: *mut hipCtx_t) -> hipError_t {
    entry(|| {
        active()?;
        let (popped, previous) = pushed(|all| (all.pop(), all.last().copied()))?;
        let popped = popped.ok_or(INVALID_CONTEXT)?;
        if let Some(previous) = previous {
            set_current(previous);
        }
        // SAFETY: the caller passes null, which asks for nothing, or a valid place.
        unsafe { caller::store_optional(out, handle(popped)) }
    })
}

/// `hipCtxSetCurrent`: replaces the current one; null removes it.
pub(crate) unsafe extern "C" fn hipCtxSetCurrent(context: hipCtx_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if context.is_null() {
            return pushed(|all| {
                all.pop();
            });
        }
        let device = device_of(runtime, context)?;
        pushed(|all| {
            all.pop();
            all.push(device);
        })?;
        set_current(device);
        Ok(())
    })
}

/// The context of the thread's current device.
pub(crate) fn current() -> Result<hipCtx_t> {
    Ok(handle(current_device(active()?)?))
}

/// `hipCtxGetCurrent`: the context of the thread's current device.
pub(crate) unsafe extern "C" fn hipCtxGetCurrent(out: *mut hipCtx_t) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(out, current()?) })
}

/// `hipCtxGetDevice`.
pub(crate) unsafe extern "C" fn hipCtxGetDevice(out: *mut hipDevice_t) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(out, current_device(active()?)?.ordinal) })
}

/// `hipCtxGetFlags`: the device's flags.
pub(crate) unsafe extern "C" fn hipCtxGetFlags(flags: *mut c_uint) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(flags, flags_of(current_device(active()?)?)) })
}

/// `hipDevicePrimaryCtxRetain`: the device's context.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxRetain(
    out: *mut hipCtx_t,
    device: hipDevice_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { set(out, handle(by_ordinal(device)?)) })
}

/// `hipDevicePrimaryCtxRelease`: the context stays as long as the device.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxRelease(device: hipDevice_t) -> hipError_t {
    entry(|| by_ordinal(device).map(drop))
}

/// Waits for a device, ends the streams that the program created there, and frees its allocations there: all
/// their handles and addresses end. Resets flags and limits. Modules, events, graphs, mappings and managed
/// variables stay.
fn reset(device: &'static Device) -> Result {
    let runtime = active()?;
    graph::permit()?;
    graph::permit_device_wait(device)?;
    // Failed streams are reset as well.
    let _ = device.synchronize(runtime);
    for stream in device.streams() {
        stream.end(runtime);
    }
    device.flags.store(hip_sys::hipDeviceScheduleAuto, Ordering::Relaxed);
    device.limits.reset();
    free_all_of(runtime, device)
}

/// `hipDeviceReset`: the current device.
pub(crate) unsafe extern "C" fn hipDeviceReset() -> hipError_t {
    entry(|| reset(current_device(active()?)?))
}

/// `hipDevicePrimaryCtxReset`: as [`hipDeviceReset`].
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxReset(device: hipDevice_t) -> hipError_t {
    entry(|| reset(by_ordinal(device)?))
}

/// `hipCtxSynchronize`: waits for the current device.
pub(crate) unsafe extern "C" fn hipCtxSynchronize() -> hipError_t {
    // SAFETY: there is nothing to keep to.
    unsafe { hipDeviceSynchronize() }
}

/// `hipDevicePrimaryCtxSetFlags`: the context is active from the start, so only `hipSetDeviceFlags` sets its
/// flags.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxSetFlags(
    device: hipDevice_t,
    _flags: c_uint,
) -> hipError_t {
    entry(|| {
        by_ordinal(device)?;
        Err(hipError_t::hipErrorContextAlreadyInUse)
    })
}

/// `hipDevicePrimaryCtxGetState`: the context of the thread's current device is active.
pub(crate) unsafe extern "C" fn hipDevicePrimaryCtxGetState(
    device: hipDevice_t,
    flags: *mut c_uint,
    is_active: *mut c_int,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(device)?;
        let current = current_device(active()?)?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(flags, flags_of(device))?;
            caller::store_optional(is_active, std::ptr::eq(current, device).into())
        }
    })
}

/// `hipCtxGetApiVersion`: HIP's version.
pub(crate) unsafe extern "C" fn hipCtxGetApiVersion(context: hipCtx_t, version: *mut c_uint) -> hipError_t {
    entry(|| {
        device_of(active()?, context)?;
        // SAFETY: the caller passes null or a valid place.
        unsafe { set(version, VERSION as c_uint) }
    })
}

/// `hipCtxEnablePeerAccess`: as `hipDeviceEnablePeerAccess` of the context's device.
pub(crate) unsafe extern "C" fn hipCtxEnablePeerAccess(context: hipCtx_t, flags: c_uint) -> hipError_t {
    match active().and_then(|runtime| device_of(runtime, context)) {
        // SAFETY: the function has no preconditions.
        Ok(device) => unsafe { crate::api::peer::hipDeviceEnablePeerAccess(device.ordinal, flags) },
        Err(code) => entry(|| Err(code)),
    }
}

/// `hipCtxDisablePeerAccess`: as `hipDeviceDisablePeerAccess` of the context's device.
pub(crate) unsafe extern "C" fn hipCtxDisablePeerAccess(context: hipCtx_t) -> hipError_t {
    match active().and_then(|runtime| device_of(runtime, context)) {
        // SAFETY: the function has no preconditions.
        Ok(device) => unsafe { crate::api::peer::hipDeviceDisablePeerAccess(device.ordinal) },
        Err(code) => entry(|| Err(code)),
    }
}
