//! Streams: queues of work that a device runs in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::{hipError_t, hipEvent_t, hipStream_t};

use crate::call::{call, check, dropped};
use crate::device::Device;
use crate::error::{Error, FaultReport, Result};
use crate::event::Event;

/// A queue of work on one device, run in the order in which it was enqueued.
///
/// A clone is another handle of the same stream. When the last handle is dropped, the work is waited for and the stream
/// is destroyed; work that must be awaited with its errors is awaited with [`synchronize`](Self::synchronize).
///
/// Streams made by [`Device::stream`] do not synchronise with the default stream by themselves
/// (`hipStreamNonBlocking`). Buffers do: using a buffer on another stream than before makes that stream wait for
/// the earlier uses, see [`DeviceBuffer`](crate::DeviceBuffer).
///
/// # Faults
/// A kernel that accesses memory it must not ends with [`Error::Fault`], reported by the next call that waits for
/// its stream. That stream accepts no more work; other streams and new ones do.
#[doc(alias = "hipStream_t")]
#[doc(alias = "cudaStream_t")]
#[derive(Clone, Debug)]
pub struct Stream(Arc<StreamInner>);

#[derive(Debug)]
pub(crate) struct StreamInner {
    device: Device,
    handle: hipStream_t,
    /// Unique in the process and never 0, so that it can stand for the stream in an atomic.
    id: u64,
    /// The default stream belongs to the library.
    owned: bool,
    /// Marks this stream's tail for another stream to wait for; recorded anew each time.
    tail: Mutex<Option<TailEvent>>,
    closed: Arc<Closed>,
}

#[derive(Debug)]
struct TailEvent(hipEvent_t);

/// How a stream ended, once it has. A `Weak` alone cannot tell: it is dead while `Drop` still waits.
#[derive(Debug, Default)]
struct Closed(Mutex<Option<Ended>>, Condvar);

/// All work of the stream is done.
#[derive(Debug, Default)]
struct Ended {
    /// The fault that ended it early.
    fault: Option<FaultReport>,
}

/// A stream that does not keep itself alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakStream {
    id: u64,
    stream: Weak<StreamInner>,
    closed: Arc<Closed>,
}

impl WeakStream {
    /// The stream, or nothing if it has been destroyed and its work is done; blocks while it is being destroyed.
    pub(crate) fn upgrade(&self) -> Option<Stream> {
        if let Some(stream) = self.stream.upgrade() {
            return Some(Stream(stream));
        }
        let mut closed = self.closed.lock();
        while closed.is_none() {
            closed = self.closed.1.wait(closed).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Whether the stream has been destroyed and all its work was done.
    pub(crate) fn is_gone(&self) -> bool {
        self.stream.strong_count() == 0
            && self.closed.lock().as_ref().is_some_and(|ended| ended.fault.is_none())
    }

    /// Whether the stream has been destroyed, with whatever result: nothing of it runs any more.
    pub(crate) fn is_over(&self) -> bool {
        self.stream.strong_count() == 0 && self.closed.lock().is_some()
    }

    /// Whether nothing of the stream runs any more, without waiting for it. Where that cannot be told, it does.
    pub(crate) fn is_idle(&self) -> bool {
        match self.stream.upgrade() {
            Some(stream) => Stream(stream).is_done().unwrap_or_else(|error| is_fault(&error)),
            None => self.is_over(),
        }
    }

    /// As [`Stream::id`].
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The fault of a stream that has been destroyed.
    pub(crate) fn last_fault(&self) -> Option<Error> {
        let closed = self.closed.lock();
        let fault = closed.as_ref()?.fault.clone()?;
        Some(Error::Fault(Box::new(fault)))
    }

    /// The fault of the stream, if one is known by now.
    pub(crate) fn check(&self) -> Result<()> {
        match self.upgrade() {
            Some(stream) => match stream.is_done() {
                Err(error) if is_fault(&error) => Err(error),
                _ => Ok(()),
            },
            None => self.last_fault().map_or(Ok(()), Err),
        }
    }

    /// Whether this is `stream`.
    pub(crate) fn is(&self, stream: &Stream) -> bool {
        std::ptr::eq(self.stream.as_ptr(), Arc::as_ptr(&stream.0))
    }
}

impl Closed {
    fn lock(&self) -> MutexGuard<'_, Option<Ended>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: HIP's stream and event handles may be used by any thread; the tail event is behind a mutex.
unsafe impl Send for StreamInner {}
// SAFETY: as above, HIP's functions on a stream may be called by several threads at once.
unsafe impl Sync for StreamInner {}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Stream {
    pub(crate) fn create(device: &Device) -> Result<Self> {
        device.make_current()?;
        let mut handle: hipStream_t = std::ptr::null_mut();
        // SAFETY: the handle is a place to write to, and the device is current on this thread.
        unsafe {
            call!(device.table(), hipStreamCreateWithFlags(&raw mut handle, hip_sys::hipStreamNonBlocking))?;
        }
        Ok(Self::from_handle(device.clone(), handle, true))
    }

    /// The null stream of the device.
    pub(crate) fn null(device: Device) -> Self {
        Self::from_handle(device, std::ptr::null_mut(), false)
    }

    fn from_handle(device: Device, handle: hipStream_t, owned: bool) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(StreamInner {
            device,
            handle,
            id,
            owned,
            tail: Mutex::default(),
            closed: Arc::default(),
        }))
    }

    /// The device that runs this stream's work.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Blocks until all work enqueued so far is done (`hipStreamSynchronize`).
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel of this stream ended abnormally, else [`Error::Hip`].
    #[doc(alias = "hipStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        self.check(unsafe { call!(self.table(), hipStreamSynchronize(self.handle())) })
    }

    /// Has kernels that begin on this stream from now on count what they do: instructions by class, active lanes, memory
    /// traffic, LDS bank conflicts, occupancy. They run much slower. [`Stream::take_counters`] gives what they count.
    ///
    /// Only virtual GPUs can do this.
    ///
    /// # Errors
    /// [`Error::Hip`] with `hipErrorNotSupported` on other devices; [`Error::Fault`] if the stream has faulted.
    pub fn set_counters(&self, on: bool) -> Result<()> {
        const OPERATION: &str = "stream_set_counters";
        let not_supported = Error::Hip { operation: OPERATION, code: hipError_t::hipErrorNotSupported };
        let set = self.table().ext.stream_set_counters.ok_or(not_supported)?;
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        match unsafe { set(self.handle(), on) } {
            hipError_t::hipSuccess => Ok(()),
            code => Err(self.0.explain(OPERATION, code)),
        }
    }

    /// What the kernels counted that have ended on this stream since the last call, the oldest first; of the last
    /// [`COUNTED_KERNELS`] at most.
    ///
    /// # Errors
    /// [`Error::Hip`] with `hipErrorUnknown` if the library's answer cannot be read.
    pub fn take_counters(&self) -> Result<Vec<vgpu::machine::Counters>> {
        let Some(take) = self.table().ext.stream_take_counters else { return Ok(Vec::new()) };
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let Some(text) = (unsafe { self.0.text(take) }) else { return Ok(Vec::new()) };
        vgpu::machine::Counters::read_all(&text).map_err(|error| {
            tracing::error!("counters cannot be read: {error}");
            Error::Hip { operation: "stream_take_counters", code: hipError_t::hipErrorUnknown }
        })
    }

    /// Whether all work enqueued so far is done, without waiting (`hipStreamQuery`).
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    #[doc(alias = "hipStreamQuery")]
    pub fn is_done(&self) -> Result<bool> {
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let status = unsafe { (self.table().hipStreamQuery)(self.handle()) };
        if status == hipError_t::hipErrorNotReady {
            return Ok(false);
        }
        self.check(check("hipStreamQuery", status)).map(|()| true)
    }

    /// Makes work enqueued from now on wait for `event`, on the device; the host goes on (`hipStreamWaitEvent`).
    ///
    /// An event that was never recorded is not waited for.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the event is another device's, [`Error::Fault`] if this stream has faulted, else
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamWaitEvent")]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.device().same(event.device(), "hipStreamWaitEvent", "event")?;
        self.make_current()?;
        // SAFETY: both handles are valid during the call, and HIP keeps what it needs of the event.
        self.check(unsafe { call!(self.table(), hipStreamWaitEvent(self.handle(), event.handle(), 0)) })
    }

    /// Makes an event at this point of the stream: it is done when all work enqueued so far is.
    ///
    /// # Errors
    /// As [`Event::record`].
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes work enqueued from now on wait for all work enqueued so far on `other`.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the streams are of two devices, [`Error::Fault`] if one of them has faulted.
    pub fn wait_stream(&self, other: &Self) -> Result<()> {
        self.device().same(other.device(), "hipStreamWaitEvent", "stream")?;
        if self.id() == other.id() {
            return Ok(());
        }
        self.wait_for(other)?.map_or(Ok(()), Err)
    }

    /// Orders this stream after the tail of `other`, on whatever device. If `other` is known to have faulted, it runs
    /// nothing any more and there is nothing to wait for: its error is the result.
    pub(crate) fn wait_for(&self, other: &Self) -> Result<Option<Error>> {
        let table = other.table();
        if !std::ptr::eq(table, self.table()) {
            // Streams of two runtimes know nothing of each other: the host waits.
            return other.finished();
        }
        // An event is recorded on streams of its own device, and may be waited for on any.
        other.make_current()?;
        let mut tail = other.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let event = match &*tail {
            Some(event) => event.0,
            None => {
                let mut event: hipEvent_t = std::ptr::null_mut();
                // SAFETY: the handle is a place to write to, and the device is current on this thread.
                unsafe {
                    call!(table, hipEventCreateWithFlags(&raw mut event, hip_sys::hipEventDisableTiming))?;
                }
                tail.insert(TailEvent(event)).0
            }
        };
        // SAFETY: both handles are valid, and the lock keeps the event from being recorded again before it is waited for.
        if let Err(error) = unsafe { call!(table, hipEventRecord(event, other.handle())) } {
            tracing::debug!(%error, "a stream to be waited for had failed");
            return other.finished();
        }
        self.make_current()?;
        // SAFETY: both handles are valid, and HIP keeps what it needs of the event's current recording.
        self.check(unsafe { call!(table, hipStreamWaitEvent(self.handle(), event, 0)) }).map(|()| None)
    }

    /// Blocks until the work is done; a fault is a result.
    fn finished(&self) -> Result<Option<Error>> {
        match self.synchronize() {
            Ok(()) => Ok(None),
            Err(error) if is_fault(&error) => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Turns an error into [`Error::Fault`] where it is one.
    pub(crate) fn check<T>(&self, result: Result<T>) -> Result<T> {
        self.0.check(result)
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this stream.
    pub fn as_raw(&self) -> hipStream_t {
        self.0.handle
    }

    pub(crate) fn handle(&self) -> hipStream_t {
        self.0.handle
    }

    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn table(&self) -> &'static hip_sys::Table {
        self.0.device.table()
    }

    /// Makes the stream's device current on this thread, cheaply where it already is.
    pub(crate) fn make_current(&self) -> Result<()> {
        self.0.device.make_current()
    }

    pub(crate) fn downgrade(&self) -> WeakStream {
        WeakStream { id: self.id(), stream: Arc::downgrade(&self.0), closed: self.0.closed.clone() }
    }
}

/// Handles of the same stream are equal.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Stream {}

/// Statuses that mean that a kernel ended abnormally.
const FAULTS: [hipError_t; 4] = [
    hipError_t::hipErrorIllegalAddress,
    hipError_t::hipErrorLaunchFailure,
    hipError_t::hipErrorLaunchTimeOut,
    hipError_t::hipErrorAssert,
];

/// Of how many kernels of a stream counters are kept ([`Stream::take_counters`]).
pub const COUNTED_KERNELS: usize = 1024;

/// How the extensions give a text about a stream.
type StreamText = unsafe extern "C" fn(hip_sys::hipStream_t, *mut std::ffi::c_char, usize) -> usize;

fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Fault(_))
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        let fault = self.destroy();
        *self.closed.lock() = Some(Ended { fault });
        self.closed.1.notify_all();
    }
}

impl StreamInner {
    /// Turns an error into [`Error::Fault`] where it is one, with the stream's report.
    fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error {
            Error::Hip { operation, code } => self.explain(operation, code),
            other => other,
        })
    }

    #[cold]
    fn explain(&self, operation: &'static str, code: hipError_t) -> Error {
        let fault = FAULTS.contains(&code);
        // A queue also fails this way; but so do calls that leave the stream as it was.
        let text =
            if fault || code == hipError_t::hipErrorLaunchOutOfResources { self.fault_text() } else { None };
        let text = text.or_else(|| fault.then(|| "the library says nothing more about it".to_owned()));
        match text {
            Some(text) => {
                let details = self.fault_details();
                Error::Fault(Box::new(FaultReport { operation, code, text, details }))
            }
            None => Error::Hip { operation, code },
        }
    }

    /// The report of the fault that ended this stream, if the implementation has one.
    fn fault_text(&self) -> Option<String> {
        // SAFETY: the handle is valid.
        let text = unsafe { self.text(self.device.table().ext.stream_fault_report?)? };
        Some(text.trim_end_matches(['\0', '\n']).to_owned())
    }

    /// The same as data.
    fn fault_details(&self) -> Option<Box<vgpu::machine::Fault>> {
        // SAFETY: the handle is valid.
        let text = unsafe { self.text(self.device.table().ext.stream_fault_json?)? };
        match vgpu::machine::Fault::from_json(&text) {
            Ok(fault) => Some(Box::new(fault)),
            Err(error) => {
                tracing::error!("the report of a fault cannot be read: {error}");
                None
            }
        }
    }

    /// A text about the stream; none if it is empty.
    ///
    /// # Safety
    /// The function copies a text about the stream to a buffer of the size given, cut to it and NUL-terminated, and returns the
    /// length that it has without the NUL.
    unsafe fn text(&self, read: StreamText) -> Option<String> {
        let mut text = vec![0_u8; 1024];
        loop {
            // SAFETY: the buffer is writable for the length given, the handle is valid, and the caller's promise.
            let length = unsafe { read(self.handle, text.as_mut_ptr().cast(), text.len()) };
            if length == 0 {
                return None;
            }
            // The text and its NUL must fit, else it was cut.
            if length < text.len() {
                text.truncate(length);
                return Some(String::from_utf8_lossy(&text).into_owned());
            }
            text.resize(length + 1, 0);
        }
    }

    /// Waits for the work, then releases the handles. The result is the fault that ended the work early.
    fn destroy(&mut self) -> Option<FaultReport> {
        let table = self.device.table();
        let current = self.device.make_current();
        if current.is_err() {
            dropped("stream", current);
            return None;
        }
        let mut fault = None;
        // Buffers rely on it that a stream that is gone has no more work.
        // SAFETY: the handle is valid until it is destroyed below.
        match self.check(unsafe { call!(table, hipStreamSynchronize(self.handle)) }) {
            Ok(()) => {}
            // It was or would have been reported to whoever waited; here it means that nothing runs any more.
            Err(Error::Fault(report)) => {
                tracing::warn!(%report, "a stream was dropped that had faulted");
                fault = Some(*report);
            }
            failed => dropped("stream", failed),
        }
        if let Some(event) = self.tail.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // SAFETY: the event was made by this stream and is destroyed once.
            dropped("event", unsafe { call!(table, hipEventDestroy(event.0)) });
        }
        if self.owned {
            // SAFETY: the stream was made by `create` and is destroyed once; nothing holds its handle any more.
            dropped("stream", unsafe { call!(table, hipStreamDestroy(self.handle)) });
        }
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn a_report_of_any_length_arrives_whole() {
        let device = fake::device(0);
        for length in [1, 1022, 1023, 1024, 1025, 5000] {
            let stream = device.stream().unwrap();
            fake::fault(&stream, &"x".repeat(length));
            let error = stream.synchronize().unwrap_err();
            assert_eq!(error.fault().unwrap().text().len(), length);
            assert_eq!(error.operation(), Some("hipStreamSynchronize"));
            assert_eq!(error.code(), Some(hipError_t::hipErrorLaunchFailure));
        }
    }

    #[test]
    fn a_fault_leaves_other_streams_alone() {
        let device = fake::device(0);
        let (bad, good) = (device.stream().unwrap(), device.stream().unwrap());
        fake::fault(&bad, "k");
        assert!(matches!(bad.is_done(), Err(Error::Fault(_))));
        assert!(good.is_done().unwrap());
        assert!(matches!(good.wait_stream(&bad), Err(Error::Fault(_))));
        good.synchronize().unwrap();
        device.stream().unwrap().synchronize().unwrap();
    }

    #[test]
    fn streams_and_events_of_two_devices_do_not_mix() {
        let (first, second) = (fake::device(0), fake::device(1));
        let stream = first.stream().unwrap();
        let event = Event::new(&second).unwrap();
        for result in
            [event.record(&stream), stream.wait_event(&event), stream.wait_stream(&second.stream().unwrap())]
        {
            assert!(matches!(result, Err(Error::OtherDevice { .. })), "{result:?}");
        }
    }

    #[test]
    fn the_default_stream_is_one_and_the_null_stream() {
        let device = fake::device(0);
        assert_eq!(device.default_stream(), fake::device(0).default_stream());
        assert!(device.default_stream().as_raw().is_null());
        assert_ne!(device.default_stream(), &device.stream().unwrap());
    }
}
