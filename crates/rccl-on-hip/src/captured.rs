//! Work that is captured into a graph, and done each time that the graph runs.
//!
//! It takes its turn in a stream as work that is enqueued does, by nodes: a host function closes a gate and gives the worker a run of the
//! work, and what follows waits until the worker has opened the gate. All streams of the work meet in the first one.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::{hipGraph_t, hipStream_t, hipUserObject_t};

use crate::batch::Work;
use crate::comm::Comm;
use crate::device::{Relaxed, Word};
use crate::error::{Failure, Result, hip};

/// What captured work needs of HIP besides what the table is made of.
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

/// A capture that a stream is part of.
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
    /// The number of the last batch that was enqueued before: a run comes after it.
    pub(crate) after: u64,
    /// Runs that are not done.
    pending: Mutex<usize>,
}

/// What graphs name captured work by. A number rather than a pointer: whenever a graph runs, it finds what is there or nothing.
struct Live {
    next: usize,
    all: HashMap<usize, Arc<Captured>>,
}

static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(|| Mutex::new(Live { next: 1, all: HashMap::new() }));

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Captured {
    /// Makes work a part of a graph, which keeps it; its nodes are still to come. The communicator's device is current.
    pub(crate) fn new(comm: &Arc<Comm>, work: Work, graph: hipGraph_t) -> Result<(usize, Arc<Self>)> {
        let hip = comm.hip;
        let missing: Vec<_> = NEEDED.iter().copied().filter(|name| !hip.has(name)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(Failure::usage(format!("HIP lacks what collectives in graphs need: {missing}")));
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
        // SAFETY: the handle is a place to write to, and the data is a number.
        let created = unsafe {
            hip!(hip, hipUserObjectCreate(&raw mut object, key as *mut c_void, Some(forgotten), 1, flags))
        };
        created.inspect_err(|_| forget(key))?;
        let flags = hip_sys::hipUserObjectRetainFlags::hipGraphUserObjectMove.bits();
        // SAFETY: the object was just made, and HIP has named the graph.
        let kept = unsafe { hip!(hip, hipGraphRetainUserObject(graph, object, 1, flags)) };
        if kept.is_err() {
            // SAFETY: the object is still this function's. Its end forgets the work.
            let released = unsafe { hip!(hip, hipUserObjectRelease(object, 1)) };
            released.unwrap_or_else(|failure| tracing::warn!("{}", failure.text));
        }
        kept.map(|()| (key, captured))
    }

    pub(crate) fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Has a captured stream start a run of the work each time that it comes there.
    ///
    /// # Safety
    /// The stream is a live one, and the communicator's device is current.
    pub(crate) unsafe fn announce(&self, key: usize, stream: hipStream_t) -> Result {
        // SAFETY: the caller's promise; the data is a number.
        unsafe { hip!(self.comm.hip, hipLaunchHostFunc(stream, Some(arrived), key as *mut c_void)) }
    }

    /// Has what follows on a captured stream wait for the work, in each run.
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

    /// The graph has come to it.
    fn arrive(self: &Arc<Self>) {
        {
            let mut pending = self.pending();
            *pending += 1;
            self.gate.set_open(false);
        }
        if !self.comm.start_run(self) {
            tracing::error!("a graph runs a collective of a communicator that has ended: it is not done");
            self.done();
        }
    }

    /// A run is done, or will never be.
    pub(crate) fn done(&self) {
        let mut pending = self.pending();
        *pending -= 1;
        if *pending == 0 {
            self.gate.set_open(true);
        }
    }
}

/// What a graph's host function calls.
unsafe extern "C" fn arrived(data: *mut c_void) {
    let captured = live().all.get(&(data as usize)).cloned();
    match captured {
        Some(captured) => captured.arrive(),
        None => tracing::error!(
            "a graph runs a collective that was not captured whole, or is gone: it is not done"
        ),
    }
}

/// What HIP calls when no graph has the work any more.
unsafe extern "C" fn forgotten(data: *mut c_void) {
    forget(data as usize);
}

/// Ends captured work: if a graph still runs it, nothing is done.
pub(crate) fn forget(key: usize) {
    let gone = live().all.remove(&key);
    // What it has is dropped without the lock.
    drop(gone);
}
