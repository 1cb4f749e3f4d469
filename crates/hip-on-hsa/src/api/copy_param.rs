//! Copies of linear memory described by a structure: `hipMemcpyParam2D`, `hipMemcpy3D` and similar functions.

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
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Base address of an end, and whether it is a device's.
fn base(kind: hipMemoryType, host: usize, device: usize, array: hipArray_t) -> Result<(usize, bool)> {
    match kind {
        hipMemoryType::hipMemoryTypeHost => Ok((host, false)),
        hipMemoryType::hipMemoryTypeDevice => Ok((device, true)),
        hipMemoryType::hipMemoryTypeUnified | hipMemoryType::hipMemoryTypeManaged => Ok((device, true)),
        hipMemoryType::hipMemoryTypeArray if array.is_null() => Err(INVALID_VALUE),
        hipMemoryType::hipMemoryTypeArray => Err(hipError_t::hipErrorNotSupported),
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
    let (dst, dst_device) = base(p.dstMemoryType, p.dstHost as usize, p.dstDevice as usize, p.dstArray)?;
    let (src, src_device) = base(p.srcMemoryType, p.srcHost as usize, p.srcDevice as usize, p.srcArray)?;
    let start = |base: usize, x: usize, y: usize, pitch: usize| {
        y.checked_mul(pitch).and_then(|rows| base.checked_add(rows)?.checked_add(x)).ok_or(INVALID_VALUE)
    };
    // A pitch of 0 means rows without gaps.
    let dst_pitch = if p.dstPitch == 0 { p.WidthInBytes } else { p.dstPitch };
    let src_pitch = if p.srcPitch == 0 { p.WidthInBytes } else { p.srcPitch };
    if dst_pitch.min(src_pitch) < p.WidthInBytes {
        return Err(INVALID_VALUE);
    }
    let rect = Rect::rectangle(
        (start(dst, p.dstXInBytes, p.dstY, dst_pitch)?, dst_pitch),
        (start(src, p.srcXInBytes, p.srcY, src_pitch)?, src_pitch),
        p.WidthInBytes,
        p.Height,
    );
    copy(rect, kind(src_device, dst_device), stream, wait)
}

/// `hipMemcpyParam2D`: everything but arrays.
pub(crate) unsafe extern "C" fn hipMemcpyParam2D(parameters: *const hip_Memcpy2D) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_2d(parameters, DEFAULT_STREAM, true) })
}

/// `hipMemcpyParam2DAsync`: everything but arrays.
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

/// An end of a copy in pitched memory; arrays are not supported.
fn pitched(array: hipArray_t, place: hipPitchedPtr, position: hipPos, extent: hipExtent) -> Result<Rows> {
    match (array.is_null(), place.ptr.is_null()) {
        (true, false) => {}
        (false, true) => return Err(hipError_t::hipErrorNotSupported),
        // Exactly one of the two must be given.
        _ => return Err(INVALID_VALUE),
    }
    if place.pitch < place.xsize {
        return Err(hipError_t::hipErrorInvalidPitchValue);
    }
    let hipPos { x, y, z } = position;
    box_at(place.ptr as usize, place.pitch, place.ysize, [x, y, z], extent)
}

/// The copy that a structure describes.
///
/// # Safety
/// `parameters` is null or valid for reading.
pub(crate) unsafe fn transfer_3d(parameters: *const hipMemcpy3DParms) -> Result<Transfer> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::value(parameters) }?;
    let rect = Rect {
        dst: pitched(p.dstArray, p.dstPtr, p.dstPos, p.extent)?,
        src: pitched(p.srcArray, p.srcPtr, p.srcPos, p.extent)?,
    };
    Ok(Transfer { rect, kind: p.kind })
}

/// # Safety
/// `parameters` is null or valid for reading.
unsafe fn copy_3d(parameters: *const hipMemcpy3DParms, stream: hipStream_t, wait: bool) -> Result {
    // SAFETY: as this function's contract.
    let Transfer { rect, kind } = unsafe { transfer_3d(parameters) }?;
    copy(rect, kind, stream, wait)
}

/// `hipMemcpy3D`: positions and the extent's width are in bytes. Arrays are `hipErrorNotSupported`.
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
    let rect = Rect {
        dst: pitched(p.dstArray, p.dstPtr, p.dstPos, p.extent)?,
        src: pitched(p.srcArray, p.srcPtr, p.srcPos, p.extent)?,
    };
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
    let (dst, dst_device) = base(p.dstMemoryType, p.dstHost as usize, p.dstDevice as usize, p.dstArray)?;
    let (src, src_device) = base(p.srcMemoryType, p.srcHost as usize, p.srcDevice as usize, p.srcArray)?;
    let extent = hipExtent { width: p.WidthInBytes, height: p.Height, depth: p.Depth };
    // A pitch or height of 0 means rows or rectangles without gaps.
    let or = |value: usize, otherwise: usize| if value == 0 { otherwise } else { value };
    if [p.dstPitch, p.srcPitch].into_iter().any(|pitch| pitch != 0 && pitch < p.WidthInBytes) {
        return Err(INVALID_VALUE);
    }
    let rect = Rect {
        dst: box_at(
            dst,
            or(p.dstPitch, p.WidthInBytes),
            or(p.dstHeight, p.Height),
            [p.dstXInBytes, p.dstY, p.dstZ],
            extent,
        )?,
        src: box_at(
            src,
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

/// `hipDrvMemcpy3D`: everything but arrays.
pub(crate) unsafe extern "C" fn hipDrvMemcpy3D(parameters: *const HIP_MEMCPY3D) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_3d(parameters, DEFAULT_STREAM, true) })
}

/// `hipDrvMemcpy3DAsync`: everything but arrays.
pub(crate) unsafe extern "C" fn hipDrvMemcpy3DAsync(
    parameters: *const HIP_MEMCPY3D,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid structure.
    entry(|| unsafe { copy_param_3d(parameters, stream, false) })
}
