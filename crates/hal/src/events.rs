//! The thread that takes over what devices have done.
//!
//! HSA calls its handlers on a thread of its own, which must not destroy queues or block. They only send the
//! semaphore here, with the queue whose signal they waited for.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Weak};

use crate::core::Core;
use crate::semaphore::Shared;

type Event = (Weak<Shared>, Arc<Core>);

/// Lets go of a queue on the thread of this module, which may destroy it.
pub(crate) fn let_go(core: Arc<Core>) {
    look(Weak::new(), core);
}

/// Looks at a semaphore soon, on the thread of this module, which then lets go of the queue.
pub(crate) fn look(semaphore: Weak<Shared>, core: Arc<Core>) {
    static EVENTS: LazyLock<Sender<Event>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Event>();
        let thread = std::thread::Builder::new().name("hal events".to_owned()).spawn(move || {
            while let Ok((semaphore, core)) = receiver.recv() {
                if let Some(semaphore) = semaphore.upgrade() {
                    semaphore.poll();
                }
                drop(core);
            }
        });
        if let Err(error) = thread {
            tracing::error!(%error, "there is no thread for the events of devices");
        }
        sender
    });
    // The receiver lives as long as the process, unless there was no thread, which is reported.
    let _ = EVENTS.send((semaphore, core));
}
