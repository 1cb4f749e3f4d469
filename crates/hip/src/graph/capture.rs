//! Graphs made from work that a program submits to a stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use hip_sys::{hipError_t, hipGraph_t, hipHostFn_t, hipStreamCaptureMode};

use super::resources::{Access, GraphResource, HostFunction, Resources, call_host_function};
use super::{Graph, GraphError};
use crate::call::call;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::Allocation;
use crate::module::Module;
use crate::stream::{Stream, StreamOptions};
use crate::usage::Usage;

/// A capture, running or ended. Its streams have no other use.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The capturing thread.
    thread: ThreadId,
    over: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The captured streams, beginning with the first. They must not be destroyed before the capture ends.
    streams: Vec<Stream>,
    /// The memory used so far, in order.
    memory: Vec<Captured>,
    uses: Resources,
}

struct Captured {
    allocation: Arc<Allocation>,
    /// The combined access.
    access: Access,
    /// The captured streams that use it. As outside captures, conflicting uses are ordered.
    usage: Usage,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("streams", &self.streams.len()).finish_non_exhaustive()
    }
}

impl Capture {
    fn new() -> Arc<Self> {
        let (thread, over) = (std::thread::current().id(), AtomicBool::new(false));
        Arc::new(Self { thread, over, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the calling thread may submit to the captured streams. If so, what is registered here becomes
    /// part of the graph.
    pub(crate) fn check(&self) -> Result<()> {
        // The capturing thread also ends the capture, so nothing can be submitted in between.
        if self.thread != std::thread::current().id() {
            return Err(GraphError::OtherThread.into());
        }
        if self.over.load(Ordering::Relaxed) {
            return Err(GraphError::CaptureOver.into());
        }
        Ok(())
    }

    /// Called before work that uses memory is captured: orders the captured streams and keeps the memory.
    pub(crate) fn uses(&self, allocation: &Arc<Allocation>, stream: &Stream, access: Access) -> Result<()> {
        self.check()?;
        let mut state = self.lock();
        let known = state.memory.iter().position(|known| Arc::ptr_eq(&known.allocation, allocation));
        let index = known.unwrap_or_else(|| {
            let (allocation, usage) = (allocation.clone(), Usage::default());
            state.memory.push(Captured { allocation, access, usage });
            state.memory.len() - 1
        });
        let known = &mut state.memory[index];
        known.access = known.access.and(access);
        if access.writes() { known.usage.write(stream) } else { known.usage.read(stream) }
    }

    /// Called before work that runs a module's code is captured.
    pub(crate) fn keeps(&self, module: &Module) {
        self.lock().uses.add_module(module);
    }

    /// A HIP stream that submits to this capture.
    fn stream(self: &Arc<Self>, device: &Device) -> Result<Stream> {
        let stream = StreamOptions::new().create(device, Some(self.clone()))?;
        self.lock().streams.push(stream.clone());
        Ok(stream)
    }
}

/// Ends the capture, however the work ends.
struct Session<'a> {
    device: &'a Device,
    capture: Arc<Capture>,
    origin: Stream,
    begun: bool,
}

impl<'a> Session<'a> {
    fn begin(device: &'a Device) -> Result<Self> {
        let capture = Capture::new();
        let origin = capture.stream(device)?;
        let mut session = Self { device, capture, origin, begun: false };
        let (handle, mode) = (session.origin.handle(), hipStreamCaptureMode::hipStreamCaptureModeRelaxed);
        session.device.make_current()?;
        // SAFETY: the stream was just made, and nothing has been submitted to it.
        unsafe { call!(device.table(), hipStreamBeginCapture(handle, mode))? };
        session.begun = true;
        Ok(session)
    }

    /// Makes the origin wait for all streams forked from it.
    fn join(&self) -> Result<()> {
        let streams = self.capture.lock().streams.clone();
        for stream in streams.iter().filter(|stream| **stream != self.origin) {
            self.origin.wait_for(stream)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Graph> {
        let joined = self.join();
        self.begun = false;
        self.capture.over.store(true, Ordering::Relaxed);
        let State { streams, memory, mut uses } = std::mem::take(&mut *self.capture.lock());
        let mut handle: hipGraph_t = std::ptr::null_mut();
        let ended = self.device.make_current().and_then(|()| {
            // SAFETY: the stream is captured, and the result is a place to write to.
            self.device.check(unsafe {
                call!(self.device.table(), hipStreamEndCapture(self.origin.handle(), &raw mut handle))
            })
        });
        for Captured { allocation, access, .. } in &memory {
            uses.add_memory(allocation, *access);
        }
        // If the graph is not needed, dropping this destroys it.
        let graph = (!handle.is_null()).then(|| Graph::captured(self.device, handle, uses));
        drop((memory, streams));
        joined?;
        ended?;
        match graph {
            Some(graph) => graph,
            None => Err(Error::Hip {
                operation: "hipStreamEndCapture",
                code: hipError_t::hipErrorStreamCaptureInvalidated,
            }),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if self.begun {
            // The caller gets the error of the work; an incomplete capture is then no surprise.
            if let Err(error) = self.end() {
                tracing::debug!(%error, "ending an abandoned capture failed");
            }
        }
        self.capture.over.store(true, Ordering::Relaxed);
        // Break the cycle: the streams hold the capture, and it holds them.
        let streams = std::mem::take(&mut self.capture.lock().streams);
        drop(streams);
    }
}

impl Device {
    /// Records the work that `work` submits to its stream as a graph, without running it
    /// (`hipStreamBeginCapture`, `hipStreamEndCapture`).
    ///
    /// The stream can only be used for this capture. Kernels, copies on the device and fills can be captured;
    /// the graph keeps what they use. Waiting for the stream, or copying from or to the host, is
    /// [`GraphError::NotCapturable`]; add nodes for that afterwards, to the graph or to a parent that has it
    /// as a [child](Graph::add_child). [`Stream::fork`] gives more streams, whose work runs in parallel
    /// except where buffers conflict. Calls that submit nothing, such as allocating buffers, run at once.
    /// Other streams are not affected.
    ///
    /// If `work` fails or panics, the capture ends without a graph.
    ///
    /// ```no_run
    /// # fn main() -> hip::Result<()> {
    /// # let device = hip::Device::open("auto")?;
    /// # let stream = device.stream()?;
    /// let mut a = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    /// let mut b = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
    /// let graph = device.capture(|stream| {
    ///     a.fill(stream, 1.0)?;
    ///     b.copy_from(stream, &a)
    /// })?;
    /// let exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `work`; [`Error::Hip`], such as `hipErrorNotSupported` if the library has no graphs.
    #[doc(alias = "hipStreamBeginCapture")]
    #[doc(alias = "hipStreamEndCapture")]
    #[doc(alias = "cudaStreamBeginCapture")]
    #[doc(alias = "cudaStreamEndCapture")]
    #[doc(alias = "cuStreamBeginCapture")]
    #[doc(alias = "cuStreamEndCapture")]
    pub fn capture(&self, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        let mut session = Session::begin(self)?;
        work(&session.origin)?;
        session.end()
    }
}

impl Stream {
    /// Inside [`Device::capture`]: another stream of the same capture, ordered after the work captured on
    /// this one so far. Its work runs in parallel to this stream's, except where they use the same memory,
    /// and until this one [waits](Self::wait_stream) for it. The end of the capture joins all streams.
    ///
    /// # Errors
    /// [`GraphError::CaptureOver`], [`GraphError::OtherThread`], [`GraphError::OtherStream`] for a stream
    /// that is not captured, else [`Error::Hip`].
    pub fn fork(&self) -> Result<Self> {
        let capture = self.capture().ok_or(GraphError::OtherStream)?;
        capture.check()?;
        let stream = capture.stream(self.device())?;
        match stream.wait_for(self) {
            Ok(_) => Ok(stream),
            Err(error) => {
                capture.lock().streams.retain(|known| *known != stream);
                Err(error)
            }
        }
    }

    /// Inside [`Device::capture`]: makes the host call a function at this point, each time the graph runs
    /// (`hipLaunchHostFunc`). The rules of [`host_function`](Self::host_function) apply.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub fn capture_host_function(&self, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        let capture = self.capture().ok_or(GraphError::OtherStream)?;
        self.make_current_or_capture()?;
        let function = HostFunction::new(function);
        let call: hipHostFn_t = Some(call_host_function);
        // SAFETY: the stream is captured, so that nothing runs before the graph does, which keeps the
        // function.
        unsafe {
            call!(self.table(), hipLaunchHostFunc(self.handle(), call, function.data()))?;
        }
        capture.lock().uses.add_function(&function);
        Ok(())
    }

    /// Inside [`Device::capture`]: makes the graph, and everything made from it, keep a resource that
    /// captured work needs. For crates that capture work of other libraries. The resource is dropped with the
    /// last of them.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub fn capture_keeps(&self, resource: Arc<dyn GraphResource>) -> Result<()> {
        let capture = self.capture().ok_or(GraphError::OtherStream)?;
        capture.check()?;
        capture.lock().uses.add_other(resource);
        Ok(())
    }

    /// Whether this stream belongs to a [capture](Device::capture).
    pub fn is_captured(&self) -> bool {
        self.capture().is_some()
    }
}
