//! Contexts: a device, and what all that is made on it shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::super::result::{self, DriverError};
use super::super::sys::{self, CUdevice_attribute};

/// A device. Everything that is made on it keeps it.
///
/// Its methods, and those of what is made on it, make it the calling thread's context themselves.
#[derive(Debug)]
pub struct CudaContext {
    device: sys::CUdevice,
    handle: sys::CUcontext,
    ordinal: usize,
    has_async_alloc: bool,
    is_primary: bool,
    /// Streams beside the default one.
    streams: AtomicUsize,
    event_tracking: AtomicBool,
    /// The last error that could not be returned, by number; 0 if there is none.
    error: AtomicU32,
}

// SAFETY: handles of CUDA may be used on any thread, and the rest is atomic.
unsafe impl Send for CudaContext {}
// SAFETY: as above.
unsafe impl Sync for CudaContext {}

impl Drop for CudaContext {
    fn drop(&mut self) {
        let ended = match self.is_primary {
            // SAFETY: `new` retained it.
            true => unsafe { result::primary_ctx::release(self.device) },
            // SAFETY: it was made for this, or given away by `from_raw_context`, and everything on it is gone.
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
    /// The device of an ordinal: the devices that `FERROCM_DEVICE` names are counted from zero.
    pub fn new(ordinal: usize) -> Result<Arc<Self>, DriverError> {
        let device = Self::device_of(ordinal)?;
        // SAFETY: the device was found just now.
        let handle = unsafe { result::primary_ctx::retain(device) }?;
        Self::of_handle(ordinal, device, handle, true)
    }

    /// A context of its own on a device. HIP has none, so that it shares everything with the device's others.
    pub fn new_non_primary(ordinal: usize, flags: u32) -> Result<Arc<Self>, DriverError> {
        let device = Self::device_of(ordinal)?;
        // SAFETY: the device was found just now.
        let handle = unsafe { result::ctx::create_v4(std::ptr::null_mut(), flags, device) }?;
        Self::of_handle(ordinal, device, handle, false)
    }

    /// A context that shares with a graphics API, which HIP has not: `CUDA_ERROR_NOT_SUPPORTED`.
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

    /// Takes a context that the program has made.
    ///
    /// # Safety
    /// `cu_ctx` is a context of `cu_device`, made by `cuCtxCreate` and not destroyed; nobody else destroys it.
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

    /// Whether memory is allocated and freed in the order of streams: not by a version of AMD's library of which corruption is known to
    /// come of it.
    pub fn has_async_alloc(&self) -> bool {
        self.has_async_alloc
    }

    /// How many devices there are.
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

    /// The two numbers of the device's generation: 11 and 0 for gfx1100, 9 and 4 for gfx942.
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

    /// How much memory of the device is free, and how much there is, in bytes.
    pub fn mem_get_info(&self) -> Result<(usize, usize), DriverError> {
        self.bind_to_thread()?;
        result::mem_get_info()
    }

    /// CUDA's number of the device.
    pub fn cu_device(&self) -> sys::CUdevice {
        self.device
    }

    /// CUDA's handle of the context, which stays this object's.
    pub fn cu_ctx(&self) -> sys::CUcontext {
        self.handle
    }

    /// Makes this the calling thread's context.
    pub fn bind_to_thread(&self) -> Result<(), DriverError> {
        self.check_err()?;
        self.bind()
    }

    /// The same, for those who return no error: one that is kept stays.
    pub(super) fn bind(&self) -> Result<(), DriverError> {
        if result::ctx::get_current()? == Some(self.handle) {
            return Ok(());
        }
        // SAFETY: the handle lives as long as this object.
        unsafe { result::ctx::set_current(self.handle) }
    }

    /// What the device is or can do.
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

    /// Has the calling thread sleep where it waits for the device.
    pub fn set_blocking_synchronize(&self) -> Result<(), DriverError> {
        self.set_flags(sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC)
    }

    /// Sets how threads wait for the device.
    pub fn set_flags(&self, flags: sys::CUctx_flags) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_flags(flags)
    }

    /// What a limit is.
    pub fn get_limit(&self, limit: sys::CUlimit) -> Result<usize, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_limit(limit)
    }

    /// Sets a limit.
    pub fn set_limit(&self, limit: sys::CUlimit, value: usize) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_limit(limit, value)
    }

    /// How memory for caches and for blocks is divided.
    pub fn get_cache_config(&self) -> Result<sys::CUfunc_cache, DriverError> {
        self.bind_to_thread()?;
        result::ctx::get_cache_config()
    }

    /// Divides memory for caches and for blocks, where the hardware lets it.
    pub fn set_cache_config(&self, config: sys::CUfunc_cache) -> Result<(), DriverError> {
        self.bind_to_thread()?;
        result::ctx::set_cache_config(config)
    }

    /// Whether there are streams beside the default one.
    pub fn is_in_multi_stream_mode(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Whether memory has events of its uses: it has unless the program orders streams itself.
    pub fn is_event_tracking(&self) -> bool {
        self.event_tracking.load(Ordering::Relaxed)
    }

    /// Whether streams wait for the events of memory: there are several streams, and events.
    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.is_in_multi_stream_mode() && self.is_event_tracking()
    }

    /// Gives memory that is allocated from now on events of its uses.
    ///
    /// # Safety
    /// Memory that was allocated without them has none, and its uses are the program's to order.
    pub unsafe fn enable_event_tracking(&self) {
        self.event_tracking.store(true, Ordering::Relaxed);
    }

    /// Has nothing wait for events of memory, and gives none to memory that is allocated from now on.
    ///
    /// # Safety
    /// The program orders streams itself: memory is used on another stream only when it is allocated and written there, not while
    /// another stream writes it, and freed when no stream uses it any more.
    pub unsafe fn disable_event_tracking(&self) {
        self.event_tracking.store(false, Ordering::Relaxed);
    }

    /// The last error of a call that could return none, such as a drop. It is forgotten then.
    pub fn check_err(&self) -> Result<(), DriverError> {
        let number = self.error.swap(0, Ordering::Relaxed);
        match sys::CUresult::from_code(i64::from(number)) {
            None | Some(sys::CUresult::CUDA_SUCCESS) => Ok(()),
            Some(code) => Err(DriverError(code)),
        }
    }

    /// Keeps an error for the next call that can return it.
    pub fn record_err<T>(&self, result: Result<T, DriverError>) {
        if let Err(error) = result {
            self.error.store(error.0 as u32, Ordering::Relaxed);
        }
    }

    /// Counts a stream, and says whether it is the first beside the default one.
    pub(super) fn stream_begins(&self) -> bool {
        self.streams.fetch_add(1, Ordering::Relaxed) == 0
    }

    pub(super) fn stream_ends(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
