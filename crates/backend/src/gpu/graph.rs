//! Graphs of steps.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use hip::{GraphExec, Stream};

use super::numbers::{Kept, Reads};
use super::recorded::{self, Submits};
use super::{GpuBackend, lock};
use crate::backend::{StepGraph, Steps};
use crate::error::{Error, Result};

/// The captures under way.
#[derive(Debug, Default)]
pub(super) struct Captured(Mutex<Vec<Capture>>);

#[derive(Debug)]
struct Capture {
    /// Whose work is captured.
    thread: ThreadId,
    stream: Stream,
    reads: Reads,
}

impl Captured {
    /// The stream that the calling thread's work is captured on.
    pub(super) fn stream(&self) -> Option<Stream> {
        self.own(|capture| capture.stream.clone())
    }

    /// The calling thread's captured work reads kept numbers.
    pub(super) fn reads(&self, kept: &Kept) {
        self.own(|capture| capture.reads.add(kept));
    }

    fn own<T>(&self, with: impl FnOnce(&mut Capture) -> T) -> Option<T> {
        let mut captures = lock(&self.0);
        if captures.is_empty() {
            return None;
        }
        let own = std::thread::current().id();
        captures.iter_mut().find(|capture| capture.thread == own).map(with)
    }

    /// Captures the calling thread's work until the result is dropped.
    fn begin(&self, stream: &Stream) -> Capturing<'_> {
        let thread = std::thread::current().id();
        lock(&self.0).push(Capture { thread, stream: stream.clone(), reads: Reads::default() });
        Capturing(self)
    }
}

struct Capturing<'a>(&'a Captured);

impl Capturing<'_> {
    /// What the work so far reads.
    fn reads(&self) -> Reads {
        self.0.own(|capture| std::mem::take(&mut capture.reads)).unwrap_or_default()
    }
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        let own = std::thread::current().id();
        lock(&self.0.0).retain(|capture| capture.thread != own);
    }
}

/// A captured step.
struct Step {
    graph: GraphExec,
    nodes: usize,
    stream: Stream,
    submits: Arc<Mutex<Submits>>,
    reads: Reads,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").finish_non_exhaustive()
    }
}

impl StepGraph for Step {
    fn launch(&self) -> Result<()> {
        let mut submits = lock(&self.submits);
        self.reads.check()?;
        submits.settle()?;
        Ok(self.graph.launch(&self.stream)?)
    }

    fn nodes(&self) -> usize {
        self.nodes
    }
}

pub(super) fn capture(
    backend: &GpuBackend,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Box<dyn StepGraph>> {
    if backend.captured.stream().is_some() {
        let (got, problem) = ("captured already".to_owned(), "and captures cannot be nested");
        return Err(Error::Value { operation: "capture", parameter: "work", got, problem });
    }
    // The capture's own errors are those of `hip`; others pass beside them.
    let mut failed = None;
    let mut reads = Reads::default();
    let graph = backend.device.capture(|stream| {
        let capturing = backend.captured.begin(stream);
        let done = work();
        reads = capturing.reads();
        match done {
            Ok(()) => Ok(()),
            Err(Error::Hip(error)) => Err(*error),
            Err(error) => {
                failed = Some(error);
                Ok(())
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let graph = graph?;
    let steps = *lock(&backend.steps);
    if let (Steps::Hal, Some(recorded)) = (steps, backend.recorded.get()) {
        return recorded::record(backend, recorded, graph, reads);
    }
    let (nodes, stream, submits) = (graph.len(), backend.stream.clone(), backend.submits.clone());
    Ok(Box::new(Step { graph: graph.instantiate()?, nodes, stream, submits, reads }))
}
