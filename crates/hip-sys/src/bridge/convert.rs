//! Conversions between older layouts and values and those of the bindings.
//!
//! The types of HIP 5 are those of `v5_7` for every minor version: `v5_2` has the same types under other
//! names.

use std::ffi::{c_int, c_uint};
use std::mem::{offset_of, transmute};

use crate::bindings::*;
use crate::legacy::{v5_2, v5_7, v6_4};

/// The result of a conversion, or the error to return instead of calling the library.
pub(super) type Converted<T> = Result<T, hipError_t>;

/// A layout of 5.2 that is the same as 5.7's.
macro_rules! same_layout {
    ($name:ident: $($field:ident)*) => {
        const _: () = {
            assert!(size_of::<v5_2::$name>() == size_of::<v5_7::$name>());
            $(assert!(offset_of!(v5_2::$name, $field) == offset_of!(v5_7::$name, $field));)*
        };
    };
}
same_layout!(hipPointerAttribute_t: device devicePointer hostPointer isManaged allocationFlags);
same_layout!(hip_Memcpy2D: srcMemoryType srcHost dstMemoryType dstHost Height);
same_layout!(HIP_MEMCPY3D: srcMemoryType srcHost srcPitch dstXInBytes dstMemoryType dstHost WidthInBytes Depth);
const _: () = assert!(size_of::<hipKernelNodeAttrValue>() == size_of::<v6_4::hipLaunchAttributeValue>());

/// Assigns the fields that two structures share.
macro_rules! assign {
    ($to:ident = $from:ident: $($field:ident)*) => { $($to.$field = $from.$field;)* };
}

/// Assigns the device properties that the structures of HIP 5 and HIP 6 share.
macro_rules! assign_properties {
    ($to:ident = $from:ident) => {
        assign!($to = $from:
            name totalGlobalMem sharedMemPerBlock regsPerBlock warpSize maxThreadsPerBlock maxThreadsDim maxGridSize
            clockRate memoryClockRate memoryBusWidth totalConstMem major minor multiProcessorCount l2CacheSize
            maxThreadsPerMultiProcessor computeMode clockInstructionRate arch concurrentKernels pciDomainID pciBusID
            pciDeviceID maxSharedMemoryPerMultiProcessor isMultiGpuBoard canMapHostMemory gcnArchName integrated
            cooperativeLaunch cooperativeMultiDeviceLaunch maxTexture1DLinear maxTexture1D maxTexture2D maxTexture3D
            hdpMemFlushCntl hdpRegFlushCntl memPitch textureAlignment texturePitchAlignment kernelExecTimeoutEnabled
            ECCEnabled tccDriver cooperativeMultiDeviceUnmatchedFunc cooperativeMultiDeviceUnmatchedGridDim
            cooperativeMultiDeviceUnmatchedBlockDim cooperativeMultiDeviceUnmatchedSharedMem isLargeBar
            asicRevision managedMemory directManagedMemAccessFromHost concurrentManagedAccess pageableMemoryAccess
            pageableMemoryAccessUsesHostPageTables)
    };
}

impl hipDeviceProp_tR0600 {
    /// From the form of HIP 5; fields that it lacks are zero.
    pub fn of_5(old: &hipDeviceProp_tR0000) -> Self {
        let mut new = Self::default();
        assign_properties!(new = old);
        new
    }
}

impl hipDeviceProp_tR0000 {
    /// From the form of HIP 6 and 7, which lacks `gcnArch`; it becomes zero.
    pub fn of_6(new: &hipDeviceProp_tR0600) -> Self {
        let mut old = Self::default();
        assign_properties!(old = new);
        old
    }
}

/// The number of a device attribute in HIP 5. `None` if HIP 5 has another attribute under the number, which
/// writes texts of up to 256 bytes.
pub(super) fn device_attribute_to_5(attribute: hipDeviceAttribute_t) -> Option<hipDeviceAttribute_t> {
    const OTHERS: [hipDeviceAttribute_t; 5] = [
        hipDeviceAttribute_t::hipDeviceAttributeUnused1,
        hipDeviceAttribute_t::hipDeviceAttributeUnused2,
        hipDeviceAttribute_t::hipDeviceAttributeUnused3,
        hipDeviceAttribute_t::hipDeviceAttributeUnused4,
        hipDeviceAttribute_t::hipDeviceAttributeUnused5,
    ];
    (!OTHERS.contains(&attribute)).then_some(attribute)
}

/// The number of a device attribute in HIP 7.0; `None` if it has no such attribute.
pub(super) fn device_attribute_to_7_0(attribute: hipDeviceAttribute_t) -> Option<hipDeviceAttribute_t> {
    match attribute {
        // 7.0 has the chip's number where 7.1 has the registers.
        hipDeviceAttribute_t::hipDeviceAttributePciChipId => {
            Some(hipDeviceAttribute_t::hipDeviceAttributeMaxAvailableVgprsPerThread)
        }
        hipDeviceAttribute_t::hipDeviceAttributeMaxAvailableVgprsPerThread => None,
        other => Some(other),
    }
}

/// The flags of `hipIpcOpenMemHandle` in HIP 5, whose only flag has the value 0.
pub(super) fn ipc_flags_to_5(flags: c_uint) -> c_uint {
    if flags == hipIpcMemLazyEnablePeerAccess { v5_7::hipIpcMemLazyEnablePeerAccess } else { flags }
}

pub(super) fn memory_type_of_5(old: v5_7::hipMemoryType) -> hipMemoryType {
    match old {
        v5_7::hipMemoryType::hipMemoryTypeHost => hipMemoryType::hipMemoryTypeHost,
        v5_7::hipMemoryType::hipMemoryTypeDevice => hipMemoryType::hipMemoryTypeDevice,
        v5_7::hipMemoryType::hipMemoryTypeArray => hipMemoryType::hipMemoryTypeArray,
        v5_7::hipMemoryType::hipMemoryTypeUnified => hipMemoryType::hipMemoryTypeUnified,
        v5_7::hipMemoryType::hipMemoryTypeManaged => hipMemoryType::hipMemoryTypeManaged,
        _ => hipMemoryType::hipMemoryTypeUnregistered,
    }
}

fn memory_type_to_5(new: hipMemoryType) -> Converted<v5_7::hipMemoryType> {
    Ok(match new {
        hipMemoryType::hipMemoryTypeHost => v5_7::hipMemoryType::hipMemoryTypeHost,
        hipMemoryType::hipMemoryTypeDevice => v5_7::hipMemoryType::hipMemoryTypeDevice,
        hipMemoryType::hipMemoryTypeArray => v5_7::hipMemoryType::hipMemoryTypeArray,
        hipMemoryType::hipMemoryTypeUnified => v5_7::hipMemoryType::hipMemoryTypeUnified,
        hipMemoryType::hipMemoryTypeManaged => v5_7::hipMemoryType::hipMemoryTypeManaged,
        _ => return Err(hipError_t::hipErrorInvalidValue),
    })
}

pub(super) fn pointer_attributes_of_5(old: &v5_7::hipPointerAttribute_t) -> hipPointerAttribute_t {
    // SAFETY: both members of the union are the memory type, under two names.
    let memory_type = unsafe { old.__bindgen_anon_1.type_ };
    let mut new = hipPointerAttribute_t { type_: memory_type_of_5(memory_type), ..Default::default() };
    assign!(new = old: device devicePointer hostPointer isManaged allocationFlags);
    new
}

pub(super) fn copy_2d_to_5(new: &hip_Memcpy2D) -> Converted<v5_7::hip_Memcpy2D> {
    let mut old = v5_7::hip_Memcpy2D {
        srcMemoryType: memory_type_to_5(new.srcMemoryType)?,
        dstMemoryType: memory_type_to_5(new.dstMemoryType)?,
        ..Default::default()
    };
    assign!(old = new:
        srcXInBytes srcY srcHost srcDevice srcArray srcPitch
        dstXInBytes dstY dstHost dstDevice dstArray dstPitch WidthInBytes Height);
    Ok(old)
}

/// A copy, whose sizes are 32 bits wide in HIP 5. Larger ones are an error.
pub(super) fn copy_3d_to_5(new: &HIP_MEMCPY3D) -> Converted<v5_7::HIP_MEMCPY3D> {
    let mut old = v5_7::HIP_MEMCPY3D {
        srcMemoryType: memory_type_to_5(new.srcMemoryType)?,
        dstMemoryType: memory_type_to_5(new.dstMemoryType)?,
        ..Default::default()
    };
    assign!(old = new: srcHost srcDevice srcArray dstHost dstDevice dstArray);
    macro_rules! narrow {
        ($($field:ident)*) => {
            $(old.$field = c_uint::try_from(new.$field).map_err(|_| hipError_t::hipErrorInvalidValue)?;)*
        };
    }
    narrow!(srcXInBytes srcY srcZ srcLOD srcPitch srcHeight);
    narrow!(dstXInBytes dstY dstZ dstLOD dstPitch dstHeight);
    narrow!(WidthInBytes Height Depth);
    Ok(old)
}

/// The properties of a memory pool. HIP 5 cannot limit its size, so a limit is an error.
pub(super) fn pool_to_5(new: &hipMemPoolProps) -> Converted<v5_7::hipMemPoolProps> {
    if new.maxSize != 0 {
        return Err(hipError_t::hipErrorNotSupported);
    }
    let mut old = v5_7::hipMemPoolProps::default();
    assign!(old = new: allocType handleTypes location win32SecurityAttributes);
    let common = new.reserved.len();
    old.reserved[..common].copy_from_slice(&new.reserved);
    Ok(old)
}

pub(super) fn pool_of_5(old: &v5_7::hipMemPoolProps) -> hipMemPoolProps {
    let mut new = hipMemPoolProps::default();
    assign!(new = old: allocType handleTypes location win32SecurityAttributes);
    let common = new.reserved.len();
    new.reserved.copy_from_slice(&old.reserved[..common]);
    new
}

pub(super) fn allocation_node_of_5(old: &v5_7::hipMemAllocNodeParams) -> hipMemAllocNodeParams {
    let mut new = hipMemAllocNodeParams { poolProps: pool_of_5(&old.poolProps), ..Default::default() };
    assign!(new = old: accessDescs accessDescCount bytesize dptr);
    new
}

/// The properties of an allocation. HIP 5.2 has no direct access by other devices, so requesting it is an
/// error.
pub(super) fn allocation_to_5_2(new: &hipMemAllocationProp) -> Converted<v5_2::hipMemAllocationProp> {
    if new.allocFlags.gpuDirectRDMACapable != 0 {
        return Err(hipError_t::hipErrorNotSupported);
    }
    // SAFETY: both members of the union are the handle types, under two names.
    let handle_type = unsafe { new.__bindgen_anon_1.requestedHandleType };
    let mut old = v5_2::hipMemAllocationProp {
        compressionType: new.allocFlags.compressionType,
        requestedHandleType: handle_type,
        usage: new.allocFlags.usage,
        ..Default::default()
    };
    assign!(old = new: type_ location win32HandleMetaData);
    Ok(old)
}

pub(super) fn allocation_of_5_2(old: &v5_2::hipMemAllocationProp) -> hipMemAllocationProp {
    let mut new = hipMemAllocationProp {
        __bindgen_anon_1: hipMemAllocationProp__bindgen_ty_1 { requestedHandleType: old.requestedHandleType },
        allocFlags: hipMemAllocationProp__bindgen_ty_2 {
            compressionType: old.compressionType,
            gpuDirectRDMACapable: 0,
            usage: old.usage,
        },
        ..Default::default()
    };
    assign!(new = old: type_ location win32HandleMetaData);
    new
}

/// The description of external memory. A kind of handle newer than HIP 5 is an error.
pub(super) fn external_memory_to_5(
    new: &hipExternalMemoryHandleDesc_st,
) -> Converted<v5_7::hipExternalMemoryHandleDesc_st> {
    if new.type_ == hipExternalMemoryHandleType::hipExternalMemoryHandleTypeNvSciBuf {
        return Err(hipError_t::hipErrorNotSupported);
    }
    let mut old = v5_7::hipExternalMemoryHandleDesc_st {
        // SAFETY: both are unions of a file descriptor and two pointers, and the same bytes.
        handle: unsafe {
            transmute::<
                hipExternalMemoryHandleDesc_st__bindgen_ty_1,
                v5_7::hipExternalMemoryHandleDesc_st__bindgen_ty_1,
            >(new.handle)
        },
        ..Default::default()
    };
    assign!(old = new: type_ size flags);
    Ok(old)
}

pub(super) fn external_buffer_to_5(
    new: &hipExternalMemoryBufferDesc_st,
) -> Converted<v5_7::hipExternalMemoryBufferDesc_st> {
    let mut old = v5_7::hipExternalMemoryBufferDesc_st::default();
    assign!(old = new: offset size flags);
    Ok(old)
}

/// The description of an external semaphore. A kind of handle newer than HIP 5 is an error.
pub(super) fn external_semaphore_to_5(
    new: &hipExternalSemaphoreHandleDesc_st,
) -> Converted<v5_7::hipExternalSemaphoreHandleDesc_st> {
    use hipExternalSemaphoreHandleType as Kind;
    const LATER: [Kind; 6] = [
        Kind::hipExternalSemaphoreHandleTypeD3D11Fence,
        Kind::hipExternalSemaphoreHandleTypeNvSciSync,
        Kind::hipExternalSemaphoreHandleTypeKeyedMutex,
        Kind::hipExternalSemaphoreHandleTypeKeyedMutexKmt,
        Kind::hipExternalSemaphoreHandleTypeTimelineSemaphoreFd,
        Kind::hipExternalSemaphoreHandleTypeTimelineSemaphoreWin32,
    ];
    if LATER.contains(&new.type_) {
        return Err(hipError_t::hipErrorNotSupported);
    }
    let mut old = v5_7::hipExternalSemaphoreHandleDesc_st {
        // SAFETY: both are unions of a file descriptor and two pointers, and the same bytes.
        handle: unsafe {
            transmute::<
                hipExternalSemaphoreHandleDesc_st__bindgen_ty_1,
                v5_7::hipExternalSemaphoreHandleDesc_st__bindgen_ty_1,
            >(new.handle)
        },
        ..Default::default()
    };
    assign!(old = new: type_ flags);
    Ok(old)
}

/// The parameters of a signal, without those for kinds of semaphores that HIP 5 lacks.
pub(super) fn signal_to_5(
    new: &hipExternalSemaphoreSignalParams_st,
) -> v5_7::hipExternalSemaphoreSignalParams_st {
    let mut old = v5_7::hipExternalSemaphoreSignalParams_st::default();
    old.params.fence.value = new.params.fence.value;
    old.params.keyedMutex.key = new.params.keyedMutex.key;
    old.params.reserved = new.params.reserved;
    assign!(old = new: flags reserved);
    old
}

/// The parameters of a wait, without those for kinds of semaphores that HIP 5 lacks.
pub(super) fn wait_to_5(new: &hipExternalSemaphoreWaitParams_st) -> v5_7::hipExternalSemaphoreWaitParams_st {
    let mut old = v5_7::hipExternalSemaphoreWaitParams_st::default();
    old.params.fence.value = new.params.fence.value;
    old.params.keyedMutex.key = new.params.keyedMutex.key;
    old.params.keyedMutex.timeoutMs = new.params.keyedMutex.timeoutMs;
    old.params.reserved = new.params.reserved;
    assign!(old = new: flags reserved);
    old
}

/// HIP 5.2's kinds of graph nodes. Every other version treats its one-dimensional copies as copies.
pub(super) fn node_type_of_5_2(old: v5_2::hipGraphNodeType) -> hipGraphNodeType {
    use v5_2::hipGraphNodeType as Old;
    match old {
        Old::hipGraphNodeTypeKernel => hipGraphNodeType::hipGraphNodeTypeKernel,
        Old::hipGraphNodeTypeMemcpy | Old::hipGraphNodeTypeMemcpy1D => {
            hipGraphNodeType::hipGraphNodeTypeMemcpy
        }
        Old::hipGraphNodeTypeMemset => hipGraphNodeType::hipGraphNodeTypeMemset,
        Old::hipGraphNodeTypeHost => hipGraphNodeType::hipGraphNodeTypeHost,
        Old::hipGraphNodeTypeGraph => hipGraphNodeType::hipGraphNodeTypeGraph,
        Old::hipGraphNodeTypeEmpty => hipGraphNodeType::hipGraphNodeTypeEmpty,
        Old::hipGraphNodeTypeWaitEvent => hipGraphNodeType::hipGraphNodeTypeWaitEvent,
        Old::hipGraphNodeTypeEventRecord => hipGraphNodeType::hipGraphNodeTypeEventRecord,
        Old::hipGraphNodeTypeMemcpyFromSymbol => hipGraphNodeType::hipGraphNodeTypeMemcpyFromSymbol,
        Old::hipGraphNodeTypeMemcpyToSymbol => hipGraphNodeType::hipGraphNodeTypeMemcpyToSymbol,
        _ => hipGraphNodeType::hipGraphNodeTypeCount,
    }
}

/// The kinds of graph nodes of HIP 5.3 and 5.4, which lack allocations, so later kinds have other numbers.
pub(super) fn node_type_of_5_3(old: v5_2::hipGraphNodeType) -> hipGraphNodeType {
    match old.0 {
        0..=9 => hipGraphNodeType(old.0),
        10 => hipGraphNodeType::hipGraphNodeTypeMemcpyFromSymbol,
        11 => hipGraphNodeType::hipGraphNodeTypeMemcpyToSymbol,
        _ => hipGraphNodeType::hipGraphNodeTypeCount,
    }
}

/// The value of a launch attribute in 32 bytes.
pub(super) fn launch_value_to_6(
    attribute: hipLaunchAttributeID,
    new: &hipLaunchAttributeValue,
) -> Converted<v6_4::hipLaunchAttributeValue> {
    let mut old = v6_4::hipLaunchAttributeValue::default();
    // SAFETY: the attribute says which member the caller has set.
    unsafe {
        match attribute {
            hipLaunchAttributeID::hipLaunchAttributeAccessPolicyWindow => {
                old.accessPolicyWindow = new.accessPolicyWindow;
            }
            hipLaunchAttributeID::hipLaunchAttributeCooperative => old.cooperative = new.cooperative,
            hipLaunchAttributeID::hipLaunchAttributePriority => old.priority = new.priority,
            _ => return Err(hipError_t::hipErrorNotSupported),
        }
    }
    Ok(old)
}

/// The value of a launch attribute in 64 bytes.
pub(super) fn launch_value_of_6(
    attribute: hipLaunchAttributeID,
    old: &v6_4::hipLaunchAttributeValue,
) -> hipLaunchAttributeValue {
    let mut new = hipLaunchAttributeValue::default();
    // SAFETY: the union was zeros before the library wrote to it, so every member has a value.
    unsafe {
        match attribute {
            hipLaunchAttributeID::hipLaunchAttributeCooperative => new.cooperative = old.cooperative,
            hipLaunchAttributeID::hipLaunchAttributePriority => new.priority = old.priority,
            _ => new.accessPolicyWindow = old.accessPolicyWindow,
        }
    }
    new
}

/// The launch attributes that kernel nodes have before HIP 6, and before HIP 7.
pub(super) fn has_launch_attribute(is_5: bool, attribute: hipLaunchAttributeID) -> bool {
    match attribute {
        hipLaunchAttributeID::hipLaunchAttributeAccessPolicyWindow
        | hipLaunchAttributeID::hipLaunchAttributeCooperative => true,
        hipLaunchAttributeID::hipLaunchAttributePriority => !is_5,
        _ => false,
    }
}

pub(super) fn memset_to_6(new: &hipMemsetParams) -> Converted<HIP_MEMSET_NODE_PARAMS> {
    let mut old = HIP_MEMSET_NODE_PARAMS::default();
    assign!(old = new: dst pitch value elementSize width height);
    Ok(old)
}

/// How many elements of a format fit in a one-dimensional linear texture of a size in bytes.
pub(super) fn texture_width(bytes: c_int, format: &hipChannelFormatDesc) -> Converted<usize> {
    let bits: i64 = [format.x, format.y, format.z, format.w].into_iter().map(i64::from).sum();
    match usize::try_from(bits / 8) {
        Ok(size) if size > 0 => Ok(usize::try_from(bytes).unwrap_or(0) / size),
        _ => Err(hipError_t::hipErrorInvalidValue),
    }
}
