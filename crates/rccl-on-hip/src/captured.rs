//! Work that is captured into a graph, and runs each time that the graph runs.
//!
//! It takes its turn in a stream as enqueued work does, but by nodes. A host function closes a gate and gives
//! the worker a run of the work; later nodes wait until the worker has opened the gate. All streams of the
//! work join the first one.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipGraph_t, hipStream_t, hipUserObject_t};

use crate::batch::Work;
use crate::comm::Comm;
use crate::device::{Relaxed, Word};
use crate::error::{Failure, Result, hip};

/// The HIP functions that captured work needs, besides those that the table needs.
const NEEDED: &[&str] = &[
    "hipEventCreateWithFlags",
    "hipEventRecord",
    "hipEventRecordWithFlags",
    "hipGraphRetainUserObject",
    "hipLaunchHostFunc",
    "hipStreamGetCaptureInfo_v2",
    "hipStreamWaitEvent",
    "hipThreadExchangeStreamCaptureMode",
    "hipUserObjectCreate",
    "hipUserObjectRelease",
];

/// A capture that a stream takes part in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) graph: hipGraph_t,
}

impl PartialEq for Capture {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// The work of one communicator in a graph.
pub(crate) struct Captured {
    comm: Arc<Comm>,
    pub(crate) work: Work,
    gate: Word,
    /// The number of the last batch enqueued before it; a run comes after that batch.
    pub(crate) after: u64,
    /// The number of runs that are not done.
    pending: Mutex<usize>,
}

/// The captured work, by the number that graphs use for it. Unlike a pointer, a number is safe to look up
/// after the work is gone.
struct Live {
    next: usize,
    all: HashMap<usize, Arc<Captured>>,
}

static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(|| Mutex::new(Live { next: 1, all: HashMap::new() }));

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Captured {
    /// Makes work a part of a graph, which keeps it. The nodes are added later. The communicator's device
    /// must be current.
    pub(crate) fn new(comm: &Arc<Comm>, work: Work, graph: hipGraph_t) -> Result<(usize, Arc<Self>)> {
        let hip = comm.hip;
        let missing: Vec<_> = NEEDED.iter().copied().filter(|name| !hip.has(name)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(Failure::usage(format!(
                "collectives in graphs need HIP functions that are missing: {missing}"
            )));
        }
        let _relaxed = Relaxed::set(hip)?;
        comm.start_order()?;
        let (gate, after) = (Word::take(hip)?, comm.sequence());
        gate.set_open(true);
        let captured = Arc::new(Self { comm: comm.clone(), work, gate, after, pending: Mutex::new(0) });
        let key = {
            let mut live = live();
            let key = live.next;
            live.next += 1;
            live.all.insert(key, captured.clone());
            key
        };
        let mut object: hipUserObject_t = null_mut();
        let flags = hip_sys::hipUserObjectFlags::hipUserObjectNoDestructorSync.bits();
        // SAFETY: the handle is valid for writes, and the data is a number.
        let created = unsafe {
            hip!(hip, hipUserObjectCreate(&raw mut object, key as *mut c_void, Some(forgotten), 1, flags))
        };
        created.inspect_err(|_| forget(key))?;
        let flags = hip_sys::hipUserObjectRetainFlags::hipGraphUserObjectMove.bits();
        // SAFETY: the object was just made, and HIP has named the graph.
        let kept = unsafe { hip!(hip, hipGraphRetainUserObject(graph, object, 1, flags)) };
        if kept.is_err() {
            // SAFETY: this function still owns the object. Its end forgets the work.
            let released = unsafe { hip!(hip, hipUserObjectRelease(object, 1)) };
            released.unwrap_or_else(|failure| tracing::warn!("{}", failure.text));
        }
        kept.map(|()| (key, captured))
    }

    pub(crate) fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Makes a captured stream start a run of the work each time that it gets there.
    ///
    /// # Safety
    /// The stream is live, and the communicator's device is current.
    pub(crate) unsafe fn announce(&self, key: usize, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise; the data is a number.
        unsafe { hip!(self.comm.hip, hipLaunchHostFunc(stream, Some(arrived), key as *mut c_void)) }
    }

    /// Makes later work on a captured stream wait for this work, in each run.
    ///
    /// # Safety
    /// As [`announce`](Self::announce).
    pub(crate) unsafe fn hold(&self, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise.
        unsafe { self.gate.wait_open(self.comm.hip, stream) }
    }

    fn pending(&self) -> MutexGuard<'_, usize> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The graph has reached it.
    fn arrive(self: &Arc<Self>) {
        {
            let mut pending = self.pending();
            *pending += 1;
            self.gate.set_open(false);
        }
        if !self.comm.start_run(self) {
            tracing::error!("a graph skipped a collective, because its communicator has ended");
            self.done();
        }
    }

    /// A run is done, or will never be done.
    pub(crate) fn done(&self) {
        let mut pending = self.pending();
        *pending -= 1;
        if *pending == 0 {
            self.gate.set_open(true);
        }
    }
}

/// The host function of a graph.
unsafe extern "C" fn arrived(data: *mut c_void) {
    let captured = live().all.get(&(data as usize)).cloned();
    match captured {
        Some(captured) => captured.arrive(),
        None => tracing::error!("a graph skipped a collective that was not captured completely, or is gone"),
    }
}

/// HIP calls this when no graph holds the work any more.
unsafe extern "C" fn forgotten(data: *mut c_void) {
    forget(data as usize);
}

/// Ends captured work. A graph that still runs it does nothing.
pub(crate) fn forget(key: usize) {
    let gone = live().all.remove(&key);
    // Drop its contents without the lock.
    drop(gone);
}
