//! Copies described by a structure, `hipMemcpyParam2D`, `hipMemcpy3D` and similar functions: between linear
//! memory and arrays.

use std::sync::Arc;

use hip_sys::{
    HIP_MEMCPY3D, hip_Memcpy2D, hipArray_t, hipError_t, hipExtent, hipMemcpy3DParms, hipMemcpy3DPeerParms,
    hipMemcpyKind, hipMemoryType, hipPitchedPtr, hipPos, hipStream_t,
};

use crate::api::copy::{DEFAULT_STREAM, copy};
use crate::caller;
use crate::devices::device::by_ordinal;
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::memory::copy::Transfer;
use crate::memory::rect::{Rect, Rows};
use crate::object::array::{Array, arrays};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// One end of a copy.
enum End {
    Memory(usize),
    Array(Arc<Array>),
}

impl End {
    fn array(handle: hipArray_t) -> Result<Self> {
        arrays(active()?).get(handle).map(Self::Array).ok_or(INVALID_VALUE)
    }

    fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Memory(_) => None,
            Self::Array(array) => Some(array),
        }
    }

    /// A box that starts at a position. Only memory has the pitch and the rows of a rectangle that the
    /// program gave; an array has its own.
    fn part(&self, pitch: usize, rows: usize, position: [usize; 3], extent: hipExtent) -> Result<Rows> {
        match self {
            Self::Memory(base) => box_at(*base, pitch, rows, position, extent),
            Self::Array(array) => array.part(position, extent),
        }
    }
}

/// An end, and whether it is a device's.
fn end(kind: hipMemoryType, host: usize, device: usize, array: hipArray_t) -> Result<(End, bool)> {
    match kind {
        hipMemoryType::hipMemoryTypeHost => Ok((End::Memory(host), false)),
        hipMemoryType::hipMemoryTypeDevice
        | hipMemoryType::hipMemoryTypeUnified
        | hipMemoryType::hipMemoryTypeManaged => Ok((End::Memory(device), true)),
        hipMemoryType::hipMemoryTypeArray => Ok((End::array(array)?, true)),
        _ => Err(INVALID_VALUE),
    }
}

fn kind(src_device: bool, dst_device: bool) -> hipMemcpyKind {
    match (src_device, dst_device) {
        (false, false) => hipMemcpyKind::hipMemcpyHostToHost,
        (false, true) => hipMemcpyKind::hipMemcpyHostToDevice,
        (true, false) => hipMemcpyKind::hipMemcpyDeviceToHost,
        (true, true) => hipMemcpyKind::hipMemcpyDeviceToDevice,
    }
}

/// A box that starts at a position within pitched memory; `rows` of it are one rectangle.
pub(crate) fn box_at(
    base: usize,
    pitch: usize,
    rows: usize,
    position: [usize; 3],
    extent: hipExtent,
) -> Result<Rows> {
    let place = || {
        let slice = pitch.checked_mul(rows)?;
        let [x, y, z] = position;
        let start = base.checked_add(z.checked_mul(slice)?)?.checked_add(y.checked_mul(pitch)?)?;
        Some(Rows {
            start: start.checked_add(x)?,
            pitch,
            slice,
            width: extent.width,
            height: extent.height,
            depth: extent.depth,
        })
    };
    let found = place().ok_or(INVALID_VALUE)?;
    // Overlapping rows or rectangles are an error in the structure. AMD's runtime returns
    // hipErrorInvalidPitchValue only for the caller's statements about whole rows.
    let fits =
        |start: usize, length: usize, room: usize| start.checked_add(length).is_some_and(|end| end <= room);
    let in_row = (extent.height <= 1 && extent.depth <= 1) || fits(position[0], extent.width, pitch);
    let in_rectangle = extent.depth <= 1 || fits(position[1], extent.height, rows);
    if in_row && in_rectangle { Ok(found) } else { Err(INVALID_VALUE) }
}

/// An empty copy, whose ends are not checked, as with AMD's runtime.
fn copy_nothing(stream: hipStream_t) -> Result {
    resolve(active()?, stream).map(drop)
}

/// # Safety
/// `parameters` is null or valid for reading.
unsafe fn copy_param_2d(parameters: *const hip_Memcpy2D, stream: hipStream_t, wait: bool) -> Result {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    if p.WidthInBytes == 0 || p.Height == 0 {
        return copy_nothing(stream);
    }
    let (dst, dst_device) = end(p.dstMemoryType, p.dstHost as usize, p.dstDevice as usize, p.dstArray)?;
    let (src, src_device) = end(p.srcMemoryType, p.srcHost as usize, p.srcDevice as usize, p.srcArray)?;
    let extent = hipExtent { width: p.WidthInBytes, height: p.Height, depth: 1 };
    let rows = |end: &End, x: usize, y: usize, pitch: usize| {
        let base = match end {
            End::Memory(base) => *base,
            End::Array(array) => return array.part([x, y, 0], extent),
        };
        // A pitch of 0 means rows without gaps.
        let pitch = if pitch == 0 { extent.width } else { pitch };
        if pitch < extent.width {
            return Err(INVALID_VALUE);
        }
        let start = y.checked_mul(pitch).and_then(|rows| base.checked_add(rows)?.checked_add(x));
        Ok(Rows::rectangle(start.ok_or(INVALID_VALUE)?, pitch, extent.width, extent.height))
    };
    let rect = Rect {
        dst: rows(&dst, p.dstXInBytes, p.dstY, p.dstPitch)?,
        src: rows(&src, p.srcXInBytes, p.srcY, p.srcPitch)?,
    };
    copy(rect, kind(src_device, dst_device), stream, wait)
}

/// `hipMemcpyParam2D`: lengths are in bytes, also in arrays, whose pitches are ignored.
pub(crate) unsafe extern "C" fn hipMemcpyParam2D(parameters: *const hip_Memcpy2D) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_2d(parameters, DEFAULT_STREAM, true) })
}

/// `hipMemcpyParam2DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyParam2DAsync(
    parameters: *const hip_Memcpy2D,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_2d(parameters, stream, false) })
}

/// `hipDrvMemcpy2DUnaligned`.
pub(crate) unsafe extern "C" fn hipDrvMemcpy2DUnaligned(parameters: *const hip_Memcpy2D) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_2d(parameters, DEFAULT_STREAM, true) })
}

/// An end of a copy as HIP's runtime describes it: an array or pitched memory, and a position.
#[derive(Clone, Copy)]
struct Pitched {
    array: hipArray_t,
    memory: hipPitchedPtr,
    position: hipPos,
}

impl Pitched {
    fn end(&self) -> Result<End> {
        match (self.array.is_null(), self.memory.ptr.is_null()) {
            (true, false) => Ok(End::Memory(self.memory.ptr as usize)),
            (false, true) => End::array(self.array),
            // Exactly one of the two must be given.
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The copy between two ends. Positions in arrays are in elements, and so is the extent if there is an array;
/// everything else is in bytes.
fn rect_3d(dst: Pitched, src: Pitched, extent: hipExtent) -> Result<Rect> {
    let ends = [dst.end()?, src.end()?];
    let [dst_array, src_array] = ends.each_ref().map(|end| end.as_array());
    let bytes = |array: Option<&Array>| array.map_or(1, |array| array.element.bytes());
    if dst_array.is_some() && src_array.is_some() && bytes(dst_array) != bytes(src_array) {
        return Err(INVALID_VALUE);
    }
    if [dst, src].iter().any(|end| end.memory.pitch < end.memory.xsize) {
        return Err(hipError_t::hipErrorInvalidPitchValue);
    }
    let scaled = |length: usize, bytes: usize| length.checked_mul(bytes).ok_or(INVALID_VALUE);
    let mut extent = hipExtent { width: scaled(extent.width, bytes(dst_array.or(src_array)))?, ..extent };
    // The program counts the layers of a list of rows by its third coordinate. To us they are rows, and so
    // they are at the other end.
    if [dst_array, src_array].into_iter().flatten().any(Array::is_layered_1d) {
        extent = hipExtent { height: extent.depth, depth: extent.height, ..extent };
    }
    let has_array = dst_array.or(src_array).is_some();
    let part = |end: &End, given: Pitched| {
        let hipPos { x, y, z } = given.position;
        let array = end.as_array();
        let x = scaled(x, bytes(array))?;
        let position = if array.is_some_and(Array::is_layered_1d) { [x, z, y] } else { [x, y, z] };
        // In copies with arrays, 0 means rows and rectangles without gaps.
        let or = |length: usize, tight: usize| if has_array && length == 0 { tight } else { length };
        let (pitch, rows) = (or(given.memory.pitch, extent.width), or(given.memory.ysize, extent.height));
        end.part(pitch, rows, position, extent)
    };
    Ok(Rect { dst: part(&ends[0], dst)?, src: part(&ends[1], src)? })
}

/// The copy that a structure describes.
///
/// # Safety
/// `parameters` is null or valid for reading.
pub(crate) unsafe fn transfer_3d(parameters: *const hipMemcpy3DParms) -> Result<Transfer> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    let rect = rect_3d(
        Pitched { array: p.dstArray, memory: p.dstPtr, position: p.dstPos },
        Pitched { array: p.srcArray, memory: p.srcPtr, position: p.srcPos },
        p.extent,
    )?;
    Ok(Transfer { rect, kind: p.kind })
}

/// # Safety
/// `parameters` is null or valid for reading.
unsafe fn copy_3d(parameters: *const hipMemcpy3DParms, stream: hipStream_t, wait: bool) -> Result {
    // SAFETY: as this function's contract.
    let Transfer { rect, kind } = unsafe { transfer_3d(parameters) }?;
    copy(rect, kind, stream, wait)
}

/// `hipMemcpy3D`: positions and the extent's width are in bytes, or in elements of arrays.
pub(crate) unsafe extern "C" fn hipMemcpy3D(parameters: *const hipMemcpy3DParms) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_3d(parameters, DEFAULT_STREAM, true) })
}

/// `hipMemcpy3DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy3DAsync(
    parameters: *const hipMemcpy3DParms,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_3d(parameters, stream, false) })
}

/// # Safety
/// `parameters` is null or valid for reading.
unsafe fn copy_3d_peer(parameters: *const hipMemcpy3DPeerParms, stream: hipStream_t, wait: bool) -> Result {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    by_ordinal(p.dstDevice).and(by_ordinal(p.srcDevice))?;
    let rect = rect_3d(
        Pitched { array: p.dstArray, memory: p.dstPtr, position: p.dstPos },
        Pitched { array: p.srcArray, memory: p.srcPtr, position: p.srcPos },
        p.extent,
    )?;
    copy(rect, hipMemcpyKind::hipMemcpyDeviceToDevice, stream, wait)
}

/// `hipMemcpy3DPeer`: works with and without peer access.
pub(crate) unsafe extern "C" fn hipMemcpy3DPeer(parameters: *mut hipMemcpy3DPeerParms) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_3d_peer(parameters, DEFAULT_STREAM, true) })
}

/// `hipMemcpy3DPeerAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy3DPeerAsync(
    parameters: *mut hipMemcpy3DPeerParms,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_3d_peer(parameters, stream, false) })
}

/// The copy that a structure describes.
///
/// # Safety
/// `parameters` is null or valid for reading.
pub(crate) unsafe fn transfer_param_3d(parameters: *const HIP_MEMCPY3D) -> Result<Transfer> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    if p.srcLOD != 0 || p.dstLOD != 0 {
        return Err(INVALID_VALUE);
    }
    let (dst, dst_device) = end(p.dstMemoryType, p.dstHost as usize, p.dstDevice as usize, p.dstArray)?;
    let (src, src_device) = end(p.srcMemoryType, p.srcHost as usize, p.srcDevice as usize, p.srcArray)?;
    let extent = hipExtent { width: p.WidthInBytes, height: p.Height, depth: p.Depth };
    // A pitch or height of 0 means rows or rectangles without gaps.
    let or = |value: usize, otherwise: usize| if value == 0 { otherwise } else { value };
    let is_narrow =
        |end: &End, pitch: usize| end.as_array().is_none() && pitch != 0 && pitch < p.WidthInBytes;
    if is_narrow(&dst, p.dstPitch) || is_narrow(&src, p.srcPitch) {
        return Err(INVALID_VALUE);
    }
    let rect = Rect {
        dst: dst.part(
            or(p.dstPitch, p.WidthInBytes),
            or(p.dstHeight, p.Height),
            [p.dstXInBytes, p.dstY, p.dstZ],
            extent,
        )?,
        src: src.part(
            or(p.srcPitch, p.WidthInBytes),
            or(p.srcHeight, p.Height),
            [p.srcXInBytes, p.srcY, p.srcZ],
            extent,
        )?,
    };
    Ok(Transfer { rect, kind: kind(src_device, dst_device) })
}

/// # Safety
/// `parameters` is null or valid for reading.
unsafe fn copy_param_3d(parameters: *const HIP_MEMCPY3D, stream: hipStream_t, wait: bool) -> Result {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    if p.WidthInBytes == 0 || p.Height == 0 || p.Depth == 0 {
        return copy_nothing(stream);
    }
    // SAFETY: as this function's contract.
    let Transfer { rect, kind } = unsafe { transfer_param_3d(parameters) }?;
    copy(rect, kind, stream, wait)
}

/// `hipDrvMemcpy3D`: lengths are in bytes, also in arrays, whose pitches and heights are ignored.
pub(crate) unsafe extern "C" fn hipDrvMemcpy3D(parameters: *const HIP_MEMCPY3D) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_3d(parameters, DEFAULT_STREAM, true) })
}

/// `hipDrvMemcpy3DAsync`.
pub(crate) unsafe extern "C" fn hipDrvMemcpy3DAsync(
    parameters: *const HIP_MEMCPY3D,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_3d(parameters, stream, false) })
}
