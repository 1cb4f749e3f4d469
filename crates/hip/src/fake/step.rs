//! A device whose streams advance one step at a time, under a test's control, and which checks who touches
//! which memory.
//!
//! Each piece of work begins with one step, ends with another, and touches its memory in between. A call that
//! waits for work completes that work and its predecessors, and nothing else. A stream that fails drops its
//! work, including waits. A copy that has begun still runs to its end, and the stream has not ended before
//! that.
//!
//! The checked rule does not depend on how streams are ordered. If two pieces of work use the same bytes and
//! one of them writes, the one submitted first must be over or dropped before the other begins. The host may
//! read and free only memory that no remaining work will touch.

use std::alloc::Layout;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::*;

use super::OK;
use super::graph::{copying, setting};
use crate::backend::Backend;
use crate::device::Device;
use crate::stream::Stream;
use crate::uri::{DeviceUri, Selection};

const FAULT: hipError_t = hipError_t::hipErrorLaunchFailure;
const INVALID: hipError_t = hipError_t::hipErrorInvalidValue;

#[derive(Default)]
struct World {
    handles: usize,
    /// How much work the program has submitted in all.
    given: u64,
    streams: BTreeMap<usize, Queue>,
    /// What each event marks; `None` until it is recorded.
    events: HashMap<usize, Option<Mark>>,
    /// Sizes by address.
    memory: BTreeMap<usize, usize>,
    /// All memory ever allocated. It is released when nothing can use it any more, even after a test's
    /// mistakes.
    ever: Vec<(usize, Layout)>,
    /// Memory freed in stream order, with its size and where in the stream the free takes effect.
    freed: Vec<(usize, usize, Mark)>,
    graphs: HashMap<usize, Vec<Work>>,
    executables: HashMap<usize, Vec<Work>>,
    /// Violations of the rule.
    broken: Vec<String>,
}

#[derive(Default)]
struct Queue {
    device: c_int,
    left: VecDeque<Op>,
    /// Whether the first of those has begun.
    begun: bool,
    /// How many were submitted, and how many of them are over.
    given: u64,
    over: u64,
    /// How many were over when it failed.
    failed: Option<u64>,
    /// Functions to call once it has ended after a failure.
    late: Vec<Callback>,
}

enum Op {
    /// With its place in the program.
    Work(u64, Vec<Work>),
    Wait(Mark),
    Call(Callback),
}

/// A place in a stream: the number of pieces of work that are over.
#[derive(Clone, Copy, Debug)]
struct Mark {
    stream: usize,
    at: u64,
}

#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(hipStream_t, hipError_t, *mut c_void),
    stream: usize,
    data: usize,
}

/// Work that is done as one.
#[derive(Clone)]
struct Work {
    reads: Option<Range<usize>>,
    writes: Option<Range<usize>>,
    run: Arc<dyn Fn() + Send + Sync>,
}

impl Work {
    fn touches(&self) -> impl Iterator<Item = (&Range<usize>, bool)> {
        self.reads.iter().map(|range| (range, false)).chain(self.writes.iter().map(|range| (range, true)))
    }

    fn conflicts(&self, bytes: &Range<usize>, write: bool) -> bool {
        let overlaps = |range: &Range<usize>| range.start < bytes.end && bytes.start < range.end;
        self.touches().any(|(range, writes)| (write || writes) && overlaps(range))
    }
}

static WORLD: LazyLock<Mutex<World>> = LazyLock::new(Mutex::default);

fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    fn handle(&mut self) -> usize {
        self.handles += 16;
        self.handles
    }

    fn queue(&mut self, stream: usize) -> &mut Queue {
        self.streams.entry(stream).or_default()
    }

    fn is_reached(&self, mark: Mark) -> bool {
        self.streams.get(&mark.stream).is_none_or(|queue| queue.over >= mark.at)
    }

    /// Whether the stream failed before it reached the mark.
    fn has_failed(&self, mark: Mark) -> bool {
        self.streams.get(&mark.stream).and_then(|queue| queue.failed).is_some_and(|over| over < mark.at)
    }

    fn give(&mut self, stream: usize, op: Op) -> hipError_t {
        let queue = self.queue(stream);
        if queue.failed.is_some() {
            return FAULT;
        }
        queue.given += 1;
        queue.left.push_back(op);
        OK
    }

    fn work(&mut self, stream: usize, work: Vec<Work>) -> hipError_t {
        self.given += 1;
        let place = self.given;
        self.give(stream, Op::Work(place, work))
    }

    /// All remaining work, with its stream and place.
    fn left(&self) -> impl Iterator<Item = (usize, u64, &Work)> {
        let ops =
            self.streams.iter().flat_map(|(stream, queue)| queue.left.iter().map(move |op| (*stream, op)));
        ops.filter_map(|(stream, op)| match op {
            Op::Work(place, work) => Some(work.iter().map(move |work| (stream, *place, work))),
            _ => None,
        })
        .flatten()
    }

    /// Checks that no remaining work touches the bytes.
    fn nobody_touches(&mut self, who: &str, bytes: &Range<usize>, write: bool) {
        let found = self.left().find(|(.., work)| work.conflicts(bytes, write));
        if let Some((stream, place, _)) = found {
            self.broken.push(format!("{who} has {bytes:x?}, which work {place} of stream {stream} touches"));
        }
    }

    /// Makes a stream take its next step, unless it has to wait. Returns the functions to call.
    fn step(&mut self, stream: usize) -> (bool, Vec<Callback>) {
        let Some(queue) = self.streams.get(&stream) else { return (false, Vec::new()) };
        let mut called = Vec::new();
        match queue.left.front() {
            None => return (false, called),
            Some(Op::Wait(mark)) if !self.is_reached(*mark) => return (false, called),
            Some(Op::Wait(_)) => {}
            Some(Op::Call(callback)) => called.push(*callback),
            Some(Op::Work(place, work)) => {
                let (place, work) = (*place, work.clone());
                if !queue.begun {
                    self.begin(stream, place, &work);
                    return (true, called);
                }
                work.iter().for_each(|work| (work.run)());
            }
        }
        let queue = self.queue(stream);
        queue.left.pop_front();
        queue.begun = false;
        queue.over += 1;
        if queue.failed.is_some() {
            queue.over = queue.given;
            called.append(&mut queue.late);
        }
        (true, called)
    }

    fn begin(&mut self, stream: usize, place: u64, work: &[Work]) {
        let mut broken = Vec::new();
        for (bytes, write) in work.iter().flat_map(Work::touches) {
            let owner = self.memory.range(..=bytes.start).next_back();
            if owner.is_none_or(|(start, size)| bytes.end > start + size) {
                broken.push(format!(
                    "work {place} of stream {stream} touches {bytes:x?}, which is not allocated"
                ));
            }
            let before = self.left().find(|(other, earlier, work)| {
                *other != stream && *earlier < place && work.conflicts(bytes, write)
            });
            if let Some((other, earlier, _)) = before {
                broken.push(format!(
                    "work {place} of stream {stream} touches {bytes:x?} before work {earlier} of stream {other} is over"
                ));
            }
        }
        self.broken.append(&mut broken);
        self.queue(stream).begun = true;
    }
}

/// Makes a stream take a step. `false` if it cannot.
fn step_of(stream: usize) -> bool {
    let ((stepped, called), failed) = {
        let mut world = world();
        let stepped = world.step(stream);
        (stepped, world.queue(stream).failed.is_some())
    };
    for Callback { function, stream, data } in called {
        let status = if failed { FAULT } else { OK };
        let data = std::ptr::with_exposed_provenance_mut(data);
        // SAFETY: the program passed the function to be called with this data, once.
        unsafe { function(std::ptr::without_provenance_mut(stream), status, data) };
    }
    stepped
}

/// Completes all work before a mark.
fn reach(mark: Mark) {
    loop {
        let waits_for = {
            let world = world();
            if world.is_reached(mark) {
                return;
            }
            match world.streams.get(&mark.stream).and_then(|queue| queue.left.front()) {
                Some(Op::Wait(other)) if !world.is_reached(*other) => Some(*other),
                _ => None,
            }
        };
        match waits_for {
            Some(other) => reach(other),
            None => assert!(step_of(mark.stream), "{mark:?} is never reached"),
        }
    }
}

/// The device for one test at a time, with nothing done yet.
pub(crate) struct Session {
    pub(crate) device: Device,
    _one: MutexGuard<'static, ()>,
}

impl Session {
    pub(crate) fn begin() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        static NEXT: AtomicI32 = AtomicI32::new(0);
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let handles = world().handles;
        *world() = World { handles, ..World::default() };
        let ordinal = NEXT.fetch_add(1, Ordering::Relaxed);
        let uri = DeviceUri::Amd(Selection::Ordinal(ordinal.unsigned_abs()));
        let device = Device::attach(Backend::Amd, table(), ordinal, &uri, &Vec::new().into());
        Self { device: device.expect("a fake device"), _one: one }
    }

    /// Makes the stream take at most `count` steps.
    pub(crate) fn steps(&self, stream: &Stream, count: usize) {
        let _ = (0..count).all(|_| step_of(stream.as_raw().addr()));
    }

    /// Makes the stream fail at its current work.
    pub(crate) fn fault(&self, stream: &Stream) {
        let stream = stream.as_raw().addr();
        let called = {
            let mut world = world();
            let queue = world.queue(stream);
            if queue.failed.is_some() {
                return;
            }
            queue.failed = Some(queue.over);
            let is_copy = matches!(queue.left.front(), Some(Op::Work(_, work)) if work.iter().all(|work| work.reads.is_some()));
            let goes_on = usize::from(queue.begun && is_copy);
            let dropped: Vec<Op> = queue.left.drain(goes_on.min(queue.left.len())..).collect();
            queue.late.extend(dropped.into_iter().filter_map(|op| match op {
                Op::Call(callback) => Some(callback),
                _ => None,
            }));
            if goes_on == 0 {
                queue.begun = false;
                queue.over = queue.given;
                std::mem::take(&mut queue.late)
            } else {
                Vec::new()
            }
        };
        for Callback { function, stream, data } in called {
            let data = std::ptr::with_exposed_provenance_mut(data);
            // SAFETY: the program passed the function to be called with this data, once.
            unsafe { function(std::ptr::without_provenance_mut(stream), FAULT, data) };
        }
    }

    /// Checks that the host may access these elements now.
    pub(crate) fn host_sees<T>(&self, elements: &[T], write: bool) {
        let range = elements.as_ptr_range();
        world().nobody_touches("the host", &(range.start.addr()..range.end.addr()), write);
    }

    /// How many pieces of work the stream has left.
    pub(crate) fn left(&self, stream: &Stream) -> usize {
        world().queue(stream.as_raw().addr()).left.len()
    }

    /// The violations of the rule so far.
    pub(crate) fn broken(&self) -> Vec<String> {
        world().broken.clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut world = world();
        // Unless the test has failed, only the device's own stream remains. Remaining work is never done.
        world.streams.clear();
        for (address, layout) in std::mem::take(&mut world.ever) {
            // SAFETY: the memory was allocated with this layout, and is released once. No stream has work.
            // The device's cache, or a buffer of a failed test, may still refer to it, but no other test uses
            // that.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
        }
    }
}

fn table() -> &'static Table {
    static TABLE: LazyLock<&'static Table> = LazyLock::new(|| {
        let mut builder = Builder::new("fake steps", "0");
        builder
            .hipSetDevice(super::set_device)
            .hipGetDevicePropertiesR0600(super::properties)
            .hipMemGetInfo(super::memory_info)
            .hipStreamCreateWithFlags(stream_create)
            .hipStreamDestroy(stream_destroy)
            .hipStreamSynchronize(stream_synchronize)
            .hipStreamQuery(stream_query)
            .hipStreamWaitEvent(stream_wait)
            .hipStreamAddCallback(add_callback)
            .hipEventCreateWithFlags(event_create)
            .hipEventRecord(event_record)
            .hipEventSynchronize(event_synchronize)
            .hipEventQuery(event_query)
            .hipEventDestroy(event_destroy)
            .hipMalloc(malloc)
            .hipMallocManaged(malloc_managed)
            .hipMallocAsync(malloc_async)
            .hipFree(free)
            .hipFreeAsync(free_async)
            .hipMemcpyAsync(copy)
            .hipMemsetD8Async(set8)
            .hipMemsetD32Async(set32)
            .hipGraphCreate(graph_create)
            .hipGraphDestroy(graph_destroy)
            .hipGraphAddMemsetNode(graph_set)
            .hipGraphAddMemcpyNode1D(graph_copy)
            .hipGraphInstantiate(graph_instantiate)
            .hipGraphExecDestroy(graph_exec_destroy)
            .hipGraphLaunch(graph_launch);
        builder.extensions(Extensions { stream_fault_report: Some(fault_report), ..Extensions::NONE });
        // SAFETY: each function does what the tests need of its contract.
        unsafe { builder.finish() }
    });
    *TABLE
}

unsafe extern "C" fn stream_create(out: *mut hipStream_t, _flags: c_uint) -> hipError_t {
    let mut world = world();
    let handle = world.handle();
    world.queue(handle).device = super::CURRENT.get();
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn stream_destroy(stream: hipStream_t) -> hipError_t {
    let mut world = world();
    let left = world.streams.remove(&stream.addr()).map_or(0, |queue| queue.left.len());
    if left > 0 {
        world.broken.push(format!("stream {} is destroyed with work", stream.addr()));
    }
    OK
}

/// Completes all work of the stream.
fn finish(stream: usize) -> hipError_t {
    let at = world().queue(stream).given;
    reach(Mark { stream, at });
    if world().queue(stream).failed.is_some() { FAULT } else { OK }
}

unsafe extern "C" fn stream_synchronize(stream: hipStream_t) -> hipError_t {
    finish(stream.addr())
}

unsafe extern "C" fn stream_query(stream: hipStream_t) -> hipError_t {
    let mut world = world();
    match world.queue(stream.addr()) {
        queue if !queue.left.is_empty() => hipError_t::hipErrorNotReady,
        queue if queue.failed.is_some() => FAULT,
        _ => OK,
    }
}

unsafe extern "C" fn stream_wait(stream: hipStream_t, event: hipEvent_t, _flags: c_uint) -> hipError_t {
    let mut world = world();
    match world.events.get(&event.addr()) {
        Some(Some(mark)) => {
            let mark = *mark;
            world.give(stream.addr(), Op::Wait(mark))
        }
        Some(None) => OK,
        None => INVALID,
    }
}

unsafe extern "C" fn add_callback(
    stream: hipStream_t,
    function: hipStreamCallback_t,
    data: *mut c_void,
    _flags: c_uint,
) -> hipError_t {
    let Some(function) = function else { return INVALID };
    let (stream, data) = (stream.addr(), data.expose_provenance());
    world().give(stream, Op::Call(Callback { function, stream, data }))
}

unsafe extern "C" fn event_create(out: *mut hipEvent_t, _flags: c_uint) -> hipError_t {
    let mut world = world();
    let handle = world.handle();
    world.events.insert(handle, None);
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn event_record(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    let mut world = world();
    let queue = world.queue(stream.addr());
    if queue.failed.is_some() {
        return FAULT;
    }
    let mark = Mark { stream: stream.addr(), at: queue.given };
    world.events.insert(event.addr(), Some(mark));
    OK
}

unsafe extern "C" fn event_synchronize(event: hipEvent_t) -> hipError_t {
    let mark = world().events.get(&event.addr()).copied().flatten();
    let Some(mark) = mark else { return OK };
    reach(mark);
    if world().has_failed(mark) { FAULT } else { OK }
}

unsafe extern "C" fn event_query(event: hipEvent_t) -> hipError_t {
    let world = world();
    match world.events.get(&event.addr()).copied().flatten() {
        Some(mark) if !world.is_reached(mark) => hipError_t::hipErrorNotReady,
        Some(mark) if world.has_failed(mark) => FAULT,
        _ => OK,
    }
}

unsafe extern "C" fn event_destroy(event: hipEvent_t) -> hipError_t {
    if world().events.remove(&event.addr()).is_some() { OK } else { INVALID }
}

unsafe extern "C" fn malloc(out: *mut *mut c_void, size: usize) -> hipError_t {
    let layout = Layout::from_size_align(size, 256).expect("a size");
    // SAFETY: nothing asks for zero bytes.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    let mut world = world();
    world.memory.insert(pointer.expose_provenance(), size);
    world.ever.push((pointer.expose_provenance(), layout));
    // SAFETY: the caller gives a place.
    unsafe { *out = pointer.cast() };
    OK
}

unsafe extern "C" fn malloc_managed(out: *mut *mut c_void, size: usize, _flags: c_uint) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { malloc(out, size) }
}

unsafe extern "C" fn free(pointer: *mut c_void) -> hipError_t {
    let mut world = world();
    let Some(size) = world.memory.remove(&pointer.addr()) else { return INVALID };
    world.nobody_touches("who frees", &(pointer.addr()..pointer.addr() + size), true);
    OK
}

/// Reuses memory that this stream has freed, or whose free has taken effect; else allocates from the device.
unsafe extern "C" fn malloc_async(out: *mut *mut c_void, size: usize, stream: hipStream_t) -> hipError_t {
    {
        let mut world = world();
        if world.queue(stream.addr()).failed.is_some() {
            return FAULT;
        }
        let suits = |(_, known, mark): &(usize, usize, Mark)| {
            *known == size && (mark.stream == stream.addr() || world.is_reached(*mark))
        };
        if let Some(index) = world.freed.iter().position(suits) {
            let (address, ..) = world.freed.swap_remove(index);
            // SAFETY: the caller gives a place.
            unsafe { *out = std::ptr::with_exposed_provenance_mut(address) };
            return OK;
        }
    }
    // SAFETY: as the caller's.
    unsafe { malloc(out, size) }
}

unsafe extern "C" fn free_async(pointer: *mut c_void, stream: hipStream_t) -> hipError_t {
    let mut world = world();
    let Some(size) = world.memory.get(&pointer.addr()).copied() else { return INVALID };
    let queue = world.queue(stream.addr());
    if queue.failed.is_some() {
        return FAULT;
    }
    let mark = Mark { stream: stream.addr(), at: queue.given };
    world.freed.push((pointer.addr(), size, mark));
    OK
}

fn copy_of(destination: *mut c_void, source: *const c_void, bytes: usize, kind: hipMemcpyKind) -> Work {
    let range = |start: usize| Some(start..start + bytes);
    Work {
        // Host memory is not checked.
        reads: range(source.addr()).filter(|_| kind != hipMemcpyKind::hipMemcpyHostToDevice),
        writes: range(destination.addr()).filter(|_| kind != hipMemcpyKind::hipMemcpyDeviceToHost),
        run: Arc::new(copying(destination, source, bytes)),
    }
}

fn set_of<T: Copy + Send + Sync + 'static>(place: *mut c_void, value: T, count: usize) -> Work {
    let range = place.addr()..place.addr() + count * size_of::<T>();
    Work { reads: None, writes: Some(range), run: Arc::new(setting(place, value, count)) }
}

unsafe extern "C" fn copy(
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    world().work(stream.addr(), vec![copy_of(destination, source, bytes, kind)])
}

unsafe extern "C" fn set8(place: hipDeviceptr_t, value: u8, count: usize, stream: hipStream_t) -> hipError_t {
    world().work(stream.addr(), vec![set_of(place, value, count)])
}

unsafe extern "C" fn set32(
    place: hipDeviceptr_t,
    value: c_int,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    world().work(stream.addr(), vec![set_of(place, value, count)])
}

unsafe extern "C" fn graph_create(out: *mut hipGraph_t, _flags: c_uint) -> hipError_t {
    let mut world = world();
    let handle = world.handle();
    world.graphs.insert(handle, Vec::new());
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn graph_destroy(graph: hipGraph_t) -> hipError_t {
    if world().graphs.remove(&graph.addr()).is_some() { OK } else { INVALID }
}

/// # Safety
/// The result is a place to write to.
unsafe fn add_node(out: *mut hipGraphNode_t, graph: hipGraph_t, work: Work) -> hipError_t {
    let mut world = world();
    let handle = world.handle();
    world.graphs.get_mut(&graph.addr()).expect("a graph").push(work);
    // SAFETY: as this function's contract.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn graph_set(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    _dependencies: *const hipGraphNode_t,
    _count: usize,
    params: *const hipMemsetParams,
) -> hipError_t {
    // SAFETY: the caller gives the parameters and a place. Graphs of the tests set words.
    unsafe {
        let params = *params;
        add_node(out, graph, set_of(params.dst, params.value, params.width))
    }
}

unsafe extern "C" fn graph_copy(
    out: *mut hipGraphNode_t,
    graph: hipGraph_t,
    _dependencies: *const hipGraphNode_t,
    _count: usize,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe { add_node(out, graph, copy_of(destination, source, bytes, kind)) }
}

unsafe extern "C" fn graph_instantiate(
    out: *mut hipGraphExec_t,
    graph: hipGraph_t,
    _node: *mut hipGraphNode_t,
    _log: *mut c_char,
    _size: usize,
) -> hipError_t {
    let mut world = world();
    let handle = world.handle();
    let nodes = world.graphs[&graph.addr()].clone();
    world.executables.insert(handle, nodes);
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn graph_exec_destroy(executable: hipGraphExec_t) -> hipError_t {
    if world().executables.remove(&executable.addr()).is_some() { OK } else { INVALID }
}

unsafe extern "C" fn graph_launch(executable: hipGraphExec_t, stream: hipStream_t) -> hipError_t {
    let mut world = world();
    let nodes = world.executables[&executable.addr()].clone();
    world.work(stream.addr(), nodes)
}

unsafe extern "C" fn fault_report(stream: hipStream_t, out: *mut c_char, size: usize) -> usize {
    if world().queue(stream.addr()).failed.is_none() {
        return 0;
    }
    if size > 1 {
        // SAFETY: the caller gives `size` bytes.
        unsafe { out.cast::<[u8; 2]>().write_unaligned(*b"k\0") };
    }
    1
}
