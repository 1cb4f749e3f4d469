//! Copies between arrays and memory, in rows or along one row. Offsets and widths are in bytes, as HIP says.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{
    hipArray_const_t, hipArray_t, hipDeviceptr_t, hipError_t, hipExtent, hipMemcpyKind, hipStream_t,
};

use crate::api::copy::{DEFAULT_STREAM, copy};
use crate::devices::stream::{PER_THREAD, resolve};
use crate::error::{Result, entry};
use crate::memory::copy::device_ends;
use crate::memory::rect::{Rect, Rows};
use crate::object::array::{Array, arrays};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_HANDLE: hipError_t = hipError_t::hipErrorInvalidHandle;

/// Where a copy of rows begins in an array.
#[derive(Clone, Copy)]
struct Corner {
    array: hipArray_const_t,
    x: usize,
    y: usize,
}

impl Corner {
    fn rows(self, width: usize, height: usize) -> Result<Rows> {
        let array = arrays(active()?).get(self.array).ok_or(INVALID_HANDLE)?;
        array.part([self.x, self.y, 0], hipExtent { width, height, depth: 1 })
    }
}

/// Rows of the program's memory.
fn memory_rows(start: usize, pitch: usize, width: usize, height: usize) -> Result<Rows> {
    if start == 0 {
        return Err(INVALID_VALUE);
    }
    if pitch == 0 || pitch < width {
        return Err(hipError_t::hipErrorInvalidPitchValue);
    }
    Ok(Rows::rectangle(start, pitch, width, height))
}

/// What HIP checks before the ends of a copy.
fn check(kind: hipMemcpyKind, stream: hipStream_t) -> Result {
    device_ends(kind)?;
    resolve(active()?, stream).map(drop)
}

/// `hipMemcpy2DToArrayAsync`, or `hipMemcpy2DToArray` with `wait`.
fn to_array(
    dst: Corner,
    (src, pitch): (usize, usize),
    (width, height): (usize, usize),
    kind: hipMemcpyKind,
    stream: hipStream_t,
    wait: bool,
) -> Result {
    check(kind, stream)?;
    let src = memory_rows(src, pitch, width, height)?;
    copy(Rect { dst: dst.rows(width, height)?, src }, kind, stream, wait)
}

/// `hipMemcpy2DFromArrayAsync`, or `hipMemcpy2DFromArray` with `wait`.
fn from_array(
    (dst, pitch): (usize, usize),
    src: Corner,
    (width, height): (usize, usize),
    kind: hipMemcpyKind,
    stream: hipStream_t,
    wait: bool,
) -> Result {
    check(kind, stream)?;
    let src = src.rows(width, height)?;
    copy(Rect { dst: memory_rows(dst, pitch, width, height)?, src }, kind, stream, wait)
}

/// `hipMemcpy2DToArray`.
pub(crate) unsafe extern "C" fn hipMemcpy2DToArray(
    dst: hipArray_t,
    x: usize,
    y: usize,
    src: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let corner = Corner { array: dst, x, y };
    entry(|| to_array(corner, (src as usize, pitch), (width, height), kind, DEFAULT_STREAM, true))
}

/// `hipMemcpy2DToArrayAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy2DToArrayAsync(
    dst: hipArray_t,
    x: usize,
    y: usize,
    src: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    let corner = Corner { array: dst, x, y };
    entry(|| to_array(corner, (src as usize, pitch), (width, height), kind, stream, false))
}

/// `hipMemcpy2DFromArray`.
pub(crate) unsafe extern "C" fn hipMemcpy2DFromArray(
    dst: *mut c_void,
    pitch: usize,
    src: hipArray_const_t,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let corner = Corner { array: src, x, y };
    entry(|| from_array((dst as usize, pitch), corner, (width, height), kind, DEFAULT_STREAM, true))
}

/// `hipMemcpy2DFromArrayAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy2DFromArrayAsync(
    dst: *mut c_void,
    pitch: usize,
    src: hipArray_const_t,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    let corner = Corner { array: src, x, y };
    entry(|| from_array((dst as usize, pitch), corner, (width, height), kind, stream, false))
}

/// `hipMemcpy2DArrayToArray`.
pub(crate) unsafe extern "C" fn hipMemcpy2DArrayToArray(
    dst: hipArray_t,
    dst_x: usize,
    dst_y: usize,
    src: hipArray_const_t,
    src_x: usize,
    src_y: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    entry(|| {
        check(kind, DEFAULT_STREAM)?;
        let src = Corner { array: src, x: src_x, y: src_y }.rows(width, height)?;
        let dst = Corner { array: dst, x: dst_x, y: dst_y }.rows(width, height)?;
        // Both ends are a device's, whatever the program says.
        copy(Rect { dst, src }, hipMemcpyKind::hipMemcpyDeviceToDevice, DEFAULT_STREAM, true)
    })
}

/// Parts of an array that follow each other: some bytes from a place on, through the ends of rows.
fn run(array: &Array, x: usize, y: usize, size: usize) -> Result<Vec<Rows>> {
    let row = array.row_bytes();
    let part = |x: usize, y: usize, width: usize, height: usize| {
        array.part([x, y, 0], hipExtent { width, height, depth: 1 })
    };
    if x >= row {
        return Err(INVALID_VALUE);
    }
    let first = size.min(row - x);
    let (whole, last) = ((size - first) / row, (size - first) % row);
    let after = y.checked_add(1).and_then(|next| next.checked_add(whole)).ok_or(INVALID_VALUE)?;
    let parts = [(x, y, first, 1), (0, y + 1, row, whole), (0, after, last, 1)];
    let parts = parts.into_iter().filter(|(_, _, width, height)| *width != 0 && *height != 0);
    parts.map(|(x, y, width, height)| part(x, y, width, height)).collect()
}

/// Copies between parts of an array and memory without gaps. `rect` gets a part and the memory for it.
fn copy_run(
    corner: Corner,
    memory: usize,
    size: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
    rect: impl Fn(Rows, Rows) -> Rect,
) -> Result {
    device_ends(kind)?;
    let array = arrays(active()?).get(corner.array).ok_or(INVALID_VALUE)?;
    if memory == 0 {
        return Err(INVALID_VALUE);
    }
    let mut at = memory;
    for part in run(&array, corner.x, corner.y, size)? {
        let (width, height) = (part.width, part.height);
        copy(rect(part, Rows::rectangle(at, width, width, height)), kind, stream, true)?;
        at += part.bytes();
    }
    Ok(())
}

/// `hipMemcpyToArray`: bytes without gaps go to the rest of a row and the rows behind it, as in CUDA.
pub(crate) unsafe extern "C" fn hipMemcpyToArray(
    dst: hipArray_t,
    x: usize,
    y: usize,
    src: *const c_void,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let corner = Corner { array: dst, x, y };
    entry(|| copy_run(corner, src as usize, size, kind, DEFAULT_STREAM, |dst, src| Rect { dst, src }))
}

/// `hipMemcpyFromArray`: the opposite of [`hipMemcpyToArray`].
pub(crate) unsafe extern "C" fn hipMemcpyFromArray(
    dst: *mut c_void,
    src: hipArray_const_t,
    x: usize,
    y: usize,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let corner = Corner { array: src, x, y };
    entry(|| copy_run(corner, dst as usize, size, kind, DEFAULT_STREAM, |src, dst| Rect { dst, src }))
}

/// `hipMemcpyFromArray_spt`: [`hipMemcpyFromArray`] on the thread's stream.
pub(crate) unsafe extern "C" fn hipMemcpyFromArray_spt(
    dst: *mut c_void,
    src: hipArray_const_t,
    x: usize,
    y: usize,
    size: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    let (corner, stream) = (Corner { array: src, x, y }, PER_THREAD as hipStream_t);
    entry(|| copy_run(corner, dst as usize, size, kind, stream, |src, dst| Rect { dst, src }))
}

/// Bytes of the first row of an array.
fn first_row(array: hipArray_t, offset: usize, size: usize) -> Result<Rows> {
    let array: Arc<Array> = arrays(active()?).get(array).ok_or(INVALID_VALUE)?;
    array.part([offset, 0, 0], hipExtent { width: size, height: 1, depth: 1 })
}

fn along_row(
    dst: Result<Rows>,
    src: Result<Rows>,
    kind: hipMemcpyKind,
    stream: hipStream_t,
    wait: bool,
) -> Result {
    copy(Rect { dst: dst?, src: src? }, kind, stream, wait)
}

/// `hipMemcpyHtoA`.
pub(crate) unsafe extern "C" fn hipMemcpyHtoA(
    dst: hipArray_t,
    offset: usize,
    src: *const c_void,
    size: usize,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyHostToDevice;
    let src = Ok(Rows::row(src as usize, size));
    entry(|| along_row(first_row(dst, offset, size), src, kind, DEFAULT_STREAM, true))
}

/// `hipMemcpyHtoAAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyHtoAAsync(
    dst: hipArray_t,
    offset: usize,
    src: *const c_void,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyHostToDevice;
    let src = Ok(Rows::row(src as usize, size));
    entry(|| along_row(first_row(dst, offset, size), src, kind, stream, false))
}

/// `hipMemcpyAtoH`.
pub(crate) unsafe extern "C" fn hipMemcpyAtoH(
    dst: *mut c_void,
    src: hipArray_t,
    offset: usize,
    size: usize,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    let dst = Ok(Rows::row(dst as usize, size));
    entry(|| along_row(dst, first_row(src, offset, size), kind, DEFAULT_STREAM, true))
}

/// `hipMemcpyAtoHAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyAtoHAsync(
    dst: *mut c_void,
    src: hipArray_t,
    offset: usize,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    let dst = Ok(Rows::row(dst as usize, size));
    entry(|| along_row(dst, first_row(src, offset, size), kind, stream, false))
}

/// `hipMemcpyDtoA`.
pub(crate) unsafe extern "C" fn hipMemcpyDtoA(
    dst: hipArray_t,
    offset: usize,
    src: hipDeviceptr_t,
    size: usize,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    let src = Ok(Rows::row(src as usize, size));
    entry(|| along_row(first_row(dst, offset, size), src, kind, DEFAULT_STREAM, true))
}

/// `hipMemcpyAtoD`.
pub(crate) unsafe extern "C" fn hipMemcpyAtoD(
    dst: hipDeviceptr_t,
    src: hipArray_t,
    offset: usize,
    size: usize,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    let dst = Ok(Rows::row(dst as usize, size));
    entry(|| along_row(dst, first_row(src, offset, size), kind, DEFAULT_STREAM, true))
}

/// `hipMemcpyAtoA`.
pub(crate) unsafe extern "C" fn hipMemcpyAtoA(
    dst: hipArray_t,
    dst_offset: usize,
    src: hipArray_t,
    src_offset: usize,
    size: usize,
) -> hipError_t {
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    entry(|| {
        let (dst, src) = (first_row(dst, dst_offset, size), first_row(src, src_offset, size));
        along_row(dst, src, kind, DEFAULT_STREAM, true)
    })
}
