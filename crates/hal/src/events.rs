//! The thread that takes over what devices have done.
//!
//! HSA calls its handlers on a thread of its own, which must not destroy queues or block. They only send the
//! semaphore here, with the queue whose signal they waited for.

use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Weak};

use crate::semaphore::Shared;
use crate::worker::{Job, guarded};

/// Lets go of something on the thread of this module, which may destroy a queue.
pub(crate) fn let_go(held: impl Send + 'static) {
    run(Box::new(move || drop(held)));
}

/// Looks at a semaphore soon, on the thread of this module, which then lets go of what was held for that.
pub(crate) fn look(semaphore: Weak<Shared>, held: impl Send + 'static) {
    run(Box::new(move || {
        if let Some(semaphore) = semaphore.upgrade() {
            semaphore.poll();
        }
        drop(held);
    }));
}

/// Does something soon, on the thread of this module.
pub(crate) fn run(job: Job) {
    static EVENTS: LazyLock<Sender<Job>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Job>();
        let work = move || receiver.iter().for_each(guarded);
        let thread = std::thread::Builder::new().name("hal events".to_owned()).spawn(work);
        if let Err(error) = thread {
            tracing::error!(%error, "there is no thread for the events of devices");
        }
        sender
    });
    // The receiver lives as long as the process, unless there was no thread, which is reported.
    let _ = EVENTS.send(job);
}
