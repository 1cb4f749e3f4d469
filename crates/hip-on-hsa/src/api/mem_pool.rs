//! Memory pools, and stream-ordered allocation.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{
    hipError_t, hipMemAccessDesc, hipMemAccessFlags, hipMemAllocationHandleType, hipMemAllocationType,
    hipMemLocation, hipMemLocationType, hipMemPool_t, hipMemPoolAttr, hipMemPoolProps, hipStream_t,
};

use crate::api::memory::allocate_to;
use crate::api::peer::apply_or_undo;
use crate::caller;
use crate::devices;
use crate::devices::device::{Device, by_ordinal};
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph::Capturing;
use crate::memory::allocation::memory;
use crate::memory::pool::{DevicePools, Pool, State, mem_pools, pools};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The device at a location, or the given code if there is no such device.
fn device_at(location: hipMemLocation, code: hipError_t) -> Result<&'static Device> {
    match location.type_ {
        hipMemLocationType::hipMemLocationTypeDevice => by_ordinal(location.id).map_err(|_| code),
        _ => Err(INVALID_VALUE),
    }
}

/// `hipDeviceGetDefaultMemPool`.
pub(crate) unsafe extern "C" fn hipDeviceGetDefaultMemPool(
    out: *mut hipMemPool_t,
    device: i32,
) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device)?);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = Pool::default_of(runtime, device)?.handle();
        Ok(())
    })
}

/// `hipDeviceGetMemPool`: the pool that `hipMallocAsync` allocates from.
pub(crate) unsafe extern "C" fn hipDeviceGetMemPool(out: *mut hipMemPool_t, device: i32) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device).map_err(|_| INVALID_VALUE)?);
        // SAFETY: the caller passes null or a valid place.
        *unsafe { caller::place(out) }? = Pool::current_of(runtime, device)?.handle();
        Ok(())
    })
}

/// `hipDeviceSetMemPool`: a pool of that device.
pub(crate) unsafe extern "C" fn hipDeviceSetMemPool(device: i32, pool: hipMemPool_t) -> hipError_t {
    entry(|| {
        let (runtime, device) = (active()?, by_ordinal(device).map_err(|_| INVALID_VALUE)?);
        let pool = Pool::find(runtime, pool)?;
        if !std::ptr::eq(pool.device, device) {
            return Err(INVALID_VALUE);
        }
        *DevicePools::of(device).current() = (!pool.is_default).then_some(pool);
        Ok(())
    })
}

/// `hipMemPoolCreate`: of pinned device memory that cannot be shared with other processes.
///
/// `hipErrorNotSupported` for handle types and for memory that is not a device's.
pub(crate) unsafe extern "C" fn hipMemPoolCreate(
    out: *mut hipMemPool_t,
    properties: *const hipMemPoolProps,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or valid places.
        let (out, properties) = unsafe { (caller::place(out)?, caller::value(properties)?) };
        if properties.allocType != hipMemAllocationType::hipMemAllocationTypePinned {
            return Err(INVALID_VALUE);
        }
        if properties.handleTypes != hipMemAllocationHandleType::hipMemHandleTypeNone {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let device = device_at(properties.location, INVALID_VALUE)?;
        let max_size = if properties.maxSize == 0 { u64::MAX } else { properties.maxSize as u64 };
        *out = Pool::new(runtime, device, false, max_size)?.handle();
        Ok(())
    })
}

/// `hipMemPoolDestroy`: returns at once. Memory that the program holds stays valid; the pool's memory returns
/// to HSA when it is free. A default pool cannot be destroyed.
pub(crate) unsafe extern "C" fn hipMemPoolDestroy(pool: hipMemPool_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let found = Pool::find(runtime, pool)?;
        if found.is_default {
            return Err(INVALID_VALUE);
        }
        let found = mem_pools(runtime).remove(pool as usize).ok_or(INVALID_VALUE)?;
        let mut current = DevicePools::of(found.device).current();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &found)) {
            *current = None;
        }
        drop(current);
        let mut state = found.state();
        state.destroyed = true;
        state.threshold = 0;
        drop(state);
        found.trim(runtime, 0);
        Ok(())
    })
}

/// A pool's attribute, and the form in which a program passes it.
enum Value {
    Flag(bool),
    Bytes(u64),
}

fn attribute(state: &State, which: hipMemPoolAttr) -> Result<Value> {
    type A = hipMemPoolAttr;
    Ok(match which {
        A::hipMemPoolReuseFollowEventDependencies => Value::Flag(state.follow_events),
        A::hipMemPoolReuseAllowOpportunistic => Value::Flag(state.opportunistic),
        A::hipMemPoolReuseAllowInternalDependencies => Value::Flag(state.internal_dependencies),
        A::hipMemPoolAttrReleaseThreshold => Value::Bytes(state.threshold),
        A::hipMemPoolAttrReservedMemCurrent => Value::Bytes(state.reserved),
        A::hipMemPoolAttrReservedMemHigh => Value::Bytes(state.reserved_high),
        A::hipMemPoolAttrUsedMemCurrent => Value::Bytes(state.used),
        A::hipMemPoolAttrUsedMemHigh => Value::Bytes(state.used_high),
        _ => return Err(INVALID_VALUE),
    })
}

/// `hipMemPoolGetAttribute`: an `int` for the reuse flags, else a `uint64_t` of bytes.
pub(crate) unsafe extern "C" fn hipMemPoolGetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        let found = attribute(&pool.state(), which)?;
        // SAFETY: the caller's place is one of the attribute's type.
        unsafe {
            match found {
                Value::Flag(flag) => caller::put(value, i32::from(flag)),
                Value::Bytes(bytes) => caller::put(value, bytes),
            }
        }
    })
}

/// `hipMemPoolSetAttribute`: the release threshold, the reuse flags, and the high-water marks, which can only
/// be reset to zero.
pub(crate) unsafe extern "C" fn hipMemPoolSetAttribute(
    pool: hipMemPool_t,
    which: hipMemPoolAttr,
    value: *mut c_void,
) -> hipError_t {
    type A = hipMemPoolAttr;
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        let mut state = pool.state();
        // SAFETY: the caller's place is one of the attribute's type.
        let value = unsafe {
            match attribute(&state, which)? {
                Value::Flag(_) => Value::Flag(*caller::value(value.cast::<i32>())? != 0),
                Value::Bytes(_) => Value::Bytes(*caller::value(value.cast::<u64>())?),
            }
        };
        match (which, value) {
            (A::hipMemPoolReuseFollowEventDependencies, Value::Flag(flag)) => state.follow_events = flag,
            (A::hipMemPoolReuseAllowOpportunistic, Value::Flag(flag)) => state.opportunistic = flag,
            (A::hipMemPoolReuseAllowInternalDependencies, Value::Flag(flag)) => {
                state.internal_dependencies = flag;
            }
            (A::hipMemPoolAttrReleaseThreshold, Value::Bytes(bytes)) => state.threshold = bytes,
            // The marks restart at the current value.
            (A::hipMemPoolAttrReservedMemHigh, Value::Bytes(0)) => state.reserved_high = state.reserved,
            (A::hipMemPoolAttrUsedMemHigh, Value::Bytes(0)) => state.used_high = state.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

/// `hipMemPoolTrimTo`: returns memory whose free has completed, until the pool holds no more than this many
/// bytes.
pub(crate) unsafe extern "C" fn hipMemPoolTrimTo(pool: hipMemPool_t, keep: usize) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        Pool::find(runtime, pool)?.trim(runtime, keep as u64);
        Ok(())
    })
}

/// `hipMemPoolSetAccess`: which devices may access the pool's memory, present and future. The owner always
/// may.
///
/// `hipErrorNotSupported` for read-only access, which HSA lacks.
pub(crate) unsafe extern "C" fn hipMemPoolSetAccess(
    pool: hipMemPool_t,
    list: *const hipMemAccessDesc,
    count: usize,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let pool = Pool::find(runtime, pool)?;
        if list.is_null() {
            return Err(INVALID_VALUE);
        }
        if count > devices::count(runtime) {
            return Err(hipError_t::hipErrorInvalidDevice);
        }
        // SAFETY: the caller's list has that many entries.
        let list = unsafe { caller::list(list, count) }?;
        let mut access = pool.state().access.clone();
        let before = access.clone();
        for wanted in list {
            let device = device_at(wanted.location, hipError_t::hipErrorInvalidDevice)?;
            let own = std::ptr::eq(device, pool.device);
            match wanted.flags {
                hipMemAccessFlags::hipMemAccessFlagsProtReadWrite if own => {}
                hipMemAccessFlags::hipMemAccessFlagsProtReadWrite => {
                    if !runtime.hsa.can_access(device.agent, pool.device.pool) {
                        return Err(hipError_t::hipErrorInvalidDevice);
                    }
                    if !access.iter().any(|known| std::ptr::eq(*known, device)) {
                        access.push(device);
                    }
                }
                hipMemAccessFlags::hipMemAccessFlagsProtNone if own => return Err(INVALID_VALUE),
                hipMemAccessFlags::hipMemAccessFlagsProtNone => {
                    access.retain(|known| !std::ptr::eq(*known, device));
                }
                hipMemAccessFlags::hipMemAccessFlagsProtRead => return Err(hipError_t::hipErrorNotSupported),
                _ => return Err(INVALID_VALUE),
            }
        }
        pool.state().access = access;
        let share = || {
            pools(runtime).access_changed();
            memory(runtime).share_device_memory(runtime, pool.device)
        };
        apply_or_undo(share, || pool.state().access = before)
    })
}

/// `hipMemPoolGetAccess`.
pub(crate) unsafe extern "C" fn hipMemPoolGetAccess(
    flags: *mut hipMemAccessFlags,
    pool: hipMemPool_t,
    location: *mut hipMemLocation,
) -> hipError_t {
    entry(|| {
        let pool = Pool::find(active()?, pool)?;
        // SAFETY: the caller passes null or valid places.
        let (flags, location) = unsafe { (caller::place(flags)?, caller::value(location)?) };
        let device = device_at(*location, INVALID_VALUE)?;
        let may = std::ptr::eq(device, pool.device)
            || pool.state().access.iter().any(|known| std::ptr::eq(*known, device));
        *flags = if may {
            hipMemAccessFlags::hipMemAccessFlagsProtReadWrite
        } else {
            hipMemAccessFlags::hipMemAccessFlagsProtNone
        };
        Ok(())
    })
}

/// `hipMallocAsync`: from the current pool of the stream's device. The memory is for later work on the
/// stream. In a capture, adds a node that allocates memory of the graph.
pub(crate) unsafe extern "C" fn hipMallocAsync(
    out: *mut *mut c_void,
    size: usize,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        let stream = resolve(active()?, stream)?;
        if let Some(capture) = Capturing::of(&stream)? {
            return allocate_to(out, size, |runtime| capture.allocate(runtime, stream.device, size));
        }
        stream.failure().map_or(Ok(()), Err)?;
        allocate_to(out, size, |runtime| {
            Pool::current_of(runtime, stream.device)?.allocate(runtime, &stream, size)
        })
    })
}

/// `hipMallocFromPoolAsync`: the pool may belong to a different device from the stream's. In a capture, the
/// memory is the graph's.
pub(crate) unsafe extern "C" fn hipMallocFromPoolAsync(
    out: *mut *mut c_void,
    size: usize,
    pool: hipMemPool_t,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let pool = Pool::find(runtime, pool)?;
        if let Some(capture) = Capturing::of(&stream)? {
            return allocate_to(out, size, |runtime| capture.allocate(runtime, pool.device, size));
        }
        stream.failure().map_or(Ok(()), Err)?;
        allocate_to(out, size, |runtime| pool.allocate(runtime, &stream, size))
    })
}
