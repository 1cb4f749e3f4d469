//! Errors of virtual memory.

/// Why memory cannot be mapped at addresses, imported or exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualMemoryError {
    /// The offset is not a multiple of the device's mapping granularity.
    #[error("offset {offset} is not a multiple of {granularity}, the device's mapping granularity")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// [`Granularity::minimum`](crate::Granularity::minimum).
        granularity: usize,
    },

    /// Memory is already mapped there.
    #[error("bytes {start}..{end} of the address range are already mapped")]
    Occupied {
        /// The first byte of the mapping.
        start: usize,
        /// One past its last byte.
        end: usize,
    },

    /// The memory is already mapped. It can be mapped elsewhere once the buffer that uses it is gone.
    #[error("the memory is already mapped")]
    AlreadyMapped,

    /// The memory was not allocated as exportable.
    #[error("the memory cannot be exported; allocate it with `PhysicalMemory::exportable`")]
    NotExportable,

    /// The file descriptor does not refer to memory.
    #[error("the file descriptor does not refer to memory: {reason}")]
    NoMemory {
        /// Why not.
        reason: String,
    },
}
