//! Streams of other code, and streams for other code.

use std::sync::Arc;

use hip_sys::hipStream_t;

use super::Stream;
use crate::device::Device;
use crate::error::{Error, Result};

/// `hipStreamLegacy` and `hipStreamPerThread`, which stand for streams without being handles.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

impl Stream {
    /// Wraps a stream of other code, which stays that code's: it is not destroyed. The null handle is the device's
    /// [default stream](Device::default_stream).
    ///
    /// The last handle that is dropped waits for the stream's work. Buffers that were used on the stream are not ordered after
    /// what other code submits to it later.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for `hipStreamPerThread`, which is another stream on each thread:
    /// see [`Device::thread_stream`].
    ///
    /// # Safety
    /// The handle is null or that of a stream of this device, made by the library behind [`Device::table`]. It is not destroyed
    /// before the last clone of the result has been dropped, and not captured meanwhile.
    #[doc(alias = "CUexternalStream")]
    pub unsafe fn from_raw(device: &Device, handle: hipStream_t) -> Result<Self> {
        match handle.addr() {
            0 | LEGACY => Ok(device.default_stream().clone()),
            PER_THREAD => Err(Error::Unsupported {
                what: "`hipStreamPerThread`, which is another stream on each thread,".to_owned(),
                instead: "use `Device::thread_stream`".to_owned(),
            }),
            _ => Ok(Self::from_handle(device.clone(), handle, false, None)),
        }
    }

    /// Gives the stream away after waiting for its work: the caller destroys it, with `hipStreamDestroy`, unless it was wrapped by
    /// [`from_raw`](Self::from_raw) or is the default stream.
    ///
    /// # Errors
    /// The stream itself, if it has other handles: clones, completions and copies that are not done.
    pub fn into_raw(self) -> Result<hipStream_t, Self> {
        let handle = self.handle();
        let mut inner = Arc::try_unwrap(self.0).map_err(Self)?;
        inner.owned = None;
        // Waits, and tells those who remember the stream that it is over.
        drop(inner);
        Ok(handle)
    }
}
