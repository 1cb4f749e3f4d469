//! Handles: the caller's settings, and the memory for intermediate results.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use hip_sys::hipStream_t;
use rocblas_sys::{
    rocblas_atomics_mode, rocblas_handle, rocblas_math_mode, rocblas_performance_metric,
    rocblas_pointer_mode, rocblas_status,
};

use crate::call::Result;
use crate::gpu::{Gpu, check};

pub(crate) const INVALID_HANDLE: rocblas_status = rocblas_status::rocblas_status_invalid_handle;

pub(crate) struct Handle {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) stream: hipStream_t,
    pub(crate) pointer_mode: rocblas_pointer_mode,
    pub(crate) atomics: rocblas_atomics_mode,
    pub(crate) math: rocblas_math_mode,
    pub(crate) metric: rocblas_performance_metric,
    pub(crate) workspace: Workspace,
    /// If set, functions only report how many bytes they need; this is the maximum so far.
    pub(crate) query: Option<usize>,
}

// SAFETY: streams, events and device memory may be used from any thread.
unsafe impl Send for State {}

/// Device memory for intermediate results; work on the handle's stream uses it in turn.
pub(crate) struct Workspace {
    at: *mut c_void,
    bytes: usize,
    /// The caller owns it, and its size is fixed.
    pub(crate) foreign: bool,
    /// Work on the handle's stream uses it.
    used: bool,
    /// Older, smaller blocks, or blocks of destroyed streams.
    retired: Vec<*mut c_void>,
}

/// Every block begins at a multiple of this, and is rounded up to it.
pub(crate) const ALIGNMENT: usize = 256;

impl Workspace {
    const NONE: Self =
        Self { at: std::ptr::null_mut(), bytes: 0, foreign: false, used: false, retired: Vec::new() };

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// At least this many bytes, which work on the handle's stream may use until the next call. Memory
    /// returned earlier stays valid.
    pub(crate) fn get(&mut self, hip: &hip_sys::Table, bytes: usize) -> Result<*mut c_void> {
        if bytes > self.bytes {
            if self.foreign {
                return Err(rocblas_status::rocblas_status_memory_error);
            }
            self.grow(hip, bytes)?;
        }
        self.used = true;
        Ok(self.at)
    }

    fn grow(&mut self, hip: &hip_sys::Table, bytes: usize) -> Result {
        let bytes = bytes.max(self.bytes.saturating_mul(2));
        let bytes =
            bytes.checked_next_multiple_of(1 << 16).ok_or(rocblas_status::rocblas_status_memory_error)?;
        let mut at = std::ptr::null_mut();
        // SAFETY: there is room for the address.
        check(unsafe { (hip.hipMalloc)(&mut at, bytes) })?;
        if !self.at.is_null() {
            self.retired.push(self.at);
        }
        (self.at, self.bytes) = (at, bytes);
        Ok(())
    }

    /// Sets the workspace to the caller's memory, or back to the handle's own.
    pub(crate) fn set(&mut self, at: *mut c_void, bytes: usize) {
        if !self.foreign && !self.at.is_null() {
            self.retired.push(self.at);
        }
        let at = if bytes == 0 { std::ptr::null_mut() } else { at };
        (self.at, self.bytes, self.foreign) = (at, if at.is_null() { 0 } else { bytes }, !at.is_null());
    }

    /// Makes the handle's own memory at least this large.
    pub(crate) fn reserve(&mut self, hip: &hip_sys::Table, bytes: usize) -> Result {
        if self.foreign {
            self.set(std::ptr::null_mut(), 0);
        }
        if bytes > self.bytes { self.grow(hip, bytes) } else { Ok(()) }
    }

    /// Work enqueued on `to` from now on waits for the work on `from`.
    fn pass(&mut self, hip: &hip_sys::Table, from: hipStream_t, to: hipStream_t) {
        if !std::mem::take(&mut self.used) || self.at.is_null() {
            return;
        }
        let mut event = std::ptr::null_mut();
        // hipEventDisableTiming
        // SAFETY: there is room for the event; the streams are the caller's, and a
        // destroyed one gives an error.
        let passed = unsafe {
            check((hip.hipEventCreateWithFlags)(&mut event, 2))
                .and_then(|()| {
                    let passed = check((hip.hipEventRecord)(event, from))
                        .and_then(|()| check((hip.hipStreamWaitEvent)(to, event, 0)));
                    check((hip.hipEventDestroy)(event)).and(passed)
                })
                .is_ok()
        };
        if !passed && !self.foreign {
            // The old stream is destroyed, but may still be working.
            self.retired.push(self.at);
            (self.at, self.bytes) = (std::ptr::null_mut(), 0);
        }
    }

    fn free(&mut self, hip: &hip_sys::Table) {
        let own = if self.foreign { std::ptr::null_mut() } else { self.at };
        for at in self.retired.drain(..).chain([own]).filter(|at| !at.is_null()) {
            // SAFETY: the memory is from hipMalloc, and no new work uses it. hipFree waits for enqueued work.
            let error = unsafe { (hip.hipFree)(at) };
            if check(error).is_err() {
                tracing::warn!(?error, "a handle's device memory could not be freed");
            }
        }
        *self = Self::NONE;
    }
}

impl State {
    pub(crate) fn set_stream(&mut self, hip: &hip_sys::Table, stream: hipStream_t) {
        if stream != self.stream {
            self.workspace.pass(hip, self.stream, stream);
            self.stream = stream;
        }
    }
}

/// Handles by number. Numbers are never reused, so a stale one is an error.
struct Handles {
    /// The next number, the distance between two, and the first number beyond the range.
    next: usize,
    step: usize,
    end: usize,
    live: HashMap<usize, Arc<Handle>>,
}

impl Default for Handles {
    fn default() -> Self {
        Self { next: 1, step: 1, end: usize::MAX, live: HashMap::new() }
    }
}

static HANDLES: LazyLock<RwLock<Handles>> = LazyLock::new(RwLock::default);

/// From now on, handles are numbers of a range, this far apart.
pub(crate) fn number(range: Range<usize>, step: NonZero<usize>) {
    let mut handles = HANDLES.write().unwrap_or_else(PoisonError::into_inner);
    (handles.next, handles.end, handles.step) = (range.start, range.end, step.get());
}

/// A handle for the current device.
pub(crate) fn create(hip: &'static hip_sys::Table) -> Result<rocblas_handle> {
    let mut device: c_int = 0;
    // SAFETY: there is room for the number.
    check(unsafe { (hip.hipGetDevice)(&mut device) })?;
    let state = State {
        stream: std::ptr::null_mut(),
        pointer_mode: rocblas_pointer_mode::rocblas_pointer_mode_host,
        atomics: rocblas_atomics_mode::rocblas_atomics_not_allowed,
        math: rocblas_math_mode::rocblas_default_math,
        metric: rocblas_performance_metric::rocblas_default_performance_metric,
        workspace: Workspace::NONE,
        query: None,
    };
    let handle = Arc::new(Handle { gpu: Gpu::of(hip, device)?, state: Mutex::new(state) });
    let mut handles = HANDLES.write().unwrap_or_else(PoisonError::into_inner);
    let number = handles.next;
    let next = number.checked_add(handles.step).filter(|next| *next <= handles.end);
    handles.next = next.ok_or(rocblas_status::rocblas_status_memory_error)?;
    handles.live.insert(number, handle);
    Ok(std::ptr::without_provenance_mut(number))
}

pub(crate) fn destroy(handle: rocblas_handle) -> Result {
    let removed = HANDLES.write().unwrap_or_else(PoisonError::into_inner).live.remove(&handle.addr());
    let handle = removed.ok_or(INVALID_HANDLE)?;
    let mut state = handle.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.workspace.free(handle.gpu.hip);
    Ok(())
}

pub(crate) fn find(handle: rocblas_handle) -> Result<Arc<Handle>> {
    let handles = HANDLES.read().unwrap_or_else(PoisonError::into_inner);
    handles.live.get(&handle.addr()).cloned().ok_or(INVALID_HANDLE)
}
