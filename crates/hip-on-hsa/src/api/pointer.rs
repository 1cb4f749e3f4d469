//! Queries about pointers: the memory that they point to, its location and owner.

use std::ffi::c_void;

use hip_sys::{
    hipDeviceptr_t, hipError_t, hipMemAccessFlags, hipMemRangeHandleType, hipMemoryType,
    hipPointer_attribute, hipPointerAttribute_t,
};

use crate::caller;
use crate::caller::Access;
use crate::error::{Result, entry};
use crate::memory::allocation::{Allocation, Origin, memory};
use crate::object::array::arrays;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;

/// The kind of an allocation's memory, and its host address if it has one.
fn kind_of(found: &Allocation, offset: usize) -> (hipMemoryType, *mut c_void) {
    let host = (found.base + offset) as *mut c_void;
    match found.origin {
        Origin::Device | Origin::Global | Origin::Mapped | Origin::Imported | Origin::External => {
            (hipMemoryType::hipMemoryTypeDevice, std::ptr::null_mut())
        }
        Origin::Array => (hipMemoryType::hipMemoryTypeArray, std::ptr::null_mut()),
        Origin::Managed => (hipMemoryType::hipMemoryTypeManaged, host),
        Origin::Host | Origin::Registered | Origin::Signal => (hipMemoryType::hipMemoryTypeHost, host),
    }
}

/// `hipInvalidDeviceId`.
const INVALID_DEVICE: i32 = -2;

/// The answer of `hipPointerGetAttributes` for memory unknown to HIP.
const UNREGISTERED: hipPointerAttribute_t = hipPointerAttribute_t {
    type_: hipMemoryType::hipMemoryTypeUnregistered,
    device: INVALID_DEVICE,
    devicePointer: std::ptr::null_mut(),
    hostPointer: std::ptr::null_mut(),
    isManaged: 0,
    allocationFlags: 0,
};

/// `hipPointerGetAttributes`: memory unknown to HIP is unregistered, as since HIP 6; before, that was an
/// error.
pub(crate) unsafe extern "C" fn hipPointerGetAttributes(
    out: *mut hipPointerAttribute_t,
    pointer: *const c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let Some((found, offset)) = memory(runtime).find(pointer as usize) else {
            *out = UNREGISTERED;
            return Ok(());
        };
        let (kind, host) = kind_of(&found, offset);
        *out = hipPointerAttribute_t {
            type_: kind,
            device: found.device.ordinal,
            devicePointer: (found.device_base + offset) as *mut c_void,
            hostPointer: host,
            isManaged: i32::from(found.origin == Origin::Managed),
            allocationFlags: found.flags,
        };
        Ok(())
    })
}

/// `hipMemGetAddressRange`: start and size of the allocation that contains an address.
pub(crate) unsafe extern "C" fn hipMemGetAddressRange(
    base: *mut hipDeviceptr_t,
    size: *mut usize,
    pointer: hipDeviceptr_t,
) -> hipError_t {
    entry(|| {
        let (found, _) = memory(active()?).find(pointer as usize).ok_or(hipError_t::hipErrorNotFound)?;
        // SAFETY: the caller passes null or valid places.
        unsafe {
            caller::store_optional(base, found.device_base as hipDeviceptr_t)?;
            caller::store_optional(size, found.size)
        }
    })
}

/// `hipMemPtrGetInfo`: size of the allocation that starts at an address.
pub(crate) unsafe extern "C" fn hipMemPtrGetInfo(pointer: *mut c_void, size: *mut usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let size = unsafe { caller::place(size) }?;
        *size = match pointer.is_null() {
            true => 0,
            false => memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?.0.size,
        };
        Ok(())
    })
}

fn size_of_attribute(which: hipPointer_attribute) -> usize {
    type A = hipPointer_attribute;
    match which {
        A::HIP_POINTER_ATTRIBUTE_IS_MANAGED
        | A::HIP_POINTER_ATTRIBUTE_MAPPED
        | A::HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE
        | A::HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => 1,
        A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE
        | A::HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | A::HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        | A::HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS => size_of::<u32>(),
        _ => size_of::<u64>(),
    }
}

/// Whether there is room for the value of an attribute. No value is larger than a word; any alignment is
/// allowed.
fn has_room(data: *mut c_void, which: hipPointer_attribute) -> bool {
    caller::is_accessible(data as usize, size_of_attribute(which), Access::Write)
}

/// An attribute of memory, or of an array, which has only a type.
///
/// # Safety
/// `data` is valid for a value of the attribute's type.
unsafe fn attribute(
    data: *mut c_void,
    which: hipPointer_attribute,
    found: Option<(&Allocation, usize)>,
    is_array: bool,
) -> Result {
    type A = hipPointer_attribute;
    // SAFETY: as this function's contract.
    let put = |value: u32| unsafe { data.cast::<u32>().write_unaligned(value) };
    // SAFETY: as this function's contract.
    let put_pointer = |value: *mut c_void| unsafe { data.cast::<*mut c_void>().write_unaligned(value) };
    // SAFETY: as this function's contract.
    let put_bool = |value: bool| unsafe { data.cast::<bool>().write(value) };
    let Some((found, offset)) = found else {
        if which == A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE && is_array {
            put(hipMemoryType::hipMemoryTypeArray.0);
            return Ok(());
        }
        // This attribute can be queried for any pointer.
        if which != A::HIP_POINTER_ATTRIBUTE_MAPPED {
            return Err(INVALID_VALUE);
        }
        put_bool(false);
        return Ok(());
    };
    let (kind, host) = kind_of(found, offset);
    match which {
        A::HIP_POINTER_ATTRIBUTE_MEMORY_TYPE => put(kind.0),
        A::HIP_POINTER_ATTRIBUTE_DEVICE_POINTER => put_pointer((found.device_base + offset) as *mut c_void),
        A::HIP_POINTER_ATTRIBUTE_HOST_POINTER if host.is_null() => return Err(INVALID_VALUE),
        A::HIP_POINTER_ATTRIBUTE_HOST_POINTER => put_pointer(host),
        A::HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS => put(1),
        // SAFETY: as this function's contract.
        A::HIP_POINTER_ATTRIBUTE_BUFFER_ID => unsafe { data.cast::<u64>().write_unaligned(found.serial) },
        A::HIP_POINTER_ATTRIBUTE_IS_MANAGED => put_bool(found.origin == Origin::Managed),
        A::HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(found.device.ordinal as u32),
        A::HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR => put_pointer(found.device_base as *mut c_void),
        // SAFETY: as this function's contract.
        A::HIP_POINTER_ATTRIBUTE_RANGE_SIZE => unsafe { data.cast::<usize>().write_unaligned(found.size) },
        A::HIP_POINTER_ATTRIBUTE_MAPPED => put_bool(true),
        A::HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
            put(hipMemAccessFlags::hipMemAccessFlagsProtReadWrite.0);
        }
        A::HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => {
            put_pointer(found.pool.as_ref().map_or(std::ptr::null_mut(), |pool| pool.handle().cast()));
        }
        A::HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE => {
            put_bool(found.origin == Origin::Device && found.pool.is_none());
        }
        A::HIP_POINTER_ATTRIBUTE_CONTEXT
        | A::HIP_POINTER_ATTRIBUTE_P2P_TOKENS
        | A::HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | A::HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => return Err(NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

/// `hipPointerGetAttribute`: unknown memory is an error, except for the attribute "mapped".
pub(crate) unsafe extern "C" fn hipPointerGetAttribute(
    data: *mut c_void,
    which: hipPointer_attribute,
    pointer: hipDeviceptr_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if !has_room(data, which) {
            return Err(INVALID_VALUE);
        }
        let found = memory(runtime).find(pointer as usize);
        let is_array = arrays(runtime).get(pointer.cast()).is_some();
        // SAFETY: the caller's place is one of the attribute's type.
        unsafe { attribute(data, which, found.as_ref().map(|(found, offset)| (&**found, *offset)), is_array) }
    })
}

/// `hipDrvPointerGetAttributes`: attributes that do not exist or that the memory lacks are left unchanged,
/// and those of unknown memory become zero.
pub(crate) unsafe extern "C" fn hipDrvPointerGetAttributes(
    count: u32,
    attributes: *mut hipPointer_attribute,
    data: *mut *mut c_void,
    pointer: hipDeviceptr_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if attributes.is_null() || data.is_null() || count == 0 {
            return Err(INVALID_VALUE);
        }
        let found = memory(runtime).find(pointer as usize);
        let is_array = arrays(runtime).get(pointer.cast()).is_some();
        // SAFETY: the caller's lists have that many entries.
        let (attributes, data) =
            unsafe { (caller::list(attributes, count as usize)?, caller::list(data, count as usize)?) };
        for (&which, &place) in attributes.iter().zip(data) {
            if which.name().is_none() {
                continue;
            }
            if !has_room(place, which) {
                return Err(INVALID_VALUE);
            }
            // SAFETY: the caller's place is one of the attribute's type.
            let result = unsafe {
                attribute(place, which, found.as_ref().map(|(found, offset)| (&**found, *offset)), is_array)
            };
            if result.is_err() && found.is_none() {
                // SAFETY: as above; no attribute of these is smaller.
                unsafe { place.cast::<u8>().write_bytes(0, size_of_attribute(which)) };
            }
        }
        Ok(())
    })
}

/// `hipPointerSetAttribute`: whether synchronous copies of the memory always synchronise, which they always
/// do.
pub(crate) unsafe extern "C" fn hipPointerSetAttribute(
    value: *const c_void,
    which: hipPointer_attribute,
    pointer: hipDeviceptr_t,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let (found, _) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if value.is_null() || which != hipPointer_attribute::HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS {
            return Err(INVALID_VALUE);
        }
        if found.memory_of().is_some() { Ok(()) } else { Err(hipError_t::hipErrorInvalidDevicePointer) }
    })
}

/// `hipMemGetHandleForAddressRange`: a descriptor of a DMA buffer, if HSA exports them.
pub(crate) unsafe extern "C" fn hipMemGetHandleForAddressRange(
    out: *mut c_void,
    pointer: hipDeviceptr_t,
    size: usize,
    kind: hipMemRangeHandleType,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if out.is_null() || size == 0 || kind != hipMemRangeHandleType::hipMemRangeHandleTypeDmaBufFd {
            return Err(INVALID_VALUE);
        }
        let (found, offset) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if flags != 0 || found.memory_of().is_none() || size > found.size - offset {
            return Err(INVALID_VALUE);
        }
        if !caller::is_accessible(out as usize, size_of::<i32>(), Access::Write) {
            return Err(INVALID_VALUE);
        }
        // The buffer consists of whole pages; the caller could not learn the offset of a range that begins
        // elsewhere.
        let (descriptor, start) = runtime.hsa.export_range(pointer, size)?;
        if start != 0 {
            // SAFETY: the descriptor was just made and is not shared yet.
            unsafe { libc::close(descriptor) };
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's place is one for a file descriptor.
        unsafe { caller::put(out, descriptor) }
    })
}
