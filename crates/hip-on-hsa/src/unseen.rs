//! Failed launches whose error code the program has not seen.
//!
//! `kernel<<<grid, block>>>(…)` has no result: the compiler's host stub discards the result of
//! `hipLaunchKernel`. As for every call, `hipGetLastError` returns it. For programs that do not call that, it
//! is also an error of the stream, until it has been reported:
//!
//! | call | |
//! |---|---|
//! | `hipGetLastError`, `hipExtGetLastError`, `hipPeekAtLastError` on the thread of the launch, if they return a failure | the thread has seen it; its launches are no longer errors of streams |
//! | `hipStreamSynchronize`, `hipDeviceSynchronize`, `hipEventSynchronize` of an event behind the launch, synchronous copies and fills, copies to pageable memory, `hipStreamEndCapture` | return the first failure, once; the null stream also returns those of streams that it waits for |
//! | `hipStreamQuery`, `hipEventQuery`, callbacks | return it once everything is done, and keep it |
//! | `hipStreamDestroy` | the text goes to the log |
//!
//! An empty grid does not count, because no work is missing.
//!
//! The stream continues: unlike with a fault, no earlier or later work is lost. Calls that return their code
//! to the program (`hipModuleLaunchKernel`, `hipLaunchCooperativeKernel`, `hipLaunchKernel` itself) count as
//! reported.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hip_sys::hipError_t;

use crate::error::Result;

/// How many failures a stream keeps. The first is the most useful one; failures of further threads are not
/// reported by the stream.
const KEPT: usize = 64;

thread_local! {
    /// Unreported failed launches of this thread.
    static OWN: RefCell<Vec<Weak<Unseen>>> = const { RefCell::new(Vec::new()) };
    /// The text of the failure that a call on this thread returned last.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
    static LAST: Cell<Last> = const { Cell::new(Last::Other) };
}

/// The thread's last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// It returned the failure of a launch, whose text is kept.
    Told,
    /// The first of the two calls of a host stub. The stub discards the result of the second one,
    /// `hipLaunchKernel`.
    InStub,
    Other,
}

/// A launch that has failed.
#[derive(Debug)]
pub(crate) struct Unseen {
    code: hipError_t,
    text: String,
    /// It has been reported.
    seen: AtomicBool,
}

impl Unseen {
    fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Acquire)
    }

    /// Reports it to the calling thread, which will return it.
    fn tell(&self) -> hipError_t {
        let _ = TEXT.try_with(|text| text.borrow_mut().clone_from(&self.text));
        LAST.set(Last::Told);
        self.code
    }
}

/// Failed launches of a stream, or before an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launches(Vec<Arc<Unseen>>);

impl Launches {
    /// The first unreported one.
    fn first(&self) -> Option<&Unseen> {
        self.0.iter().map(Arc::as_ref).find(|launch| !launch.is_seen())
    }

    /// The failure of the first unreported one, which stays unreported.
    pub(crate) fn look(&self) -> Result {
        self.first().map_or(Ok(()), |launch| Err(launch.tell()))
    }

    /// The failure of the first unreported one, for another thread.
    pub(crate) fn code(&self) -> Option<hipError_t> {
        self.first().map(|launch| launch.code)
    }

    /// The failure of the first unreported one. Marks all of them as reported.
    pub(crate) fn report(&self) -> Result {
        let mut result = Ok(());
        for launch in &self.0 {
            if !launch.seen.swap(true, Ordering::AcqRel) {
                tracing::error!(code = ?launch.code, report = launch.text, "a launch without a result has failed");
                result = result.and_then(|()| Err(launch.tell()));
            }
        }
        result
    }
}

/// The failed launches of a stream.
#[derive(Debug, Default)]
pub(crate) struct OfStream {
    /// Whether there may be any.
    any: AtomicBool,
    launches: Mutex<Launches>,
}

impl OfStream {
    fn lock(&self) -> MutexGuard<'_, Launches> {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch on the stream by this thread has failed.
    pub(crate) fn note(&self, code: hipError_t, text: String) {
        tracing::debug!(?code, "{text}");
        let unseen = Arc::new(Unseen { code, text, seen: AtomicBool::new(false) });
        let mut launches = self.lock();
        launches.0.retain(|launch| !launch.is_seen());
        if launches.0.len() == KEPT {
            return;
        }
        let noted = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            own.retain(|launch| launch.upgrade().is_some_and(|launch| !launch.is_seen()));
            own.push(Arc::downgrade(&unseen));
        });
        // A thread that is ending has no thread-local state.
        let _ = noted;
        launches.0.push(unseen);
        self.any.store(true, Ordering::Release);
    }

    /// The current ones.
    #[inline]
    pub(crate) fn launches(&self) -> Launches {
        if self.any.load(Ordering::Acquire) { self.lock().clone() } else { Launches::default() }
    }

    /// See [`Launches::report`].
    #[inline]
    pub(crate) fn report(&self) -> Result {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut launches = self.lock();
        self.any.store(false, Ordering::Release);
        std::mem::take(&mut *launches).report()
    }
}

/// Notes that the calling thread has seen its last failure.
pub(crate) fn asked() {
    let own = OWN.try_with(|own| std::mem::take(&mut *own.borrow_mut()));
    for launch in own.unwrap_or_default().iter().filter_map(Weak::upgrade) {
        launch.seen.store(true, Ordering::Release);
    }
}

/// A call begins.
#[inline]
pub(crate) fn begin() {
    LAST.set(Last::Other);
}

/// A host stub has popped its launch's configuration, and launches next.
pub(crate) fn enter_stub() {
    LAST.set(Last::InStub);
}

/// Whether the launch that begins comes from a host stub.
pub(crate) fn is_in_stub() -> bool {
    LAST.get() == Last::InStub
}

/// The text of the launch failure that the thread's last call returned; none if that call returned something
/// else.
pub(crate) fn told() -> Option<String> {
    if LAST.get() != Last::Told {
        return None;
    }
    TEXT.try_with(|text| text.borrow().clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: hipError_t = hipError_t::hipErrorInvalidConfiguration;

    #[test]
    fn a_failure_is_reported_once_and_the_first_one_tells() {
        let stream = OfStream::default();
        assert_eq!(stream.report(), Ok(()));
        stream.note(BAD, "one".to_owned());
        stream.note(hipError_t::hipErrorInvalidValue, "two".to_owned());
        let event = stream.launches();
        assert_eq!((event.look(), told().as_deref()), (Err(BAD), Some("one")));
        assert_eq!((stream.report(), told().as_deref()), (Err(BAD), Some("one")));
        begin();
        assert_eq!((told(), stream.report(), event.look(), event.report()), (None, Ok(()), Ok(()), Ok(())));
    }

    #[test]
    fn the_thread_that_asks_for_its_last_error_has_been_told_and_no_other_one() {
        let (one, two) = (OfStream::default(), OfStream::default());
        one.note(BAD, String::new());
        two.note(BAD, String::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                two.note(hipError_t::hipErrorInvalidValue, String::new());
                assert_eq!(one.launches().code(), Some(BAD));
            });
        });
        asked();
        assert_eq!(one.report(), Ok(()));
        assert_eq!(two.report(), Err(hipError_t::hipErrorInvalidValue));
    }

    #[test]
    fn a_stream_that_nobody_waits_for_keeps_no_more_than_some() {
        let stream = OfStream::default();
        for _ in 0..1000 {
            stream.note(BAD, String::new());
        }
        assert_eq!((stream.lock().0.len(), OWN.with(|own| own.borrow().len())), (KEPT, KEPT));
        assert_eq!(stream.report(), Err(BAD));
    }
}
