//! What virtual memory refuses.

/// Why addresses and memory cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualMemoryError {
    /// An offset that is no multiple of what the device maps memory in.
    #[error("offset {offset} is no multiple of {granularity}, in which the device maps memory")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// [`Granularity::minimum`](crate::Granularity::minimum).
        granularity: usize,
    },

    /// Something is mapped there already.
    #[error("bytes {start}..{end} of the addresses have memory already")]
    Occupied {
        /// The first byte that has.
        start: usize,
        /// One past the last byte of what is mapped there.
        end: usize,
    },

    /// The memory has addresses already. It gets others when the buffer that it was mapped for is gone.
    #[error("the memory is mapped already")]
    AlreadyMapped,

    /// The memory was made without being exportable.
    #[error("the memory cannot be exported; `PhysicalMemory::exportable` makes such that can")]
    NotExportable,

    /// A file descriptor that stands for no memory.
    #[error("the file descriptor stands for no memory: {reason}")]
    NoMemory {
        /// Why not.
        reason: String,
    },
}
