//! Threads of the host.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

/// Something to do.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Does a job. A panic does not end the thread.
pub(crate) fn guarded(job: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
        tracing::error!("a job on a thread of the host panicked");
    }
}

/// Lets go of something whose end may be the program's code, as that of the owner of imported memory.
pub(crate) fn let_go(held: impl Send) {
    guarded(move || drop(held));
}

/// A thread that does one job after the other. It is started for the first, and ends after the last when this
/// object is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    name: &'static str,
    sender: Mutex<Option<Sender<Job>>>,
}

impl Worker {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, sender: Mutex::new(None) }
    }

    pub(crate) fn run(&self, job: Job) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = sender.get_or_insert_with(|| {
            let (sender, receiver) = channel::<Job>();
            let run = move || receiver.iter().for_each(guarded);
            if let Err(error) = std::thread::Builder::new().name(self.name.to_owned()).spawn(run) {
                tracing::error!(%error, thread = self.name, "a thread could not be started");
            }
            sender
        });
        if let Err(unsent) = thread.send(job) {
            // There is no thread, which was reported: the caller's own does it.
            drop(sender);
            unsent.0();
        }
    }
}
