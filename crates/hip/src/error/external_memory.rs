//! What memory of another driver refuses.

/// Why a part of imported memory cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalMemoryError {
    /// No bytes were to be imported.
    #[error("memory of no bytes cannot be imported")]
    Empty,

    /// A part that goes beyond the memory.
    #[error("{bytes} bytes at offset {offset} are outside of imported memory of {size} bytes")]
    OutOfRange {
        /// Where the part would begin, in bytes.
        offset: usize,
        /// Bytes of the part.
        bytes: usize,
        /// Bytes that were imported.
        size: usize,
    },

    /// Elements that would not lie at a multiple of their alignment.
    #[error("offset {offset} is no place for `{element}`, which lies at multiples of {align}")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// The element's type.
        element: &'static str,
        /// What its address has to be a multiple of.
        align: usize,
    },

    /// Another buffer has some of the bytes.
    #[error("a buffer has bytes {start}..{end} of the imported memory")]
    Occupied {
        /// The first byte of that buffer.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
}
