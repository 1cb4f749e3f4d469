//! Streams of other code, and streams for other code.

use std::sync::Arc;

use hip_sys::hipStream_t;

use super::Stream;
use crate::device::Device;
use crate::error::{Error, Result};

/// `hipStreamLegacy` and `hipStreamPerThread`, which denote streams but are not handles.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

impl Stream {
    /// Wraps a stream of other code without owning it: dropping the result does not destroy the stream. The
    /// null handle is the device's [default stream](Device::default_stream).
    ///
    /// Dropping the last handle waits for the stream's work. Buffers that were used on the stream are not
    /// ordered after work that other code submits to it later.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for `hipStreamPerThread`, which is a different stream on each thread: see
    /// [`Device::thread_stream`].
    ///
    /// # Safety
    /// The handle is null, or belongs to a stream of this device made by the library behind
    /// [`Device::table`]. The stream is not destroyed before the last clone of the result has been dropped,
    /// and is not captured meanwhile.
    #[doc(alias = "CUexternalStream")]
    pub unsafe fn from_raw(device: &Device, handle: hipStream_t) -> Result<Self> {
        match handle.addr() {
            0 | LEGACY => Ok(device.default_stream().clone()),
            PER_THREAD => Err(Error::Unsupported {
                what: "`hipStreamPerThread`, which is a different stream on each thread,".to_owned(),
                instead: "use `Device::thread_stream`".to_owned(),
            }),
            _ => Ok(Self::from_handle(device.clone(), handle, false, None)),
        }
    }

    /// Waits for the stream's work and gives up ownership: the caller destroys the stream with
    /// `hipStreamDestroy`, unless it was wrapped by [`from_raw`](Self::from_raw) or is the default stream.
    ///
    /// # Errors
    /// The stream itself, if it has other handles: clones, or pending completions and copies.
    pub fn into_raw(self) -> Result<hipStream_t, Self> {
        let handle = self.handle();
        let mut inner = Arc::try_unwrap(self.0).map_err(Self)?;
        inner.owned = None;
        // Waits, and notifies objects that remember the stream that it is over.
        drop(inner);
        Ok(handle)
    }
}
