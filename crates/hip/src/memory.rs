//! Memory: on the device, pinned on the host, and the copies between them.

mod allocation;
mod allocator;
mod blocks;
mod buffer;
mod chunks;
mod copy;
mod device_memory;
mod external;
mod fill;
mod growable;
mod host;
mod interop;
mod pending;
mod pitched;
mod plain;
#[cfg(feature = "bytemuck")]
mod pod;
mod pool;
mod rect;
mod scope;
mod shared;
#[cfg(test)]
mod tests;
mod view;
mod virtual_memory;

pub(crate) use crate::address::DeviceAddress;
pub use allocator::{ALLOCATOR_VARIABLE, Allocator, CacheLimits, MemoryStats};
pub use buffer::DeviceBuffer;
pub use chunks::{Chunks, ChunksMut};
pub use device_memory::{DeviceMemory, DeviceMemoryMut};
pub use external::ExternalMemory;
pub use growable::GrowableBuffer;
pub use host::{HostBuffer, HostOptions};
pub use interop::MemoryOwner;
pub use pending::{Pending, PendingFuture};
pub use pitched::PitchedBuffer;
pub use plain::{DeviceCopy, Number};
#[cfg(feature = "bytemuck")]
pub use pod::Plain;
pub use pool::{MemoryPool, PoolReuse, PoolStats};
pub use rect::{DeviceRect, DeviceRectMut, RectLayout, Region};
pub use scope::CopyScope;
pub use shared::{Advice, Location, ManagedBuffer, MappedBuffer, RegisteredBuffer};
pub use view::{DeviceSlice, DeviceSliceMut};
pub use virtual_memory::{Access, AddressRange, Granularity, PhysicalMemory};

pub(crate) use allocation::Allocation;
pub(crate) use allocator::Heap;
pub(crate) use copy::same_length;
pub(crate) use fill::{FillStep, Pattern, bytes_of, fill_steps};

use crate::error::{Error, Result};

/// The size of `len` elements in bytes, if they fit into the address space.
pub(crate) fn size_in_bytes<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
    bytes.ok_or(Error::TooLarge { elements: len, size: size_of::<T>() })
}
