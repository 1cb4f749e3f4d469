//! Devices: found by URI, described by properties.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use code_object::TargetId;
use hip_sys::hipError_t;

use crate::backend::{self, Backend, Opened, Skipped};
use crate::call::call;
use crate::error::{Error, FaultReport, Result, is_fault};
use crate::memory::DeviceMemory;
use crate::properties::{self, Properties};
use crate::stream::{self, Stream};
use crate::uri::{DEVICE_VARIABLE, DeviceName, DeviceUri, Selection, VirtualGpu};

/// A GPU, real or virtual.
///
/// Cheap to clone; two handles of the same GPU are equal. A GPU that has been opened stays open until the process ends,
/// so nothing can outlive it. Every call makes the device current on the calling thread where it is not already, so
/// several devices may be used by any number of threads; other code that changes a thread's current HIP device with
/// HIP's own `hipSetDevice` must put it back, as HIP's documentation asks.
#[doc(alias = "hipDevice_t")]
#[doc(alias = "hipSetDevice")]
#[doc(alias = "CudaContext")]
#[derive(Clone)]
pub struct Device {
    inner: Arc<DeviceInner>,
    skipped: Arc<[Skipped]>,
}

struct DeviceInner {
    backend: Backend,
    table: &'static hip_sys::Table,
    ordinal: i32,
    uri: DeviceUri,
    properties: Properties,
    default_stream: OnceLock<Stream>,
    memory: DeviceMemory,
}

thread_local! {
    /// The table and ordinal of the thread's current device.
    static CURRENT: Cell<(usize, i32)> = const { Cell::new((0, 0)) };
}

/// The ordinal of the thread's current device, if this crate has made one current.
#[cfg(feature = "trace-calls")]
pub(crate) fn current_ordinal() -> Option<i32> {
    let (table, ordinal) = CURRENT.get();
    (table != 0).then_some(ordinal)
}

/// Has the next call on this thread make its device current.
pub(crate) fn forget_current() {
    CURRENT.set((0, 0));
}

/// Free and total device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that are not allocated.
    pub free: usize,
    /// All bytes.
    pub total: usize,
}

impl Device {
    /// Opens the device that a [device URI](crate::uri) names: `auto`, `amdgpu:0`, `vgpu:gfx90a`, …
    ///
    /// Where the URI names several (`amdgpu`, `vgpu?count=2`), this is the first; [`open_all`](Self::open_all)
    /// gives all of them.
    ///
    /// # Errors
    /// [`Error::Uri`] for a malformed URI, [`Error::NotFound`] if there is no such device,
    /// [`Error::BackendUnavailable`] if what is behind it cannot be used, and [`Error::Unsupported`] for a logical device
    /// of several GPUs.
    pub fn open(uri: impl AsRef<str>) -> Result<Self> {
        Self::open_uri(&uri.as_ref().parse()?)
    }

    /// Opens the device that `FERROCM_DEVICE` names, or `auto` where it is unset or empty.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Environment`] if the variable's value is at fault.
    pub fn open_default() -> Result<Self> {
        Self::open_uri(&default_uri()?)
    }

    /// Opens the device that an already parsed URI names.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`Error::Uri`].
    pub fn open_uri(uri: &DeviceUri) -> Result<Self> {
        if let DeviceUri::Amd(Selection::Devices(names)) | DeviceUri::Cuda(Selection::Devices(names)) = uri
            && names.len() > 1
        {
            return Err(Error::Unsupported {
                what: format!("one logical device of several GPUs (`{uri}`)"),
                instead: "open one GPU, or all of them separately with `Device::open_all`".to_owned(),
            });
        }
        let devices = Self::open_all(uri)?;
        devices.into_iter().next().ok_or_else(|| not_found(uri, "the backend has no device".to_owned()))
    }

    /// Opens every device that a URI names, each as a device of its own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_all(uri: &DeviceUri) -> Result<Vec<Self>> {
        let none: Arc<[Skipped]> = Arc::default();
        match uri {
            DeviceUri::Auto => open_auto(),
            DeviceUri::Amd(selection) => {
                select(uri, selection, Self::attach_all(&backend::open_amd()?, &none)?)
            }
            DeviceUri::Cuda(selection) => {
                select(uri, selection, Self::attach_all(&backend::open_cuda()?, &none)?)
            }
            DeviceUri::Virtual(gpu) => Self::attach_all(&backend::open_virtual(gpu)?, &none),
        }
    }

    /// Every device there is without making one: all AMD and NVIDIA GPUs, and why a backend has none.
    ///
    /// Virtual GPUs come into being when they are opened, and are not listed.
    pub fn list() -> (Vec<Self>, Vec<Skipped>) {
        let mut devices = Vec::new();
        let mut skipped = Vec::new();
        for uri in [DeviceUri::Amd(Selection::All), DeviceUri::Cuda(Selection::All)] {
            let backend = if matches!(uri, DeviceUri::Amd(_)) { Backend::Amd } else { Backend::Cuda };
            match Self::open_all(&uri) {
                Ok(found) => devices.extend(found),
                Err(error) => skipped.push(Skipped { backend, reason: reason(error) }),
            }
        }
        (devices, skipped)
    }

    fn attach_all(opened: &Opened, skipped: &Arc<[Skipped]>) -> Result<Vec<Self>> {
        let attach = |(ordinal, uri): &_| Self::attach(opened.backend, opened.table, *ordinal, uri, skipped);
        opened.devices.iter().map(attach).collect()
    }

    /// The one `DeviceInner` of this process for a device.
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
                if !target.is_known() {
                    tracing::warn!(%target, "unknown processor; going by what the device says about itself");
                }
                let inner = Arc::new(DeviceInner {
                    backend,
                    table,
                    ordinal,
                    uri: uri.clone(),
                    properties,
                    default_stream: OnceLock::new(),
                    memory: DeviceMemory::new(backend)?,
                });
                devices.insert(key, inner.clone());
                inner
            }
        };
        Ok(Self { inner, skipped: skipped.clone() })
    }

    /// Who stands behind the device.
    pub fn backend(&self) -> Backend {
        self.inner.backend
    }

    /// The device's ordinal in its runtime.
    pub fn ordinal(&self) -> u32 {
        self.inner.ordinal.unsigned_abs()
    }

    /// The URI that names the device: by ordinal, or a virtual one by all its parameters.
    pub fn uri(&self) -> &DeviceUri {
        &self.inner.uri
    }

    /// Why `auto` did not choose a backend that comes before this device's; empty for any other URI.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// What the device is and can do, read when it was opened.
    pub fn properties(&self) -> &Properties {
        &self.inner.properties
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.inner.properties.name
    }

    /// What code has to be compiled for to run on the device.
    pub fn target(&self) -> &TargetId {
        &self.inner.properties.target
    }

    /// The device's default stream, HIP's null stream.
    ///
    /// It cannot be made anew: whether it works again after a fault is up to the library, so prefer [`stream`](Self::stream).
    pub fn default_stream(&self) -> &Stream {
        // The stream refers to its device, which is a cycle; devices live until the process ends anyway.
        self.inner.default_stream.get_or_init(|| Stream::null(self.clone()))
    }

    /// The calling thread's own default stream: one per thread and device, which other threads may use as well.
    ///
    /// Like `hipStreamPerThread`, its work and that of the [default stream](Self::default_stream) wait for each other. Unlike
    /// it, it is the same stream on whatever thread it is used, and it is not the one that other code gets by that name. It ends
    /// when its thread has ended and the last handle is dropped. One that is known to have faulted is replaced.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamPerThread")]
    #[doc(alias = "cudaStreamPerThread")]
    pub fn thread_stream(&self) -> Result<Stream> {
        stream::of_this_thread(self)
    }

    /// Blocks until all work of all streams of the device is done (`hipDeviceSynchronize`).
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel of one stream ended abnormally, whose report comes from [`Stream::synchronize`]; else
    /// [`Error::Hip`].
    #[doc(alias = "hipDeviceSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the call takes no arguments.
        self.check(unsafe { call!(self.table(), hipDeviceSynchronize()) })
    }

    /// What the library says about a status, in a sentence (`hipGetErrorString`); its name where the library has none.
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

    /// Turns an error into [`Error::Fault`] where it is one of a stream that is not known.
    pub(crate) fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error {
            Error::Hip { operation, code } => self.explain(operation, code),
            other => other,
        })
    }

    #[cold]
    pub(crate) fn explain(&self, operation: &'static str, code: hipError_t) -> Error {
        if !is_fault(code) {
            return Error::Hip { operation, code };
        }
        // Who can report faults stream by stream also keeps them there.
        let contained = self.table().ext.stream_fault_report.is_some();
        let text = match contained {
            true => "its report is that of the stream that failed",
            false => "the library says nothing more about it",
        };
        let text = text.to_owned();
        Error::Fault(Box::new(FaultReport { operation, code, text, contained, details: None }))
    }

    /// Free and total memory right now (`hipMemGetInfo`).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipMemGetInfo")]
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

    pub(crate) fn memory(&self) -> &DeviceMemory {
        &self.inner.memory
    }

    /// Makes this the current device of the calling thread, as every method of this crate does by itself
    /// (`hipSetDevice`); for calls through [`table`](Self::table).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[inline]
    pub fn make_current(&self) -> Result<()> {
        let wanted = (std::ptr::from_ref(self.inner.table).addr(), self.inner.ordinal);
        if CURRENT.get() == wanted {
            return Ok(());
        }
        self.set_current(wanted)
    }

    #[cold]
    fn set_current(&self, wanted: (usize, i32)) -> Result<()> {
        if stream::in_host_function() {
            return Err(Error::HostFunction);
        }
        // SAFETY: the call takes no memory of ours.
        unsafe { call!(self.inner.table, hipSetDevice(self.inner.ordinal))? };
        CURRENT.set(wanted);
        Ok(())
    }

    /// An error unless `other` is a device of the same runtime.
    pub(crate) fn same_runtime(
        &self,
        other: &Self,
        operation: &'static str,
        what: &'static str,
    ) -> Result<()> {
        if std::ptr::eq(self.table(), other.table()) {
            Ok(())
        } else {
            Err(self.mismatch(other, operation, what))
        }
    }

    /// An error unless `other` is this device.
    pub(crate) fn same(&self, other: &Self, operation: &'static str, what: &'static str) -> Result<()> {
        if self == other { Ok(()) } else { Err(self.mismatch(other, operation, what)) }
    }

    #[cold]
    fn mismatch(&self, other: &Self, operation: &'static str, what: &'static str) -> Error {
        Error::OtherDevice { operation, what, expected: self.to_string(), got: other.to_string() }
    }
}

impl PartialEq for Device {
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

/// The URI that `FERROCM_DEVICE` holds.
fn default_uri() -> Result<DeviceUri> {
    let problem = |problem| Error::Environment { variable: DEVICE_VARIABLE, problem };
    match std::env::var_os(DEVICE_VARIABLE) {
        None => Ok(DeviceUri::Auto),
        Some(value) if value.is_empty() => Ok(DeviceUri::Auto),
        Some(value) => match value.to_str() {
            Some(text) => text.parse().map_err(|error: crate::UriError| problem(error.to_string())),
            None => Err(problem(format!("{value:?} is not UTF-8"))),
        },
    }
}

/// The devices of the first backend that has any, with why those before it were skipped.
fn open_auto() -> Result<Vec<Device>> {
    let mut skipped = Vec::new();
    for backend in Backend::ALL {
        let opened = match backend {
            Backend::Amd => backend::open_amd(),
            Backend::Cuda => backend::open_cuda(),
            Backend::Virtual => backend::open_virtual(&VirtualGpu::default()),
        };
        let devices = opened.and_then(|opened| Device::attach_all(&opened, &skipped.clone().into()));
        match devices {
            Ok(devices) => return Ok(devices),
            Err(error) => skipped.push(Skipped { backend, reason: reason(error) }),
        }
    }
    let reasons: Vec<String> = skipped.iter().map(Skipped::to_string).collect();
    Err(not_found(&DeviceUri::Auto, reasons.join("; ")))
}

/// The reason alone, where the backend is named beside it.
fn reason(error: Error) -> String {
    match error {
        Error::BackendUnavailable { reason, .. } => reason,
        other => other.to_string(),
    }
}

fn select(uri: &DeviceUri, selection: &Selection, devices: Vec<Device>) -> Result<Vec<Device>> {
    let find = |name: &DeviceName| {
        let found = devices.iter().find(|device| match name {
            DeviceName::Ordinal(ordinal) => device.ordinal() == *ordinal,
            DeviceName::Uuid(uuid) => device.properties().uuid.as_ref() == Some(uuid),
        });
        found.cloned().ok_or_else(|| not_found(uri, available(&devices)))
    };
    match selection {
        Selection::All => Ok(devices),
        Selection::Ordinal(ordinal) => Ok(vec![find(&DeviceName::Ordinal(*ordinal))?]),
        Selection::Devices(names) => names.iter().map(find).collect(),
    }
}

fn available(devices: &[Device]) -> String {
    let names: Vec<String> = devices
        .iter()
        .map(|device| match &device.properties().uuid {
            Some(uuid) => format!("{device} {uuid}"),
            None => device.to_string(),
        })
        .collect();
    format!("there is {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
}

fn not_found(uri: &DeviceUri, available: String) -> Error {
    Error::NotFound { uri: uri.to_string(), available }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn devices() -> Vec<Device> {
        vec![fake::device(0), fake::device(1)]
    }

    fn choose(uri: &str) -> Result<Vec<Device>> {
        let uri: DeviceUri = uri.parse().unwrap();
        let DeviceUri::Amd(selection) = &uri else { panic!("{uri}") };
        select(&uri, selection, devices())
    }

    #[test]
    fn devices_are_chosen_by_ordinal_and_uuid() {
        assert_eq!(choose("amdgpu").unwrap(), devices());
        assert_eq!(choose("amdgpu:1").unwrap(), [fake::device(1)]);
        let both = choose("amdgpu://GPU-00000000000000A1,GPU-00000000000000a0").unwrap();
        assert_eq!(both, [fake::device(1), fake::device(0)]);
        assert_eq!(choose("amdgpu://1,0").unwrap(), both);
    }

    #[test]
    fn an_unknown_device_is_not_found_and_the_others_are_listed() {
        for uri in ["amdgpu:2", "amdgpu://0,7", "amdgpu://GPU-ffffffffffffffff"] {
            let error = choose(uri).unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }), "{error}");
            let text = error.to_string();
            assert!(
                text.contains(uri) && text.contains("amdgpu:1") && text.contains("GPU-00000000000000a0"),
                "{text}"
            );
        }
    }

    #[test]
    fn opening_a_device_twice_gives_the_same_one() {
        assert_eq!(fake::device(0), fake::device(0));
        assert_ne!(fake::device(0), fake::device(1));
        assert_eq!(fake::device(1).to_string(), "amdgpu:1 ()");
    }

    #[test]
    fn what_is_not_part_of_this_build_says_so() {
        let error = Device::open("cuda").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the cuda backend is not available: the NVIDIA backend is not part of this build"
        );
        let error = Device::open("amdgpu://0,1").unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(matches!(Device::open("gpu"), Err(Error::Uri(_))));
    }

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
}
