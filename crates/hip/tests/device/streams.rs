//! Streams on a device: options, waits, and host functions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use hip::{Device, DeviceBuffer, Error, Event, EventOptions, Stream, StreamOptions};
use test_skip::{Lack, skip};

use crate::common;

const SOON: Duration = Duration::from_secs(60);

/// Blocks until the test continues.
fn block_on(wait: &Receiver<()>) {
    let _ = wait.recv_timeout(SOON);
}

/// Keeps the stream busy for a while.
fn delay(device: &Device, stream: &Stream, data: &mut DeviceBuffer<u32>) {
    let slow = common::module(device).function("slow").unwrap();
    let launch = slow.launch(stream).grid(1).block(64).arg(20_000_u32).arg(data);
    // SAFETY: the kernel writes 64 elements, which every test's buffer has.
    unsafe { launch.enqueue().unwrap() };
}

#[test]
fn streams_are_made_as_asked() {
    let device = common::device();
    let priorities = device.stream_priorities().unwrap();
    assert!(priorities.greatest <= priorities.least, "{priorities:?}");
    for priority in priorities.greatest..=priorities.least {
        let options = StreamOptions::new().priority(priority).blocking(priority % 2 == 0);
        let stream = device.stream_with(options).unwrap();
        assert_eq!(stream.priority().unwrap(), priority);
        assert_eq!(stream.is_blocking().unwrap(), priority % 2 == 0);
        let buffer = DeviceBuffer::from_slice(&stream, &[priority]).unwrap();
        assert_eq!(buffer.to_vec(&stream).unwrap(), [priority]);
    }
    let beyond = StreamOptions::new().priority(priorities.greatest - 1);
    assert!(matches!(device.stream_with(beyond), Err(Error::Priority { .. })));
    assert!(!device.stream().unwrap().is_blocking().unwrap());
}

#[test]
fn host_functions_take_their_turn() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let turns = Arc::new(AtomicU32::new(0));
    for turn in 0..5 {
        delay(&device, &stream, &mut data);
        let turns = turns.clone();
        stream
            .host_function(move || {
                let _ = turns.compare_exchange(turn, turn + 1, Ordering::SeqCst, Ordering::SeqCst);
            })
            .unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(turns.load(Ordering::SeqCst), 5);
}

#[test]
fn work_behind_a_host_function_waits_for_it() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (go, wait) = channel::<()>();
    stream.host_function(move || block_on(&wait)).unwrap();
    let event = Event::with(&device, EventOptions::new().timing(false).blocking_sync(true)).unwrap();
    event.record(&stream).unwrap();
    assert!(!event.is_done().unwrap() && !stream.is_done().unwrap());
    go.send(()).unwrap();
    event.synchronize().unwrap();
    stream.synchronize().unwrap();
    assert!(event.is_done().unwrap() && stream.is_done().unwrap());
}

#[test]
fn a_host_function_may_drop_what_its_stream_uses_and_must_not_use_the_device() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let (sender, receiver) = channel();
    let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    delay(&device, &stream, &mut data);
    let last = stream.clone();
    stream
        .host_function(move || {
            sender.send((last.synchronize(), last.record().map(drop), data.to_vec(&last).map(drop))).unwrap();
            drop((data, last));
        })
        .unwrap();
    drop(stream);
    let (first, second, third) = receiver.recv_timeout(SOON).unwrap();
    for result in [first, second, third] {
        assert!(matches!(result, Err(Error::HostFunction)), "{result:?}");
    }
    let next = device.stream().unwrap();
    assert_eq!(DeviceBuffer::from_slice(&next, &[1_u8]).unwrap().to_vec(&next).unwrap(), [1]);
}

#[test]
fn a_host_function_behind_a_fault_is_dropped_unrun() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let write_at = common::module(&device).function("write_at").unwrap();
    let (go, wait) = channel::<()>();
    stream.host_function(move || block_on(&wait)).unwrap();
    let launch = write_at.launch(&stream).grid(1).block(64).arg(&mut data).arg(1_i64 << 30);
    // SAFETY: only run where an access out of bounds is an error that harms nothing.
    unsafe { launch.enqueue().unwrap() };
    let (sender, receiver) = channel();
    stream.host_function(move || sender.send("run").unwrap()).unwrap();
    go.send(()).unwrap();
    assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
    assert!(matches!(stream.synchronize(), Err(Error::Fault(_))));
    assert!(matches!(stream.host_function(|| panic!("run")), Err(Error::Fault(_))));
}

#[test]
fn threads_have_streams_of_their_own() {
    let device = common::device();
    let here = device.thread_stream().unwrap();
    assert_eq!(here, device.thread_stream().unwrap());
    let there = std::thread::scope(|scope| {
        let work = || {
            let stream = device.thread_stream().unwrap();
            let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3]).unwrap();
            (buffer, stream)
        };
        scope.spawn(work).join().unwrap()
    });
    // The thread has ended, but its stream still works.
    let (buffer, stream) = there;
    assert_ne!(stream, here);
    assert_eq!(buffer.to_vec(&stream).unwrap(), [1, 2, 3]);
    drop(stream);
    assert_eq!(buffer.to_vec(&here).unwrap(), [1, 2, 3]);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn times_come_from_recorded_events_that_measure_time() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let start = stream.record().unwrap();
    delay(&device, &stream, &mut data);
    let end = stream.record().unwrap();
    assert!(end.elapsed_since(&start).unwrap() > Duration::ZERO);
    assert_eq!(start.elapsed_since(&end).unwrap(), Duration::ZERO);
    let never = Event::new(&device).unwrap();
    assert!(matches!(never.elapsed_since(&start), Err(Error::EventNotRecorded { .. })));
    let untimed = Event::without_timing(&device).unwrap();
    untimed.record(&stream).unwrap();
    assert!(matches!(end.elapsed_since(&untimed), Err(Error::EventWithoutTiming { .. })));
}

/// Two virtual devices of one runtime.
#[test]
fn streams_wait_for_events_and_streams_of_other_devices() {
    let devices = Device::open_all(&"vgpu:gfx1100?count=2&cus=6".parse().unwrap()).unwrap();
    let streams: Vec<Stream> = devices.iter().map(|device| device.stream().unwrap()).collect();
    let (go, wait) = channel::<()>();
    streams[0].host_function(move || block_on(&wait)).unwrap();
    let event = streams[0].record().unwrap();
    streams[1].wait_event(&event).unwrap();
    let third = devices[1].stream().unwrap();
    third.wait_stream(&streams[0]).unwrap();
    let order = Arc::new(AtomicU32::new(0));
    for stream in [&streams[1], &third] {
        let order = order.clone();
        stream
            .host_function(move || {
                order.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(order.load(Ordering::SeqCst), 0);
    go.send(()).unwrap();
    streams[1].synchronize().unwrap();
    third.synchronize().unwrap();
    assert_eq!(order.load(Ordering::SeqCst), 2);
    assert!(matches!(event.record(&streams[1]), Err(Error::OtherDevice { .. })));
}

#[test]
fn a_stream_waits_until_the_host_has_raised_a_number_so_far() {
    let device = common::device();
    let signal = match hip::HostSignal::new(&device) {
        Err(Error::Unsupported { .. }) => {
            skip(Lack::Device, format_args!("streams of {device} do not wait for memory"));
            return;
        }
        made => made.unwrap(),
    };
    let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffers = [(); 2].map(|()| DeviceBuffer::<u32>::zeroed(&first, 64).unwrap());
    first.synchronize().unwrap();
    first.wait_signal(&signal, 5).unwrap();
    second.wait_signal(&signal, 7).unwrap();
    for (buffer, stream) in buffers.iter_mut().zip([&first, &second]) {
        buffer.fill(stream, 3).unwrap();
    }
    signal.raise(4);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!first.is_done().unwrap() && !second.is_done().unwrap());
    signal.raise(6);
    first.synchronize().unwrap();
    assert!(!second.is_done().unwrap());
    signal.raise(2);
    assert_eq!(signal.value(), 6, "it is not lowered");
    second.wait_signal(&signal, 1).unwrap();
    // Without its last handle, nothing could raise it, so waiting streams continue.
    let clone = signal.clone();
    drop(signal);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!second.is_done().unwrap());
    drop(clone);
    second.synchronize().unwrap();
    for buffer in &buffers {
        assert_eq!(buffer.to_vec(&first).unwrap(), [3; 64]);
    }
    assert_eq!(hip::drop_failures(), 0);
}
