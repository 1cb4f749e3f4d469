//! Memory and events of other processes. Handles have 64 bytes for both vendors.

use std::ffi::{c_uint, c_void};

use cuda_sys::{CUipcEventHandle, CUipcMemHandle};
use hip_sys::{hipEvent_t, hipIpcEventHandle_t, hipIpcMemHandle_t};

use super::convert::{address, place};
use crate::call::same;

const _: () = assert!(size_of::<CUipcMemHandle>() == size_of::<hipIpcMemHandle_t>());
const _: () = assert!(size_of::<CUipcEventHandle>() == size_of::<hipIpcEventHandle_t>());

same! {
    hipIpcGetMemHandle(handle: *mut hipIpcMemHandle_t, pointer: *mut c_void)
        => cuIpcGetMemHandle(handle.cast(), address(pointer));
    hipIpcOpenMemHandle(pointer: *mut *mut c_void, handle: hipIpcMemHandle_t, flags: c_uint)
        => cuIpcOpenMemHandle_v2(place(pointer), CUipcMemHandle { reserved: handle.reserved }, flags);
    hipIpcCloseMemHandle(pointer: *mut c_void) => cuIpcCloseMemHandle(address(pointer));
    hipIpcGetEventHandle(handle: *mut hipIpcEventHandle_t, event: hipEvent_t)
        => cuIpcGetEventHandle(handle.cast(), event.cast());
    hipIpcOpenEventHandle(event: *mut hipEvent_t, handle: hipIpcEventHandle_t)
        => cuIpcOpenEventHandle(event.cast(), CUipcEventHandle { reserved: handle.reserved });
}
