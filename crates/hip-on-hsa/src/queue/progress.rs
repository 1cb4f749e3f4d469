//! The progress of a queue, and what happens when it fails.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use hip_sys::hipError_t;
use hsa::raw::ProgressSignal;
use hsa_sys::*;

use crate::error;
use crate::error::Result;
use crate::error::{Codes, Hsa};
use crate::queue::marker::{Marker, Point, Signal};
use crate::runtime::{Runtime, runtime};

/// Work that a queue waits for but does not do itself. It continues when the queue has failed, and later work
/// ends only after it.
#[derive(Clone)]
pub(crate) enum Outside {
    /// The signal of one copy, which is 0 when it has ended and negative when it has failed.
    Copy(Arc<Signal>),
    /// A point that the host completes on behalf of this stream.
    Host(Arc<Marker>),
    /// A point of another stream.
    Foreign(Arc<Marker>),
}

impl Outside {
    pub(crate) fn signal(&self) -> hsa_signal_t {
        match self {
            Self::Copy(signal) => signal.raw(),
            Self::Host(marker) | Self::Foreign(marker) => marker.signal(),
        }
    }
}

/// Unfinished work of a failed queue.
pub(crate) enum UnderWay {
    /// The queue, or one that runs parts of the same work, has not stopped.
    Kernels(Arc<Progress>),
    Outside(Outside),
}

impl UnderWay {
    /// Its signal, less than 1 once it has ended.
    pub(crate) fn signal(&self) -> hsa_signal_t {
        match self {
            Self::Kernels(progress) => progress.signal(),
            Self::Outside(outside) => outside.signal(),
        }
    }

    /// Its position in a queue, if it is a point of one.
    pub(crate) fn point(&self) -> Option<Point> {
        match self {
            Self::Outside(Outside::Foreign(marker)) => marker.point(),
            _ => None,
        }
    }
}

/// The submitter of a queue, which is called when the queue has failed.
pub(crate) trait Owner: Send + Sync {
    /// Ends the waits of the failed queue, if it still belongs to the owner, up to the returned work.
    fn release_waiters(&self, progress: &Arc<Progress>) -> Option<UnderWay>;
}

/// The description of a failure.
#[derive(Clone, Default, Debug)]
pub(crate) struct Report {
    /// Human-readable text.
    pub(crate) text: String,
    /// The fault as data, in JSON; empty if there is none.
    pub(crate) json: String,
}

impl From<String> for Report {
    fn from(text: String) -> Report {
        Report { text, json: String::new() }
    }
}

/// The progress of a queue and its failure; shared with HSA's error callback and with waiting threads.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The queue's number, unique in the process.
    pub(crate) submitter: u64,
    hsa: Hsa,
    signal: ProgressSignal<Codes>,
    fault: AtomicU32,
    /// Nothing runs on the queue any more or ever will.
    stopped: AtomicBool,
    /// A synchronising call has returned the fault.
    pub(crate) reported: AtomicBool,
    report: Mutex<Report>,
    /// The last part of device code's output to standard error.
    error_output: Mutex<String>,
    /// An assertion of device code has failed, and its trap follows.
    has_failed_assertion: AtomicBool,
    owner: Weak<dyn Owner>,
    /// The queue; 0 once it is destroyed.
    queue: Mutex<usize>,
    /// Queues that run parts of the same work: they fail together.
    bound: Mutex<Vec<Weak<Progress>>>,
}

/// How many bytes of error output to keep.
const ERROR_OUTPUT: usize = 1024;

/// What `__assert_fail` of HIP's headers prints before it traps. Nothing else tells its trap from another.
const FAILED_ASSERTION: &str = "Device-side assertion `";

impl Progress {
    pub(crate) fn new(hsa: Hsa, owner: Weak<dyn Owner>) -> Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Arc::new(Self {
            submitter: NEXT.fetch_add(1, Ordering::Relaxed),
            hsa,
            signal: ProgressSignal::new(hsa)?,
            fault: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
            reported: AtomicBool::new(false),
            report: Mutex::default(),
            error_output: Mutex::default(),
            has_failed_assertion: AtomicBool::new(false),
            owner,
            queue: Mutex::new(0),
            bound: Mutex::default(),
        }))
    }

    #[inline]
    pub(crate) fn signal(&self) -> hsa_signal_t {
        self.signal.raw()
    }

    /// The value that the signal is less than once a fence has completed.
    pub(crate) fn value_after(fence: u64) -> i64 {
        ProgressSignal::<Codes>::value_after(fence)
    }

    /// Sets the queue of this progress; null means that it is about to be destroyed.
    pub(crate) fn set_queue(&self, queue: *mut hsa_queue_t) {
        *self.queue() = queue as usize;
    }

    fn queue(&self) -> MutexGuard<'_, usize> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bound(&self) -> MutexGuard<'_, Vec<Weak<Self>>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets two queues fail together.
    pub(crate) fn bind(self: &Arc<Self>, other: &Arc<Self>) {
        for (one, two) in [(self, other), (other, self)] {
            let mut bound = one.bound();
            bound.retain(|known| known.strong_count() != 0);
            if !bound.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(two))) {
                bound.push(Arc::downgrade(two));
            }
        }
        // A failure at this moment may have missed the other queue.
        for (one, two) in [(self, other), (other, self)] {
            if let Some(code) = one.fault() {
                two.fail(code, one.report());
            }
        }
    }

    /// Undoes [`bind`](Self::bind) for all other queues.
    pub(crate) fn unbind(&self) {
        let others = std::mem::take(&mut *self.bound());
        for other in others.iter().filter_map(Weak::upgrade) {
            other.bound().retain(|known| !std::ptr::eq(known.as_ptr(), self));
        }
    }

    /// All queues that fail together with this one, which is the first.
    fn family(self: &Arc<Self>) -> Vec<Arc<Self>> {
        let mut family = vec![self.clone()];
        let mut seen = 0;
        while let Some(member) = family.get(seen) {
            let others: Vec<_> = member.bound().iter().filter_map(Weak::upgrade).collect();
            for other in others {
                if !family.iter().any(|member| Arc::ptr_eq(member, &other)) {
                    family.push(other);
                }
            }
            seen += 1;
        }
        family
    }

    /// Whether a point belongs to a queue that fails together with this one.
    pub(crate) fn shares_work_with(self: &Arc<Self>, point: Option<Point>) -> bool {
        point.is_some_and(|point| self.family().iter().any(|member| member.submitter == point.submitter))
    }

    /// The failure, if the queue has failed.
    pub(crate) fn fault(&self) -> Option<hipError_t> {
        match self.fault.load(Ordering::Acquire) {
            0 => None,
            code => Some(hipError_t(code)),
        }
    }

    /// The HSA implementation's report on the failure.
    pub(crate) fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records device code's output to standard error: a failed assertion prints its message before it traps.
    pub(crate) fn note_error_output(&self, text: &str) {
        if text.contains(FAILED_ASSERTION) {
            self.has_failed_assertion.store(true, Ordering::Release);
        }
        let mut all = self.error_output.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_str(text);
        let mut cut = all.len().saturating_sub(ERROR_OUTPUT);
        while !all.is_char_boundary(cut) {
            cut += 1;
        }
        all.drain(..cut);
    }

    /// A report, followed by the device code's error output.
    fn with_error_output(&self, mut report: String) -> String {
        let said = self.error_output.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.is_empty() {
            report.push_str("\ndevice code printed to standard error:\n");
            report.push_str(said.trim_end());
        }
        report
    }

    /// Fences that have completed.
    pub(crate) fn completed(&self) -> u64 {
        self.signal.completed()
    }

    /// Waits for a fence, or for the queue's failure.
    pub(crate) fn wait(&self, runtime: &Runtime, fence: u64) -> Result {
        runtime.wait_less(self.signal(), Self::value_after(fence));
        self.fault().map_or(Ok(()), Err)
    }

    /// Whether a fence has completed.
    pub(crate) fn has_reached(&self, fence: u64) -> Result<bool> {
        match self.fault() {
            Some(code) => Err(code),
            None => Ok(self.completed() >= fence),
        }
    }

    /// Records the first failure: the queue takes no more packets. Returns whether this was the first.
    fn note(&self, code: hipError_t, report: Report) -> bool {
        let mut kept = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.fault.compare_exchange(0, code.0, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if first {
            *kept = report;
        }
        first
    }

    /// Stops the failed queue: pending work does not run, and running work is aborted. After that, waits for
    /// progress end.
    fn stop(&self) {
        let queue = self.queue();
        // A queue that is about to be destroyed stops when it is destroyed.
        if *queue != 0 {
            self.hsa.inactivate(*queue as *mut hsa_queue_t);
        } else if !self.stopped.load(Ordering::Acquire) {
            return;
        }
        drop(queue);
        self.has_stopped();
    }

    /// Records that nothing runs on the queue any more: it is inactive or destroyed.
    pub(crate) fn has_stopped(&self) {
        // A failure at this moment is seen here, or sees this.
        let _queue = self.queue();
        self.stopped.store(true, Ordering::Release);
        if self.fault().is_some() {
            self.signal.fail();
        }
    }

    /// A failed queue that may still run a part of the same work, this one or another.
    pub(crate) fn still_running(self: &Arc<Self>) -> Option<Arc<Self>> {
        let runs = |member: &Arc<Self>| member.fault().is_some() && !member.stopped.load(Ordering::Acquire);
        self.family().into_iter().find(runs)
    }

    /// Fails the queue and those that fail together with it. All are stopped before any of their waits end,
    /// and before any waiter is notified.
    pub(crate) fn fail(self: &Arc<Self>, code: hipError_t, report: Report) {
        if !self.note(code, report.clone()) {
            return;
        }
        let mut failed = self.family();
        failed.retain(|member| Arc::ptr_eq(member, self) || member.note(code, report.clone()));
        failed.iter().for_each(|member| member.stop());
    }

    /// Fails the queue from outside of its stream: everything in flight ends with the error.
    pub(crate) fn fail_stream(self: &Arc<Self>, code: hipError_t, report: impl Into<Report>) {
        let report = report.into();
        tracing::error!(?code, report = report.text, "a stream has failed");
        self.fail(code, report);
        if !self.has_ended() {
            self.end_soon();
        }
    }

    /// As [`end`](Self::end), on another thread, because work in progress may depend on this thread.
    pub(crate) fn end_soon(self: &Arc<Self>) {
        let progress = self.clone();
        let end = move || {
            if let Some(runtime) = runtime() {
                progress.end(runtime);
            }
        };
        // Without the thread, waiting threads check from time to time.
        let _ = start_thread(end);
    }

    /// Ends all waits for work that the failed queue, and those that fail together with it, will not do.
    /// Returns work that is still in progress with more waits behind it.
    fn under_way(self: &Arc<Self>) -> Vec<UnderWay> {
        let family = self.family();
        family.iter().filter_map(|member| member.owner.upgrade()?.release_waiters(member)).collect()
    }

    /// Whether all work of the failed queue, and of those that fail together with it, has stopped.
    pub(crate) fn has_ended(self: &Arc<Self>) -> bool {
        self.under_way().is_empty()
    }

    /// Waits until all work of the failed queue, and of those that fail together with it, has stopped: until
    /// then it uses memory and calls the program.
    pub(crate) fn end(self: &Arc<Self>, runtime: &Runtime) {
        loop {
            let under_way = self.under_way();
            if under_way.is_empty() {
                return;
            }
            match under_way.iter().find(|next| !self.shares_work_with(next.point())) {
                Some(next) => runtime.wait_less(next.signal(), 1),
                // Points of these queues themselves are resolved by checking again.
                None => std::thread::yield_now(),
            }
        }
    }
}

/// Starts a thread that handles a failure. The system may refuse one.
fn start_thread(run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    #[cfg(test)]
    if crate::tests::REFUSE_THREADS.load(Ordering::Acquire) {
        return Err(std::io::ErrorKind::WouldBlock.into());
    }
    std::thread::Builder::new().name("hip-failure".into()).spawn(run)
}

/// HSA's report that a queue has ended with an error.
pub(crate) unsafe extern "C" fn on_queue_error(
    status: hsa_status_t,
    queue: *mut hsa_queue_t,
    data: *mut c_void,
) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `data` is the reference that `Submitter::new` gave away, which lives until the queue is
        // destroyed; this adds one for the duration of the call.
        let progress = unsafe {
            Arc::increment_strong_count(data.cast::<Progress>());
            Arc::from_raw(data.cast_const().cast::<Progress>())
        };
        let report =
            progress.hsa.fault_report(queue).unwrap_or_else(|| format!("the queue failed: {status:?}"));
        let json = progress.hsa.fault_json(queue).unwrap_or_default();
        let report = Report { text: progress.with_error_output(report), json };
        let mut code = error::from_queue_fault(status);
        if code == hipError_t::hipErrorLaunchFailure && progress.has_failed_assertion.load(Ordering::Acquire)
        {
            code = hipError_t::hipErrorAssert;
        }
        progress.fail_stream(code, report);
    }));
}
