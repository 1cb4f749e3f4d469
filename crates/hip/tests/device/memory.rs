//! Copies, fills and views on a device.

use hip::{DeviceBuffer, DeviceCopy, Error, Event, HostBuffer};

use crate::common;

#[test]
fn copies_bring_back_what_they_took() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for len in [0, 1, 3, 1000, 100_003] {
        let values: Vec<u32> = (0..len).map(|i| i * 7 + 1).collect();
        let buffer = DeviceBuffer::from_slice(&stream, &values).unwrap();
        assert_eq!(buffer.to_vec(&stream).unwrap(), values);
        let mut copy = DeviceBuffer::uninit(&device, values.len()).unwrap();
        copy.copy_from(&stream, &buffer).unwrap();
        drop(buffer);
        assert_eq!(copy.to_vec(&stream).unwrap(), values);
    }
}

#[test]
fn copies_reach_any_offset() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let mut expected: Vec<u8> = (0..=255).collect();
    let mut buffer = DeviceBuffer::from_slice(&stream, &expected).unwrap();
    for (start, end) in [(0, 1), (1, 4), (3, 66), (254, 256), (17, 17)] {
        let part: Vec<u8> = (start..end).map(|i| (i * 3) as u8).collect();
        buffer.slice_mut(start..end).unwrap().copy_from_host(&stream, &part).unwrap();
        expected[start..end].copy_from_slice(&part);
        assert_eq!(buffer.slice(start..end).unwrap().to_vec(&stream).unwrap(), part);
    }
    assert_eq!(buffer.to_vec(&stream).unwrap(), expected);
}

#[test]
fn fills_set_every_element_of_a_view_and_no_other() {
    fn check<T: DeviceCopy + PartialEq + std::fmt::Debug>(background: T, value: T) {
        let stream = common::device().stream().unwrap();
        let mut buffer = DeviceBuffer::uninit(stream.device(), 1000).unwrap();
        buffer.fill(&stream, background).unwrap();
        buffer.slice_mut(13..877).unwrap().fill(&stream, value).unwrap();
        let result = buffer.to_vec(&stream).unwrap();
        assert!(result[13..877].iter().all(|element| *element == value));
        assert!(result[..13].iter().chain(&result[877..]).all(|element| *element == background));
    }
    check(1_u8, 0xa5);
    check(half::f16::ONE, half::f16::from_f32(-2.5));
    check(half::bf16::ONE, half::bf16::from_f32(-2.5));
    check(1.0_f32, f32::MIN_POSITIVE);
    check(1.0_f64, 0.1);
    check([1_u32, 2, 3], [4, 5, 6]);
}

#[test]
fn pinned_memory_travels_with_a_copy_and_comes_back() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let values: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, values.len()).unwrap();
    let up = buffer.upload(&stream, HostBuffer::from_slice(&device, &values).unwrap()).unwrap();
    let down = buffer.download(&stream, HostBuffer::zeroed(&device, values.len()).unwrap()).unwrap();
    assert_eq!(*down.wait().unwrap(), values[..]);
    assert!(up.is_done().unwrap());
    assert_eq!(*up.wait().unwrap(), values[..]);
    // Dropped without waiting: the copy ends before its memory is released.
    drop(buffer.download(&stream, HostBuffer::zeroed(&device, values.len()).unwrap()).unwrap());
}

#[test]
fn memory_is_given_back() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let before = device.memory_info().unwrap();
    let buffer = DeviceBuffer::<u8>::zeroed(&stream, 64 << 20).unwrap();
    let during = device.memory_info().unwrap();
    assert!(during.free + (64 << 20) <= before.free, "{before:?} {during:?}");
    drop(buffer);
    for _ in 0..100 {
        drop(DeviceBuffer::<u8>::zeroed(&stream, 64 << 20).unwrap());
    }
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn more_memory_than_there_is_is_an_error_that_says_so() {
    let device = common::device();
    let total = device.properties().memory;
    let error = DeviceBuffer::<u8>::uninit(&device, total + 1).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == total + 1), "{error}");
    let error = DeviceBuffer::<u64>::uninit(&device, usize::MAX).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn events_measure_time_and_order_streams() {
    let device = common::device();
    let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
    let start = first.record().unwrap();
    let mut buffer = DeviceBuffer::<u8>::zeroed(&first, 16 << 20).unwrap();
    buffer.fill(&first, 3).unwrap();
    let end = first.record().unwrap();
    second.wait_event(&end).unwrap();
    assert_eq!(buffer.slice(..2).unwrap().to_vec(&second).unwrap(), [3, 3]);
    assert!(start.is_done().unwrap() && end.is_done().unwrap());
    assert!(end.elapsed_since(&start).unwrap().as_nanos() > 0);
    let untimed = Event::without_timing(&device).unwrap();
    untimed.record(&first).unwrap();
    untimed.synchronize().unwrap();
    device.synchronize().unwrap();
    assert!(first.is_done().unwrap());
}

#[test]
fn several_threads_use_one_device() {
    let device = common::device();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let device = &device;
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                for round in 0..10 {
                    let values = vec![thread * 100 + round; 1000];
                    let buffer = DeviceBuffer::from_slice(&stream, &values).unwrap();
                    assert_eq!(buffer.to_vec(&stream).unwrap(), values);
                }
            });
        }
    });
}
