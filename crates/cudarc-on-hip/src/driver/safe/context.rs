//! Contexts: a device, and the state shared by everything created on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::super::result::{self, DriverError};
use super::super::sys::{self, CUdevice_attribute};

/// A device. Everything created on it keeps it alive.
///
/// Its methods, and those of objects created on it, make it the calling thread's context.
#[derive(Debug)]
pub struct CudaContext {
    device: sys::CUdevice,
    handle: sys::CUcontext,
    ordinal: usize,
    has_async_alloc: bool,
    is_primary: bool,
    /// The number of streams other than the default one.
    streams: AtomicUsize,
    event_tracking: AtomicBool,
    /// The number of the last error that could not be returned; 0 if there is none.
    error: AtomicU32,
}

// SAFETY: CUDA handles may be used on any thread, and the rest is atomic.
unsafe impl Send for CudaContext {}
// SAFETY: as above.
unsafe impl Sync for CudaContext {}

impl Drop for CudaContext {
    fn drop(&mut self) {
        let ended = match self.is_primary {
            // SAFETY: `new` retained it.
            true => unsafe { result::primary_ctx::release(self.device) },
            // SAFETY: it was created for this object, or passed to `from_raw_context`, and everything on it
            // has been dropped.
            false => unsafe { sys::cuCtxDestroy_v2(self.handle) }.result(),
        };
        if let Err(error) = ended {
            tracing::error!(%error, "a context did not end");
        }
    }
}

impl PartialEq for CudaContext {
    fn eq(&self, other: &Self) -> bool {
        (self.device, self.handle, self.ordinal) == (other.device, other.handle, other.ordinal)
    }
}

impl Eq for CudaContext {}

impl CudaContext {
    /// The device of an ordinal; the devices that `FERROCM_DEVICE` names are counted from zero.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, DriverError> {
        let device = Self::device_of(ordinal)?;
        // SAFETY: the device was found just now.
        let handle = unsafe { result::primary_ctx::retain(device) }?;
        Self::of_handle(ordinal, device, handle, true)
    }

    /// A separate context on a device. HIP has no contexts, so it shares everything with the other contexts
    /// of the device.
    pub fn new_non_primary(ordinal: usize, flags: u32) -> Result<Arc<Self>, DriverError> {
        let device = Self::device_of(ordinal)?;
        // SAFETY: the device was found just now.
        let handle = unsafe { result::ctx::create_v4(std::ptr::null_mut(), flags, device) }?;
        Self::of_handle(ordinal, device, handle, false)
    }

    /// A context shared with a graphics API. HIP has none, so this returns `CUDA_ERROR_NOT_SUPPORTED`.
    pub fn new_cig(
        ordinal: usize,
        flags: u32,
        cig_params: &mut sys::CUctxCigParam,
    ) -> Result<Arc<Self>, DriverError> {
        let device = Self::device_of(ordinal)?;
        let mut params = sys::CUctxCreateParams {
            execAffinityParams: std::ptr::null_mut(),
            numExecAffinityParams: 0,
            cigParams: cig_params,
        };
        // SAFETY: the device was found just now, and the parameters live through the call.
        let handle = unsafe { result::ctx::create_v4(&raw mut params, flags, device) }?;
        Self::of_handle(ordinal, device, handle, false)
    }

    /// Takes over a context that the program has created.
    ///
    /// # Safety
    /// `cu_ctx` must be a context of `cu_device`, created by `cuCtxCreate` and not destroyed; nothing else
    /// may destroy it.
    pub unsafe fn from_raw_context(
        ordinal: usize,
        cu_device: sys::CUdevice,
        cu_ctx: sys::CUcontext,
    ) -> Result<Arc<Self>, DriverError> {
        Self::of_handle(ordinal, cu_device, cu_ctx, false)
    }

    fn device_of(ordinal: usize) -> Result<sys::CUdevice, DriverError> {
        result::init()?;
        let ordinal = i32::try_from(ordinal);
        result::device::get(ordinal.map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_DEVICE))?)
    }

    fn of_handle(
        ordinal: usize,
        device: sys::CUdevice,
        handle: sys::CUcontext,
        is_primary: bool,
    ) -> Result<Arc<Self>, DriverError> {
        let mut context = Self {
            device,
            handle,
            ordinal,
            has_async_alloc: false,
            is_primary,
            streams: AtomicUsize::new(0),
            event_tracking: AtomicBool::new(true),
            error: AtomicU32::new(0),
        };
        let pools = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        context.has_async_alloc = context.attribute(pools)? > 0;
        context.bind_to_thread()?;
        Ok(Arc::new(context))
    }

    /// Whether this is the device's primary context.
    pub fn is_primary(&self) -> bool {
        self.is_primary
    }

    /// Whether memory is allocated and freed in stream order: not with versions of AMD's library where that
    /// is known to corrupt memory.
    pub fn has_async_alloc(&self) -> bool {
        self.has_async_alloc
    }

    /// The number of devices.
    pub fn device_count() -> Result<i32, DriverError> {
        result::init()?;
        result::device::get_count()
    }

    /// The device's ordinal.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// The device's name.
    pub fn name(&self) -> Result<String, DriverError> {
        self.check_err()?;
        result::device::get_name(self.device)
    }

    /// The device's UUID.
    pub fn uuid(&self) -> Result<sys::CUuuid, DriverError> {
        self.check_err()?;
        result::device::get_uuid(self.device)
    }

    /// The two numbers of the device's generation: 11 and 0 for gfx1100, or 9 and 4 for gfx942.
    pub fn compute_capability(&self) -> Result<(i32, i32), DriverError> {
        Ok((
            self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// The device's memory in bytes.
    pub fn total_mem(&self) -> Result<usize, DriverError> {
        self.check_err()?;
        // SAFETY: the device is one that was found.
        unsafe { result::device::total_mem(self.device) }
    }

    /// The free and the total memory of the device, in bytes.
    pub fn mem_get_info(&self) -> Result<(usize, usize), DriverError> {
        self.bind_to_thread()?;
        result::mem_get_info()
    }

    /// CUDA's number for the device.
    pub fn cu_device(&self) -> sys::CUdevice {
        self.device
    }

    /// CUDA's handle of the context, which this object still owns.
    pub fn cu_ctx(&self) -> sys::CUcontext {
        self.handle
    }

    /// Makes this the calling thread's context.
    pub fn bind_to_thread(&self) -> Result<(), DriverError> {
        self.check_err()?;
        self.bind()
    }

    /// The same, for callers that return no error: a stored error stays stored.
    pub(super) fn bind(&self) -> Result<(), DriverError> {
        if result::ctx::get_current()? == Some(self.handle) {
            return Ok(());
        }
        // SAFETY: the handle lives as long as this object.
        unsafe { result::ctx::set_current(self.handle) }
    }

    /// A property of the device.
    pub fn attribute(&self, attrib: CUdevice_attribute) -> Result<i32, DriverError> {
        self.check_err()?;
        // SAFETY: the device is one that was found.
        unsafe { result::device::get_attribute(self.device, attrib) }
    }

    /// Waits for all work of the device.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::synchronize()
    }

    /// Makes the calling thread sleep while it waits for the device.
    pub fn set_blocking_synchronize(&self) -> Result<(), DriverError> {
        self.set_flags(sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC)
    }

    /// Sets how threads wait for the device.
    pub fn set_flags(&self, flags: sys::CUctx_flags) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_flags(flags)
    }

    /// The value of a limit.
    pub fn get_limit(&self, limit: sys::CUlimit) -> Result<usize, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_limit(limit)
    }

    /// Sets a limit.
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_limit(limit, value)
    }

    /// How memory is divided between caches and blocks.
    pub fn get_cache_config(&self) -> Result<sys::CUfunc_cache, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_cache_config()
    }

    /// Divides memory between caches and blocks, if the hardware allows it.
    pub fn set_cache_config(&self, config: sys::CUfunc_cache) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_cache_config(config)
    }

    /// Whether there are streams other than the default one.
    pub fn is_in_multi_stream_mode(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Whether memory has events of its uses: yes, unless the program orders streams itself.
    pub fn is_event_tracking(&self) -> bool {
        self.event_tracking.load(Ordering::Relaxed)
    }

    /// Whether streams wait for the events of memory: if there are several streams, and events.
    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.is_in_multi_stream_mode() && self.is_event_tracking()
    }

    /// From now on, memory is allocated with events of its uses.
    ///
    /// # Safety
    /// Memory allocated earlier without events has none; the program must order its uses.
    pub unsafe fn enable_event_tracking(&self) {
        self.event_tracking.store(true, Ordering::Relaxed);
    }

    /// From now on, nothing waits for events of memory, and memory is allocated without events.
    ///
    /// # Safety
    /// The program must order streams itself: it must use memory on another stream only after it was
    /// allocated and written, not while another stream writes it, and free it only once no stream uses it.
    pub unsafe fn disable_event_tracking(&self) {
        self.event_tracking.store(false, Ordering::Relaxed);
    }

    /// The last error of a call that could not return it, such as a drop. This clears it.
    pub fn check_err(&self) -> Result<(), DriverError> {
        let number = self.error.swap(0, Ordering::Relaxed);
        match sys::CUresult::from_code(i64::from(number)) {
            None | Some(sys::CUresult::CUDA_SUCCESS) => Ok(()),
            Some(code) => Err(DriverError(code)),
        }
    }

    /// Stores an error for the next call that can return it.
    pub fn record_err<T>(&self, result: Result<T, DriverError>) {
        if let Err(error) = result {
            self.error.store(error.0 as u32, Ordering::Relaxed);
        }
    }

    /// Counts a stream, and returns whether it is the first one besides the default stream.
    pub(super) fn stream_begins(&self) -> bool {
        self.streams.fetch_add(1, Ordering::Relaxed) == 0
    }

    pub(super) fn stream_ends(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
