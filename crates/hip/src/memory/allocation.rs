//! An allocation of device memory without its type.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use super::allocator::{Allocated, Origin};
use super::interop::Owner;
use super::{DeviceAddress, MemoryPool};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::{Access, GraphError};
use crate::live::{Counted, Kind};
use crate::stream::{Stream, WeakStream, in_host_function, release, release_elsewhere};
use crate::usage::Usage;

/// Owns device memory, and tracks which streams use it.
///
/// A buffer holds one, and so does everything that may use the memory after the buffer is dropped.
pub(crate) struct Allocation {
    device: Device,
    /// The address is null exactly if there are no bytes.
    block: Allocated,
    /// Work on a stream that uses the memory may be waiting for something that the dropping thread does
    /// later.
    outlasts: AtomicBool,
    _counted: Counted,
}

impl Allocation {
    fn new(device: &Device, block: Allocated) -> Arc<Self> {
        let (outlasts, _counted) = (AtomicBool::new(false), Counted::new(Kind::DeviceAllocation));
        Arc::new(Self { device: device.clone(), block, outlasts, _counted })
    }

    /// Allocates `bytes` bytes, preferably memory that `stream` can use without waiting.
    pub(crate) fn allocate(device: &Device, bytes: usize, stream: Option<&Stream>) -> Result<Arc<Self>> {
        Self::of(device, bytes, |bytes| device.memory().allocate(device, bytes, stream))
    }

    /// Allocates memory of its own, whatever the device's allocator.
    pub(crate) fn allocate_direct(device: &Device, bytes: usize) -> Result<Arc<Self>> {
        Self::of(device, bytes, |bytes| device.memory().allocate_direct(device, bytes))
    }

    /// Allocates memory from a pool, in the order of a stream of its device.
    pub(crate) fn allocate_from(pool: &MemoryPool, bytes: usize, stream: &Stream) -> Result<Arc<Self>> {
        let device = pool.device();
        Self::of(device, bytes, |bytes| device.memory().allocate_from(pool, bytes, stream))
    }

    fn of(
        device: &Device,
        bytes: usize,
        allocate: impl FnOnce(usize) -> Result<Allocated>,
    ) -> Result<Arc<Self>> {
        let block = if bytes > 0 { allocate(bytes)? } else { Allocated::default() };
        Ok(Self::new(device, block))
    }

    /// Wraps memory that was allocated elsewhere. `owner` keeps it, and is dropped once nothing uses the
    /// memory.
    pub(crate) fn foreign(
        device: &Device,
        address: DeviceAddress,
        size: usize,
        owner: impl Any + Send + Sync,
    ) -> Arc<Self> {
        let origin = Origin::Owner(Owner(Box::new(owner)));
        Self::new(device, Allocated { address, size, origin, usage: Usage::default() })
    }

    /// Wraps memory that a graph allocates and frees each time it runs.
    pub(crate) fn of_graph(device: &Device, address: DeviceAddress, size: usize, graph: u64) -> Arc<Self> {
        Self::new(device, Allocated { address, size, origin: Origin::Graph(graph), usage: Usage::default() })
    }

    /// The graph that allocates the memory, if any.
    #[inline]
    pub(crate) fn graph(&self) -> Option<u64> {
        match self.block.origin {
            Origin::Graph(graph) => Some(graph),
            _ => None,
        }
    }

    /// An error for memory that exists only while a graph runs. Callers with several allocations check all of
    /// them before they register a use.
    #[inline]
    pub(crate) fn lasts_beyond_graphs(&self) -> Result<()> {
        if self.graph().is_some() { Err(GraphError::MemoryOfGraph.into()) } else { Ok(()) }
    }

    /// Blocks until all uses registered so far are done.
    pub(crate) fn wait(&self) -> Result<()> {
        self.block.usage.wait()
    }

    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the memory was allocated in a stream's order.
    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.block.origin, Origin::Stream | Origin::Pool(_))
    }

    /// If the memory's last owner would wait when it is dropped, keeps the memory until everything enqueued
    /// on `stream` so far is done. The last owner then waits neither for that work nor for work enqueued
    /// later.
    pub(crate) fn keep_until_done(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        match self.block.origin {
            Origin::Device | Origin::Owner(_) => {
                self.outlasts.store(true, Ordering::Release);
                let kept = self.clone();
                // If the function never runs, it is dropped together with the memory that it holds.
                stream.host_function(move || drop(kept))
            }
            Origin::Nowhere | Origin::Cache | Origin::Stream | Origin::Pool(_) | Origin::Graph(_) => Ok(()),
        }
    }

    /// The address, for work whose use of the memory is registered.
    #[inline]
    pub(crate) fn address(&self) -> DeviceAddress {
        self.block.address
    }

    /// The address, for unregistered work. Waits until no work of a former owner uses the memory.
    pub(crate) fn exposed_address(&self) -> DeviceAddress {
        self.block.usage.finish_inherited();
        self.block.address
    }

    /// Called before a read of the memory is enqueued: orders it after earlier writes. If one of those is
    /// known to have failed, this returns its error.
    #[inline]
    pub(crate) fn read_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        if self.block.usage.is_only(stream) { Ok(()) } else { self.order(stream, Access::Read) }
    }

    /// Called before a write to the memory is enqueued: orders it after every earlier use.
    #[inline]
    pub(crate) fn write_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        if self.block.usage.wrote_last(stream) { Ok(()) } else { self.order(stream, Access::Write) }
    }

    /// As [`write_on`](Self::write_on), for work that may also read: returns the same error as a read.
    #[inline]
    pub(crate) fn update_on(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        if self.block.usage.wrote_last(stream) { Ok(()) } else { self.order(stream, Access::Update) }
    }

    /// The slow path: other streams use the memory, or the stream has not used it yet. A captured stream
    /// always takes this path, because the capture records its uses, and so does memory of a graph.
    #[inline(never)]
    fn order(self: &Arc<Self>, stream: &Stream, access: Access) -> Result<()> {
        self.lasts_beyond_graphs()?;
        if in_host_function() {
            // The work to wait for may itself be waiting for this host function.
            return Err(Error::HostFunction);
        }
        match (stream.capture(), access) {
            (Some(capture), access) => capture.uses(self, stream, access)?,
            (None, Access::Read) => self.block.usage.read(stream)?,
            (None, access) => {
                // Another thread may be launching a graph that has the memory.
                let shared = Arc::strong_count(self) > 1;
                // Launches of a dropped graph are visible after this.
                fence(Ordering::Acquire);
                self.block.usage.change(stream, access == Access::Update, shared)?;
            }
        }
        // Streams of other devices may have been queried.
        stream.device().make_current()
    }

    /// Blocks until the streams that write the memory are done. If one of them has failed, returns its error.
    pub(crate) fn finish_writes(&self) -> Result<()> {
        self.block.usage.wait_for_writes()
    }

    /// Blocks until the streams that use the memory are done. If one that wrote it has failed, returns its
    /// error.
    pub(crate) fn finish_uses(&self) -> Result<()> {
        self.block.usage.wait_for_all()
    }

    /// The other streams whose writes a read on `stream` depends on.
    pub(crate) fn sources(&self, stream: &Stream) -> Vec<WeakStream> {
        self.block.usage.sources(stream)
    }

    /// Called before the only exclusive view is split into exclusive views of parts.
    pub(crate) fn split(&self) {
        self.block.usage.split();
    }

    /// Called when there are no exclusive views.
    #[inline]
    pub(crate) fn settle(&self) {
        self.block.usage.settle();
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        const WHAT: &str = "device buffer";
        let device = self.device.clone();
        let block = std::mem::take(&mut self.block);
        // Later work on the stream may be waiting for this thread. So may the work that the memory was kept
        // for.
        let outlasts = *self.outlasts.get_mut() && !in_host_function() && !block.usage.is_over();
        let free = move || device.memory().free(&device, block);
        if outlasts {
            release_elsewhere(WHAT, free)
        } else {
            release(WHAT, free)
        };
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocation")
            .field("address", &self.block.address)
            .field("size", &self.block.size)
            .field("origin", &self.block.origin)
            .field("usage", &self.block.usage)
            .field("device", &self.device)
            .finish()
    }
}
