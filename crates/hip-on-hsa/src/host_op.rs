//! Host code that takes its turn in a stream: callbacks, large fills, frees.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use hip_sys::hipError_t;

use crate::error::Result;
use crate::runtime::{Runtime, runtime};
use crate::signal::Marker;
use crate::stream::Stream;

/// One piece of host code.
pub(crate) struct Job {
    /// The point of the stream that must be reached first.
    pub(crate) after: Arc<Marker>,
    /// Completed afterwards, if the stream waits for the code.
    pub(crate) done: Option<Arc<Marker>>,
    /// Gets the stream's failure, if there was one.
    pub(crate) run: Box<dyn FnOnce(Option<hipError_t>) + Send>,
}

/// The `void*` of a program's callback, passed on untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: the program handed the pointer over for use on whichever thread runs the callback.
unsafe impl Send for UserData {}
// SAFETY: as above; nothing here follows the pointer.
unsafe impl Sync for UserData {}

impl UserData {
    pub(crate) fn get(&self) -> *mut c_void {
        self.0
    }
}

/// A function of the program that takes its turn in a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: UserData,
}

impl HostFunction {
    /// Enqueues the function. It does not run if the stream has failed by then.
    pub(crate) fn enqueue(self, runtime: &'static Runtime, stream: &Stream) -> Result {
        stream.run_on_host(runtime, true, move |failure| {
            if failure.is_none() {
                // SAFETY: the program passed the function to be called with this data.
                unsafe { (self.function)(self.data.get()) };
            }
        })
    }
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
