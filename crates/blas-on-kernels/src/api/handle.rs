//! Handles and their settings.

use std::ffi::{c_int, c_void};

use hip_sys::{hipMemoryType, hipPointerAttribute_t, hipStream_t};
use rocblas_sys::{
    rocblas_atomics_mode, rocblas_handle, rocblas_math_mode, rocblas_performance_metric,
    rocblas_pointer_mode, rocblas_status,
};

use super::hip;
use crate::call::{INVALID_POINTER, INVALID_VALUE, Result, entry};
use crate::gpu::{Gpu, check};
use crate::handle::{self, INVALID_HANDLE, State, create, destroy};

/// Runs `work` on a handle's state. Unlike operations, this does not need a current device.
fn with(handle: rocblas_handle, work: impl FnOnce(&Gpu, &mut State) -> Result) -> rocblas_status {
    entry(|| {
        let handle = handle::find(handle)?;
        let mut state = handle.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        work(&handle.gpu, &mut state)
    })
}

/// # Safety
/// `out` must be null or valid for writing.
unsafe fn put<T>(out: *mut T, value: T) -> Result {
    if out.is_null() {
        return Err(INVALID_POINTER);
    }
    // SAFETY: as this function's contract.
    unsafe { out.write(value) };
    Ok(())
}

pub(super) unsafe extern "C" fn rocblas_create_handle<const SLOT: usize>(
    handle: *mut rocblas_handle,
) -> rocblas_status {
    entry(|| {
        if handle.is_null() {
            return Err(INVALID_HANDLE);
        }
        // SAFETY: the caller passes a place for a handle.
        unsafe { put(handle, create(hip::<SLOT>()?)?) }
    })
}

pub(super) unsafe extern "C" fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status {
    entry(|| destroy(handle))
}

/// Modules are loaded on first use, so this only checks the device.
pub(super) unsafe extern "C" fn rocblas_initialize<const SLOT: usize>() {
    let _ = entry(|| {
        let hip = hip::<SLOT>()?;
        let mut device: c_int = 0;
        // SAFETY: there is room for the number.
        check(unsafe { (hip.hipGetDevice)(&mut device) })?;
        Gpu::of(hip, device).map(drop)
    });
}

macro_rules! properties {
    ($($set:ident $get:ident: $field:ident $type:ident [$($value:ident)+];)+) => {$(
        pub(super) unsafe extern "C" fn $set(handle: rocblas_handle, value: $type) -> rocblas_status {
            with(handle, |_, state| {
                if ![$($type::$value),+].contains(&value) {
                    return Err(INVALID_VALUE);
                }
                state.$field = value;
                Ok(())
            })
        }

        pub(super) unsafe extern "C" fn $get(handle: rocblas_handle, value: *mut $type) -> rocblas_status {
            // SAFETY: the caller passes a place for the value.
            with(handle, |_, state| unsafe { put(value, state.$field) })
        }
    )+};
}
properties! {
    rocblas_set_pointer_mode rocblas_get_pointer_mode: pointer_mode rocblas_pointer_mode
        [rocblas_pointer_mode_host rocblas_pointer_mode_device];
    rocblas_set_atomics_mode rocblas_get_atomics_mode: atomics rocblas_atomics_mode
        [rocblas_atomics_not_allowed rocblas_atomics_allowed];
    rocblas_set_math_mode rocblas_get_math_mode: math rocblas_math_mode
        [rocblas_default_math rocblas_xf32_xdl_math_op];
    rocblas_set_performance_metric rocblas_get_performance_metric: metric rocblas_performance_metric
        [rocblas_default_performance_metric rocblas_device_efficiency_performance_metric
         rocblas_cu_efficiency_performance_metric];
}

pub(super) unsafe extern "C" fn rocblas_set_stream(
    handle: rocblas_handle,
    stream: hipStream_t,
) -> rocblas_status {
    with(handle, |gpu, state| {
        state.set_stream(gpu.hip, stream);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn rocblas_get_stream(
    handle: rocblas_handle,
    stream: *mut hipStream_t,
) -> rocblas_status {
    // SAFETY: the caller passes a place for a stream.
    with(handle, |_, state| unsafe { put(stream, state.stream) })
}

pub(super) unsafe extern "C" fn rocblas_set_workspace(
    handle: rocblas_handle,
    at: *mut c_void,
    bytes: usize,
) -> rocblas_status {
    with(handle, |_, state| {
        state.workspace.set(at, bytes);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn rocblas_set_device_memory_size(
    handle: rocblas_handle,
    bytes: usize,
) -> rocblas_status {
    with(handle, |gpu, state| state.workspace.reserve(gpu.hip, bytes))
}

pub(super) unsafe extern "C" fn rocblas_get_device_memory_size(
    handle: rocblas_handle,
    bytes: *mut usize,
) -> rocblas_status {
    // SAFETY: the caller passes a place for the number.
    with(handle, |_, state| unsafe { put(bytes, state.workspace.bytes()) })
}

pub(super) unsafe extern "C" fn rocblas_start_device_memory_size_query(
    handle: rocblas_handle,
) -> rocblas_status {
    with(handle, |_, state| match state.query {
        Some(_) => Err(rocblas_status::rocblas_status_size_query_mismatch),
        None => {
            state.query = Some(0);
            Ok(())
        }
    })
}

pub(super) unsafe extern "C" fn rocblas_stop_device_memory_size_query(
    handle: rocblas_handle,
    bytes: *mut usize,
) -> rocblas_status {
    with(handle, |_, state| {
        if bytes.is_null() {
            return Err(INVALID_POINTER);
        }
        let most = state.query.take().ok_or(rocblas_status::rocblas_status_size_query_mismatch)?;
        // SAFETY: the caller passes a place for the number.
        unsafe { put(bytes, most) }
    })
}

pub(super) unsafe extern "C" fn rocblas_is_device_memory_size_query(handle: rocblas_handle) -> bool {
    handle::find(handle).is_ok_and(|handle| lock(&handle).query.is_some())
}

pub(super) unsafe extern "C" fn rocblas_is_managing_device_memory(handle: rocblas_handle) -> bool {
    handle::find(handle).is_ok_and(|handle| !lock(&handle).workspace.foreign)
}

pub(super) unsafe extern "C" fn rocblas_is_user_managing_device_memory(handle: rocblas_handle) -> bool {
    handle::find(handle).is_ok_and(|handle| lock(&handle).workspace.foreign)
}

fn lock(handle: &handle::Handle) -> std::sync::MutexGuard<'_, State> {
    handle.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(super) unsafe extern "C" fn rocblas_pointer_to_mode<const SLOT: usize>(
    pointer: *mut c_void,
) -> rocblas_pointer_mode {
    let mut on_device = false;
    let _ = entry(|| {
        let mut attributes = std::mem::MaybeUninit::<hipPointerAttribute_t>::zeroed();
        // SAFETY: there is room for the attributes; HIP only looks up the address.
        check(unsafe { (hip::<SLOT>()?.hipPointerGetAttributes)(attributes.as_mut_ptr(), pointer) })?;
        // SAFETY: all fields are plain numbers and addresses, for which zeros are valid.
        let attributes = unsafe { attributes.assume_init() };
        on_device = attributes.type_ == hipMemoryType::hipMemoryTypeDevice;
        Ok(())
    });
    if on_device {
        rocblas_pointer_mode::rocblas_pointer_mode_device
    } else {
        rocblas_pointer_mode::rocblas_pointer_mode_host
    }
}
