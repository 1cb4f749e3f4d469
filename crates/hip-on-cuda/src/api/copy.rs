//! Copies.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use cuda_sys::{CUDA_MEMCPY2D, CUmemorytype, CUresult, Table};
use hip_sys::{hip_Memcpy2D, hipError_t, hipMemcpy3DParms, hipMemcpyKind, hipMemoryType, hipStream_t};

use super::convert::{address, copy_box};
use crate::call::{call, failed, same, steps};
use crate::runtime::{self, check};

/// Enqueues a copy. The direction is only for checking: the driver knows every address.
///
/// # Safety
/// The caller vouches for memory and stream, as HIP asks.
#[inline]
unsafe fn copy(
    cuda: &Table,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> CUresult {
    use hipMemcpyKind as Kind;
    let stream = stream.cast();
    // SAFETY: the caller vouches for it.
    unsafe {
        match kind {
            Kind::hipMemcpyHostToDevice => (cuda.cuMemcpyHtoDAsync_v2)(address(to), from, bytes, stream),
            Kind::hipMemcpyDeviceToHost => (cuda.cuMemcpyDtoHAsync_v2)(to, address(from), bytes, stream),
            Kind::hipMemcpyDeviceToDevice | Kind::hipMemcpyDeviceToDeviceNoCU => {
                (cuda.cuMemcpyDtoDAsync_v2)(address(to), address(from), bytes, stream)
            }
            Kind::hipMemcpyDefault | Kind::hipMemcpyHostToHost => {
                (cuda.cuMemcpyAsync)(address(to), address(from), bytes, stream)
            }
            _ => CUresult::CUDA_ERROR_INVALID_VALUE,
        }
    }
}

/// `hipMemcpyAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    call(|cuda| unsafe { copy(cuda, to, from, bytes, kind, stream) })
}

/// `hipMemcpyWithStream`: in the stream's order, and waits.
pub(crate) unsafe extern "C" fn hipMemcpyWithStream(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    steps(|cuda| unsafe {
        check(copy(cuda, to, from, bytes, kind, stream))?;
        check((cuda.cuStreamSynchronize)(stream.cast()))
    })
}

/// `hipMemcpy`: on the default stream, and waits.
pub(crate) unsafe extern "C" fn hipMemcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipMemcpyWithStream(to, from, bytes, kind, null_mut()) }
}

/// Enqueues a copy between devices, by their ordinals.
///
/// # Safety
/// The caller vouches for memory and stream, as HIP asks.
unsafe fn copy_peer(
    cuda: &Table,
    (to, to_device): (*mut c_void, c_int),
    (from, from_device): (*const c_void, c_int),
    bytes: usize,
    stream: hipStream_t,
) -> Result<(), CUresult> {
    let (to_context, from_context) =
        (runtime::context(cuda, to_device)?, runtime::context(cuda, from_device)?);
    // SAFETY: the caller vouches for it; the contexts are primary ones.
    check(unsafe {
        (cuda.cuMemcpyPeerAsync)(address(to), to_context, address(from), from_context, bytes, stream.cast())
    })
}

/// `hipMemcpyPeerAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    steps(|cuda| unsafe { copy_peer(cuda, (to, to_device), (from, from_device), bytes, stream) })
}

/// `hipMemcpyPeer`: on the default stream, and waits.
pub(crate) unsafe extern "C" fn hipMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
) -> hipError_t {
    // SAFETY: the caller keeps HIP's contract.
    steps(|cuda| unsafe {
        copy_peer(cuda, (to, to_device), (from, from_device), bytes, null_mut())?;
        check((cuda.cuStreamSynchronize)(null_mut()))
    })
}

/// A copy of a rectangle between linear memory, wherever it is.
fn rectangle(
    (to, to_pitch): (*mut c_void, usize),
    (from, from_pitch): (*const c_void, usize),
    [width, height]: [usize; 2],
) -> CUDA_MEMCPY2D {
    let unified = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: unified,
        srcHost: std::ptr::null(),
        srcDevice: address(from),
        srcArray: null_mut(),
        srcPitch: from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: unified,
        dstHost: null_mut(),
        dstDevice: address(to),
        dstArray: null_mut(),
        dstPitch: to_pitch,
        WidthInBytes: width,
        Height: height,
    }
}

/// `hipMemcpy2DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    _kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    let copy = rectangle((to, to_pitch), (from, from_pitch), [width, height]);
    // SAFETY: the caller vouches for memory and stream; the description is read during the call.
    call(|cuda| unsafe { (cuda.cuMemcpy2DAsync_v2)(&raw const copy, stream.cast()) })
}

/// `hipMemcpy2D`: at any pitch, and waits.
pub(crate) unsafe extern "C" fn hipMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    _kind: hipMemcpyKind,
) -> hipError_t {
    let copy = rectangle((to, to_pitch), (from, from_pitch), [width, height]);
    // SAFETY: the caller vouches for the memory; the description is read during the call.
    call(|cuda| unsafe { (cuda.cuMemcpy2DUnaligned_v2)(&raw const copy) })
}

/// HIP's description of a rectangle, as CUDA has it. There are no arrays.
fn described(of: &hip_Memcpy2D) -> Result<CUDA_MEMCPY2D, CUresult> {
    use hipMemoryType as Type;
    let kind = |of| match of {
        Type::hipMemoryTypeHost => Ok(CUmemorytype::CU_MEMORYTYPE_HOST),
        Type::hipMemoryTypeDevice => Ok(CUmemorytype::CU_MEMORYTYPE_DEVICE),
        Type::hipMemoryTypeManaged | Type::hipMemoryTypeUnified => Ok(CUmemorytype::CU_MEMORYTYPE_UNIFIED),
        Type::hipMemoryTypeArray => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    };
    Ok(CUDA_MEMCPY2D {
        srcXInBytes: of.srcXInBytes,
        srcY: of.srcY,
        srcMemoryType: kind(of.srcMemoryType)?,
        srcHost: of.srcHost,
        srcDevice: address(of.srcDevice),
        srcArray: null_mut(),
        srcPitch: of.srcPitch,
        dstXInBytes: of.dstXInBytes,
        dstY: of.dstY,
        dstMemoryType: kind(of.dstMemoryType)?,
        dstHost: of.dstHost,
        dstDevice: address(of.dstDevice),
        dstArray: null_mut(),
        dstPitch: of.dstPitch,
        WidthInBytes: of.WidthInBytes,
        Height: of.Height,
    })
}

/// `hipMemcpyParam2DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpyParam2DAsync(
    copy: *const hip_Memcpy2D,
    stream: hipStream_t,
) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a description.
        let copy = described(unsafe { copy.as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?)?;
        // SAFETY: the caller vouches for memory and stream.
        check(unsafe { (cuda.cuMemcpy2DAsync_v2)(&raw const copy, stream.cast()) })
    })
}

/// `hipMemcpyParam2D`: waits.
pub(crate) unsafe extern "C" fn hipMemcpyParam2D(copy: *const hip_Memcpy2D) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipDrvMemcpy2DUnaligned(copy) }
}

/// `hipDrvMemcpy2DUnaligned`: at any pitch, and waits.
pub(crate) unsafe extern "C" fn hipDrvMemcpy2DUnaligned(copy: *const hip_Memcpy2D) -> hipError_t {
    steps(|cuda| {
        // SAFETY: the caller passes null or a description.
        let copy = described(unsafe { copy.as_ref() }.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?)?;
        // SAFETY: the caller vouches for the memory.
        check(unsafe { (cuda.cuMemcpy2DUnaligned_v2)(&raw const copy) })
    })
}

/// `hipMemcpy3DAsync`.
pub(crate) unsafe extern "C" fn hipMemcpy3DAsync(
    copy: *const hipMemcpy3DParms,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a description.
    let Some(copy) = (unsafe { copy.as_ref() }) else { return failed(hipError_t::hipErrorInvalidValue) };
    steps(|cuda| {
        let copy = copy_box(copy)?;
        // SAFETY: the caller vouches for memory and stream.
        check(unsafe { (cuda.cuMemcpy3DAsync_v2)(&raw const copy, stream.cast()) })
    })
}

/// `hipMemcpy3D`: waits.
pub(crate) unsafe extern "C" fn hipMemcpy3D(copy: *const hipMemcpy3DParms) -> hipError_t {
    // SAFETY: the caller passes null or a description.
    let Some(copy) = (unsafe { copy.as_ref() }) else { return failed(hipError_t::hipErrorInvalidValue) };
    steps(|cuda| {
        let copy = copy_box(copy)?;
        // SAFETY: the caller vouches for the memory.
        check(unsafe { (cuda.cuMemcpy3D_v2)(&raw const copy) })
    })
}

same! {
    hipMemcpyHtoD(to: *mut c_void, from: *const c_void, bytes: usize) => cuMemcpyHtoD_v2(address(to), from, bytes);
    hipMemcpyDtoH(to: *mut c_void, from: *mut c_void, bytes: usize) => cuMemcpyDtoH_v2(to, address(from), bytes);
    hipMemcpyDtoD(to: *mut c_void, from: *mut c_void, bytes: usize) => cuMemcpyDtoD_v2(address(to), address(from), bytes);
    hipMemcpyHtoDAsync(to: *mut c_void, from: *const c_void, bytes: usize, stream: hipStream_t)
        => cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream.cast());
    hipMemcpyDtoHAsync(to: *mut c_void, from: *mut c_void, bytes: usize, stream: hipStream_t)
        => cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream.cast());
    hipMemcpyDtoDAsync(to: *mut c_void, from: *mut c_void, bytes: usize, stream: hipStream_t)
        => cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream.cast());
}
