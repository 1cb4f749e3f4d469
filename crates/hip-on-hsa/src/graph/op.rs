//! Operations of streams, as values that own all they need.
//!
//! Calls that act at once and nodes of graphs use the same types: a call makes one and enqueues it, or hands
//! it to the stream's capture; a graph keeps it and enqueues it with each launch.

use std::sync::Arc;

use hip_sys::hipGraphNodeType;

use crate::devices::stream::Stream;
use crate::error::Result;
use crate::graph::{Attributes, Graph, GraphMemory};
use crate::memory::copy::Transfer;
use crate::memory::fill::Fill;
use crate::memory::words::MemoryOps;
use crate::object::event::Event;
use crate::object::host_function::HostFunction;
use crate::object::launch::Launch;
use crate::queue::arguments::{Explicit, Owned};
use crate::runtime::Runtime;

/// One operation.
#[derive(Clone)]
pub(crate) enum Op {
    /// Nothing; a point that other nodes wait for.
    Empty,
    Kernel(KernelOp),
    Copy(Transfer),
    Fill(Fill),
    Host(HostFunction),
    /// Waits for values in memory, and writes of them.
    Memory(Arc<MemoryOps>),
    /// Records an event.
    Record(EventOp),
    /// Waits for an event.
    Wait(EventOp),
    /// The operations of a child graph, which belongs only to this one.
    Child(Arc<Graph>),
    /// Gives memory of the graph to the program.
    Allocate(Arc<GraphMemory>),
    /// Takes the memory at an address back.
    Free(usize),
}

/// A kernel with its arguments.
#[derive(Clone)]
pub(crate) struct KernelOp {
    pub(crate) launch: Launch,
    pub(crate) arguments: Arc<Owned>,
    /// The handle with which the program named the function.
    pub(crate) handle: usize,
    pub(crate) attributes: Attributes,
}

impl KernelOp {
    /// Copies the caller's arguments.
    ///
    /// # Safety
    /// The function's layout accepts the arguments, and they are as
    /// [`Layout::write`](crate::queue::arguments::Layout::write) needs them.
    pub(crate) unsafe fn new(launch: Launch, handle: usize, arguments: Explicit) -> Self {
        // SAFETY: as this function's contract.
        let arguments = unsafe { launch.function.layout.own(arguments) };
        Self { launch, arguments: Arc::new(arguments), handle, attributes: Attributes::default() }
    }

    fn enqueue(&self, runtime: &'static Runtime, stream: &Stream) -> Result {
        self.launch.suits(stream)?;
        // SAFETY: the arguments were copied for this function's layout.
        unsafe { self.launch.run(runtime, stream, self.arguments.explicit()) }
    }

    /// Writes the argument segment of a [portable](Launch::is_portable) launch.
    pub(crate) fn write(&self, segment: &mut [u8]) {
        let layout = &self.launch.function.layout;
        // SAFETY: the arguments were copied for this layout.
        unsafe { layout.write(segment, self.arguments.explicit(), &self.launch.geometry()) }
    }
}

/// An event and its handle.
#[derive(Clone)]
pub(crate) struct EventOp {
    pub(crate) event: Arc<Event>,
    pub(crate) handle: usize,
}

impl Op {
    /// HIP's type of the node.
    pub(crate) fn kind(&self) -> hipGraphNodeType {
        match self {
            Self::Empty => hipGraphNodeType::hipGraphNodeTypeEmpty,
            Self::Kernel(_) => hipGraphNodeType::hipGraphNodeTypeKernel,
            Self::Copy(_) => hipGraphNodeType::hipGraphNodeTypeMemcpy,
            Self::Fill(_) => hipGraphNodeType::hipGraphNodeTypeMemset,
            Self::Host(_) => hipGraphNodeType::hipGraphNodeTypeHost,
            Self::Memory(_) => hipGraphNodeType::hipGraphNodeTypeBatchMemOp,
            Self::Record(_) => hipGraphNodeType::hipGraphNodeTypeEventRecord,
            Self::Wait(_) => hipGraphNodeType::hipGraphNodeTypeWaitEvent,
            Self::Child(_) => hipGraphNodeType::hipGraphNodeTypeGraph,
            Self::Allocate(_) => hipGraphNodeType::hipGraphNodeTypeMemAlloc,
            Self::Free(_) => hipGraphNodeType::hipGraphNodeTypeMemFree,
        }
    }

    /// Whether the operation uses memory that belongs to its graph; such a graph cannot be copied.
    pub(crate) fn has_memory(&self) -> bool {
        matches!(self, Self::Allocate(_) | Self::Free(_))
    }

    /// Checks everything that can have changed since the operation was created: the memory that it names, and
    /// the stream's device.
    pub(crate) fn check(&self, runtime: &Runtime, stream: &Stream) -> Result {
        match self {
            Self::Record(record) => record.event.suits(stream),
            Self::Copy(copy) => copy.check(runtime, Some(stream.device)),
            Self::Fill(fill) => fill.check(runtime, Some(stream.device)),
            Self::Memory(ops) => ops.check(runtime, Some(stream.device)),
            _ => Ok(()),
        }
    }

    /// Enqueues the operation behind everything submitted to the stream. No part of it runs before its turn.
    pub(crate) fn enqueue(&self, runtime: &'static Runtime, stream: &Arc<Stream>) -> Result {
        match self {
            // A graph launch itself enqueues the operations of children, and gives and takes the graph's
            // memory.
            Self::Empty | Self::Child(_) | Self::Allocate(_) | Self::Free(_) => Ok(()),
            Self::Kernel(kernel) => kernel.enqueue(runtime, stream),
            Self::Copy(copy) => copy.enqueue(runtime, stream),
            Self::Fill(fill) => fill.enqueue(runtime, stream),
            Self::Host(host) => host.enqueue(runtime, stream),
            Self::Memory(ops) => ops.enqueue(runtime, stream),
            Self::Record(record) => record.event.record(runtime, stream),
            Self::Wait(wait) => wait.event.wait(runtime, stream),
        }
    }
}
