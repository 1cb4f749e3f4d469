//! Virtual memory management: reserved addresses, device memory without an address, mappings of one onto the
//! other.
//!
//! Copies and kernels can use a mapping once a device has access to it. If the host can access the device's
//! memory, it gets access together with the first device. Adjacent mappings are one range for copies and
//! fills. A copy or fill has the access rights of its stream's device, even if the host does the work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipError_t, hipMemAccessFlags, hipMemAllocationHandleType, hipMemGenericAllocationHandle_t};
use hsa::raw::PhysicalMemory;
use hsa_sys::hsa_amd_memory_pool_info_t;

use crate::devices;
use crate::devices::device::Device;
use crate::error::Result;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Device memory without an address. It lives until the program has released it and nothing maps it.
pub(crate) struct Physical {
    pub(crate) raw: PhysicalMemory,
    pub(crate) size: usize,
    pub(crate) device: &'static Device,
    pub(crate) handle_types: hipMemAllocationHandleType,
    /// The program's handle, while it holds one, and its reference count.
    pub(crate) held: Mutex<(usize, usize)>,
    /// Counts against the device; imported memory counts where it was created.
    pub(crate) charged: bool,
}

impl Physical {
    pub(crate) fn held(&self) -> MutexGuard<'_, (usize, usize)> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a handle to the program, or counts the existing one again.
    pub(crate) fn hold(self: &Arc<Self>, runtime: &Runtime) -> Result<hipMemGenericAllocationHandle_t> {
        let mut held = self.held();
        if held.1 == 0 {
            held.0 = physical(runtime).insert(self.clone()).ok_or(hipError_t::hipErrorOutOfMemory)?;
        }
        held.1 += 1;
        Ok(held.0 as hipMemGenericAllocationHandle_t)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if self.charged {
            self.device.allocated.subtract(self.size as u64);
        }
        if let Some(runtime) = runtime()
            // SAFETY: neither the program nor a mapping uses the memory any more.
            && unsafe { runtime.hsa.release_physical(self.raw) }.is_err()
        {
            tracing::warn!("physical memory could not be released");
        }
    }
}

pub(crate) struct Mapping {
    pub(crate) physical: Arc<Physical>,
    /// Devices with access, by ordinal.
    pub(crate) access: BTreeMap<i32, hipMemAccessFlags>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Sizes of reserved ranges.
    pub(crate) reserved: BTreeMap<usize, usize>,
    pub(crate) mappings: BTreeMap<usize, Mapping>,
}

/// All physical memory by its handles.
pub(crate) fn physical(_started: &Runtime) -> &'static Registry<Physical> {
    static PHYSICAL: Registry<Physical> = Registry::new(Kind::Physical);
    &PHYSICAL
}

/// The reservations and mappings of programs.
pub(crate) fn virtual_memory(_started: &Runtime) -> &'static VirtualMemory {
    static RESERVED: VirtualMemory =
        VirtualMemory { state: Mutex::new(State { reserved: BTreeMap::new(), mappings: BTreeMap::new() }) };
    &RESERVED
}

/// The reservations and mappings of programs.
#[derive(Default)]
pub(crate) struct VirtualMemory {
    state: Mutex<State>,
}

impl VirtualMemory {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether anything is mapped within a range.
    pub(crate) fn maps(&self, address: usize, size: usize) -> bool {
        let below = self.mappings.range(..address.saturating_add(size)).next_back();
        below.is_some_and(|(&start, mapping)| start + mapping.physical.size > address)
    }

    /// The starts of the mappings that make up a range exactly.
    fn whole_mappings(&self, address: usize, size: usize) -> Result<Vec<usize>> {
        let end = address.checked_add(size).filter(|_| size != 0).ok_or(INVALID_VALUE)?;
        let (mut next, mut starts) = (address, Vec::new());
        while next < end {
            starts.push(next);
            next += self.mappings.get(&next).ok_or(INVALID_VALUE)?.physical.size;
        }
        if next == end { Ok(starts) } else { Err(INVALID_VALUE) }
    }
}

/// Waits until no device uses any mapping.
fn quiesce(runtime: &'static Runtime) {
    for device in devices::all(runtime) {
        device.quiesce(runtime);
    }
}

/// The mappings that make up a range exactly, once no device uses any. The lock is not held during the wait,
/// because work on the devices may need it. Mappings that other threads have removed meanwhile are detected.
pub(crate) fn idle_mappings(
    runtime: &'static Runtime,
    address: usize,
    size: usize,
    waits: bool,
) -> Result<(MutexGuard<'static, State>, Vec<usize>)> {
    let memory = &virtual_memory(runtime);
    if waits {
        memory.lock().whole_mappings(address, size)?;
        quiesce(runtime);
    }
    let state = memory.lock();
    let starts = state.whole_mappings(address, size)?;
    Ok((state, starts))
}

/// The granularity of a device's memory: minimum and recommended.
pub(crate) fn granularity(runtime: &Runtime, device: &Device) -> (usize, usize) {
    type Info = hsa_amd_memory_pool_info_t;
    // SAFETY: the attributes' type is size_t.
    let ask = |which| unsafe { runtime.hsa.pool_info(device.pool, which, 0usize) };
    let least = ask(Info::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE).unwrap_or(0).max(4096);
    let best = ask(Info::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE).unwrap_or(0);
    (least, best.max(least))
}

pub(crate) fn find(runtime: &Runtime, handle: hipMemGenericAllocationHandle_t) -> Result<Arc<Physical>> {
    physical(runtime).get(handle as usize).ok_or(INVALID_VALUE)
}
