//! HIP's structures as CUDA's.

use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

use cuda_sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUmemorytype, CUpointer_attribute, CUresult, Table,
};
use hip_sys::{
    dim3, hipExtent, hipKernelNodeParams, hipMemAccessDesc, hipMemAllocationProp, hipMemAllocationType,
    hipMemLocation, hipMemPoolProps, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipPos,
};

/// An address as CUDA's functions take it. It is exposed: what they return may be derived from it.
#[inline]
pub(crate) fn address(pointer: *const c_void) -> CUdeviceptr {
    pointer.expose_provenance() as CUdeviceptr
}

/// A place of the caller's for an address. Both vendors' have 64 bits, and the other's pointer is a number
/// here.
#[inline]
pub(crate) fn place<T>(pointer: *mut *mut T) -> *mut CUdeviceptr {
    pointer.cast()
}

/// Where memory is.
pub(crate) fn location(of: hipMemLocation) -> CUmemLocation {
    // SAFETY: the structure is made of numbers, for which zeroes are valid.
    let mut location: CUmemLocation = unsafe { std::mem::zeroed() };
    location.type_ = CUmemLocationType(of.type_.0 as _);
    location.__bindgen_anon_1.id = of.id;
    location
}

/// A device, or the host for -1, as HIP names it in functions of managed memory.
pub(crate) fn location_of_device(device: i32) -> CUmemLocation {
    // SAFETY: the structure is made of numbers, for which zeroes are valid.
    let mut location: CUmemLocation = unsafe { std::mem::zeroed() };
    location.type_ = match device {
        -1 => CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
        _ => CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
    };
    location.__bindgen_anon_1.id = device.max(0);
    location
}

/// Who may use memory, and for what.
pub(crate) fn access(of: &hipMemAccessDesc) -> CUmemAccessDesc {
    CUmemAccessDesc { location: location(of.location), flags: CUmemAccess_flags(of.flags.0 as _) }
}

fn allocation_type(of: hipMemAllocationType) -> Result<CUmemAllocationType, CUresult> {
    match of {
        hipMemAllocationType::hipMemAllocationTypePinned => {
            Ok(CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED)
        }
        hipMemAllocationType::hipMemAllocationTypeUncached => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

/// What a pool is made of.
pub(crate) fn pool(of: &hipMemPoolProps) -> Result<CUmemPoolProps, CUresult> {
    // SAFETY: the structure is made of numbers, enums of numbers and pointers, for which zeroes are valid.
    let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = allocation_type(of.allocType)?;
    properties.handleTypes = CUmemAllocationHandleType(of.handleTypes.0 as _);
    properties.location = location(of.location);
    properties.maxSize = of.maxSize;
    Ok(properties)
}

/// What physical memory is.
pub(crate) fn allocation(of: &hipMemAllocationProp) -> Result<CUmemAllocationProp, CUresult> {
    // SAFETY: as above.
    let mut properties: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    properties.type_ = allocation_type(of.type_)?;
    // SAFETY: both names are for the same number.
    let handles = unsafe { of.__bindgen_anon_1.requestedHandleTypes };
    properties.requestedHandleTypes = CUmemAllocationHandleType(handles.0 as _);
    properties.location = location(of.location);
    properties.allocFlags.compressionType = of.allocFlags.compressionType;
    properties.allocFlags.gpuDirectRDMACapable = of.allocFlags.gpuDirectRDMACapable;
    properties.allocFlags.usage = of.allocFlags.usage;
    Ok(properties)
}

/// A copy of a box. Where the memory is, the driver finds out from the addresses.
pub(crate) fn copy_box(of: &hipMemcpy3DParms) -> Result<CUDA_MEMCPY3D, CUresult> {
    if !of.srcArray.is_null() || !of.dstArray.is_null() {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let [source, destination] = [(of.srcPtr, of.srcPos), (of.dstPtr, of.dstPos)];
    Ok(box_between(destination, source, [of.extent.width, of.extent.height, of.extent.depth]))
}

/// A copy of so many bytes.
pub(crate) fn copy_line(destination: *mut c_void, source: *const c_void, bytes: usize) -> CUDA_MEMCPY3D {
    let start = hipPos { x: 0, y: 0, z: 0 };
    let line = |ptr| (hipPitchedPtr { ptr, pitch: bytes, xsize: bytes, ysize: 1 }, start);
    box_between(line(destination), line(source.cast_mut()), [bytes, 1, 1])
}

fn box_between(
    (to, to_at): (hipPitchedPtr, hipPos),
    (from, from_at): (hipPitchedPtr, hipPos),
    [width, height, depth]: [usize; 3],
) -> CUDA_MEMCPY3D {
    let unified = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
    CUDA_MEMCPY3D {
        srcXInBytes: from_at.x,
        srcY: from_at.y,
        srcZ: from_at.z,
        srcLOD: 0,
        srcMemoryType: unified,
        srcHost: std::ptr::null(),
        srcDevice: address(from.ptr),
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: from.pitch,
        srcHeight: from.ysize,
        dstXInBytes: to_at.x,
        dstY: to_at.y,
        dstZ: to_at.z,
        dstLOD: 0,
        dstMemoryType: unified,
        dstHost: null_mut(),
        dstDevice: address(to.ptr),
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: to.pitch,
        dstHeight: to.ysize,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    }
}

/// A node that runs a kernel.
pub(crate) fn kernel_node(of: &hipKernelNodeParams) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: of.func.cast(),
        gridDimX: of.gridDim.x,
        gridDimY: of.gridDim.y,
        gridDimZ: of.gridDim.z,
        blockDimX: of.blockDim.x,
        blockDimY: of.blockDim.y,
        blockDimZ: of.blockDim.z,
        sharedMemBytes: of.sharedMemBytes,
        kernelParams: of.kernelParams,
        extra: of.extra,
        kern: null_mut(),
        ctx: null_mut(),
    }
}

/// As HIP tells what a node runs.
pub(crate) fn kernel_node_back(of: &CUDA_KERNEL_NODE_PARAMS) -> hipKernelNodeParams {
    hipKernelNodeParams {
        blockDim: dim3 { x: of.blockDimX, y: of.blockDimY, z: of.blockDimZ },
        extra: of.extra,
        func: of.func.cast(),
        gridDim: dim3 { x: of.gridDimX, y: of.gridDimY, z: of.gridDimZ },
        kernelParams: of.kernelParams,
        sharedMemBytes: of.sharedMemBytes,
    }
}

/// As HIP tells what a node copies.
pub(crate) fn copy_box_back(cuda: &Table, of: &CUDA_MEMCPY3D) -> Result<hipMemcpy3DParms, CUresult> {
    let (from, from_device) = side(cuda, of.srcMemoryType, of.srcHost.cast_mut(), of.srcDevice)?;
    let (to, to_device) = side(cuda, of.dstMemoryType, of.dstHost, of.dstDevice)?;
    let kind = match (from_device, to_device) {
        (true, true) => hipMemcpyKind::hipMemcpyDeviceToDevice,
        (true, false) => hipMemcpyKind::hipMemcpyDeviceToHost,
        (false, true) => hipMemcpyKind::hipMemcpyHostToDevice,
        (false, false) => hipMemcpyKind::hipMemcpyHostToHost,
    };
    let pitched = |ptr, pitch, ysize| hipPitchedPtr { ptr, pitch, xsize: of.WidthInBytes, ysize };
    Ok(hipMemcpy3DParms {
        srcArray: null_mut(),
        srcPos: hipPos { x: of.srcXInBytes, y: of.srcY, z: of.srcZ },
        srcPtr: pitched(from, of.srcPitch, of.srcHeight),
        dstArray: null_mut(),
        dstPos: hipPos { x: of.dstXInBytes, y: of.dstY, z: of.dstZ },
        dstPtr: pitched(to, of.dstPitch, of.dstHeight),
        extent: hipExtent { width: of.WidthInBytes, height: of.Height, depth: of.Depth },
        kind,
    })
}

/// Where one side of a copy is, and whether that is a device.
fn side(
    cuda: &Table,
    kind: CUmemorytype,
    host: *mut c_void,
    device: CUdeviceptr,
) -> Result<(*mut c_void, bool), CUresult> {
    match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => Ok((host, false)),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => Ok((device as *mut c_void, true)),
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => {
            let mut found: c_uint = 0;
            let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            // SAFETY: the attribute is one number; any address may be asked for.
            let status = unsafe { (cuda.cuPointerGetAttribute)((&raw mut found).cast(), which, device) };
            // The driver does not know the host's own memory.
            let is_device =
                status == CUresult::CUDA_SUCCESS && CUmemorytype(found) == CUmemorytype::CU_MEMORYTYPE_DEVICE;
            Ok((device as *mut c_void, is_device))
        }
        _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    }
}
