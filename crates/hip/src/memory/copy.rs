//! Copies, all on a stream.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::hipMemcpyKind;

use super::{Allocation, DeviceCopy, DeviceSlice, DeviceSliceMut, HostBuffer, Pending};
use crate::call::{call, leaked};
use crate::error::{Error, Result};
use crate::stream::{Stream, WeakStream};

impl<'a, T: DeviceCopy> DeviceSlice<'a, T> {
    /// Copies all elements to `destination` and blocks until that is done (`hipMemcpyAsync`,
    /// `hipStreamSynchronize`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OtherDevice`] if the stream belongs to another device,
    /// [`Error::Fault`] if work
    /// before the copy faulted, else [`Error::Hip`]. The content of `destination` is then unspecified.
    #[doc(alias = "hipMemcpyDtoH")]
    #[doc(alias = "cuMemcpyDtoH")]
    pub fn copy_to_host(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        same_length("copy_to_host", destination.len(), self.len())?;
        // SAFETY: the destination holds as many elements as the view, and the wait comes before it is
        // released.
        unsafe { self.read_into(stream, destination.as_mut_ptr())? };
        finish_read(stream, self.allocation())
    }

    /// Copies all elements into a new `Vec` and blocks until that is done.
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host).
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut destination = Vec::new();
        if destination.try_reserve_exact(self.len()).is_err() {
            return Err(Error::TooLarge { elements: self.len(), size: size_of::<T>() });
        }
        // SAFETY: there is room for as many elements as the view has, and the wait comes before it is
        // released.
        unsafe {
            self.read_into(stream, destination.as_mut_ptr())?;
            finish_read_into(stream, self.allocation(), destination, self.len())
        }
    }

    /// Enqueues a copy of all elements to `destination`. The copy owns the buffer; the result returns it when
    /// the copy is done (`hipMemcpyAsync`).
    ///
    /// # Errors
    /// As [`copy_to_host`](Self::copy_to_host), at once or from [`Pending::wait`].
    #[doc(alias = "hipMemcpyDtoHAsync")]
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn download(
        &self,
        stream: &Stream,
        mut destination: HostBuffer<T>,
    ) -> Result<Pending<HostBuffer<T>>> {
        same_length("download", destination.len(), self.len())?;
        // SAFETY: the buffer holds as many elements as the view, and `Pending` keeps it until the copy is
        // done.
        unsafe { self.read_into(stream, destination.as_mut_ptr())? };
        Pending::new(stream, destination, self.allocation().sources(stream))
    }

    /// Enqueues a copy of all elements to `destination`.
    ///
    /// # Safety
    /// `destination` has room for all elements, and nothing uses it until the stream has been waited for.
    pub(super) unsafe fn read_into(&self, stream: &Stream, destination: *mut T) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpyAsync", "source")?;
        if self.is_empty() {
            return Ok(());
        }
        // Check first: work that the capture refuses must not count as a use by the graph.
        stream.make_current()?;
        self.allocation().read_on(stream)?;
        let (source, bytes) = (self.start().pointer(), self.size_in_bytes());
        // SAFETY: the caller vouches for the destination, the view for the source.
        unsafe { copy(stream, destination.cast(), source, bytes, hipMemcpyKind::hipMemcpyDeviceToHost) }
    }
}

impl<'a, T: DeviceCopy> DeviceSliceMut<'a, T> {
    /// Copies `source` to all elements and blocks until that is done (`hipMemcpyAsync`,
    /// `hipStreamSynchronize`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OtherDevice`] if the stream belongs to another device,
    /// [`Error::Fault`] if work
    /// before the copy faulted, else [`Error::Hip`]. The elements then have unspecified values.
    #[doc(alias = "hipMemcpyHtoD")]
    #[doc(alias = "cuMemcpyHtoD")]
    pub fn copy_from_host(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        same_length("copy_from_host", self.len(), source.len())?;
        // SAFETY: the source holds as many elements as the view, and the wait comes before it is released.
        unsafe { self.write_from(stream, source.as_ptr())? };
        stream.finish_borrowed()
    }

    /// Enqueues a copy of `source` to all elements. The copy owns the buffer; the result returns it when the
    /// copy is done (`hipMemcpyAsync`).
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host), at once or from [`Pending::wait`].
    #[doc(alias = "hipMemcpyHtoDAsync")]
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn upload(&mut self, stream: &Stream, source: HostBuffer<T>) -> Result<Pending<HostBuffer<T>>> {
        same_length("upload", self.len(), source.len())?;
        // SAFETY: the buffer holds as many elements as the view, and `Pending` keeps it until the copy is
        // done.
        unsafe { self.write_from(stream, source.as_ptr())? };
        Pending::new(stream, source, Vec::new())
    }

    /// Enqueues a copy of other device memory; does not block (`hipMemcpyAsync`).
    ///
    /// The source may belong to another device. If the stream's device has no
    /// [access](crate::Device::enable_peer_access) to one side, the library copies between the devices,
    /// through the host if necessary (`hipMemcpyPeerAsync`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OtherDevice`] if the stream belongs to neither side's device and
    /// has no access to them, [`Error::OtherRuntime`] if the devices belong to different libraries,
    /// [`Error::Fault`] if the stream has
    /// faulted, else [`Error::Hip`].
    #[doc(alias = "hipMemcpyDtoDAsync")]
    #[doc(alias = "hipMemcpyPeerAsync")]
    #[doc(alias = "cudaMemcpyPeerAsync")]
    #[doc(alias = "cuMemcpyDtoDAsync")]
    pub fn copy_from<'s>(&mut self, stream: &Stream, source: impl Into<DeviceSlice<'s, T>>) -> Result<()> {
        let source = source.into();
        same_length("copy_from", self.len(), source.len())?;
        let (here, from, to) = (stream.device(), source.device(), self.device());
        let direct = here.has_access_to(from) && here.has_access_to(to);
        if !direct {
            here.same_runtime(from, "hipMemcpyPeerAsync", "source")?;
            here.same_runtime(to, "hipMemcpyPeerAsync", "destination")?;
            if here != from && here != to {
                here.reaches(from, "hipMemcpyPeerAsync", "source")?;
                here.reaches(to, "hipMemcpyPeerAsync", "destination")?;
            }
        }
        if self.is_empty() {
            return Ok(());
        }
        if direct {
            stream.make_current_or_capture()?;
        } else {
            stream.make_current()?;
        }
        self.allocation().lasts_beyond_graphs()?;
        source.allocation().read_on(stream)?;
        self.allocation().write_on(stream)?;
        let (destination, bytes) = (self.start().pointer(), self.size_in_bytes());
        if !direct {
            if bytes == 0 {
                return Ok(());
            }
            let (source, from, to) = (source.start().pointer(), from.ordinal() as i32, to.ordinal() as i32);
            stream.make_current()?;
            // SAFETY: both views hold that many bytes, on the devices named; a shared and an exclusive view
            // cannot overlap.
            return stream.check(unsafe {
                call!(
                    stream.table(),
                    hipMemcpyPeerAsync(destination, to, source, from, bytes, stream.handle())
                )
            });
        }
        let (source, kind) = (source.start().pointer(), hipMemcpyKind::hipMemcpyDeviceToDevice);
        // SAFETY: both views hold that many bytes; a shared and an exclusive view cannot overlap.
        unsafe { copy(stream, destination, source, bytes, kind) }
    }

    /// Enqueues a copy that fills the view.
    ///
    /// # Safety
    /// `source` holds that many elements, and nothing writes or releases them until the stream has been
    /// waited for.
    pub(super) unsafe fn write_from(&mut self, stream: &Stream, source: *const T) -> Result<()> {
        stream.device().reaches(self.device(), "hipMemcpyAsync", "destination")?;
        if self.is_empty() {
            return Ok(());
        }
        stream.make_current()?;
        self.allocation().write_on(stream)?;
        let (destination, bytes) = (self.start().pointer(), self.size_in_bytes());
        // SAFETY: the caller vouches for the source, the view for the destination.
        unsafe { copy(stream, destination, source.cast(), bytes, hipMemcpyKind::hipMemcpyHostToDevice) }
    }
}

/// Waits for a read into borrowed memory, and checks that the work that wrote its source did not fail.
pub(super) fn finish_read(stream: &Stream, allocation: &Arc<Allocation>) -> Result<()> {
    stream.finish_borrowed()?;
    allocation.sources(stream).iter().try_for_each(WeakStream::check)
}

/// As [`finish_read`], into a new `Vec`, which then has `len` elements. If the device may still write them,
/// the memory is leaked.
///
/// # Safety
/// There is room for that many elements, and the copy writes all of them.
pub(super) unsafe fn finish_read_into<T: DeviceCopy>(
    stream: &Stream,
    allocation: &Arc<Allocation>,
    mut destination: Vec<T>,
    len: usize,
) -> Result<Vec<T>> {
    match stream.finish() {
        Ok(over) => over?,
        Err(error) => {
            leaked("destination of a copy", &error);
            std::mem::forget(destination);
            return Err(error);
        }
    }
    allocation.sources(stream).iter().try_for_each(WeakStream::check)?;
    // SAFETY: as this function's contract, and any bytes are a valid `T`.
    unsafe { destination.set_len(len) };
    Ok(destination)
}

/// # Safety
/// Both sides hold `bytes` bytes until the stream has run the copy, and `kind` says where they are.
unsafe fn copy(
    stream: &Stream,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    // A graph must own the host memory that it copies from or to.
    if kind == hipMemcpyKind::hipMemcpyDeviceToDevice {
        stream.make_current_or_capture()?;
    } else {
        stream.make_current()?;
    }
    // SAFETY: as this function's contract.
    let enqueued = stream.check(unsafe {
        call!(stream.table(), hipMemcpyAsync(destination, source, bytes, kind, stream.handle()))
    });
    end_refused(stream, kind, enqueued)
}

/// Handles the result of enqueuing a copy. A library may have begun a copy that it reports as refused. After
/// the error, the caller uses or frees the host memory again, so this waits until nothing uses it.
pub(super) fn end_refused(stream: &Stream, kind: hipMemcpyKind, enqueued: Result<()>) -> Result<()> {
    if enqueued.is_err() && kind != hipMemcpyKind::hipMemcpyDeviceToDevice {
        // The first error says more.
        let _ = stream.finish_borrowed();
    }
    enqueued
}

pub(crate) fn same_length(operation: &'static str, destination: usize, source_len: usize) -> Result<()> {
    if destination == source_len {
        Ok(())
    } else {
        Err(Error::LengthMismatch { operation, destination, source_len })
    }
}
