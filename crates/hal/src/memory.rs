//! Memory: pools, what is free in their blocks, rings, and buffers.

pub(crate) mod buffer;
pub(crate) mod import;
pub(crate) mod mirror;
pub(crate) mod pool;
pub mod ring;
pub mod tlsf;

pub use buffer::{Buffer, MemoryKind};
pub use mirror::RingStatistics;
pub use pool::Statistics;
