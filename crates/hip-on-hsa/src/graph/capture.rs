//! Stream capture: work that a program submits to its streams becomes a graph instead of running.
//!
//! One list holds the active captures with their streams, under one lock. A separate count tells whether it
//! is empty, so that calls need not look at it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ThreadId;

use hip_sys::{hipError_t, hipGraphNode_t, hipStream_t, hipStreamCaptureMode, hipStreamCaptureStatus};

use crate::devices::device::Device;
use crate::devices::stream::{self, Role, Stream, resolve};
use crate::error::Result;
use crate::graph::memory::GraphMemory;
use crate::graph::op::Op;
use crate::graph::structure::{Graph, NodeId};
use crate::object::event::CapturedPoint;
use crate::runtime::{Runtime, active, runtime};
use crate::unseen::OfStream;

type Mode = hipStreamCaptureMode;
type Status = hipStreamCaptureStatus;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const UNSUPPORTED: hipError_t = hipError_t::hipErrorStreamCaptureUnsupported;
const INVALIDATED: hipError_t = hipError_t::hipErrorStreamCaptureInvalidated;
const IMPLICIT: hipError_t = hipError_t::hipErrorStreamCaptureImplicit;
const ILLEGAL_STATE: hipError_t = hipError_t::hipErrorIllegalState;

/// An active capture.
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) mode: Mode,
    /// The stream where it began.
    pub(crate) thread: ThreadId,
    pub(crate) graph: Arc<Graph>,
    /// Whether the graph was created for this capture.
    owned: bool,
    /// Whether an operation that a capture does not permit has invalidated it.
    pub(crate) invalid: bool,
    /// The captured streams; it began on the first one.
    pub(crate) members: Vec<Member>,
    /// Failed launches without a result, which are missing from the graph.
    pub(crate) unseen: OfStream,
}

/// A captured stream.
pub(crate) struct Member {
    stream: Weak<Stream>,
    /// The nodes that the stream's next node waits for.
    pub(crate) tips: Vec<NodeId>,
    /// Handles whose address `hipStreamGetCaptureInfo_v2` has returned.
    pub(crate) shown: Box<[hipGraphNode_t]>,
}

// SAFETY: the handles are numbers; nothing follows them.
unsafe impl Send for Member {}

impl Member {
    fn new(stream: &Arc<Stream>, tips: Vec<NodeId>) -> Self {
        Self { stream: Arc::downgrade(stream), tips, shown: Box::default() }
    }

    pub(crate) fn is(&self, stream: &Stream) -> bool {
        std::ptr::eq(self.stream.as_ptr(), stream)
    }

    fn has(&self, test: impl FnOnce(&Stream) -> bool) -> bool {
        self.stream.upgrade().is_some_and(|stream| test(&stream))
    }
}

impl Capture {
    pub(crate) fn member(&mut self, stream: &Stream) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.is(stream))
    }

    pub(crate) fn holds(&self, stream: &Stream) -> bool {
        self.members.iter().any(|member| member.is(stream))
    }

    pub(crate) fn status(&self) -> Status {
        match self.invalid {
            true => Status::hipStreamCaptureStatusInvalidated,
            false => Status::hipStreamCaptureStatusActive,
        }
    }
}

static CAPTURES: Mutex<Vec<Capture>> = Mutex::new(Vec::new());
/// The number of active captures.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT_CAPTURE: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Which captures forbid unsafe calls on this thread.
    pub(crate) static THREAD_MODE: Cell<Mode> = const { Cell::new(Mode::hipStreamCaptureModeGlobal) };
}

/// Whether there is an active capture. A thread that is ordered after the beginning of one sees it.
#[inline]
pub(crate) fn any() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
}

pub(crate) fn lock() -> MutexGuard<'static, Vec<Capture>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Invalidates captures; an error if there are any.
fn refuse(captures: &mut [Capture], code: hipError_t, test: impl Fn(&Capture) -> bool) -> Result {
    let mut found = false;
    for capture in captures.iter_mut().filter(|capture| test(capture)) {
        capture.invalid = true;
        found = true;
    }
    if found { Err(code) } else { Ok(()) }
}

/// Whether the null stream would have to wait for a captured stream, or vice versa.
pub(crate) fn is_implicit(capture: &Capture, stream: &Stream) -> bool {
    let ordered = |other: &Stream| other.is_blocking() && std::ptr::eq(other.device, stream.device);
    stream.role == Role::Null && capture.members.iter().any(|member| member.has(ordered))
}

/// Refuses calls that are unsafe during a capture, depending on the thread's mode: allocating, freeing, and
/// waiting for devices. They invalidate the captures that forbid them.
#[inline]
pub(crate) fn permit() -> Result {
    if any() { permit_in(&mut lock()) } else { Ok(()) }
}

fn permit_in(captures: &mut [Capture]) -> Result {
    let (mode, thread) = (THREAD_MODE.get(), std::thread::current().id());
    if mode == Mode::hipStreamCaptureModeRelaxed {
        return Ok(());
    }
    refuse(captures, UNSUPPORTED, |capture| match capture.mode {
        Mode::hipStreamCaptureModeRelaxed => false,
        Mode::hipStreamCaptureModeGlobal if mode == Mode::hipStreamCaptureModeGlobal => true,
        _ => capture.thread == thread,
    })
}

/// Refuses waiting for a captured stream, querying it, and similar calls.
#[inline]
pub(crate) fn permit_stream_wait(stream: &Stream) -> Result {
    if any() { permit_stream_wait_in(&mut lock(), stream) } else { Ok(()) }
}

fn permit_stream_wait_in(captures: &mut [Capture], stream: &Stream) -> Result {
    refuse(captures, UNSUPPORTED, |capture| capture.holds(stream))?;
    refuse(captures, IMPLICIT, |capture| is_implicit(capture, stream))
}

/// Refuses synchronous work on a stream.
#[inline]
pub(crate) fn permit_waiting(stream: &Stream) -> Result {
    if !any() {
        return Ok(());
    }
    let mut captures = lock();
    permit_stream_wait_in(&mut captures, stream)?;
    permit_in(&mut captures)
}

/// Refuses waiting for a device with a captured stream.
#[inline]
pub(crate) fn permit_device_wait(device: &Device) -> Result {
    if !any() {
        return Ok(());
    }
    refuse(&mut lock(), UNSUPPORTED, |capture| {
        capture.members.iter().any(|member| member.has(|stream| std::ptr::eq(stream.device, device)))
    })
}

/// Removes an ending stream from its capture.
pub(crate) fn forget(stream: &Stream) {
    if !any() {
        return;
    }
    let mut captures = lock();
    let Some(index) = captures.iter().position(|capture| capture.holds(stream)) else { return };
    captures[index].invalid = true;
    if captures[index].members.first().is_some_and(|origin| origin.is(stream)) {
        let capture = remove(&mut captures, index);
        drop(captures);
        discard(capture);
    }
}

pub(crate) fn remove(captures: &mut Vec<Capture>, index: usize) -> Capture {
    ACTIVE.fetch_sub(1, Ordering::Relaxed);
    captures.swap_remove(index)
}

/// Records a failed launch without a result, for calls that wait for the stream or end its capture.
pub(crate) fn note_unseen(stream: &Stream, code: hipError_t, text: String) {
    if any()
        && let Some(capture) = lock().iter().find(|capture| capture.holds(stream))
    {
        return capture.unseen.note(code, text);
    }
    stream.unseen.note(code, text);
}

/// Releases the graph of an invalid capture.
pub(crate) fn discard(capture: Capture) {
    if capture.owned
        && let Some(runtime) = runtime()
    {
        // The program may have destroyed it.
        let _ = capture.graph.unpublish(runtime);
    }
}

/// A captured stream.
pub(crate) struct Capturing {
    capture: u64,
    stream: Arc<Stream>,
}

impl Capturing {
    /// The capture that work on a stream goes to, if any. An error if the capture is invalid, or if the
    /// stream is the null stream and would have to wait for a captured one.
    #[inline]
    pub(crate) fn of(stream: &Arc<Stream>) -> Result<Option<Self>> {
        if any() { Self::look_up(stream) } else { Ok(None) }
    }

    #[cold]
    fn look_up(stream: &Arc<Stream>) -> Result<Option<Self>> {
        let mut captures = lock();
        if let Some(capture) = captures.iter().find(|capture| capture.holds(stream)) {
            return match capture.invalid {
                true => Err(INVALIDATED),
                false => Ok(Some(Self { capture: capture.id, stream: stream.clone() })),
            };
        }
        refuse(&mut captures, IMPLICIT, |capture| is_implicit(capture, stream))?;
        Ok(None)
    }

    fn with<T>(&self, work: impl FnOnce(&mut bool, &Arc<Graph>, &mut Vec<NodeId>) -> Result<T>) -> Result<T> {
        let mut captures = lock();
        // The capture may have ended meanwhile, on another thread.
        let capture = captures.iter_mut().find(|capture| capture.id == self.capture).ok_or(INVALIDATED)?;
        let Capture { invalid, graph, members, .. } = capture;
        let member = members.iter_mut().find(|member| member.is(&self.stream)).ok_or(INVALIDATED)?;
        work(invalid, graph, &mut member.tips)
    }

    /// Makes the operation a node behind the stream's last ones.
    pub(crate) fn add(&self, op: Op) -> Result {
        let runtime = active()?;
        self.with(|_, graph, tips| {
            // Nodes that the program has destroyed are no longer waited for.
            tips.retain(|id| graph.nodes().contains_key(id));
            *tips = vec![graph.add(runtime, op, tips)?];
            Ok(())
        })
    }

    /// Adds a node that allocates memory of the graph; returns the address.
    pub(crate) fn allocate(
        &self,
        runtime: &'static Runtime,
        device: &'static Device,
        size: usize,
    ) -> Result<usize> {
        let memory = GraphMemory::new(runtime, device, size, &[])?;
        let base = memory.base();
        self.add(Op::Allocate(memory))?;
        Ok(base)
    }

    /// The stream's current point.
    pub(crate) fn point(&self) -> Result<CapturedPoint> {
        self.with(|_, _, tips| Ok(CapturedPoint { capture: self.capture, tips: tips.clone() }))
    }

    /// Invalidates the capture.
    pub(crate) fn fail(&self, code: hipError_t) -> Result {
        self.with(|invalid, _, _| {
            *invalid = true;
            Err(code)
        })
    }
}

impl CapturedPoint {
    /// Whether the capture is still active.
    pub(crate) fn is_live(&self) -> bool {
        any() && lock().iter().any(|capture| capture.id == self.capture)
    }

    /// Refuses operations that are not permitted on the event, and invalidates the capture if it is still
    /// active.
    pub(crate) fn refuse(&self) -> Result {
        if !any() {
            return Ok(());
        }
        refuse(&mut lock(), hipError_t::hipErrorCapturedEvent, |capture| capture.id == self.capture)
    }

    /// Makes the stream wait for this point, which adds it to the capture.
    pub(crate) fn join(&self, stream: &Arc<Stream>) -> Result {
        let mut captures = lock();
        let other = |capture: &Capture| capture.id != self.capture && capture.holds(stream);
        if captures.iter().any(other) {
            return refuse(&mut captures, hipError_t::hipErrorStreamCaptureMerge, |capture| {
                capture.id == self.capture || other(capture)
            });
        }
        if stream.role == Role::Null {
            return refuse(&mut captures, IMPLICIT, |capture| capture.id == self.capture);
        }
        let capture = captures.iter_mut().find(|capture| capture.id == self.capture).ok_or(INVALIDATED)?;
        if capture.invalid {
            return Err(INVALIDATED);
        }
        match capture.member(stream) {
            Some(member) => {
                for id in &self.tips {
                    if !member.tips.contains(id) {
                        member.tips.push(*id);
                    }
                }
            }
            None => capture.members.push(Member::new(stream, self.tips.clone())),
        }
        Ok(())
    }
}

pub(crate) fn begin(
    runtime: &'static Runtime,
    stream: hipStream_t,
    mode: Mode,
    target: impl FnOnce() -> Result<(Arc<Graph>, Vec<NodeId>, bool)>,
) -> Result {
    let stream = resolve(runtime, stream)?;
    if mode.0 > Mode::hipStreamCaptureModeRelaxed.0 {
        return Err(INVALID_VALUE);
    }
    if stream.role == Role::Null {
        return Err(UNSUPPORTED);
    }
    let mut captures = lock();
    if captures.iter().any(|capture| capture.holds(&stream)) {
        return Err(ILLEGAL_STATE);
    }
    let (graph, tips, owned) = target()?;
    stream::listen_to_ends(forget);
    captures.push(Capture {
        id: NEXT_CAPTURE.fetch_add(1, Ordering::Relaxed),
        mode,
        thread: std::thread::current().id(),
        graph,
        owned,
        invalid: false,
        members: vec![Member::new(&stream, tips)],
        unseen: OfStream::default(),
    });
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
