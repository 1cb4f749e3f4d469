//! Devices, streams, memory and kernels that keep everything they use alive.

mod context;
mod copy;
mod event;
mod external;
mod function;
mod graph;
mod host;
mod launch;
mod module;
mod profile;
mod slice;
mod stream;
mod traits;
mod unified;
mod uses;
mod view;

pub use context::CudaContext;
pub use event::CudaEvent;
pub use external::{ExternalMemory, MappedBuffer};
pub use function::CudaFunction;
pub use graph::CudaGraph;
pub use host::PinnedHostSlice;
pub use launch::{LaunchArgs, LaunchConfig, PushKernelArg};
pub use module::CudaModule;
pub use profile::{Profiler, profiler_start, profiler_stop};
pub use slice::CudaSlice;
pub use stream::CudaStream;
pub use traits::{DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, HostSlice, SyncOnDrop, ValidAsZeroBits};
pub use unified::{UnifiedSlice, UnifiedView, UnifiedViewMut};
pub use view::{CudaView, CudaViewMut};

pub use super::result::DriverError;
