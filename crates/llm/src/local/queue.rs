//! Requests that wait for the engine's thread.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::engine::{EngineLoad, EventSender, Pooling, Request};
use crate::error::{Error, Result};
use crate::generate::constraint::Grammar;

/// Work for the thread.
#[derive(Debug)]
pub(super) enum Job {
    Generate(Box<Request>, Option<Box<Grammar>>, EventSender),
    Embed(EmbedJob),
}

/// Texts whose vectors somebody waits for.
#[derive(Debug)]
pub(super) struct EmbedJob {
    pub(super) inputs: Vec<Vec<u32>>,
    pub(super) pooling: Pooling,
    pub(super) reply: Sender<Result<Vec<Vec<f32>>>>,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Jobs that may wait.
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
    load: EngineLoad,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job.
    pub(super) fn add(&self, job: Job) -> Result<()> {
        let mut state = self.state();
        if state.is_closed {
            return Err(Error::Stopped { reason: "it was closed, or its thread failed".into() });
        }
        // Those that nobody waits for any more make way.
        if state.jobs.len() >= self.most {
            state.jobs.retain(|job| !matches!(job, Job::Generate(_, _, events) if events.is_closed()));
        }
        if state.jobs.len() >= self.most {
            return Err(Error::Busy { waiting: state.jobs.len() });
        }
        state.jobs.push_back(job);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes up to `places` requests, and all texts to embed before them; waits for one if the thread is
    /// idle. `None` if the queue is closed.
    pub(super) fn take(&self, mut places: usize, is_idle: bool) -> Option<Vec<Job>> {
        let mut state = self.state();
        while is_idle && state.jobs.is_empty() && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return None;
        }
        let mut taken = Vec::new();
        while let Some(job) = state.jobs.pop_front() {
            if matches!(job, Job::Generate(..)) {
                if places == 0 {
                    state.jobs.push_front(job);
                    break;
                }
                places -= 1;
            }
            taken.push(job);
        }
        Some(taken)
    }

    /// No more jobs. Those that wait are dropped, which tells their callers.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.jobs.clear();
        self.changed.notify_all();
    }

    pub(super) fn report(&self, load: EngineLoad) {
        self.state().load = load;
    }

    pub(super) fn load(&self) -> EngineLoad {
        let state = self.state();
        EngineLoad { waiting: state.jobs.len(), ..state.load }
    }
}
