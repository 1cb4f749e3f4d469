//! Device properties and attributes.

use std::ffi::c_char;

use code_object::Processor;
use hip_sys::{
    hipDeviceArch_t, hipDeviceAttribute_t, hipDeviceProp_tR0000, hipDeviceProp_tR0600, hipError_t, hipUUID,
};

use crate::caller;
use crate::devices;
use crate::devices::device::{Device, by_ordinal, current_device};
use crate::error::{Result, entry};
use crate::object::occupancy::compute_unit;
use crate::object::texture;
use crate::runtime::{Runtime, active, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Largest pitch of rows, as AMD's runtime reports it.
const MAX_PITCH: usize = i32::MAX as usize;

fn int(value: impl TryInto<i32>) -> i32 {
    value.try_into().unwrap_or(i32::MAX)
}

fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from as c_char;
    }
    out
}

/// 32-bit vector registers of a multiprocessor.
fn registers(device: &Device) -> u32 {
    let info = &device.info;
    compute_unit(info).vgpr_file[usize::from(info.wave_size == 32)]
        * info.wave_size
        * info.simds_per_cu
        * device.units_per_multiprocessor()
}

/// Work-items that a multiprocessor holds.
fn threads(device: &Device) -> u32 {
    device.info.waves_per_cu * device.info.wave_size * device.units_per_multiprocessor()
}

/// All properties of a device in HIP's form. As with AMD's runtime, the limits of cubes, gathering and
/// textures over pitched memory are 0.
fn properties(device: &Device) -> hipDeviceProp_tR0600 {
    // SAFETY: the structure is made of numbers, arrays of numbers and pointers, for all of which zero is
    // valid.
    let mut p: hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    let info = &device.info;
    let lds = info.lds_bytes as usize;
    p.name = text(&info.name);
    p.uuid = hipUUID { bytes: info.uuid.map(|byte| byte as c_char) };
    p.totalGlobalMem = info.memory_bytes as usize;
    p.sharedMemPerBlock = lds;
    p.regsPerBlock = int(registers(device));
    p.warpSize = int(info.wave_size);
    p.memPitch = MAX_PITCH;
    p.maxThreadsPerBlock = int(info.max_block);
    p.maxThreadsDim = info.max_block_dim.map(int);
    p.maxGridSize = [i32::MAX, 65536, 65536];
    p.clockRate = int(u64::from(info.clock_mhz) * 1000);
    p.totalConstMem = info.max_allocation.min(i32::MAX as u64) as usize;
    p.major = int(info.gfx[0]);
    p.minor = int(info.gfx[1]);
    if info.images.exist() {
        let images = &info.images;
        p.maxTexture1DLinear = int(images.linear_bytes());
        p.maxTexture1DMipmap = p.maxTexture1DLinear;
        p.maxTexture1D = int(images.width_1d);
        p.maxTexture2D = images.size_2d.map(int);
        p.maxTexture3D = images.size_3d.map(int);
        p.maxTexture1DLayered = [images.width_1d_layered, images.layers].map(int);
        p.maxTexture2DLayered =
            [images.size_2d_layered[0], images.size_2d_layered[1], images.layers].map(int);
        p.maxSurface1D = p.maxTexture1D;
        p.maxSurface2D = p.maxTexture2D;
        p.maxSurface3D = p.maxTexture3D;
        p.maxSurface1DLayered = p.maxTexture1DLayered;
        p.maxSurface2DLayered = p.maxTexture2DLayered;
        p.textureAlignment = texture::ALIGNMENT;
        p.surfaceAlignment = texture::ALIGNMENT;
        p.texturePitchAlignment = texture::ALIGNMENT;
    }
    p.deviceOverlap = 1;
    p.multiProcessorCount = int(device.multiprocessors());
    p.integrated = i32::from(info.is_apu);
    p.canMapHostMemory = 1;
    p.concurrentKernels = 1;
    p.pciBusID = int(info.pci.bus);
    p.pciDeviceID = int(info.pci.device);
    p.pciDomainID = int(info.pci.domain);
    p.asyncEngineCount = int(info.copy_engines);
    p.unifiedAddressing = 1;
    p.memoryClockRate = int(u64::from(info.memory_clock_mhz) * 1000);
    p.memoryBusWidth = int(info.memory_width_bits);
    p.l2CacheSize = int(info.l2_bytes);
    p.maxThreadsPerMultiProcessor = int(threads(device));
    p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = 1;
    p.localL1CacheSupported = 1;
    p.sharedMemPerMultiprocessor = lds;
    p.regsPerMultiprocessor = int(registers(device));
    p.managedMemory = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.sharedMemPerBlockOptin = lds;
    p.maxBlocksPerMultiProcessor = int(threads(device) / info.wave_size);
    p.hostRegisterSupported = 1;
    p.concurrentManagedAccess = 1;
    p.directManagedMemAccessFromHost = 1;
    p.gcnArchName = text(&info.arch);
    p.memoryPoolsSupported = 1;
    p.maxSharedMemoryPerMultiProcessor = lds;
    p.clockInstructionRate = int(info.wall_clock_hz / 1000);
    p.cooperativeLaunch = i32::from(device.has_grid_barriers());
    p.cooperativeMultiDeviceLaunch = p.cooperativeLaunch;
    p.arch = arch();
    p.hdpMemFlushCntl = info.hdp_mem_flush.0;
    p.hdpRegFlushCntl = info.hdp_reg_flush.0;
    p.isLargeBar = i32::from(device.host_visible);
    p.asicRevision = int(info.asic_revision);
    p
}

/// The same in HIP 5's form, for the functions without a version in their name.
fn old_properties(device: &Device) -> hipDeviceProp_tR0000 {
    let p = properties(device);
    let [major, minor, stepping] = device.info.gfx;
    let mut old = hipDeviceProp_tR0000::of_6(&p);
    old.gcnArch = int(major * 100 + minor * 10 + stepping);
    old
}

/// Capabilities of every supported AMD device.
fn arch() -> hipDeviceArch_t {
    let mut arch = hipDeviceArch_t::default();
    arch.set_hasGlobalInt32Atomics(1);
    arch.set_hasGlobalFloatAtomicExch(1);
    arch.set_hasSharedInt32Atomics(1);
    arch.set_hasSharedFloatAtomicExch(1);
    arch.set_hasFloatAtomicAdd(1);
    arch.set_hasGlobalInt64Atomics(1);
    arch.set_hasSharedInt64Atomics(1);
    arch.set_hasDoubles(1);
    arch.set_hasWarpVote(1);
    arch.set_hasWarpBallot(1);
    arch.set_hasWarpShuffle(1);
    arch.set_hasThreadFenceSystem(1);
    arch.set_has3dGrid(1);
    arch
}

/// One attribute; `None` if it has no answer.
fn attribute(device: &Device, which: hipDeviceAttribute_t) -> Option<i32> {
    use hipDeviceAttribute_t as A;
    let p = properties(device);
    let info = &device.info;
    Some(match which {
        A::hipDeviceAttributeEccEnabled => p.ECCEnabled,
        A::hipDeviceAttributeAccessPolicyMaxWindowSize => p.accessPolicyMaxWindowSize,
        A::hipDeviceAttributeAsyncEngineCount => p.asyncEngineCount,
        A::hipDeviceAttributeCanMapHostMemory => p.canMapHostMemory,
        A::hipDeviceAttributeCanUseHostPointerForRegisteredMem => p.canUseHostPointerForRegisteredMem,
        A::hipDeviceAttributeClockRate => p.clockRate,
        A::hipDeviceAttributeComputeMode => p.computeMode,
        A::hipDeviceAttributeComputePreemptionSupported => p.computePreemptionSupported,
        A::hipDeviceAttributeConcurrentKernels => p.concurrentKernels,
        A::hipDeviceAttributeConcurrentManagedAccess => p.concurrentManagedAccess,
        A::hipDeviceAttributeCooperativeLaunch => p.cooperativeLaunch,
        A::hipDeviceAttributeCooperativeMultiDeviceLaunch => p.cooperativeMultiDeviceLaunch,
        A::hipDeviceAttributeDeviceOverlap => p.deviceOverlap,
        A::hipDeviceAttributeDirectManagedMemAccessFromHost => p.directManagedMemAccessFromHost,
        A::hipDeviceAttributeGlobalL1CacheSupported => p.globalL1CacheSupported,
        A::hipDeviceAttributeHostNativeAtomicSupported => p.hostNativeAtomicSupported,
        A::hipDeviceAttributeIntegrated => p.integrated,
        A::hipDeviceAttributeIsMultiGpuBoard => p.isMultiGpuBoard,
        A::hipDeviceAttributeKernelExecTimeout => p.kernelExecTimeoutEnabled,
        A::hipDeviceAttributeL2CacheSize => p.l2CacheSize,
        A::hipDeviceAttributeLocalL1CacheSupported => p.localL1CacheSupported,
        A::hipDeviceAttributeLuidDeviceNodeMask => int(p.luidDeviceNodeMask),
        A::hipDeviceAttributeComputeCapabilityMajor => p.major,
        A::hipDeviceAttributeManagedMemory => p.managedMemory,
        A::hipDeviceAttributeMaxBlocksPerMultiProcessor => p.maxBlocksPerMultiProcessor,
        A::hipDeviceAttributeMaxBlockDimX | A::hipDeviceAttributeMaxThreadsDim => p.maxThreadsDim[0],
        A::hipDeviceAttributeMaxBlockDimY => p.maxThreadsDim[1],
        A::hipDeviceAttributeMaxBlockDimZ => p.maxThreadsDim[2],
        A::hipDeviceAttributeMaxGridDimX => p.maxGridSize[0],
        A::hipDeviceAttributeMaxGridDimY => p.maxGridSize[1],
        A::hipDeviceAttributeMaxGridDimZ => p.maxGridSize[2],
        A::hipDeviceAttributeMaxSurface1D => p.maxSurface1D,
        A::hipDeviceAttributeMaxSurface1DLayered => p.maxSurface1DLayered[0],
        A::hipDeviceAttributeMaxSurface2D => p.maxSurface2D[0],
        A::hipDeviceAttributeMaxSurface2DLayered => p.maxSurface2DLayered[0],
        A::hipDeviceAttributeMaxSurface3D => p.maxSurface3D[0],
        A::hipDeviceAttributeMaxSurfaceCubemap => p.maxSurfaceCubemap,
        A::hipDeviceAttributeMaxSurfaceCubemapLayered => p.maxSurfaceCubemapLayered[0],
        A::hipDeviceAttributeMaxTexture1DWidth => p.maxTexture1D,
        A::hipDeviceAttributeMaxTexture1DLayered => p.maxTexture1DLayered[0],
        A::hipDeviceAttributeMaxTexture1DLinear => p.maxTexture1DLinear,
        A::hipDeviceAttributeMaxTexture1DMipmap => p.maxTexture1DMipmap,
        A::hipDeviceAttributeMaxTexture2DWidth => p.maxTexture2D[0],
        A::hipDeviceAttributeMaxTexture2DHeight => p.maxTexture2D[1],
        A::hipDeviceAttributeMaxTexture2DGather => p.maxTexture2DGather[0],
        A::hipDeviceAttributeMaxTexture2DLayered => p.maxTexture2DLayered[0],
        A::hipDeviceAttributeMaxTexture2DLinear => p.maxTexture2DLinear[0],
        A::hipDeviceAttributeMaxTexture2DMipmap => p.maxTexture2DMipmap[0],
        A::hipDeviceAttributeMaxTexture3DWidth => p.maxTexture3D[0],
        A::hipDeviceAttributeMaxTexture3DHeight => p.maxTexture3D[1],
        A::hipDeviceAttributeMaxTexture3DDepth => p.maxTexture3D[2],
        A::hipDeviceAttributeMaxTexture3DAlt => p.maxTexture3DAlt[0],
        A::hipDeviceAttributeMaxTextureCubemap => p.maxTextureCubemap,
        A::hipDeviceAttributeMaxTextureCubemapLayered => p.maxTextureCubemapLayered[0],
        A::hipDeviceAttributeMaxThreadsPerBlock => p.maxThreadsPerBlock,
        A::hipDeviceAttributeMaxThreadsPerMultiProcessor => p.maxThreadsPerMultiProcessor,
        A::hipDeviceAttributeMaxPitch => int(p.memPitch),
        A::hipDeviceAttributeMemoryBusWidth => p.memoryBusWidth,
        A::hipDeviceAttributeMemoryClockRate => p.memoryClockRate,
        A::hipDeviceAttributeComputeCapabilityMinor => p.minor,
        A::hipDeviceAttributeMultiGpuBoardGroupID => p.multiGpuBoardGroupID,
        A::hipDeviceAttributeMultiprocessorCount => p.multiProcessorCount,
        A::hipDeviceAttributePageableMemoryAccess => p.pageableMemoryAccess,
        A::hipDeviceAttributePageableMemoryAccessUsesHostPageTables => {
            p.pageableMemoryAccessUsesHostPageTables
        }
        A::hipDeviceAttributePciBusId => p.pciBusID,
        A::hipDeviceAttributePciDeviceId => p.pciDeviceID,
        A::hipDeviceAttributePciDomainId => p.pciDomainID,
        A::hipDeviceAttributePersistingL2CacheMaxSize => p.persistingL2CacheMaxSize,
        A::hipDeviceAttributeMaxRegistersPerBlock => p.regsPerBlock,
        A::hipDeviceAttributeMaxRegistersPerMultiprocessor => p.regsPerMultiprocessor,
        A::hipDeviceAttributeReservedSharedMemPerBlock => int(p.reservedSharedMemPerBlock),
        A::hipDeviceAttributeMaxSharedMemoryPerBlock => int(p.sharedMemPerBlock),
        A::hipDeviceAttributeSharedMemPerBlockOptin => int(p.sharedMemPerBlockOptin),
        A::hipDeviceAttributeSharedMemPerMultiprocessor => int(p.sharedMemPerMultiprocessor),
        A::hipDeviceAttributeSingleToDoublePrecisionPerfRatio => p.singleToDoublePrecisionPerfRatio,
        A::hipDeviceAttributeStreamPrioritiesSupported => p.streamPrioritiesSupported,
        A::hipDeviceAttributeSurfaceAlignment => int(p.surfaceAlignment),
        A::hipDeviceAttributeTccDriver => p.tccDriver,
        A::hipDeviceAttributeTextureAlignment => int(p.textureAlignment),
        A::hipDeviceAttributeTexturePitchAlignment => int(p.texturePitchAlignment),
        A::hipDeviceAttributeTotalConstantMemory => int(p.totalConstMem),
        A::hipDeviceAttributeTotalGlobalMem => int(p.totalGlobalMem),
        A::hipDeviceAttributeUnifiedAddressing => p.unifiedAddressing,
        A::hipDeviceAttributeWarpSize => p.warpSize,
        A::hipDeviceAttributeMemoryPoolsSupported => p.memoryPoolsSupported,
        A::hipDeviceAttributeVirtualMemoryManagementSupported => runtime()?.hsa.has_virtual_memory().into(),
        A::hipDeviceAttributeHostRegisterSupported => p.hostRegisterSupported,
        A::hipDeviceAttributeMemoryPoolSupportedHandleTypes => int(p.memoryPoolSupportedHandleTypes),
        A::hipDeviceAttributeHostNumaId => -1,
        A::hipDeviceAttributeClockInstructionRate | A::hipDeviceAttributeWallClockRate => {
            p.clockInstructionRate
        }
        A::hipDeviceAttributeMaxSharedMemoryPerMultiprocessor => int(p.maxSharedMemoryPerMultiProcessor),
        A::hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc => p.cooperativeMultiDeviceUnmatchedFunc,
        A::hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim => {
            p.cooperativeMultiDeviceUnmatchedGridDim
        }
        A::hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim => {
            p.cooperativeMultiDeviceUnmatchedBlockDim
        }
        A::hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem => {
            p.cooperativeMultiDeviceUnmatchedSharedMem
        }
        A::hipDeviceAttributeIsLargeBar => p.isLargeBar,
        A::hipDeviceAttributeAsicRevision => p.asicRevision,
        A::hipDeviceAttributeCanUseStreamWaitValue => device.host_visible.into(),
        A::hipDeviceAttributeImageSupport => i32::from(info.images.exist()),
        A::hipDeviceAttributePhysicalMultiProcessorCount => p.multiProcessorCount,
        A::hipDeviceAttributeFineGrainSupport => i32::from(device.fine_pool.is_some()),
        A::hipDeviceAttributeNumberOfXccs => int(info.xccs),
        A::hipDeviceAttributeMaxAvailableVgprsPerThread => {
            let known = Processor::by_name(&info.target.processor).and_then(|row| row.limits);
            known.map_or(256, |limits| int(limits.max_vgprs))
        }
        A::hipDeviceAttributePciChipId => int(info.chip_id),
        // Register pointers do not fit an int, and a LUID is not a number; the properties contain them.
        _ => return None,
    })
}

/// `hipGetDevicePropertiesR0600`.
pub(crate) unsafe extern "C" fn hipGetDevicePropertiesR0600(
    out: *mut hipDeviceProp_tR0600,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = properties(device);
        Ok(())
    })
}

/// `hipGetDeviceProperties`: the layout of HIP 5; programs compiled with newer headers call the function
/// above.
pub(crate) unsafe extern "C" fn hipGetDeviceProperties(
    out: *mut hipDeviceProp_tR0000,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(ordinal)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = old_properties(device);
        Ok(())
    })
}

/// `hipDeviceGetAttribute`. Two attributes, the registers that flush the host's data path, are pointers of
/// eight bytes, as in AMD's library.
pub(crate) unsafe extern "C" fn hipDeviceGetAttribute(
    value: *mut i32,
    which: hipDeviceAttribute_t,
    ordinal: i32,
) -> hipError_t {
    entry(|| {
        let device = by_ordinal(ordinal)?;
        use hipDeviceAttribute_t as A;
        let register = match which {
            A::hipDeviceAttributeHdpMemFlushCntl => Some(&device.info.hdp_mem_flush),
            A::hipDeviceAttributeHdpRegFlushCntl => Some(&device.info.hdp_reg_flush),
            _ => None,
        };
        // SAFETY: the caller passes null or a valid place; for these two attributes, of a pointer.
        unsafe {
            match register {
                Some(register) => *caller::place(value.cast::<*mut u32>())? = register.0,
                None => *caller::place(value)? = attribute(device, which).ok_or(INVALID_VALUE)?,
            }
        }
        Ok(())
    })
}

/// `hipChooseDeviceR0600`: the first device that meets the request, else the current one.
pub(crate) unsafe extern "C" fn hipChooseDeviceR0600(
    ordinal: *mut i32,
    wanted: *const hipDeviceProp_tR0600,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (ordinal, wanted) = unsafe { (caller::place(ordinal)?, caller::value(wanted)?) };
        *ordinal = choose(runtime, wanted)?;
        Ok(())
    })
}

/// `hipChooseDevice`: as [`hipChooseDeviceR0600`], with the layout of HIP 5.
pub(crate) unsafe extern "C" fn hipChooseDevice(
    ordinal: *mut i32,
    wanted: *const hipDeviceProp_tR0000,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (ordinal, wanted) = unsafe { (caller::place(ordinal)?, caller::value(wanted)?) };
        *ordinal = choose(runtime, &hipDeviceProp_tR0600::of_5(wanted))?;
        Ok(())
    })
}

/// The ordinal of the first device that meets the request, else of the current one.
fn choose(runtime: &'static Runtime, wanted: &hipDeviceProp_tR0600) -> Result<i32> {
    let found = devices::all(runtime).into_iter().find(|device| {
        let p = properties(device);
        p.totalGlobalMem >= wanted.totalGlobalMem
            && p.sharedMemPerBlock >= wanted.sharedMemPerBlock
            && p.maxThreadsPerBlock >= wanted.maxThreadsPerBlock
            && p.multiProcessorCount >= wanted.multiProcessorCount
            && (p.major, p.minor) >= (wanted.major, wanted.minor)
            && (wanted.warpSize == 0 || p.warpSize == wanted.warpSize)
    });
    match found {
        Some(device) => Ok(device.ordinal),
        None => Ok(current_device(runtime)?.ordinal),
    }
}
