//! Memory nodes: memory that a graph allocates and frees.
//!
//! The memory of an allocation node is allocated from HSA when the node is created, and freed with the last
//! graph that has the node: its address is known from the beginning, and no two nodes share memory. After a
//! launch, the program owns it until a free node, `hipFree` or `hipFreeAsync`.
//!
//! The attributes count like AMD's runtime, which allocates memory with the launch: whole pages, reserved
//! from the launch until the first synchronisation after the free, or until a trim.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::{
    hipError_t, hipMemAllocNodeParams, hipMemAllocationHandleType, hipMemAllocationType, hipMemLocation,
    hipMemLocationType, hipMemPoolProps,
};

use crate::caller;
use crate::devices;
use crate::devices::device::{Device, by_ordinal};
use crate::devices::per_device::PerDevice;
use crate::error::Result;
use crate::graph::op::Op;
use crate::memory::allocation::{Allocation, accessors, allocate_device, memory, release};
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The memory of an allocation node.
pub(crate) struct GraphMemory {
    runtime: &'static Runtime,
    pub(crate) device: &'static Device,
    pub(crate) base: usize,
    pub(crate) size: usize,
    allocation: Arc<Allocation>,
    /// Held by the only executable graph that may use the node.
    user: Mutex<Weak<()>>,
}

/// The memory of all allocation nodes, by address.
#[derive(Default)]
struct Known {
    all: HashMap<usize, Weak<GraphMemory>>,
    /// Memory that the program owns at present. It lives until it is freed, even if the graphs end.
    live: HashMap<usize, Arc<GraphMemory>>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
/// Their number; while it is 0, frees need not look further.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes held by the graphs of a device.
#[derive(Default)]
pub(crate) struct Usage(Mutex<Bytes>);

#[derive(Clone, Copy, Default)]
pub(crate) struct Bytes {
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    /// Freed, but still reserved.
    pub(crate) idle: u64,
    pub(crate) reserved_high: u64,
}

/// Whether a device may have idle bytes.
static ANY_IDLE: AtomicBool = AtomicBool::new(false);
/// The unit that sizes are rounded to.
const PAGE: u64 = 4096;

impl Usage {
    /// The memory of a device's graphs.
    pub(crate) fn of(device: &Device) -> &'static Self {
        static USAGES: PerDevice<Usage> = PerDevice::new();
        USAGES.of(device)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, size: usize) {
        let mut bytes = self.lock();
        let size = (size as u64).next_multiple_of(PAGE);
        bytes.used += size;
        bytes.idle = bytes.idle.saturating_sub(size);
        bytes.used_high = bytes.used_high.max(bytes.used);
        bytes.reserved_high = bytes.reserved_high.max(bytes.reserved());
    }

    fn end(&self, size: usize) {
        let mut bytes = self.lock();
        let size = (size as u64).next_multiple_of(PAGE);
        bytes.used -= size;
        bytes.idle += size;
        ANY_IDLE.store(true, Ordering::Release);
    }
}

impl Bytes {
    pub(crate) fn reserved(&self) -> u64 {
        self.used + self.idle
    }
}

/// Called when the program synchronises: freed memory is no longer reserved.
pub(crate) fn synchronized(runtime: &Runtime) {
    if ANY_IDLE.load(Ordering::Acquire) && ANY_IDLE.swap(false, Ordering::AcqRel) {
        for device in devices::all(runtime) {
            Usage::of(device).lock().idle = 0;
        }
    }
}

impl GraphMemory {
    /// Allocates memory of a device from HSA; other devices may access it, too.
    pub(crate) fn new(
        runtime: &'static Runtime,
        device: &'static Device,
        size: usize,
        others: &[&'static Device],
    ) -> Result<Arc<Self>> {
        let base = allocate_device(runtime, device, size, false, 0)?;
        let (allocation, _) = memory(runtime).find(base).ok_or(hipError_t::hipErrorUnknown)?;
        let memory = Arc::new(Self { runtime, device, base, size, allocation, user: Mutex::default() });
        known().all.insert(base, Arc::downgrade(&memory));
        COUNT.fetch_add(1, Ordering::AcqRel);
        if !others.is_empty() {
            let mut agents = accessors(runtime, device);
            agents.extend(others.iter().map(|device| device.agent));
            runtime.hsa.allow_access(&agents, memory.base as *const c_void)?;
        }
        Ok(memory)
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// Whether the program owns the memory.
    pub(crate) fn is_live(&self) -> bool {
        known().live.contains_key(&self.base)
    }

    /// Gives the memory to the program; false if the program already owns it.
    pub(crate) fn begin(self: &Arc<Self>) -> bool {
        let begins = known().live.insert(self.base, self.clone()).is_none();
        if begins {
            Usage::of(self.device).begin(self.size);
        }
        begins
    }

    /// As [`end`](Self::end), for `hipFree`: waits until the device is idle.
    pub(crate) fn end_and_wait(&self) -> Result {
        self.device.quiesce(self.runtime);
        self.end()?;
        synchronized(self.runtime);
        Ok(())
    }

    /// Takes the memory from the program; an error if the program does not own it.
    pub(crate) fn end(&self) -> Result {
        let ended = known().live.remove(&self.base).ok_or(INVALID_VALUE)?;
        Usage::of(self.device).end(self.size);
        drop(ended);
        Ok(())
    }

    /// Reserves the node for one executable graph, while the graph holds the token.
    pub(crate) fn reserve(&self, token: &Arc<()>) -> Result {
        let mut user = self.user.lock().unwrap_or_else(PoisonError::into_inner);
        match user.upgrade() {
            Some(other) if !Arc::ptr_eq(&other, token) => Err(INVALID_VALUE),
            _ => {
                *user = Arc::downgrade(token);
                Ok(())
            }
        }
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        known().all.remove(&self.base);
        COUNT.fetch_sub(1, Ordering::AcqRel);
        // Launches that use the memory may be in flight on any stream.
        self.device.quiesce_for_release(self.runtime);
        if memory(self.runtime).remove_known(&self.allocation)
            && release(self.runtime, &self.allocation).is_err()
        {
            tracing::warn!(address = self.base, "memory of a graph could not be freed");
        }
    }
}

/// The graph memory that begins at an address.
#[inline]
pub(crate) fn memory_at(address: usize) -> Option<Arc<GraphMemory>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    known().all.get(&address)?.upgrade()
}

/// The operation that parameters describe; writes the address into them.
///
/// # Safety
/// The parameters are null or valid, with the stated number of access descriptors.
pub(crate) unsafe fn allocation(
    runtime: &'static Runtime,
    parameters: *mut hipMemAllocNodeParams,
) -> Result<Op> {
    // SAFETY: as this function's contract.
    let p = unsafe { caller::place(parameters) }?;
    p.dptr = std::ptr::null_mut();
    let hipMemPoolProps { allocType, location, handleTypes, .. } = p.poolProps;
    if allocType != hipMemAllocationType::hipMemAllocationTypePinned
        || handleTypes != hipMemAllocationHandleType::hipMemHandleTypeNone
        || p.bytesize == 0
        || (p.accessDescCount != 0 && p.accessDescs.is_null())
    {
        return Err(INVALID_VALUE);
    }
    let at = |location: hipMemLocation| match location.type_ {
        hipMemLocationType::hipMemLocationTypeDevice => by_ordinal(location.id).map_err(|_| INVALID_VALUE),
        _ => Err(INVALID_VALUE),
    };
    let device = at(location)?;
    let mut others = Vec::new();
    // SAFETY: as this function's contract.
    for descriptor in unsafe { caller::list(p.accessDescs, p.accessDescCount) }? {
        let other = at(descriptor.location)?;
        if !std::ptr::eq(other, device) {
            others.push(other);
        }
    }
    let memory = GraphMemory::new(runtime, device, p.bytesize, &others)?;
    p.dptr = memory.base as *mut c_void;
    Ok(Op::Allocate(memory))
}

/// An operation that frees memory of a graph.
pub(crate) fn free(pointer: *mut c_void) -> Result<Op> {
    memory_at(pointer as usize).map(|_| Op::Free(pointer as usize)).ok_or(INVALID_VALUE)
}
