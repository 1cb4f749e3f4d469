//! Devices: GPUs with their streams, and each thread's current one.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use hip_sys::hipError_t;

use crate::devices;
use crate::devices::stream::{Role, Stream};
use crate::error::Result;
use crate::gpu::Gpu;
use crate::release;
use crate::runtime::{Runtime, active};

/// `hipRuntimeGetVersion` and `hipDriverGetVersion`: HIP 7.2.4, whose behaviour this follows.
pub(crate) const VERSION: i32 = 7 * 10_000_000 + 2 * 100_000 + 53_211;

/// A GPU with its streams. Devices are never removed.
pub(crate) struct Device {
    gpu: Gpu,
    /// The flags set with `hipSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    /// Devices whose memory this one has been given access to.
    pub(crate) peers: Mutex<Vec<i32>>,
    null: OnceLock<Arc<Stream>>,
    streams: RwLock<Vec<Arc<Stream>>>,
    /// How many of `streams` are synchronised with the null stream.
    blocking: AtomicUsize,
}

impl Deref for Device {
    type Target = Gpu;

    #[inline]
    fn deref(&self) -> &Gpu {
        &self.gpu
    }
}

impl Device {
    /// A device without streams.
    pub(crate) fn new(gpu: Gpu) -> Self {
        Self {
            gpu,
            flags: AtomicU32::new(hip_sys::hipDeviceScheduleAuto),
            peers: Mutex::default(),
            null: OnceLock::new(),
            streams: RwLock::default(),
            blocking: AtomicUsize::new(0),
        }
    }

    /// The default stream.
    pub(crate) fn null_stream(&'static self) -> &'static Arc<Stream> {
        self.null.get_or_init(|| Stream::new(self, hip_sys::hipStreamDefault, 0, Role::Null))
    }

    /// The default stream, if it has ever been used.
    #[inline]
    pub(crate) fn null_stream_if_used(&self) -> Option<&Arc<Stream>> {
        self.null.get()
    }

    fn is_ordered_with_null(stream: &Stream) -> bool {
        stream.role != Role::Null && stream.is_blocking()
    }

    pub(crate) fn add_stream(&self, stream: Arc<Stream>) {
        if Self::is_ordered_with_null(&stream) {
            self.blocking.fetch_add(1, Ordering::AcqRel);
        }
        self.streams.write().unwrap_or_else(PoisonError::into_inner).push(stream);
    }

    pub(crate) fn remove_stream(&self, stream: &Stream) {
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = streams.iter().position(|other| std::ptr::eq(&**other, stream)) else { return };
        let removed = streams.swap_remove(index);
        drop(streams);
        if Self::is_ordered_with_null(&removed) {
            self.blocking.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// All streams, the default ones included.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls `visit` for each stream that the null stream waits for, until it fails.
    pub(crate) fn visit_blocking(&self, mut visit: impl FnMut(&Arc<Stream>) -> Result) -> Result {
        if self.blocking.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        // `visit` may check all streams, so the lock must not be held.
        let streams = self.streams();
        streams.iter().filter(|stream| Self::is_ordered_with_null(stream)).try_for_each(&mut visit)
    }

    /// Waits for all streams. Each failure is returned once, including those of launches without a result.
    pub(crate) fn synchronize(&self, runtime: &'static Runtime) -> Result {
        let mut result = Ok(());
        for stream in self.streams() {
            result = result.and(stream.settle(runtime));
        }
        result?;
        self.streams().iter().try_for_each(|stream| stream.unseen.report())
    }

    /// Waits until no stream uses the device any more, whether or not the work has failed.
    pub(crate) fn quiesce(&self, runtime: &'static Runtime) {
        for stream in self.streams() {
            stream.drain(runtime);
        }
    }

    /// As [`quiesce`](Self::quiesce), before something is released, unless the thread has promised that
    /// nothing uses it.
    pub(crate) fn quiesce_for_release(&self, runtime: &'static Runtime) {
        if release::waits() {
            self.quiesce(runtime);
        }
    }

    pub(crate) fn fail_streams(&self, code: hipError_t, report: &str) {
        for stream in self.streams() {
            stream.fail(code, report);
        }
    }

    pub(crate) fn check_health(&self) {
        for stream in self.streams() {
            stream.check_health();
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<&'static Device>> = const { Cell::new(None) };
    /// Whether the program has chosen it.
    static CHOSEN: Cell<bool> = const { Cell::new(false) };
}

/// The thread's current device: the one it set, else the first.
#[inline]
pub(crate) fn current_device(runtime: &'static Runtime) -> Result<&'static Device> {
    if let Some(device) = CURRENT.get() {
        return Ok(device);
    }
    if devices::count(runtime) == 0 {
        devices::refresh(runtime)?;
    }
    let device = devices::get(runtime, 0).map_err(|_| hipError_t::hipErrorNoDevice)?;
    CURRENT.set(Some(device));
    Ok(device)
}

/// Makes a device the thread's current one.
pub(crate) fn set_current(device: &'static Device) {
    CHOSEN.set(true);
    CURRENT.set(Some(device));
}

/// Makes a device the current one of a thread that has not chosen any.
pub(crate) fn suggest_current(device: &'static Device) {
    if !CHOSEN.get() {
        CURRENT.set(Some(device));
    }
}

/// The device with an ordinal; finds agents that have appeared in the meantime.
pub(crate) fn device(ordinal: i32) -> Result<&'static Device> {
    let runtime = active()?;
    match devices::get(runtime, ordinal) {
        Ok(device) => Ok(device),
        Err(code) if ordinal < 0 => Err(code),
        Err(_) => {
            devices::refresh(runtime)?;
            if devices::count(runtime) == 0 {
                return Err(hipError_t::hipErrorNoDevice);
            }
            devices::get(runtime, ordinal)
        }
    }
}

/// The device with an ordinal, for other entry points.
pub(crate) fn by_ordinal(ordinal: i32) -> Result<&'static Device> {
    device(ordinal)
}
