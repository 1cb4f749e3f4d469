//! Kernels of one queue that run concurrently.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::event::lock;
use super::packet::{Packet, complete};
use super::queue::{BESIDE, Queue};

/// A kernel and the context that its thread needs.
struct Job {
    queue: Arc<Queue>,
    id: u64,
    header: u16,
    packet: Packet,
}

/// Which threads are busy.
#[derive(Default)]
struct Busy {
    threads: Mutex<[bool; BESIDE]>,
    changed: Condvar,
}

/// The threads for a queue's concurrent kernels. They are started on demand and end with the queue.
#[derive(Default)]
pub(super) struct Beside {
    threads: Vec<Sender<Job>>,
    busy: Arc<Busy>,
}

impl Beside {
    /// Starts a kernel on a free thread. Returns the kernel if no thread is available.
    pub(super) fn start(
        &mut self,
        queue: &Arc<Queue>,
        id: u64,
        header: u16,
        packet: Packet,
    ) -> Option<Packet> {
        let mut busy = lock(&self.busy.threads);
        let index = loop {
            match busy.iter().position(|busy| !busy) {
                Some(index) => break index,
                None => busy = self.busy.changed.wait(busy).unwrap_or_else(PoisonError::into_inner),
            }
        };
        // Free threads are used in order, so an index equal to the number of threads means that the thread is
        // not started yet.
        if index == self.threads.len() {
            let (sender, jobs) = channel();
            let busy = Arc::clone(&self.busy);
            let thread = std::thread::Builder::new()
                .name(format!("vgpu-beside-{index}"))
                .spawn(move || work(&jobs, index, &busy));
            if thread.is_err() {
                return Some(packet);
            }
            self.threads.push(sender);
        }
        busy[index] = true;
        drop(busy);
        queue.beside.fetch_add(1, Ordering::AcqRel);
        let job = Job { queue: Arc::clone(queue), id, header, packet };
        match self.threads[index].send(job) {
            Ok(()) => None,
            Err(unsent) => {
                queue.beside.fetch_sub(1, Ordering::AcqRel);
                lock(&self.busy.threads)[index] = false;
                Some(unsent.0.packet)
            }
        }
    }

    /// Waits until no kernel runs on any of the threads.
    pub(super) fn finish(&self) {
        if self.threads.is_empty() {
            return;
        }
        let mut busy = lock(&self.busy.threads);
        while busy.contains(&true) {
            busy = self.busy.changed.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Marks a thread as free again when dropped, whatever happened to its kernel.
struct Done<'a> {
    busy: &'a Busy,
    index: usize,
    queue: &'a Queue,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.queue.beside.fetch_sub(1, Ordering::AcqRel);
        lock(&self.busy.threads)[self.index] = false;
        self.busy.changed.notify_all();
    }
}

fn work(jobs: &Receiver<Job>, index: usize, busy: &Busy) {
    for Job { queue, id, header, packet } in jobs {
        let done = Done { busy, index, queue: &queue };
        let place = queue.current_packet(1 + index);
        let failed = complete(&queue, id, header, &packet, place).err();
        let failed = failed.and_then(|failure| queue.end(failure));
        // If the queue must end, it has ended by now, so nothing else starts. Its callback may destroy it.
        drop(done);
        if let Some(status) = failed {
            queue.tell(status);
        }
    }
}
