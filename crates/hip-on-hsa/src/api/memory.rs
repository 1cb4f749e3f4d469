//! Memory that programs allocate, register and free.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipDeviceptr_t, hipError_t, hipExtent, hipMemAccessFlags, hipPitchedPtr, hipStream_t};

use crate::api::synchronized::synchronized;
use crate::caller;
use crate::caller::Access;
use crate::devices;
use crate::devices::device::{Device, current_device};
use crate::devices::stream::resolve;
use crate::error::{Result, entry};
use crate::graph;
use crate::graph::Capturing;
use crate::memory::allocation::{
    Allocation, Origin, allocate_device, allocate_host, memory, quiesce_for_release, quiesce_users, release,
};
use crate::memory::external;
use crate::object::array::arrays;
use crate::object::symbols::is_managed;
use crate::runtime::{Runtime, active};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Rows of pitched memory start at multiples of this.
const PITCH_ALIGN: usize = 256;

/// Writes an address to a caller's pointer; `size` 0 gives null.
///
/// # Safety
/// `out` is null or valid for writing.
pub(crate) unsafe fn allocate_to(
    out: *mut *mut c_void,
    size: usize,
    allocate: impl FnOnce(&'static Runtime) -> Result<usize>,
) -> Result {
    let runtime = active()?;
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    *out = std::ptr::null_mut();
    if size != 0 {
        *out = allocate(runtime)? as *mut c_void;
    }
    Ok(())
}

/// `hipMalloc`: of the current device. 0 bytes give a null pointer.
pub(crate) unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        graph::permit()?;
        allocate_to(out, size, |runtime| allocate_device(runtime, current_device(runtime)?, size, false, 0))
    })
}

/// `hipExtMallocWithFlags`: default and fine-grained memory, and the 8 bytes of signal memory, which are host
/// memory.
pub(crate) unsafe extern "C" fn hipExtMallocWithFlags(
    out: *mut *mut c_void,
    size: usize,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        graph::permit()?;
        let fine = match flags {
            hip_sys::hipDeviceMallocDefault => false,
            hip_sys::hipDeviceMallocFinegrained | hip_sys::hipDeviceMallocUncached => true,
            hip_sys::hipMallocSignalMemory if size == 8 => {
                return allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Signal, flags));
            }
            hip_sys::hipDeviceMallocContiguous => return Err(hipError_t::hipErrorNotSupported),
            _ => return Err(INVALID_VALUE),
        };
        allocate_to(out, size, |runtime| {
            allocate_device(runtime, current_device(runtime)?, size, fine, flags)
        })
    })
}

/// The kinds of memory that a program allocates and frees.
const ALLOCATED: [Origin; 4] = [Origin::Device, Origin::Managed, Origin::Host, Origin::Signal];

/// The same, and the memory of arrays, which have functions of their own.
const OF_PROGRAMS: [Origin; 5] =
    [Origin::Device, Origin::Managed, Origin::Host, Origin::Signal, Origin::Array];

/// Frees memory of any kind: the functions for host and device memory are the same, as in AMD's library. RCCL
/// frees uncached device memory with `hipHostFree`.
fn free(pointer: *mut c_void) -> Result {
    let runtime = active()?;
    graph::permit()?;
    if pointer.is_null() {
        return Ok(());
    }
    if let Some(memory) = graph::memory_at(pointer as usize) {
        return memory.end_and_wait();
    }
    if external::unmap(runtime, pointer as usize)? {
        return Ok(());
    }
    let found = memory(runtime).remove(pointer as usize, &ALLOCATED).ok_or(INVALID_VALUE)?;
    quiesce_for_release(runtime, &found);
    release(runtime, &found)?;
    if found.pool.is_some() {
        synchronized(runtime);
    }
    Ok(())
}

/// `hipFree`: waits until the device is idle, then frees host or device memory, or a buffer mapped from
/// imported memory. Null is allowed.
pub(crate) unsafe extern "C" fn hipFree(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// Frees all memory that was allocated while the device was current, except managed variables and memory that
/// graphs keep for their next launches.
pub(crate) fn free_all_of(runtime: &'static Runtime, device: &'static Device) -> Result {
    let mut result = Ok(());
    for base in memory(runtime).bases_of(device) {
        if is_managed(base) {
            continue;
        }
        if let Some(memory) = graph::memory_at(base) {
            // The graph keeps it for its next launch.
            let _ = memory.end();
            continue;
        }
        arrays(runtime).forget_at(base);
        if let Some(found) = memory(runtime).remove(base, &OF_PROGRAMS) {
            quiesce_users(runtime, &found);
            result = result.and(release(runtime, &found));
        }
    }
    synchronized(runtime);
    result
}

/// `hipFreeAsync`: a pool's memory returns to the pool, for work behind the stream's current work. Other
/// memory is freed once all of that work has completed. In a capture, adds a node that frees memory of a
/// graph.
pub(crate) unsafe extern "C" fn hipFreeAsync(pointer: *mut c_void, stream: hipStream_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        if pointer.is_null() {
            return Ok(());
        }
        if let Some(capture) = Capturing::of(&stream)? {
            return capture.add(graph::free(pointer)?);
        }
        if let Some(memory) = graph::memory_at(pointer as usize) {
            return memory.end();
        }
        let found = memory(runtime).remove(pointer as usize, &[Origin::Device]).ok_or(INVALID_VALUE)?;
        let freed = match &found.pool {
            Some(pool) => stream
                .submit(runtime, |submitter| submitter.tail())
                .map(|freed| pool.give_back(runtime, &found, Some(freed))),
            None => {
                let later = found.clone();
                stream.run_on_host(runtime, false, move |_| {
                    if release(runtime, &later).is_err() {
                        tracing::warn!(address = later.base, "a stream-ordered free failed");
                    }
                })
            }
        };
        if freed.is_err() {
            // The memory still belongs to the program.
            memory(runtime).insert((*found).clone());
        }
        freed
    })
}

/// `hipMallocManaged`: host memory that every device can access, at the same address for both sides.
pub(crate) unsafe extern "C" fn hipMallocManaged(
    out: *mut *mut c_void,
    size: usize,
    flags: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe {
        if size == 0 || (flags != hip_sys::hipMemAttachGlobal && flags != hip_sys::hipMemAttachHost) {
            return Err(INVALID_VALUE);
        }
        graph::permit()?;
        allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Managed, flags))
    })
}

/// # Safety
/// `out` and `pitch` are null or valid for writing.
unsafe fn malloc_pitch(out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> Result {
    graph::permit()?;
    // SAFETY: as this function's contract.
    let pitch = unsafe { caller::place(pitch) }?;
    let row = width.checked_next_multiple_of(PITCH_ALIGN).ok_or(INVALID_VALUE)?;
    let size = row.checked_mul(height).ok_or(hipError_t::hipErrorOutOfMemory)?;
    // SAFETY: as this function's contract.
    unsafe {
        allocate_to(out, size, |runtime| allocate_device(runtime, current_device(runtime)?, size, false, 0))?;
    }
    *pitch = row;
    Ok(())
}

/// `hipMallocPitch`: rows start at multiples of 256 bytes.
pub(crate) unsafe extern "C" fn hipMallocPitch(
    out: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| unsafe { malloc_pitch(out, pitch, width, height) })
}

/// `hipMalloc3D`: rows start at multiples of 256 bytes, rectangles are contiguous.
pub(crate) unsafe extern "C" fn hipMalloc3D(out: *mut hipPitchedPtr, extent: hipExtent) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        let hipExtent { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(INVALID_VALUE)?;
        let (mut pointer, mut pitch) = (std::ptr::null_mut(), 0);
        // SAFETY: both places are valid.
        unsafe { malloc_pitch(&mut pointer, &mut pitch, width, rows)? };
        *out = hipPitchedPtr { ptr: pointer, pitch, xsize: width, ysize: height };
        Ok(())
    })
}

/// `hipMemAllocPitch`.
pub(crate) unsafe extern "C" fn hipMemAllocPitch(
    out: *mut hipDeviceptr_t,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: u32,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| unsafe {
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(INVALID_VALUE);
        }
        malloc_pitch(out, pitch, width, height)
    })
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn host_malloc(out: *mut *mut c_void, size: usize, flags: u32) -> Result {
    use hip_sys::*;
    let both = hipHostMallocCoherent | hipHostMallocNonCoherent;
    if flags & both == both {
        return Err(INVALID_VALUE);
    }
    graph::permit()?;
    // SAFETY: as this function's contract.
    unsafe { allocate_to(out, size, |runtime| allocate_host(runtime, size, Origin::Host, flags)) }
}

/// `hipHostMalloc`: pinned, coherent, mapped for all devices whatever the flags say. Unknown bits are
/// ignored, as with AMD's runtime.
pub(crate) unsafe extern "C" fn hipHostMalloc(out: *mut *mut c_void, size: usize, flags: u32) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, flags) })
}

/// `hipHostAlloc`.
pub(crate) unsafe extern "C" fn hipHostAlloc(out: *mut *mut c_void, size: usize, flags: u32) -> hipError_t {
    use hip_sys::*;
    let known = hipHostAllocPortable
        | hipHostAllocMapped
        | hipHostAllocWriteCombined
        | hipHostMallocUncached
        | hipHostMallocNumaUser
        | hipHostMallocCoherent;
    entry(|| match flags & !known {
        // SAFETY: the caller passes null or a valid place for a pointer.
        0 => unsafe { host_malloc(out, size, flags) },
        _ => Err(INVALID_VALUE),
    })
}

/// `hipMallocHost`.
pub(crate) unsafe extern "C" fn hipMallocHost(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, hip_sys::hipHostMallocDefault) })
}

/// `hipMemAllocHost`.
pub(crate) unsafe extern "C" fn hipMemAllocHost(out: *mut *mut c_void, size: usize) -> hipError_t {
    // SAFETY: the caller passes null or a valid place for a pointer.
    entry(|| unsafe { host_malloc(out, size, hip_sys::hipHostMallocDefault) })
}

/// `hipHostFree`: the same as `hipFree`.
pub(crate) unsafe extern "C" fn hipHostFree(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// `hipFreeHost`.
pub(crate) unsafe extern "C" fn hipFreeHost(pointer: *mut c_void) -> hipError_t {
    entry(|| free(pointer))
}

/// Device access to memory that the host may only read.
fn read_only(runtime: &Runtime) -> Arc<BTreeMap<i32, hipMemAccessFlags>> {
    let devices = devices::all(runtime).into_iter();
    Arc::new(devices.map(|device| (device.ordinal, hipMemAccessFlags::hipMemAccessFlagsProtRead)).collect())
}

/// `hipHostRegister`: pins memory of the program for the devices that exist now. It must be mapped for reads
/// and writes; with `hipHostRegisterReadOnly` at least for reads, and then nothing may write it.
pub(crate) unsafe extern "C" fn hipHostRegister(pointer: *mut c_void, size: usize, flags: u32) -> hipError_t {
    entry(|| {
        use hip_sys::*;
        let runtime = active()?;
        graph::permit()?;
        let known = hipHostRegisterPortable
            | hipHostRegisterMapped
            | hipHostRegisterReadOnly
            | hipExtHostRegisterUncached;
        if pointer.is_null() || size == 0 || flags & !(known | hipHostRegisterIoMemory) != 0 {
            return Err(INVALID_VALUE);
        }
        if flags & hipHostRegisterIoMemory != 0 {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let base = pointer as usize;
        if base.checked_add(size).is_none() {
            return Err(INVALID_VALUE);
        }
        let device = current_device(runtime)?;
        let is_writable = caller::is_accessible(base, size, Access::Write);
        let is_readable =
            flags & hipHostRegisterReadOnly != 0 && caller::is_accessible(base, size, Access::Read);
        if !is_writable && !is_readable {
            return Err(INVALID_VALUE);
        }
        if memory(runtime).overlaps(base, size) {
            let same = |found: &Allocation| {
                found.origin == Origin::Registered && (found.base, found.size) == (base, size)
            };
            // Registering the same range again has no effect, as with AMD's runtime: programs free registered
            // memory, and an allocation returns it again.
            return match memory(runtime).find(base) {
                Some((found, 0)) if same(&found) => Ok(()),
                _ => Err(hipError_t::hipErrorHostMemoryAlreadyRegistered),
            };
        }
        let mut agents = devices::agents(runtime);
        // SAFETY: the caller promises that the memory is there until it is unregistered.
        let mapped = unsafe { runtime.hsa.lock(pointer, size, &mut agents, runtime.host_pool) }?;
        memory(runtime).insert(Allocation {
            base,
            size,
            origin: Origin::Registered,
            device,
            device_base: mapped as usize,
            flags,
            pool: None,
            serial: 0,
            access: (!is_writable).then(|| read_only(runtime)),
        });
        Ok(())
    })
}

/// `hipHostUnregister`: waits until the devices are idle first.
pub(crate) unsafe extern "C" fn hipHostUnregister(pointer: *mut c_void) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        graph::permit()?;
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        let found = memory(runtime)
            .remove(pointer as usize, &[Origin::Registered])
            .ok_or(hipError_t::hipErrorHostMemoryNotRegistered)?;
        quiesce_for_release(runtime, &found);
        // SAFETY: the range was locked when it entered the map, and all devices are idle, or the caller
        // promises that none uses it.
        let unlocked = unsafe { runtime.hsa.unlock(pointer) };
        if unlocked.is_err() {
            // It is still locked.
            memory(runtime).insert((*found).clone());
        }
        unlocked
    })
}

/// `hipHostGetDevicePointer`.
pub(crate) unsafe extern "C" fn hipHostGetDevicePointer(
    out: *mut *mut c_void,
    pointer: *mut c_void,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place for a pointer.
        let out = unsafe { caller::place(out) }?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let (found, offset) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if !found.is_host() {
            return Err(INVALID_VALUE);
        }
        *out = (found.device_base + offset) as *mut c_void;
        Ok(())
    })
}

/// `hipHostGetFlags`.
pub(crate) unsafe extern "C" fn hipHostGetFlags(flags: *mut u32, pointer: *mut c_void) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        // SAFETY: the caller passes null or a valid place.
        let flags = unsafe { caller::place(flags) }?;
        let (found, _) = memory(runtime).find(pointer as usize).ok_or(INVALID_VALUE)?;
        if !matches!(found.origin, Origin::Host | Origin::Registered) {
            return Err(INVALID_VALUE);
        }
        *flags = found.flags;
        Ok(())
    })
}
