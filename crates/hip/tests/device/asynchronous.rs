//! Completions as futures, on an executor of this file.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use hip::{DeviceBuffer, Error, Event, HostBuffer, Stream};

use crate::common;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(60)),
        }
    }
}

/// Blocks the stream until something is sent, or the sender is dropped.
fn hold(stream: &Stream) -> std::sync::mpsc::Sender<()> {
    let (go, wait) = channel();
    let wait = move || {
        let _ = wait.recv_timeout(Duration::from_secs(60));
    };
    stream.host_function(wait).unwrap();
    go
}

#[test]
fn what_is_awaited_is_done() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let slow = common::module(&device).function("slow").unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    block_on(async {
        stream.completion().await.unwrap();
        for _ in 0..3 {
            let launch = slow.launch(&stream).grid(1).block(64).arg(20_000_u32).arg(&mut data);
            // SAFETY: the kernel writes 64 elements, which the buffer has.
            unsafe { launch.enqueue().unwrap() };
            let event = stream.record().unwrap();
            stream.completion().await.unwrap();
            assert!(event.is_done().unwrap());
            let event = stream.record().unwrap();
            event.completion().await.unwrap();
            assert!(event.is_done().unwrap());
        }
        Event::new(&device).unwrap().completion().await.unwrap();
    });
}

#[test]
fn copies_that_are_awaited_give_their_buffers_back() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let values: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, values.len()).unwrap();
    let back = block_on(async {
        let host = HostBuffer::from_slice(&device, &values).unwrap();
        let mut host = buffer.upload(&stream, host).unwrap().await.unwrap();
        host.fill(0.0);
        buffer.download(&stream, host).unwrap().await.unwrap()
    });
    assert_eq!(*back, values[..]);
    // Dropped while awaited: the copy ends before its memory is released.
    let go = hold(&stream);
    let mut copy = Box::pin(IntoFuture::into_future(buffer.download(&stream, back).unwrap()));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    assert!(copy.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    go.send(()).unwrap();
    drop(copy);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn many_tasks_on_many_threads_wait_for_streams_of_their_own_and_of_others() {
    let device = common::device();
    let shared = device.stream().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let (device, shared) = (&device, &shared);
            scope.spawn(move || {
                let own = device.stream().unwrap();
                for round in 0..5 {
                    for stream in [&own, shared] {
                        let values = [thread, round, 7];
                        let host = HostBuffer::from_slice(device, &values).unwrap();
                        let mut buffer = DeviceBuffer::<u32>::uninit(device, 3).unwrap();
                        let back = block_on(async {
                            let host = buffer.upload(stream, host).unwrap().await.unwrap();
                            let down = buffer.download(stream, host).unwrap();
                            stream.completion().await.unwrap();
                            down.await.unwrap()
                        });
                        assert_eq!(*back, values);
                    }
                }
            });
        }
    });
}

#[test]
fn events_complete_before_later_work_of_their_stream() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let first = hold(&stream);
    let event = stream.record().unwrap();
    let second = hold(&stream);
    let (event, end) = (event.completion(), stream.completion());
    first.send(()).unwrap();
    block_on(event).unwrap();
    assert!(!stream.is_done().unwrap());
    second.send(()).unwrap();
    block_on(end).unwrap();
}

#[test]
fn completions_are_dropped_and_forgotten_at_will_and_outlive_their_streams() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let go = hold(&stream);
    drop(stream.completion());
    std::mem::forget(device.stream().unwrap().completion());
    drop(stream.record().unwrap().completion());
    let (completion, event) = (stream.completion(), stream.record().unwrap().completion());
    drop(stream);
    go.send(()).unwrap();
    block_on(completion).unwrap();
    block_on(event).unwrap();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn a_fault_completes_what_waits_for_it() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let write_at = common::module(&device).function("write_at").unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let go = hold(&stream);
    let launch = write_at.launch(&stream).grid(1).block(64).arg(&mut data).arg(1_i64 << 30);
    // SAFETY: only run where an access out of bounds is an error that harms nothing.
    unsafe { launch.enqueue().unwrap() };
    let (completion, event) = (stream.completion(), stream.record().unwrap().completion());
    let copy = data.download(&stream, HostBuffer::zeroed(&device, 64).unwrap()).unwrap();
    go.send(()).unwrap();
    let error = block_on(completion).unwrap_err();
    assert!(error.fault().is_some_and(|report| report.text().contains("write_at")), "{error}");
    assert!(!error.is_sticky() && error.code_name().is_some(), "{error:?}");
    assert!(!device.describe(error.code().unwrap()).is_empty());
    let error = block_on(event).unwrap_err();
    assert!(error.fault().is_some_and(|report| report.is_contained()), "{error}");
    assert!(matches!(block_on(async { copy.await }), Err(Error::Fault(_))));
    assert!(matches!(block_on(stream.completion()), Err(Error::Fault(_))));
}
