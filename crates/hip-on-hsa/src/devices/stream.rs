//! Streams, which order work on a device, each on its own and with each other.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use hip_sys::{hipError_t, hipStream_t};

use crate::devices::attributes::Attributes;
use crate::devices::cu_mask::CuMask;
use crate::devices::device::{Device, current_device};
use crate::devices::turn::Submissions;
use crate::error::Result;
use crate::queue::marker::Marker;
use crate::queue::progress::UnderWay;
use crate::queue::progress::{Owner, Progress, Report};
use crate::queue::submitter::Submitter;
use crate::queue::worker::Worker;
use crate::registry::{Kind, Registry};
use crate::runtime::{Runtime, runtime};
use crate::unseen::OfStream;

/// `hipStreamLegacy` and `hipStreamPerThread`, which name streams but are not handles.
const LEGACY: usize = 1;
pub(crate) const PER_THREAD: usize = 2;

/// The priorities that `hipDeviceGetStreamPriorityRange` reports; a smaller number is more urgent.
pub(crate) const LEAST_PRIORITY: i32 = 1;
pub(crate) const GREATEST_PRIORITY: i32 = -1;

/// The kind of a stream, which decides how it is ordered and whether it recovers from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The device's default stream: ordered with all blocking streams.
    Null,
    /// The default stream of one thread: a blocking stream.
    PerThread,
    /// Created by the program.
    User,
    /// Runs a part of a graph concurrently with the stream of the launch.
    Lane,
}

/// All streams by their handles.
pub(crate) fn streams(_started: &Runtime) -> &'static Registry<Stream> {
    static STREAMS: Registry<Stream> = Registry::new(Kind::Stream);
    &STREAMS
}

/// Functions to call before a stream ends.
static ENDS: OnceLock<fn(&Stream)> = OnceLock::new();

/// From now on, `listener` is called for each stream that is about to end.
pub(crate) fn listen_to_ends(listener: fn(&Stream)) {
    let _ = ENDS.set(listener);
}

/// A stream of a device.
pub(crate) struct Stream {
    /// A number that is unique in the process.
    pub(crate) id: u64,
    pub(crate) attributes: Mutex<Attributes>,
    /// Failed launches without a result.
    pub(crate) unseen: OfStream,
    pub(crate) device: &'static Device,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) role: Role,
    this: Weak<Stream>,
    pub(crate) handle: OnceLock<usize>,
    /// The compute units for its kernels, if restricted.
    pub(crate) cu_mask: OnceLock<CuMask>,
    inner: Mutex<Inner>,
    /// The progress of the queue in `inner`. `inner` is locked while a thread waits for room in the queue,
    /// and failures must be recorded and seen meanwhile.
    current: Mutex<Option<Arc<Progress>>>,
    pub(super) submissions: Submissions,
}

#[derive(Default)]
struct Inner {
    /// Created with the first work.
    submitter: Option<Submitter>,
    worker: Option<Worker>,
    /// The last failure's text.
    report: Report,
    closed: bool,
    /// Work of other streams that a default stream's failed queue still had to wait for: the new queue must
    /// wait for it.
    unreached: Vec<Arc<Marker>>,
    /// Whether kernels count what they execute, on every queue of the stream.
    counts: bool,
}

impl Stream {
    pub(crate) fn new(device: &'static Device, flags: u32, priority: i32, role: Role) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let stream = Arc::new_cyclic(|this| Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            attributes: Mutex::default(),
            unseen: OfStream::default(),
            device,
            flags,
            priority,
            role,
            this: this.clone(),
            handle: OnceLock::new(),
            cu_mask: OnceLock::new(),
            inner: Mutex::default(),
            current: Mutex::default(),
            submissions: Submissions::default(),
        });
        device.add_stream(stream.clone());
        stream
    }

    /// The multiprocessors that the stream was made for.
    pub(crate) fn cu_mask(&self) -> Option<&CuMask> {
        self.cu_mask.get()
    }

    /// Whether the stream and the null stream wait for each other.
    pub(crate) fn is_blocking(&self) -> bool {
        self.flags & hip_sys::hipStreamNonBlocking == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held only briefly: a thread that holds it never waits.
    fn current(&self) -> MutexGuard<'_, Option<Arc<Progress>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submitter<'a>(&self, runtime: &'static Runtime, inner: &'a mut Inner) -> Result<&'a mut Submitter> {
        if inner.closed {
            return Err(hipError_t::hipErrorContextIsDestroyed);
        }
        if inner.submitter.is_none() {
            let mut submitter =
                Submitter::new(runtime, self.device, self.priority, self.this.clone() as Weak<dyn Owner>)?;
            if let Some(mask) = self.cu_mask() {
                submitter.set_cu_mask(&mask.compute_units(self.device))?;
            }
            for marker in &inner.unreached {
                submitter.wait_for(marker.clone())?;
            }
            inner.unreached.clear();
            if inner.counts {
                submitter.set_counters(true)?;
            }
            *self.current() = Some(submitter.progress.clone());
            inner.submitter = Some(submitter);
        }
        let submitter = inner.submitter.as_mut().ok_or(hipError_t::hipErrorUnknown)?;
        submitter.check()?;
        Ok(submitter)
    }

    /// The stream's queue. It is created with the first work, and first waits for what a failed queue still
    /// had to wait for.
    fn used_submitter<'a>(
        &self,
        runtime: &'static Runtime,
        inner: &'a mut Inner,
    ) -> Result<Option<&'a mut Submitter>> {
        inner.unreached.retain(|marker| !marker.is_done(runtime));
        if inner.submitter.is_none() && inner.unreached.is_empty() {
            return Ok(None);
        }
        self.submitter(runtime, inner).map(Some)
    }

    /// Writes to the stream's queue. Only for [`Order`](crate::devices::turn::Order), which knows what to
    /// wait for first.
    pub(super) fn with_submitter<T>(
        &self,
        runtime: &'static Runtime,
        work: impl FnOnce(&mut Submitter, &mut Option<Worker>) -> Result<T>,
    ) -> Result<T> {
        let mut inner = self.lock();
        self.submitter(runtime, &mut inner)?;
        let Inner { submitter: Some(submitter), worker, .. } = &mut *inner else {
            return Err(hipError_t::hipErrorUnknown);
        };
        work(submitter, worker)
    }

    /// A marker behind all work of the stream, or `None` if all has completed or the stream has failed.
    pub(crate) fn tail(&self, runtime: &'static Runtime) -> Result<Option<Arc<Marker>>> {
        let mut inner = self.lock();
        let failed = inner.submitter.as_ref().is_some_and(|submitter| submitter.check().is_err());
        if failed {
            return Ok(None);
        }
        match self.used_submitter(runtime, &mut inner)? {
            Some(submitter) if !submitter.is_idle() => match submitter.tail() {
                Ok(marker) if !marker.is_done(runtime) => Ok(Some(marker)),
                Ok(_) => Ok(None),
                // A stream that fails at this moment leaves nothing to wait for either.
                Err(_) if submitter.check().is_err() => Ok(None),
                Err(code) => Err(code),
            },
            _ => Ok(None),
        }
    }

    /// Waits for everything submitted so far. Returns a failure of the stream.
    pub(crate) fn synchronize(&self, runtime: &'static Runtime) -> Result {
        self.tell(runtime, self.wait_for_work(runtime))
    }

    /// Ends a synchronising call. If the stream has failed, waits for the work still in progress, and takes
    /// the failure.
    pub(super) fn tell(&self, runtime: &'static Runtime, waited: Result) -> Result {
        waited.map_err(|code| {
            self.end_failed(runtime);
            self.report_failure().unwrap_or(code)
        })
    }

    /// Waits for everything submitted so far, and, if the stream fails, for the work still in progress.
    fn wait(&self, runtime: &'static Runtime) -> Result {
        let waited = self.wait_for_work(runtime);
        if waited.is_err() {
            self.end_failed(runtime);
        }
        waited
    }

    /// Waits for the work of the stream's own queue.
    pub(super) fn wait_for_own_work(&self, runtime: &'static Runtime) -> Result {
        let (progress, fence) = {
            let mut inner = self.lock();
            let Some(submitter) = self.used_submitter(runtime, &mut inner)? else { return Ok(()) };
            (submitter.progress.clone(), submitter.fence()?)
        };
        progress.wait(runtime, fence)
    }

    /// If the stream has failed, waits until all its work has stopped.
    fn end_failed(&self, runtime: &'static Runtime) {
        if let Some(failed) = self.failed() {
            failed.end(runtime);
        }
    }

    /// The progress of the queue, if it has failed.
    fn failed(&self) -> Option<Arc<Progress>> {
        self.current().clone().filter(|progress| progress.fault().is_some())
    }

    /// Takes the failure for a synchronising call. A default stream gets a new queue, because it cannot be
    /// recreated; the new queue waits for what the failed one was to wait for.
    fn report_failure(&self) -> Option<hipError_t> {
        let mut inner = self.lock();
        let submitter = inner.submitter.as_ref()?;
        let code = submitter.progress.fault()?;
        let first = !submitter.progress.reported.swap(true, Ordering::AcqRel);
        if first {
            inner.report = submitter.progress.report();
        }
        if matches!(self.role, Role::Null | Role::PerThread) {
            let failed = inner.submitter.take();
            inner.unreached.extend(failed.iter().flat_map(Submitter::unreached));
            *self.current() = None;
            drop(inner);
            // Destroying the queue may wait for the error callback, which takes this lock.
            drop(failed);
        }
        Some(code)
    }

    /// Waits for everything; returns a failure only if no other call has returned it before.
    pub(crate) fn settle(&self, runtime: &'static Runtime) -> Result {
        if self.role == Role::Lane {
            // Its failures belong to the stream that the graph was launched on.
            self.drain(runtime);
            return Ok(());
        }
        if let Some(failed) = self.failed() {
            failed.end(runtime);
            if failed.reported.load(Ordering::Acquire) {
                return Ok(());
            }
            return self.report_failure().map_or(Ok(()), Err);
        }
        self.synchronize(runtime)
    }

    /// The streams whose failed launches a wait for this stream reports: the null stream also waits for
    /// others.
    fn visit_awaited(&self, mut visit: impl FnMut(&OfStream) -> Result) -> Result {
        visit(&self.unseen)?;
        match self.role {
            Role::Null => self.device.visit_blocking(|stream| visit(&stream.unseen)),
            Role::PerThread | Role::User | Role::Lane => Ok(()),
        }
    }

    /// For calls that have waited for the stream: the unreported failure of a launch without a result.
    pub(crate) fn report_launches(&self) -> Result {
        self.visit_awaited(OfStream::report)
    }

    /// As [`report_launches`](Self::report_launches), for calls that only query: the failure stays.
    pub(crate) fn look_at_launches(&self) -> Result {
        self.visit_awaited(|unseen| unseen.launches().look())
    }

    /// Waits for everything, and ignores failures.
    pub(crate) fn drain(&self, runtime: &'static Runtime) {
        let _ = self.wait(runtime);
    }

    /// The stream's failure.
    pub(crate) fn failure(&self) -> Option<hipError_t> {
        self.failed()?.fault()
    }

    /// Whether everything submitted so far has completed.
    pub(crate) fn query(&self, runtime: &'static Runtime) -> Result {
        match self.has_done_work(runtime) {
            Ok(true) => Ok(()),
            Err(code) if self.failed().is_none_or(|failed| failed.has_ended()) => Err(code),
            Ok(false) | Err(_) => {
                // A program that polls is waiting, too.
                runtime.look_after_streams();
                Err(hipError_t::hipErrorNotReady)
            }
        }
    }

    /// Whether the work of the stream's own queue has completed.
    pub(super) fn has_done_own_work(&self, runtime: &'static Runtime) -> Result<bool> {
        let mut inner = self.lock();
        let Some(submitter) = self.used_submitter(runtime, &mut inner)? else { return Ok(true) };
        if submitter.is_idle() {
            return Ok(true);
        }
        let fence = submitter.fence()?;
        submitter.progress.has_reached(fence)
    }

    /// Makes kernels that start from now on count what they execute, or stop counting.
    pub(crate) fn set_counters(&self, runtime: &'static Runtime, on: bool) -> Result {
        let mut inner = self.lock();
        self.submitter(runtime, &mut inner)?.set_counters(on)?;
        inner.counts = on;
        Ok(())
    }

    /// The kernels' counters since the last call, as a JSON array; see the extension `stream_take_counters`.
    ///
    /// # Safety
    /// The buffer is null or has as many bytes.
    pub(crate) unsafe fn take_counters(&self, buffer: *mut std::ffi::c_char, size: usize) -> usize {
        // SAFETY: the caller's promise.
        self.lock().submitter.as_ref().map_or(0, |submitter| unsafe { submitter.take_counters(buffer, size) })
    }

    /// The description of the last failure; empty if there was none.
    pub(crate) fn report(&self) -> Report {
        match self.failed() {
            Some(failed) => failed.report(),
            None => self.lock().report.clone(),
        }
    }

    /// The progress of the stream's queue.
    pub(crate) fn progress(&self, runtime: &'static Runtime) -> Result<Arc<Progress>> {
        Ok(self.submitter(runtime, &mut self.lock())?.progress.clone())
    }

    /// Ends the waits of other queues for the stream's queue.
    pub(crate) fn unbind(&self) {
        if let Some(submitter) = &self.lock().submitter {
            submitter.progress.unbind();
        }
    }

    /// Fails the stream from outside.
    pub(crate) fn fail(&self, code: hipError_t, report: &str) {
        let progress = self.current().clone();
        if let Some(progress) = progress {
            progress.fail_stream(code, report.to_owned());
        }
    }

    /// Fails the stream if it can never end, see [`Submitter::check_health`], and releases waiters of a
    /// stream that has failed.
    pub(crate) fn check_health(&self) {
        // A stream that is locked is checked the next time.
        let Ok(mut inner) = self.inner.try_lock() else { return };
        if let Some(submitter) = &mut inner.submitter {
            submitter.check_health();
            submitter.release_waiters();
        }
    }

    /// Waits for the stream's work and ends it.
    pub(crate) fn close(&self, runtime: &'static Runtime) {
        if let Some(tell) = ENDS.get() {
            tell(self);
        }
        let _ = self.wait(runtime);
        // Nothing waits for the stream any more, so unreported failures go to the log.
        let _ = self.unseen.report();
        let mut inner = self.lock();
        inner.closed = true;
        inner.unreached.clear();
        let submitter = inner.submitter.take();
        *self.current() = None;
        let worker = inner.worker.take();
        drop(inner);
        drop(submitter);
        drop(worker);
        self.device.remove_stream(self);
    }

    /// Ends a stream of the program, whose handle ends with it; default streams stay.
    pub(crate) fn end(&self, runtime: &'static Runtime) {
        if self.role == Role::User
            && let Some(stream) = self.handle.get().and_then(|&handle| streams(runtime).remove(handle))
        {
            stream.close(runtime);
        }
    }

    /// The handle by which callbacks name the stream.
    pub(crate) fn handle(&self) -> hipStream_t {
        let handle = match self.role {
            Role::Null | Role::Lane => 0,
            Role::PerThread => PER_THREAD,
            Role::User => self.handle.get().copied().unwrap_or(0),
        };
        handle as hipStream_t
    }
}

impl Owner for Stream {
    /// See [`Submitter::release_waiters`].
    fn release_waiters(&self, progress: &Arc<Progress>) -> Option<UnderWay> {
        let mut inner = self.lock();
        inner
            .submitter
            .as_mut()
            .filter(|submitter| Arc::ptr_eq(&submitter.progress, progress))?
            .release_waiters()
    }
}

thread_local! {
    static OWN_STREAMS: RefCell<OwnStreams> = const { RefCell::new(OwnStreams(Vec::new())) };
}

/// The default streams of one thread, one per device at most.
struct OwnStreams(Vec<Arc<Stream>>);

impl Drop for OwnStreams {
    fn drop(&mut self) {
        if let Some(runtime) = runtime() {
            for stream in self.0.drain(..) {
                stream.close(runtime);
            }
        }
    }
}

/// The stream of a program's handle; null is the current device's default stream.
pub(crate) fn resolve(runtime: &'static Runtime, handle: hipStream_t) -> Result<Arc<Stream>> {
    match handle as usize {
        0 | LEGACY => Ok(current_device(runtime)?.null_stream().clone()),
        PER_THREAD => {
            let device = current_device(runtime)?;
            OWN_STREAMS
                .try_with(|own| {
                    let mut own = own.borrow_mut();
                    match own.0.iter().find(|stream| std::ptr::eq(stream.device, device)) {
                        Some(stream) => stream.clone(),
                        None => {
                            let stream = Stream::new(device, hip_sys::hipStreamDefault, 0, Role::PerThread);
                            own.0.push(stream.clone());
                            stream
                        }
                    }
                })
                .map_err(|_| hipError_t::hipErrorContextIsDestroyed)
        }
        handle => streams(runtime).get(handle).ok_or(hipError_t::hipErrorContextIsDestroyed),
    }
}
