//! Threads for jobs that the current thread must not do: waiting for events, waking tasks, and releasing
//! objects from host functions.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

type Job = Box<dyn FnOnce() + Send>;

/// Idle threads, each with the channel that it takes jobs from.
static IDLE: Mutex<Vec<(u64, Sender<Job>)>> = Mutex::new(Vec::new());
/// How long a thread waits for its next job before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

fn idle() -> std::sync::MutexGuard<'static, Vec<(u64, Sender<Job>)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job that no thread could be found for.
pub(crate) struct Refused {
    pub(crate) job: Job,
    reason: String,
}

impl Refused {
    /// Leaks the job and everything that it holds.
    pub(crate) fn keep(self) -> Error {
        std::mem::forget(self.job);
        Error::Thread { reason: self.reason }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::Thread { reason: refused.reason }
    }
}

#[cfg(test)]
thread_local! {
    /// Makes this thread's requests for others fail.
    pub(crate) static REFUSED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a job on an idle thread, else on a new one. The job may block.
///
/// # Errors
/// Returns the job if the system cannot start a thread.
pub(crate) fn run(job: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
    let mut job: Job = Box::new(job);
    #[cfg(test)]
    if REFUSED.get() {
        return Err(Refused { job, reason: "on purpose".to_owned() });
    }
    loop {
        let Some((_, thread)) = idle().pop() else { break };
        match thread.send(job) {
            Ok(()) => return Ok(()),
            // That thread has just ended.
            Err(refused) => job = refused.0,
        }
    }
    // Spawning consumes the closure even if it fails, so keep the job outside.
    let place = Arc::new(Mutex::new(Some(job)));
    let take = |place: &Mutex<Option<Job>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
    let taken = place.clone();
    let work = move || take(&taken).map_or((), work);
    match std::thread::Builder::new().name("hip-wait".to_owned()).spawn(work) {
        Ok(_) => Ok(()),
        Err(error) => match take(&place) {
            Some(job) => Err(Refused { job, reason: error.to_string() }),
            None => Ok(()),
        },
    }
}

/// Runs the first job, and then further ones.
fn work(first: Job) {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (sender, jobs) = channel();
    let mut job = first;
    loop {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
            tracing::error!("a task's waker, or the drop of a released object, panicked");
        }
        idle().push((id, sender.clone()));
        job = match jobs.recv_timeout(PATIENCE) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let mut idle = idle();
                match idle.iter().position(|(other, _)| *other == id) {
                    Some(index) => {
                        idle.swap_remove(index);
                        return;
                    }
                    // Another thread has taken this one off the list and is about to send.
                    None => {
                        drop(idle);
                        match jobs.recv() {
                            Ok(job) => job,
                            Err(_) => return,
                        }
                    }
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_block_do_not_hold_up_each_other() {
        let (done, all) = channel();
        let (first_go, first) = channel::<()>();
        let (second_go, second) = channel::<()>();
        let tell = done.clone();
        run(move || {
            first.recv().unwrap();
            tell.send(1).unwrap();
        })
        .ok()
        .unwrap();
        run(move || {
            second.recv().unwrap();
            done.send(2).unwrap();
        })
        .ok()
        .unwrap();
        second_go.send(()).unwrap();
        assert_eq!(all.recv(), Ok(2));
        first_go.send(()).unwrap();
        assert_eq!(all.recv(), Ok(1));
    }

    #[test]
    fn a_job_that_panics_harms_no_other() {
        let (done, all) = channel();
        for round in 0..50 {
            let done = done.clone();
            run(move || {
                done.send(round).unwrap();
                assert!(round % 2 == 0, "on purpose");
            })
            .ok()
            .unwrap();
        }
        let mut rounds: Vec<i32> = all.iter().take(50).collect();
        rounds.sort_unstable();
        assert_eq!(rounds, (0..50).collect::<Vec<_>>());
    }
}
