//! Copies of borrowed host memory that run in the background and end before the borrow does.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use super::copy::same_length;
use super::{Allocation, DeviceCopy, DeviceRect, DeviceRectMut, DeviceSlice, DeviceSliceMut, RectLayout};
use crate::call::dropped;
use crate::error::Result;
use crate::stream::{Stream, WeakStream};

/// Enqueues copies of borrowed host memory. [`Stream::scope`] makes it, and waits for the copies at its end.
#[derive(Debug)]
pub struct CopyScope<'scope, 'env: 'scope> {
    stream: &'scope Stream,
    /// Streams that wrote the sources: the results are only valid if they have not failed.
    sources: Mutex<Vec<WeakStream>>,
    // Both lifetimes are invariant, as with `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Waits for the copies, even if the program panics before they end.
struct Wait<'a>(Option<&'a Stream>);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.0 {
            dropped("scope of copies", stream.finish_borrowed());
        }
    }
}

impl Stream {
    /// Runs `enqueue` with a scope, and waits for the stream at the end. Through the scope, copies of
    /// borrowed host memory can run on this stream in the background.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// let input = vec![1.0_f32; 1000];
    /// let mut output = vec![0.0_f32; 1000];
    /// let mut buffer = hip::DeviceBuffer::<f32>::uninit(&device, 1000)?;
    /// stream.scope(|scope| {
    ///     scope.copy_from_host(&mut buffer, &input)?;
    ///     // … enqueue kernels, compute something else …
    ///     scope.copy_to_host(&buffer, &mut output)
    /// })?;
    /// assert_eq!(input, output);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `enqueue`, else [`Error::Fault`](crate::Error::Fault) if work on this stream, or work
    /// that wrote the copied memory, has faulted, else [`Error::Hip`](crate::Error::Hip). Host memory that
    /// was copied to then has unspecified contents.
    pub fn scope<'env, R>(
        &self,
        enqueue: impl for<'scope> FnOnce(&'scope CopyScope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        // If this thread cannot wait, nothing may be enqueued, not even by another thread.
        self.make_current()?;
        let scope =
            CopyScope { stream: self, sources: Mutex::default(), scope: PhantomData, env: PhantomData };
        let mut wait = Wait(Some(self));
        let result = enqueue(&scope);
        wait.0 = None;
        let waited = self.finish_borrowed();
        let result = result?;
        waited?;
        let sources = scope.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.iter().try_for_each(WeakStream::check)?;
        Ok(result)
    }
}

impl<'scope> CopyScope<'scope, '_> {
    /// The stream that the copies run on.
    pub fn stream(&self) -> &'scope Stream {
        self.stream
    }

    /// Enqueues a copy of `source` to all elements of a buffer or view (`hipMemcpyAsync`).
    ///
    /// # Errors
    /// As [`DeviceSliceMut::copy_from_host`], at once or from [`Stream::scope`].
    pub fn copy_from_host<'d, T: DeviceCopy>(
        &'scope self,
        destination: impl Into<DeviceSliceMut<'d, T>>,
        source: &'scope [T],
    ) -> Result<()> {
        let mut destination = destination.into();
        same_length("copy_from_host", destination.len(), source.len())?;
        // SAFETY: the source holds as many elements as the view, and is borrowed until the scope has waited.
        unsafe { destination.write_from(self.stream, source.as_ptr()) }
    }

    /// Enqueues a copy of all elements of a buffer or view to `destination` (`hipMemcpyAsync`).
    ///
    /// # Errors
    /// As [`DeviceSlice::copy_to_host`], at once or from [`Stream::scope`].
    pub fn copy_to_host<'d, T: DeviceCopy>(
        &'scope self,
        source: impl Into<DeviceSlice<'d, T>>,
        destination: &'scope mut [T],
    ) -> Result<()> {
        let source = source.into();
        same_length("copy_to_host", destination.len(), source.len())?;
        // SAFETY: there is room for as many elements as the view has, borrowed exclusively until the scope
        // has waited.
        unsafe { source.read_into(self.stream, destination.as_mut_ptr())? };
        self.has_read(source.allocation());
        Ok(())
    }

    /// Enqueues a copy of a rectangle or box of `source` to all elements of one in a buffer
    /// (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// As [`DeviceRectMut::copy_from_host_rect`], at once or from [`Stream::scope`].
    #[doc(alias = "hipMemcpy2DAsync")]
    #[doc(alias = "hipMemcpy3DAsync")]
    pub fn copy_from_host_rect<T: DeviceCopy>(
        &'scope self,
        mut destination: DeviceRectMut<'_, T>,
        source: &'scope [T],
        layout: RectLayout,
    ) -> Result<()> {
        layout.holds("copy_from_host", destination.size(), source.len())?;
        // SAFETY: the layout is inside the source, which is borrowed until the scope has waited.
        unsafe { destination.write_from(self.stream, source.as_ptr(), layout) }
    }

    /// Enqueues a copy of all elements of a rectangle or box of a buffer to one in `destination`
    /// (`hipMemcpy3DAsync`). Memory between its rows is unchanged.
    ///
    /// # Errors
    /// As [`DeviceRect::copy_to_host_rect`], at once or from [`Stream::scope`].
    #[doc(alias = "hipMemcpy2DAsync")]
    #[doc(alias = "hipMemcpy3DAsync")]
    pub fn copy_to_host_rect<'d, T: DeviceCopy>(
        &'scope self,
        source: impl Into<DeviceRect<'d, T>>,
        destination: &'scope mut [T],
        layout: RectLayout,
    ) -> Result<()> {
        let source = source.into();
        layout.holds("copy_to_host", source.size(), destination.len())?;
        // SAFETY: the layout is inside the destination, which is borrowed exclusively until the scope has
        // waited.
        unsafe { source.read_into(self.stream, destination.as_mut_ptr(), layout)? };
        self.has_read(source.allocation());
        Ok(())
    }

    /// Records that a copy of this memory to the host was enqueued.
    fn has_read(&self, source: &Arc<Allocation>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.extend(source.sources(self.stream));
    }
}
