//! Reusable signals, and markers: points in a stream that anything can wait for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::hipError_t;
use hsa::raw::SignalPool;
use hsa_sys::{hsa_agent_t, hsa_signal_t};

use crate::error::Result;
use crate::runtime::{Runtime, runtime};

/// Unused signals.
static SIGNALS: SignalPool = SignalPool::new();

/// A signal of the pool, returned to it on drop.
///
/// The owner drops it only once no packet or copy will touch it any more.
#[derive(Debug)]
pub(crate) struct Signal {
    raw: hsa_signal_t,
}

impl Signal {
    pub(crate) fn new(runtime: &Runtime, value: i64) -> Result<Self> {
        let raw = SIGNALS.take(runtime.hsa, value)?;
        Ok(Self { raw })
    }

    #[inline]
    pub(crate) fn raw(&self) -> hsa_signal_t {
        self.raw
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        let Some(runtime) = runtime() else { return };
        // SAFETY: the owner promised that nothing uses the signal any more.
        unsafe { SIGNALS.give_back(runtime.hsa, self.raw) };
    }
}

/// A position in the packets of one queue: everything up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// The queue's number, unique in the process.
    pub(crate) submitter: u64,
    /// The number of packets up to the point.
    pub(crate) packets: u64,
}

impl Point {
    /// Whether everything after `later` in its queue is also after this point.
    pub(crate) fn is_before(self, later: Self) -> bool {
        self.submitter == later.submitter && self.packets <= later.packets
    }
}

/// A point in a stream: its signal goes from 1 to 0 when everything before it has completed, or when the
/// stream fails.
#[derive(Debug)]
pub(crate) struct Marker {
    signal: Signal,
    agent: hsa_agent_t,
    /// Its position in its queue; `None` if the host completes it.
    point: Option<Point>,
    /// The `hipError_t` of the stream's failure, 0 if it has not failed.
    failure: AtomicU32,
    /// Points of other streams that the failed stream should have waited for before this one.
    unreached: Mutex<Vec<Arc<Marker>>>,
}

impl Marker {
    pub(crate) fn new(runtime: &Runtime, agent: hsa_agent_t) -> Result<Self> {
        let signal = Signal::new(runtime, 1)?;
        Ok(Self { signal, agent, point: None, failure: AtomicU32::new(0), unreached: Mutex::default() })
    }

    /// A marker that a queue's packet completes.
    pub(crate) fn at(runtime: &Runtime, agent: hsa_agent_t, point: Point) -> Result<Self> {
        Ok(Self { point: Some(point), ..Self::new(runtime, agent)? })
    }

    /// Its position in its queue; `None` if the host completes it.
    pub(crate) fn point(&self) -> Option<Point> {
        self.point
    }

    #[inline]
    pub(crate) fn signal(&self) -> hsa_signal_t {
        self.signal.raw()
    }

    /// Whether the point has been reached, by completion or failure.
    pub(crate) fn is_done(&self, runtime: &Runtime) -> bool {
        runtime.hsa.signal_load(self.signal()) <= 0
    }

    /// The failure of the stream, if it came before this point was reached.
    pub(crate) fn failure(&self) -> Option<hipError_t> {
        match self.failure.load(Ordering::Acquire) {
            0 => None,
            code => Some(hipError_t(code)),
        }
    }

    /// Waits until the point is reached.
    pub(crate) fn wait(&self, runtime: &Runtime) -> Result {
        runtime.wait_less(self.signal(), 1);
        self.failure().map_or(Ok(()), Err)
    }

    /// Completes the point from the host.
    pub(crate) fn complete(&self, runtime: &Runtime) {
        runtime.hsa.signal_store(self.signal(), 0);
    }

    fn unreached(&self) -> MutexGuard<'_, Vec<Arc<Marker>>> {
        self.unreached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether everything before the point has ended; if its stream has failed, this includes the points that
    /// it should have waited for.
    pub(crate) fn is_over(&self, runtime: &Runtime) -> bool {
        self.is_done(runtime) && self.unreached().iter().all(|before| before.is_over(runtime))
    }

    /// Ends the point because its stream has failed, unless it was already reached. The stream should have
    /// waited for `unreached` first.
    pub(crate) fn fail(&self, runtime: &Runtime, code: hipError_t, unreached: &[Arc<Marker>]) {
        if !self.is_done(runtime) {
            *self.unreached() = unreached.to_vec();
            self.failure.store(code.0, Ordering::Release);
            self.complete(runtime);
        }
    }

    /// When the marker's packet ended, in system clock ticks.
    pub(crate) fn time(&self, runtime: &Runtime) -> Option<u64> {
        runtime.hsa.packet_time(self.agent, self.signal()).map(|(_, end)| end)
    }
}
