//! Fills: `hipMemset` and similar functions.

use std::ffi::c_void;

use hip_sys::{hipDeviceptr_t, hipError_t, hipExtent, hipPitchedPtr, hipStream_t};

use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph;
use crate::graph::Capturing;
use crate::graph::op::Op;
use crate::memory::fill::Fill;
use crate::memory::rect::Rows;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const DEFAULT_STREAM: hipStream_t = std::ptr::null_mut();

fn fill(fill: Fill, stream: hipStream_t, wait: bool) -> Result {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    if wait {
        graph::permit_waiting(&stream)?;
    } else if let Some(capture) = Capturing::of(&stream)? {
        fill.check(runtime, Some(stream.device))?;
        return capture.add(Op::Fill(fill));
    }
    fill.start(runtime, &stream, wait)?;
    if wait { stream.report_launches() } else { Ok(()) }
}

fn plain(
    dst: *mut c_void,
    value: u32,
    element: usize,
    count: usize,
    stream: hipStream_t,
    wait: bool,
) -> Result {
    let width = count.checked_mul(element).ok_or(INVALID_VALUE)?;
    let rows = Rows::row(dst as usize, width);
    fill(Fill::new(rows, value, element), stream, wait)
}

/// `hipMemset`: in the order of the null stream; host memory, pinned or managed, is written on return, as
/// with all fills without a stream.
pub(crate) unsafe extern "C" fn hipMemset(dst: *mut c_void, value: i32, size: usize) -> hipError_t {
    entry(|| plain(dst, value as u32, 1, size, DEFAULT_STREAM, true))
}

/// `hipMemsetAsync`.
pub(crate) unsafe extern "C" fn hipMemsetAsync(
    dst: *mut c_void,
    value: i32,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| plain(dst, value as u32, 1, size, stream, false))
}

/// `hipMemsetD8`.
pub(crate) unsafe extern "C" fn hipMemsetD8(dst: hipDeviceptr_t, value: u8, count: usize) -> hipError_t {
    entry(|| plain(dst, value.into(), 1, count, DEFAULT_STREAM, true))
}

/// `hipMemsetD8Async`.
pub(crate) unsafe extern "C" fn hipMemsetD8Async(
    dst: hipDeviceptr_t,
    value: u8,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| plain(dst, value.into(), 1, count, stream, false))
}

/// `hipMemsetD16`.
pub(crate) unsafe extern "C" fn hipMemsetD16(dst: hipDeviceptr_t, value: u16, count: usize) -> hipError_t {
    entry(|| plain(dst, value.into(), 2, count, DEFAULT_STREAM, true))
}

/// `hipMemsetD16Async`.
pub(crate) unsafe extern "C" fn hipMemsetD16Async(
    dst: hipDeviceptr_t,
    value: u16,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| plain(dst, value.into(), 2, count, stream, false))
}

/// `hipMemsetD32`.
pub(crate) unsafe extern "C" fn hipMemsetD32(dst: hipDeviceptr_t, value: i32, count: usize) -> hipError_t {
    entry(|| plain(dst, value as u32, 4, count, DEFAULT_STREAM, true))
}

/// `hipMemsetD32Async`.
pub(crate) unsafe extern "C" fn hipMemsetD32Async(
    dst: hipDeviceptr_t,
    value: i32,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| plain(dst, value as u32, 4, count, stream, false))
}

/// `hipMemset3D`: rectangles of `ysize` rows each, at the pitch of the pointer.
pub(crate) unsafe extern "C" fn hipMemset3D(
    place: hipPitchedPtr,
    value: i32,
    extent: hipExtent,
) -> hipError_t {
    entry(|| fill(Fill::new(box_at(place, extent)?, value as u32, 1), DEFAULT_STREAM, true))
}

/// `hipMemset3DAsync`.
pub(crate) unsafe extern "C" fn hipMemset3DAsync(
    place: hipPitchedPtr,
    value: i32,
    extent: hipExtent,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| fill(Fill::new(box_at(place, extent)?, value as u32, 1), stream, false))
}

fn box_at(place: hipPitchedPtr, extent: hipExtent) -> Result<Rows> {
    Ok(Rows {
        start: place.ptr as usize,
        pitch: place.pitch,
        slice: place.pitch.checked_mul(place.ysize).ok_or(INVALID_VALUE)?,
        width: extent.width,
        height: extent.height,
        depth: extent.depth,
    })
}

/// `hipMemset2D`.
pub(crate) unsafe extern "C" fn hipMemset2D(
    dst: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
) -> hipError_t {
    let rows = Rows::rectangle(dst as usize, pitch, width, height);
    entry(|| fill(Fill::new(rows, value as u32, 1), DEFAULT_STREAM, true))
}

/// `hipMemset2DAsync`.
pub(crate) unsafe extern "C" fn hipMemset2DAsync(
    dst: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: hipStream_t,
) -> hipError_t {
    let rows = Rows::rectangle(dst as usize, pitch, width, height);
    entry(|| fill(Fill::new(rows, value as u32, 1), stream, false))
}

fn rectangle(
    (dst, pitch): (hipDeviceptr_t, usize),
    value: u32,
    element: usize,
    (width, height): (usize, usize),
    stream: hipStream_t,
    wait: bool,
) -> Result {
    let width = width.checked_mul(element).ok_or(INVALID_VALUE)?;
    fill(Fill::new(Rows::rectangle(dst as usize, pitch, width, height), value, element), stream, wait)
}

/// `hipMemsetD2D8`: the width is in elements.
pub(crate) unsafe extern "C" fn hipMemsetD2D8(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value.into(), 1, (width, height), DEFAULT_STREAM, true))
}

/// `hipMemsetD2D8Async`.
pub(crate) unsafe extern "C" fn hipMemsetD2D8Async(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value.into(), 1, (width, height), stream, false))
}

/// `hipMemsetD2D16`: the width is in elements.
pub(crate) unsafe extern "C" fn hipMemsetD2D16(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value.into(), 2, (width, height), DEFAULT_STREAM, true))
}

/// `hipMemsetD2D16Async`.
pub(crate) unsafe extern "C" fn hipMemsetD2D16Async(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value.into(), 2, (width, height), stream, false))
}

/// `hipMemsetD2D32`: the width is in elements.
pub(crate) unsafe extern "C" fn hipMemsetD2D32(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value, 4, (width, height), DEFAULT_STREAM, true))
}

/// `hipMemsetD2D32Async`.
pub(crate) unsafe extern "C" fn hipMemsetD2D32Async(
    dst: hipDeviceptr_t,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: hipStream_t,
) -> hipError_t {
    entry(|| rectangle((dst, pitch), value, 4, (width, height), stream, false))
}
