//! Streams: queues of work that a device runs in order.

mod fault;
mod host_function;
mod interop;
mod options;
mod point;
mod signal;
mod thread_stream;
#[cfg(test)]
mod unfinished;
mod wait;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hip_sys::{hipError_t, hipStream_t};

use crate::call::{call, dropped, is_ready, leaked};
use crate::device::Device;
use crate::error::{Error, FaultReport, HostLaunchError, Result};
use crate::event::Event;
use crate::graph::{Capture, GraphError};
use crate::live::{Counted, Kind};

pub use host_function::host_function_failures;
pub use options::{StreamOptions, StreamPriorities};

pub use fault::COUNTED_KERNELS;
pub(crate) use fault::{Queue, host_launch};
pub(crate) use host_function::{in_host_function, release, release_elsewhere, run as run_host_function};
use point::PointEvents;
pub(crate) use point::{Before, Point};
pub use signal::HostSignal;
pub(crate) use thread_stream::of_this_thread;
pub use wait::Awaited;

/// A queue of work on one device, run in the order in which it was enqueued.
///
/// A clone is another handle of the same stream. Dropping the last handle waits for the work and destroys the
/// stream. To get errors of the work, call [`synchronize`](Self::synchronize) first.
///
/// Streams made by [`Device::stream`] do not synchronise with the default stream (`hipStreamNonBlocking`).
/// Buffers order streams: when a buffer is used on a different stream than before, that stream waits for
/// conflicting earlier uses, see [`DeviceBuffer`](crate::DeviceBuffer).
///
/// # Faults
/// If a kernel makes an invalid memory access, the next call that waits for its stream returns
/// [`Error::Fault`]. That stream accepts no more work; other streams and new ones do.
#[doc(alias = "hipStream_t")]
#[doc(alias = "cudaStream_t")]
#[derive(Clone, Debug)]
pub struct Stream(Arc<StreamInner>);

#[derive(Debug)]
pub(crate) struct StreamInner {
    queue: Queue,
    /// Unique in the process and never 0, so that it can stand for the stream in an atomic.
    id: u64,
    /// `None` for the default stream, which belongs to the library.
    owned: Option<Counted>,
    points: Arc<PointEvents>,
    closed: Arc<Closed>,
    /// If set, submitted work becomes part of a graph.
    capture: Option<Arc<Capture>>,
    owed: Owed,
}

/// The failure of a launch by host code that an internal wait has consumed. The next caller that waits for
/// the stream gets it, too.
#[derive(Debug, Default)]
struct Owed {
    any: AtomicBool,
    error: Mutex<Option<Box<HostLaunchError>>>,
}

impl Owed {
    fn lock(&self) -> MutexGuard<'_, Option<Box<HostLaunchError>>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, error: Box<HostLaunchError>) {
        self.lock().get_or_insert(error);
        self.any.store(true, Ordering::Release);
    }

    /// Returns the error to a query, and keeps it.
    fn look(&self) -> Result<()> {
        let owed = if self.any.load(Ordering::Acquire) { self.lock().clone() } else { None };
        owed.map_or(Ok(()), |error| Err(Error::HostLaunch(error)))
    }

    /// Returns the error to a wait, and removes it.
    fn take(&self) -> Result<()> {
        let owed = if self.any.swap(false, Ordering::AcqRel) { self.lock().take() } else { None };
        owed.map_or(Ok(()), |error| Err(Error::HostLaunch(error)))
    }
}

/// How a stream ended, once it has. A `Weak` alone cannot tell, because it is dead while `Drop` still waits.
#[derive(Debug)]
struct Closed {
    ended: Mutex<Option<Ended>>,
    told: Condvar,
    /// The stream's [era](Stream::era), or its last one if it has ended.
    era: AtomicU64,
    /// All work from eras before this one is done.
    done_before: AtomicU64,
}

/// The end of a stream: all its work is done, unless waiting failed.
#[derive(Debug, Default)]
struct Ended {
    /// The fault that ended it early.
    fault: Option<FaultReport>,
    /// The error of a failed wait. The stream's work may still run, so it was not destroyed.
    unfinished: Option<hipError_t>,
}

/// A stream that does not keep itself alive.
#[derive(Clone, Debug)]
pub(crate) struct WeakStream {
    id: u64,
    stream: Weak<StreamInner>,
    closed: Arc<Closed>,
}

impl WeakStream {
    /// The stream, or `None` if it has been destroyed and its work is done. Blocks while it is being
    /// destroyed.
    pub(crate) fn upgrade(&self) -> Option<Stream> {
        if let Some(stream) = self.stream.upgrade() {
            return Some(Stream(stream));
        }
        let mut closed = self.closed.lock();
        while closed.is_none() {
            closed = self.closed.told.wait(closed).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Whether the stream has been destroyed after completing all its work.
    pub(crate) fn is_gone(&self) -> bool {
        let is_good = |ended: &Ended| ended.fault.is_none() && ended.unfinished.is_none();
        self.stream.strong_count() == 0 && self.closed.lock().as_ref().is_some_and(is_good)
    }

    /// Whether the stream has been destroyed, with any result: none of its work runs any more. If it failed,
    /// work that it waited for may still run.
    pub(crate) fn is_over(&self) -> bool {
        let is_over = |ended: &Ended| ended.unfinished.is_none();
        self.stream.strong_count() == 0 && self.closed.lock().as_ref().is_some_and(is_over)
    }

    /// Whether the stream itself runs nothing any more, without waiting. `false` if that is unknown.
    pub(crate) fn is_idle(&self) -> bool {
        match self.stream.upgrade() {
            Some(stream) => Stream(stream).is_done().unwrap_or_else(|error| error.tells_the_end()),
            None => self.is_over(),
        }
    }

    /// As [`Stream::id`].
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// As [`Stream::era`].
    pub(crate) fn era(&self) -> u64 {
        self.closed.era.load(Ordering::Acquire)
    }

    /// Whether the stream's work of an era is known to be done, whatever has happened to the stream since.
    pub(crate) fn has_done(&self, era: u64) -> bool {
        era < self.closed.done_before.load(Ordering::Acquire)
    }

    /// The fault of a stream that has been destroyed; an error if its work may still run.
    pub(crate) fn last_fault(&self) -> Result<Option<Error>> {
        let closed = self.closed.lock();
        let Some(Ended { fault, unfinished }) = &*closed else { return Ok(None) };
        match unfinished {
            Some(code) => Err(Error::Hip { operation: "hipStreamSynchronize", code: *code }),
            None => Ok(fault.clone().map(|fault| Error::Fault(Box::new(fault)))),
        }
    }

    /// As [`Stream::finish`], for a stream that may be gone. A launch error is kept, so that callers that
    /// wait for the stream itself get it, too.
    pub(crate) fn finish(&self) -> Result<Result<()>> {
        match self.upgrade() {
            Some(stream) => {
                let over = stream.finish()?;
                if let Err(Error::HostLaunch(error)) = &over {
                    stream.0.owed.set(error.clone());
                }
                Ok(over)
            }
            None => Ok(self.last_fault()?.map_or(Ok(()), Err)),
        }
    }

    /// If it is a launch error, keeps it for the next caller that waits for the stream.
    pub(crate) fn owe(&self, error: Error) {
        if let Error::HostLaunch(error) = error
            && let Some(stream) = self.upgrade()
        {
            stream.0.owed.set(error);
        }
    }

    /// The fault of the stream, or a failed launch on it, if one is known.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.upgrade() {
            Some(stream) => match stream.is_done() {
                Err(error) if error.tells_the_end() => Err(error),
                _ => Ok(()),
            },
            None => self.last_fault()?.map_or(Ok(()), Err),
        }
    }

    /// Whether this is `stream`.
    pub(crate) fn is(&self, stream: &Stream) -> bool {
        std::ptr::eq(self.stream.as_ptr(), Arc::as_ptr(&stream.0))
    }
}

impl Closed {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            ended: Mutex::default(),
            told: Condvar::new(),
            era: AtomicU64::new(next_number()),
            done_before: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A unique number for a stream or an era, never 0.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Stream {
    /// The null stream of the device.
    pub(crate) fn null(device: Device) -> Self {
        Self::from_handle(device, std::ptr::null_mut(), false, None)
    }

    /// Wraps a HIP stream. With a capture, it can only be used for that.
    fn from_handle(device: Device, handle: hipStream_t, owned: bool, capture: Option<Arc<Capture>>) -> Self {
        let id = next_number();
        let points = PointEvents::new(device.clone());
        Self(Arc::new(StreamInner {
            queue: Queue { device, handle },
            id,
            owned: owned.then(|| Counted::new(Kind::Stream)),
            points,
            closed: Closed::new(),
            capture,
            owed: Owed::default(),
        }))
    }

    /// The capture that it belongs to.
    #[inline]
    pub(crate) fn capture(&self) -> Option<&Arc<Capture>> {
        self.0.capture.as_ref()
    }

    /// The device that runs this stream's work.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.0.queue.device
    }

    /// The priority of its work; smaller numbers are more urgent (`hipStreamGetPriority`).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamGetPriority")]
    #[doc(alias = "cudaStreamGetPriority")]
    #[doc(alias = "cuStreamGetPriority")]
    pub fn priority(&self) -> Result<i32> {
        self.make_current()?;
        let mut priority = 0;
        // SAFETY: the handle is valid as long as `self` is, and the result is a place to write to.
        unsafe { call!(self.table(), hipStreamGetPriority(self.handle(), &raw mut priority))? };
        Ok(priority)
    }

    /// Whether its work and that of the default stream wait for each other (`hipStreamGetFlags`).
    ///
    /// # Errors
    /// [`Error::Hip`].
    #[doc(alias = "hipStreamGetFlags")]
    #[doc(alias = "cudaStreamGetFlags")]
    #[doc(alias = "cuStreamGetFlags")]
    pub fn is_blocking(&self) -> Result<bool> {
        self.make_current()?;
        let mut flags = 0;
        // SAFETY: the handle is valid as long as `self` is, and the result is a place to write to.
        unsafe { call!(self.table(), hipStreamGetFlags(self.handle(), &raw mut flags))? };
        Ok(flags & hip_sys::hipStreamNonBlocking == 0)
    }

    /// Blocks until all work enqueued so far is done (`hipStreamSynchronize`).
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel of this stream ended abnormally, [`Error::HostLaunch`] if a launch by
    /// compiled host code has failed, else [`Error::Hip`].
    #[doc(alias = "hipStreamSynchronize")]
    #[doc(alias = "cuStreamSynchronize")]
    #[doc(alias = "cudaStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.make_current()?;
        let era = self.begin_era();
        // SAFETY: the handle is valid as long as `self` is.
        self.check(unsafe { call!(self.table(), hipStreamSynchronize(self.handle())) })?;
        self.end_eras_before(era);
        self.0.owed.take()
    }

    /// Blocks until no work enqueued so far runs any more, and returns how it ended. The outer error means
    /// that something may still run.
    pub(crate) fn finish(&self) -> Result<Result<()>> {
        self.make_current()?;
        let era = self.begin_era();
        let over = self.0.queue.finish()?;
        if over.is_ok() {
            self.end_eras_before(era);
        }
        Ok(over.and_then(|()| self.0.owed.take()))
    }

    /// Blocks until no work enqueued so far uses memory that the caller has borrowed.
    ///
    /// The owner gets such memory back, so this must not return before the work is over. If a wait fails, it
    /// retries, because the cause may be temporary (another thread's capture), and in the end it aborts the
    /// process.
    pub(crate) fn finish_borrowed(&self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let begun = Instant::now();
        loop {
            match self.finish() {
                Ok(over) => return over,
                // Refused before reaching HIP, and so were the copies.
                Err(error @ (Error::HostFunction | Error::Graph(_))) => return Err(error),
                Err(error) if begun.elapsed() > PATIENCE => {
                    tracing::error!(%error, "a copy of borrowed memory cannot be waited for");
                    eprintln!("hip: a copy of borrowed memory cannot be waited for: {error}");
                    std::process::abort();
                }
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Whether all work enqueued so far is done, without waiting (`hipStreamQuery`).
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    #[doc(alias = "hipStreamQuery")]
    #[doc(alias = "cuStreamQuery")]
    #[doc(alias = "cudaStreamQuery")]
    pub fn is_done(&self) -> Result<bool> {
        self.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let queried = unsafe { call!(self.table(), hipStreamQuery(self.handle())) };
        let done = self.check(is_ready(queried))?;
        if done {
            self.0.owed.look()?;
        }
        Ok(done)
    }

    /// Makes work enqueued from now on wait for `event` on the device; does not block the host
    /// (`hipStreamWaitEvent`).
    ///
    /// An event that was never recorded does not delay the stream. The event may belong to another device of
    /// the same runtime.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the event belongs to another runtime, such as a virtual GPU's event for a
    /// real GPU's stream,
    /// [`Error::Fault`] if this stream has faulted, else [`Error::Hip`].
    #[doc(alias = "hipStreamWaitEvent")]
    #[doc(alias = "cudaStreamWaitEvent")]
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.device().same_runtime(event.device(), "hipStreamWaitEvent", "event")?;
        self.make_current()?;
        // SAFETY: both handles are valid during the call, and HIP keeps what it needs.
        self.check(unsafe { call!(self.table(), hipStreamWaitEvent(self.handle(), event.handle(), 0)) })
    }

    /// Records a new event at this point of the stream. It is done when all work enqueued so far is.
    ///
    /// # Errors
    /// As [`Event::record`].
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes work enqueued from now on wait for all work enqueued so far on `other`, which may belong to
    /// another device of the same runtime. If `other` fails, the wait ends when `other` runs nothing any
    /// more. Work that `other` was waiting for may then still run.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if the streams belong to different runtimes, [`Error::Fault`] if one of them
    /// has faulted.
    pub fn wait_stream(&self, other: &Self) -> Result<()> {
        self.device().same_runtime(other.device(), "hipStreamWaitEvent", "stream")?;
        if self.id() == other.id() {
            return Ok(());
        }
        match self.wait_for(other)? {
            Before::Over(Some(error)) => Err(error),
            Before::Over(None) | Before::Point(_) => Ok(()),
        }
    }

    /// Turns an error into [`Error::Fault`] if it is a fault.
    pub(crate) fn check<T>(&self, result: Result<T>) -> Result<T> {
        self.0.queue.check(result)
    }

    /// The raw handle, for calls that this crate does not wrap; valid as long as this stream.
    pub fn as_raw(&self) -> hipStream_t {
        self.0.queue.handle
    }

    #[inline]
    pub(crate) fn handle(&self) -> hipStream_t {
        self.0.queue.handle
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.0.queue
    }

    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    /// A number that grows with each wait for the stream; never 0, and unique in the process. When a wait
    /// ends without an error, all work from earlier eras is done, whatever happens to the stream later.
    #[inline]
    pub(crate) fn era(&self) -> u64 {
        self.0.closed.era.load(Ordering::Acquire)
    }

    /// Begins a wait: work submitted from now on belongs to a new era.
    fn begin_era(&self) -> u64 {
        let era = next_number();
        self.0.closed.era.fetch_max(era, Ordering::AcqRel);
        era
    }

    /// Ends the wait that began this era.
    fn end_eras_before(&self, era: u64) {
        self.0.closed.done_before.fetch_max(era, Ordering::AcqRel);
    }

    #[inline]
    pub(crate) fn table(&self) -> &'static hip_sys::Table {
        self.device().table()
    }

    /// Makes the stream's device current on this thread, cheaply if it already is. Refuses captured streams,
    /// because most operations wait for the stream, or use memory that a graph would not keep.
    pub(crate) fn make_current(&self) -> Result<()> {
        match self.capture() {
            None => self.device().make_current(),
            Some(_) => Err(GraphError::NotCapturable.into()),
        }
    }

    /// As [`make_current`](Self::make_current), for work that can be captured because its resources are
    /// registered.
    #[inline]
    pub(crate) fn make_current_or_capture(&self) -> Result<()> {
        if let Some(capture) = self.capture() {
            capture.check()?;
        }
        self.device().make_current()
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

impl Drop for StreamInner {
    fn drop(&mut self) {
        dropped("stream", self.owed.take());
        let ending =
            Ending { queue: self.queue.clone(), owned: self.owned.take(), closed: self.closed.clone() };
        let closed = self.closed.clone();
        if !release("stream", move || ending.run()) {
            let unfinished = Some(hipError_t::hipErrorUnknown);
            *closed.lock() = Some(Ended { fault: None, unfinished });
            closed.told.notify_all();
        }
    }
}

/// The clean-up after the last handle of a stream is dropped.
struct Ending {
    queue: Queue,
    owned: Option<Counted>,
    closed: Arc<Closed>,
}

impl Ending {
    /// Waits for the work, releases the handles, and publishes how it ended.
    fn run(self) {
        /// Notifies those that wait for the end, even if the program's `tracing` subscriber panics.
        struct Tell<'a>(&'a Closed);

        impl Drop for Tell<'_> {
            fn drop(&mut self) {
                let unfinished = Some(hipError_t::hipErrorUnknown);
                self.0.lock().get_or_insert(Ended { fault: None, unfinished });
                self.0.told.notify_all();
            }
        }

        let tell = Tell(&self.closed);
        let ended = self.destroy();
        *tell.0.lock() = Some(ended);
    }

    fn destroy(&self) -> Ended {
        let Queue { device, handle } = &self.queue;
        let table = device.table();
        // Buffers rely on the fact that a destroyed stream has no more work.
        let mut ended = Ended::default();
        match device.make_current().and_then(|()| self.queue.finish()) {
            Ok(Ok(())) => {}
            // Waits report this fault; here it means that nothing runs any more.
            Ok(Err(Error::Fault(report))) => {
                tracing::warn!(%report, "a faulted stream was dropped");
                ended.fault = Some(*report);
            }
            Ok(failed) => dropped("stream", failed),
            Err(error) => {
                leaked("stream", &error);
                ended.unfinished = Some(error.code().unwrap_or(hipError_t::hipErrorUnknown));
                return ended;
            }
        }
        if self.owned.is_some() {
            // SAFETY: the stream was made by `create` and is destroyed once; nothing holds its handle any
            // more.
            dropped("stream", unsafe { call!(table, hipStreamDestroy(*handle)) });
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use hip_sys::hipError_t;

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
    fn events_are_recorded_on_their_own_device_and_waited_for_on_any() {
        let (first, second) = (fake::device(0), fake::device(1));
        let (stream, other) = (first.stream().unwrap(), second.stream().unwrap());
        let event = Event::new(&second).unwrap();
        let result = event.record(&stream);
        assert!(matches!(result, Err(Error::OtherDevice { .. })), "{result:?}");
        event.record(&other).unwrap();
        stream.wait_event(&event).unwrap();
        stream.wait_stream(&other).unwrap();
        assert_eq!(fake::calls(&stream), ["wait", "wait"]);
        assert_eq!(fake::calls(&other), ["record", "record"]);
    }

    #[test]
    fn the_default_stream_is_one_and_the_null_stream() {
        let device = fake::device(0);
        assert_eq!(device.default_stream(), fake::device(0).default_stream());
        assert!(device.default_stream().as_raw().is_null());
        assert_ne!(device.default_stream(), &device.stream().unwrap());
    }
}
