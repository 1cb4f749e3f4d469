//! Reports of a device about its kernels, as data: faults, counters, and the options for them.
//!
//! [`FaultReport::details`](crate::FaultReport::details) has a [`Fault`],
//! [`Stream::take_counters`](crate::Stream::take_counters) gives [`Counters`], and
//! [`VirtualGpu`](crate::uri::VirtualGpu) takes [`Checks`] and a [`CounterFormat`]. These types come from the
//! crate `gpu-report`, which needs neither a device nor the virtual GPU, so other programs can read reports,
//! too.

pub use gpu_report::{
    AccessKind, Allocation, Branches, CacheLines, Checks, ChecksError, Class, CounterFormat,
    CounterFormatError, Counters, Fault, FaultKind, Instructions, Lanes, LdsBanks, Limit, MemoryKind,
    Occupancy, Origin, Resources, Site, SourceFrame, SourceLines, Space, Traffic, Use, demangle,
};
