//! Memory that host and device both reach, without copies: mapped, registered and managed.

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

/// Elements that host and device reach, the host only while no stream uses them.
struct Shared<T> {
    allocation: Arc<Allocation>,
    /// Where the host reaches them.
    pointer: NonNull<T>,
    len: usize,
}

/// What an allocation of such memory drops when nothing uses it any more.
struct HostMemory {
    device: Device,
    source: Source,
    _counted: Counted,
}

/// Where such memory came from, with its address on the host.
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
        // SAFETY: the memory came from the function that belongs to the one called, is given back once, and nothing uses it: this is
        // dropped when every use is known to be over.
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
            // The device may still reach it: it is never freed.
            std::mem::forget(memory.clone());
        }
        dropped("host buffer", released);
    }
}

// SAFETY: the elements may go to any thread, and the host reaches them as a slice's owner does.
unsafe impl<T: DeviceCopy> Send for Shared<T> {}
// SAFETY: shared, it only gives shared elements.
unsafe impl<T: DeviceCopy> Sync for Shared<T> {}

impl<T: DeviceCopy> Shared<T> {
    /// `len` elements at `pointer`, which the device reaches at `address`, and which `source` releases.
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

    /// An error if a graph holds the memory: it may be launched at any time, by any thread.
    fn no_graph(&self) -> Result<()> {
        if Arc::strong_count(&self.allocation) > 1 {
            return Err(Error::Unsupported {
                what: "access by the host to memory that a graph uses".to_owned(),
                instead: "drop the graph before, or use a `SharedHostBuffer`".to_owned(),
            });
        }
        // What a graph that is gone has launched is known by now.
        fence(Ordering::Acquire);
        Ok(())
    }

    fn host(&self) -> Result<&[T]> {
        self.no_graph()?;
        self.allocation.finish_writes()?;
        // SAFETY: the elements are initialised; no stream writes them, and none will while they are borrowed: that takes an
        // exclusive view, or foreign code that promised otherwise.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) })
    }

    fn host_mut(&mut self) -> Result<&mut [T]> {
        self.no_graph()?;
        self.allocation.finish_uses()?;
        // SAFETY: as above, no stream uses them at all, and the borrow is exclusive.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) })
    }
}

/// What all three kinds have.
macro_rules! shared {
    ($buffer:ident) => {
        impl<T: DeviceCopy> $buffer<T> {
            /// All elements as the device reaches them, shared: for kernels, copies and fills.
            pub fn as_slice(&self) -> DeviceSlice<'_, T> {
                self.shared.as_slice()
            }

            /// All elements as the device reaches them, exclusive.
            pub fn as_mut_slice(&mut self) -> DeviceSliceMut<'_, T> {
                self.shared.as_mut_slice()
            }

            /// All elements, for the host to read. Blocks until the streams that write them are done.
            ///
            /// # Errors
            /// [`Error::Fault`](crate::Error::Fault) if work that wrote them faulted,
            /// [`Error::Unsupported`](crate::Error::Unsupported) as long as a graph uses them, else
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

/// An owned array in pinned host memory that the device reaches in place: zero copy.
///
/// The device reads and writes it over the bus; that is worth it for what is used once, or for a few elements. It is freed
/// like a [`DeviceBuffer`](crate::DeviceBuffer): when no stream uses it any more.
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
            // SAFETY: the memory was just allocated and nobody has it.
            dropped("host buffer", unsafe { call!(device.table(), hipHostFree(pointer.as_ptr().cast())) });
        })?;
        let origin = Source::Pinned(pointer.as_ptr().expose_provenance());
        Ok(Self { shared: Shared::new(device, pointer, len, address, origin) })
    }
}

/// A vector's memory, pinned in place for the device (`hipHostRegister`).
///
/// What is in it comes and goes without being copied to pinned memory first. [`into_vec`](Self::into_vec) gives the vector back.
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

/// A vector whose elements are reached by a pointer.
#[derive(Debug)]
struct Parts<T> {
    pointer: NonNull<T>,
    len: usize,
    capacity: usize,
}

// SAFETY: it owns its elements, which may go to any thread, and gives no access to them.
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
        // SAFETY: the parts are those of a vector, and are put together once.
        unsafe { Vec::from_raw_parts(parts.pointer.as_ptr(), parts.len, parts.capacity) }
    }
}

impl<T> Drop for Parts<T> {
    fn drop(&mut self) {
        // SAFETY: the parts are those of a vector, and are put together once.
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
        // SAFETY: the memory is the vector's, and is given back before that goes.
        unsafe { call!(device.table(), hipHostRegister(host, bytes, flags))? };
        let address = device_pointer(device, host).inspect_err(|_| {
            // SAFETY: the memory was just registered and nobody uses it.
            dropped("registered memory", unsafe { call!(device.table(), hipHostUnregister(host)) });
        })?;
        let keep: Arc<dyn Any + Send + Sync> = memory.clone();
        let origin = Source::Registered { host: host.expose_provenance(), memory: keep };
        Ok(Self { shared: Shared::new(device, pointer, len, address, origin), memory })
    }

    /// The vector, when the streams that use it are done (`hipHostUnregister`).
    ///
    /// # Errors
    /// As [`host_mut`](Self::host_mut); the vector is then dropped.
    pub fn into_vec(mut self) -> Result<Vec<T>> {
        self.shared.host_mut()?;
        let Self { shared, memory } = self;
        // Nothing else holds the allocation: no graph does, and it cannot come to one without this.
        drop(shared);
        let vec = Arc::into_inner(memory).map(Parts::into_vec);
        vec.ok_or(Error::Hip { operation: "hipHostUnregister", code: hipError_t::hipErrorUnknown })
    }
}

/// An owned array in memory that moves between host and device by itself (`hipMallocManaged`).
///
/// The host reaches it through [`host`](Self::host) and [`host_mut`](Self::host_mut), which wait for the streams that
/// use it; kernels, copies and fills through its views.
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

/// Where managed memory may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location<'a> {
    /// In host memory.
    Host,
    /// In the memory of a device.
    Device(&'a Device),
}

/// What a program knows of how managed memory will be used ([`ManagedBuffer::advise`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice<'a> {
    /// Whether it is mostly read: copies of it may be kept in several places.
    ReadMostly(bool),
    /// Where it should lie; nothing takes that back.
    PreferredLocation(Option<Location<'a>>),
    /// Who will access it, so that it stays mapped there.
    AccessedBy(Location<'a>),
    /// Takes that back.
    NotAccessedBy(Location<'a>),
    /// Whether changes need to be seen by others only when a kernel ends; faster on some devices.
    CoarseGrained(bool),
}

impl Location<'_> {
    /// As HIP numbers places: `hipCpuDeviceId`, or a device's ordinal.
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
                // SAFETY: the memory was just allocated and nobody has it; null is ignored.
                dropped("managed buffer", unsafe { call!(device.table(), hipFree(raw)) });
                let code = hipError_t::hipErrorUnknown;
                return Err(Error::Hip { operation: "hipMallocManaged", code });
            }
        };
        // SAFETY: the allocation has that many bytes, and no stream uses it yet.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        Ok(Self { shared: Shared::new(device, pointer, len, address, Source::Managed(raw.addr())) })
    }

    /// Allocates as many elements as `source` has and copies them.
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

    /// Moves the memory in the order of `stream`, before it is needed (`hipMemPrefetchAsync`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the stream's device does not reach the memory, [`Error::OtherRuntime`] for a location of
    /// another library, [`Error::Fault`] if the stream or what wrote the memory has faulted, else [`Error::Hip`].
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

/// Where the device reaches pinned host memory.
fn device_pointer(device: &Device, host: *mut c_void) -> Result<DeviceAddress> {
    let mut address: *mut c_void = std::ptr::null_mut();
    // SAFETY: the result is a place to write to.
    unsafe { call!(device.table(), hipHostGetDevicePointer(&raw mut address, host, 0))? };
    Ok(DeviceAddress(address.expose_provenance() as u64))
}
