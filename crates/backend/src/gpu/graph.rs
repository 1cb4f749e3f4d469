//! Graphs of steps.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use hip::{GraphExec, Stream};

use super::recorded::{self, Submits};
use super::{GpuBackend, lock};
use crate::backend::{StepGraph, Steps};
use crate::error::{Error, Result};

/// The capture under way, with the thread whose work it captures.
#[derive(Debug, Default)]
pub(super) struct Captured(Mutex<Vec<(ThreadId, Stream)>>);

impl Captured {
    /// The stream that the calling thread's work is captured on.
    pub(super) fn stream(&self) -> Option<Stream> {
        let captures = lock(&self.0);
        if captures.is_empty() {
            return None;
        }
        let own = std::thread::current().id();
        captures.iter().find(|(thread, _)| *thread == own).map(|(_, stream)| stream.clone())
    }

    /// Captures the calling thread's work until the result is dropped.
    fn begin(&self, stream: &Stream) -> Capturing<'_> {
        lock(&self.0).push((std::thread::current().id(), stream.clone()));
        Capturing(self)
    }
}

struct Capturing<'a>(&'a Captured);

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        let own = std::thread::current().id();
        lock(&self.0.0).retain(|(thread, _)| *thread != own);
    }
}

/// A captured step.
struct Step {
    graph: GraphExec,
    nodes: usize,
    stream: Stream,
    submits: Arc<Mutex<Submits>>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").finish_non_exhaustive()
    }
}

impl StepGraph for Step {
    fn launch(&self) -> Result<()> {
        let mut submits = lock(&self.submits);
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
    let graph = backend.device.capture(|stream| {
        let _capturing = backend.captured.begin(stream);
        match work() {
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
        return recorded::record(backend, recorded, graph);
    }
    let (nodes, stream, submits) = (graph.len(), backend.stream.clone(), backend.submits.clone());
    Ok(Box::new(Step { graph: graph.instantiate()?, nodes, stream, submits }))
}
