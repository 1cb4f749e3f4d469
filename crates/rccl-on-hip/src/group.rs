//! Groups: what a thread asks for between `ncclGroupStart` and `ncclGroupEnd` begins at the end of the outermost one.

use std::cell::RefCell;
use std::sync::Arc;

use hip_sys::{hipStream_t, hipStreamCaptureStatus};
use rccl_sys::ncclResult_t;

use crate::batch::{Batch, Operation};
use crate::comm::{Comm, Place, current};
use crate::error::{Failure, Result, hip};
use crate::segment::Reason;

/// An operation, and where it is to run.
pub(crate) struct Submission {
    pub(crate) comm: Arc<Comm>,
    pub(crate) stream: hipStream_t,
    pub(crate) operation: Operation,
}

#[derive(Default)]
struct Group {
    depth: u32,
    submissions: Vec<Submission>,
    /// Communicators that come together, and what those are to be that begin with that at the end.
    started: Vec<(Arc<Comm>, Option<Place>)>,
    failure: Option<Failure>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

pub(crate) fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Ends a group. If anything in it was refused, nothing of it is done, but for communicators that have been started.
pub(crate) fn end() -> Result<ncclResult_t> {
    let group = GROUP.with_borrow_mut(|group| match group.depth {
        0 => Err(Failure::usage("ncclGroupEnd without ncclGroupStart")),
        1 => Ok(Some(std::mem::take(group))),
        _ => {
            group.depth -= 1;
            Ok(None)
        }
    })?;
    let Some(group) = group else { return Ok(ncclResult_t::ncclSuccess) };
    if let Some(failure) = group.failure {
        group.started.iter().for_each(|(comm, _)| comm.abort());
        return Err(failure);
    }
    let begin = |(comm, place): (Arc<Comm>, Option<Place>)| {
        place.into_iter().for_each(|place| comm.assign(place));
        comm
    };
    let started: Vec<_> = group.started.into_iter().map(begin).collect();
    let status = wait_for(&started)?;
    launch(group.submissions)?;
    Ok(status)
}

/// Remembers a failure in a group: the group then does nothing.
pub(crate) fn note<T>(result: Result<T>) -> Result<T> {
    if let Err(failure) = &result {
        GROUP.with_borrow_mut(|group| {
            if group.depth > 0 {
                group.failure.get_or_insert_with(|| failure.clone());
            }
        });
    }
    result
}

/// Waits for communicators to come together, at the end of the group or now.
pub(crate) fn started(comms: Vec<Arc<Comm>>) -> Result<ncclResult_t> {
    let comms = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return comms;
        }
        group.started.extend(comms.into_iter().map(|comm| (comm, None)));
        Vec::new()
    });
    wait_for(&comms)
}

/// Has a communicator begin to come together, at the end of the group or now, and waits for it then. Until then nothing of it is in
/// progress: a thread that makes several ranks may ask.
pub(crate) fn begin(comm: Arc<Comm>, place: Place) -> Result<ncclResult_t> {
    let now = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Some((comm, place));
        }
        group.started.push((comm, Some(place)));
        None
    });
    let Some((comm, place)) = now else { return Ok(ncclResult_t::ncclSuccess) };
    comm.assign(place);
    wait_for(&[comm])
}

fn wait_for(comms: &[Arc<Comm>]) -> Result<ncclResult_t> {
    let mut status = ncclResult_t::ncclSuccess;
    let mut failed = Ok(());
    for comm in comms {
        if comm.blocking {
            failed = failed.and(comm.wait_until_ready());
        } else {
            status = ncclResult_t::ncclInProgress;
        }
    }
    failed.map(|()| status)
}

/// Begins an operation, at the end of the group or now.
pub(crate) fn submit(submission: Submission) -> Result {
    let submission = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Some(submission);
        }
        group.submissions.push(submission);
        None
    });
    submission.map_or(Ok(()), |submission| launch(vec![submission]))
}

fn launch(submissions: Vec<Submission>) -> Result {
    let mut batches: Vec<(Arc<Comm>, Batch)> = Vec::new();
    for Submission { comm, stream, operation } in submissions {
        check_stream(&comm, stream)?;
        let index = batches.iter().position(|(other, _)| Arc::ptr_eq(other, &comm));
        let index = index.unwrap_or_else(|| {
            batches.push((comm, Batch::default()));
            batches.len() - 1
        });
        batches[index].1.add(operation, stream as usize);
    }
    for (comm, batch) in &batches {
        batch.check_own_transfers(comm.check()?.rank)?;
    }
    // From here on, whoever is not told waits in vain: what fails ends the communicator.
    let pushed: Vec<_> = batches
        .into_iter()
        .map(|(comm, batch)| {
            let batch = Arc::new(batch);
            let number = comm.push(batch.clone());
            (comm, batch, number)
        })
        .collect();
    // All streams tell before any of them waits: one that several communicators use would tell some of them too late.
    let mut failed = Ok(());
    for (comm, batch, _) in &pushed {
        // SAFETY: the streams were looked at above; the program keeps them during the call.
        failed = failed.and(each_stream(comm, batch, |stream| unsafe { comm.announce(batch, stream) }));
    }
    for (comm, batch, number) in &pushed {
        // SAFETY: as above.
        failed = failed.and(each_stream(comm, batch, |stream| unsafe { comm.hold(*number, stream) }));
    }
    failed
}

fn each_stream(comm: &Arc<Comm>, batch: &Batch, mut act: impl FnMut(hipStream_t) -> Result) -> Result {
    let done = current(comm)
        .and_then(|_current| batch.streams.iter().try_for_each(|stream| act(*stream as hipStream_t)));
    if let Err(failure) = &done {
        comm.fail(failure.clone(), Reason::Failed);
    }
    done
}

/// Whether a stream is one that the communicator's device can run operations on.
fn check_stream(comm: &Comm, stream: hipStream_t) -> Result {
    let _current = current(comm)?;
    let (mut device, mut status) = (-1, hipStreamCaptureStatus::hipStreamCaptureStatusNone);
    // SAFETY: both are places to write to; the program has passed a stream.
    unsafe {
        hip!(comm.hip, hipStreamGetDevice(stream, &raw mut device))
            .map_err(|failure| Failure::argument(failure.text))?;
        hip!(comm.hip, hipStreamIsCapturing(stream, &raw mut status))?;
    }
    if device != comm.device {
        let text = format!("the stream is of device {device}, the communicator of {}", comm.device);
        return Err(Failure::argument(text));
    }
    if status != hipStreamCaptureStatus::hipStreamCaptureStatusNone {
        return Err(Failure::usage("a stream that is captured: graphs of collectives are not supported"));
    }
    Ok(())
}
