//! Memory: allocations, pools, virtual memory, and operations on memory in stream order.

pub(crate) mod allocation;
pub(crate) mod copy;
pub(crate) mod external;
pub(crate) mod fill;
pub(crate) mod imports;
pub(crate) mod managed;
pub(crate) mod pool;
pub(crate) mod rect;
pub(crate) mod virtual_memory;
pub(crate) mod words;
