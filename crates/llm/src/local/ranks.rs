//! Ranks that share a model: each follows the first one's steps on a device of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::device::{Device, Job, Wanted};
use super::pages::StateCopy;
use crate::error::{Error, Result};
use crate::model::Part;

/// What a rank is told to do.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Logits(Vec<OwnedJob>),
    Hidden(OwnedJob),
    Copy(StateCopy),
}

/// A [`Job`] that can be sent to a thread.
#[derive(Clone, Debug)]
pub(super) struct OwnedJob {
    tokens: Vec<u32>,
    position: usize,
    pages: Vec<u32>,
    state: Option<u32>,
    generates: bool,
    wanted: Wanted,
}

impl OwnedJob {
    pub(super) fn new(job: &Job<'_>) -> Self {
        let Part { tokens, position, pages, state } = job.part;
        let (tokens, pages) = (tokens.to_vec(), pages.to_vec());
        Self { tokens, position, pages, state, generates: job.generates, wanted: job.wanted }
    }

    fn job(&self) -> Job<'_> {
        let Self { tokens, position, pages, state, generates, wanted } = self;
        let part = Part { tokens, position: *position, pages, state: *state };
        Job { part, generates: *generates, wanted: *wanted }
    }
}

/// A rank other than the first.
#[derive(Debug)]
pub(super) struct Follower {
    orders: Option<Sender<Order>>,
    /// Whether an order's work was submitted.
    replies: Receiver<Result<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(super) fn start(mut device: Device, rank: usize) -> Result<Self> {
        let (orders, received) = channel();
        let (sender, replies) = channel();
        let run = move || {
            while let Ok(order) = received.recv() {
                if sender.send(follow(&mut device, &order)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("rank-{rank}")).spawn(run);
        let thread = thread.map_err(|error| Error::Stopped { reason: format!("no thread: {error}") })?;
        Ok(Self { orders: Some(orders), replies, thread: Some(thread) })
    }

    /// Begins an order.
    pub(super) fn order(&self, order: Order) -> Result<()> {
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        if sent { Ok(()) } else { Err(gone()) }
    }

    /// Waits until the last order's work was submitted.
    pub(super) fn reply(&self) -> Result<()> {
        self.replies.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// A rank failed: this one may wait for it for ever, and nobody waits for this one.
    pub(super) fn abandon(&mut self) {
        self.orders = None;
        self.thread = None;
    }
}

fn gone() -> Error {
    Error::Device { reason: "a rank's thread ended".into() }
}

fn follow(device: &mut Device, order: &Order) -> Result<()> {
    match order {
        Order::Logits(jobs) => {
            let jobs: Vec<Job<'_>> = jobs.iter().map(OwnedJob::job).collect();
            device.compute(&jobs, &[]).map(drop)
        }
        Order::Hidden(job) => device.hidden(job.job().part).map(drop),
        Order::Copy(copy) => device.copy_states(*copy),
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported when it happened.
            let _ = thread.join();
        }
    }
}
