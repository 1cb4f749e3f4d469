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

    /// A cooperative launch was to be added as a node, which HIP has no kind for.
    #[error("kernel `{kernel}`: a cooperative launch is no node that can be added; capture it")]
    Cooperative {
        /// The kernel.
        kernel: String,
    },

    /// The program holds a [`SharedHostBuffer`](crate::SharedHostBuffer) that the graph uses.
    #[error("a host buffer that the graph uses is locked by the program")]
    HostBufferLocked,

    /// An executable graph cannot be updated so: it stays as it was.
    #[error("the executable graph cannot become the other graph: {reason}")]
    Update {
        /// What is too different, by HIP's name for it.
        reason: &'static str,
    },
}
