//! The heap of `malloc` and `new` in device code, one per GPU.
//!
//! AMD's device libraries do the work: they cut slabs of 2 MiB into blocks, and ask the host only for slabs
//! and for blocks larger than 3 KiB ([`hostcall`](crate::queue::hostcall)). They distinguish the two by
//! address: a slab is aligned to its size, and page-aligned memory is never a block of a slab. Their state is
//! in memory that starts as zero.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_sys::hipError_t;

use crate::error::Result;
use crate::gpu::Gpu;
use crate::runtime::Runtime;

/// Bytes of the device libraries' own state, to which `hidden_heap_v1` points.
const STATE: usize = 128 << 10;
/// Size and alignment of a slab.
const SLAB: u64 = 2 << 20;

/// A device's heap.
#[derive(Default)]
pub(crate) struct Heap {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Address of the state; 0 before a kernel has needed it.
    state: usize,
    /// Memory that device code holds: the allocation of each address, and its size.
    blocks: HashMap<u64, (usize, u64)>,
    /// Bytes that device code holds.
    held: u64,
}

impl Heap {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of `hidden_heap_v1`. It is the same for all kernels, so that one can free memory of another.
    pub(crate) fn state(&self, runtime: &Runtime, gpu: &Gpu) -> Result<u64> {
        let mut inner = self.lock();
        if inner.state == 0 {
            let memory = runtime.hsa.allocate(gpu.pool, STATE)?;
            // SAFETY: the memory has this many words and is not shared yet.
            if let Err(code) = unsafe { runtime.hsa.fill(memory, 0, STATE / 4) } {
                // SAFETY: as above.
                let _ = unsafe { runtime.hsa.free(memory) };
                return Err(code);
            }
            inner.state = memory as usize;
        }
        Ok(inner.state as u64)
    }

    /// Allocates memory of the device; returns 0 if there is none, which `malloc` then returns.
    pub(crate) fn allocate(&self, runtime: &Runtime, gpu: &Gpu, size: u64) -> u64 {
        match self.try_allocate(runtime, gpu, size) {
            Ok(address) => address,
            Err(code) => {
                tracing::warn!(?code, size, "no memory for malloc in device code");
                0
            }
        }
    }

    fn try_allocate(&self, runtime: &Runtime, gpu: &Gpu, size: u64) -> Result<u64> {
        let out_of_memory = hipError_t::hipErrorOutOfMemory;
        let bytes = usize::try_from(size).map_err(|_| out_of_memory)?;
        {
            let mut inner = self.lock();
            let held = inner.held.checked_add(size).ok_or(out_of_memory)?;
            // The least that device code can ask for is a slab.
            if gpu.limits.heap().is_some_and(|limit| held > limit.max(SLAB)) {
                return Err(out_of_memory);
            }
            inner.held = held;
        }
        let address = self.place(runtime, gpu, bytes);
        if address.is_err() {
            self.lock().held -= size;
        }
        address
    }

    /// Allocates memory that already counts as held.
    fn place(&self, runtime: &Runtime, gpu: &Gpu, bytes: usize) -> Result<u64> {
        let (hsa, size) = (runtime.hsa, bytes as u64);
        let mut memory = hsa.allocate(gpu.pool, bytes)?;
        let mut address = memory as u64;
        if size == SLAB && !address.is_multiple_of(SLAB) {
            // SAFETY: the memory is not shared yet.
            let _ = unsafe { hsa.free(memory) };
            memory = hsa.allocate(gpu.pool, 2 * bytes)?;
            address = (memory as u64).next_multiple_of(SLAB);
        }
        gpu.allocated.add(size);
        self.lock().blocks.insert(address, (memory as usize, size));
        Ok(address)
    }

    /// Frees memory from [`allocate`](Self::allocate). Other addresses are ignored: device code freed
    /// something twice, or something that it had not allocated.
    pub(crate) fn free(&self, runtime: &Runtime, gpu: &Gpu, address: u64) {
        let mut inner = self.lock();
        let found = inner.blocks.remove(&address);
        inner.held -= found.map_or(0, |(_, size)| size);
        drop(inner);
        let Some((memory, size)) = found else {
            tracing::error!(
                address = format!("{address:#x}"),
                "device code freed memory that it had not allocated"
            );
            return;
        };
        gpu.allocated.subtract(size);
        // SAFETY: the memory came from `allocate`, and device code has given it back.
        if let Err(code) = unsafe { runtime.hsa.free(memory as *mut c_void) } {
            tracing::error!(?code, "memory of device code could not be freed");
        }
    }
}
