//! The back end of CUDA's calls: the devices that `FERROCM_DEVICE` names, and their HIP table.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};

use hip::uri::{DEVICE_VARIABLE, DeviceUri};
use hip::{Device, Effect};
use hip_sys::{Table, hipError_t};

use crate::driver::sys::{CUcontext, CUresult};

/// The outcome of a call, before it becomes a C status.
pub(crate) type Outcome<T = ()> = Result<T, CUresult>;

/// Calls a function of the HIP table.
macro_rules! hip_call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $crate::backend::check(($table.$function)($($argument),*))
    };
}
pub(crate) use hip_call;

/// The devices of the process; CUDA's ordinals start at zero.
pub(crate) struct Backend {
    pub(crate) devices: Vec<Device>,
    pub(crate) table: &'static Table,
    /// One primary context for each device; they are never freed.
    primary: Vec<Context>,
}

/// What a `CUcontext` points to. HIP has devices instead of contexts, so several contexts of a device share
/// everything.
#[derive(Debug)]
pub(crate) struct Context {
    /// The device, by CUDA's ordinal.
    pub(crate) ordinal: usize,
}

/// Every context that `cuCtxCreate` has created and `cuCtxDestroy` has not freed, by address.
static CREATED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<CUcontext> = const { Cell::new(std::ptr::null_mut()) };
}

/// The back end, opened on first use.
pub(crate) fn backend() -> Outcome<&'static Backend> {
    opened().as_ref().map_err(|(code, _)| *code)
}

/// Why there is no device.
pub(crate) fn no_device_because() -> Option<&'static str> {
    opened().as_ref().err().map(|(_, reason)| reason.as_str())
}

fn opened() -> &'static Result<Backend, (CUresult, String)> {
    static BACKEND: OnceLock<Result<Backend, (CUresult, String)>> = OnceLock::new();
    BACKEND.get_or_init(|| {
        let fail = |reason: String| {
            tracing::error!(reason, "there is no device");
            (CUresult::CUDA_ERROR_NO_DEVICE, reason)
        };
        let uri: DeviceUri = match variables::DEVICE.text().map_err(|error| fail(error.to_string()))? {
            Some(text) => text.parse().map_err(|error| fail(format!("{DEVICE_VARIABLE}: {error}")))?,
            None => DeviceUri::Auto,
        };
        let devices = Device::open_all(&uri).map_err(|error| fail(error.to_string()))?;
        let Some(first) = devices.first() else { return Err(fail(format!("{uri} has no device"))) };
        let table = first.table();
        let primary = (0..devices.len()).map(|ordinal| Context { ordinal }).collect();
        Ok(Backend { devices, table, primary })
    })
}

impl Backend {
    /// The device of an ordinal.
    pub(crate) fn device(&self, ordinal: i32) -> Outcome<&Device> {
        let index = usize::try_from(ordinal).map_err(|_| CUresult::CUDA_ERROR_INVALID_DEVICE)?;
        self.devices.get(index).ok_or(CUresult::CUDA_ERROR_INVALID_DEVICE)
    }

    /// Whether the devices are NVIDIA's, whose driver takes NVIDIA's code.
    pub(crate) fn takes_cuda_code(&self) -> bool {
        self.table.ext.driver_code.is_some()
    }

    /// The primary context of a device.
    pub(crate) fn primary(&self, ordinal: i32) -> Outcome<CUcontext> {
        self.device(ordinal)?;
        Ok(std::ptr::from_ref(&self.primary[ordinal.unsigned_abs() as usize]).cast_mut().cast())
    }

    /// The context of a handle.
    pub(crate) fn context(&self, handle: CUcontext) -> Outcome<&Context> {
        let primary =
            self.primary.iter().find(|context| std::ptr::from_ref(*context).addr() == handle.addr());
        if let Some(context) = primary {
            return Ok(context);
        }
        let created = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
        if !created.contains(&handle.addr()) {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        // SAFETY: `create_context` has created the handle, and `destroy_context` has not freed it. Destroying
        // a context in use breaks the contract of `cuCtxDestroy`.
        Ok(unsafe { &*handle.cast::<Context>() })
    }
}

/// Creates a context in addition to the primary one.
pub(crate) fn create_context(ordinal: i32) -> Outcome<CUcontext> {
    backend()?.device(ordinal)?;
    let context = Box::into_raw(Box::new(Context { ordinal: ordinal.unsigned_abs() as usize }));
    CREATED.lock().unwrap_or_else(PoisonError::into_inner).push(context.addr());
    CURRENT.set(context.cast());
    Ok(context.cast())
}

/// Frees a context created by `create_context`.
pub(crate) fn destroy_context(handle: CUcontext) -> Outcome {
    let mut created = CREATED.lock().unwrap_or_else(PoisonError::into_inner);
    let place = created.iter().position(|address| *address == handle.addr());
    created.swap_remove(place.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?);
    if CURRENT.get() == handle {
        CURRENT.set(std::ptr::null_mut());
    }
    // SAFETY: `create_context` created it from a box, and it has just been removed from the list.
    drop(unsafe { Box::from_raw(handle.cast::<Context>()) });
    Ok(())
}

/// The calling thread's context; null if it has none.
pub(crate) fn current_handle() -> CUcontext {
    CURRENT.get()
}

/// Sets the calling thread's context; null for none.
pub(crate) fn set_current(handle: CUcontext) -> Outcome {
    if !handle.is_null() {
        backend()?.context(handle)?;
    }
    CURRENT.set(handle);
    Ok(())
}

/// The calling thread's device, made current in HIP, and its table.
pub(crate) fn current() -> Outcome<(&'static Device, &'static Table)> {
    let handle = CURRENT.get();
    if handle.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    let backend = backend()?;
    let device = &backend.devices[backend.context(handle)?.ordinal];
    device.make_current().map_err(|error| result_of(&error))?;
    Ok((device, backend.table))
}

/// The table of the calling thread's device, which is made current in HIP.
pub(crate) fn table() -> Outcome<&'static Table> {
    current().map(|(_, table)| table)
}

/// The table for a call on an event or a stream. These know their device, so the calling thread needs no
/// context.
pub(crate) fn table_of_handle() -> Outcome<&'static Table> {
    match table() {
        Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) => Ok(backend()?.table),
        other => other,
    }
}

/// A HIP status as a CUDA status.
pub(crate) fn check(code: hipError_t) -> Outcome {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(translate(code)) }
}

/// HIP uses the numbers of CUDA's runtime API, and the driver API has most of these. Numbers that the driver
/// API lacks are translated, and so are `hipErrorInvalidChannelDescriptor` and `hipErrorInvalidTexture`,
/// whose numbers mean something else there.
#[cold]
pub(crate) fn translate(code: hipError_t) -> CUresult {
    match code {
        hipError_t::hipErrorInvalidConfiguration
        | hipError_t::hipErrorInvalidPitchValue
        | hipError_t::hipErrorInvalidDevicePointer
        | hipError_t::hipErrorInvalidMemcpyDirection
        | hipError_t::hipErrorInvalidChannelDescriptor
        | hipError_t::hipErrorInvalidTexture
        | hipError_t::hipErrorMissingConfiguration => CUresult::CUDA_ERROR_INVALID_VALUE,
        hipError_t::hipErrorInvalidSymbol => CUresult::CUDA_ERROR_NOT_FOUND,
        hipError_t::hipErrorInsufficientDriver => CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        hipError_t::hipErrorPriorLaunchFailure => CUresult::CUDA_ERROR_LAUNCH_FAILED,
        hipError_t::hipErrorInvalidDeviceFunction => CUresult::CUDA_ERROR_INVALID_HANDLE,
        other => CUresult::from_code(i64::from(other.0)).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN),
    }
}

/// An error of `hip` as a CUDA status. Its text goes to the log.
#[cold]
pub(crate) fn result_of(error: &hip::Error) -> CUresult {
    tracing::error!(%error, "a call failed");
    match error {
        hip::Error::NotFound { .. } | hip::Error::BackendUnavailable { .. } => CUresult::CUDA_ERROR_NO_DEVICE,
        hip::Error::WrongTarget { .. } => CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        hip::Error::CodeObject { .. } => CUresult::CUDA_ERROR_INVALID_IMAGE,
        hip::Error::File { .. } => CUresult::CUDA_ERROR_FILE_NOT_FOUND,
        hip::Error::Unsupported { .. } => CUresult::CUDA_ERROR_NOT_SUPPORTED,
        hip::Error::HostFunction => CUresult::CUDA_ERROR_NOT_PERMITTED,
        other => other.code().map_or(CUresult::CUDA_ERROR_UNKNOWN, translate),
    }
}

/// Whether memory may be allocated and freed in stream order: not with library versions where that is known
/// to corrupt memory.
pub(crate) fn trusts_stream_order(device: &Device) -> bool {
    let grave = |effect| matches!(effect, Effect::Corruption | Effect::Hang);
    !device.quirks().iter().any(|quirk| grave(quirk.effect) && quirk.functions.contains(&"hipMallocAsync"))
}

/// Writes a result to the caller's pointer.
///
/// # Safety
/// The pointer must be null or writable.
pub(crate) unsafe fn give<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

/// An outcome as a C status.
pub(crate) fn status(outcome: Outcome) -> CUresult {
    outcome.err().unwrap_or(CUresult::CUDA_SUCCESS)
}

/// The text for a status.
pub(crate) fn lowercase_words(name: &str) -> String {
    name.trim_start_matches("CUDA_ERROR_").trim_start_matches("CUDA_").replace('_', " ").to_lowercase()
}
