//! How many objects of each kind exist, for leak checks.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many objects of this crate exist in this process right now.
///
/// A test that begins and ends with the same counts has leaked nothing. An object counts until it is dropped,
/// so a forgotten (`mem::forget`) value stays in the count.
///
/// ```
/// let before = hip::live();
/// // … a test …
/// assert_eq!(hip::live(), before);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Live {
    /// Allocations of device memory that buffers, graphs and other objects hold, without memory in the cache.
    pub device_allocations: usize,
    /// Allocations and registrations of host memory, including managed memory.
    pub host_allocations: usize,
    /// Streams, except default streams.
    pub streams: usize,
    /// Events made by the program.
    pub events: usize,
    /// Loaded modules.
    pub modules: usize,
    /// Graphs and executable graphs.
    pub graphs: usize,
    /// Memory pools made by the program.
    pub memory_pools: usize,
    /// Reserved address ranges, and physical memory to map there.
    pub virtual_memory: usize,
    /// Imported memory of other drivers.
    pub external_memory: usize,
}

impl Live {
    /// Whether all counts are 0.
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

/// How many objects of this crate exist in this process right now.
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

/// The kinds of objects that are counted.
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

/// Counts the object that holds it, as long as that lives.
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
        // No other test makes pools on the fake device.
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
