//! Properties and attributes of devices.

use std::ffi::{c_char, c_int};

use cuda_sys::{CUdevice, CUdevice_attribute as Attribute, CUresult, Table};
use hip_sys::{hipDeviceAttribute_t, hipDeviceProp_tR0600, hipError_t};

use crate::call::{call, failed, steps};
use crate::runtime::{check, device};

macro_rules! attributes {
    ($($hip:ident => $cuda:ident,)+) => {
        /// Attributes that both vendors have.
        const ATTRIBUTES: &[(hipDeviceAttribute_t, Attribute)] =
            &[$((hipDeviceAttribute_t::$hip, Attribute::$cuda),)+];
    };
}

attributes! {
    hipDeviceAttributeEccEnabled => CU_DEVICE_ATTRIBUTE_ECC_ENABLED,
    hipDeviceAttributeAccessPolicyMaxWindowSize => CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE,
    hipDeviceAttributeAsyncEngineCount => CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT,
    hipDeviceAttributeCanMapHostMemory => CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY,
    hipDeviceAttributeCanUseHostPointerForRegisteredMem => CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
    hipDeviceAttributeClockRate => CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    hipDeviceAttributeComputeMode => CU_DEVICE_ATTRIBUTE_COMPUTE_MODE,
    hipDeviceAttributeComputePreemptionSupported => CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED,
    hipDeviceAttributeConcurrentKernels => CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS,
    hipDeviceAttributeConcurrentManagedAccess => CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    hipDeviceAttributeCooperativeLaunch => CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
    hipDeviceAttributeCooperativeMultiDeviceLaunch => CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH,
    hipDeviceAttributeDeviceOverlap => CU_DEVICE_ATTRIBUTE_GPU_OVERLAP,
    hipDeviceAttributeDirectManagedMemAccessFromHost => CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
    hipDeviceAttributeGlobalL1CacheSupported => CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED,
    hipDeviceAttributeHostNativeAtomicSupported => CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
    hipDeviceAttributeIntegrated => CU_DEVICE_ATTRIBUTE_INTEGRATED,
    hipDeviceAttributeIsMultiGpuBoard => CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD,
    hipDeviceAttributeKernelExecTimeout => CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
    hipDeviceAttributeL2CacheSize => CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
    hipDeviceAttributeLocalL1CacheSupported => CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED,
    hipDeviceAttributeComputeCapabilityMajor => CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    hipDeviceAttributeManagedMemory => CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
    hipDeviceAttributeMaxBlocksPerMultiProcessor => CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
    hipDeviceAttributeMaxBlockDimX => CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
    hipDeviceAttributeMaxBlockDimY => CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
    hipDeviceAttributeMaxBlockDimZ => CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    hipDeviceAttributeMaxGridDimX => CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
    hipDeviceAttributeMaxGridDimY => CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
    hipDeviceAttributeMaxGridDimZ => CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    hipDeviceAttributeMaxThreadsDim => CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
    hipDeviceAttributeMaxThreadsPerBlock => CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    hipDeviceAttributeMaxThreadsPerMultiProcessor => CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    hipDeviceAttributeMaxPitch => CU_DEVICE_ATTRIBUTE_MAX_PITCH,
    hipDeviceAttributeMemoryBusWidth => CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
    hipDeviceAttributeMemoryClockRate => CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    hipDeviceAttributeComputeCapabilityMinor => CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    hipDeviceAttributeMultiGpuBoardGroupID => CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
    hipDeviceAttributeMultiprocessorCount => CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    hipDeviceAttributePhysicalMultiProcessorCount => CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    hipDeviceAttributePageableMemoryAccess => CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
    hipDeviceAttributePageableMemoryAccessUsesHostPageTables => CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
    hipDeviceAttributePciBusId => CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
    hipDeviceAttributePciDeviceId => CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    hipDeviceAttributePciDomainId => CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
    hipDeviceAttributePersistingL2CacheMaxSize => CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
    hipDeviceAttributeMaxRegistersPerBlock => CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
    hipDeviceAttributeMaxRegistersPerMultiprocessor => CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
    hipDeviceAttributeReservedSharedMemPerBlock => CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
    hipDeviceAttributeMaxSharedMemoryPerBlock => CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    hipDeviceAttributeSharedMemPerBlockOptin => CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    hipDeviceAttributeSharedMemPerMultiprocessor => CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor => CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    hipDeviceAttributeSingleToDoublePrecisionPerfRatio => CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
    hipDeviceAttributeStreamPrioritiesSupported => CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED,
    hipDeviceAttributeSurfaceAlignment => CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT,
    hipDeviceAttributeTccDriver => CU_DEVICE_ATTRIBUTE_TCC_DRIVER,
    hipDeviceAttributeTextureAlignment => CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
    hipDeviceAttributeTexturePitchAlignment => CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT,
    hipDeviceAttributeTotalConstantMemory => CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
    hipDeviceAttributeUnifiedAddressing => CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
    hipDeviceAttributeWarpSize => CU_DEVICE_ATTRIBUTE_WARP_SIZE,
    hipDeviceAttributeMemoryPoolsSupported => CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
    hipDeviceAttributeVirtualMemoryManagementSupported => CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
    hipDeviceAttributeHostRegisterSupported => CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
    hipDeviceAttributeMemoryPoolSupportedHandleTypes => CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
    hipDeviceAttributeHostNumaId => CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
    hipDeviceAttributeCanUseStreamWaitValue => CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
}

/// `hipDeviceGetAttribute`: one that CUDA does not have is `hipErrorInvalidValue`.
pub(crate) unsafe extern "C" fn hipDeviceGetAttribute(
    value: *mut c_int,
    attribute: hipDeviceAttribute_t,
    ordinal: c_int,
) -> hipError_t {
    let Some((_, attribute)) = ATTRIBUTES.iter().find(|(hip, _)| *hip == attribute) else {
        return failed(hipError_t::hipErrorInvalidValue);
    };
    steps(|cuda| {
        let device = device(cuda, ordinal)?;
        // SAFETY: the caller passes a place.
        check(unsafe { (cuda.cuDeviceGetAttribute)(value, *attribute, device) })
    })
}

/// What is asked of one device.
struct Asked {
    cuda: &'static Table,
    device: CUdevice,
}

impl Asked {
    /// An attribute; 0 where the driver does not know it.
    fn int(&self, attribute: Attribute) -> c_int {
        let mut value = 0;
        // SAFETY: the result is a place to write to.
        let asked = unsafe { (self.cuda.cuDeviceGetAttribute)(&raw mut value, attribute, self.device) };
        if asked == CUresult::CUDA_SUCCESS { value } else { 0 }
    }

    fn size(&self, attribute: Attribute) -> usize {
        usize::try_from(self.int(attribute)).unwrap_or(0)
    }
}

/// A text with a NUL behind it.
fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from as c_char;
    }
    out
}

/// `hipGetDevicePropertiesR0600`.
pub(crate) unsafe extern "C" fn hipGetDevicePropertiesR0600(
    place: *mut hipDeviceProp_tR0600,
    ordinal: c_int,
) -> hipError_t {
    if place.is_null() {
        return failed(hipError_t::hipErrorInvalidValue);
    }
    call(|cuda| match properties(cuda, ordinal) {
        Ok(properties) => {
            // SAFETY: the caller passes a place.
            unsafe { place.write(properties) };
            CUresult::CUDA_SUCCESS
        }
        Err(status) => status,
    })
}

/// Everything that is known of a device. Textures and surfaces are not offered, so that their limits are 0.
fn properties(cuda: &'static Table, ordinal: c_int) -> Result<hipDeviceProp_tR0600, CUresult> {
    use Attribute as A;
    let device = device(cuda, ordinal)?;
    let asked = Asked { cuda, device };
    let int = |attribute| asked.int(attribute);
    let size = |attribute| asked.size(attribute);
    // SAFETY: the structure is made of numbers, arrays of numbers and pointers, for all of which zero is
    // valid.
    let mut p: hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    // SAFETY: each result is a place of as many bytes as the call writes.
    unsafe {
        check((cuda.cuDeviceGetName)(p.name.as_mut_ptr(), p.name.len() as c_int - 1, device))?;
        check((cuda.cuDeviceTotalMem_v2)(&raw mut p.totalGlobalMem, device))?;
        check((cuda.cuDeviceGetUuid_v2)((&raw mut p.uuid).cast(), device))?;
    }
    p.major = int(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    p.minor = int(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    p.gcnArchName = text(&format!("sm_{}{}", p.major, p.minor));
    // More than 48 KiB take permission, which launches ask for.
    let lds = size(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        .max(size(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    p.sharedMemPerBlock = lds;
    p.sharedMemPerBlockOptin = lds;
    p.sharedMemPerMultiprocessor = size(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    p.maxSharedMemoryPerMultiProcessor = p.sharedMemPerMultiprocessor;
    p.reservedSharedMemPerBlock = size(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    p.regsPerBlock = int(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    p.regsPerMultiprocessor = int(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    p.warpSize = int(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    p.memPitch = size(A::CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    p.maxThreadsPerBlock = int(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    p.maxThreadsDim = [
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    ]
    .map(int);
    p.maxGridSize = [
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    ]
    .map(int);
    p.clockRate = int(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    p.totalConstMem = size(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    p.deviceOverlap = int(A::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP);
    p.multiProcessorCount = int(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    p.kernelExecTimeoutEnabled = int(A::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
    p.integrated = int(A::CU_DEVICE_ATTRIBUTE_INTEGRATED);
    p.canMapHostMemory = int(A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    p.computeMode = int(A::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    p.concurrentKernels = int(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    p.ECCEnabled = int(A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
    p.pciBusID = int(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    p.pciDeviceID = int(A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    p.pciDomainID = int(A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    p.tccDriver = int(A::CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
    p.asyncEngineCount = int(A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    p.unifiedAddressing = int(A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    p.memoryClockRate = int(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    p.memoryBusWidth = int(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    p.l2CacheSize = int(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    p.persistingL2CacheMaxSize = int(A::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
    p.maxThreadsPerMultiProcessor = int(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    p.streamPrioritiesSupported = int(A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
    p.globalL1CacheSupported = int(A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
    p.localL1CacheSupported = int(A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
    p.managedMemory = int(A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    p.hostNativeAtomicSupported = int(A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
    p.pageableMemoryAccess = int(A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    p.concurrentManagedAccess = int(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    p.computePreemptionSupported = int(A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
    p.canUseHostPointerForRegisteredMem = int(A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    p.cooperativeLaunch = int(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    p.directManagedMemAccessFromHost = int(A::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
    p.maxBlocksPerMultiProcessor = int(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    p.hostRegisterSupported = int(A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    p.memoryPoolsSupported = int(A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    Ok(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_has_one_row() {
        for (at, (hip, _)) in ATTRIBUTES.iter().enumerate() {
            assert!(ATTRIBUTES[at + 1..].iter().all(|(other, _)| other != hip), "{hip:?}");
        }
    }
}
