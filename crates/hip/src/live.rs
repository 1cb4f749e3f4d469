//! How many things of each kind exist, for leak checks.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many of this crate's things exist in this process right now.
///
/// A test that begins and ends with the same counts has leaked none. What is released on drop is counted until then, so
/// a value that was forgotten stays in the count.
///
/// ```
/// let before = hip::live();
/// // … a test …
/// assert_eq!(hip::live(), before);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Live {
    /// Allocations of device memory that buffers, graphs or others hold; what the cache keeps is not counted.
    pub device_allocations: usize,
    /// Allocations and registrations of host memory, managed memory among them.
    pub host_allocations: usize,
    /// Streams, without default streams.
    pub streams: usize,
    /// Events that programs made.
    pub events: usize,
    /// Loaded modules.
    pub modules: usize,
    /// Graphs, and executable ones.
    pub graphs: usize,
    /// Memory pools that programs made.
    pub memory_pools: usize,
    /// Reserved ranges of addresses, and physical memory to map there.
    pub virtual_memory: usize,
    /// Imported memory of other drivers.
    pub external_memory: usize,
}

impl Live {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device_allocations,
            host_allocations,
            streams,
            events,
            modules,
            graphs,
            memory_pools,
            virtual_memory,
            external_memory,
        } = self;
        write!(
            f,
            "{device_allocations} device allocations, {host_allocations} host allocations, {streams} streams, \
             {events} events, {modules} modules, {graphs} graphs, {memory_pools} memory pools, {virtual_memory} of virtual memory, \
             {external_memory} of external memory"
        )
    }
}

/// How many of this crate's things exist in this process right now.
pub fn live() -> Live {
    let count = |kind: Kind| COUNTS[kind as usize].load(Ordering::Acquire);
    Live {
        device_allocations: count(Kind::DeviceAllocation),
        host_allocations: count(Kind::HostAllocation),
        streams: count(Kind::Stream),
        events: count(Kind::Event),
        modules: count(Kind::Module),
        graphs: count(Kind::Graph),
        memory_pools: count(Kind::MemoryPool),
        virtual_memory: count(Kind::VirtualMemory),
        external_memory: count(Kind::ExternalMemory),
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    DeviceAllocation,
    HostAllocation,
    Stream,
    Event,
    Module,
    Graph,
    MemoryPool,
    VirtualMemory,
    ExternalMemory,
}

static COUNTS: [AtomicUsize; 9] = [const { AtomicUsize::new(0) }; 9];

/// Held by a thing for as long as it counts.
#[derive(Debug)]
pub(crate) struct Counted(Kind);

impl Counted {
    pub(crate) fn new(kind: Kind) -> Self {
        COUNTS[kind as usize].fetch_add(1, Ordering::AcqRel);
        Self(kind)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNTS[self.0 as usize].fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_count_as_long_as_they_live() {
        // Other tests make no pools of the fake device.
        let before = live().memory_pools;
        let first = Counted::new(Kind::MemoryPool);
        let second = Counted::new(Kind::MemoryPool);
        assert_eq!(live().memory_pools, before + 2);
        drop((first, second));
        assert_eq!(live().memory_pools, before);
    }

    #[test]
    fn counts_are_told_in_words() {
        let live = Live { streams: 2, ..Live::default() };
        assert!(!live.is_empty() && live.to_string().contains("2 streams"), "{live}");
        assert!(Live::default().is_empty());
    }
}
