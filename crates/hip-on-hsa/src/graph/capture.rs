//! Stream capture: what a program submits to its streams becomes a graph instead of running.
//!
//! One list holds the captures that go on, with their streams, under one lock. While it is empty, which one number says, calls
//! look no further.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::ThreadId;

use hip_sys::{
    hipError_t, hipGraph_t, hipGraphEdgeData, hipGraphNode_t, hipStream_t, hipStreamCaptureMode,
    hipStreamCaptureStatus, hipStreamUpdateCaptureDependenciesFlags as UpdateFlags,
};

use super::memory::GraphMemory;
use super::structure::{Graph, NodeId, graph, node_list};
use crate::caller;
use crate::device::Device;
use crate::error::{Result, entry};
use crate::op::Op;
use crate::runtime::{Runtime, active, runtime};
use crate::stream::{Role, Stream, resolve};

type Mode = hipStreamCaptureMode;
type Status = hipStreamCaptureStatus;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const UNSUPPORTED: hipError_t = hipError_t::hipErrorStreamCaptureUnsupported;
const INVALIDATED: hipError_t = hipError_t::hipErrorStreamCaptureInvalidated;
const IMPLICIT: hipError_t = hipError_t::hipErrorStreamCaptureImplicit;
const ILLEGAL_STATE: hipError_t = hipError_t::hipErrorIllegalState;

/// A capture that goes on.
struct Capture {
    id: u64,
    mode: Mode,
    /// Where it began.
    thread: ThreadId,
    graph: Arc<Graph>,
    /// The graph was made for this capture.
    owned: bool,
    /// Something was done that a capture does not permit.
    invalid: bool,
    /// The streams that are captured; the first one is where it began.
    members: Vec<Member>,
}

/// A captured stream.
struct Member {
    stream: Weak<Stream>,
    /// What the stream's next node waits for.
    tips: Vec<NodeId>,
    /// Handles that `hipStreamGetCaptureInfo_v2` has returned the address of.
    shown: Box<[hipGraphNode_t]>,
}

// SAFETY: the handles are numbers; nothing follows them.
unsafe impl Send for Member {}

impl Member {
    fn new(stream: &Arc<Stream>, tips: Vec<NodeId>) -> Self {
        Self { stream: Arc::downgrade(stream), tips, shown: Box::default() }
    }

    fn is(&self, stream: &Stream) -> bool {
        std::ptr::eq(self.stream.as_ptr(), stream)
    }

    fn has(&self, test: impl FnOnce(&Stream) -> bool) -> bool {
        self.stream.upgrade().is_some_and(|stream| test(&stream))
    }
}

impl Capture {
    fn member(&mut self, stream: &Stream) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.is(stream))
    }

    fn holds(&self, stream: &Stream) -> bool {
        self.members.iter().any(|member| member.is(stream))
    }

    fn status(&self) -> Status {
        match self.invalid {
            true => Status::hipStreamCaptureStatusInvalidated,
            false => Status::hipStreamCaptureStatusActive,
        }
    }
}

static CAPTURES: Mutex<Vec<Capture>> = Mutex::new(Vec::new());
/// How many captures go on.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT_CAPTURE: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// Which captures keep this thread from calls that are not safe meanwhile.
    static THREAD_MODE: Cell<Mode> = const { Cell::new(Mode::hipStreamCaptureModeGlobal) };
}

/// Whether any capture goes on. A thread that orders itself behind the beginning of one sees it.
#[inline]
fn any() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
}

fn lock() -> MutexGuard<'static, Vec<Capture>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Invalidates captures; an error if there are some.
fn refuse(captures: &mut [Capture], code: hipError_t, test: impl Fn(&Capture) -> bool) -> Result {
    let mut found = false;
    for capture in captures.iter_mut().filter(|capture| test(capture)) {
        capture.invalid = true;
        found = true;
    }
    if found { Err(code) } else { Ok(()) }
}

/// Whether the null stream would have to wait for a captured stream, or that for it.
fn is_implicit(capture: &Capture, stream: &Stream) -> bool {
    let ordered = |other: &Stream| other.is_blocking() && std::ptr::eq(other.device, stream.device);
    stream.role == Role::Null && capture.members.iter().any(|member| member.has(ordered))
}

/// Refuses calls that are not safe while something is captured, by the mode of the thread: allocating, freeing, and what waits
/// for devices. They invalidate the captures that forbid them.
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

/// Refuses waiting for a captured stream, asking it how far it is, and the like.
#[inline]
pub(crate) fn permit_stream_wait(stream: &Stream) -> Result {
    if any() { permit_stream_wait_in(&mut lock(), stream) } else { Ok(()) }
}

fn permit_stream_wait_in(captures: &mut [Capture], stream: &Stream) -> Result {
    refuse(captures, UNSUPPORTED, |capture| capture.holds(stream))?;
    refuse(captures, IMPLICIT, |capture| is_implicit(capture, stream))
}

/// Refuses work on a stream that has completed on return.
#[inline]
pub(crate) fn permit_waiting(stream: &Stream) -> Result {
    if !any() {
        return Ok(());
    }
    let mut captures = lock();
    permit_stream_wait_in(&mut captures, stream)?;
    permit_in(&mut captures)
}

/// Refuses waiting for a device of which a stream is captured.
#[inline]
pub(crate) fn permit_device_wait(device: &Device) -> Result {
    if !any() {
        return Ok(());
    }
    refuse(&mut lock(), UNSUPPORTED, |capture| {
        capture.members.iter().any(|member| member.has(|stream| std::ptr::eq(stream.device, device)))
    })
}

/// Ends the part that a stream has in a capture, as the stream ends.
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

fn remove(captures: &mut Vec<Capture>, index: usize) -> Capture {
    ACTIVE.fetch_sub(1, Ordering::Relaxed);
    captures.swap_remove(index)
}

/// Lets go of what an invalid capture has made.
fn discard(capture: Capture) {
    if capture.owned
        && let Some(runtime) = runtime()
    {
        // The program may have destroyed it.
        let _ = capture.graph.unpublish(runtime);
    }
}

/// A stream that is captured.
pub(crate) struct Capturing {
    capture: u64,
    stream: Arc<Stream>,
}

impl Capturing {
    /// Whether what is submitted to a stream goes to a capture. An error if that is invalid already, or if the stream is the
    /// null stream and would have to wait for a captured one.
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
        // The capture may have ended since, on another thread.
        let capture = captures.iter_mut().find(|capture| capture.id == self.capture).ok_or(INVALIDATED)?;
        let Capture { invalid, graph, members, .. } = capture;
        let member = members.iter_mut().find(|member| member.is(&self.stream)).ok_or(INVALIDATED)?;
        work(invalid, graph, &mut member.tips)
    }

    /// Makes the operation a node behind the stream's last ones.
    pub(crate) fn add(&self, op: Op) -> Result {
        let runtime = active()?;
        self.with(|_, graph, tips| {
            // Nodes that the program has destroyed are waited for no more.
            tips.retain(|id| graph.nodes().contains_key(id));
            *tips = vec![graph.add(runtime, op, tips)?];
            Ok(())
        })
    }

    /// Makes a node that allocates memory of the graph; returns its address.
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

    /// The point that the stream has come to.
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

/// A point of a captured stream, which an event stands for.
#[derive(Clone)]
pub(crate) struct CapturedPoint {
    capture: u64,
    tips: Vec<NodeId>,
}

impl CapturedPoint {
    /// Whether the capture still goes on.
    pub(crate) fn is_live(&self) -> bool {
        any() && lock().iter().any(|capture| capture.id == self.capture)
    }

    /// Refuses what is not permitted on the event, and invalidates the capture, if it still goes on.
    pub(crate) fn refuse(&self) -> Result {
        if !any() {
            return Ok(());
        }
        refuse(&mut lock(), hipError_t::hipErrorCapturedEvent, |capture| capture.id == self.capture)
    }

    /// Makes the stream wait for this point, and with that a part of the capture.
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

fn begin(
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
    captures.push(Capture {
        id: NEXT_CAPTURE.fetch_add(1, Ordering::Relaxed),
        mode,
        thread: std::thread::current().id(),
        graph,
        owned,
        invalid: false,
        members: vec![Member::new(&stream, tips)],
    });
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// `hipStreamBeginCapture`: any stream but the null stream.
pub(crate) unsafe extern "C" fn hipStreamBeginCapture(stream: hipStream_t, mode: Mode) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        begin(runtime, stream, mode, || {
            let graph = Graph::new();
            graph.publish(runtime)?;
            Ok((graph, Vec::new(), true))
        })
    })
}

/// `hipStreamBeginCaptureToGraph`: data of edges is not supported. A list of nothing is null.
pub(crate) unsafe extern "C" fn hipStreamBeginCaptureToGraph(
    stream: hipStream_t,
    handle: hipGraph_t,
    dependencies: *const hipGraphNode_t,
    data: *const hipGraphEdgeData,
    count: usize,
    mode: Mode,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        if !data.is_null() {
            return Err(hipError_t::hipErrorNotSupported);
        }
        let graph = graph(runtime, handle)?;
        if dependencies.is_null() != (count == 0) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's list has as many handles.
        let tips = unsafe { node_list(runtime, &graph, dependencies, count) }?;
        begin(runtime, stream, mode, || Ok((graph, tips, false)))
    })
}

/// `hipStreamEndCapture`: null and an error if the capture is invalid or has work that the stream has not joined.
pub(crate) unsafe extern "C" fn hipStreamEndCapture(stream: hipStream_t, out: *mut hipGraph_t) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let mut captures = lock();
        let index = captures.iter().position(|capture| capture.holds(&stream)).ok_or(ILLEGAL_STATE)?;
        // SAFETY: the caller passes null or a valid place for a handle.
        let out = unsafe { caller::place(out) }?;
        *out = std::ptr::null_mut();
        let capture = &captures[index];
        if !capture.members.first().is_some_and(|origin| origin.is(&stream)) {
            return Err(hipError_t::hipErrorStreamCaptureUnmatched);
        }
        let relaxed = capture.mode == Mode::hipStreamCaptureModeRelaxed;
        if !relaxed && capture.thread != std::thread::current().id() {
            return Err(hipError_t::hipErrorStreamCaptureWrongThread);
        }
        let capture = remove(&mut captures, index);
        drop(captures);
        let Some((origin, others)) = capture.members.split_first() else { return Err(INVALIDATED) };
        let result = if capture.invalid {
            Err(INVALIDATED)
        } else if !others.iter().all(|other| capture.graph.leads_to(&other.tips, &origin.tips)) {
            Err(hipError_t::hipErrorStreamCaptureUnjoined)
        } else {
            let handle = capture.graph.handle();
            if handle.is_null() { Err(INVALIDATED) } else { Ok(handle) }
        };
        match result {
            Ok(handle) => {
                *out = handle;
                Ok(())
            }
            Err(code) => {
                discard(capture);
                Err(code)
            }
        }
    })
}

/// What `hipStreamIsCapturing` and its kin say of a stream.
fn look<T>(
    stream: hipStream_t,
    found: impl FnOnce(&mut Capture, &Arc<Stream>) -> T,
    none: impl FnOnce() -> T,
) -> Result<T> {
    let runtime = active()?;
    let stream = resolve(runtime, stream)?;
    let mut captures = lock();
    if let Some(capture) = captures.iter_mut().find(|capture| capture.holds(&stream)) {
        return Ok(found(capture, &stream));
    }
    if captures.iter().any(|capture| is_implicit(capture, &stream)) {
        return Err(IMPLICIT);
    }
    Ok(none())
}

/// `hipStreamIsCapturing`.
pub(crate) unsafe extern "C" fn hipStreamIsCapturing(stream: hipStream_t, out: *mut Status) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        *out = look(stream, |capture, _| capture.status(), || Status::hipStreamCaptureStatusNone)?;
        Ok(())
    })
}

/// `hipStreamGetCaptureInfo`: the number may be null, and is written while the stream is captured.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo(
    stream: hipStream_t,
    status: *mut Status,
    id: *mut u64,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    unsafe {
        hipStreamGetCaptureInfo_v2(
            stream,
            status,
            id,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    }
}

/// `hipStreamGetCaptureInfo_v2`: all but the status may be null. The list is valid until the next call on the stream.
pub(crate) unsafe extern "C" fn hipStreamGetCaptureInfo_v2(
    stream: hipStream_t,
    status: *mut Status,
    id: *mut u64,
    graph: *mut hipGraph_t,
    dependencies: *mut *const hipGraphNode_t,
    count: *mut usize,
) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or valid places.
        let status = unsafe { caller::place(status) }?;
        // SAFETY: the caller passes null or valid places.
        let (id, graph, dependencies, count) = unsafe {
            (
                caller::optional_place(id)?,
                caller::optional_place(graph)?,
                caller::optional_place(dependencies)?,
                caller::optional_place(count)?,
            )
        };
        let found = |capture: &mut Capture, stream: &Arc<Stream>| {
            let (number, current, shown) = (capture.id, capture.status(), capture.graph.clone());
            let mut list = (std::ptr::null(), 0);
            if let Some(member) = capture.member(stream) {
                let nodes = shown.nodes();
                let handles = member.tips.iter().filter_map(|id| nodes.get(id));
                member.shown = handles.map(|node| node.handle as hipGraphNode_t).collect();
                list = (member.shown.as_ptr(), member.shown.len());
            }
            if let Some(id) = id {
                *id = number;
            }
            if let Some(graph) = graph {
                *graph = shown.handle();
            }
            if let Some(dependencies) = dependencies {
                *dependencies = list.0;
            }
            if let Some(count) = count {
                *count = list.1;
            }
            current
        };
        *status = look(stream, found, || Status::hipStreamCaptureStatusNone)?;
        Ok(())
    })
}

/// `hipStreamUpdateCaptureDependencies`: adds to or replaces what the stream's next node waits for.
pub(crate) unsafe extern "C" fn hipStreamUpdateCaptureDependencies(
    stream: hipStream_t,
    dependencies: *mut hipGraphNode_t,
    count: usize,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let runtime = active()?;
        let stream = resolve(runtime, stream)?;
        let mut captures = lock();
        let capture = captures.iter_mut().find(|capture| capture.holds(&stream)).ok_or(ILLEGAL_STATE)?;
        let replace = match UpdateFlags(flags) {
            UpdateFlags::hipStreamAddCaptureDependencies => false,
            UpdateFlags::hipStreamSetCaptureDependencies => true,
            _ => return Err(INVALID_VALUE),
        };
        if capture.invalid {
            return Err(INVALIDATED);
        }
        // SAFETY: the caller's list has as many handles.
        let ids = unsafe { node_list(runtime, &capture.graph, dependencies, count) }?;
        let member = capture.member(&stream).ok_or(ILLEGAL_STATE)?;
        if replace {
            member.tips.clear();
        }
        for id in ids {
            if !member.tips.contains(&id) {
                member.tips.push(id);
            }
        }
        Ok(())
    })
}

/// `hipThreadExchangeStreamCaptureMode`.
pub(crate) unsafe extern "C" fn hipThreadExchangeStreamCaptureMode(mode: *mut Mode) -> hipError_t {
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let mode = unsafe { caller::place(mode) }?;
        if mode.0 > Mode::hipStreamCaptureModeRelaxed.0 {
            return Err(INVALID_VALUE);
        }
        *mode = THREAD_MODE.replace(*mode);
        Ok(())
    })
}
