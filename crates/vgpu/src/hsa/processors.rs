//! The threads of a queue, one of which is its packet processor.
//!
//! The processor takes packets in order and runs their kernels itself, since most are shorter than the way to
//! another thread. If a kernel takes long, and the packet behind it may run concurrently with it, another
//! thread becomes the processor, and this one stays with its kernel.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::event::lock;
use super::packet;
use super::queue::{PLACES, Queue};

/// The threads of a queue. They are started on demand and end with the queue.
#[derive(Default)]
pub(super) struct Processors {
    team: Mutex<Team>,
    changed: Condvar,
}

#[derive(Default)]
struct Team {
    /// The packet from which on a thread should process the queue, until one does.
    vacant: Option<u64>,
    /// The number of threads that wait to become the processor.
    idle: usize,
    /// All that have been started, until the queue has stopped.
    handles: Vec<JoinHandle<()>>,
}

impl Processors {
    /// Processes the queue from its first packet on. Returns false if no thread can be started.
    pub(super) fn start(queue: &Arc<Queue>) -> bool {
        queue.processors.appoint(queue, 0)
    }

    /// Makes a thread that has nothing to do the processor, from a packet on. Only the processor may call
    /// this, and it is no longer the processor if the result is true. It stays the processor if the queue has
    /// stopped, or if all threads are busy and no other one can be started.
    pub(super) fn appoint(&self, queue: &Arc<Queue>, id: u64) -> bool {
        let mut team = lock(&self.team);
        if queue.is_stopped() {
            return false;
        }
        if team.idle == 0 {
            if team.handles.len() == PLACES {
                return false;
            }
            let server = Arc::clone(queue);
            let name = format!("vgpu-queue-{}-{}", queue.id(), team.handles.len());
            let thread =
                std::thread::Builder::new().name(name).spawn(move || server.processors.work(&server));
            let Ok(handle) = thread else { return false };
            team.handles.push(handle);
        }
        team.vacant = Some(id);
        drop(team);
        self.changed.notify_one();
        true
    }

    /// Makes all threads end that have nothing to do. The queue must have stopped.
    pub(super) fn dismiss(&self) {
        drop(lock(&self.team));
        self.changed.notify_all();
    }

    /// The threads of a stopped queue that have not been taken before. No others are started.
    pub(super) fn take(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut lock(&self.team).handles)
    }

    /// The packet from which on the calling thread processes the queue; none if the queue has stopped.
    fn next(&self, queue: &Queue) -> Option<u64> {
        let mut team = lock(&self.team);
        loop {
            if queue.is_stopped() {
                return None;
            }
            if let Some(id) = team.vacant.take() {
                return Some(id);
            }
            team.idle += 1;
            team = self.changed.wait(team).unwrap_or_else(PoisonError::into_inner);
            team.idle -= 1;
        }
    }

    fn work(&self, queue: &Arc<Queue>) {
        while let Some(id) = self.next(queue) {
            packet::run_processor(queue, id);
        }
    }
}
