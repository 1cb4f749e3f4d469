//! Errors of memory that another driver exported.

/// Why memory cannot be imported, or a part of it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalMemoryError {
    /// The import has 0 bytes.
    #[error("cannot import 0 bytes of memory")]
    Empty,

    /// A part extends beyond the memory.
    #[error("{bytes} bytes at offset {offset} are outside of imported memory of {size} bytes")]
    OutOfRange {
        /// Where the part would begin, in bytes.
        offset: usize,
        /// Bytes of the part.
        bytes: usize,
        /// Bytes that were imported.
        size: usize,
    },

    /// The elements would not be aligned.
    #[error("offset {offset} is not aligned for `{element}`, which needs a multiple of {align}")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// The element's type.
        element: &'static str,
        /// What its address has to be a multiple of.
        align: usize,
    },

    /// Another buffer uses some of the bytes.
    #[error("another buffer uses bytes {start}..{end} of the imported memory")]
    Occupied {
        /// The first byte of that buffer.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
}
