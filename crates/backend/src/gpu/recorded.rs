//! Steps as command buffers of `hal`: the nodes of a captured graph, recorded once more as packets of a queue
//! of its own, straight on the HSA implementation below HIP.
//!
//! Kernels get HIP's addresses. HIP's stream and the queue wait for each other on the host: a step begins
//! when the stream has done its work, and the stream gets work when the step has ended. The captured graph
//! keeps all memory that the step uses.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hal::topology::{Member, Selection};
use hal::{Affinity, Arg, CodeObjects, CommandBuffer, Executable, Grid, Recorder, Semaphore, Usage};
use hip::graph::NodeWork;
use hip::launch::{Dim3, LaunchConfig};
use hip::{Backend, DeviceAddress, DeviceBuffer, Function, Graph, Module, Stream};

use super::numbers::Reads;
use super::{GpuBackend, NAME, lock};
use crate::backend::{StepGraph, Steps};
use crate::error::{Error, Result};

/// What was submitted elsewhere than to the backend's stream.
#[derive(Debug, Default)]
pub(super) struct Submits {
    /// The end of the last step.
    under_way: Option<(Semaphore, u64)>,
}

impl Submits {
    /// Waits for the last step. Returns its failure once.
    pub(super) fn settle(&mut self) -> Result<()> {
        match self.under_way.take() {
            Some((timeline, value)) => Ok(timeline.wait(value, None)?),
            None => Ok(()),
        }
    }
}

/// The GPU of a backend as `hal` sees it.
pub(super) struct Recorded {
    device: hal::Device,
    queue: hal::Queue,
    /// Each step signals the next value.
    timeline: Semaphore,
    /// The last value that a step will signal.
    promised: AtomicU64,
    /// The code of HIP's modules, by their handles.
    code: Mutex<HashMap<usize, (Module, Executable)>>,
}

fn unavailable(backend: &GpuBackend, reason: impl fmt::Display) -> Error {
    let reason = format!("its steps cannot run by `hal`: {reason}");
    Error::Unavailable { backend: backend.info.uri.clone(), reason }
}

#[cfg(feature = "virtual")]
fn virtual_driver(_backend: &GpuBackend) -> Result<hal::Driver> {
    Ok(hal::Driver::over(vgpu::hsa::table())?)
}

#[cfg(not(feature = "virtual"))]
fn virtual_driver(backend: &GpuBackend) -> Result<hal::Driver> {
    Err(unavailable(backend, "the virtual GPU is inside of the HIP library, which shows no HSA"))
}

/// Chooses what runs the steps that are captured from now on.
pub(super) fn set_steps(backend: &GpuBackend, steps: Steps) -> Result<()> {
    if steps == Steps::Hal {
        if backend.shard.size > 1 {
            let reason = "several devices share the model, and their exchanges are HIP's";
            return Err(unavailable(backend, reason));
        }
        if backend.recorded.get().is_none() {
            let opened = Arc::new(Recorded::open(backend)?);
            // Another thread may have been first.
            let _ = backend.recorded.set(opened);
        }
    }
    *lock(&backend.steps) = steps;
    Ok(())
}

impl Recorded {
    fn open(backend: &GpuBackend) -> Result<Self> {
        let driver = match backend.device.backend() {
            Backend::Amd => hal::Driver::load().map_err(|error| unavailable(backend, error))?,
            Backend::Cuda => return Err(unavailable(backend, "NVIDIA's GPUs have no HSA")),
            Backend::Virtual => virtual_driver(backend)?,
        };
        // The HSA implementation that knows HIP's memory is the one below HIP, and it knows the GPU.
        let probe = DeviceBuffer::<u8>::uninit_on(&backend.stream, 1)?;
        let Some(gpu) = driver.gpu_at(probe.address().0)? else {
            let reason =
                "the HSA library that was loaded does not know HIP's memory, so HIP uses another one";
            return Err(unavailable(backend, reason));
        };
        let mut options = hal::Options::default().with_library(hal_library::code_objects()?);
        options.queues = 1;
        let device = driver
            .open(&Selection::Members(vec![Member::Ordinal(gpu)]), options)
            .map_err(|error| unavailable(backend, error))?;
        let (queue, timeline) = (device.queue(Affinity::ANY)?, Semaphore::new(0));
        let (promised, code) = (AtomicU64::new(0), Mutex::default());
        Ok(Self { device, queue, timeline, promised, code })
    }

    /// A kernel of a module of HIP's.
    fn kernel(&self, function: &Function) -> Result<hal::Kernel> {
        let module = function.module();
        let mut known = lock(&self.code);
        if let Some((_, executable)) = known.get(&(module.as_raw() as usize)) {
            return Ok(executable.kernel(function.name())?);
        }
        let code = module.code().ok_or_else(|| unable(format!("{function}, whose code is unknown")))?;
        let executable = self.device.load(&CodeObjects::new([code])?)?;
        let kernel = executable.kernel(function.name())?;
        // The module stays loaded, so its handle stays its own.
        known.insert(module.as_raw() as usize, (module.clone(), executable));
        Ok(kernel)
    }

    /// A range of HIP's memory.
    fn buffer(&self, graph: &Arc<Graph>, address: DeviceAddress, bytes: usize) -> Result<hal::Buffer> {
        // SAFETY: the graph keeps the memory, which is of the device; the stream and the queue wait for each
        // other.
        Ok(unsafe { self.device.import_address(address.0, bytes as u64, graph.clone()) }?)
    }

    /// Records what a node does.
    fn add(&self, recorder: &mut Recorder, graph: &Arc<Graph>, work: &NodeWork) -> Result<()> {
        match work {
            NodeWork::Kernel { function, config, arguments } => {
                let LaunchConfig { grid: Dim3(workgroups), block: Dim3(workgroup), dynamic_lds, cooperative } =
                    *config;
                if cooperative {
                    return Err(unable(format!("{function} as a cooperative launch")));
                }
                let kernel = self.kernel(function)?;
                let args: Vec<Arg<'_>> = arguments.iter().map(|bytes| Arg::Bytes(bytes)).collect();
                // SAFETY: the launch was checked when it was captured; the graph keeps the memory that the
                // arguments lead to, and levels of the graph are apart.
                unsafe { recorder.dispatch(&kernel, Grid { workgroups, workgroup, dynamic_lds }, &args) }?;
            }
            NodeWork::Memcpy { bytes: 0, .. } | NodeWork::Memset { bytes: 0, .. } | NodeWork::Nothing => {}
            &NodeWork::Memcpy { to, from, bytes } => {
                let (to, from) = (self.buffer(graph, to, bytes)?, self.buffer(graph, from, bytes)?);
                recorder.copy((&to).into(), (&from).into(), bytes as u64)?;
            }
            NodeWork::Memset { to, pattern, bytes } => {
                let to = self.buffer(graph, *to, *bytes)?;
                recorder.fill((&to).into(), pattern, *bytes as u64)?;
            }
            NodeWork::Other(kind) => return Err(unable(format!("a node of the kind {kind}"))),
            other => return Err(unable(format!("{other:?}"))),
        }
        Ok(())
    }
}

fn unable(what: String) -> Error {
    Error::Unsupported { backend: NAME, operation: "recorded step", what }
}

/// A step as a command buffer.
struct Step {
    commands: CommandBuffer,
    nodes: usize,
    /// Keeps what the captured work uses.
    _graph: Arc<Graph>,
    recorded: Arc<Recorded>,
    submits: Arc<Mutex<Submits>>,
    stream: Stream,
    /// What its last launch signals.
    last: AtomicU64,
    reads: Reads,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.recorded.queue.number();
        f.debug_struct("Step").field("hal_queue", &queue).field("packets", &self.commands.packets()).finish()
    }
}

/// Records the captured work once more.
pub(super) fn record(
    backend: &GpuBackend,
    recorded: &Arc<Recorded>,
    graph: Graph,
    reads: Reads,
) -> Result<Box<dyn StepGraph>> {
    let (nodes, graph) = (graph.describe()?, Arc::new(graph));
    let mut recorder = recorded.device.record(0, Usage::Reusable)?;
    let mut level = 0;
    for node in &nodes {
        if node.level != level {
            recorder.barrier();
            level = node.level;
        }
        recorded.add(&mut recorder, &graph, &node.work)?;
    }
    Ok(Box::new(Step {
        commands: recorder.finish()?,
        nodes: nodes.len(),
        _graph: graph,
        recorded: recorded.clone(),
        submits: backend.submits.clone(),
        stream: backend.stream.clone(),
        last: AtomicU64::new(0),
        reads,
    }))
}

impl StepGraph for Step {
    fn launch(&self) -> Result<()> {
        let Recorded { queue, timeline, promised, .. } = &*self.recorded;
        let mut submits = lock(&self.submits);
        self.reads.check()?;
        // What the stream was given since the last step.
        self.stream.synchronize()?;
        let before = promised.load(Ordering::Relaxed);
        let value = before + 1;
        queue.execute(&self.commands, &[], &[(timeline, before)], &[(timeline, value)])?;
        promised.store(value, Ordering::Relaxed);
        self.last.store(value, Ordering::Relaxed);
        submits.under_way = Some((timeline.clone(), value));
        Ok(())
    }

    fn nodes(&self) -> usize {
        self.nodes
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // A failure is that of the work behind it.
        let _ = self.recorded.timeline.wait(self.last.load(Ordering::Relaxed), None);
        self.recorded.device.trim();
    }
}
