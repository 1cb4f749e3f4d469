use super::Usage;
use crate::{DeviceBuffer, Error, fake};

#[test]
fn one_stream_never_waits() {
    let stream = fake::device(0).stream().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    buffer.fill(&stream, 3).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [3, 3]);
    let calls = fake::calls(&stream);
    assert_eq!(calls, ["copy", "synchronize", "set32", "copy", "synchronize"]);
}

#[test]
fn a_write_after_a_read_on_the_same_stream_is_seen_by_other_streams() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
    buffer.to_vec(&a).unwrap();
    buffer.fill(&a, 1).unwrap();
    buffer.to_vec(&b).unwrap();
    assert_eq!(fake::calls(&b), ["wait", "copy", "synchronize"]);
}

#[test]
fn a_new_owner_is_ordered_after_the_former_one_and_gets_none_of_its_errors() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let handed_over = || {
        let mut usage = Usage::default();
        usage.write(&a).unwrap();
        Usage::after(usage.retire())
    };
    let same = handed_over();
    same.write(&a).unwrap();
    assert!(fake::calls(&a).is_empty());
    same.read(&b).unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["record"], vec!["wait"]));
    // The contents are unspecified, so a read does not wait. A write does.
    let other = handed_over();
    other.read(&b).unwrap();
    assert!(fake::calls(&b).is_empty());
    other.write(&b).unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["record"], vec!["wait"]));
    // Before an address leaves this crate, the host waits, once, unless a write has been ordered.
    let address = handed_over();
    address.finish_inherited();
    address.finish_inherited();
    other.finish_inherited();
    assert_eq!(fake::calls(&a), ["synchronize"]);
    let faulted = handed_over();
    fake::fault(&a, "kernel `k`");
    faulted.change(&b, true, false).unwrap();
    faulted.read(&b).unwrap();
    assert!(faulted.sources(&b).is_empty());
}

#[test]
fn a_read_on_another_stream_waits_once_for_the_write() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    fake::calls(&a);
    buffer.to_vec(&b).unwrap();
    buffer.to_vec(&b).unwrap();
    assert_eq!(fake::calls(&a), ["record"]);
    assert_eq!(fake::calls(&b), ["wait", "copy", "synchronize", "copy", "synchronize"]);
    // The writer itself can keep reading without waiting for the other readers.
    buffer.to_vec(&a).unwrap();
    assert_eq!(fake::calls(&a), ["copy", "synchronize"]);
}

#[test]
fn a_write_waits_for_the_write_and_all_reads_before() {
    let device = fake::device(0);
    let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&streams[0], 2).unwrap();
    buffer.to_vec(&streams[1]).unwrap();
    streams.iter().for_each(|stream| drop(fake::calls(stream)));
    buffer.fill(&streams[2], 1).unwrap();
    assert_eq!(fake::calls(&streams[0]), ["record"]);
    assert_eq!(fake::calls(&streams[1]), ["record"]);
    assert_eq!(fake::calls(&streams[2]), ["wait", "wait", "set32"]);
    buffer.fill(&streams[2], 2).unwrap();
    assert_eq!(fake::calls(&streams[2]), ["set32"]);
}

#[test]
fn streams_of_two_devices_are_ordered_too() {
    let (first, second) = (fake::device(0).stream().unwrap(), fake::device(1).stream().unwrap());
    let usage = Usage::default();
    usage.write(&first).unwrap();
    usage.read(&second).unwrap();
    assert_eq!(fake::calls(&first), ["record"]);
    assert_eq!(fake::calls(&second), ["wait"]);
    usage.write(&first).unwrap();
    assert_eq!(fake::calls(&second), ["record"]);
    assert_eq!(fake::calls(&first), ["wait"]);
}

#[test]
fn a_stream_that_is_gone_is_not_waited_for() {
    let device = fake::device(0);
    let a = device.stream().unwrap();
    let b = device.stream().unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    drop(a);
    buffer.to_vec(&b).unwrap();
    assert_eq!(fake::calls(&b), ["copy", "synchronize"]);
}

#[test]
fn a_buffer_is_freed_after_its_streams_are_done() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    buffer.fill(&b, 1).unwrap();
    let address = buffer.address();
    fake::calls(&b);
    drop(buffer);
    assert_eq!(fake::calls(&b), ["synchronize"]);
    assert!(!fake::is_allocated(address));
}

#[test]
fn what_a_faulted_stream_used_can_be_used_and_freed() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    fake::fault(&a, "kernel `k`, lane 3");
    assert!(matches!(buffer.fill(&a, 1), Err(Error::Fault(report)) if report.text().contains("lane 3")));
    assert!(matches!(buffer.to_vec(&b), Err(Error::Fault(report)) if report.text().contains("lane 3")));
    buffer.fill(&b, 7).unwrap();
    assert_eq!(buffer.to_vec(&b).unwrap(), [7, 7]);
    let address = buffer.address();
    drop(buffer);
    assert!(!fake::is_allocated(address));
}

#[test]
fn streams_that_are_over_are_not_remembered_where_nothing_is_ordered() {
    let device = fake::device(0);
    let usage = Usage::default();
    for _ in 0..10 {
        usage.note(&device.stream().unwrap());
    }
    let stream = device.stream().unwrap();
    usage.note(&stream);
    assert_eq!(usage.lock().users.len(), 1);
    assert!(usage.is_only(&stream));
}

#[test]
fn a_use_that_a_graph_overtakes_is_waited_for_before_the_memory_is_the_hosts() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    let exec = device.capture(|stream| buffer.fill(stream, 1)).unwrap().instantiate().unwrap();
    // This is the first step of a fill. Another thread launches the graph before the fill is enqueued.
    buffer.allocation().write_on(&b).unwrap();
    exec.launch(&a).unwrap();
    fake::calls(&a);
    fake::calls(&b);
    // The graph's stream need not wait again, and no stream waits for the past one.
    exec.launch(&a).unwrap();
    assert_eq!(buffer.to_vec(&a).unwrap(), [1, 1]);
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["graph", "copy", "synchronize"], vec![]));
    drop(exec);
    fake::calls(&a);
    buffer.allocation().finish_uses().unwrap();
    assert_eq!((fake::calls(&a), fake::calls(&b)), (vec!["synchronize"], vec!["synchronize"]));
    // Without a graph, users before a write are past.
    buffer.fill(&b, 2).unwrap();
    fake::calls(&a);
    drop(buffer);
    assert_eq!(fake::calls(&a), Vec::<&str>::new());
}

#[test]
fn reads_alone_wait_for_nothing() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let buffer = DeviceBuffer::<u32>::uninit(&device, 2).unwrap();
    buffer.to_vec(&a).unwrap();
    buffer.to_vec(&b).unwrap();
    assert_eq!(fake::calls(&b), ["copy", "synchronize"]);
}

#[test]
fn parts_written_on_two_streams_are_both_waited_for_once() {
    let device = fake::device(0);
    let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, 4).unwrap();
    let (mut low, mut high) = buffer.split_at_mut(2).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| low.fill(&streams[0], 1).unwrap());
        scope.spawn(|| high.fill(&streams[1], 2).unwrap());
    });
    streams.iter().for_each(|stream| drop(fake::calls(stream)));
    assert_eq!(buffer.to_vec(&streams[2]).unwrap(), [1, 1, 2, 2]);
    assert_eq!(fake::calls(&streams[2]), ["wait", "wait", "copy", "synchronize"]);
    // The writers also wait for each other, and no later use waits again.
    buffer.to_vec(&streams[0]).unwrap();
    assert_eq!(fake::calls(&streams[0]), ["record", "wait", "copy", "synchronize"]);
    for stream in [&streams[2], &streams[0]] {
        buffer.to_vec(stream).unwrap();
        assert_eq!(fake::calls(stream), ["copy", "synchronize"]);
    }
    fake::calls(&streams[1]);
    drop(buffer);
    streams.iter().for_each(|stream| assert_eq!(fake::calls(stream), ["synchronize"]));
}

#[test]
fn what_a_part_is_used_for_in_turn_is_ordered() {
    let device = fake::device(0);
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, 4).unwrap();
    let (mut low, mut high) = buffer.split_at_mut(2).unwrap();
    high.fill(&b, 2).unwrap();
    low.fill(&a, 1).unwrap();
    fake::calls(&b);
    low.fill(&b, 3).unwrap();
    assert_eq!(fake::calls(&b), ["wait", "set32"]);
    low.as_slice().to_vec(&a).unwrap();
    assert_eq!(buffer.to_vec(&a).unwrap(), [3, 3, 2, 2]);
}

#[test]
fn a_fault_of_the_writer_is_found_by_whoever_reads() {
    let device = fake::device(0);
    let fault = |result: crate::Result<()>| match result {
        Err(Error::Fault(report)) => assert_eq!(report.text(), "kernel `k`"),
        other => panic!("{other:?}"),
    };
    let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
    let buffer = DeviceBuffer::<u32>::zeroed(&a, 2).unwrap();
    let host = || crate::HostBuffer::zeroed(&device, 2).unwrap();
    // The fault comes after the second stream has been ordered after the first.
    buffer.to_vec(&b).unwrap();
    let pending = buffer.download(&b, host()).unwrap();
    fake::fault(&a, "kernel `k`");
    fault(pending.wait().map(drop));
    fault(buffer.to_vec(&b).map(drop));
    fault(buffer.copy_to_host(&b, &mut [0; 2]));
    fault(buffer.to_vec(&device.stream().unwrap()).map(drop));
    // Also when the writer is gone.
    drop(a);
    fault(buffer.to_vec(&b).map(drop));
    let mut copy = DeviceBuffer::<u32>::zeroed(&b, 2).unwrap();
    fault(copy.copy_from(&device.stream().unwrap(), &buffer));
    b.synchronize().unwrap();
}

#[test]
fn what_was_written_before_a_wait_outlives_the_fault_of_its_stream() {
    let device = fake::device(0);
    let reader = device.stream().unwrap();
    // For every way of waiting.
    let waits: [fn(&crate::Stream, &DeviceBuffer<u32>); 3] = [
        |stream, _| stream.synchronize().unwrap(),
        |stream, buffer| drop(buffer.to_vec(stream).unwrap()),
        |stream, buffer| drop(buffer.to_vec(stream).and_then(|_| buffer.to_vec(stream)).unwrap()),
    ];
    for wait in waits {
        let stream = device.stream().unwrap();
        let mut lost = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
        let mut kept = DeviceBuffer::zeroed(&stream, 2).unwrap();
        kept.fill(&stream, 7).unwrap();
        wait(&stream, &kept);
        // Writes of the new era, the second one by the fast path.
        lost.fill(&stream, 3).unwrap();
        lost.fill(&stream, 4).unwrap();
        kept.to_vec(&reader).unwrap();
        fake::fault(&stream, "kernel `k`");
        assert_eq!(kept.to_vec(&reader).unwrap(), [7; 2]);
        assert!(matches!(lost.to_vec(&reader), Err(Error::Fault(_))));
        // Also when the writer is gone.
        drop(stream);
        assert_eq!(kept.to_vec(&reader).unwrap(), [7; 2]);
        kept.fill(&reader, 8).unwrap();
        assert_eq!(kept.to_vec(&reader).unwrap(), [8; 2]);
        assert!(matches!(lost.to_vec(&reader), Err(Error::Fault(_))));
    }
}

#[test]
fn the_fast_path_is_open_again_after_a_wait() {
    let stream = fake::device(0).stream().unwrap();
    let usage = Usage::default();
    usage.write(&stream).unwrap();
    assert!(usage.wrote_last(&stream));
    stream.synchronize().unwrap();
    // A write must be recorded as one after the wait.
    usage.read(&stream).unwrap();
    assert!(usage.is_only(&stream) && !usage.wrote_last(&stream));
    usage.write(&stream).unwrap();
    assert!(usage.wrote_last(&stream));
}

#[test]
fn there_is_one_entry_for_each_stream_however_often_they_take_turns() {
    let device = fake::caching_device();
    let streams: Vec<_> = (0..3).map(|_| device.stream().unwrap()).collect();
    let holds: Vec<_> = streams.iter().map(fake::hold).collect();
    let mut usage = Usage::default();
    for round in 0..100 {
        if round % 5 == 0 {
            usage.read(&streams[(round + 1) % 3]).unwrap();
        }
        usage.write(&streams[round % 3]).unwrap();
        assert!(usage.lock().users.len() <= 3 && fake::events(&device) <= 6);
    }
    // No use waits again for work that a write is already ordered after.
    streams.iter().for_each(|stream| drop(fake::calls(stream)));
    usage.write(&streams[0]).unwrap();
    assert!(streams.iter().all(|stream| fake::calls(stream).is_empty()));
    // A later stream waits for all streams whose work is not known to be over.
    let late = device.stream().unwrap();
    usage.write(&late).unwrap();
    assert_eq!(fake::calls(&late), ["wait", "wait", "wait"]);
    drop(holds);
    usage.write(&streams[0]).unwrap();
    assert_eq!((fake::calls(&streams[0]), usage.lock().users.len()), (vec!["record", "wait"], 2));
    assert_eq!(usage.retire().iter().count(), 1);
}
