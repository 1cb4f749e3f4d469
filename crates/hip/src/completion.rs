//! Completions as futures, for any executor.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hip_sys::hipError_t;

use crate::call::check;
use crate::error::Result;
use crate::event::Event;
use crate::stream::{Stream, in_host_function};
use crate::threads;

/// A future that is ready when a stream's work, or the work before an event, is done. [`Stream::completion`]
/// and [`Event::completion`] make it.
///
/// It works with any executor and does not poll HIP: a callback wakes it. It starts with the call that makes
/// it, not with the first poll. It may be dropped at any time; the work goes on. Polling it again after it
/// was ready gives `Ok`.
///
/// ```no_run
/// # async fn example() -> hip::Result<()> {
/// let device = hip::Device::open("auto")?;
/// let stream = device.stream()?;
/// // … enqueue work on the stream …
/// stream.completion().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct Completion {
    shared: Arc<Shared>,
    /// The stream whose faults are explained.
    stream: Option<Stream>,
}

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// The result; `None` before it is known and after it is taken.
    result: Option<Result<()>>,
    done: bool,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the result and wakes the waiting task.
    fn finish(&self, result: Result<()>) {
        let waker = {
            let mut state = self.lock();
            (state.result, state.done) = (Some(result), true);
            state.waker.take()
        };
        let Some(waker) = waker else { return };
        if !in_host_function() {
            return waker.wake();
        }
        // A waker may run its task, or drop it with the objects that it holds. That must not happen on a
        // thread of the library.
        if let Err(refused) = threads::run(move || waker.wake()) {
            (refused.job)();
        }
    }
}

impl Completion {
    fn ready(result: Result<()>) -> Self {
        let shared = Shared::default();
        shared.finish(result);
        Self { shared: Arc::new(shared), stream: None }
    }
}

impl Future for Completion {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut state = self.shared.lock();
        if state.done {
            let result = state.result.take().unwrap_or(Ok(()));
            drop(state);
            return Poll::Ready(match &self.stream {
                Some(stream) => stream.check(result),
                None => result,
            });
        }
        let known = state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        let former = if known { None } else { state.waker.replace(context.waker().clone()) };
        drop(state);
        // Dropping a waker may run any code.
        drop(former);
        Poll::Pending
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let waker = self.shared.lock().waker.take();
        drop(waker);
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("done", &self.shared.lock().done)
            .field("stream", &self.stream)
            .finish()
    }
}

impl Stream {
    /// A future that is ready when all work enqueued so far is done or the stream has failed
    /// (`hipStreamQuery`, `hipStreamAddCallback`).
    ///
    /// If the stream is idle, HIP is not called again. Otherwise a callback is enqueued, and work enqueued
    /// later starts once that has run, which takes microseconds. Until then [`is_done`](Self::is_done) may
    /// return `false`. The future keeps the stream alive.
    ///
    /// # Errors
    /// The future's result is what [`synchronize`](Self::synchronize) would return:
    /// [`Error::Fault`](crate::Error::Fault) if a kernel of this stream ended abnormally, else
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn completion(&self) -> Completion {
        match self.is_done() {
            Ok(true) => return Completion::ready(Ok(())),
            Ok(false) => {}
            Err(error) => return Completion::ready(Err(error)),
        }
        let shared = Arc::new(Shared::default());
        let told = shared.clone();
        let tell = move |status: hipError_t| told.finish(check("hipStreamAddCallback", status));
        match self.callback(tell) {
            Ok(()) => Completion { shared, stream: Some(self.clone()) },
            Err(error) => Completion::ready(Err(error)),
        }
    }
}

impl Event {
    /// A future that is ready when the event is done (`hipEventQuery`, `hipEventSynchronize`). If the event
    /// is recorded again before the future is ready, the future may wait for the new recording; record
    /// another event instead.
    ///
    /// If the event is already done, nothing else happens. HIP has no event callback, so a helper thread
    /// waits, one for each awaited event. [`Stream::completion`] needs no thread.
    ///
    /// # Errors
    /// The future's result is what [`synchronize`](Self::synchronize) would return, or
    /// [`Error::Thread`](crate::Error::Thread) if the system refuses a thread.
    pub fn completion(&self) -> Completion {
        match self.is_done() {
            Ok(true) => return Completion::ready(Ok(())),
            Ok(false) => {}
            Err(error) => return Completion::ready(Err(error)),
        }
        let shared = Arc::new(Shared::default());
        let (told, event) = (shared.clone(), self.share());
        let waiting = threads::run(move || {
            let result = event.synchronize();
            drop(event);
            told.finish(result);
        });
        match waiting {
            Ok(()) => Completion { shared, stream: None },
            Err(refused) => Completion::ready(Err(refused.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::{DeviceBuffer, Error, HostBuffer, fake};

    /// Counts how often it was woken, and unparks its thread.
    struct Count(AtomicUsize, std::thread::Thread);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
            self.1.unpark();
        }
    }

    fn count() -> Arc<Count> {
        Arc::new(Count(AtomicUsize::new(0), std::thread::current()))
    }

    fn poll<F: Future + Unpin>(future: &mut F, count: &Arc<Count>) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(count.clone())))
    }

    fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
        let count = count();
        loop {
            if let Poll::Ready(output) = poll(&mut future, &count) {
                return output;
            }
            std::thread::park();
        }
    }

    #[test]
    fn a_stream_with_nothing_to_do_is_ready_at_once_and_gets_no_callback() {
        let stream = fake::device(0).stream().unwrap();
        let count = count();
        let mut completion = stream.completion();
        assert!(matches!(poll(&mut completion, &count), Poll::Ready(Ok(()))));
        assert!(matches!(poll(&mut completion, &count), Poll::Ready(Ok(()))));
        assert!(fake::calls(&stream).is_empty());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_stream_wakes_its_last_waker_once_when_it_is_done() {
        let stream = fake::device(0).stream().unwrap();
        let hold = fake::hold(&stream);
        let mut completion = stream.completion();
        let (former, last) = (count(), count());
        for count in [&former, &former, &last] {
            assert!(poll(&mut completion, count).is_pending());
        }
        drop(hold);
        block_on(&mut completion).unwrap();
        assert_eq!(former.0.load(Ordering::SeqCst), 0);
        assert_eq!(Arc::strong_count(&former), 1);
        assert_eq!(fake::calls(&stream), ["callback"]);
    }

    #[test]
    fn a_fault_completes_what_waits_for_its_stream() {
        let stream = fake::device(0).stream().unwrap();
        let hold = fake::hold(&stream);
        let (waiting, event) = (stream.completion(), stream.record().unwrap());
        let event = event.completion();
        fake::fault(&stream, "kernel `k`");
        assert!(matches!(block_on(waiting), Err(Error::Fault(report)) if report.text() == "kernel `k`"));
        assert!(matches!(block_on(event), Err(Error::Fault(_))));
        assert!(matches!(block_on(stream.completion()), Err(Error::Fault(_))));
        drop(hold);
    }

    #[test]
    fn the_last_handle_of_a_stream_may_go_first() {
        let stream = fake::device(0).stream().unwrap();
        let hold = fake::hold(&stream);
        let completion = stream.completion();
        drop(stream);
        drop(hold);
        block_on(completion).unwrap();
    }

    #[test]
    fn completions_may_be_dropped_and_forgotten() {
        let stream = fake::device(0).stream().unwrap();
        let hold = fake::hold(&stream);
        let (dropped, forgotten, waker) = (stream.completion(), stream.completion(), count());
        let mut dropped = dropped;
        assert!(poll(&mut dropped, &waker).is_pending());
        assert_eq!(Arc::strong_count(&waker), 2);
        drop(dropped);
        assert_eq!(Arc::strong_count(&waker), 1);
        std::mem::forget(forgotten);
        drop(stream.record().unwrap().completion());
        drop(hold);
        block_on(stream.completion()).unwrap();
        assert_eq!(waker.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn events_complete_in_whatever_order_they_are_done() {
        let device = fake::device(0);
        let streams: Vec<_> = (0..4).map(|_| device.stream().unwrap()).collect();
        let holds: Vec<_> = streams.iter().map(fake::hold).collect();
        let events: Vec<_> = streams.iter().map(|stream| stream.record().unwrap().completion()).collect();
        for (hold, event) in holds.into_iter().zip(events).rev() {
            drop(hold);
            block_on(event).unwrap();
        }
        assert!(block_on(Event::new(&device).unwrap().completion()).is_ok());
    }

    #[test]
    fn a_copy_that_is_awaited_gives_its_buffer_back() {
        let device = fake::device(0);
        let stream = device.stream().unwrap();
        let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3]).unwrap();
        let host = || HostBuffer::zeroed(&device, 3).unwrap();
        let hold = fake::hold(&stream);
        let pending = buffer.download(&stream, host()).unwrap();
        let mut copy = pending.into_future();
        assert!(poll(&mut copy, &count()).is_pending());
        drop(hold);
        assert_eq!(*block_on(copy).unwrap(), [1, 2, 3]);
        let pending = buffer.download(&stream, host()).unwrap();
        fake::fault(&stream, "kernel `k`");
        assert!(matches!(block_on(pending.into_future()), Err(Error::Fault(_))));
    }

    #[test]
    fn a_task_that_ends_with_its_waker_may_hold_what_waits() {
        /// A task whose waker holds the last reference.
        struct Task(Mutex<Option<(Stream, DeviceBuffer<u32>)>>, std::sync::mpsc::Sender<()>);
        impl Wake for Task {
            fn wake(self: Arc<Self>) {
                // Waits for the stream whose callback is running.
                drop(self.0.lock().unwrap().take());
                let _ = self.1.send(());
            }
        }
        let stream = fake::device(0).stream().unwrap();
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
        let hold = fake::hold(&stream);
        let mut completion = stream.completion();
        let (sender, receiver) = std::sync::mpsc::channel();
        let task = Waker::from(Arc::new(Task(Mutex::new(Some((stream, buffer))), sender)));
        assert!(Pin::new(&mut completion).poll(&mut Context::from_waker(&task)).is_pending());
        drop(task);
        drop(hold);
        receiver.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    }
}
