//! Host code that runs in stream order: callbacks, large fills, frees.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use hip_sys::hipError_t;

use crate::error::Result;
use crate::queue::marker::Marker;
use crate::runtime::runtime;

/// One piece of host code.
pub(crate) struct Job {
    /// The point of the stream that must be reached first.
    pub(crate) after: Arc<Marker>,
    /// Completed afterwards, if the stream waits for the code.
    pub(crate) done: Option<Arc<Marker>>,
    /// The code; it gets the stream's failure, if there was one.
    pub(crate) run: Box<dyn FnOnce(Option<hipError_t>) + Send>,
}

/// The thread that runs a stream's host code in order. It ends, after its last job, when this is dropped.
pub(crate) struct Worker {
    jobs: Sender<Job>,
}

impl Worker {
    pub(crate) fn start() -> Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let run = move || {
            let Some(runtime) = runtime() else { return };
            for job in queue {
                let failure = job.after.wait(runtime).err();
                if catch_unwind(AssertUnwindSafe(|| (job.run)(failure))).is_err() {
                    tracing::error!("host code of a stream panicked");
                }
                if let Some(done) = job.done {
                    done.complete(runtime);
                }
            }
        };
        std::thread::Builder::new()
            .name("hip-stream".into())
            .spawn(run)
            .map_err(|_| hipError_t::hipErrorOutOfMemory)?;
        Ok(Self { jobs })
    }

    pub(crate) fn send(&self, job: Job) -> Result {
        self.jobs.send(job).map_err(|_| hipError_t::hipErrorUnknown)
    }
}
