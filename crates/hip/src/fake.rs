//! A HIP implementation for unit tests. Device memory is host memory, work is done when it is enqueued, and
//! calls on streams are recorded. It has two devices that allocate directly, and as many caching ones as
//! tests request.

pub(crate) mod driver;
mod external;
mod graph;
mod ipc;
pub(crate) mod step;
mod virtual_memory;

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use hip_sys::*;

use crate::backend::Backend;
use crate::device::Device;
use crate::memory::Allocator;
use crate::stream::Stream;
use crate::uri::{DeviceUri, Selection};

pub(crate) use external::fail_external;
pub(crate) use graph::{dependencies, fail_after_nodes, graph_counts};
pub(crate) use ipc::opened;
pub(crate) use virtual_memory::{
    GRANULARITY, fail_to_unmap, forget_virtual_memory, refuse_access, virtual_memory,
};

const OK: hipError_t = hipError_t::hipSuccess;
/// Allocations above this fail on the first two devices.
const MEMORY: usize = 1 << 20;
/// All memory of each other device.
pub(crate) const CACHED_MEMORY: usize = 80 << 20;

thread_local! {
    static CURRENT: Cell<c_int> = const { Cell::new(0) };
    /// How many of this thread's next waits and queries fail.
    static FAILING_WAITS: Cell<usize> = const { Cell::new(0) };
}

/// Makes this thread's next `count` waits and queries fail, whatever the state of the work.
pub(crate) fn fail_waits(count: usize) {
    FAILING_WAITS.set(count);
}

thread_local! {
    /// How many of this thread's next copies are reported as refused, though they are made.
    static REFUSED_COPIES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reports this thread's next `count` copies as refused, though they are made.
pub(crate) fn refuse_copies(count: usize) {
    REFUSED_COPIES.set(count);
}

/// The status that an enqueued copy returns.
fn copied(status: hipError_t) -> hipError_t {
    match REFUSED_COPIES.get() {
        0 => status,
        left => {
            REFUSED_COPIES.set(left - 1);
            hipError_t::hipErrorUnknown
        }
    }
}

/// Whether this wait or query fails.
fn wait_fails() -> bool {
    FAILING_WAITS.replace(FAILING_WAITS.get().saturating_sub(1)) > 0
}

/// The error of a wait while another thread captures.
const WAIT_FAILED: hipError_t = hipError_t::hipErrorStreamCaptureUnsupported;

#[derive(Default)]
struct State {
    next: usize,
    /// The calls on each stream, by handle.
    calls: HashMap<usize, Vec<&'static str>>,
    /// Faulted streams, with their reports.
    faults: HashMap<usize, String>,
    /// Streams that queries report as busy.
    busy: HashSet<usize>,
    /// Live allocations, their sizes and devices.
    memory: HashMap<usize, (usize, c_int)>,
    /// The stream that each event was recorded on.
    events: HashMap<usize, usize>,
    /// All events, and their devices.
    live_events: HashMap<usize, c_int>,
    /// Flags and priority of each stream.
    streams: HashMap<usize, (c_uint, c_int)>,
    /// Streams that make no progress.
    held: HashSet<usize>,
    /// Pending callbacks by stream, and the streams whose callback is running.
    callbacks: HashMap<usize, VecDeque<Callback>>,
    calling: HashSet<usize>,
    graphs: graph::Graphs,
    /// How often each allocation was opened as another process's.
    opened: HashMap<usize, usize>,
    /// Memory that was imported and not destroyed.
    imported: HashSet<usize>,
    virtual_memory: virtual_memory::VirtualMemory,
}

#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(hipStream_t, hipError_t, *mut c_void),
    data: usize,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
/// Something was released or called.
static PROGRESS: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn handle(&mut self) -> usize {
        self.next += 16;
        self.next
    }

    fn call(&mut self, stream: hipStream_t, name: &'static str) -> hipError_t {
        self.calls.entry(stream.addr()).or_default().push(name);
        self.status(stream.addr())
    }

    fn status(&self, stream: usize) -> hipError_t {
        if self.faults.contains_key(&stream) { hipError_t::hipErrorLaunchFailure } else { OK }
    }

    fn is_busy(&self, stream: usize) -> bool {
        !self.faults.contains_key(&stream)
            && (self.held.contains(&stream)
                || self.calling.contains(&stream)
                || self.callbacks.contains_key(&stream))
    }
}

/// One of the fake devices, 0 or 1, without a cache.
pub(crate) fn device(ordinal: i32) -> Device {
    let device = attach(ordinal);
    device.set_allocator(Allocator::Direct).expect("every device has this allocator");
    device
}

/// A device of its own for each caller, with a cache and little memory.
pub(crate) fn caching_device() -> Device {
    static NEXT: AtomicI32 = AtomicI32::new(2);
    let device = attach(NEXT.fetch_add(1, Ordering::Relaxed));
    device.set_allocator(Allocator::Caching).expect("every device has this allocator");
    device
}

fn attach(ordinal: i32) -> Device {
    static TABLE: LazyLock<&'static Table> = LazyLock::new(|| {
        let mut builder = Builder::new("fake", "0");
        builder
            .hipSetDevice(set_device)
            .hipGetDevicePropertiesR0600(properties)
            .hipMemGetInfo(memory_info)
            .hipStreamCreateWithFlags(stream_create)
            .hipStreamCreateWithPriority(stream_create_with_priority)
            .hipDeviceGetStreamPriorityRange(priorities)
            .hipStreamGetFlags(stream_flags)
            .hipStreamGetPriority(stream_priority)
            .hipDeviceSynchronize(device_synchronize)
            .hipStreamAddCallback(add_callback)
            .hipStreamDestroy(stream_destroy)
            .hipStreamSynchronize(stream_synchronize)
            .hipStreamQuery(stream_query)
            .hipStreamWaitEvent(stream_wait)
            .hipEventCreateWithFlags(event_create)
            .hipEventRecord(event_record)
            .hipEventSynchronize(event_synchronize)
            .hipEventQuery(event_query)
            .hipEventElapsedTime(elapsed)
            .hipEventDestroy(event_destroy)
            .hipMalloc(malloc)
            .hipFree(free)
            .hipHostMalloc(host_malloc)
            .hipHostFree(free)
            .hipMemcpyAsync(copy)
            .hipMemcpyPeerAsync(copy_peer)
            .hipMemsetD8Async(set8)
            .hipMemsetD16Async(set16)
            .hipMemsetD32Async(set32);
        external::provide(&mut builder);
        graph::provide(&mut builder);
        ipc::provide(&mut builder);
        virtual_memory::provide(&mut builder);
        builder.extensions(Extensions { stream_fault_report: Some(fault_report), ..Extensions::NONE });
        // SAFETY: each function does what the tests need of its contract.
        unsafe { builder.finish() }
    });
    let uri = DeviceUri::Amd(Selection::Ordinal(ordinal.unsigned_abs()));
    Device::attach(Backend::Amd, *TABLE, ordinal, &uri, &Vec::new().into()).expect("a fake device")
}

/// The calls on the stream since the last time this was called.
pub(crate) fn calls(stream: &Stream) -> Vec<&'static str> {
    state().calls.remove(&stream.as_raw().addr()).unwrap_or_default()
}

/// Makes everything on the stream fail from now on.
pub(crate) fn fault(stream: &Stream, report: &str) {
    let mut state = state();
    state.faults.insert(stream.as_raw().addr(), report.to_owned());
    run_callbacks(state, stream.as_raw().addr());
    PROGRESS.notify_all();
}

/// Sets whether queries report the stream as busy.
pub(crate) fn set_busy(stream: &Stream, busy: bool) {
    let (mut state, handle) = (state(), stream.as_raw().addr());
    if busy {
        state.busy.insert(handle)
    } else {
        state.busy.remove(&handle)
    };
}

/// How many allocations there are on a device.
pub(crate) fn allocations(device: &Device) -> usize {
    state().memory.values().filter(|(_, ordinal)| ordinal.unsigned_abs() == device.ordinal()).count()
}

/// How many events there are on a device.
pub(crate) fn events(device: &Device) -> usize {
    state().live_events.values().filter(|ordinal| ordinal.unsigned_abs() == device.ordinal()).count()
}

/// Whether the address is allocated.
pub(crate) fn is_allocated(address: crate::DeviceAddress) -> bool {
    state().memory.contains_key(&(address.0 as usize))
}

unsafe extern "C" fn set_device(ordinal: c_int) -> hipError_t {
    CURRENT.set(ordinal);
    OK
}

unsafe extern "C" fn properties(out: *mut hipDeviceProp_tR0600, ordinal: c_int) -> hipError_t {
    // SAFETY: the caller gives a place for the properties; zeroes are valid in all its fields.
    let out = unsafe {
        out.write_bytes(0, 1);
        &mut *out
    };
    for (place, byte) in out.gcnArchName.iter_mut().zip(*b"gfx1100") {
        *place = byte as c_char;
    }
    for (place, byte) in out.uuid.bytes.iter_mut().zip(*b"00000000000000a0") {
        *place = byte as c_char;
    }
    out.uuid.bytes[15] = (b'0' as c_char).wrapping_add(ordinal as c_char);
    out.warpSize = 32;
    out.sharedMemPerBlock = 65536;
    out.maxThreadsPerBlock = 1024;
    OK
}

unsafe extern "C" fn memory_info(free: *mut usize, total: *mut usize) -> hipError_t {
    // SAFETY: the caller gives two places.
    unsafe { (*free, *total) = (MEMORY, MEMORY) };
    OK
}

unsafe extern "C" fn stream_create(out: *mut hipStream_t, flags: c_uint) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { stream_create_with_priority(out, flags, 0) }
}

unsafe extern "C" fn stream_create_with_priority(
    out: *mut hipStream_t,
    flags: c_uint,
    priority: c_int,
) -> hipError_t {
    let mut state = state();
    let handle = state.handle();
    state.streams.insert(handle, (flags, priority));
    // SAFETY: the caller gives a place.
    unsafe { *out = std::ptr::without_provenance_mut(handle) };
    OK
}

unsafe extern "C" fn priorities(least: *mut c_int, greatest: *mut c_int) -> hipError_t {
    // SAFETY: the caller gives two places.
    unsafe { (*least, *greatest) = (1, -1) };
    OK
}

unsafe extern "C" fn stream_flags(stream: hipStream_t, out: *mut c_uint) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe { *out = state().streams.get(&stream.addr()).map_or(0, |(flags, _)| *flags) };
    OK
}

unsafe extern "C" fn stream_priority(stream: hipStream_t, out: *mut c_int) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe { *out = state().streams.get(&stream.addr()).map_or(0, |(_, priority)| *priority) };
    OK
}

unsafe extern "C" fn stream_destroy(_stream: hipStream_t) -> hipError_t {
    OK
}

unsafe extern "C" fn stream_synchronize(stream: hipStream_t) -> hipError_t {
    if wait_fails() {
        return WAIT_FAILED;
    }
    let mut state = state();
    while state.is_busy(stream.addr()) {
        state = PROGRESS.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.call(stream, "synchronize")
}

/// All work is done unless its stream is held.
unsafe extern "C" fn device_synchronize() -> hipError_t {
    if wait_fails() { WAIT_FAILED } else { OK }
}

/// Not recorded, because it changes nothing.
unsafe extern "C" fn stream_query(stream: hipStream_t) -> hipError_t {
    if wait_fails() {
        return WAIT_FAILED;
    }
    let state = state();
    match stream.addr() {
        handle if state.faults.contains_key(&handle) => hipError_t::hipErrorLaunchFailure,
        handle if state.busy.contains(&handle) || state.is_busy(handle) => hipError_t::hipErrorNotReady,
        _ => OK,
    }
}

unsafe extern "C" fn add_callback(
    stream: hipStream_t,
    function: hipStreamCallback_t,
    data: *mut c_void,
    _flags: c_uint,
) -> hipError_t {
    let mut state = state();
    let status = state.call(stream, "callback");
    if let (OK, Some(function)) = (status, function) {
        let callback = Callback { function, data: data.expose_provenance() };
        state.callbacks.entry(stream.addr()).or_default().push_back(callback);
        run_callbacks(state, stream.addr());
    }
    status
}

/// Runs the stream's callbacks on a thread, unless the stream is held.
fn run_callbacks(mut state: MutexGuard<'_, State>, stream: usize) {
    let held = state.held.contains(&stream) && !state.faults.contains_key(&stream);
    if held || !state.callbacks.contains_key(&stream) || !state.calling.insert(stream) {
        return;
    }
    drop(state);
    std::thread::spawn(move || {
        let mut state = self::state();
        while let Some(callback) = state.callbacks.get_mut(&stream).and_then(VecDeque::pop_front) {
            let status = state.status(stream);
            drop(state);
            let (handle, data) = (
                std::ptr::without_provenance_mut(stream),
                std::ptr::with_exposed_provenance_mut(callback.data),
            );
            // SAFETY: the program passed the function to be called with this data.
            unsafe { (callback.function)(handle, status, data) };
            state = self::state();
        }
        state.callbacks.remove(&stream);
        state.calling.remove(&stream);
        PROGRESS.notify_all();
    });
}

/// Holds a stream back until dropped.
pub(crate) struct Hold(usize);

/// Holds the stream back.
pub(crate) fn hold(stream: &Stream) -> Hold {
    state().held.insert(stream.as_raw().addr());
    Hold(stream.as_raw().addr())
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = state();
        state.held.remove(&self.0);
        run_callbacks(state, self.0);
        PROGRESS.notify_all();
    }
}

unsafe extern "C" fn stream_wait(stream: hipStream_t, event: hipEvent_t, _flags: c_uint) -> hipError_t {
    let mut state = state();
    state.waited(event, stream);
    state.call(stream, "wait")
}

unsafe extern "C" fn event_create(out: *mut hipEvent_t, _flags: c_uint) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe {
        let (mut state, device) = (state(), CURRENT.get());
        let event = state.handle();
        state.live_events.insert(event, device);
        *out = std::ptr::without_provenance_mut(event);
    }
    OK
}

unsafe extern "C" fn event_record(event: hipEvent_t, stream: hipStream_t) -> hipError_t {
    let mut state = state();
    state.events.insert(event.addr(), stream.addr());
    state.recorded(event, stream);
    state.call(stream, "record")
}

unsafe extern "C" fn event_synchronize(event: hipEvent_t) -> hipError_t {
    if wait_fails() {
        return WAIT_FAILED;
    }
    let mut state = state();
    let Some(stream) = state.events.get(&event.addr()).copied() else { return OK };
    while state.held.contains(&stream) && !state.faults.contains_key(&stream) {
        state = PROGRESS.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.status(stream)
}

unsafe extern "C" fn event_query(event: hipEvent_t) -> hipError_t {
    let state = state();
    let Some(stream) = state.events.get(&event.addr()) else { return OK };
    if state.held.contains(stream) && !state.faults.contains_key(stream) {
        return hipError_t::hipErrorNotReady;
    }
    state.status(*stream)
}

unsafe extern "C" fn elapsed(out: *mut f32, _start: hipEvent_t, _stop: hipEvent_t) -> hipError_t {
    // SAFETY: the caller gives a place.
    unsafe { *out = 1.5 };
    OK
}

unsafe extern "C" fn event_destroy(event: hipEvent_t) -> hipError_t {
    state().live_events.remove(&event.addr());
    OK
}

unsafe extern "C" fn malloc(out: *mut *mut c_void, size: usize) -> hipError_t {
    let (mut state, ordinal) = (state(), CURRENT.get());
    let free = if ordinal < 2 {
        MEMORY
    } else {
        let used = state.memory.values().filter(|(_, device)| *device == ordinal);
        CACHED_MEMORY - used.map(|(size, _)| size).sum::<usize>()
    };
    let Some(layout) = Layout::from_size_align(size, 256).ok().filter(|_| size <= free) else {
        return hipError_t::hipErrorOutOfMemory;
    };
    // SAFETY: nothing asks for zero bytes, and the caller gives a place.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    state.memory.insert(pointer.expose_provenance(), (size, ordinal));
    // SAFETY: the caller gives a place.
    unsafe { *out = pointer.cast() };
    OK
}

unsafe extern "C" fn host_malloc(out: *mut *mut c_void, size: usize, _flags: c_uint) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { malloc(out, size) }
}

unsafe extern "C" fn free(pointer: *mut c_void) -> hipError_t {
    match state().memory.remove(&pointer.addr()) {
        // SAFETY: the memory was allocated with this layout and is freed once.
        Some((size, _)) => unsafe {
            std::alloc::dealloc(pointer.cast(), Layout::from_size_align_unchecked(size, 256));
            OK
        },
        None => hipError_t::hipErrorInvalidValue,
    }
}

/// Work on a stream: done now, or recorded if the stream is captured.
fn submit(
    stream: hipStream_t,
    name: &'static str,
    work: impl Fn() + Clone + Send + Sync + 'static,
) -> hipError_t {
    let mut state = state();
    let status = state.call(stream, name);
    if status == OK && !state.captured(stream, work.clone()) {
        work();
    }
    status
}

unsafe extern "C" fn copy(
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    _kind: hipMemcpyKind,
    stream: hipStream_t,
) -> hipError_t {
    copied(submit(stream, "copy", graph::copying(destination, source, bytes)))
}

unsafe extern "C" fn copy_peer(
    destination: *mut c_void,
    _to: c_int,
    source: *const c_void,
    _from: c_int,
    bytes: usize,
    stream: hipStream_t,
) -> hipError_t {
    // SAFETY: as the caller's.
    unsafe { copy(destination, source, bytes, hipMemcpyKind::hipMemcpyDeviceToDevice, stream) }
}

unsafe extern "C" fn set8(
    destination: hipDeviceptr_t,
    value: u8,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    submit(stream, "set8", graph::setting(destination, value, count))
}

unsafe extern "C" fn set16(
    destination: hipDeviceptr_t,
    value: u16,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    submit(stream, "set16", graph::setting(destination, value, count))
}

unsafe extern "C" fn set32(
    destination: hipDeviceptr_t,
    value: c_int,
    count: usize,
    stream: hipStream_t,
) -> hipError_t {
    submit(stream, "set32", graph::setting(destination, value, count))
}

unsafe extern "C" fn fault_report(stream: hipStream_t, out: *mut c_char, size: usize) -> usize {
    let state = state();
    let Some(text) = state.faults.get(&stream.addr()) else { return 0 };
    let copied = text.len().min(size.saturating_sub(1));
    if size > 0 {
        // SAFETY: the caller gives `size` bytes.
        unsafe {
            out.cast::<u8>().copy_from(text.as_ptr(), copied);
            *out.add(copied) = 0;
        }
    }
    text.len()
}
