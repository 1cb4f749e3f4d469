//! Device memory.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::super::result::{self, DriverError};
use super::super::sys;
use super::uses::Uses;
use super::{
    CudaContext, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice,
    SyncOnDrop,
};

/// An array in device memory, freed on drop in the order of the stream that it was allocated on.
#[derive(Debug)]
pub struct CudaSlice<T> {
    /// Kernels get a pointer to this.
    pub(super) address: sys::CUdeviceptr,
    len: usize,
    pub(super) uses: Uses,
    stream: Arc<CudaStream>,
    marker: PhantomData<*const T>,
}

// SAFETY: the elements are on the device, where host threads cannot access them.
unsafe impl<T> Send for CudaSlice<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for CudaSlice<T> {}

impl<T> Drop for CudaSlice<T> {
    fn drop(&mut self) {
        let context = self.stream.context();
        for event in self.uses.before_write(context) {
            context.record_err(self.stream.wait(event));
        }
        context.record_err(context.bind());
        // SAFETY: the memory was allocated for this object, and is freed once, when its uses are done: the
        // stream or the host waits for them.
        context.record_err(unsafe {
            match context.has_async_alloc() {
                true => result::free_async(self.address, self.stream.cu_stream()),
                false => {
                    context.record_err(self.stream.synchronize());
                    result::free_sync(self.address)
                }
            }
        });
    }
}

impl<T> CudaSlice<T> {
    /// Takes over memory that was allocated on `stream`.
    pub(super) fn of_parts(
        address: sys::CUdeviceptr,
        len: usize,
        uses: Uses,
        stream: &Arc<CudaStream>,
    ) -> Self {
        Self { address, len, uses, stream: stream.clone(), marker: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// The device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// The stream that it was allocated on.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Releases ownership of the memory after its stream has waited for all uses.
    /// [`CudaStream::upgrade_device_ptr`] takes it back.
    pub fn leak(self) -> sys::CUdeviceptr {
        let mut this = ManuallyDrop::new(self);
        let context = this.stream.context().clone();
        for event in this.uses.before_write(&context) {
            context.record_err(this.stream.wait(event));
        }
        this.uses = Uses::default();
        // SAFETY: the field is not used any more, and is not dropped elsewhere.
        drop(unsafe { std::ptr::read(&raw const this.stream) });
        this.address
    }

    /// A view of everything, for reading.
    pub fn as_view(&self) -> CudaView<'_, T> {
        CudaView::of_parts(self.address, self.len, &self.uses, &self.stream)
    }

    /// A view of everything, for writing.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        CudaViewMut::of_parts(self.address, self.len, &self.uses, &self.stream)
    }

    /// A part.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> CudaView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// A part; `None` if the range exceeds the elements.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<CudaView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// A part to be written.
    ///
    /// # Panics
    /// If the range exceeds the elements.
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> CudaViewMut<'_, T> {
        self.try_slice_mut(bounds).expect("a range within the elements")
    }

    /// A part to be written; `None` if the range exceeds the elements.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<CudaViewMut<'_, T>> {
        self.as_view_mut().into_part(bounds)
    }

    /// The memory as another type; `None` if it has fewer bytes than `len` elements of that type.
    ///
    /// # Safety
    /// The memory must hold values of that type.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<CudaView<'_, S>> {
        // SAFETY: the caller vouches for it.
        unsafe { self.as_view().transmute(len) }
    }

    /// The memory as another type, to be written; `None` if it has fewer bytes than `len` elements of that
    /// type.
    ///
    /// # Safety
    /// The memory must hold values of that type, and must end with valid values of its own type.
    pub unsafe fn transmute_mut<S>(&mut self, len: usize) -> Option<CudaViewMut<'_, S>> {
        // SAFETY: the caller vouches for it.
        unsafe { self.as_view_mut().into_other(len) }
    }

    /// The elements before `mid`, and the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at(&self, mid: usize) -> (CudaView<'_, T>, CudaView<'_, T>) {
        self.as_view().split_at(mid)
    }

    /// The elements before `mid`, and the rest; `None` if there are fewer elements.
    pub fn try_split_at(&self, mid: usize) -> Option<(CudaView<'_, T>, CudaView<'_, T>)> {
        self.as_view().try_split_at(mid)
    }

    /// The elements before `mid`, and the rest, to be written.
    ///
    /// # Panics
    /// If there are fewer elements.
    pub fn split_at_mut(&mut self, mid: usize) -> (CudaViewMut<'_, T>, CudaViewMut<'_, T>) {
        self.try_split_at_mut(mid).expect("at least as many elements")
    }

    /// The elements before `mid`, and the rest, to be written; `None` if there are fewer elements.
    pub fn try_split_at_mut(&mut self, mid: usize) -> Option<(CudaViewMut<'_, T>, CudaViewMut<'_, T>)> {
        self.as_view_mut().into_halves(mid)
    }
}

impl<T: DeviceRepr> CudaSlice<T> {
    /// A copy, on the same stream.
    pub fn try_clone(&self) -> Result<Self, DriverError> {
        self.stream.clone_dtod(self)
    }
}

impl<T: DeviceRepr> Clone for CudaSlice<T> {
    /// # Panics
    /// If there is no memory for it; [`try_clone`](CudaSlice::try_clone) returns that error instead.
    fn clone(&self) -> Self {
        self.try_clone().expect("memory for a copy")
    }
}

impl<T: Clone + Default + DeviceRepr> TryFrom<CudaSlice<T>> for Vec<T> {
    type Error = DriverError;

    fn try_from(value: CudaSlice<T>) -> Result<Self, Self::Error> {
        value.stream.clone_dtoh(&value)
    }
}

impl<T> DeviceSlice<T> for CudaSlice<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl<T> DevicePtr<T> for CudaSlice<T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, self.uses.read(self.stream.context(), stream))
    }
}

impl<T> DevicePtrMut<T> for CudaSlice<T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, self.uses.write(self.stream.context(), stream))
    }
}

impl CudaStream {
    /// Takes over memory that [`CudaSlice::leak`] returned, or that the program has allocated.
    ///
    /// # Panics
    /// If events for it cannot be created.
    ///
    /// # Safety
    /// There must be `len` elements at the address, allocated in the way of this stream's context, and
    /// nothing else may free them. Only work submitted to this stream may use them.
    pub unsafe fn upgrade_device_ptr<T>(
        self: &Arc<Self>,
        cu_device_ptr: sys::CUdeviceptr,
        len: usize,
    ) -> CudaSlice<T> {
        let uses = self.new_uses().expect("events for the memory's uses");
        CudaSlice::of_parts(cu_device_ptr, len, uses, self)
    }
}
