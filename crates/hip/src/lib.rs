//! Safe HIP for Rust: devices, streams, buffers and checked kernel launches on AMD, NVIDIA and virtual GPUs.
//!
//! A program opens a [`Device`] by its [URI](uri), loads a [`Module`] of compiled kernels, and launches its
//! [`Function`]s on a [`Stream`] with [`DeviceBuffer`]s as arguments. Building it needs no SDK: AMD's library
//! or NVIDIA's driver is opened when the program runs. Without a GPU, a virtual one in the process executes
//! the same machine code.
//!
//! ```no_run
#![doc = include_str!("../examples/saxpy.rs")]
//! ```
//!
//! The [guide](docs::guide) leads from the first buffer to graphs. Other pages explain [device
//! URIs](docs::devices) and [faults](docs::faults) of kernels.
//!
//! # CUDA, cudarc, and this crate
//! | CUDA runtime | cudarc | `hip` |
//! |---|---|---|
//! | `cudaSetDevice` | `CudaContext::new(0)` | [`Device::open("amdgpu:0")`](Device::open), made current automatically on every thread |
//! | `cudaGetDeviceProperties` | `CudaContext::attribute` | [`Device::properties`], [`Device::attribute`] |
//! | `cudaDeviceEnablePeerAccess` | | [`Device::enable_peer_access`], [`PeerMatrix`]; [`Device::logical`] combines several |
//! | `cudaDeviceSetLimit` | | [`Device::set_limit`] |
//! | `cudaStreamCreate` | `CudaContext::new_stream` | [`Device::stream`] |
//! | `cudaStreamCreateWithPriority` | | [`Device::stream_with`], [`StreamOptions`] |
//! | `cudaStreamPerThread` | `CudaContext::per_thread_stream` | [`Device::thread_stream`] |
//! | `cudaLaunchHostFunc` | | [`Stream::host_function`] |
//! | `cuStreamWaitValue64` | | [`Stream::wait_signal`]: waits for a number that the host raises |
//! | `cudaStreamSynchronize` | `CudaStream::synchronize` | [`Stream::synchronize`] |
//! | | | [`Stream::completion`], [`Event::completion`], `.await` on a [`Pending`]: futures for any executor |
//! | `cudaStreamWaitEvent` | `CudaStream::wait` | [`Stream::wait`], for events and streams; buffers order streams automatically |
//! | `cudaEventRecord`, `cudaEventElapsedTime` | `CudaStream::record_event`, `CudaEvent::elapsed_ms` | [`Stream::record`], [`Event::elapsed_since`] |
//! | `cudaMalloc`, `cudaFree` | `CudaSlice<T>` | [`DeviceBuffer<T>`](DeviceBuffer), freed on drop |
//! | `cudaMallocAsync`, `cudaFreeAsync` | | [`DeviceBuffer::uninit_on`], [`Allocator::StreamOrdered`] |
//! | `cudaMemPoolCreate`, `cudaMallocFromPoolAsync` | | [`MemoryPool`] |
//! | PyTorch's caching allocator | | [`Allocator::Caching`], the default on real GPUs; [`Device::memory_stats`], [`Device::trim_memory`] |
//! | pointer arithmetic | `CudaView`, `CudaViewMut` | [`DeviceSlice`], [`DeviceSliceMut`], with `slice`, `split_at`, `chunks` |
//! | a cast of the pointer | `CudaSlice::transmute` | [`DeviceBuffer::cast`], [`DeviceBuffer::as_bytes`] |
//! | | `DevicePtr`, `DeviceSlice` | [`DeviceMemory`], [`DeviceMemoryMut`]: methods of every buffer, view and variable |
//! | `cudaMemcpyDtoD` to new memory | `CudaSlice::try_clone`, `clone_dtod` | [`DeviceBuffer::try_clone`] |
//! | `cudaMemset` | `CudaStream::memset_zeros` | [`DeviceBuffer::zeroed`], [`DeviceBuffer::fill`] |
//! | `cudaMemcpy` | `CudaStream::clone_htod`, `clone_dtoh` | [`DeviceBuffer::from_slice`], [`DeviceBuffer::to_vec`] |
//! | `cudaMemcpyPeerAsync` | | [`DeviceBuffer::copy_from`] |
//! | `cuMemAddressReserve`, `cuMemCreate`, `cuMemMap`, `cuMemSetAccess` | | [`AddressRange`], [`PhysicalMemory`]; [`GrowableBuffer`] for one array |
//! | `cuMemExportToShareableHandle`, `cuMemImportFromShareableHandle` | | [`PhysicalMemory::export`], [`PhysicalMemory::import`] |
//! | `cudaIpcGetMemHandle`, `cudaIpcOpenMemHandle` | | [`DeviceBuffer::ipc_handle`], [`IpcMemory::open`]; [`IpcEvent`] for events |
//! | `cudaImportExternalMemory`, `cudaExternalMemoryGetMappedBuffer` | | [`ExternalMemory`]: buffers of Vulkan's memory |
//! | `cudaMemcpy2D`, `cudaMemcpy3D`, `cudaMemset2D`, `cudaMemset3D` | | [`DeviceRect`], [`DeviceRectMut`]: rectangles and boxes of any buffer, by [`RectLayout`] and [`Region`] |
//! | `cudaMallocPitch`, `cudaMalloc3D` | | [`PitchedBuffer`] |
//! | `cudaMallocHost`, `cudaHostAlloc` | `PinnedHostSlice<T>` | [`HostBuffer<T>`](HostBuffer), [`HostOptions`] |
//! | `cudaHostAllocMapped`, `cudaHostRegister` | | [`MappedBuffer`], [`RegisteredBuffer`] |
//! | `cudaMallocManaged`, `cudaMemAdvise`, `cudaMemPrefetchAsync` | `UnifiedSlice<T>` | [`ManagedBuffer`] |
//! | | `DeviceRepr` | [`DeviceCopy`], derived; `Plain` for types of other crates (feature `bytemuck`) |
//! | `cudaMemcpyAsync` | `CudaStream::memcpy_htod` | [`DeviceBuffer::upload`], [`DeviceBuffer::download`]: the copy owns the host buffer; [`Stream::scope`] for borrowed memory |
//! | `cuModuleLoadData`, `cuModuleLoad` | `CudaContext::load_module` | [`Module::load`], [`Module::load_file`], [`Module::load_embedded`] |
//! | lazy loading | | a `static` [`LazyModule`]: loaded once per device, on first use |
//! | `cuModuleGetFunction` | `CudaModule::load_function` | [`Module::function`], [`LazyModule::function`] |
//! | `cuModuleGetGlobal`, `cudaMemcpyToSymbol` | `CudaModule::get_global` | [`Module::global`], [`Module::global_mut`] |
//! | `cuFuncGetAttribute` | `CudaFunction::get_attribute` | [`Function::attributes`], [`Function::attribute`] |
//! | `cuOccupancyMaxActiveBlocksPerMultiprocessor` | `CudaFunction::occupancy_…` | [`Function::max_active_blocks`], [`Function::suggest_block`] |
//! | `cudaGraphAddKernelNode` | | [`Graph::add_kernel`] and the like |
//! | `cudaGraphAddMemAllocNode`, `cudaGraphAddMemFreeNode` | | [`Graph::add_allocation`], [`Graph::add_free`], [`GraphBuffer`] |
//! | `cudaGraphNodeSetEnabled` | | [`GraphExec::set_enabled`] |
//! | `cudaGraphInstantiate`, `cudaGraphLaunch` | `CudaGraph::launch` | [`Graph::instantiate`], [`GraphExec::launch`] |
//! | `nvtxRangePush`, `nvtxMark` | | [`roctx::range`], [`roctx::mark`] |
//! | `nvrtcCompileProgram` | `compile_ptx` | [`Device::compile`], [`rtc::Compiler`] |
//! | `cuLaunchKernel` | `CudaStream::launch_builder` | [`Function::launch`], checked against the code object |
//! | | | [`kernels!`](kernels): typed functions from kernels' signatures |
//! | `cuLaunchCooperativeKernel` | `launch_cooperative` | [`Launch::cooperative`](launch::Launch::cooperative) |
//! | `kernel<<<grid, block, shared, stream>>>` | `LaunchConfig` | [`Launch::grid`](launch::Launch::grid), [`Launch::block`](launch::Launch::block), [`Launch::dynamic_lds`](launch::Launch::dynamic_lds) |
//! | `__shared__` memory, SM, warp, thread | | LDS, compute unit, wave, work-item |
//!
//! # Interoperating with other code
//! `as_raw` returns an object's HIP handle. `into_raw` and [`DeviceBuffer::into_raw_parts`] give up ownership
//! of streams, events and device memory. `from_raw` and [`DeviceBuffer::from_raw_parts`] wrap those of other
//! code without owning them. [`Device::of_table`] takes a function table that the program has loaded itself.
//!
//! # Guarantees
//! - **Nothing panics**, whatever a caller passes. Every failure is an [`Error`] that names the operation,
//!   the code and the object.
//! - **Lifetimes.** A function keeps its module loaded, and a module keeps its device open. Memory is freed
//!   and modules are unloaded once no stream uses them. Host memory of an asynchronous copy belongs to the
//!   copy until it is done.
//! - **Threads.** Objects can be sent to and shared between threads. Each call makes its device current.
//! - **Streams.** Work on one stream is ordered. When a buffer is used on several streams, conflicting work
//!   is ordered automatically.
//! - **Launches** are checked before they reach the device; see [`launch`] for what the checks cover and what
//!   they cannot.
//! - **Faults.** A kernel that ends abnormally is an [`Error::Fault`] with a [`FaultReport`].
//!   [`Error::is_sticky`] says whether other streams keep working.
//! - **Drop** never makes an unrelated call fail: a failure there is traced and counted by [`drop_failures`].
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `rtc` | on | [`rtc`] and [`Device::compile`]: kernels compiled at run time. Without it, the program contains no compiler code. |
//! | `virtual` | on | the virtual GPU. Without it, the executor, which is most of the build, is not compiled; the URI `vgpu` is [`Error::BackendUnavailable`], and `auto` skips it with that reason. |
//! | `bytemuck` | off | `Plain`, a wrapper that makes any `bytemuck::Pod` type [`DeviceCopy`]. |
//! | `num-complex` | off | `num_complex::Complex` as [`DeviceCopy`]. |
//! | `trace-calls` | off | a `tracing` span of level `TRACE` and target `hip::calls` for every call into the HIP table, with the function's name, its arguments, device and stream, and the error if there was one. Without the feature, calls cost nothing extra. |
//!
//! # What this crate does not wrap
//! All other functions of HIP can be called through [`Device::table`].
#![warn(missing_docs)]

mod address;
mod backend;
mod call;
mod completion;
mod current;
mod device;
pub mod docs;
mod error;
mod event;
#[cfg(test)]
mod fake;
mod function;
mod global;
pub mod graph;
mod ipc;
mod kernel_info;
pub mod launch;
#[cfg(test)]
mod layers;
mod lazy;
mod live;
mod memory;
mod metrics;
mod module;
mod quirks;
pub mod report;
pub mod roctx;
#[cfg(feature = "rtc")]
pub mod rtc;
mod stream;
mod threads;
pub mod timeline;
pub mod uri;
mod usage;

/// This crate tracks which stream uses which memory. Access to the machine below would bypass that, so this
/// crate does not export it.
///
/// ```compile_fail,E0433
/// let memory = hip::vgpu::machine::Machine::global().memory();
/// ```
#[cfg(doctest)]
struct TheMachineBehind;

pub use address::DeviceAddress;
pub use backend::{Backend, Skipped};
pub use call::drop_failures;
pub use code_object;
pub use code_object::TargetId;
pub use completion::Completion;
pub use device::{Device, Limit, MemoryInfo, PciAddress, PeerLink, PeerMatrix, Properties};
pub use error::{
    Error, ExternalMemoryError, FaultReport, GraphError, HostLaunchError, IpcError, LaunchError, Result,
    UriError, VirtualMemoryError,
};
pub use event::{Event, EventOptions};
pub use function::{Function, SuggestedBlock};
pub use global::{Global, GlobalMut};
pub use graph::{Graph, GraphBuffer, GraphExec, GraphMemory, GraphResource, SharedHostBuffer};
#[doc(inline)]
pub use hip_derive::DeviceCopy;
pub use hip_sys;
pub use ipc::{IpcEvent, IpcMemory};
pub use kernel_info::FunctionAttributes;
pub use launch::{KernelArg, Launch, LaunchConfig, PreparedLaunch};
pub use lazy::LazyModule;
pub use live::{Live, live};
#[cfg(feature = "bytemuck")]
pub use memory::Plain;
pub use memory::{
    ALLOCATOR_VARIABLE, Access, AddressRange, Advice, Allocator, CacheLimits, Chunks, ChunksMut, CopyScope,
    DeviceBuffer, DeviceCopy, DeviceMemory, DeviceMemoryMut, DeviceRect, DeviceRectMut, DeviceSlice,
    DeviceSliceMut, ExternalMemory, Granularity, GrowableBuffer, HostBuffer, HostOptions, Location,
    ManagedBuffer, MappedBuffer, MemoryOwner, MemoryPool, MemoryStats, Number, Pending, PendingFuture,
    PhysicalMemory, PitchedBuffer, PoolReuse, PoolStats, RectLayout, Region, RegisteredBuffer,
};
pub use module::Module;
pub use quirks::{Effect, KNOWN_FAULTS_VARIABLE, QUIRKS, Quirk};
#[doc(inline)]
pub use report::{Checks, CounterFormat, Counters, Fault, FaultKind};
pub use stream::{
    Awaited, COUNTED_KERNELS, HostSignal, Stream, StreamOptions, StreamPriorities, host_function_failures,
};
pub use uri::DeviceUri;
