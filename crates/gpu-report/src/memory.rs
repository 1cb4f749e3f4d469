//! Memory as reports name it.

use serde::{Deserialize, Serialize};

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum MemoryKind {
    /// Coarse-grained device memory.
    Coarse,
    /// Fine-grained device memory.
    Fine,
    /// Fine-grained host memory.
    Host,
    /// Memory for kernel arguments.
    Kernarg,
    /// Memory of the host program that was registered; its owner keeps it.
    Registered,
    /// Machine code; read-only to kernels.
    Code,
    /// Constants of a code object; read-only to kernels.
    Constant,
    /// Variables of a code object.
    Data,
    /// Queues and signals of the host's runtime; read-only to kernels.
    Guarded,
}

impl MemoryKind {
    /// Whether kernels may write it.
    pub fn writable(self) -> bool {
        !matches!(self, MemoryKind::Code | MemoryKind::Constant | MemoryKind::Guarded)
    }
}

/// A range of memory known to the machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Allocation {
    /// First byte.
    pub start: u64,
    /// Size in bytes, exactly as asked for.
    pub size: u64,
    /// What it is for.
    pub kind: MemoryKind,
    /// The device whose memory it counts against; none for host memory.
    pub device: Option<usize>,
    /// Counts allocations, to tell two at the same address apart.
    pub serial: u64,
}

impl Allocation {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }

    /// Whether `size` bytes at `address` lie in it.
    pub fn covers(&self, address: u64, size: u64) -> bool {
        address >= self.start && size <= self.size && address - self.start <= self.size - size
    }
}
