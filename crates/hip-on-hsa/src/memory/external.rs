//! Memory of other drivers, such as Vulkan's: `hipImportExternalMemory` and similar functions.
//!
//! All of an imported memory is one allocation. Buffers that programs map from it are addresses within it,
//! and are counted: the memory lives until its handle and all buffers are freed.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::hipError_t;

use crate::devices::device::Device;
use crate::error::Result;
use crate::memory::allocation::{Allocation, Origin, memory, quiesce_for_release};
use crate::registry::{Kind, Registry};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The object of an imported memory's handle.
pub(crate) struct External {
    base: usize,
    size: usize,
}

/// Handles of imported memory.
pub(crate) fn externals(_started: &Runtime) -> &'static Registry<External> {
    static EXTERNALS: Registry<External> = Registry::new(Kind::ExternalMemory);
    &EXTERNALS
}

/// The users of one imported memory.
#[derive(Default)]
struct Holders {
    handle: bool,
    /// How often each buffer was mapped, by its address.
    buffers: HashMap<usize, usize>,
}

impl Holders {
    fn is_nobody(&self) -> bool {
        !self.handle && self.buffers.is_empty()
    }
}

/// All imported memory, by its address.
fn holders(_started: &Runtime) -> MutexGuard<'static, HashMap<usize, Holders>> {
    static HOLDERS: LazyLock<Mutex<HashMap<usize, Holders>>> = LazyLock::new(Mutex::default);
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some imported memory is mapped for devices only.
static OUT_OF_REACH: AtomicBool = AtomicBool::new(false);

/// Whether the host can access imported memory of a device whose own memory it can access. HSA maps other
/// drivers' memory only for the device; the virtual GPU maps it for both.
pub(crate) fn is_in_reach(runtime: &Runtime, address: usize) -> bool {
    !OUT_OF_REACH.load(Ordering::Relaxed)
        || memory(runtime).find(address).is_none_or(|(found, _)| found.origin != Origin::External)
}

/// Maps the first bytes of a file descriptor's memory and returns the handle. The caller keeps the
/// descriptor.
pub(crate) fn import(
    runtime: &'static Runtime,
    device: &'static Device,
    descriptor: i32,
    size: usize,
) -> Result<usize> {
    let base = runtime.hsa.map_descriptor(device.agent, descriptor, size)? as usize;
    if runtime.hsa.table.ext.map_descriptor.is_none() {
        OUT_OF_REACH.store(true, Ordering::Relaxed);
    }
    let Some(handle) = externals(runtime).insert(Arc::new(External { base, size })) else {
        // SAFETY: the memory was just mapped, and is not shared yet.
        unsafe { runtime.hsa.unmap_descriptor(base as *mut c_void)? };
        return Err(hipError_t::hipErrorOutOfMemory);
    };
    holders(runtime).insert(base, Holders { handle: true, buffers: HashMap::new() });
    memory(runtime).insert(Allocation {
        base,
        size,
        origin: Origin::External,
        device,
        device_base: base,
        flags: 0,
        pool: None,
        serial: 0,
        access: None,
    });
    Ok(handle)
}

/// Maps a buffer from imported memory and returns its address.
pub(crate) fn map(runtime: &Runtime, handle: usize, offset: usize, size: usize) -> Result<usize> {
    // The handle may end at any time, but not between look-up and counting.
    let mut holders = holders(runtime);
    let external = externals(runtime).get(handle).ok_or(INVALID_VALUE)?;
    let end = offset.checked_add(size).ok_or(INVALID_VALUE)?;
    if size == 0 || end > external.size {
        return Err(INVALID_VALUE);
    }
    let address = external.base + offset;
    let held = holders.get_mut(&external.base).ok_or(INVALID_VALUE)?;
    *held.buffers.entry(address).or_default() += 1;
    Ok(address)
}

/// Ends a handle. Mapped buffers stay.
pub(crate) fn destroy(runtime: &'static Runtime, handle: usize) -> Result {
    let external = {
        let mut holders = holders(runtime);
        let external = externals(runtime).remove(handle).ok_or(INVALID_VALUE)?;
        if let Some(held) = holders.get_mut(&external.base) {
            held.handle = false;
        }
        external
    };
    release_if_unused(runtime, external.base)
}

/// Ends a buffer at an address; false if none was mapped there.
pub(crate) fn unmap(runtime: &'static Runtime, address: usize) -> Result<bool> {
    let Some((found, _)) = memory(runtime).find(address) else { return Ok(false) };
    if found.origin != Origin::External {
        return Ok(false);
    }
    {
        let mut holders = holders(runtime);
        let Some(held) = holders.get_mut(&found.base) else { return Ok(false) };
        let Some(count) = held.buffers.get_mut(&address) else { return Ok(false) };
        *count -= 1;
        if *count == 0 {
            held.buffers.remove(&address);
        }
    }
    quiesce_for_release(runtime, &found);
    release_if_unused(runtime, found.base)?;
    Ok(true)
}

/// Returns the memory to HSA once nothing refers to it. Waits until the devices are idle first.
fn release_if_unused(runtime: &'static Runtime, base: usize) -> Result {
    {
        let mut holders = holders(runtime);
        if !holders.get(&base).is_some_and(Holders::is_nobody) {
            return Ok(());
        }
        // Nothing can reach it any more, neither through its handle nor by freeing a buffer.
        holders.remove(&base);
    }
    let Some(found) = memory(runtime).remove(base, &[Origin::External]) else { return Ok(()) };
    quiesce_for_release(runtime, &found);
    // SAFETY: the memory was mapped here, the program has let go of it, and no device uses it.
    let unmapped = unsafe { runtime.hsa.unmap_descriptor(base as *mut c_void) };
    if unmapped.is_err() {
        // It is still mapped: a copy must not treat it as host memory.
        memory(runtime).insert((*found).clone());
    }
    unmapped
}
