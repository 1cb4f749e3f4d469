//! Memory, as reports describe it.

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
    /// Registered memory of the host program, which still belongs to its owner.
    Registered,
    /// Machine code; read-only to kernels.
    Code,
    /// Constants of a code object; read-only to kernels.
    Constant,
    /// Variables of a code object.
    Data,
    /// Queues and signals of the host's runtime; kernels can only read them.
    Guarded,
}

impl MemoryKind {
    /// Whether kernels may write it.
    pub fn writable(self) -> bool {
        !matches!(self, MemoryKind::Code | MemoryKind::Constant | MemoryKind::Guarded)
    }
}

/// A range of memory that the machine knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Allocation {
    /// First byte.
    pub start: u64,
    /// Size in bytes, exactly as requested.
    pub size: u64,
    /// What it is for.
    pub kind: MemoryKind,
    /// The device that the memory is counted against; none for host memory.
    pub device: Option<usize>,
    /// Numbers allocations, to distinguish two at the same address.
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
