//! Streams: creation, waits, queries, and host code in stream order.

use std::ffi::c_void;

use hip_sys::{hipError_t, hipHostFn_t, hipStream_t, hipStreamCallback_t};

use crate::api::synchronized::synchronized;
use crate::caller;
use crate::devices::cu_mask::CuMask;
use crate::devices::device::current_device;
use crate::devices::stream::{GREATEST_PRIORITY, LEAST_PRIORITY, PER_THREAD, Role, Stream, resolve, streams};
use crate::error::{Result, entry};
use crate::graph;
use crate::graph::Capturing;
use crate::graph::op::Op;
use crate::object::host_function::{HostFunction, UserData};
use crate::queue::progress::Report;
use crate::runtime::active;
use crate::unseen;

const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;
const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// # Safety
/// `out` is null or valid for writing.
pub(crate) unsafe fn create(
    out: *mut hipStream_t,
    flags: u32,
    priority: i32,
    mask: Option<CuMask>,
) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    if flags & !hip_sys::hipStreamNonBlocking != 0 {
        return Err(INVALID_VALUE);
    }
    let device = current_device(runtime)?;
    let stream = Stream::new(device, flags, priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY), Role::User);
    if let Some(mask) = mask {
        let _ = stream.cu_mask.set(mask);
    }
    let Some(handle) = streams(runtime).insert(stream.clone()) else {
        stream.close(runtime);
        return Err(hipError_t::hipErrorOutOfMemory);
    };
    let _ = stream.handle.set(handle);
    *out = handle as hipStream_t;
    Ok(())
}

/// `hipStreamCreate`.
pub(crate) unsafe extern "C" fn hipStreamCreate(stream: *mut hipStream_t) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(stream, hip_sys::hipStreamDefault, 0, None) })
}

/// `hipStreamCreateWithFlags`.
pub(crate) unsafe extern "C" fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: u32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(stream, flags, 0, None) })
}

/// `hipStreamCreateWithPriority`: a priority outside of the range is clamped.
pub(crate) unsafe extern "C" fn hipStreamCreateWithPriority(
    stream: *mut hipStream_t,
    flags: u32,
    priority: i32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a handle.
    entry(|| unsafe { create(stream, flags, priority, None) })
}

/// `hipDeviceGetStreamPriorityRange`.
pub(crate) unsafe extern "C" fn hipDeviceGetStreamPriorityRange(
    least: *mut i32,
    greatest: *mut i32,
) -> hipError_t {
    entry(|| {
        active()?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(least, LEAST_PRIORITY)?;
            caller::store_optional(greatest, GREATEST_PRIORITY)
        }
    })
}

/// `hipStreamDestroy`: waits for the stream's work, then ends it. Default streams cannot be destroyed.
pub(crate) unsafe extern "C" fn hipStreamDestroy(stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if stream as usize <= PER_THREAD {
            return Err(INVALID_HANDLE);
        }
        let stream =
            streams(runtime).remove(stream as usize).ok_or(hipError_t::hipErrorContextIsDestroyed)?;
        stream.close(runtime);
        synchronized(runtime);
        Ok(())
    })
}

/// `hipStreamSynchronize`.
pub(crate) unsafe extern "C" fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        graph::permit_stream_wait(&stream)?;
        let result = stream.synchronize(runtime);
        synchronized(runtime);
        result?;
        stream.report_launches()
    })
}

/// `hipStreamQuery`.
pub(crate) unsafe extern "C" fn hipStreamQuery(stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        graph::permit_stream_wait(&stream)?;
        stream.query(runtime)?;
        stream.look_at_launches()
    })
}

/// `hipDeviceSynchronize`: waits for all streams of the current device. A failed stream is reported once.
pub(crate) unsafe extern "C" fn hipDeviceSynchronize() -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let device = current_device(runtime)?;
        graph::permit_device_wait(device)?;
        let result = device.synchronize(runtime);
        synchronized(runtime);
        result
    })
}

/// `hipStreamGetFlags`.
pub(crate) unsafe extern "C" fn hipStreamGetFlags(stream: hipStream_t, flags: *mut u32) -> hipError_t {
    entry(|| {
        if stream.is_null() {
            return Err(INVALID_VALUE);
        }
        let stream = resolve(active()?, stream)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(flags) }? = stream.flags;
        Ok(())
    })
}

/// `hipStreamGetPriority`.
pub(crate) unsafe extern "C" fn hipStreamGetPriority(stream: hipStream_t, priority: *mut i32) -> hipError_t {
    entry(|| {
        let stream = resolve(active()?, stream)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(priority) }? = stream.priority;
        Ok(())
    })
}

/// `hipGetStreamDeviceId`: the ordinal of the stream's device; -1 if the handle is not a stream's.
pub(crate) unsafe extern "C" fn hipGetStreamDeviceId(stream: hipStream_t) -> i32 {
    active().and_then(|runtime| resolve(runtime, stream)).map_or(-1, |stream| stream.device.ordinal)
}

/// `hipStreamGetDevice`.
pub(crate) unsafe extern "C" fn hipStreamGetDevice(stream: hipStream_t, device: *mut i32) -> hipError_t {
    entry(|| {
        let stream = resolve(active()?, stream)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(device) }? = stream.device.ordinal;
        Ok(())
    })
}

/// `hipStreamAddCallback`: the callback runs even if the stream fails, and gets the error. It cannot be
/// captured.
pub(crate) unsafe extern "C" fn hipStreamAddCallback(
    stream: hipStream_t,
    callback: hipStreamCallback_t,
    data: *mut c_void,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let callback = callback.filter(|_| flags == 0).ok_or(INVALID_VALUE)?;
        graph::permit_stream_wait(&stream)?;
        let (data, handle) = (UserData(data), stream.handle() as usize);
        let launches = stream.unseen.launches();
        stream.run_on_host(runtime, true, move |turn| {
            let status = turn.err().or_else(|| launches.code()).unwrap_or(hipError_t::hipSuccess);
            // SAFETY: the program passed the function to be called with this data.
            unsafe { callback(handle as hipStream_t, status, data.get()) };
        })
    })
}

/// `hipLaunchHostFunc`: the function does not run if the stream has failed.
pub(crate) unsafe extern "C" fn hipLaunchHostFunc(
    stream: hipStream_t,
    function: hipHostFn_t,
    data: *mut c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let host = HostFunction { function: function.ok_or(INVALID_VALUE)?, data: UserData(data) };
        match Capturing::of(&stream)? {
            Some(capture) => capture.add(Op::Host(host)),
            None => host.enqueue(runtime, &stream),
        }
    })
}

/// Copies a text about a stream, NUL-terminated and cut to the buffer's size, and returns its full length
/// without the NUL.
///
/// # Safety
/// The buffer is null or has as many bytes.
unsafe fn copy_text(
    stream: hipStream_t,
    buffer: *mut std::ffi::c_char,
    size: usize,
    text: impl FnOnce(Report) -> String + std::panic::UnwindSafe,
) -> usize {
    let text = std::panic::catch_unwind(|| {
        let runtime = active()?;
        Ok::<_, hipError_t>(text(resolve(runtime, stream)?.report()))
    });
    let Ok(Ok(text)) = text else { return 0 };
    // SAFETY: as this function's contract.
    unsafe { give_text(&text, buffer, size) }
}

/// # Safety
/// The buffer is null or has as many bytes.
unsafe fn give_text(text: &str, buffer: *mut std::ffi::c_char, size: usize) -> usize {
    if !buffer.is_null() && size != 0 {
        let length = text.len().min(size - 1);
        // SAFETY: the caller's buffer has `size` bytes, of which at most that many are written.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
            buffer.add(length).write(0);
        }
    }
    text.len()
}

/// The extension `stream_fault_report`: the text of the stream's last failure; empty if the stream has not
/// failed.
pub(crate) unsafe extern "C" fn stream_fault_report(
    stream: hipStream_t,
    buffer: *mut std::ffi::c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { copy_text(stream, buffer, size, |report| report.text) }
}

/// The extension `stream_fault_json`: the fault as data.
pub(crate) unsafe extern "C" fn stream_fault_json(
    stream: hipStream_t,
    buffer: *mut std::ffi::c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { copy_text(stream, buffer, size, |report| report.json) }
}

/// The extension `launch_failure`: see [`unseen`](crate::unseen).
pub(crate) unsafe extern "C" fn launch_failure(buffer: *mut std::ffi::c_char, size: usize) -> usize {
    // SAFETY: the caller's promise.
    unseen::told().map_or(0, |text| unsafe { give_text(&text, buffer, size) })
}

/// The extension `stream_set_counters`.
pub(crate) unsafe extern "C" fn stream_set_counters(stream: hipStream_t, on: bool) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        resolve(runtime, stream)?.set_counters(runtime, on)
    })
}

/// The extension `stream_take_counters`.
pub(crate) unsafe extern "C" fn stream_take_counters(
    stream: hipStream_t,
    buffer: *mut std::ffi::c_char,
    size: usize,
) -> usize {
    let length = std::panic::catch_unwind(|| {
        let runtime = active()?;
        // SAFETY: the caller's promise.
        Ok::<_, hipError_t>(unsafe { resolve(runtime, stream)?.take_counters(buffer, size) })
    });
    length.ok().and_then(|length| length.ok()).unwrap_or(0)
}
