//! Memory operations of streams: allocate, fill, copy.

use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::uses::Uses;
use super::{
    CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, HostSlice, SyncOnDrop, ValidAsZeroBits,
};

impl CudaStream {
    /// Memory without elements.
    pub fn null<T>(self: &Arc<Self>) -> Result<CudaSlice<T>, DriverError> {
        self.context().bind_to_thread()?;
        Ok(CudaSlice::of_parts(self.allocate(0)?, 0, Uses::default(), self))
    }

    /// Allocates memory for this many elements.
    ///
    /// # Safety
    /// The memory holds no values; it must be written before it is read.
    pub unsafe fn alloc<T: DeviceRepr>(self: &Arc<Self>, len: usize) -> Result<CudaSlice<T>, DriverError> {
        self.context().bind_to_thread()?;
        let bytes = len.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        let uses = self.new_uses()?;
        Ok(CudaSlice::of_parts(self.allocate(bytes)?, len, uses, self))
    }

    fn allocate(&self, bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
        match self.context().has_async_alloc() {
            // SAFETY: the stream lives.
            true => unsafe { result::malloc_async(self.cu_stream(), bytes) },
            // SAFETY: the call takes a number.
            false => unsafe { result::malloc_sync(bytes) },
        }
    }

    /// Events for memory, unless the program orders streams itself.
    pub(super) fn new_uses(&self) -> Result<Uses, DriverError> {
        if !self.context().is_event_tracking() {
            return Ok(Uses::default());
        }
        let event = || self.context().new_event(None).map(Some);
        Ok(Uses { read: event()?, write: event()? })
    }

    /// Allocates memory for this many elements, with all bits zero.
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is filled before it is read.
        let mut memory = unsafe { self.alloc(len) }?;
        self.memset_zeros(&mut memory)?;
        Ok(memory)
    }

    /// Sets all bits to zero.
    pub fn memset_zeros<T: DeviceRepr + ValidAsZeroBits, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        self.context().bind_to_thread()?;
        let bytes = dst.num_bytes();
        let (place, _submitted) = dst.device_ptr_mut(self);
        // SAFETY: there are this many bytes, and the stream waits for other uses.
        unsafe { result::memset_d8_async(place, 0, bytes, self.cu_stream()) }
    }

    /// Copies from the host to new memory.
    #[deprecated = "Use clone_htod"]
    pub fn memcpy_stod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        self.clone_htod(src)
    }

    /// Copies from the host to new memory.
    pub fn clone_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is written before it is read.
        let mut memory = unsafe { self.alloc(src.len()) }?;
        self.memcpy_htod(src, &mut memory)?;
        Ok(memory)
    }

    /// Copies from the host.
    ///
    /// # Panics
    /// If there are fewer elements on the device.
    pub fn memcpy_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        assert!(dst.len() >= src.len(), "{} elements do not fit into {}", src.len(), dst.len());
        self.context().bind_to_thread()?;
        // SAFETY: the copy alone uses it.
        let (from, _read) = unsafe { src.stream_synced_slice(self) };
        let (to, _written) = dst.device_ptr_mut(self);
        // SAFETY: there is room, and the stream waits for other uses of the memory. Pinned memory lives until
        // its event has passed, and other memory has been read when this returns.
        unsafe { result::memcpy_htod_async(to, from, self.cu_stream()) }
    }

    /// Copies to new host memory.
    #[deprecated = "Use clone_dtoh"]
    pub fn memcpy_dtov<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<Vec<T>, DriverError> {
        self.clone_dtoh(src)
    }

    /// Copies to new host memory.
    pub fn clone_dtoh<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<Vec<T>, DriverError> {
        self.context().bind_to_thread()?;
        let len = src.len();
        let mut values: Vec<T> = Vec::with_capacity(len);
        let (from, _read) = src.device_ptr(self);
        // SAFETY: the vector has room for this many elements, to which only bytes are copied; the copy is
        // done when the call returns, as the memory is not pinned.
        unsafe {
            let room =
                std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<std::mem::MaybeUninit<T>>(), len);
            result::memcpy_dtoh_async(room, from, self.cu_stream())?;
            values.set_len(len);
        }
        Ok(values)
    }

    /// Copies to the host.
    ///
    /// # Panics
    /// If there are fewer elements on the host.
    pub fn memcpy_dtoh<T: DeviceRepr, Src: DevicePtr<T>, Dst: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        let len = src.len();
        assert!(dst.len() >= len, "{len} elements do not fit into {}", dst.len());
        self.context().bind_to_thread()?;
        let (from, _read) = src.device_ptr(self);
        // SAFETY: the copy alone uses it.
        let (to, _written) = unsafe { dst.stream_synced_mut_slice(self) };
        // SAFETY: there are this many elements, and the stream waits for writes to them. Pinned memory lives
        // until its event has passed, and other memory has been written when this returns.
        unsafe { result::memcpy_dtoh_async(&mut to[..len], from, self.cu_stream()) }
    }

    /// Copies on the device, or between devices.
    ///
    /// # Panics
    /// If the destination has fewer elements.
    pub fn memcpy_dtod<T, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        assert!(dst.len() >= src.len(), "{} elements do not fit into {}", src.len(), dst.len());
        self.context().bind_to_thread()?;
        let (bytes, owner) = (src.num_bytes(), src.stream());
        if owner.context() == self.context() {
            let (from, _read) = src.device_ptr(self);
            let (to, _written) = dst.device_ptr_mut(self);
            // SAFETY: there is room, and the stream waits for other uses of both.
            return unsafe { result::memcpy_dtod_async(to, from, bytes, self.cu_stream()) };
        }
        // An event can only be recorded on streams of its own device, so the other device's stream represents
        // the copy: this stream waits for it, then it waits for this stream.
        let (from, read) = src.device_ptr(owner);
        let (to, written) = dst.device_ptr_mut(self);
        self.join(owner)?;
        self.context().bind_to_thread()?;
        let (here, there) = (self.context().cu_ctx(), owner.context().cu_ctx());
        // SAFETY: there is room, and the stream waits for other uses of both.
        unsafe { result::memcpy_peer_async(here, to, there, from, bytes, self.cu_stream())? };
        drop::<SyncOnDrop<'_>>(written);
        owner.join(self)?;
        drop::<SyncOnDrop<'_>>(read);
        self.context().bind_to_thread()
    }

    /// Copies to new memory of this stream's device.
    pub fn clone_dtod<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is written before it is read.
        let mut memory = unsafe { self.alloc(src.len()) }?;
        self.memcpy_dtod(src, &mut memory)?;
        Ok(memory)
    }
}
