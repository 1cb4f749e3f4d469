//! Devices: found by URI, described by properties.

mod limits;
mod logical;
mod open;
mod peer;
mod properties;
mod quirks;

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use code_object::TargetId;
use hip_sys::{hipDeviceAttribute_t, hipError_t, hipMemLocation, hipMemLocationType};

pub use limits::Limit;
pub use peer::{PeerLink, PeerMatrix};
pub use properties::{PciAddress, Properties};

use crate::backend::{Backend, Skipped};
use crate::call::call;
use crate::current;
use crate::error::{Error, FaultReport, Result, is_fault};
use crate::memory::Heap;
use crate::stream::{self, Stream, StreamOptions};
use crate::uri::{DeviceUri, Selection};
use logical::Logical;

/// A GPU, real or virtual, or a [logical one](Self::logical) of several.
///
/// Cheap to clone; two handles of the same GPU are equal. A GPU that has been opened stays open until the
/// process ends, so nothing can outlive it. Every call makes the device current on the calling thread if it
/// is not, so any number of threads can use several devices. Other code that changes a thread's current
/// device with `hipSetDevice` must restore it, as HIP's documentation asks.
#[doc(alias = "hipDevice_t")]
#[doc(alias = "hipSetDevice")]
#[doc(alias = "CudaContext")]
#[doc(alias = "cudaSetDevice")]
#[derive(Clone)]
pub struct Device {
    inner: Arc<DeviceInner>,
    skipped: Arc<[Skipped]>,
    logical: Option<Arc<Logical>>,
}

struct DeviceInner {
    backend: Backend,
    table: &'static hip_sys::Table,
    ordinal: i32,
    uri: DeviceUri,
    properties: Properties,
    default_stream: OnceLock<Stream>,
    /// A stream that only frees memory that several streams use.
    frees: Mutex<Option<Stream>>,
    /// Ordinals of the devices whose memory this one may use.
    peers: Mutex<Vec<i32>>,
    exact_bounds: bool,
    memory: Heap,
}

/// What a fault of an NVIDIA GPU means for the program.
const CUDA_FAULT: &str = "NVIDIA's driver has given up the device for this process, and every later call on it fails the same way: end \
                          the process and start another; `compute-sanitizer` names the kernel and the access";

/// Free and total device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Unallocated bytes.
    pub free: usize,
    /// All bytes.
    pub total: usize,
}

impl Device {
    /// The process's only `DeviceInner` for a device.
    pub(crate) fn attach(
        backend: Backend,
        table: &'static hip_sys::Table,
        ordinal: i32,
        uri: &DeviceUri,
        skipped: &Arc<[Skipped]>,
    ) -> Result<Self> {
        type Registry = HashMap<(usize, i32), Arc<DeviceInner>>;
        static DEVICES: Mutex<Option<Registry>> = Mutex::new(None);
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        let devices = devices.get_or_insert_default();
        let key = (std::ptr::from_ref(table).addr(), ordinal);
        let inner = match devices.get(&key) {
            Some(inner) => inner.clone(),
            None => {
                let properties = properties::read(table, ordinal)?;
                let target = &properties.target;
                if !target.is_known() && table.ext.driver_code.is_none() {
                    tracing::warn!(%target, "unknown processor; using the properties that the device reports");
                }
                if let Some(leave_reports) = table.ext.leave_reports {
                    // SAFETY: the extension takes no arguments. From now on, errors carry the reports.
                    unsafe { leave_reports() };
                }
                // SAFETY: the extension takes a number.
                let exact_bounds = table.ext.has_exact_bounds.is_some_and(|ask| unsafe { ask(ordinal) });
                let inner = Arc::new(DeviceInner {
                    backend,
                    table,
                    ordinal,
                    uri: uri.clone(),
                    properties,
                    default_stream: OnceLock::new(),
                    frees: Mutex::default(),
                    peers: Mutex::default(),
                    exact_bounds,
                    memory: Heap::new(exact_bounds),
                });
                Self { inner: inner.clone(), skipped: skipped.clone(), logical: None }
                    .allocator_of_environment()?;
                devices.insert(key, inner.clone());
                current::opened(table);
                inner
            }
        };
        Ok(Self { inner, skipped: skipped.clone(), logical: None })
    }

    /// Opens a device of a function table that the program has loaded or made itself, by its ordinal there.
    /// It counts as AMD's. If [`open`](Self::open) has opened the same device of the same table, this returns
    /// that one.
    ///
    /// # Errors
    /// [`Error::Hip`], such as `hipErrorInvalidDevice` if there is no such ordinal.
    ///
    /// # Safety
    /// Safe code calls the functions and trusts their results, so each must behave as HIP documents. Tables
    /// from [`hip_sys::Table::load`] and [`Device::table`] do.
    pub unsafe fn of_table(table: &'static hip_sys::Table, ordinal: u32) -> Result<Self> {
        // SAFETY: the call takes a number.
        unsafe { call!(table, hipInit(0))? };
        let uri = DeviceUri::Amd(Selection::Ordinal(ordinal));
        let invalid = Error::Hip { operation: "hipSetDevice", code: hipError_t::hipErrorInvalidDevice };
        let ordinal = i32::try_from(ordinal).map_err(|_| invalid)?;
        Self::attach(Backend::Amd, table, ordinal, &uri, &Arc::default())
    }

    /// The implementation behind the device.
    pub fn backend(&self) -> Backend {
        self.inner.backend
    }

    /// The device's ordinal in its runtime.
    pub fn ordinal(&self) -> u32 {
        self.inner.ordinal.unsigned_abs()
    }

    /// The URI that names the device: by ordinal, or, for a virtual one, by all its parameters. A logical
    /// device of virtual GPUs has no URI; this is then its first GPU's.
    pub fn uri(&self) -> &DeviceUri {
        self.logical.as_ref().and_then(|logical| logical.uri.as_ref()).unwrap_or(&self.inner.uri)
    }

    /// Why `auto` did not choose a backend that comes before this device's; empty for any other URI.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The device's properties, read when it was opened.
    pub fn properties(&self) -> &Properties {
        &self.inner.properties
    }

    /// The names of this device and of another one, for a message about both. Equal virtual GPUs have equal
    /// names, so these add the ordinal: `vgpu:gfx1100?cus=4&memory=2GiB (…), device 1`.
    pub fn names_beside(&self, other: &Self) -> (String, String) {
        let (own, others) = (self.to_string(), other.to_string());
        if own != others || self == other {
            return (own, others);
        }
        let ordinal = |device: &Self, name: String| format!("{name}, device {}", device.ordinal());
        (ordinal(self, own), ordinal(other, others))
    }

    /// Whether every access outside an allocation, however near, and every use of freed memory faults.
    /// Virtual GPUs do this, in the program or in the library that it has loaded.
    pub fn has_exact_bounds(&self) -> bool {
        self.inner.exact_bounds
    }

    /// Whether AMD's libraries that call HIP, such as rocBLAS and RCCL, work with the device. They do if its
    /// HIP is the shared library and it is not a virtual GPU.
    pub fn takes_amd_libraries(&self) -> bool {
        self.table().path().is_some() && !self.has_exact_bounds()
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.inner.properties.name
    }

    /// The target that code for the device is compiled for.
    pub fn target(&self) -> &TargetId {
        &self.inner.properties.target
    }

    /// The device's default stream, HIP's null stream.
    ///
    /// It cannot be replaced after a fault, and whether it recovers is up to the library, so prefer
    /// [`stream`](Self::stream).
    pub fn default_stream(&self) -> &Stream {
        // The stream refers to its device. The cycle leaks nothing, since devices live until the process
        // ends.
        self.inner.default_stream.get_or_init(|| Stream::null(self.clone()))
    }

    /// The stream that frees memory after work of several others. It runs nothing else, so it cannot fail.
    pub(crate) fn frees(&self) -> Result<Stream> {
        let mut frees = self.inner.frees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &*frees {
            return Ok(stream.clone());
        }
        // Like the default stream, it refers to its device.
        Ok(frees.insert(StreamOptions::new().create_lasting(self)?).clone())
    }

    /// The calling thread's own default stream: one per thread and device. Other threads may use it, too.
    ///
    /// As with `hipStreamPerThread`, its work and that of the [default stream](Self::default_stream) wait for
    /// each other. Unlike `hipStreamPerThread`, the handle means the same stream on every thread, and other
    /// code that uses that name gets another stream. It ends once its thread has ended and the last handle is
    /// dropped. A stream that is known to have faulted is replaced.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamPerThread")]
    #[doc(alias = "cudaStreamPerThread")]
    pub fn thread_stream(&self) -> Result<Stream> {
        stream::of_this_thread(self)
    }

    /// Reads an attribute that is not among the [properties](Self::properties) (`hipDeviceGetAttribute`).
    ///
    /// # Errors
    /// [`Error::Hip`]: `hipErrorInvalidValue` if the library does not know the attribute.
    #[doc(alias = "hipDeviceGetAttribute")]
    #[doc(alias = "cudaDeviceGetAttribute")]
    #[doc(alias = "cuDeviceGetAttribute")]
    pub fn attribute(&self, attribute: hipDeviceAttribute_t) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the result is a place to write to.
        unsafe {
            call!(self.table(), hipDeviceGetAttribute(&raw mut value, attribute, self.inner.ordinal))?;
        }
        Ok(value)
    }

    /// Blocks until all work on all streams of the device is done (`hipDeviceSynchronize`). A logical device
    /// waits for all its GPUs.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel of one stream ended abnormally ([`Stream::synchronize`] returns its
    /// report); else [`Error::Hip`].
    #[doc(alias = "hipDeviceSynchronize")]
    #[doc(alias = "cudaDeviceSynchronize")]
    #[doc(alias = "cudaThreadSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // Wait for all, even if one fails.
        self.members().iter().map(Self::synchronize_one).fold(Ok(()), Result::and)
    }

    fn synchronize_one(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the call takes no arguments.
        self.check(unsafe { call!(self.table(), hipDeviceSynchronize()) })
    }

    /// The library's description of a status (`hipGetErrorString`), or the status's name if the library has
    /// none.
    #[doc(alias = "hipGetErrorString")]
    #[doc(alias = "cudaGetErrorString")]
    pub fn describe(&self, code: hipError_t) -> String {
        let text = match self.table().has("hipGetErrorString") {
            // SAFETY: the call takes a number, and looks up a text.
            true => unsafe { (self.table().hipGetErrorString)(code) },
            false => std::ptr::null(),
        };
        if text.is_null() {
            return format!("{code:?}");
        }
        // SAFETY: HIP's texts are NUL-terminated and are never freed.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Turns an error of an unknown stream into [`Error::Fault`] if it is a fault.
    pub(crate) fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error {
            Error::Hip { operation, code } => self.explain(operation, code),
            other => other,
        })
    }

    #[cold]
    pub(crate) fn explain(&self, operation: &'static str, code: hipError_t) -> Error {
        if let Some(error) = stream::host_launch(self.table(), operation, code) {
            return error;
        }
        if !is_fault(code) {
            return Error::Hip { operation, code };
        }
        // A library that reports faults per stream also contains them there.
        let contained = self.table().ext.stream_fault_report.is_some();
        let text = match (contained, self.backend()) {
            (true, _) => "the stream that failed has the report",
            (false, Backend::Cuda) => CUDA_FAULT,
            (false, _) => "the library gives no details",
        };
        let text = text.to_owned();
        Error::Fault(Box::new(FaultReport { operation, code, text, contained, details: None }))
    }

    /// Free and total memory right now (`hipMemGetInfo`). For a logical device, its first GPU's.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipMemGetInfo")]
    #[doc(alias = "cuMemGetInfo")]
    #[doc(alias = "cudaMemGetInfo")]
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.make_current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both results are places to write to.
        unsafe { call!(self.table(), hipMemGetInfo(&raw mut free, &raw mut total))? };
        Ok(MemoryInfo { free, total })
    }

    /// The function table behind this device, for calls that this crate does not wrap.
    pub fn table(&self) -> &'static hip_sys::Table {
        self.inner.table
    }

    /// The function table that other code on the calling thread should call if it names no device: the table
    /// of the thread's current device, else that of the first device opened. `None` if no device has been
    /// opened.
    pub fn table_in_use() -> Option<&'static hip_sys::Table> {
        current::table_in_use()
    }

    /// Releases something on this device, without waiting for other work if the library can do that.
    ///
    /// # Safety
    /// Nothing uses what `release` releases, now or later.
    pub(crate) unsafe fn release(&self, release: impl FnOnce() -> Result<()>) -> Result<()> {
        /// Restores waiting on this thread, also if the call panics.
        struct Waits(Option<(unsafe extern "C" fn(bool) -> bool, bool)>);
        impl Drop for Waits {
            fn drop(&mut self) {
                if let Some((set, before)) = self.0 {
                    // SAFETY: this restores the earlier setting.
                    unsafe { set(before) };
                }
            }
        }
        self.make_current()?;
        // SAFETY: the caller vouches for what the thread releases until this function ends, however the call
        // ends.
        let _waits = Waits(self.table().ext.set_release_waits.map(|set| (set, unsafe { set(false) })));
        release()
    }

    /// The device as a memory location.
    pub(crate) fn memory_location(&self) -> hipMemLocation {
        hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: self.ordinal() as i32 }
    }

    pub(crate) fn memory(&self) -> &Heap {
        &self.inner.memory
    }

    /// Makes this the calling thread's current device (`hipSetDevice`). Only calls through
    /// [`table`](Self::table) need this; methods of this crate do it themselves.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[inline]
    pub fn make_current(&self) -> Result<()> {
        if current::is(self.inner.table, self.inner.ordinal) {
            return Ok(());
        }
        self.set_current()
    }

    #[cold]
    fn set_current(&self) -> Result<()> {
        if stream::in_host_function() {
            return Err(Error::HostFunction);
        }
        // SAFETY: the call takes no memory of ours.
        unsafe { call!(self.inner.table, hipSetDevice(self.inner.ordinal))? };
        current::set(self.inner.table, self.inner.ordinal);
        Ok(())
    }

    fn peers_mut(&self) -> MutexGuard<'_, Vec<i32>> {
        self.inner.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error unless `other` is this device.
    pub(crate) fn same(&self, other: &Self, operation: &'static str, what: &'static str) -> Result<()> {
        if self == other { Ok(()) } else { Err(self.mismatch(other, operation, what)) }
    }

    #[cold]
    fn mismatch(&self, other: &Self, operation: &'static str, what: &'static str) -> Error {
        let (expected, got) = self.names_beside(other);
        Error::OtherDevice { operation, what, expected, got }
    }
}

impl PartialEq for Device {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Device {}

/// The device's URI and name.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.uri(), self.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_cross_threads() {
        fn sendable<T: Send + Sync + 'static>() {}
        sendable::<Device>();
        sendable::<Stream>();
        sendable::<crate::Event>();
        sendable::<crate::DeviceBuffer<f32>>();
        sendable::<crate::HostBuffer<f32>>();
        sendable::<crate::Pending<crate::HostBuffer<f32>>>();
        sendable::<crate::Module>();
        sendable::<crate::Function>();
    }

    #[test]
    fn the_table_in_use_is_that_of_the_threads_device_else_the_first_ones() {
        let one = crate::fake::device(0);
        let session = crate::fake::step::Session::begin();
        let other = &session.device;
        assert!(!std::ptr::eq(one.table(), other.table()));
        let in_use = || std::ptr::from_ref(Device::table_in_use().unwrap());
        for device in [&one, other, &one] {
            device.make_current().unwrap();
            assert_eq!(in_use(), std::ptr::from_ref(device.table()));
        }
        // The result is the same when the current device has to be looked up again.
        current::forget();
        assert_eq!(in_use(), std::ptr::from_ref(one.table()));
        // Another test may have opened the first device.
        let first = current::first_table().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(std::ptr::eq(Device::table_in_use().unwrap(), first)));
        });
    }
}
