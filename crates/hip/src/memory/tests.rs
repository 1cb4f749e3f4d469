use super::*;
use crate::{Error, fake};

#[test]
fn what_is_copied_to_a_device_comes_back() {
    let stream = fake::device(0).stream().unwrap();
    let values = [1.5_f64, -2.0, f64::INFINITY];
    let buffer = DeviceBuffer::from_slice(&stream, &values).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), values);
    let mut back = [0.0; 3];
    buffer.copy_to_host(&stream, &mut back).unwrap();
    assert_eq!(back, values);
}

#[test]
fn fills_of_every_size_reach_every_element() {
    fn check<T: DeviceCopy + PartialEq + std::fmt::Debug>(value: T) {
        let stream = fake::device(0).stream().unwrap();
        for len in [0, 1, 2, 3, 7, 64, 100] {
            let mut buffer = DeviceBuffer::uninit(stream.device(), len).unwrap();
            buffer.fill(&stream, value).unwrap();
            assert_eq!(buffer.to_vec(&stream).unwrap(), vec![value; len]);
        }
    }
    check(7_u8);
    check(half::f16::from_f32(1.5));
    check(1.0_f32);
    check(0.1_f64);
    check([1_u8, 2, 3]);
    check([1_u32, 2, 3]);
    check([[0_u16; 2]; 3]);
    check([0_u8; 0]);
}

#[test]
fn views_reach_their_part_and_no_more() {
    let stream = fake::device(0).stream().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[0_u32, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(buffer.slice(2..4).unwrap().to_vec(&stream).unwrap(), [2, 3]);
    assert_eq!(buffer.slice(2..).unwrap().slice(1..=1).unwrap().to_vec(&stream).unwrap(), [3]);
    let (mut low, mut high) = buffer.split_at_mut(3).unwrap();
    low.fill(&stream, 9).unwrap();
    high.slice_mut(..2).unwrap().copy_from(&stream, low.as_slice().slice(..2).unwrap()).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [9, 9, 9, 9, 9, 5]);
    assert!(buffer.try_slice(3..7).is_none());
    assert!(buffer.try_slice_mut(7..).is_none());
    assert!(matches!(buffer.split_at(7), Err(Error::OutOfRange { len: 6, .. })));
}

#[test]
fn buffers_of_no_elements_are_legal() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut empty = DeviceBuffer::<f32>::zeroed(&stream, 0).unwrap();
    assert!(empty.is_empty() && empty.address() == DeviceAddress::NULL);
    empty.fill(&stream, 1.0).unwrap();
    empty.copy_from_host(&stream, &[]).unwrap();
    assert!(empty.to_vec(&stream).unwrap().is_empty());
    let host = empty.download(&stream, HostBuffer::zeroed(&device, 0).unwrap()).unwrap().wait().unwrap();
    assert!(host.is_empty());
    let nothing = DeviceBuffer::from_slice(&stream, &[[0_u8; 0]; 5]).unwrap();
    assert_eq!((nothing.len(), nothing.size_in_bytes()), (5, 0));
    assert_eq!(nothing.to_vec(&stream).unwrap().len(), 5);
}

#[test]
fn pinned_buffers_travel_with_a_copy_and_come_back() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let host = HostBuffer::from_slice(&device, &[1, 2, 3, 4]).unwrap();
    let pending = buffer.upload(&stream, host).unwrap();
    assert!(pending.is_done().unwrap());
    let mut host = pending.wait().unwrap();
    assert_eq!(*host, [1, 2, 3, 4]);
    host.fill(0);
    let host = buffer.download(&stream, host).unwrap().wait().unwrap();
    assert_eq!(*host, [1, 2, 3, 4]);
    drop(buffer.download(&stream, host).unwrap());
}

#[test]
fn a_copy_on_a_faulted_stream_reports_the_fault() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let pending = buffer.download(&stream, HostBuffer::zeroed(&device, 4).unwrap()).unwrap();
    fake::fault(&stream, "kernel `k`");
    assert!(matches!(pending.is_done(), Err(Error::Fault(_))));
    assert!(matches!(pending.wait(), Err(Error::Fault(_))));
    assert!(matches!(buffer.to_vec(&stream), Err(Error::Fault(_))));
}

#[test]
fn lengths_must_agree() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let other = DeviceBuffer::<u32>::zeroed(&stream, 3).unwrap();
    let host = || HostBuffer::zeroed(&device, 5).unwrap();
    let results = [
        buffer.copy_from_host(&stream, &[0; 5]),
        buffer.copy_to_host(&stream, &mut [0; 5]),
        buffer.copy_from(&stream, &other),
        buffer.upload(&stream, host()).map(drop),
        buffer.download(&stream, host()).map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::LengthMismatch { .. })), "{result:?}");
    }
}

#[test]
fn memory_and_streams_of_two_devices_do_not_mix() {
    let (first, second) = (fake::device(0), fake::device(1));
    let stream = first.stream().unwrap();
    let mut here = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let mut there = DeviceBuffer::<u32>::zeroed(&second.stream().unwrap(), 4).unwrap();
    for result in [
        there.fill(&stream, 0),
        there.to_vec(&stream).map(drop),
        there.copy_from_host(&stream, &[0; 4]),
        here.copy_from(&fake::caching_device().stream().unwrap(), &there),
    ] {
        assert!(matches!(result, Err(Error::OtherDevice { .. })), "{result:?}");
    }
    let other = second.stream().unwrap();
    fake::calls(&stream);
    // A copy from device to device is ordered on both sides.
    there.fill(&other, 7).unwrap();
    here.copy_from(&stream, &there).unwrap();
    assert_eq!((fake::calls(&other), fake::calls(&stream)), (vec!["set32", "record"], vec!["wait", "copy"]));
    assert_eq!(here.to_vec(&stream).unwrap(), [7; 4]);
}

#[test]
fn too_much_memory_is_an_error_that_says_how_much_there_is() {
    let device = fake::device(0);
    let error = DeviceBuffer::<u32>::uninit(&device, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { requested: 4194304, free: 1048576, .. }), "{error}");
    let error = DeviceBuffer::<u32>::uninit(&device, usize::MAX / 2).unwrap_err();
    assert!(matches!(error, Error::TooLarge { size: 4, .. }), "{error}");
    assert!(matches!(HostBuffer::<u64>::zeroed(&device, usize::MAX), Err(Error::TooLarge { .. })));
    assert!(matches!(HostBuffer::<u8>::zeroed(&device, 1 << 21), Err(Error::Hip { .. })));
}

#[test]
fn a_copy_that_is_refused_is_over_before_its_memory_is_given_back() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let host = || HostBuffer::from_slice(&device, &[3_u32, 4]).unwrap();
    let refused = |enqueue: &mut dyn FnMut() -> crate::Result<()>| {
        fake::calls(&stream);
        fake::refuse_copies(1);
        assert!(matches!(enqueue(), Err(Error::Hip { operation: "hipMemcpyAsync", .. })));
        assert_eq!(fake::calls(&stream), ["copy", "synchronize"]);
    };
    refused(&mut || buffer.copy_to_host(&stream, &mut [0; 2]));
    refused(&mut || buffer.to_vec(&stream).map(drop));
    refused(&mut || buffer.download(&stream, host()).map(drop));
    refused(&mut || buffer.copy_from_host(&stream, &[5, 6]));
    refused(&mut || buffer.upload(&stream, host()).map(drop));
    // Between devices, no host memory is involved.
    let source = DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap();
    fake::calls(&stream);
    fake::refuse_copies(1);
    assert!(buffer.copy_from(&stream, &source).is_err());
    assert_eq!(fake::calls(&stream), ["copy"]);
}
