//! The progress of a queue as a number: a signal that each fence decrements.

use hsa_sys::hsa_signal_t;

use super::{Answer, Calls, Errors};

/// The signal starts here and goes down by one with each fence.
const START: i64 = i64::MAX / 2;
/// The value of a failed queue's signal, which ends every wait for progress.
const FAILED: i64 = i64::MIN / 2;

/// The signal of a queue's fences: barrier packets that decrement it when everything before them has
/// completed.
#[derive(Debug)]
pub struct ProgressSignal<E: Errors> {
    hsa: Calls<E>,
    signal: hsa_signal_t,
}

impl<E: Errors> ProgressSignal<E> {
    /// Makes the signal of a queue that has no fence yet.
    ///
    /// # Errors
    /// HSA cannot make a signal.
    pub fn new(hsa: Calls<E>) -> Answer<E, Self> {
        Ok(Self { hsa, signal: hsa.signal_create(START)? })
    }

    /// The completion signal of fences. Queues that use it must be destroyed before this object is dropped.
    #[inline]
    pub fn raw(&self) -> hsa_signal_t {
        self.signal
    }

    /// Once this fence has completed, the signal is less than the result. The first fence is 1.
    #[inline]
    pub fn value_after(fence: u64) -> i64 {
        START - fence as i64 + 1
    }

    /// The number of completed fences.
    #[inline]
    pub fn completed(&self) -> u64 {
        START.saturating_sub(self.hsa.signal_load(self.signal)).max(0) as u64
    }

    /// Ends every present and future wait for progress, because the queue has failed and runs nothing any
    /// more.
    pub fn fail(&self) {
        self.hsa.signal_store(self.signal, FAILED);
    }
}

impl<E: Errors> Drop for ProgressSignal<E> {
    fn drop(&mut self) {
        // SAFETY: the queue, the only other user, is already destroyed.
        unsafe { self.hsa.signal_destroy(self.signal) };
    }
}
