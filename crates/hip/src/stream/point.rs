//! Points in a stream's work, for later work to wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::hipEvent_t;

use super::{Stream, WeakStream, release};
use crate::call::{call, dropped, is_ready};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::GraphError;

/// The end of a stream's work at one time. It stays there, whatever is submitted later.
///
/// It is reached when the stream has done that work, or has failed and does nothing any more. It does not
/// cover work on other streams that the stream waited for: a failed stream waits no longer, and those streams
/// may still run.
#[derive(Debug)]
pub(crate) struct Point {
    stream: WeakStream,
    /// Later points of the stream have greater numbers.
    number: u64,
    event: PointEvent,
    events: Arc<PointEvents>,
    /// Whether it is known to be reached.
    reached: AtomicBool,
}

/// The events that mark points of one stream. Each is reused when its point is gone.
#[derive(Debug)]
pub(super) struct PointEvents {
    device: Device,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    unused: Vec<PointEvent>,
    /// How many points have been made.
    points: u64,
}

#[derive(Clone, Copy, Debug)]
struct PointEvent(hipEvent_t);

// SAFETY: HIP's event handles may be used by any thread.
unsafe impl Send for PointEvent {}
// SAFETY: HIP's functions on an event may be called by several threads at once.
unsafe impl Sync for PointEvent {}

/// The end of another stream's work, which this stream is ordered after.
#[derive(Debug)]
pub(crate) enum Before {
    /// It ends at this point, and the stream waits for that on the device.
    Point(Arc<Point>),
    /// It is over; with an error, it ended early.
    Over(Option<Error>),
}

impl PointEvents {
    pub(super) fn new(device: Device) -> Arc<Self> {
        Arc::new(Self { device, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PointEvents {
    fn drop(&mut self) {
        let unused = std::mem::take(&mut self.state.get_mut().unwrap_or_else(PoisonError::into_inner).unused);
        if unused.is_empty() {
            return;
        }
        let device = self.device.clone();
        release("event", move || {
            for event in unused {
                // SAFETY: the event was made for this stream's points and is destroyed once; HIP keeps what
                // pending work needs.
                dropped("event", unsafe { call!(device.table(), hipEventDestroy(event.0)) });
            }
        });
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        self.events.lock().unused.push(self.event);
    }
}

impl Stream {
    /// Marks the end of the work enqueued so far.
    pub(crate) fn point(&self) -> Result<Arc<Point>> {
        // An event can only be recorded on streams of its own device.
        self.make_current_or_capture()?;
        let events = &self.0.points;
        let mut state = events.lock();
        let event = match state.unused.pop() {
            Some(event) => event,
            None => {
                let mut event: hipEvent_t = std::ptr::null_mut();
                let flags = hip_sys::hipEventDisableTiming;
                // SAFETY: the handle is a place to write to, and the device is current on this thread.
                unsafe { call!(self.table(), hipEventCreateWithFlags(&raw mut event, flags))? };
                PointEvent(event)
            }
        };
        // SAFETY: both handles are valid, and no point uses the event.
        if let Err(error) = unsafe { call!(self.table(), hipEventRecord(event.0, self.handle())) } {
            state.unused.push(event);
            return Err(error);
        }
        // Under the lock, so that the numbers follow the order of the stream.
        state.points += 1;
        let number = state.points;
        let (stream, events) = (self.downgrade(), events.clone());
        Ok(Arc::new(Point { stream, number, event, events, reached: AtomicBool::new(false) }))
    }

    /// Orders this stream after all work submitted to `other` so far, on any device. If `other` fails, work
    /// that it waited for may still run, and must be waited for separately.
    pub(crate) fn wait_for(&self, other: &Self) -> Result<Before> {
        if !std::ptr::eq(other.table(), self.table()) {
            // Streams of two runtimes cannot wait for each other, so the host waits.
            return other.finished();
        }
        // Waiting for a captured stream would capture this one, too.
        if self.capture().map(Arc::as_ptr) != other.capture().map(Arc::as_ptr) {
            return Err(GraphError::OtherStream.into());
        }
        let point = match other.point() {
            Ok(point) => point,
            Err(error @ (Error::Hip { .. } | Error::Fault(_))) => {
                tracing::debug!(%error, "a stream had failed before another was ordered after it");
                return other.finished();
            }
            Err(error) => return Err(error),
        };
        self.wait_for_point(&point)?;
        Ok(Before::Point(point))
    }

    /// Orders this stream after a point of a stream on any device.
    pub(crate) fn wait_for_point(&self, point: &Point) -> Result<()> {
        if !std::ptr::eq(point.events.device.table(), self.table()) {
            return point.finish();
        }
        self.make_current_or_capture()?;
        // SAFETY: both handles are valid, and the event is not recorded again before the point is gone; HIP
        // keeps what it needs of the recording. If the point's stream fails, this one continues once that one
        // runs nothing any more.
        self.check(unsafe { call!(self.table(), hipStreamWaitEvent(self.handle(), point.event.0, 0)) })
    }

    /// Blocks until the work is done. A fault is part of the result, not an error.
    fn finished(&self) -> Result<Before> {
        match self.synchronize() {
            Ok(()) => Ok(Before::Over(None)),
            Err(error @ Error::Fault(_)) => Ok(Before::Over(Some(error))),
            Err(error) => Err(error),
        }
    }
}

impl Point {
    /// Its number among the points of its stream.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is known to be reached, without a query.
    pub(crate) fn is_known(&self) -> bool {
        self.reached.load(Ordering::Acquire) || self.stream.is_over()
    }

    /// Whether it is reached, without waiting. `false` if that is unknown.
    pub(crate) fn is_reached(&self) -> bool {
        if self.is_known() {
            return true;
        }
        let device = &self.events.device;
        let queried = device.make_current().and_then(|()| {
            // SAFETY: the handle is valid as long as `self` is.
            device.check(is_ready(unsafe { call!(device.table(), hipEventQuery(self.event.0)) }))
        });
        let reached = match queried {
            Ok(reached) => reached,
            Err(Error::HostLaunch(_)) => true,
            // The error may be the stream's, or say nothing about it.
            Err(_) => self.stream.is_idle(),
        };
        if reached {
            self.reached.store(true, Ordering::Release);
        }
        reached
    }

    /// Blocks until it is reached. An error means that the stream may still run earlier work.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.is_known() {
            return Ok(());
        }
        let device = &self.events.device;
        device.make_current()?;
        // SAFETY: the handle is valid as long as `self` is.
        let waited = device.check(unsafe { call!(device.table(), hipEventSynchronize(self.event.0)) });
        if let Err(error) = waited {
            self.stream.owe(error);
            // Either the stream failed or only the wait. In both cases, nothing may be running afterwards.
            if let Err(error) = self.stream.finish()? {
                tracing::debug!(%error, "a stream had failed before one of its points was waited for");
            }
        }
        self.reached.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::fake;

    #[test]
    fn points_stay_where_they_are_and_their_events_are_used_again() {
        let device = fake::caching_device();
        let stream = device.stream().unwrap();
        let first = stream.point().unwrap();
        assert!(first.is_reached());
        let hold = fake::hold(&stream);
        let second = stream.point().unwrap();
        assert!(first.is_reached() && !second.is_reached() && first.number() < second.number());
        assert_eq!(fake::events(&device), 2);
        drop(first);
        let third = stream.point().unwrap();
        assert_eq!(fake::events(&device), 2);
        drop(hold);
        third.finish().unwrap();
        assert!(second.is_reached() && third.is_known());
        drop((second, stream));
        // Whatever remembers a point keeps its event.
        assert_eq!(fake::events(&device), 2);
        drop(third);
        assert_eq!(fake::events(&device), 0);
    }

    #[test]
    fn a_point_is_reached_when_its_stream_has_failed() {
        let device = fake::device(0);
        let stream = device.stream().unwrap();
        let hold = fake::hold(&stream);
        let point = stream.point().unwrap();
        assert!(!point.is_reached());
        fake::fault(&stream, "kernel `k`");
        assert!(point.is_reached());
        let failed = stream.wait_for(&device.stream().unwrap());
        assert!(matches!(failed, Err(crate::Error::Fault(_))), "{failed:?}");
        drop(hold);
    }
}
