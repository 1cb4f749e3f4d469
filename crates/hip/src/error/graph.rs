//! What cannot be done with graphs.

/// Why something cannot be done with a graph, or with a stream that is captured into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Work that waits for its stream or uses memory of the host, on a stream that is captured.
    #[error(
        "this cannot be captured into a graph: it waits for the stream, or uses memory of the host; use a node of its own"
    )]
    NotCapturable,

    /// A stream of a capture and one that is not of it were to be ordered.
    #[error("a captured stream is only ordered with streams forked from it")]
    OtherStream,

    /// A captured stream was used by another thread than the one that captures.
    #[error("a captured stream is used by the thread that captures it, and no other")]
    OtherThread,

    /// A stream was used that was captured, and whose capture is over.
    #[error("the stream's capture is over, and it serves nothing else")]
    CaptureOver,

    /// A node of another graph.
    #[error("the node is not one of this graph")]
    OtherGraph,

    /// The parameters of a kernel were to be set for a node that runs none.
    #[error("the node runs no kernel")]
    NotAKernel,

    /// The launch of a node of an executable graph was to become a cooperative one, or no longer to be one.
    #[error(
        "kernel `{kernel}`: whether a node's launch is cooperative does not change once the graph is executable"
    )]
    Cooperative {
        /// The kernel.
        kernel: String,
    },

    /// A node was to be enabled or disabled that is no kernel, copy or fill.
    #[error("only kernels, copies and fills can be disabled")]
    NotSwitchable,

    /// Memory that a graph allocates was used by something else than its nodes.
    #[error(
        "this memory exists only while the graph runs that allocates it, and is used only by that graph's nodes"
    )]
    MemoryOfGraph,

    /// A graph that allocates memory cannot do what one without can.
    #[error("a graph that allocates memory cannot be {operation}")]
    HasMemory {
        /// What was to be done with it.
        operation: &'static str,
    },

    /// Some of the memory that a graph allocates would outlive its run.
    #[error("{count} of the allocations of the graph are not freed by it: add a node that does")]
    NotFreed {
        /// How many there are.
        count: usize,
    },

    /// The program has locked a [`SharedHostBuffer`](crate::SharedHostBuffer): one that the graph uses, or by the thread that was to lock
    /// it once more.
    #[error("the host buffer is locked by the program")]
    HostBufferLocked,

    /// An executable graph cannot be updated so: it stays as it was.
    #[error("the executable graph cannot become the other graph: {reason}")]
    Update {
        /// What is too different, by HIP's name for it.
        reason: &'static str,
    },
}
