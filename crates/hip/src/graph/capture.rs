//! Graphs made from what a program submits to a stream.

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

/// A capture that goes on, or is over. Its streams serve nothing else.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The one that captures.
    thread: ThreadId,
    over: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The captured streams, the first one first: they must not be destroyed before the end.
    streams: Vec<Stream>,
    /// The memory that was used so far, in order.
    memory: Vec<Captured>,
    uses: Resources,
}

struct Captured {
    allocation: Arc<Allocation>,
    /// What was done with it first and later.
    access: Access,
    /// By which of the captured streams: it orders them where they conflict, as it does outside of captures.
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

    /// Whether the calling thread may submit to the captured streams: what is registered here is then part of the graph.
    pub(crate) fn check(&self) -> Result<()> {
        // The thread that captures also ends it, so that nothing is submitted in between.
        if self.thread != std::thread::current().id() {
            return Err(GraphError::OtherThread.into());
        }
        if self.over.load(Ordering::Relaxed) {
            return Err(GraphError::CaptureOver.into());
        }
        Ok(())
    }

    /// Work that uses memory is about to be captured: orders the captured streams, and keeps the memory.
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

    /// Work that runs a module's code is about to be captured.
    pub(crate) fn keeps(&self, module: &Module) {
        self.lock().uses.add_module(module);
    }

    /// A stream of HIP's that submits to this capture.
    fn stream(self: &Arc<Self>, device: &Device) -> Result<Stream> {
        let stream = StreamOptions::new().create(device, Some(self.clone()))?;
        self.lock().streams.push(stream.clone());
        Ok(stream)
    }
}

/// Ends a capture however its work ended.
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

    /// The origin waits for all that was forked from it.
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
        // A graph that is not wanted is destroyed with this.
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
            // The error that ended the work is what the caller gets; that the capture cannot be whole is no news.
            if let Err(error) = self.end() {
                tracing::debug!(%error, "a capture that was given up did not end well");
            }
        }
        self.capture.over.store(true, Ordering::Relaxed);
        // The streams hold the capture, which holds them.
        let streams = std::mem::take(&mut self.capture.lock().streams);
        drop(streams);
    }
}

impl Device {
    /// Makes a graph of what `work` submits to the stream that it gets, which runs nothing of it
    /// (`hipStreamBeginCapture`, `hipStreamEndCapture`).
    ///
    /// The stream serves this one capture. Kernels, copies on the device and fills can be captured; what they use is kept
    /// by the graph. What waits for the stream, or copies from or to the host, is
    /// [`GraphError::NotCapturable`]; nodes for that are added to the graph afterwards, or to one that it becomes a
    /// [child](Graph::add_child) of. [`Stream::fork`] gives more streams, whose work runs in parallel; buffers order them where
    /// they conflict. Calls that are no submissions, such as allocating buffers, run at once. Other streams are not affected.
    ///
    /// If `work` fails or panics, the capture ends and there is no graph.
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
    /// What `work` returns; [`Error::Hip`], such as `hipErrorNotSupported` where the library has no graphs.
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
    /// Inside of [`Device::capture`]: another stream of the same capture, which comes after what this one has captured so far. Its
    /// work runs in parallel to this one's, except where they use the same memory, and until this one
    /// [waits](Self::wait_stream) for it. At the end of the capture all of them are joined.
    ///
    /// # Errors
    /// [`GraphError::CaptureOver`], [`GraphError::OtherThread`], [`GraphError::OtherStream`] for a stream that is not captured, else
    /// [`Error::Hip`].
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

    /// Inside of [`Device::capture`]: has the host call a function at this point, each time the graph runs (`hipLaunchHostFunc`).
    /// What [`host_function`](Self::host_function) says of functions holds here, too.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub fn capture_host_function(&self, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        let capture = self.capture().ok_or(GraphError::OtherStream)?;
        self.make_current_or_capture()?;
        let function = HostFunction::new(function);
        let call: hipHostFn_t = Some(call_host_function);
        // SAFETY: the stream is captured, so that nothing runs before the graph does, which keeps the function.
        unsafe {
            call!(self.table(), hipLaunchHostFunc(self.handle(), call, function.data()))?;
        }
        capture.lock().uses.add_function(&function);
        Ok(())
    }

    /// Inside of [`Device::capture`]: has the graph, and all that is made of it, keep something that captured work needs. For crates that
    /// capture work of other libraries. It is dropped when none of them is there any more.
    ///
    /// # Errors
    /// As [`fork`](Self::fork).
    pub fn capture_keeps(&self, resource: Arc<dyn GraphResource>) -> Result<()> {
        let capture = self.capture().ok_or(GraphError::OtherStream)?;
        capture.check()?;
        capture.lock().uses.add_other(resource);
        Ok(())
    }

    /// Whether it is a stream of a [capture](Device::capture).
    pub fn is_captured(&self) -> bool {
        self.capture().is_some()
    }
}
