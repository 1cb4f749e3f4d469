//! Tests of waits that fail without telling whether the work is done.

use hip_sys::hipError_t;

use crate::{DeviceBuffer, Error, HostBuffer, drop_failures, fake};

const FAILED: hipError_t = hipError_t::hipErrorStreamCaptureUnsupported;

fn failed<T: std::fmt::Debug>(result: crate::Result<T>) {
    match result {
        Err(Error::Hip { code: FAILED, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_one_wait_does_not_tell_another_one_does() {
    let stream = fake::device(0).stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let address = buffer.address();
    // First only the wait fails; then the query fails, too, and the device tells.
    for waits in [1, 2] {
        fake::fail_waits(waits);
        failed(buffer.to_vec(&stream));
    }
    assert_eq!(buffer.to_vec(&stream).unwrap(), [1, 2]);
    fake::fail_waits(2);
    drop(buffer);
    assert!(!fake::is_allocated(address));
}

#[test]
fn memory_that_the_device_may_still_write_is_nobody_elses() {
    let device = fake::device(0);
    let stream = device.stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let before = drop_failures();
    fake::fail_waits(3);
    failed(buffer.to_vec(&stream));
    assert!(drop_failures() > before);
    let pending = buffer.download(&stream, HostBuffer::zeroed(&device, 2).unwrap()).unwrap();
    let (before, live) = (drop_failures(), fake::allocations(&device));
    fake::fail_waits(8);
    failed(pending.wait());
    assert!(drop_failures() > before && fake::allocations(&device) >= live);
    let address = buffer.address();
    fake::fail_waits(3);
    drop(buffer);
    assert!(fake::is_allocated(address));
    fake::fail_waits(0);
}

#[test]
fn borrowed_memory_is_kept_until_the_copy_is_over() {
    let stream = fake::device(0).stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let mut there = [0; 2];
    // Twice the attempts of a wait that gives up, and one more.
    fake::fail_waits(7);
    failed(buffer.copy_to_host(&stream, &mut there));
    fake::calls(&stream);
    fake::fail_waits(6);
    buffer.copy_to_host(&stream, &mut there).unwrap();
    assert_eq!((there, fake::calls(&stream)), ([1, 2], vec!["copy", "synchronize"]));
    let mut buffer = buffer;
    fake::fail_waits(6);
    stream.scope(|scope| scope.copy_from_host(&mut buffer, &[3, 4])).unwrap();
    assert_eq!(fake::calls(&stream), ["copy", "synchronize"]);
    assert_eq!(buffer.to_vec(&stream).unwrap(), [3, 4]);
}

#[test]
#[cfg_attr(miri, ignore = "Miri cannot start processes")]
fn a_copy_of_borrowed_memory_that_cannot_be_waited_for_ends_the_process() {
    let mut other = std::process::Command::new(std::env::current_exe().unwrap());
    let test = "stream::unfinished::ends_the_process";
    let output = other.args(["--exact", test, "--include-ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("cannot be waited for"), "{said}");
    assert!(!said.contains("returned"), "{said}");
}

#[test]
#[ignore = "runs in the process that the test above starts"]
fn ends_the_process() {
    let stream = fake::device(0).stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    fake::fail_waits(usize::MAX);
    let result = buffer.copy_to_host(&stream, &mut [0; 2]);
    eprintln!("returned {result:?}");
}

#[test]
fn a_stream_that_could_not_be_waited_for_counts_as_running_for_good() {
    let device = fake::device(0);
    let (lost, other) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&lost, 2).unwrap();
    let address = buffer.address();
    let before = drop_failures();
    fake::fail_waits(3);
    drop(lost);
    assert!(drop_failures() > before);
    // Nothing can be ordered after it, and its memory is not released.
    failed(buffer.fill(&other, 1));
    failed(buffer.to_vec(&other));
    failed(buffer.into_raw_parts().map(drop));
    assert!(fake::is_allocated(address));
}

#[test]
fn segments_that_may_be_in_use_are_not_given_back() {
    let device = fake::caching_device();
    let stream = device.stream().unwrap();
    drop(DeviceBuffer::<u32>::zeroed(&stream, 2).unwrap());
    let before = drop_failures();
    fake::fail_waits(3);
    failed(device.trim_memory(0));
    assert!(drop_failures() > before);
    assert_eq!((fake::allocations(&device), device.memory_stats().reserved), (1, 0));
}

#[test]
fn a_panic_where_a_stream_ends_is_an_error_of_those_who_wait_for_it() {
    /// A subscriber that panics on warnings.
    struct Panics;
    impl tracing::Subscriber for Panics {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() <= tracing::Level::WARN
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            panic!("on purpose");
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    let device = fake::device(0);
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    fake::fault(&stream, "kernel `k`");
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tracing::subscriber::with_default(Panics, || drop(stream));
    }));
    assert!(dropped.is_err());
    // It is unknown whether its work is over.
    assert!(matches!(buffer.fill(&other, 1), Err(Error::Hip { code: hipError_t::hipErrorUnknown, .. })));
}
