//! Waits for values in memory and writes of values, in stream order.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipError_t, hipStream_t, hipStreamBatchMemOpParams};

use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph::Capturing;
use crate::graph::op::Op;
use crate::memory::words::MemoryOps;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

fn start(stream: hipStream_t, ops: impl FnOnce() -> Result<Arc<MemoryOps>>) -> Result {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    let ops = ops()?;
    ops.check(runtime, Some(stream.device))?;
    match Capturing::of(&stream)? {
        Some(capture) => capture.add(Op::Memory(ops)),
        None => ops.enqueue(runtime, &stream),
    }
}

fn start_wait(
    stream: hipStream_t,
    pointer: *mut c_void,
    is_long: bool,
    (kind, value, mask): (u32, u64, u64),
) -> Result {
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    start(stream, || MemoryOps::wait(pointer as usize, is_long, (kind, value, mask)))
}

fn start_write(stream: hipStream_t, pointer: *mut c_void, is_long: bool, value: u64) -> Result {
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    start(stream, || Ok(MemoryOps::write(pointer as usize, is_long, value)))
}

/// `hipStreamBatchMemOp`: at most 256 operations, done one after the other. Flushes and barriers give
/// `hipErrorInvalidValue`, as in AMD's library.
pub(crate) unsafe extern "C" fn hipStreamBatchMemOp(
    stream: hipStream_t,
    count: u32,
    list: *mut hipStreamBatchMemOpParams,
    flags: u32,
) -> hipError_t {
    entry(|| {
        // AMD's library has a different code for an invalid stream here than elsewhere.
        resolve(active()?, stream).map_err(|_| INVALID_VALUE)?;
        // SAFETY: the caller's list has as many entries.
        start(stream, || unsafe { MemoryOps::of(list, count, flags) })
    })
}

/// `hipStreamWaitValue32`: later work on the stream waits until the masked word compares with the value as
/// the flags say.
pub(crate) unsafe extern "C" fn hipStreamWaitValue32(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u32,
    flags: u32,
    mask: u32,
) -> hipError_t {
    entry(|| start_wait(stream, pointer, false, (flags, value.into(), mask.into())))
}

/// `hipStreamWaitValue64`.
pub(crate) unsafe extern "C" fn hipStreamWaitValue64(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u64,
    flags: u32,
    mask: u64,
) -> hipError_t {
    entry(|| start_wait(stream, pointer, true, (flags, value, mask)))
}

/// `hipStreamWriteValue32`: once everything before it on the stream has completed. The flags have no effect,
/// as with AMD's runtime.
pub(crate) unsafe extern "C" fn hipStreamWriteValue32(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u32,
    _flags: u32,
) -> hipError_t {
    entry(|| start_write(stream, pointer, false, value.into()))
}

/// `hipStreamWriteValue64`.
pub(crate) unsafe extern "C" fn hipStreamWriteValue64(
    stream: hipStream_t,
    pointer: *mut c_void,
    value: u64,
    _flags: u32,
) -> hipError_t {
    entry(|| start_write(stream, pointer, true, value))
}
