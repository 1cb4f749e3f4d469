//! Memory: pools, what is free in their blocks, and buffers.

pub(crate) mod buffer;
pub(crate) mod import;
pub(crate) mod pool;
pub mod tlsf;

pub use buffer::{Buffer, MemoryKind};
pub use pool::Statistics;
