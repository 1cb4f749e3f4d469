//! Errors of graphs.

/// Why something cannot be done with a graph, or with a stream that is captured into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Work on a captured stream waits for the stream or uses host memory.
    #[error(
        "this cannot be captured into a graph, because it waits for the stream or uses host memory; add a node instead"
    )]
    NotCapturable,

    /// A captured stream was ordered with a stream outside the capture.
    #[error("a captured stream can only be ordered with streams forked from it")]
    OtherStream,

    /// A captured stream was used on a thread other than the capturing one.
    #[error("a captured stream can only be used by the thread that captures it")]
    OtherThread,

    /// A captured stream was used after its capture had ended.
    #[error("the stream's capture has ended, and the stream has no other use")]
    CaptureOver,

    /// The node belongs to another graph.
    #[error("the node does not belong to this graph")]
    OtherGraph,

    /// Kernel parameters were set for a node that is not a kernel.
    #[error("the node is not a kernel")]
    NotAKernel,

    /// An update would make a node's launch in an executable graph cooperative, or no longer cooperative.
    #[error("kernel `{kernel}`: an executable graph cannot change whether a node's launch is cooperative")]
    Cooperative {
        /// The kernel.
        kernel: String,
    },

    /// The node cannot be enabled or disabled: it is not a kernel, copy or fill.
    #[error("only kernels, copies and fills can be disabled")]
    NotSwitchable,

    /// Memory that a graph allocates was used outside its nodes.
    #[error(
        "a graph allocates this memory: it exists only while that graph runs, and only its nodes can use it"
    )]
    MemoryOfGraph,

    /// The operation is not available for a graph that allocates memory.
    #[error("a graph that allocates memory cannot be {operation}")]
    HasMemory {
        /// The operation.
        operation: &'static str,
    },

    /// Some memory that the graph allocates would outlive its run.
    #[error("the graph does not free {count} of its allocations: add nodes that free them")]
    NotFreed {
        /// How many there are.
        count: usize,
    },

    /// The program has locked a [`SharedHostBuffer`](crate::SharedHostBuffer) that the graph uses, or the
    /// same thread has locked it already.
    #[error("the host buffer is locked by the program")]
    HostBufferLocked,

    /// The executable graph cannot be updated this way. It is unchanged.
    #[error("the executable graph cannot be updated to the other graph: {reason}")]
    Update {
        /// HIP's name for the difference that prevents it.
        reason: &'static str,
    },
}
