//! Virtual memory: addresses, memory without addresses, and mappings.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use hip_sys::{
    hipError_t, hipMemAccessDesc, hipMemAccessFlags, hipMemAllocationGranularity_flags,
    hipMemAllocationHandleType, hipMemAllocationProp, hipMemAllocationType, hipMemGenericAllocationHandle_t,
    hipMemLocation, hipMemLocationType,
};
use hsa_sys::{hsa_access_permission_t, hsa_amd_memory_access_desc_t};

use crate::caller;
use crate::devices;
use crate::devices::device::{Device, by_ordinal};
use crate::error::{Result, entry};
use crate::graph;
use crate::memory::allocation::{Allocation, Origin, memory};
use crate::memory::pool::pools;
use crate::memory::virtual_memory::{
    Mapping, Physical, find, granularity, idle_mappings, physical, virtual_memory,
};
use crate::release;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const NOT_SUPPORTED: hipError_t = hipError_t::hipErrorNotSupported;

/// The device of a location; host memory is not supported.
fn device_at(location: hipMemLocation) -> Result<&'static Device> {
    match location.type_ {
        hipMemLocationType::hipMemLocationTypeDevice => by_ordinal(location.id).map_err(|_| INVALID_VALUE),
        hipMemLocationType::hipMemLocationTypeHost
        | hipMemLocationType::hipMemLocationTypeHostNuma
        | hipMemLocationType::hipMemLocationTypeHostNumaCurrent => Err(NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

/// The requested properties: the device and the handle types.
///
/// # Safety
/// `properties` is null or valid for reading.
unsafe fn wanted(
    properties: *const hipMemAllocationProp,
) -> Result<(&'static Device, hipMemAllocationHandleType)> {
    // SAFETY: as this function's contract.
    let properties = unsafe { caller::value(properties) }?;
    // SAFETY: both members are the same number under two names.
    let types = unsafe { properties.__bindgen_anon_1.requestedHandleTypes };
    match properties.type_ {
        hipMemAllocationType::hipMemAllocationTypePinned => {}
        hipMemAllocationType::hipMemAllocationTypeUncached => return Err(NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    }
    let known = hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor;
    if types != hipMemAllocationHandleType::hipMemHandleTypeNone && types != known {
        return Err(NOT_SUPPORTED);
    }
    Ok((device_at(properties.location)?, types))
}

/// `hipMemAddressReserve`: the requested address is only a hint.
pub(crate) unsafe extern "C" fn hipMemAddressReserve(
    out: *mut *mut c_void,
    size: usize,
    alignment: usize,
    address: *mut c_void,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        if flags != 0 || size == 0 || (alignment != 0 && !alignment.is_power_of_two()) {
            return Err(INVALID_VALUE);
        }
        // Addresses begin at pages.
        let alignment = if alignment < caller::PAGE { 0 } else { alignment };
        let start = runtime.hsa.reserve_addresses(size, address as usize, alignment)?;
        virtual_memory(runtime).lock().reserved.insert(start, size);
        *out = start as *mut c_void;
        Ok(())
    })
}

/// `hipMemAddressFree`: a whole reserved range without mappings.
pub(crate) unsafe extern "C" fn hipMemAddressFree(pointer: *mut c_void, size: usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let mut state = virtual_memory(runtime).lock();
        let start = pointer as usize;
        if state.reserved.get(&start) != Some(&size) || state.maps(start, size) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the range was reserved here and nothing is mapped in it.
        unsafe { runtime.hsa.free_addresses(start, size)? };
        state.reserved.remove(&start);
        Ok(())
    })
}

/// `hipMemCreate`: pinned memory of a device.
pub(crate) unsafe extern "C" fn hipMemCreate(
    out: *mut hipMemGenericAllocationHandle_t,
    size: usize,
    properties: *const hipMemAllocationProp,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, (device, handle_types)) = unsafe { (caller::place(out)?, wanted(properties)?) };
        if flags != 0 || size == 0 {
            return Err(INVALID_VALUE);
        }
        if size as u64 > device.info.memory_bytes {
            return Err(hipError_t::hipErrorOutOfMemory);
        }
        if !size.is_multiple_of(granularity(runtime, device).0) {
            return Err(INVALID_VALUE);
        }
        let mut raw = runtime.hsa.create_physical(device.pool, size);
        if raw == Err(hipError_t::hipErrorOutOfMemory) && pools(runtime).release(runtime, device) {
            raw = runtime.hsa.create_physical(device.pool, size);
        }
        let raw = raw?;
        device.allocated.add(size as u64);
        let held = Mutex::default();
        let physical = Arc::new(Physical { raw, size, device, handle_types, held, charged: true });
        *out = physical.hold(runtime)?;
        Ok(())
    })
}

/// `hipMemRelease`: the memory is freed once nothing maps it.
pub(crate) unsafe extern "C" fn hipMemRelease(handle: hipMemGenericAllocationHandle_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let found = find(runtime, handle)?;
        let mut held = found.held();
        held.1 = held.1.checked_sub(1).ok_or(INVALID_VALUE)?;
        if held.1 == 0 {
            physical(runtime).remove(handle as usize);
        }
        Ok(())
    })
}

/// `hipMemMap`: all of the memory at reserved addresses. `hipMemSetAccess` makes it accessible.
pub(crate) unsafe extern "C" fn hipMemMap(
    pointer: *mut c_void,
    size: usize,
    offset: usize,
    handle: hipMemGenericAllocationHandle_t,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let physical = find(runtime, handle)?;
        let start = pointer as usize;
        let end = start.checked_add(size).ok_or(INVALID_VALUE)?;
        let mut state = virtual_memory(runtime).lock();
        let reserved = state.reserved.range(..=start).next_back();
        let reserved = reserved.is_some_and(|(&base, &length)| end <= base + length);
        if flags != 0 || offset != 0 || size != physical.size || !reserved || state.maps(start, size) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the addresses are reserved and nothing is mapped there.
        unsafe { runtime.hsa.map_physical(start, size, physical.raw)? };
        state.mappings.insert(start, Mapping { physical, access: BTreeMap::new() });
        Ok(())
    })
}

/// `hipMemUnmap`: one or several whole mappings. Waits until the devices are idle. After an error, some may
/// still be mapped.
pub(crate) unsafe extern "C" fn hipMemUnmap(pointer: *mut c_void, size: usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        let (mut state, starts) = idle_mappings(runtime, pointer as usize, size, release::waits())?;
        for start in starts {
            let Some(mapping) = state.mappings.get(&start) else { continue };
            let known = memory(runtime).remove(start, &[Origin::Mapped]);
            // SAFETY: the mapping was made here and no device uses it.
            if let Err(code) = unsafe { runtime.hsa.unmap_physical(start, mapping.physical.size) } {
                // The memory is still mapped: a copy must not treat it as host memory.
                if let Some(known) = known {
                    memory(runtime).insert((*known).clone());
                }
                return Err(code);
            }
            state.mappings.remove(&start);
        }
        Ok(())
    })
}

/// `hipMemSetAccess`: sets the access of devices to one or several whole mappings. Waits until the devices
/// are idle.
pub(crate) unsafe extern "C" fn hipMemSetAccess(
    pointer: *mut c_void,
    size: usize,
    list: *const hipMemAccessDesc,
    count: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if list.is_null() || count == 0 || count > devices::count(runtime) {
            return Err(INVALID_VALUE);
        }
        let mut wanted = Vec::new();
        // SAFETY: the caller's list has that many entries.
        for &hipMemAccessDesc { location, flags } in unsafe { caller::list(list, count) }? {
            let permission = match flags {
                hipMemAccessFlags::hipMemAccessFlagsProtNone => {
                    hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE
                }
                hipMemAccessFlags::hipMemAccessFlagsProtRead => {
                    hsa_access_permission_t::HSA_ACCESS_PERMISSION_RO
                }
                hipMemAccessFlags::hipMemAccessFlagsProtReadWrite => {
                    hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW
                }
                _ => return Err(INVALID_VALUE),
            };
            wanted.push((device_at(location)?, flags, permission));
        }
        graph::permit()?;
        let full = hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW;
        let takes = wanted.iter().any(|(.., permission)| *permission != full);
        let (mut state, starts) = idle_mappings(runtime, pointer as usize, size, takes)?;
        for start in starts {
            let Some(mapping) = state.mappings.get_mut(&start) else { continue };
            let Mapping { physical, access } = mapping;
            let mut after = access.clone();
            let mut entries = Vec::new();
            for &(device, flags, permissions) in &wanted {
                after.insert(device.ordinal, flags);
                entries.push(hsa_amd_memory_access_desc_t { permissions, agent_handle: device.agent });
            }
            after.retain(|_, flags| *flags != hipMemAccessFlags::hipMemAccessFlagsProtNone);
            if physical.device.host_visible {
                let permissions = if after.is_empty() {
                    hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE
                } else {
                    hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW
                };
                entries.push(hsa_amd_memory_access_desc_t { permissions, agent_handle: runtime.cpu });
            }
            runtime.hsa.set_physical_access(start, physical.size, &entries)?;
            if after.is_empty() {
                memory(runtime).remove(start, &[Origin::Mapped]);
            } else {
                // Memory that is already known stays the same allocation.
                let known = memory(runtime).find(start).filter(|_| !access.is_empty());
                memory(runtime).insert(Allocation {
                    base: start,
                    size: physical.size,
                    origin: Origin::Mapped,
                    device: physical.device,
                    device_base: start,
                    flags: 0,
                    pool: None,
                    serial: known.map_or(0, |(known, _)| known.serial),
                    access: Some(Arc::new(after.clone())),
                });
            }
            *access = after;
        }
        Ok(())
    })
}

/// `hipMemGetAccess`.
pub(crate) unsafe extern "C" fn hipMemGetAccess(
    flags: *mut u64,
    location: *const hipMemLocation,
    pointer: *mut c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (flags, location) = unsafe { (caller::place(flags)?, caller::value(location)?) };
        let device = device_at(*location)?;
        let state = virtual_memory(runtime).lock();
        let below = state.mappings.range(..=pointer as usize).next_back();
        let found = below.filter(|(start, mapping)| pointer as usize - **start < mapping.physical.size);
        let access = found.ok_or(INVALID_VALUE)?.1.access.get(&device.ordinal).copied();
        *flags = access.unwrap_or(hipMemAccessFlags::hipMemAccessFlagsProtNone).0.into();
        Ok(())
    })
}

/// `hipMemGetAllocationGranularity`.
pub(crate) unsafe extern "C" fn hipMemGetAllocationGranularity(
    out: *mut usize,
    properties: *const hipMemAllocationProp,
    which: hipMemAllocationGranularity_flags,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, (device, _)) = unsafe { (caller::place(out)?, wanted(properties)?) };
        let (least, best) = granularity(runtime, device);
        *out = match which {
            hipMemAllocationGranularity_flags::hipMemAllocationGranularityMinimum => least,
            hipMemAllocationGranularity_flags::hipMemAllocationGranularityRecommended => best,
            _ => return Err(INVALID_VALUE),
        };
        Ok(())
    })
}

/// `hipMemGetAllocationPropertiesFromHandle`.
pub(crate) unsafe extern "C" fn hipMemGetAllocationPropertiesFromHandle(
    out: *mut hipMemAllocationProp,
    handle: hipMemGenericAllocationHandle_t,
) -> hipError_t {
    entry(|| {
        let physical = find(active()?, handle)?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = hipMemAllocationProp {
            type_: hipMemAllocationType::hipMemAllocationTypePinned,
            location: hipMemLocation {
                type_: hipMemLocationType::hipMemLocationTypeDevice,
                id: physical.device.ordinal,
            },
            ..Default::default()
        };
        out.__bindgen_anon_1.requestedHandleTypes = physical.handle_types;
        Ok(())
    })
}

/// `hipMemRetainAllocationHandle`: the handle of the memory mapped at an address, which must be released
/// again.
pub(crate) unsafe extern "C" fn hipMemRetainAllocationHandle(
    out: *mut hipMemGenericAllocationHandle_t,
    pointer: *mut c_void,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let state = virtual_memory(runtime).lock();
        let below = state.mappings.range(..=pointer as usize).next_back();
        let found = below.filter(|(start, mapping)| pointer as usize - **start < mapping.physical.size);
        *out = found.ok_or(INVALID_VALUE)?.1.physical.hold(runtime)?;
        Ok(())
    })
}

/// `hipMemExportToShareableHandle`: a file descriptor, which the caller must close. `hipErrorInvalidValue`
/// for memory created without that handle type.
pub(crate) unsafe extern "C" fn hipMemExportToShareableHandle(
    out: *mut c_void,
    handle: hipMemGenericAllocationHandle_t,
    kind: hipMemAllocationHandleType,
    flags: u64,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let physical = find(runtime, handle)?;
        if kind != hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor {
            return Err(NOT_SUPPORTED);
        }
        if out.is_null() || flags != 0 || physical.handle_types != kind {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out.cast::<i32>()) }?;
        let descriptor = runtime.hsa.export_physical(physical.raw)?;
        *out = descriptor;
        Ok(())
    })
}

/// `hipMemImportFromShareableHandle`: the pointer is the file descriptor's number. The caller still has to
/// close it.
pub(crate) unsafe extern "C" fn hipMemImportFromShareableHandle(
    out: *mut hipMemGenericAllocationHandle_t,
    descriptor: *mut c_void,
    kind: hipMemAllocationHandleType,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        if kind != hipMemAllocationHandleType::hipMemHandleTypePosixFileDescriptor {
            return Err(NOT_SUPPORTED);
        }
        let descriptor = i32::try_from(descriptor as usize).map_err(|_| INVALID_VALUE)?;
        let size = size_of_file(descriptor).ok_or(INVALID_VALUE)?;
        let raw = runtime.hsa.import_physical(descriptor)?;
        let pool = runtime.hsa.physical_pool(raw);
        let owner = |pool: hsa_sys::hsa_amd_memory_pool_t| {
            let of = |device: &&'static Device| {
                device.pool.handle == pool.handle
                    || device.fine_pool.is_some_and(|fine| fine.handle == pool.handle)
            };
            devices::all(runtime).into_iter().find(of)
        };
        let Some(device) = pool.ok().and_then(owner) else {
            // SAFETY: the memory was just imported and is not shared yet.
            let _ = unsafe { runtime.hsa.release_physical(raw) };
            return Err(INVALID_VALUE);
        };
        let held = Mutex::default();
        let physical = Arc::new(Physical { raw, size, device, handle_types: kind, held, charged: false });
        *out = physical.hold(runtime)?;
        Ok(())
    })
}

/// Bytes of a descriptor's memory; DMA buffers report their size through the end position.
fn size_of_file(descriptor: i32) -> Option<usize> {
    // SAFETY: the calls take any number; the position of such files has no meaning.
    let end = unsafe { libc::lseek(descriptor, 0, libc::SEEK_END) };
    usize::try_from(end).ok().filter(|&size| size != 0)
}
