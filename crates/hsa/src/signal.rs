//! Signals: numbers that host and devices change and wait for.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hsa_sys::*;

use crate::Runtime;
use crate::error::{Result, call, note};

/// A condition to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The value is this.
    Equal(i64),
    /// The value is not this.
    NotEqual(i64),
    /// The value is less than this.
    Less(i64),
    /// The value is at least this.
    AtLeast(i64),
}

impl Condition {
    fn parts(self) -> (hsa_signal_condition_t, i64) {
        match self {
            Condition::Equal(value) => (hsa_signal_condition_t::HSA_SIGNAL_CONDITION_EQ, value),
            Condition::NotEqual(value) => (hsa_signal_condition_t::HSA_SIGNAL_CONDITION_NE, value),
            Condition::Less(value) => (hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT, value),
            Condition::AtLeast(value) => (hsa_signal_condition_t::HSA_SIGNAL_CONDITION_GTE, value),
        }
    }

    /// Whether a value meets the condition.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Condition::Equal(expected) => value == expected,
            Condition::NotEqual(expected) => value != expected,
            Condition::Less(limit) => value < limit,
            Condition::AtLeast(limit) => value >= limit,
        }
    }
}

/// How to wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum WaitHint {
    /// Sleep: for waits that may be long.
    #[default]
    Blocked,
    /// Spin: for short waits.
    Active,
}

/// A signal that can be read and waited for. Clones are the same signal, and the last one destroys it.
///
/// Only devices change the signal of a [`Completion`](crate::Completion), because its value says whether
/// memory is still in use. A signal that the program changes itself is a [`UserSignal`].
///
/// ```compile_fail
/// fn pretend_that_it_has_ended(completion: &hsa::Completion) {
///     completion.signal().store(0);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Signal {
    inner: Arc<Inner>,
}

/// A signal that the program changes, and that packets and copies can wait for. It is also a [`Signal`].
///
/// ```
/// # fn main() -> Result<(), hsa::Error> {
/// # vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
/// # let runtime = hsa::Runtime::new(vgpu::hsa::table())?;
/// # let gpu = runtime.gpus()?.swap_remove(0);
/// # let queue = hsa::Queue::new(&gpu, 64, hsa::QueueKind::Multi)?;
/// let go = hsa::UserSignal::new(&runtime, 1)?;
/// let barrier = queue.barrier(&[&go])?;
/// assert!(!barrier.is_done());
/// go.store(0);
/// barrier.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct UserSignal {
    signal: Signal,
}

impl Deref for UserSignal {
    type Target = Signal;

    fn deref(&self) -> &Signal {
        &self.signal
    }
}

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    raw: hsa_signal_t,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the signal was made here and is destroyed once; packets and copies that use it hold a
        // clone.
        note(unsafe { call!(self.runtime.table(), hsa_signal_destroy(self.raw)) });
    }
}

impl Signal {
    pub(crate) fn new(runtime: &Runtime, value: i64) -> Result<Signal> {
        let raw = runtime.calls().signal_create_open(value)?;
        Ok(Signal { inner: Arc::new(Inner { runtime: runtime.clone(), raw }) })
    }

    /// The C handle, valid while a clone of the signal exists.
    pub fn raw(&self) -> hsa_signal_t {
        self.inner.raw
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    fn table(&self) -> &'static Table {
        self.inner.runtime.table()
    }

    /// The value.
    #[doc(alias = "hsa_signal_load_scacquire")]
    pub fn load(&self) -> i64 {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_load_scacquire)(self.raw()) }
    }

    /// Waits until the value meets the condition, and returns the value, or `None` after a timeout
    /// (`hsa_signal_wait_scacquire`). Without a timeout it waits for ever.
    #[doc(alias = "hsa_signal_wait_scacquire")]
    pub fn wait(&self, condition: Condition, timeout: Option<Duration>, hint: WaitHint) -> Option<i64> {
        let frequency = match timeout {
            Some(_) => self.runtime().timestamp_frequency().unwrap_or(1_000_000_000),
            None => 1,
        };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let hint = match hint {
            WaitHint::Blocked => hsa_wait_state_t::HSA_WAIT_STATE_BLOCKED,
            WaitHint::Active => hsa_wait_state_t::HSA_WAIT_STATE_ACTIVE,
        };
        let (comparison, value) = condition.parts();
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let ticks = left.map_or(u64::MAX, |left| {
                u64::try_from(left.as_nanos() * u128::from(frequency) / 1_000_000_000).unwrap_or(u64::MAX)
            });
            // SAFETY: the signal exists.
            let seen = unsafe {
                (self.table().hsa_signal_wait_scacquire)(self.raw(), comparison, value, ticks, hint)
            };
            if condition.holds(seen) {
                return Some(seen);
            }
            // The runtime may return early.
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
        }
    }
}

impl UserSignal {
    /// Makes a signal that all agents may wait for (`hsa_signal_create`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_signal_create")]
    pub fn new(runtime: &Runtime, value: i64) -> Result<UserSignal> {
        Ok(UserSignal { signal: Signal::new(runtime, value)? })
    }

    /// Sets the value.
    #[doc(alias = "hsa_signal_store_screlease")]
    pub fn store(&self, value: i64) {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_store_screlease)(self.raw(), value) }
    }

    /// Adds to the value.
    #[doc(alias = "hsa_signal_add_scacq_screl")]
    pub fn add(&self, value: i64) {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_add_scacq_screl)(self.raw(), value) }
    }

    /// Subtracts from the value.
    #[doc(alias = "hsa_signal_subtract_scacq_screl")]
    pub fn subtract(&self, value: i64) {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_subtract_scacq_screl)(self.raw(), value) }
    }

    /// Sets the value and returns the old one.
    #[doc(alias = "hsa_signal_exchange_scacq_screl")]
    pub fn exchange(&self, value: i64) -> i64 {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_exchange_scacq_screl)(self.raw(), value) }
    }

    /// Sets the value if it is `expected`; returns the old one.
    #[doc(alias = "hsa_signal_cas_scacq_screl")]
    pub fn compare_exchange(&self, expected: i64, value: i64) -> i64 {
        // SAFETY: the signal exists.
        unsafe { (self.table().hsa_signal_cas_scacq_screl)(self.raw(), expected, value) }
    }
}
