//! The handle for all calls.

use std::ffi::c_char;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::{Device, DeviceAddress, DeviceBuffer, HostBuffer, Pending, Stream};
use rocblas_sys::{
    Table, rocblas_atomics_mode, rocblas_handle, rocblas_math_mode, rocblas_performance_metric,
    rocblas_pointer_mode, rocblas_status,
};

use crate::error::{Error, Result};
use crate::functions::Call;
use crate::library::{self, Choice, Library};

/// rocBLAS for one stream: a handle and its settings.
///
/// Every operation is enqueued on the [stream](Self::stream) and returns at once, unless its documentation
/// says that it waits. Operands are ordered and kept alive as for a kernel: buffers may be used on other
/// streams, and dropped, at any time. Threads may share a `Blas`; they then enqueue one after the other.
#[doc(alias = "rocblas_handle")]
#[doc(alias = "cublasHandle_t")]
pub struct Blas {
    library: Library,
    /// Declared first, so that it is dropped before the stream.
    state: Mutex<State>,
    stream: Stream,
    /// Former streams that may still run work.
    left: Vec<Stream>,
}

/// State that calls use one after the other.
struct State {
    handle: Handle,
    workspace: Option<DeviceBuffer<u8>>,
    /// Arrays of pointers whose copies to the device may still be running.
    uploads: Vec<Pending<HostBuffer<DeviceAddressBits>>>,
}

/// A pointer in an array of pointers.
pub(crate) type DeviceAddressBits = u64;

/// Owns a handle.
struct Handle {
    table: &'static Table,
    handle: rocblas_handle,
    device: Device,
}

// SAFETY: any thread may use a rocBLAS handle, one at a time; the mutex around it ensures that.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let current = self.device.make_current().map_err(Error::from);
        // SAFETY: the handle was made by `rocblas_create_handle` of this table and is destroyed once.
        let destroyed = current.and_then(|()| unsafe {
            status("rocblas_destroy_handle", (self.table.rocblas_destroy_handle)(self.handle))
        });
        if let Err(error) = destroyed {
            tracing::warn!(%error, "a rocBLAS handle could not be destroyed");
        }
    }
}

/// How 32-bit numbers are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MathMode {
    /// In the precision of the type.
    Default,
    /// Products of `f32` matrices may be computed with 19 bits (`xf32`), on devices with instructions for it.
    Xf32,
}

/// The criterion for choosing a solution for a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PerformanceMetric {
    /// The library's choice.
    Default,
    /// Use all compute units as well as possible.
    DeviceEfficiency,
    /// Use each occupied compute unit as well as possible, for several products at once.
    CuEfficiency,
}

/// A status as a result.
pub(crate) fn status(function: &'static str, code: rocblas_status) -> Result<()> {
    match code {
        rocblas_status::rocblas_status_success => Ok(()),
        code => Err(Error::Status { function, code }),
    }
}

/// Orders a stream after all work submitted to another one. If that one has failed, it runs nothing any more.
fn follow(stream: &Stream, before: &Stream) -> Result<()> {
    match stream.wait_stream(before) {
        // One of the two has failed, and the other one was waited for.
        Err(error @ hip::Error::Fault(_)) => match stream.is_done() {
            Err(own @ hip::Error::Fault(_)) => Err(own.into()),
            Ok(_) => Ok(()),
            Err(_) => Err(error.into()),
        },
        waited => waited.map_err(Error::Hip),
    }
}

impl Blas {
    /// Opens rocBLAS for a stream and its device, with the implementation that [`Choice::Auto`] chooses
    /// (`rocblas_create_handle`).
    ///
    /// # Errors
    /// [`Error::NoLibrary`] lists what was tried; else [`Error::Status`] or [`Error::Hip`].
    #[doc(alias = "rocblas_create_handle")]
    #[doc(alias = "cublasCreate")]
    pub fn new(stream: &Stream) -> Result<Self> {
        Self::with(stream, Choice::Auto)
    }

    /// The same, with a choice of the implementation.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(stream: &Stream, choice: Choice) -> Result<Self> {
        Self::of(stream, library::choose(stream.device(), choice)?)
    }

    /// Opens rocBLAS with a function table that the program has loaded or made itself.
    ///
    /// # Errors
    /// [`Error::Status`], [`Error::Hip`].
    ///
    /// # Safety
    /// Safe code calls the functions and trusts their results. Each must behave as rocBLAS documents, on
    /// streams and memory of the library behind [`Device::table`].
    pub unsafe fn of_table(stream: &Stream, table: &'static Table) -> Result<Self> {
        Self::of(stream, Library { table, skipped: Vec::new(), is_cublas: false })
    }

    fn of(stream: &Stream, library: Library) -> Result<Self> {
        let table = library.table;
        stream.device().make_current()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is a place to write to, and the device is current.
        let created = unsafe { (table.rocblas_create_handle)(&raw mut handle) };
        status("rocblas_create_handle", created)?;
        let handle = Handle { table, handle, device: stream.device().clone() };
        let state = Mutex::new(State { handle, workspace: None, uploads: Vec::new() });
        let mut blas = Self { library, stream: stream.clone(), left: Vec::new(), state };
        blas.bind(stream)?;
        Ok(blas)
    }

    fn bind(&mut self, stream: &Stream) -> Result<()> {
        let state = self.lock();
        // SAFETY: both handles are valid: the stream is kept as long as it is set.
        status("rocblas_set_stream", unsafe {
            (self.library.table.rocblas_set_stream)(state.handle.handle, stream.as_raw())
        })
    }

    /// Enqueues from now on to another stream of the same device, which waits for the work enqueued so far
    /// (`rocblas_set_stream`).
    ///
    /// This also works after the old stream has failed: the new stream does not inherit the failure, and this
    /// call waits for the work on the old one.
    ///
    /// # Errors
    /// [`hip::Error::OtherDevice`] if the stream belongs to another device, [`hip::Error::Fault`] if the new
    /// stream has faulted, else
    /// [`Error::Status`] or [`Error::Hip`].
    #[doc(alias = "rocblas_set_stream")]
    #[doc(alias = "cublasSetStream")]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        if self.device() != stream.device() {
            let (expected, got) = self.device().names_beside(stream.device());
            let (operation, what) = ("rocblas_set_stream", "stream");
            return Err(Error::Hip(hip::Error::OtherDevice { operation, what, expected, got }));
        }
        // The library's own memory is used in the order of one stream. A failed stream no longer waits for
        // its predecessors, so wait for those, too.
        self.left.retain(|left| matches!(left.is_done(), Ok(false)));
        for before in self.left.iter().chain([&self.stream]) {
            follow(stream, before)?;
        }
        self.device().make_current()?;
        self.bind(stream)?;
        let before = std::mem::replace(&mut self.stream, stream.clone());
        if before != *stream {
            self.left.retain(|left| left != stream);
            self.left.push(before);
        }
        Ok(())
    }

    /// The stream that everything is enqueued on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// The implementation in use, and why others were skipped.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The function table, for calls that this crate does not wrap.
    #[must_use]
    pub fn table(&self) -> &'static Table {
        self.library.table
    }

    /// The handle, for calls that this crate does not wrap; valid as long as this value. Operations of this
    /// crate set its pointer mode each time, so it may be changed.
    ///
    /// Only one thread at a time may use a handle: the caller must ensure that no operation of this crate
    /// runs meanwhile.
    #[must_use]
    pub fn as_raw(&self) -> rocblas_handle {
        self.lock().handle.handle
    }

    /// The library's version (`rocblas_get_version_string`), such as `5.2.0.a4ef4ca`.
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_get_version_string")]
    #[doc(alias = "rocblas_get_version_string_size")]
    pub fn version(&self) -> Result<String> {
        let table = self.table();
        self.text(
            ("rocblas_get_version_string_size", table.rocblas_get_version_string_size),
            ("rocblas_get_version_string", table.rocblas_get_version_string),
        )
    }

    /// The commit that the library was built from (`rocblas_get_commit_hash_string`).
    ///
    /// # Errors
    /// [`Error::Status`] from libraries before ROCm 6, which do not know it.
    #[doc(alias = "rocblas_get_commit_hash_string")]
    #[doc(alias = "rocblas_get_commit_hash_string_size")]
    pub fn commit(&self) -> Result<String> {
        let table = self.table();
        self.text(
            ("rocblas_get_commit_hash_string_size", table.rocblas_get_commit_hash_string_size),
            ("rocblas_get_commit_hash_string", table.rocblas_get_commit_hash_string),
        )
    }

    #[allow(clippy::type_complexity, reason = "the types of two functions")]
    fn text(
        &self,
        (size_name, size): (&'static str, unsafe extern "C" fn(*mut usize) -> rocblas_status),
        (name, get): (&'static str, unsafe extern "C" fn(*mut c_char, usize) -> rocblas_status),
    ) -> Result<String> {
        let mut len = 0;
        // SAFETY: the size is a place to write to.
        status(size_name, unsafe { size(&raw mut len) })?;
        let mut text = vec![0_u8; len];
        // SAFETY: the buffer has that many bytes.
        status(name, unsafe { get(text.as_mut_ptr().cast(), text.len()) })?;
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The library's description of a status (`rocblas_status_to_string`).
    #[doc(alias = "rocblas_status_to_string")]
    #[must_use]
    pub fn describe(&self, code: rocblas_status) -> String {
        let text = match self.table().has("rocblas_status_to_string") {
            // SAFETY: the call takes a number, and looks up a text.
            true => unsafe { (self.table().rocblas_status_to_string)(code) },
            false => std::ptr::null(),
        };
        if text.is_null() {
            return format!("{code:?}");
        }
        // SAFETY: the texts are NUL-terminated constants.
        unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Loads everything that matrix products need on the device (`rocblas_initialize`). Otherwise the first
    /// product loads it, which may take seconds.
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "rocblas_initialize")]
    pub fn initialize(&self) -> Result<()> {
        self.device().make_current()?;
        // SAFETY: the call takes no arguments, and the device is current.
        unsafe { (self.table().rocblas_initialize)() };
        Ok(())
    }

    /// Sets whether results may depend on the order of additions, which is faster
    /// (`rocblas_set_atomics_mode`).
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_set_atomics_mode")]
    #[doc(alias = "cublasSetAtomicsMode")]
    pub fn set_atomics(&mut self, allowed: bool) -> Result<()> {
        let mode = match allowed {
            true => rocblas_atomics_mode::rocblas_atomics_allowed,
            false => rocblas_atomics_mode::rocblas_atomics_not_allowed,
        };
        // SAFETY: the handle is valid.
        self.with_handle("rocblas_set_atomics_mode", |table, handle| unsafe {
            (table.rocblas_set_atomics_mode)(handle, mode)
        })
    }

    /// The setting of [`set_atomics`](Self::set_atomics) (`rocblas_get_atomics_mode`).
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_get_atomics_mode")]
    #[doc(alias = "cublasGetAtomicsMode")]
    pub fn atomics(&self) -> Result<bool> {
        let mut mode = rocblas_atomics_mode::rocblas_atomics_not_allowed;
        // SAFETY: the handle is valid, the mode a place to write to.
        self.with_handle("rocblas_get_atomics_mode", |table, handle| unsafe {
            (table.rocblas_get_atomics_mode)(handle, &raw mut mode)
        })?;
        Ok(mode == rocblas_atomics_mode::rocblas_atomics_allowed)
    }

    /// Sets how 32-bit numbers are multiplied (`rocblas_set_math_mode`).
    ///
    /// # Errors
    /// [`Error::Status`]: `rocblas_status_arch_mismatch` if the device does not support the mode.
    #[doc(alias = "rocblas_set_math_mode")]
    #[doc(alias = "cublasSetMathMode")]
    pub fn set_math_mode(&mut self, mode: MathMode) -> Result<()> {
        let mode = match mode {
            MathMode::Default => rocblas_math_mode::rocblas_default_math,
            MathMode::Xf32 => rocblas_math_mode::rocblas_xf32_xdl_math_op,
        };
        // SAFETY: the handle is valid.
        self.with_handle("rocblas_set_math_mode", |table, handle| unsafe {
            (table.rocblas_set_math_mode)(handle, mode)
        })
    }

    /// The setting of [`set_math_mode`](Self::set_math_mode) (`rocblas_get_math_mode`); `None` for a mode
    /// that this crate does not know.
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_get_math_mode")]
    #[doc(alias = "cublasGetMathMode")]
    pub fn math_mode(&self) -> Result<Option<MathMode>> {
        let mut mode = rocblas_math_mode::rocblas_default_math;
        // SAFETY: the handle is valid, the mode a place to write to.
        self.with_handle("rocblas_get_math_mode", |table, handle| unsafe {
            (table.rocblas_get_math_mode)(handle, &raw mut mode)
        })?;
        Ok(match mode {
            rocblas_math_mode::rocblas_default_math => Some(MathMode::Default),
            rocblas_math_mode::rocblas_xf32_xdl_math_op => Some(MathMode::Xf32),
            _ => None,
        })
    }

    /// Sets the criterion for choosing a solution for a matrix product (`rocblas_set_performance_metric`).
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_set_performance_metric")]
    pub fn set_performance_metric(&mut self, metric: PerformanceMetric) -> Result<()> {
        let metric = match metric {
            PerformanceMetric::Default => rocblas_performance_metric::rocblas_default_performance_metric,
            PerformanceMetric::DeviceEfficiency => {
                rocblas_performance_metric::rocblas_device_efficiency_performance_metric
            }
            PerformanceMetric::CuEfficiency => {
                rocblas_performance_metric::rocblas_cu_efficiency_performance_metric
            }
        };
        // SAFETY: the handle is valid.
        self.with_handle("rocblas_set_performance_metric", |table, handle| unsafe {
            (table.rocblas_set_performance_metric)(handle, metric)
        })
    }

    /// The setting of [`set_performance_metric`](Self::set_performance_metric)
    /// (`rocblas_get_performance_metric`); `None` for one that this crate does not know.
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_get_performance_metric")]
    pub fn performance_metric(&self) -> Result<Option<PerformanceMetric>> {
        let mut metric = rocblas_performance_metric::rocblas_default_performance_metric;
        // SAFETY: the handle is valid, the metric a place to write to.
        self.with_handle("rocblas_get_performance_metric", |table, handle| unsafe {
            (table.rocblas_get_performance_metric)(handle, &raw mut metric)
        })?;
        Ok(match metric {
            rocblas_performance_metric::rocblas_default_performance_metric => {
                Some(PerformanceMetric::Default)
            }
            rocblas_performance_metric::rocblas_device_efficiency_performance_metric => {
                Some(PerformanceMetric::DeviceEfficiency)
            }
            rocblas_performance_metric::rocblas_cu_efficiency_performance_metric => {
                Some(PerformanceMetric::CuEfficiency)
            }
            _ => None,
        })
    }

    /// Gives the library device memory as workspace, instead of memory that it allocates itself
    /// (`rocblas_set_workspace`). Returns the previous workspace. With `None`, the library allocates again.
    ///
    /// # Errors
    /// [`hip::Error::OtherDevice`] if the memory belongs to another device, else [`Error::Status`] or
    /// [`Error::Hip`]. The given memory is then dropped, and the previous workspace stays.
    #[doc(alias = "rocblas_set_workspace")]
    #[doc(alias = "cublasSetWorkspace")]
    pub fn set_workspace(&mut self, memory: Option<DeviceBuffer<u8>>) -> Result<Option<DeviceBuffer<u8>>> {
        let mut memory = memory;
        let (address, size) = match &mut memory {
            Some(memory) => (memory.as_mut_slice().scratch_address_on(&self.stream)?, memory.len()),
            None => (DeviceAddress(0), 0),
        };
        let address = std::ptr::without_provenance_mut(address.0 as usize);
        // SAFETY: the memory has that size and is kept as long as it is set.
        self.with_handle("rocblas_set_workspace", |table, handle| unsafe {
            (table.rocblas_set_workspace)(handle, address, size)
        })?;
        Ok(std::mem::replace(&mut self.lock().workspace, memory))
    }

    /// The size of the library's workspace in bytes (`rocblas_get_device_memory_size`).
    ///
    /// # Errors
    /// [`Error::Status`].
    #[doc(alias = "rocblas_get_device_memory_size")]
    pub fn workspace_size(&self) -> Result<usize> {
        let mut size = 0;
        // SAFETY: the handle is valid, the size a place to write to.
        self.with_handle("rocblas_get_device_memory_size", |table, handle| unsafe {
            (table.rocblas_get_device_memory_size)(handle, &raw mut size)
        })?;
        Ok(size)
    }

    /// Calls something with exclusive use of the handle.
    fn with_handle(
        &self,
        function: &'static str,
        call: impl FnOnce(&'static Table, rocblas_handle) -> rocblas_status,
    ) -> Result<()> {
        self.device().make_current()?;
        let state = self.lock();
        status(function, call(self.library.table, state.handle.handle))
    }

    /// Enqueues an operation whose operands are registered on the stream.
    pub(crate) fn enqueue(
        &self,
        mode: rocblas_pointer_mode,
        call: Call<'_>,
        enqueue: impl FnOnce(&Call<'_>) -> Result<()>,
    ) -> Result<()> {
        self.device().make_current()?;
        let mut state = self.lock();
        if let Some(workspace) = &mut state.workspace {
            workspace.as_mut_slice().scratch_address_on(&self.stream)?;
        }
        let handle = state.handle.handle;
        // SAFETY: the handle is valid.
        status("rocblas_set_pointer_mode", unsafe {
            (self.library.table.rocblas_set_pointer_mode)(handle, mode)
        })?;
        let result = enqueue(&Call { handle, ..call });
        drop(state);
        match result {
            // The cause may be a failed stream, whose report says more.
            Err(error @ Error::Status { .. }) => match self.stream.is_done() {
                Err(fault @ hip::Error::Fault(_)) => Err(fault.into()),
                _ => Err(error),
            },
            other => other,
        }
    }

    /// Makes an array of pointers in device memory, for work on the stream.
    pub(crate) fn pointers(
        &self,
        addresses: &[DeviceAddressBits],
    ) -> Result<DeviceBuffer<DeviceAddressBits>> {
        let mut array = DeviceBuffer::uninit_on(&self.stream, addresses.len())?;
        if addresses.is_empty() {
            return Ok(array);
        }
        let mut host = HostBuffer::zeroed(self.device(), addresses.len())?;
        host.copy_from_slice(addresses);
        let pending = array.upload(&self.stream, host)?;
        let mut state = self.lock();
        state.uploads.retain(|upload| !upload.is_done().unwrap_or(true));
        state.uploads.push(pending);
        Ok(array)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every point that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Blas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blas = f.debug_struct("Blas");
        blas.field("library", &self.library.to_string()).field("stream", &self.stream).finish_non_exhaustive()
    }
}
