//! Events.

use std::ffi::c_uint;

use hip_sys::{hipError_t, hipEvent_t, hipStream_t};

use crate::call::{call, same};

/// Flags that CUDA has, too: blocking waits, no times, for other processes. The others are about caches that
/// AMD's devices have.
const FLAGS: c_uint = 0b111;

/// `hipEventElapsedTime`: the newer form does not take the older one's place in its contract, and is
/// preferred where there is one.
pub(crate) unsafe extern "C" fn hipEventElapsedTime(
    milliseconds: *mut f32,
    start: hipEvent_t,
    stop: hipEvent_t,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract, which is CUDA's.
    call(|cuda| unsafe {
        if cuda.has("cuEventElapsedTime_v2") {
            (cuda.cuEventElapsedTime_v2)(milliseconds, start.cast(), stop.cast())
        } else {
            (cuda.cuEventElapsedTime)(milliseconds, start.cast(), stop.cast())
        }
    })
}

same! {
    hipEventCreate(event: *mut hipEvent_t) => cuEventCreate(event.cast(), 0);
    hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) => cuEventCreate(event.cast(), flags & FLAGS);
    hipEventDestroy(event: hipEvent_t) => cuEventDestroy_v2(event.cast());
    hipEventRecord(event: hipEvent_t, stream: hipStream_t) => cuEventRecord(event.cast(), stream.cast());
    hipEventRecordWithFlags(event: hipEvent_t, stream: hipStream_t, flags: c_uint)
        => cuEventRecordWithFlags(event.cast(), stream.cast(), flags);
    hipEventSynchronize(event: hipEvent_t) => cuEventSynchronize(event.cast());
    hipEventQuery(event: hipEvent_t) => cuEventQuery(event.cast());
    hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint)
        => cuStreamWaitEvent(stream.cast(), event.cast(), flags);
}
