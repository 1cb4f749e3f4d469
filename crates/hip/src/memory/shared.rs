//! Memory that host and device both access, without copies: mapped, registered and managed.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use hip_sys::{hipError_t, hipMemoryAdvise};

use super::{Allocation, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, HostOptions, size_in_bytes};
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::stream::Stream;

/// Elements that host and device access; the host only while no stream uses them.
struct Shared<T> {
    allocation: Arc<Allocation>,
    /// The elements' address on the host.
    pointer: NonNull<T>,
    len: usize,
}

/// The owner of such memory, dropped once nothing uses it.
struct HostMemory {
    device: Device,
    source: Source,
    _counted: Counted,
}

/// The origin of such memory, with its address on the host.
enum Source {
    /// There are no bytes.
    Nothing,
    /// `hipHostMalloc`.
    Pinned(usize),
    /// `hipHostRegister`, of memory that is dropped afterwards.
    Registered { host: usize, memory: Arc<dyn Any + Send + Sync> },
    /// `hipMallocManaged`.
    Managed(usize),
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let table = self.device.table();
        let pointer = |address: usize| std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the memory came from the function that matches the one called, and is released once.
        // Nothing uses it: this is dropped when every use is known to be over.
        let released = unsafe {
            self.device.release(|| match self.source {
                Source::Nothing => Ok(()),
                Source::Pinned(host) => call!(table, hipHostFree(pointer(host))),
                Source::Registered { host, .. } => call!(table, hipHostUnregister(pointer(host))),
                Source::Managed(host) => call!(table, hipFree(pointer(host))),
            })
        };
        if released.is_err()
            && let Source::Registered { memory, .. } = &self.source
        {
            // The device may still access it, so it is never freed.
            std::mem::forget(memory.clone());
        }
        dropped("host buffer", released);
    }
}

// SAFETY: any thread may have the elements, and the host accesses them like the owner of a slice.
unsafe impl<T: DeviceCopy> Send for Shared<T> {}
// SAFETY: a shared reference only gives out shared elements.
unsafe impl<T: DeviceCopy> Sync for Shared<T> {}

impl<T: DeviceCopy> Shared<T> {
    /// `len` elements at `pointer`, which have the address `address` on the device, and which `source`
    /// releases.
    fn new(device: &Device, pointer: NonNull<T>, len: usize, address: DeviceAddress, source: Source) -> Self {
        let memory =
            HostMemory { device: device.clone(), source, _counted: Counted::new(Kind::HostAllocation) };
        Self { allocation: Allocation::foreign(device, address, len * size_of::<T>(), memory), pointer, len }
    }

    fn empty(device: &Device, len: usize) -> Self {
        Self::new(device, NonNull::dangling(), len, DeviceAddress::NULL, Source::Nothing)
    }

    fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.allocation.settle();
        DeviceSlice::new(&self.allocation, self.allocation.address(), self.len)
    }

    fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
        self.allocation.settle();
        DeviceSliceMut::new(&self.allocation, self.allocation.address(), self.len)
    }

    /// An error if a graph holds the memory, because any thread may launch the graph at any time.
    fn no_graph(&self) -> Result<()> {
        if Arc::strong_count(&self.allocation) > 1 {
            return Err(Error::Unsupported {
                what: "host access to memory that a graph uses".to_owned(),
                instead: "drop the graph first, or use a `SharedHostBuffer`".to_owned(),
            });
        }
        // Launches of a dropped graph are visible after this.
        fence(Ordering::Acquire);
        Ok(())
    }

    fn host(&self) -> Result<&[T]> {
        self.no_graph()?;
        self.allocation.finish_writes()?;
        // SAFETY: the elements are initialised; no stream writes them, and none will while they are borrowed:
        // writing needs an exclusive view, and foreign code has promised not to.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) })
    }

    fn host_mut(&mut self) -> Result<&mut [T]> {
        self.no_graph()?;
        self.allocation.finish_uses()?;
        // SAFETY: as above, no stream uses them at all, and the borrow is exclusive.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) })
    }
}

/// Methods of all three kinds.
macro_rules! shared {
    ($buffer:ident) => {
        impl<T: DeviceCopy> $buffer<T> {
            /// All elements on the device, shared, for kernels, copies and fills.
            pub fn as_slice(&self) -> DeviceSlice<'_, T> {
                self.shared.as_slice()
            }

            /// All elements on the device, exclusive.
            pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
                self.shared.as_mut_slice()
            }

            /// All elements, for the host to read. Blocks until the streams that write them are done.
            ///
            /// # Errors
            /// [`Error::Fault`](crate::Error::Fault) if work that wrote them faulted,
            /// [`Error::Unsupported`](crate::Error::Unsupported) while a graph uses them, else
            /// [`Error::Hip`](crate::Error::Hip).
            pub fn host(&self) -> Result<&[T]> {
                self.shared.host()
            }

            /// All elements, for the host to read and write. Blocks until the streams that use them are done.
            ///
            /// # Errors
            /// As [`host`](Self::host).
            pub fn host_mut(&mut self) -> Result<&mut [T]> {
                self.shared.host_mut()
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $buffer<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($buffer))
                    .field("type", &std::any::type_name::<T>())
                    .field("len", &self.len())
                    .field("device", self.device())
                    .finish()
            }
        }
    };
}

/// An owned array in pinned host memory that the device accesses in place (zero copy).
///
/// The device reads and writes it over the bus, which pays off for data that is used once, or for a few
/// elements. Like a [`DeviceBuffer`](crate::DeviceBuffer), it is freed once no stream uses it.
#[doc(alias = "hipHostMalloc")]
#[doc(alias = "hipHostGetDevicePointer")]
#[doc(alias = "cudaHostAllocMapped")]
#[doc(alias = "cudaMallocHost")]
#[doc(alias = "cuMemHostGetDevicePointer")]
#[doc(alias = "cudaHostGetDevicePointer")]
pub struct MappedBuffer<T: DeviceCopy> {
    shared: Shared<T>,
}

shared!(MappedBuffer);

impl<T: DeviceCopy> MappedBuffer<T> {
    /// Allocates `len` elements whose bytes are zero (`hipHostMalloc`, `hipHostGetDevicePointer`).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else [`Error::Hip`].
    pub fn zeroed(device: &Device, len: usize, options: HostOptions) -> Result<Self> {
        let bytes = size_in_bytes::<T>(len)?;
        if bytes == 0 {
            return Ok(Self { shared: Shared::empty(device, len) });
        }
        let pointer =
            super::host::allocate::<T>(device, bytes, options.flags() | hip_sys::hipHostMallocMapped)?;
        let address = device_pointer(device, pointer.as_ptr().cast());
        let address = address.inspect_err(|_| {
            // SAFETY: the memory was just allocated, and nothing uses it.
            dropped("host buffer", unsafe { call!(device.table(), hipHostFree(pointer.as_ptr().cast())) });
        })?;
        let origin = Source::Pinned(pointer.as_ptr().expose_provenance());
        Ok(Self { shared: Shared::new(device, pointer, len, address, origin) })
    }
}

/// The memory of a `Vec`, pinned in place for the device (`hipHostRegister`).
///
/// Its contents need not be copied to pinned memory first. [`into_vec`](Self::into_vec) returns the vector.
#[doc(alias = "hipHostRegister")]
#[doc(alias = "hipHostUnregister")]
#[doc(alias = "cudaHostRegister")]
#[doc(alias = "cuMemHostRegister")]
#[doc(alias = "cuMemHostUnregister")]
#[doc(alias = "cudaHostUnregister")]
pub struct RegisteredBuffer<T: DeviceCopy> {
    shared: Shared<T>,
    memory: Arc<Parts<T>>,
}

shared!(RegisteredBuffer);

/// A vector as raw parts.
#[derive(Debug)]
struct Parts<T> {
    pointer: NonNull<T>,
    len: usize,
    capacity: usize,
}

// SAFETY: it owns its elements, which any thread may have, and gives no access to them.
unsafe impl<T: DeviceCopy> Send for Parts<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> Sync for Parts<T> {}

impl<T> Parts<T> {
    fn of(vec: Vec<T>) -> Self {
        let mut vec = std::mem::ManuallyDrop::new(vec);
        let pointer = NonNull::new(vec.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { pointer, len: vec.len(), capacity: vec.capacity() }
    }

    fn into_vec(self) -> Vec<T> {
        let parts = std::mem::ManuallyDrop::new(self);
        // SAFETY: the parts come from a vector, and are reassembled once.
        unsafe { Vec::from_raw_parts(parts.pointer.as_ptr(), parts.len, parts.capacity) }
    }
}

impl<T> Drop for Parts<T> {
    fn drop(&mut self) {
        // SAFETY: the parts come from a vector, and are reassembled once.
        drop(unsafe { Vec::from_raw_parts(self.pointer.as_ptr(), self.len, self.capacity) });
    }
}

impl<T: DeviceCopy> RegisteredBuffer<T> {
    /// Pins the elements of a vector (`hipHostRegister`, `hipHostGetDevicePointer`).
    ///
    /// # Errors
    /// [`Error::Hip`]; the vector is then dropped.
    pub fn new(device: &Device, vec: Vec<T>) -> Result<Self> {
        let (len, bytes) = (vec.len(), size_of_val(vec.as_slice()));
        let memory = Arc::new(Parts::of(vec));
        let pointer = memory.pointer;
        if bytes == 0 {
            return Ok(Self { shared: Shared::empty(device, len), memory });
        }
        let host: *mut c_void = pointer.as_ptr().cast();
        device.make_current()?;
        let flags = hip_sys::hipHostRegisterMapped;
        // SAFETY: the memory is the vector's, and is unregistered before the vector is dropped.
        unsafe { call!(device.table(), hipHostRegister(host, bytes, flags))? };
        let address = device_pointer(device, host).inspect_err(|_| {
            // SAFETY: the memory was just registered, and nothing uses it.
            dropped("registered memory", unsafe { call!(device.table(), hipHostUnregister(host)) });
        })?;
        let keep: Arc<dyn Any + Send + Sync> = memory.clone();
        let origin = Source::Registered { host: host.expose_provenance(), memory: keep };
        Ok(Self { shared: Shared::new(device, pointer, len, address, origin), memory })
    }

    /// Waits for the streams that use the memory, and returns the vector (`hipHostUnregister`).
    ///
    /// # Errors
    /// As [`host_mut`](Self::host_mut); the vector is then dropped.
    pub fn into_vec(mut self) -> Result<Vec<T>> {
        self.shared.host_mut()?;
        let Self { shared, memory } = self;
        // Nothing else holds the allocation: no graph does, and none can get it without this handle.
        drop(shared);
        let vec = Arc::into_inner(memory).map(Parts::into_vec);
        vec.ok_or(Error::Hip { operation: "hipHostUnregister", code: hipError_t::hipErrorUnknown })
    }
}

/// An owned array in memory that migrates between host and device automatically (`hipMallocManaged`).
///
/// The host accesses it through [`host`](Self::host) and [`host_mut`](Self::host_mut), which wait for the
/// streams that use it. Kernels, copies and fills use its views.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut counts = hip::ManagedBuffer::<u32>::zeroed(&device, 100)?;
/// counts.host_mut()?[0] = 7;
/// counts.slice_mut(1..)?.fill(&stream, 1)?;
/// assert_eq!(counts.host()?[..3], [7, 1, 1]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMallocManaged")]
#[doc(alias = "cudaMallocManaged")]
#[doc(alias = "UnifiedSlice")]
#[doc(alias = "cuMemAllocManaged")]
pub struct ManagedBuffer<T: DeviceCopy> {
    shared: Shared<T>,
}

shared!(ManagedBuffer);

/// A location of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location<'a> {
    /// In host memory.
    Host,
    /// In the memory of a device.
    Device(&'a Device),
}

/// Advice on how managed memory will be used ([`ManagedBuffer::advise`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice<'a> {
    /// Whether it is mostly read, so that copies may be kept in several places.
    ReadMostly(bool),
    /// Where it should be; `None` withdraws that advice.
    PreferredLocation(Option<Location<'a>>),
    /// Where it will be accessed from, so that it stays mapped there.
    AccessedBy(Location<'a>),
    /// Withdraws that advice.
    NotAccessedBy(Location<'a>),
    /// Whether others need to see changes only when a kernel ends, which is faster on some devices.
    CoarseGrained(bool),
}

impl Location<'_> {
    /// HIP's number of the location: `hipCpuDeviceId`, or a device's ordinal.
    fn id(self) -> i32 {
        match self {
            Self::Host => -1,
            Self::Device(device) => device.ordinal() as i32,
        }
    }
}

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// Allocates `len` elements whose bytes are zero (`hipMallocManaged`).
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size does not fit into the address space, else [`Error::Hip`].
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let bytes = size_in_bytes::<T>(len)?;
        if bytes == 0 {
            return Ok(Self { shared: Shared::empty(device, len) });
        }
        device.make_current()?;
        let mut raw: *mut c_void = std::ptr::null_mut();
        // SAFETY: the result is a place to write to, and the device is current on this thread.
        unsafe { call!(device.table(), hipMallocManaged(&raw mut raw, bytes, hip_sys::hipMemAttachGlobal))? };
        let address = DeviceAddress(raw.expose_provenance() as u64);
        let pointer = match NonNull::new(raw.cast::<T>()) {
            Some(pointer) if pointer.is_aligned() => pointer,
            _ => {
                // SAFETY: the memory was just allocated, and nothing uses it; null is ignored.
                dropped("managed buffer", unsafe { call!(device.table(), hipFree(raw)) });
                let code = hipError_t::hipErrorUnknown;
                return Err(Error::Hip { operation: "hipMallocManaged", code });
            }
        };
        // SAFETY: the allocation has that many bytes, and no stream uses it yet.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        Ok(Self { shared: Shared::new(device, pointer, len, address, Source::Managed(raw.addr())) })
    }

    /// Allocates a buffer and copies `source` to it.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, source.len())?;
        buffer.host_mut()?.copy_from_slice(source);
        Ok(buffer)
    }

    /// Tells the library how the memory will be used (`hipMemAdvise`).
    ///
    /// # Errors
    /// [`Error::OtherRuntime`] for a device of another library, else [`Error::Hip`].
    #[doc(alias = "hipMemAdvise")]
    #[doc(alias = "cudaMemAdvise")]
    #[doc(alias = "cuMemAdvise")]
    pub fn advise(&self, advice: Advice<'_>) -> Result<()> {
        let (what, location) = match advice {
            Advice::ReadMostly(true) => (hipMemoryAdvise::hipMemAdviseSetReadMostly, None),
            Advice::ReadMostly(false) => (hipMemoryAdvise::hipMemAdviseUnsetReadMostly, None),
            Advice::PreferredLocation(None) => (hipMemoryAdvise::hipMemAdviseUnsetPreferredLocation, None),
            Advice::PreferredLocation(to) => (hipMemoryAdvise::hipMemAdviseSetPreferredLocation, to),
            Advice::AccessedBy(by) => (hipMemoryAdvise::hipMemAdviseSetAccessedBy, Some(by)),
            Advice::NotAccessedBy(by) => (hipMemoryAdvise::hipMemAdviseUnsetAccessedBy, Some(by)),
            Advice::CoarseGrained(true) => (hipMemoryAdvise::hipMemAdviseSetCoarseGrain, None),
            Advice::CoarseGrained(false) => (hipMemoryAdvise::hipMemAdviseUnsetCoarseGrain, None),
        };
        let location = location.unwrap_or(Location::Device(self.device()));
        if let Location::Device(device) = location {
            self.device().same_runtime(device, "hipMemAdvise", "location")?;
        }
        let (pointer, bytes) = (self.shared.pointer.as_ptr().cast(), self.len() * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        self.device().make_current()?;
        // SAFETY: the memory is managed, of that many bytes, and advice changes no byte of it.
        unsafe { call!(self.device().table(), hipMemAdvise(pointer, bytes, what, location.id())) }
    }

    /// Moves the memory ahead of its use, in the order of `stream` (`hipMemPrefetchAsync`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the stream's device cannot access the memory, [`Error::OtherRuntime`] for a
    /// location of another library, [`Error::Fault`] if the stream, or the work that wrote the memory, has
    /// faulted, else [`Error::Hip`].
    #[doc(alias = "hipMemPrefetchAsync")]
    #[doc(alias = "cudaMemPrefetchAsync")]
    #[doc(alias = "cuMemPrefetchAsync")]
    pub fn prefetch(&self, stream: &Stream, to: Location<'_>) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemPrefetchAsync", "buffer")?;
        if let Location::Device(device) = to {
            stream.device().same_runtime(device, "hipMemPrefetchAsync", "location")?;
        }
        let (pointer, bytes) = (self.shared.pointer.as_ptr().cast(), self.len() * size_of::<T>());
        if bytes == 0 {
            return Ok(());
        }
        stream.make_current()?;
        self.shared.allocation.read_on(stream)?;
        // SAFETY: the memory is managed, of that many bytes, and lives until the stream is done with it.
        stream.check(unsafe {
            call!(stream.table(), hipMemPrefetchAsync(pointer, bytes, to.id(), stream.handle()))
        })
    }
}

/// The address of pinned host memory on the device.
fn device_pointer(device: &Device, host: *mut c_void) -> Result<DeviceAddress> {
    let mut address: *mut c_void = std::ptr::null_mut();
    // SAFETY: the result is a place to write to.
    unsafe { call!(device.table(), hipHostGetDevicePointer(&raw mut address, host, 0))? };
    Ok(DeviceAddress(address.expose_provenance() as u64))
}
