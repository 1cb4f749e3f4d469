//! Nodes that allocate and free, and the memory that graphs keep.

use std::ffi::c_void;

use hip_sys::{
    hipError_t, hipGraph_t, hipGraphMemAttributeType, hipGraphNode_t, hipMemAllocNodeParams,
    hipMemAllocationHandleType, hipMemAllocationType, hipMemLocation, hipMemLocationType, hipMemPoolProps,
};

use crate::api::graph::edit::{add_node, read};
use crate::caller;
use crate::devices::device::by_ordinal;
use crate::error::entry;
use crate::graph::memory::{Usage, allocation, free};
use crate::graph::op::Op;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// `hipGraphAddMemAllocNode`: the address is written to the parameters at once.
pub(crate) unsafe extern "C" fn hipGraphAddMemAllocNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    parameters: *mut hipMemAllocNodeParams,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |runtime| allocation(runtime, parameters)) })
}

/// `hipGraphMemAllocNodeGetParams`: without access descriptors.
pub(crate) unsafe extern "C" fn hipGraphMemAllocNodeGetParams(
    node: hipGraphNode_t,
    out: *mut hipMemAllocNodeParams,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = read(node, |op| {
            let Op::Allocate(memory) = op else { return Err(INVALID_VALUE) };
            let location = hipMemLocation {
                type_: hipMemLocationType::hipMemLocationTypeDevice,
                id: memory.device.ordinal,
            };
            Ok(hipMemAllocNodeParams {
                poolProps: hipMemPoolProps {
                    allocType: hipMemAllocationType::hipMemAllocationTypePinned,
                    handleTypes: hipMemAllocationHandleType::hipMemHandleTypeNone,
                    location,
                    ..hipMemPoolProps::default()
                },
                accessDescs: std::ptr::null(),
                accessDescCount: 0,
                bytesize: memory.size,
                dptr: memory.base as *mut c_void,
            })
        })?;
        Ok(())
    })
}

/// `hipGraphAddMemFreeNode`: memory that a graph allocates.
pub(crate) unsafe extern "C" fn hipGraphAddMemFreeNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    pointer: *mut c_void,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    entry(|| unsafe { add_node(out, graph, dependencies, count, |_| free(pointer)) })
}

/// `hipDrvGraphAddMemFreeNode`.
pub(crate) unsafe extern "C" fn hipDrvGraphAddMemFreeNode(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    count: usize,
    pointer: hip_sys::hipDeviceptr_t,
) -> hipError_t {
    // SAFETY: the caller keeps the contract of the function.
    unsafe { hipGraphAddMemFreeNode(out, graph, dependencies, count, pointer) }
}

/// `hipGraphMemFreeNodeGetParams`: writes a pointer to where `out` points.
pub(crate) unsafe extern "C" fn hipGraphMemFreeNodeGetParams(
    node: hipGraphNode_t,
    out: *mut c_void,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place for a pointer.
        let out = unsafe { caller::place(out.cast::<*mut c_void>()) }?;
        *out = read(node, |op| match op {
            Op::Free(address) => Ok(*address),
            _ => Err(INVALID_VALUE),
        })? as *mut c_void;
        Ok(())
    })
}

/// `hipDeviceGetGraphMemAttribute`: bytes, as a 64-bit number.
pub(crate) unsafe extern "C" fn hipDeviceGetGraphMemAttribute(
    device: i32,
    attribute: hipGraphMemAttributeType,
    value: *mut c_void,
) -> hipError_t {
    entry(|| {
        type A = hipGraphMemAttributeType;
        // SAFETY: the caller passes null or a valid place for the number.
        let value = unsafe { caller::place(value.cast::<u64>()) }?;
        let bytes = *Usage::of(by_ordinal(device)?).lock();
        *value = match attribute {
            A::hipGraphMemAttrUsedMemCurrent => bytes.used,
            A::hipGraphMemAttrUsedMemHigh => bytes.used_high,
            A::hipGraphMemAttrReservedMemCurrent => bytes.reserved(),
            A::hipGraphMemAttrReservedMemHigh => bytes.reserved_high,
            _ => return Err(INVALID_VALUE),
        };
        Ok(())
    })
}

/// `hipDeviceSetGraphMemAttribute`: 0 resets a high-water mark to the current value; nothing else can be set.
pub(crate) unsafe extern "C" fn hipDeviceSetGraphMemAttribute(
    device: i32,
    attribute: hipGraphMemAttributeType,
    value: *mut c_void,
) -> hipError_t {
    entry(|| {
        type A = hipGraphMemAttributeType;
        // SAFETY: the caller passes null or a valid number.
        let value = *unsafe { caller::value(value.cast::<u64>()) }?;
        let mut bytes = Usage::of(by_ordinal(device)?).lock();
        if value != 0 {
            return Err(INVALID_VALUE);
        }
        match attribute {
            A::hipGraphMemAttrUsedMemHigh => bytes.used_high = bytes.used,
            A::hipGraphMemAttrReservedMemHigh => bytes.reserved_high = bytes.reserved(),
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

/// `hipDeviceGraphMemTrim`: freed memory is no longer reserved.
pub(crate) unsafe extern "C" fn hipDeviceGraphMemTrim(device: i32) -> hipError_t {
    entry(|| {
        Usage::of(by_ordinal(device)?).lock().idle = 0;
        Ok(())
    })
}
