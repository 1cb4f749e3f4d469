//! How threads wait for memory that other threads change.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Kernels change signals without a notification, so waiters poll this often.
pub(super) const POLL: Duration = Duration::from_millis(1);

/// Locks a mutex whose contents are valid whenever it is unlocked, even after a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A condition that threads can wait for. A notification costs one load while nobody waits.
#[derive(Default)]
pub(super) struct Event {
    waiters: AtomicU32,
    lock: Mutex<()>,
    condition: Condvar,
}

impl Event {
    pub(super) const fn new() -> Event {
        Event { waiters: AtomicU32::new(0), lock: Mutex::new(()), condition: Condvar::new() }
    }

    /// Wakes all waiters. The change that they wait for must already be stored.
    pub(super) fn notify(&self) {
        // Pairs with the fence in `wait_until`: either the waiter sees the change or we see the waiter.
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            drop(lock(&self.lock));
            self.condition.notify_all();
        }
    }

    /// Waits until `ready` returns true (the result is true) or the deadline passes (false). Calls it at
    /// least every `poll`.
    pub(super) fn wait_until(
        &self,
        deadline: Option<Instant>,
        poll: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> bool {
        if ready() {
            return true;
        }
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut guard = lock(&self.lock);
        let reached = loop {
            if ready() {
                break true;
            }
            let mut time = poll;
            if let Some(deadline) = deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break false;
                }
                time = time.min(left);
            }
            guard = self.condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        reached
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_waiter_is_woken_or_times_out() {
        static EVENT: Event = Event::new();
        static FLAG: AtomicBool = AtomicBool::new(false);
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(!EVENT.wait_until(Some(soon), POLL, || FLAG.load(Ordering::Relaxed)));
        let waiter = std::thread::spawn(|| {
            EVENT.wait_until(None, Duration::from_secs(60), || FLAG.load(Ordering::Relaxed))
        });
        std::thread::sleep(Duration::from_millis(5));
        FLAG.store(true, Ordering::Relaxed);
        EVENT.notify();
        assert!(waiter.join().unwrap());
    }
}
