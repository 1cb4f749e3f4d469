//! A number that the host raises and streams wait for.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::hipDeviceAttribute_t;

use super::Stream;
use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::{Counted, Kind};
use crate::memory::{Allocation, DeviceAddress};

/// A number that the host raises and that streams wait for without blocking others (`hipMallocSignalMemory`,
/// `hipStreamWaitValue64`). Use it for work that depends on something outside HIP, such as a Vulkan queue.
///
/// A blocking [host function](Stream::host_function) is not a substitute, because libraries run those of all
/// streams on one thread. A clone is another handle of the same number. When the last handle is dropped,
/// streams stop waiting for it.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// # fn wait_for_vulkan() {}
/// let signal = hip::HostSignal::new(&device)?;
/// stream.wait_signal(&signal, 1)?;
/// // … enqueue work that depends on Vulkan's …
/// std::thread::spawn(move || {
///     wait_for_vulkan();
///     signal.raise(1);
/// });
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipMallocSignalMemory")]
#[derive(Clone)]
pub struct HostSignal(Arc<Inner>);

struct Inner {
    /// The streams that wait for the number are registered here.
    allocation: Arc<Allocation>,
}

/// The number's memory; dropping this frees it.
struct Word {
    device: Device,
    address: DeviceAddress,
    _counted: Counted,
}

impl Drop for Word {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated for this, and its allocation has waited for the streams that use
        // it.
        let freed =
            unsafe { self.device.release(|| call!(self.device.table(), hipFree(self.address.pointer()))) };
        dropped("host signal", freed);
    }
}

impl Inner {
    fn word(&self) -> &AtomicU64 {
        let pointer = self.allocation.address().pointer().cast::<u64>();
        // SAFETY: the memory has 8 aligned bytes, which the host can access as long as this lives, and all
        // accesses are atomic.
        unsafe { AtomicU64::from_ptr(pointer) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nothing could raise it any more.
        self.word().store(LARGEST, Ordering::Release);
    }
}

/// The largest value. NVIDIA's GPUs compare differences, so that a number beyond would be smaller than all before it.
const LARGEST: u64 = i64::MAX as u64;

impl HostSignal {
    /// Makes a signal with the number 0.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if streams of the device cannot wait for memory, else [`Error::Hip`].
    pub fn new(device: &Device) -> Result<Self> {
        if device.attribute(hipDeviceAttribute_t::hipDeviceAttributeCanUseStreamWaitValue)? == 0 {
            return Err(Error::Unsupported {
                what: format!("waiting for memory on {device}"),
                instead: "wait on the host before enqueuing work that depends on it".to_owned(),
            });
        }
        const BYTES: usize = size_of::<u64>();
        let mut pointer: *mut c_void = std::ptr::null_mut();
        device.make_current()?;
        // SAFETY: the result is a place to write to.
        unsafe {
            let flags = hip_sys::hipMallocSignalMemory;
            call!(device.table(), hipExtMallocWithFlags(&raw mut pointer, BYTES, flags))?;
        }
        let address = DeviceAddress(pointer.expose_provenance() as u64);
        let word = Word { device: device.clone(), address, _counted: Counted::new(Kind::HostAllocation) };
        let inner = Inner { allocation: Allocation::foreign(device, address, BYTES, word) };
        inner.word().store(0, Ordering::Release);
        Ok(Self(Arc::new(inner)))
    }

    /// The present number.
    pub fn value(&self) -> u64 {
        self.0.word().load(Ordering::Acquire)
    }

    /// Raises the number; does nothing if it is already higher. Work that waited for it sees everything that
    /// the thread has written before.
    pub fn raise(&self, value: u64) {
        self.0.word().fetch_max(value, Ordering::AcqRel);
    }
}

impl fmt::Debug for HostSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSignal").field("value", &self.value()).finish()
    }
}

impl Stream {
    /// Makes work enqueued from now on wait until the host has [raised](HostSignal::raise) the number to
    /// `value`; does not block the host (`hipStreamWaitValue64`). Waiting for the stream includes this wait.
    ///
    /// # Errors
    /// [`Error::OtherRuntime`] if the signal belongs to another library's device, [`Error::Graph`] if the
    /// stream is captured,
    /// [`Error::Fault`] if it has faulted, else [`Error::Hip`].
    #[doc(alias = "hipStreamWaitValue64")]
    #[doc(alias = "cuStreamWaitValue64")]
    pub fn wait_signal(&self, signal: &HostSignal, value: u64) -> Result<()> {
        let allocation = &signal.0.allocation;
        self.device().same_runtime(allocation.device(), "hipStreamWaitValue64", "signal")?;
        self.make_current()?;
        allocation.read_on(self)?;
        let (place, flags) = (allocation.address().pointer(), hip_sys::hipStreamWaitValueGte);
        // SAFETY: the stream is valid, and the memory exists until the streams that use it are done.
        let waits = unsafe {
            call!(self.table(), hipStreamWaitValue64(self.handle(), place, value, flags, u64::MAX))
        };
        self.check(waits)
    }
}
