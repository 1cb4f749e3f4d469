//! Groups: calls of a thread between `ncclGroupStart` and `ncclGroupEnd` take effect at the end of the
//! outermost group.

use std::cell::RefCell;
use std::ptr::null_mut;
use std::sync::Arc;

use hip_sys::{hipStream_t, hipStreamCaptureStatus};
use rccl_sys::ncclResult_t;

use crate::batch::{Batch, Operation, Work};
use crate::captured::{self, Capture, Captured};
use crate::comm::{Comm, Job, Place, current};
use crate::error::{Failure, Result, hip};
use crate::segment::Reason;

/// An operation, with its communicator and stream.
pub(crate) struct Submission {
    pub(crate) comm: Arc<Comm>,
    pub(crate) stream: hipStream_t,
    pub(crate) operation: Operation,
}

#[derive(Default)]
struct Group {
    depth: u32,
    submissions: Vec<Submission>,
    /// Communicators whose ranks are joining, with the place of those that begin only at the end of the
    /// group.
    started: Vec<(Arc<Comm>, Option<Place>)>,
    failure: Option<Failure>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

pub(crate) fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Ends a group. If anything in it was refused, the group does nothing, except for communicators that have
/// started already.
pub(crate) fn end() -> Result<ncclResult_t> {
    end_with(launch)
}

/// Ends a group, but only makes its communicators. Returns how many microseconds the rest may take. Returns
/// nothing inside another group.
pub(crate) fn simulate_end(micros: &mut f32) -> Result<ncclResult_t> {
    end_with(|submissions| {
        let parts = parts(submissions)?;
        *micros = 0.0;
        for Part { comm, work, .. } in &parts {
            // Communicators run in parallel.
            *micros = micros.max(work.estimate(comm.place()?.ranks));
        }
        Ok(())
    })
}

fn end_with(operations: impl FnOnce(Vec<Submission>) -> Result) -> Result<ncclResult_t> {
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
    operations(group.submissions)?;
    Ok(status)
}

/// Records a failure in a group. The group then does nothing.
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

/// Waits until the ranks of communicators have joined, at the end of the group or now.
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

/// Makes a communicator begin to join its ranks, at the end of the group or now, and waits for it then.
/// Before that it is not in progress, so that a thread that makes several ranks may query it.
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

/// The work of one communicator in a group, and the capture that its streams take part in.
struct Part {
    comm: Arc<Comm>,
    work: Work,
    capture: Option<Capture>,
}

/// A part with its place in the communicator's order, or in a graph.
enum Turn {
    Now { comm: Arc<Comm>, batch: Arc<Batch>, number: u64 },
    InGraph { key: usize, captured: Arc<Captured>, capture: Capture },
}

/// Groups submissions by communicator.
fn parts(submissions: Vec<Submission>) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for Submission { comm, stream, operation } in submissions {
        let capture = check_stream(&comm, stream)?;
        let index = parts.iter().position(|part| Arc::ptr_eq(&part.comm, &comm));
        let index = index.unwrap_or_else(|| {
            parts.push(Part { comm, work: Work::default(), capture });
            parts.len() - 1
        });
        if parts[index].capture != capture {
            return Err(Failure::usage(
                "either all streams of a communicator in a group are captured into one graph, or none",
            ));
        }
        parts[index].work.add(operation, stream as usize);
    }
    for part in &parts {
        part.work.check_own_transfers(part.comm.check()?.rank)?;
    }
    Ok(parts)
}

fn launch(submissions: Vec<Submission>) -> Result {
    let parts = parts(submissions)?;
    let mut turns = Vec::with_capacity(parts.len());
    let mut now = Vec::new();
    for Part { comm, work, capture } in parts {
        let Some(capture) = capture else {
            now.push((comm, work));
            continue;
        };
        let made = current(&comm).and_then(|_current| Captured::new(&comm, work, capture.graph));
        match made {
            Ok((key, captured)) => turns.push(Turn::InGraph { key, captured, capture }),
            Err(failure) => {
                turns.iter().for_each(|turn| turn.give_up(&failure));
                return Err(failure);
            }
        }
    }
    // From here on, a rank that is not notified would wait for ever, so a failure ends the communicator.
    for (comm, work) in now {
        let batch = Arc::new(Batch::new(work));
        let number = comm.push(Job::Batch(batch.clone()));
        turns.push(Turn::Now { comm, batch, number });
    }
    // All streams notify before any of them waits. A stream that several communicators use would otherwise
    // notify some of them too late.
    let mut failed = Ok(());
    for turn in &turns {
        // SAFETY: the streams were checked above, and the program keeps them during the call.
        failed = failed.and(turn.act(|| unsafe { turn.announce() }));
    }
    for turn in &turns {
        // SAFETY: as above.
        failed = failed.and(turn.act(|| unsafe { turn.hold() }));
    }
    failed
}

/// The streams of some work: the first one, and the others.
fn streams(work: &Work) -> Option<(hipStream_t, &[usize])> {
    work.streams.split_first().map(|(first, others)| (*first as hipStream_t, others))
}

impl Turn {
    /// # Safety
    /// The streams are live, and the communicator's device is current.
    unsafe fn announce(&self) -> Result {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Now { comm, batch, .. } => batch.work.streams.iter().try_for_each(|stream| {
                    let stream = *stream as hipStream_t;
                    comm.order().map_or(Ok(()), |order| order.wait(stream))?;
                    comm.announce(batch, stream)
                }),
                Self::InGraph { key, captured, capture } => {
                    let order = captured.comm().order();
                    let (Some((first, others)), Some(order)) = (streams(&captured.work), order) else {
                        return Ok(());
                    };
                    order.enter(first, others, *capture)?;
                    captured.announce(*key, first)
                }
            }
        }
    }

    /// # Safety
    /// As [`announce`](Self::announce).
    unsafe fn hold(&self) -> Result {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Now { comm, batch, number } => {
                    let streams = &batch.work.streams;
                    streams.iter().try_for_each(|stream| comm.hold(*number, *stream as hipStream_t))?;
                    // All of them wait for the same word.
                    match (comm.order(), streams.first()) {
                        (Some(order), Some(stream)) => order.note(*stream as hipStream_t),
                        _ => Ok(()),
                    }
                }
                Self::InGraph { captured, .. } => {
                    let order = captured.comm().order();
                    let (Some((first, others)), Some(order)) = (streams(&captured.work), order) else {
                        return Ok(());
                    };
                    captured.hold(first)?;
                    order.leave(first, others)
                }
            }
        }
    }

    /// Runs `act` with the communicator's device current.
    fn act(&self, act: impl FnOnce() -> Result) -> Result {
        let comm = match self {
            Self::Now { comm, .. } => comm,
            Self::InGraph { captured, .. } => captured.comm(),
        };
        let done = current(comm).and_then(|_current| act());
        if let Err(failure) = &done {
            self.give_up(failure);
        }
        done
    }

    /// Gives up a part that was enqueued incompletely. A graph then does nothing. If others may know of the
    /// work, the communicator fails.
    fn give_up(&self, failure: &Failure) {
        match self {
            Self::Now { comm, .. } => comm.fail(failure.clone(), Reason::Failed),
            Self::InGraph { key, .. } => captured::forget(*key),
        }
    }
}

/// Checks that a stream belongs to the communicator's device, and returns its capture.
fn check_stream(comm: &Comm, stream: hipStream_t) -> Result<Option<Capture>> {
    let _current = current(comm)?;
    let (mut device, mut status) = (-1, hipStreamCaptureStatus::hipStreamCaptureStatusNone);
    // SAFETY: both are valid for writes, and the program has passed a stream.
    unsafe {
        hip!(comm.hip, hipStreamGetDevice(stream, &raw mut device))
            .map_err(|failure| Failure::argument(failure.text))?;
        hip!(comm.hip, hipStreamIsCapturing(stream, &raw mut status))?;
    }
    if device != comm.device {
        let text = format!("the stream belongs to device {device}, the communicator to {}", comm.device);
        return Err(Failure::argument(text));
    }
    match status {
        hipStreamCaptureStatus::hipStreamCaptureStatusNone => return Ok(None),
        hipStreamCaptureStatus::hipStreamCaptureStatusActive => {}
        _ => return Err(Failure::usage("the stream's capture has been invalidated")),
    }
    let (mut id, mut graph) = (0, null_mut());
    // SAFETY: all are valid for writes, or null; the stream is captured.
    unsafe {
        hip!(
            comm.hip,
            hipStreamGetCaptureInfo_v2(
                stream,
                &raw mut status,
                &raw mut id,
                &raw mut graph,
                null_mut(),
                null_mut()
            )
        )?;
    }
    Ok(Some(Capture { id, graph }))
}
