//! Threads that wait for signals to change.
//!
//! Signals share buckets. A change wakes the threads that wait for a signal of the same bucket, and nobody
//! else: most changes find none, and waking a thread takes longer than a short kernel. A thread that waits
//! for one value is woken only when it is there: a queue's progress is a signal that each packet changes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::event::lock;
use super::signal::{Condition, Signal};

/// The number of buckets.
pub(super) const BUCKETS: usize = 64;

/// Those who wait for signals of a bucket.
struct Bucket {
    count: AtomicU32,
    threads: Mutex<Vec<Waiter>>,
}

/// A thread, and what has to be true before it is worth waking.
struct Waiter {
    thread: Thread,
    value: Option<(Signal, Condition)>,
}

impl Waiter {
    fn wake(&self) {
        if self.value.is_none_or(|(signal, condition)| condition.holds(signal.load())) {
            self.thread.unpark();
        }
    }
}

static SIGNALS: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];
/// Those who wait for something else, too.
static EVENTS: Bucket = Bucket::new();

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// A value of a signal.
    Value(Signal, Condition),
    /// A change of a signal, or a call of [`notify`].
    SignalsAndEvents,
    /// The same, and it is woken before others. After a wait, programs tend to destroy what handlers use.
    AsHandler,
}

impl Bucket {
    const fn new() -> Bucket {
        Bucket { count: AtomicU32::new(0), threads: Mutex::new(Vec::new()) }
    }

    /// Wakes all. The change that they wait for must already be stored.
    fn wake(&self) {
        // Pairs with the fence in `join`: either the waiter sees the change or we see the waiter.
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::Relaxed) != 0 {
            lock(&self.threads).iter().for_each(Waiter::wake);
        }
    }

    fn join(&self, thread: &Thread, waits: Waits) {
        self.count.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut threads = lock(&self.threads);
        let place = if waits == Waits::AsHandler { 0 } else { threads.len() };
        let value = match waits {
            Waits::Value(signal, condition) => Some((signal, condition)),
            Waits::SignalsAndEvents | Waits::AsHandler => None,
        };
        threads.insert(place, Waiter { thread: thread.clone(), value });
    }

    fn leave(&self, thread: &Thread) {
        let mut threads = lock(&self.threads);
        if let Some(place) = threads.iter().position(|other| other.thread.id() == thread.id()) {
            threads.remove(place);
        }
        drop(threads);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A signal of this bucket has changed.
pub(super) fn changed(bucket: usize) {
    SIGNALS[bucket % BUCKETS].wake();
}

/// Something else has changed that threads may wait for.
pub(super) fn notify() {
    EVENTS.wake();
}

/// A thread that waits, until this is dropped.
struct Waiting {
    thread: Thread,
    /// A bit for each bucket.
    buckets: u64,
    waits: Waits,
}

impl Waiting {
    fn new(buckets: impl IntoIterator<Item = usize>, waits: Waits) -> Waiting {
        const { assert!(BUCKETS == u64::BITS as usize) };
        let buckets = buckets.into_iter().fold(0, |all, bucket| all | 1 << (bucket % BUCKETS));
        let waiting = Waiting { thread: std::thread::current(), buckets, waits };
        waiting.each(|bucket| bucket.join(&waiting.thread, waits));
        waiting
    }

    fn each(&self, work: impl Fn(&Bucket)) {
        let signals = SIGNALS.iter().enumerate().filter(|(bucket, _)| self.buckets >> bucket & 1 == 1);
        signals.for_each(|(_, bucket)| work(bucket));
        if !matches!(self.waits, Waits::Value(..)) {
            work(&EVENTS);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.each(|bucket| bucket.leave(&self.thread));
    }
}

/// Waits until `ready` returns true (the result is true) or the deadline passes (false). Calls it after each
/// change of a signal of these buckets, and at least every `poll`: kernels change signals without telling
/// anyone.
pub(super) fn wait_until(
    buckets: impl IntoIterator<Item = usize>,
    waits: Waits,
    deadline: Option<Instant>,
    poll: Duration,
    mut ready: impl FnMut() -> bool,
) -> bool {
    if ready() {
        return true;
    }
    let _waiting = Waiting::new(buckets, waits);
    loop {
        if ready() {
            return true;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return false;
        }
        std::thread::park_timeout(left.map_or(poll, |left| left.min(poll)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_waiter_is_woken_by_its_own_buckets_and_events_or_times_out() {
        static READY: AtomicBool = AtomicBool::new(false);
        static LOOKS: AtomicUsize = AtomicUsize::new(0);
        let look = || {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            READY.load(Ordering::Relaxed)
        };
        let wait_for_looks = |least| {
            let end = Instant::now() + Duration::from_secs(20);
            while LOOKS.load(Ordering::Relaxed) < least {
                assert!(Instant::now() < end, "nobody looks");
                std::thread::yield_now();
            }
        };
        let soon = Instant::now() + Duration::from_millis(5);
        let waits = Waits::SignalsAndEvents;
        assert!(!wait_until([3], waits, Some(soon), LONG, look));
        LOOKS.store(0, Ordering::Relaxed);
        let waiter = std::thread::spawn(move || wait_until([3, 60], waits, None, LONG, look));
        wait_for_looks(2);
        // Others' changes wake nobody. Its own two do.
        for bucket in (0..BUCKETS).filter(|bucket| ![3, 60].contains(bucket)) {
            changed(bucket);
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(LOOKS.load(Ordering::Relaxed), 2);
        changed(3);
        wait_for_looks(3);
        changed(60);
        wait_for_looks(4);
        notify();
        wait_for_looks(5);
        READY.store(true, Ordering::Relaxed);
        changed(3);
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn whoever_waits_for_a_value_is_woken_when_it_is_there() {
        static LOOKS: AtomicUsize = AtomicUsize::new(0);
        let signal = Signal::new(5).unwrap();
        let condition = Condition::new(hsa_sys::hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT, 3).unwrap();
        let waits = Waits::Value(signal, condition);
        let waiter = std::thread::spawn(move || {
            wait_until([7], waits, None, LONG, || {
                LOOKS.fetch_add(1, Ordering::Relaxed);
                condition.holds(signal.load())
            })
        });
        while LOOKS.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        for value in [4, 3] {
            signal.store(value);
            changed(7);
            notify();
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(LOOKS.load(Ordering::Relaxed), 2);
        signal.store(2);
        changed(7);
        assert!(waiter.join().unwrap());
        signal.destroy();
    }

    #[test]
    fn no_change_is_missed() {
        static VALUE: AtomicUsize = AtomicUsize::new(0);
        const TURNS: usize = 20_000;
        // Each of two threads waits for the other's change. One that is missed takes `LONG`.
        let run = |own: usize| {
            for turn in (own..2 * TURNS).step_by(2) {
                assert!(wait_until(
                    [own],
                    Waits::SignalsAndEvents,
                    Some(Instant::now() + LONG),
                    LONG,
                    || { VALUE.load(Ordering::Acquire) == turn }
                ));
                VALUE.store(turn + 1, Ordering::Release);
                changed(1 - own);
            }
        };
        let begin = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| run(0));
            scope.spawn(|| run(1));
        });
        assert!(begin.elapsed() < LONG, "a change was missed");
    }
}
