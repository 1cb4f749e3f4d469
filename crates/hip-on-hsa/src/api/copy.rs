//! Copies between two places, and of rectangles.

use std::ffi::c_void;

use hip_sys::{hipDeviceptr_t, hipError_t, hipMemcpyKind, hipStream_t};

use crate::devices::device::by_ordinal;
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph;
use crate::graph::Capturing;
use crate::graph::op::Op;
use crate::memory::copy::Transfer;
use crate::memory::rect::Rect;
use crate::runtime::active;

/// Copies in stream order; with `wait`, the copy has completed on return. As with AMD's runtime, copies
/// within a device are not waited for.
pub(crate) fn copy(rect: Rect, kind: hipMemcpyKind, stream: hipStream_t, wait: bool) -> Result {
    let _span = shown(rect, kind, stream);
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    let transfer = Transfer { rect, kind };
    if wait {
        graph::permit_waiting(&stream)?;
    } else if let Some(capture) = Capturing::of(&stream)? {
        transfer.check(runtime, Some(stream.device))?;
        return capture.add(Op::Copy(transfer));
    }
    if transfer.start(runtime, &stream, wait)? { stream.report_launches() } else { Ok(()) }
}

/// The requested copy, for the timeline. It may be done in pieces, by the host or by a copy engine.
fn shown(rect: Rect, kind: hipMemcpyKind, stream: hipStream_t) -> timeline::Span {
    let name = match kind {
        hipMemcpyKind::hipMemcpyHostToHost => "host to host",
        hipMemcpyKind::hipMemcpyHostToDevice => "host to device",
        hipMemcpyKind::hipMemcpyDeviceToHost => "device to host",
        hipMemcpyKind::hipMemcpyDeviceToDevice | hipMemcpyKind::hipMemcpyDeviceToDeviceNoCU => {
            "device to device"
        }
        _ => "by address",
    };
    let mut span = timeline::Span::enter("transfer", name);
    if span.is_on() {
        span.number("bytes", rect.bytes() as u64);
        span.text("stream", format_args!("{stream:?}"));
    }
    span
}

pub(crate) const DEFAULT_STREAM: hipStream_t = std::ptr::null_mut();

fn row(dst: *mut c_void, src: *const c_void, size: usize) -> Rect {
    Rect::row(dst as usize, src as usize, size)
}

/// `hipMemcpy`: on the default stream; a copy from or to the host has completed on return.
pub(crate) unsafe extern "C" fn hipMemcpy(
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), kind, DEFAULT_STREAM, true))
}

/// `hipMemcpyWithStream`: a copy from or to the host has completed on return.
pub(crate) unsafe extern "C" fn hipMemcpyWithStream(
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), kind, stream, true))
}

/// `hipMemcpyAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyAsync(
    dst: *mut c_void,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), kind, stream, false))
}

/// `hipMemcpyHtoD`.
pub(crate) unsafe extern "C" fn hipMemcpyHtoD(
    dst: hipDeviceptr_t,
    src: *const c_void,
    size: usize,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyHostToDevice, DEFAULT_STREAM, true))
}

/// `hipMemcpyHtoDAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyHtoDAsync(
    dst: hipDeviceptr_t,
    src: *const c_void,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyHostToDevice, stream, false))
}

/// `hipMemcpyDtoH`.
pub(crate) unsafe extern "C" fn hipMemcpyDtoH(
    dst: *mut c_void,
    src: hipDeviceptr_t,
    size: usize,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToHost, DEFAULT_STREAM, true))
}

/// `hipMemcpyDtoHAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyDtoHAsync(
    dst: *mut c_void,
    src: hipDeviceptr_t,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToHost, stream, false))
}

/// `hipMemcpyDtoD`.
pub(crate) unsafe extern "C" fn hipMemcpyDtoD(
    dst: hipDeviceptr_t,
    src: hipDeviceptr_t,
    size: usize,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToDevice, DEFAULT_STREAM, true))
}

/// `hipMemcpyDtoDAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyDtoDAsync(
    dst: hipDeviceptr_t,
    src: hipDeviceptr_t,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToDevice, stream, false))
}

/// `hipMemcpyPeer`: works with and without peer access.
pub(crate) unsafe extern "C" fn hipMemcpyPeer(
    dst: *mut c_void,
    dst_device: i32,
    src: *const c_void,
    src_device: i32,
    size: usize,
) -> hipError_t {
    entry(|| {
        by_ordinal(dst_device).and(by_ordinal(src_device))?;
        copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToDevice, DEFAULT_STREAM, true)
    })
}

/// `hipMemcpyPeerAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyPeerAsync(
    dst: *mut c_void,
    dst_device: i32,
    src: *const c_void,
    src_device: i32,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| {
        by_ordinal(dst_device).and(by_ordinal(src_device))?;
        copy(row(dst, src, size), hipMemcpyKind::hipMemcpyDeviceToDevice, stream, false)
    })
}

/// `hipMemcpy2D`.
pub(crate) unsafe extern "C" fn hipMemcpy2D(
    dst: *mut c_void,
    dst_pitch: usize,
    src: *const c_void,
    src_pitch: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let rect = Rect::rectangle((dst as usize, dst_pitch), (src as usize, src_pitch), width, height);
    entry(|| copy(rect, kind, DEFAULT_STREAM, true))
}

/// `hipMemcpy2DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy2DAsync(
    dst: *mut c_void,
    dst_pitch: usize,
    src: *const c_void,
    src_pitch: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    let rect = Rect::rectangle((dst as usize, dst_pitch), (src as usize, src_pitch), width, height);
    entry(|| copy(rect, kind, stream, false))
}
