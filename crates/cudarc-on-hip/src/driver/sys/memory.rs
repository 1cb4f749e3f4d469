//! Memory: allocating, copying, filling.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};

use hip_sys::hipMemoryAdvise;

use super::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED, CUcontext,
    CUdeviceptr, CUipcMemHandle, CUmem_advise, CUmemLocation, CUmemLocationType, CUresult, CUstream, address,
    functions, number_of,
};
use crate::backend::{Outcome, backend, give, hip_call, table};

/// CUDA's flags for pinned memory, with the same numbers in HIP: portable, mapped, write-combined.
const HOST_ALLOC_FLAGS: c_uint =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
/// The host, in place of a device in HIP.
const HOST: c_int = -1;

functions! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        hip_call!(table()?, hipMemGetInfo(free, total))
    }

    fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize) {
        let mut place = std::ptr::null_mut();
        hip_call!(table()?, hipMalloc(&raw mut place, bytesize))?;
        give(dptr, number_of(place))
    }

    fn cuMemFree_v2(dptr: CUdeviceptr) {
        hip_call!(table()?, hipFree(address(dptr)))
    }

    fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream) {
        let table = table()?;
        // HIP does not refuse a size of zero.
        if bytesize == 0 {
            return give(dptr, 0);
        }
        let mut place = std::ptr::null_mut();
        hip_call!(table, hipMallocAsync(&raw mut place, bytesize, hStream.cast()))?;
        give(dptr, number_of(place))
    }

    fn cuMemFreeAsync(dptr: CUdeviceptr, hStream: CUstream) {
        let table = table()?;
        if dptr == 0 {
            return Ok(());
        }
        hip_call!(table, hipFreeAsync(address(dptr), hStream.cast()))
    }

    fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint) {
        let mut place = std::ptr::null_mut();
        hip_call!(table()?, hipMallocManaged(&raw mut place, bytesize, flags))?;
        give(dptr, number_of(place))
    }

    fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, Flags: c_uint) {
        if Flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        hip_call!(table()?, hipHostMalloc(pp, bytesize, Flags))
    }

    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize) {
        hip_call!(table()?, hipHostMalloc(pp, bytesize, 0))
    }

    fn cuMemFreeHost(p: *mut c_void) {
        hip_call!(table()?, hipHostFree(p))
    }

    fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, Flags: c_uint) {
        hip_call!(table()?, hipHostRegister(p, bytesize, Flags))
    }

    fn cuMemHostUnregister(p: *mut c_void) {
        hip_call!(table()?, hipHostUnregister(p))
    }

    fn cuMemHostGetDevicePointer_v2(pdptr: *mut CUdeviceptr, p: *mut c_void, Flags: c_uint) {
        let mut place = std::ptr::null_mut();
        hip_call!(table()?, hipHostGetDevicePointer(&raw mut place, p, Flags))?;
        give(pdptr, number_of(place))
    }

    fn cuMemGetAddressRange_v2(pbase: *mut CUdeviceptr, psize: *mut usize, dptr: CUdeviceptr) {
        let mut base = std::ptr::null_mut();
        hip_call!(table()?, hipMemGetAddressRange(&raw mut base, psize, address(dptr)))?;
        give(pbase, number_of(base))
    }

    fn cuMemAdvise_v2(devPtr: CUdeviceptr, count: usize, advice: CUmem_advise, location: CUmemLocation) {
        // HIP and CUDA use the same numbers for advice.
        let advice = hipMemoryAdvise(advice as c_uint);
        hip_call!(table()?, hipMemAdvise(address(devPtr), count, advice, device_of(location)?))
    }

    fn cuMemPrefetchAsync_v2(
        devPtr: CUdeviceptr,
        count: usize,
        location: CUmemLocation,
        flags: c_uint,
        hStream: CUstream,
    ) {
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let device = device_of(location)?;
        hip_call!(table()?, hipMemPrefetchAsync(address(devPtr), count, device, hStream.cast()))
    }

    fn cuMemsetD8_v2(dstDevice: CUdeviceptr, uc: c_uchar, N: usize) {
        hip_call!(table()?, hipMemsetD8(address(dstDevice), uc, N))
    }

    fn cuMemsetD8Async(dstDevice: CUdeviceptr, uc: c_uchar, N: usize, hStream: CUstream) {
        let table = table()?;
        if N == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemsetD8Async(address(dstDevice), uc, N, hStream.cast()))
    }

    fn cuMemsetD16_v2(dstDevice: CUdeviceptr, us: c_ushort, N: usize) {
        hip_call!(table()?, hipMemsetD16(address(dstDevice), us, N))
    }

    fn cuMemsetD16Async(dstDevice: CUdeviceptr, us: c_ushort, N: usize, hStream: CUstream) {
        hip_call!(table()?, hipMemsetD16Async(address(dstDevice), us, N, hStream.cast()))
    }

    fn cuMemsetD32_v2(dstDevice: CUdeviceptr, ui: c_uint, N: usize) {
        hip_call!(table()?, hipMemsetD32(address(dstDevice), ui.cast_signed(), N))
    }

    fn cuMemsetD32Async(dstDevice: CUdeviceptr, ui: c_uint, N: usize, hStream: CUstream) {
        hip_call!(table()?, hipMemsetD32Async(address(dstDevice), ui.cast_signed(), N, hStream.cast()))
    }

    fn cuMemcpyHtoD_v2(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemcpyHtoD(address(dstDevice), srcHost, ByteCount))
    }

    /// Like CUDA's and HIP's function, it has read pageable memory when it returns.
    fn cuMemcpyHtoDAsync_v2(
        dstDevice: CUdeviceptr,
        srcHost: *const c_void,
        ByteCount: usize,
        hStream: CUstream,
    ) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemcpyHtoDAsync(address(dstDevice), srcHost, ByteCount, hStream.cast()))
    }

    fn cuMemcpyDtoH_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemcpyDtoH(dstHost, address(srcDevice), ByteCount))
    }

    /// Like CUDA's and HIP's function, it has written pageable memory when it returns.
    fn cuMemcpyDtoHAsync_v2(
        dstHost: *mut c_void,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemcpyDtoHAsync(dstHost, address(srcDevice), ByteCount, hStream.cast()))
    }

    fn cuMemcpyDtoD_v2(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        hip_call!(table, hipMemcpyDtoD(address(dstDevice), address(srcDevice), ByteCount))
    }

    fn cuMemcpyDtoDAsync_v2(
        dstDevice: CUdeviceptr,
        srcDevice: CUdeviceptr,
        ByteCount: usize,
        hStream: CUstream,
    ) {
        let table = table()?;
        if ByteCount == 0 {
            return Ok(());
        }
        let (to, from) = (address(dstDevice), address(srcDevice));
        hip_call!(table, hipMemcpyDtoDAsync(to, from, ByteCount, hStream.cast()))
    }

    fn cuMemcpyPeerAsync(
        dstDevice: CUdeviceptr,
        dstContext: CUcontext,
        srcDevice: CUdeviceptr,
        srcContext: CUcontext,
        ByteCount: usize,
        hStream: CUstream,
    ) {
        let table = table()?;
        let ordinal = |context| -> Outcome<c_int> {
            let backend = backend()?;
            Ok(backend.devices[backend.context(context)?.ordinal].ordinal() as c_int)
        };
        let (to, from) = (ordinal(dstContext)?, ordinal(srcContext)?);
        if ByteCount == 0 {
            return Ok(());
        }
        let (into, out_of) = (address(dstDevice), address(srcDevice));
        hip_call!(table, hipMemcpyPeerAsync(into, to, out_of, from, ByteCount, hStream.cast()))
    }

    fn cuIpcGetMemHandle(pHandle: *mut CUipcMemHandle, dptr: CUdeviceptr) {
        hip_call!(table()?, hipIpcGetMemHandle(pHandle.cast(), address(dptr)))
    }

    fn cuIpcOpenMemHandle_v2(pdptr: *mut CUdeviceptr, handle: CUipcMemHandle, Flags: c_uint) {
        let mut place = std::ptr::null_mut();
        let handle = std::mem::transmute::<CUipcMemHandle, hip_sys::hipIpcMemHandle_t>(handle);
        hip_call!(table()?, hipIpcOpenMemHandle(&raw mut place, handle, Flags))?;
        give(pdptr, number_of(place))
    }

    fn cuIpcCloseMemHandle(dptr: CUdeviceptr) {
        hip_call!(table()?, hipIpcCloseMemHandle(address(dptr)))
    }
}

/// HIP's number for a location of memory. In HIP, the host is a single location.
fn device_of(location: CUmemLocation) -> Outcome<c_int> {
    match location.type_ {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => {
            Ok(backend()?.device(location.id)?.ordinal() as c_int)
        }
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(HOST),
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}
